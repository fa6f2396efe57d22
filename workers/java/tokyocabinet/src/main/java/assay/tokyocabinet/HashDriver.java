package assay.tokyocabinet;

import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Option;
import assay.driver.Store;
import java.io.IOException;
import java.util.List;
import tokyocabinet.HDB;

/** Tokyo Cabinet's hash database by its Java binding: the options are those of the driver tokyocabinet-hash in C. */
public final class HashDriver extends CabinetDriver {
    @Override
    public Description describe() {
        return describe(new Description("tokyocabinet-hash-java", "embedded", "Tokyo Cabinet's hash table in one file, by its Java binding")
                .durability("D1", "HDB.put: shared mapped memory and pwrite, never synced")
                .option(Option.of("bnum", "int", "131071", "HDB.tune: buckets; advised: at least half the number of records"))
                .option(Option.of("xmsiz_bytes", "bytes", "64MiB", "HDB.setxmsiz: how much of the file is mapped, beyond the buckets"))
                .option(Option.of("rcnum", "int", "0", "HDB.setcache: records cached for reading; 0, the default: none"))
                .option(Option.of("apow", "int", "4", "HDB.tune: records are aligned to 2^apow bytes"))
                .option(Option.of("fpow", "int", "10", "HDB.tune: at most 2^fpow free blocks are remembered"))
                .set("fixed_disk_bytes", 520 << 10)
                .set("note", "all handles are one object, with its mutex; no D3: of OTSYNC and a transaction for each write, power cuts took the last one; no compare-and-swap: the binding has none of tchdbputproc; the native library is in the jar: Tokyo Cabinet 1.4.48"));
    }

    @Override
    public Store open(Config config) throws Exception {
        return new Hash(config, new HDB());
    }

    private static final class Hash extends BytesDatabase {
        private final HDB db;

        Hash(Config config, HDB db) throws IOException {
            super(config, db, KEY_BYTES_MAX);
            this.db = db;
            opened(db.tune(config.options.integer("bnum"), config.options.integer("apow"), config.options.integer("fpow"), 0)
                    && db.setcache(config.options.integer("rcnum")) && db.setxmsiz(config.options.bytes("xmsiz_bytes"))
                    && db.open(path(config, "data.tch"), HDB.OWRITER | HDB.OCREAT));
        }

        @Override
        int errorCode() {
            return db.ecode();
        }

        @Override
        String errorText() {
            return db.errmsg();
        }

        @Override
        boolean flush() {
            return db.sync();
        }

        @Override
        boolean shut() {
            return db.close();
        }

        @Override
        Iterable<String> options() {
            return List.of("bnum", "xmsiz_bytes", "rcnum", "apow", "fpow");
        }
    }
}
