package assay.lmdb;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.RefusedException;
import assay.driver.Status;
import assay.driver.Store;
import assay.drivers.Directory;
import assay.drivers.UnpackedLibraries;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.lmdbjava.Cursor;
import org.lmdbjava.Dbi;
import org.lmdbjava.DbiFlags;
import org.lmdbjava.Env;
import org.lmdbjava.EnvFlags;
import org.lmdbjava.GetOp;
import org.lmdbjava.Meta;
import org.lmdbjava.PutFlags;
import org.lmdbjava.SeekOp;
import org.lmdbjava.Txn;

/**
 * LMDB by lmdbjava, through direct buffers: classes and options are those of the driver lmdb in C. A handle
 * keeps a read transaction and a cursor, which are renewed for each read and reset after it.
 */
public final class LmdbDriver implements Driver {
    private static final int KEY_BYTES_MAX = 511;
    private static final long MAP_BYTES_MIN = 8192; // the two meta pages

    @Override
    public Description describe() {
        return new Description("lmdb-java", "embedded", "LMDB by lmdbjava: copy-on-write B+tree in one mapped file, one writer")
                .library("org.lmdbjava:lmdbjava", Env.class, "Apache-2.0 AND OLDAP-2.8")
                .durability("D1", "MDB_NOSYNC: commits are written to the page cache; a power cut may damage the file where the filesystem reorders writes")
                .durability("D3", "no flags, the default: the pages are synced, then the meta page is written through O_DSYNC")
                .option(Option.of("map_bytes", "bytes", "10MiB", "mdb_env_set_mapsize: the largest size of the file, at least 8KiB; a put beyond it fails"))
                .option(Option.of("writemap", "bool", "false", "MDB_WRITEMAP: pages are changed in the mapped file itself"))
                .option(Option.of("readahead", "bool", "true", "false: MDB_NORDAHEAD"))
                .option(Option.of("readers_max", "int", "126", "mdb_env_set_maxreaders: handles at once"))
                .option(Option.of("native_library", "string", "", "path of the native library; unset: the one in the jar"))
                .set("batch_atomic", true)
                .set("key_bytes_min", 1)
                .set("key_bytes_max", KEY_BYTES_MAX)
                .set("value_bytes_max", 1 << 30)
                .set("fixed_disk_bytes", 36 << 10)
                .set("note", "the default map_bytes holds 10 MiB: raise it above the data; one writer at a time, whose lock the others wait for; the setting lmdb is the native library's version");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Access.class;
    }

    @Override
    public Class<? extends Store> storeType() {
        return Environment.class;
    }

    @Override
    public Store open(Config config) throws Exception {
        if (config.options.integer("readers_max") < config.handles)
            throw new RefusedException("each handle is a reader: readers_max must be at least the number of handles");
        if (config.options.bytes("map_bytes") < MAP_BYTES_MIN)
            throw new RefusedException("map_bytes must be at least " + MAP_BYTES_MIN + ": the library would make it larger");
        if (!config.options.text("native_library").isEmpty())
            System.setProperty("lmdbjava.native.lib", config.options.text("native_library"));
        System.setProperty("lmdbjava.disable.checks", "true"); // of each call's arguments, which the kit has checked
        return new Environment(config);
    }

    private static final class Environment implements Store.Sync {
        private final Config config;
        private final Env<ByteBuffer> env;
        private final Dbi<ByteBuffer> dbi;

        Environment(Config config) throws IOException {
            this.config = config;
            List<EnvFlags> flags = new ArrayList<>(List.of(EnvFlags.MDB_NOTLS)); // a reader belongs to its handle, not to the thread that made it
            if (config.durability.equals("D1"))
                flags.add(EnvFlags.MDB_NOSYNC);
            if (config.options.bool("writemap"))
                flags.add(EnvFlags.MDB_WRITEMAP);
            if (!config.options.bool("readahead"))
                flags.add(EnvFlags.MDB_NORDAHEAD);
            env = Env.create().setMapSize(config.options.bytes("map_bytes")).setMaxReaders(config.options.integer("readers_max"))
                    .open(Path.of(config.directory).toFile(), flags.toArray(new EnvFlags[0]));
            UnpackedLibraries.remove();
            dbi = env.openDbi((byte[]) null, DbiFlags.MDB_CREATE);
            Directory.sync(config.directory);
        }

        @Override
        public Handle open() {
            return new Access(env, dbi);
        }

        @Override
        public void sync() {
            env.sync(true);
        }

