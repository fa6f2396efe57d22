package assay.mvstore;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.Status;
import assay.driver.Store;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.h2.mvstore.Cursor;
import org.h2.mvstore.MVMap;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.type.ByteArrayDataType;

/** MVStore, the engine below H2: an append-only B-tree in one file. A handle is the map itself. */
public final class MVStoreDriver implements Driver {
    private static final long MEGABYTE = 1 << 20;

    @Override
    public Description describe() {
        return new Description("mvstore", "embedded", "log-structured B-tree in one file, the engine below H2")
                .library("com.h2database:h2-mvstore", MVStore.class, "MPL-2.0 OR EPL-1.0")
                .durability("D0", "its default: a thread of its own commits what has changed once a second")
                .durability("D1", "commit() before the reply: the changed pages are written to the file, unsynced")
                .durability("D3", "commit() and sync() before the reply: FileChannel.force")
                .option(Option.of("cache_bytes", "bytes", "16MiB", "cacheSize: pages in memory; whole MiB"))
                .option(Option.of("compress", "bool", "false", "compress: pages by LZF"))
                .set("handles_shareable", true)
                .set("note", "threads that commit at once wait for each other: there is no group commit");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Access.class;
    }

    @Override
    public Class<? extends Store> storeType() {
        return File.class;
    }

    @Override
    public Store open(Config config) {
        return new File(config);
    }

    private static final class File implements Store.Sync {
        private final MVStore store;
        private final MVMap<byte[], byte[]> map;
        private final Config config;

        File(Config config) {
            this.config = config;
            MVStore.Builder builder = new MVStore.Builder().fileName(Path.of(config.directory, "store.mv").toString())
                    .cacheSize((int) Math.max(1, config.options.bytes("cache_bytes") / MEGABYTE));
            if (config.options.bool("compress"))
                builder = builder.compress();
            if (!config.durability.equals("D0"))
                builder = builder.autoCommitDisabled();
            store = builder.open();
            map = store.openMap("records", new MVMap.Builder<byte[], byte[]>().keyType(ByteArrayDataType.INSTANCE).valueType(ByteArrayDataType.INSTANCE));
        }

        @Override
        public Handle open() {
            return new Access(store, map, config.durability);
        }

        @Override
        public void sync() {
            store.commit();
            store.sync();
        }

        @Override
        public Map<String, Double> stats() {
            return Map.of("records", (double) map.sizeAsLong(), "cache_bytes_used", store.getCacheSizeUsed() * (double) MEGABYTE);
        }

        @Override
        public Map<String, String> settings() {
            String each = config.durability.equals("D0") ? "nothing" : config.durability.equals("D1") ? "commit()" : "commit(), sync()";
            return Map.of("after each write", each, "cacheSize", store.getCacheSize() + " MB", "autoCommitDelay", store.getAutoCommitDelay() + " ms", "compress",
                    config.options.text("compress") + " (asked)");
        }

        @Override
        public void close() {
            store.close();
        }
    }

    private static final class Access implements Handle.Add, Handle.Batch, Handle.CompareAndSwap, Handle.Scan {
        private final MVStore store;
        private final MVMap<byte[], byte[]> map;
        private final boolean commits;
        private final boolean syncs;

        Access(MVStore store, MVMap<byte[], byte[]> map, String durability) {
            this.store = store;
            this.map = map;
            commits = !durability.equals("D0");
            syncs = durability.equals("D3");
        }

        /** Makes what was written as durable as the class says. */
        private Status written() {
            if (commits)
                store.commit();
            if (syncs)
                store.sync();
            return Status.OK;
        }

        @Override
        public Status get(Bytes key, Bytes value) {
            byte[] found = map.get(key.toArray());
            if (found == null)
                return Status.MISS;
            value.set(found);
            return Status.OK;
        }

        @Override
        public Status put(Bytes key, Bytes value) {
            map.put(key.toArray(), value.toArray());
            return written();
        }

        @Override
        public Status delete(Bytes key) {
            return map.remove(key.toArray()) == null ? Status.MISS : written();
        }

        @Override
        public Status add(Bytes key, Bytes value) {
            return map.putIfAbsent(key.toArray(), value.toArray()) == null ? written() : Status.CONFLICT;
        }

        @Override
        public Status compareAndSwap(Bytes key, Bytes old, Bytes value) {
            byte[] name = key.toArray();
            if (map.replace(name, old.toArray(), value.toArray()))
                return written();
            return map.containsKey(name) ? Status.CONFLICT : Status.MISS;
        }

        @Override
        public Status batch(List<Write> writes) {
            for (Write write : writes) {
                if (write.value == null)
                    map.remove(write.key.toArray());
                else
                    map.put(write.key.toArray(), write.value.toArray());
            }
            return written();
        }

        @Override
        public Status scan(Bytes start, int limit, Visitor visitor) {
            Bytes key = new Bytes(), value = new Bytes();
            for (Cursor<byte[], byte[]> at = map.cursor(start.toArray()); at.hasNext();) {
                key.set(at.next());
                value.set(at.getValue());
                if (!visitor.visit(key, value))
                    break;
            }
            return Status.OK;
        }

        @Override
        public void close() {
            // the store's
        }
    }
}
