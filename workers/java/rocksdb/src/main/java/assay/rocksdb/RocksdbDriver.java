package assay.rocksdb;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.RefusedException;
import assay.driver.Status;
import assay.driver.Store;
import assay.drivers.UnpackedLibraries;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.BloomFilter;
import org.rocksdb.CompressionType;
import org.rocksdb.FlushOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

/** RocksDB through its own JNI: classes and options are those of the driver rocksdb in C. A handle is the database itself. */
public final class RocksdbDriver implements Driver {
    /** Properties that are numbers, and what they are called in all of Assay's drivers of RocksDB. */
    private static final Map<String, String> NUMBERS = Map.of("rocksdb.estimate-num-keys", "records_estimate", "rocksdb.cur-size-all-mem-tables", "memtables_bytes",
            "rocksdb.num-running-flushes", "flushes_under_way", "rocksdb.num-running-compactions", "compactions_under_way",
            "rocksdb.estimate-pending-compaction-bytes", "compaction_debt_bytes", "rocksdb.total-sst-files-size", "tables_bytes",
            "rocksdb.block-cache-usage", "block_cache_bytes", "rocksdb.actual-delayed-write-rate", "delayed_write_bytes_per_second",
            "rocksdb.is-write-stopped", "writes_stopped", "rocksdb.background-errors", "background_errors");

    @Override
    public Description describe() {
        return new Description("rocksdb-java", "embedded", "RocksDB through its JNI: log-structured merge tree")
                .library("org.rocksdb:rocksdbjni", RocksDB.class, "GPL-2.0-only OR Apache-2.0")
                .durability("D0", "WriteOptions.disableWAL = true: no log, records stand in memory until a memtable is flushed")
                .durability("D1", "WriteOptions.sync = false, the default: the log is written to the page cache")
                .durability("D3", "WriteOptions.sync = true: the log is synced before a write returns; concurrent writes share syncs")
                .option(Option.of("write_buffer_bytes", "bytes", "64MiB", "write_buffer_size: of one memtable, 64KiB to 64GiB"))
                .option(Option.of("write_buffers_max", "int", "2", "max_write_buffer_number, at least 2"))
                .option(Option.of("block_cache_bytes", "bytes", "8MiB", "block_cache: an LRU cache"))
                .option(Option.of("block_bytes", "bytes", "4096", "block_size, before compression"))
                .option(Option.of("bloom_bits_per_key", "int", "0", "filter_policy: a full Bloom filter, up to 100; 0, the default: none"))
                .option(Option.choice("compression", "snappy", "compression of all levels", "none", "snappy", "zlib", "lz4", "zstd"))
                .option(Option.of("background_jobs_max", "int", "2", "max_background_jobs: flushes and compactions"))
                .set("handles_shareable", true)
                .set("batch_atomic", true)
                .set("fixed_disk_bytes", 78094336) // the log, laid out in advance, and the manifest
                .set("key_bytes_max", 8 << 20)
                .set("value_bytes_max", 1 << 30) // an array of Java's
                .set("note", "by byte arrays, which the binding copies: the native library is in the jar, which says its version");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Access.class;
    }

    @Override
    public Class<? extends Store> storeType() {
        return Database.class;
    }

    @Override
    public Store open(Config config) throws Exception {
        RocksDB.loadLibrary();
        UnpackedLibraries.remove();
        return new Database(config);
    }

    private static void range(Config config, String option, long number, long least, long most) throws RefusedException {
        if (number < least || number > most)
            throw new RefusedException("option " + option + " is " + config.options.text(option) + ", expected " + least + " to " + most);
    }

    private static final class Database implements Store.Sync {
        private final Config config;
        private final LRUCache cache;
        private final Options options;
        private final WriteOptions write;
        private final ReadOptions read = new ReadOptions();
        private final RocksDB db;

        @SuppressWarnings("resource") // the filter belongs to the options
        Database(Config config) throws Exception {
            this.config = config;
            range(config, "write_buffer_bytes", config.options.bytes("write_buffer_bytes"), 64 << 10, 64L << 30);
            range(config, "write_buffers_max", config.options.integer("write_buffers_max"), 2, Integer.MAX_VALUE);
            range(config, "bloom_bits_per_key", config.options.integer("bloom_bits_per_key"), 0, 100);
            range(config, "background_jobs_max", config.options.integer("background_jobs_max"), 1, 1024);
            cache = new LRUCache(config.options.bytes("block_cache_bytes"));
            BlockBasedTableConfig table = new BlockBasedTableConfig().setBlockCache(cache).setBlockSize(config.options.bytes("block_bytes"));
            int bits = config.options.integer("bloom_bits_per_key");
            if (bits > 0)
                table.setFilterPolicy(new BloomFilter(bits, false));
            options = new Options().setCreateIfMissing(true).setTableFormatConfig(table)
                    .setWriteBufferSize(config.options.bytes("write_buffer_bytes"))
                    .setMaxWriteBufferNumber(config.options.integer("write_buffers_max"))
                    .setCompressionType(compression(config.options.text("compression")))
                    .setMaxBackgroundJobs(config.options.integer("background_jobs_max"));
            write = new WriteOptions().setSync(config.durability.equals("D3")).setDisableWAL(config.durability.equals("D0"));
            db = RocksDB.open(options, config.directory);
        }