        @Override
        public Map<String, Double> stats() {
            Map<String, Double> all = new LinkedHashMap<>();
            var stat = env.stat();
            all.put("records", (double) stat.entries);
            all.put("depth", (double) stat.depth);
            all.put("branch_pages", (double) stat.branchPages);
            all.put("leaf_pages", (double) stat.leafPages);
            all.put("overflow_pages", (double) stat.overflowPages);
            var info = env.info();
            all.put("file_used_bytes", (info.lastPageNumber + 1.0) * stat.pageSize);
            all.put("transactions", (double) info.lastTransactionId);
            all.put("readers", (double) info.numReaders);
            return all;
        }

        @Override
        public Map<String, String> settings() {
            Map<String, String> told = new LinkedHashMap<>();
            var version = Meta.version();
            told.put("lmdb", version.major + "." + version.minor + "." + version.patch);
            told.put("mapsize", Long.toString(env.info().mapSize));
            told.put("maxreaders", Integer.toString(env.info().maxReaders));
            told.put("psize", Integer.toString(env.stat().pageSize));
            told.put("MDB_NOSYNC", config.durability.equals("D1") + " (asked)");
            for (String asked : List.of("writemap", "readahead"))
                told.put(asked, config.options.text(asked) + " (asked)");
            return told;
        }

        @Override
        public void close() {
            env.close();
        }
    }

    private static final class Access implements Handle.Add, Handle.Batch, Handle.Scan {
        private final Env<ByteBuffer> env;
        private final Dbi<ByteBuffer> dbi;
        private final Txn<ByteBuffer> reader; // reset between operations
        private final Cursor<ByteBuffer> cursor;
        private final ByteBuffer name = ByteBuffer.allocateDirect(KEY_BYTES_MAX);
        private ByteBuffer room = ByteBuffer.allocateDirect(4096); // for a value

        Access(Env<ByteBuffer> env, Dbi<ByteBuffer> dbi) {
            this.env = env;
            this.dbi = dbi;
            reader = env.txnRead();
            cursor = dbi.openCursor(reader);
            reader.reset();
        }

        private ByteBuffer key(Bytes key) {
            if (key.length > KEY_BYTES_MAX)
                throw new IllegalArgumentException("a key has at most " + KEY_BYTES_MAX + " bytes");
            return name.clear().put(key.data, key.offset, key.length).flip();
        }

        private ByteBuffer value(Bytes value) {
            if (value.length > room.capacity())
                room = ByteBuffer.allocateDirect(Math.max(value.length, 2 * room.capacity()));
            return room.clear().put(value.data, value.offset, value.length).flip();
        }

        /** Copies: it stands in the map only as long as the read transaction does. */
        private static void copy(ByteBuffer from, Bytes to) {
            int length = from.remaining();
            if (to.data.length < length || to.offset > 0)
                to.set(new byte[Math.max(length, 256)]);
            from.get(from.position(), to.data, 0, length);
            to.set(to.data, 0, length);
        }

        @Override
        public Status get(Bytes key, Bytes value) {
            reader.renew();
            try {
                ByteBuffer found = dbi.get(reader, key(key));
                if (found == null)
                    return Status.MISS;
                copy(found, value);
                return Status.OK;
            } finally {
                reader.reset();
            }
        }

        private Status write(Write one, PutFlags... flags) {
            try (Txn<ByteBuffer> txn = env.txnWrite()) {
                boolean done = one.value == null ? dbi.delete(txn, key(one.key)) : dbi.put(txn, key(one.key), value(one.value), flags);
                if (!done)
                    return one.value == null ? Status.MISS : Status.CONFLICT;
                txn.commit();
                return Status.OK;
            }
        }

        @Override
        public Status put(Bytes key, Bytes value) {
            return write(new Write(key, value));
        }

        @Override
        public Status add(Bytes key, Bytes value) {
            return write(new Write(key, value), PutFlags.MDB_NOOVERWRITE);
        }

        @Override
        public Status delete(Bytes key) {
            return write(new Write(key, null));
        }

        @Override
        public Status batch(List<Write> writes) {
            try (Txn<ByteBuffer> txn = env.txnWrite()) {
                for (Write each : writes) {
                    if (each.value == null)
                        dbi.delete(txn, key(each.key));
                    else
                        dbi.put(txn, key(each.key), value(each.value));
                }
                txn.commit();
                return Status.OK;
            }
        }

        @Override
        public Status scan(Bytes start, int limit, Visitor visitor) {
            Bytes key = new Bytes(), value = new Bytes();
            reader.renew();
            try {
                cursor.renew(reader);
                boolean more = start.length == 0 ? cursor.first() : cursor.get(key(start), GetOp.MDB_SET_RANGE);
                while (more) {
                    copy(cursor.key(), key);
                    copy(cursor.val(), value);
                    more = visitor.visit(key, value) && cursor.seek(SeekOp.MDB_NEXT);
                }
                return Status.OK;
            } finally {
                reader.reset();
            }
        }

        @Override
        public void close() {
            cursor.close();
            reader.close();
        }
    }
}