        private static CompressionType compression(String name) {
            return name.equals("none") ? CompressionType.NO_COMPRESSION : CompressionType.getCompressionType(name);
        }

        @Override
        public Handle open() {
            return new Access(db, read, write);
        }

        /** The log is synced; without one, the memtable is flushed to a table, which is synced. */
        @Override
        public void sync() throws RocksDBException {
            if (config.durability.equals("D0"))
                flush();
            else
                db.flushWal(true);
        }

        private void flush() throws RocksDBException {
            try (FlushOptions all = new FlushOptions()) {
                db.flush(all);
            }
        }

        @Override
        public Map<String, Double> stats() {
            Map<String, Double> all = new LinkedHashMap<>();
            NUMBERS.forEach((property, name) -> {
                try {
                    all.put(name, (double) db.getLongProperty(property));
                } catch (RocksDBException e) {
                    // this version has no such property
                }
            });
            return all;
        }

        /** The options in force, as the library writes them into its newest file of options. */
        @Override
        public Map<String, String> settings() {
            Map<String, String> told = new LinkedHashMap<>();
            told.put("write_options.sync", Boolean.toString(write.sync()));
            told.put("write_options.disable_wal", Boolean.toString(write.disableWAL()));
            told.put("block_cache.capacity", config.options.text("block_cache_bytes") + " (asked)");
            try (Stream<Path> files = Files.list(Path.of(config.directory))) {
                Path newest = files.filter(file -> file.getFileName().toString().matches("OPTIONS-\\d+"))
                        .max(java.util.Comparator.comparingLong(file -> Long.parseLong(file.getFileName().toString().substring("OPTIONS-".length())))).orElse(null);
                for (String line : newest == null ? List.<String>of() : Files.readAllLines(newest)) {
                    int equals = line.indexOf('=');
                    if (equals > 0 && !line.startsWith("[") && !line.startsWith("#"))
                        told.put(line.substring(0, equals).trim(), line.substring(equals + 1));
                }
            } catch (IOException e) {
                System.err.println("worker: reading the options in force: " + e.getMessage());
            }
            return told;
        }

        @Override
        public void close() throws Exception {
            try {
                if (config.durability.equals("D0"))
                    flush(); // there is no log to recover from, and closing does not flush
                db.closeE();
            } finally {
                write.close();
                read.close();
                options.close();
                cache.close();
            }
        }
    }

    private static final class Access implements Handle.Batch, Handle.Scan {
        private final RocksDB db;
        private final ReadOptions read;
        private final WriteOptions write;

        Access(RocksDB db, ReadOptions read, WriteOptions write) {
            this.db = db;
            this.read = read;
            this.write = write;
        }

        @Override
        public Status get(Bytes key, Bytes value) throws RocksDBException {
            byte[] found = db.get(read, key.data, key.offset, key.length);
            if (found == null)
                return Status.MISS;
            value.set(found);
            return Status.OK;
        }

        @Override
        public Status put(Bytes key, Bytes value) throws RocksDBException {
            db.put(write, key.data, key.offset, key.length, value.data, value.offset, value.length);
            return Status.OK;
        }

        @Override
        public Status delete(Bytes key) throws RocksDBException {
            db.delete(write, key.data, key.offset, key.length);
            return Status.OK;
        }

        @Override
        public Status batch(List<Write> writes) throws RocksDBException {
            try (WriteBatch all = new WriteBatch()) {
                for (Write each : writes) {
                    if (each.value == null)
                        all.delete(each.key.toArray());
                    else
                        all.put(each.key.toArray(), each.value.toArray());
                }
                db.write(write, all);
            }
            return Status.OK;
        }

        @Override
        public Status scan(Bytes start, int limit, Visitor visitor) throws RocksDBException {
            Bytes key = new Bytes(), value = new Bytes();
            try (RocksIterator at = db.newIterator(read)) {
                for (at.seek(start.toArray()); at.isValid(); at.next()) {
                    key.set(at.key());
                    value.set(at.value());
                    if (!visitor.visit(key, value))
                        break;
                }
                at.status();
            }
            return Status.OK;
        }

        @Override
        public void close() {
            // the store's
        }
    }
}
