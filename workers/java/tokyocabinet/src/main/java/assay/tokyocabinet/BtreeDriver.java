package assay.tokyocabinet;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.RefusedException;
import assay.driver.Status;
import assay.driver.Store;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import tokyocabinet.BDB;

/** Tokyo Cabinet's B+tree by its Java binding: the options are those of the driver tokyocabinet-btree in C. */
public final class BtreeDriver extends CabinetDriver {
    private static final int KEY_BYTES_MAX = 4096;
    private static final int PAGES_CACHED_MIN = 64; // the library raises what is below without a word

    @Override
    public Description describe() {
        return describe(new Description("tokyocabinet-btree-java", "embedded", "Tokyo Cabinet's B+tree over a hash file, by its Java binding")
                .durability("D0", "BDB.put: leaves are changed in the cache of the process, and written when they leave it")
                .durability("D1", "each write a transaction: trancommit writes all changed leaves to the page cache")
                .option(Option.of("bnum", "int", "32749", "BDB.tune: buckets of the hash of pages"))
                .option(Option.of("xmsiz_bytes", "bytes", "0", "BDB.setxmsiz: how much of the file is mapped, beyond the buckets; the default: nothing"))
                .option(Option.of("lmemb", "int", "128", "BDB.tune: records of a leaf"))
                .option(Option.of("nmemb", "int", "256", "BDB.tune: keys of a node"))
                .option(Option.of("lcnum", "int", "1024", "BDB.setcache: leaves cached"))
                .option(Option.of("ncnum", "int", "512", "BDB.setcache: nodes cached"))
                .option(Option.of("apow", "int", "8", "BDB.tune: records are aligned to 2^apow bytes"))
                .option(Option.of("fpow", "int", "10", "BDB.tune: at most 2^fpow free blocks are remembered"))
                .set("fixed_disk_bytes", 136 << 10))
                .set("key_bytes_max", KEY_BYTES_MAX)
                .set("note", "all handles are one object, with its mutex; a scan is BDB.range, which gives keys, and a get for each; no D3, as for tokyocabinet-hash-java; no compare-and-swap: the binding has none of "
                        + "tcbdbputproc; the native library is in the jar: Tokyo Cabinet 1.4.48");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Btree.Ordered.class;
    }

    @Override
    public Store open(Config config) throws Exception {
        for (String pages : List.of("lcnum", "ncnum"))
            if (config.options.integer(pages) < PAGES_CACHED_MIN)
                throw new RefusedException("expected " + pages + " of at least " + PAGES_CACHED_MIN);
        return new Btree(config, new BDB());
    }

    private static final class Btree extends BytesDatabase {
        /** No key is beyond it. The binding's range crashes the process without an end. */
        private static final byte[] END = end();

        private final BDB db;
        private final boolean transactional;
        private final Lock transactions = new ReentrantLock();

        private static byte[] end() {
            byte[] end = new byte[BtreeDriver.KEY_BYTES_MAX];
            Arrays.fill(end, (byte) 0xff);
            return end;
        }

        Btree(Config config, BDB db) throws IOException {
            super(config, db, BtreeDriver.KEY_BYTES_MAX);
            this.db = db;
            transactional = !config.durability.equals("D0");
            opened(db.tune(config.options.integer("lmemb"), config.options.integer("nmemb"), config.options.integer("bnum"), config.options.integer("apow"),
                    config.options.integer("fpow"), 0)
                    && db.setcache(config.options.integer("lcnum"), config.options.integer("ncnum")) && db.setxmsiz(config.options.bytes("xmsiz_bytes"))
                    && db.open(path(config, "data.tcb"), BDB.OWRITER | BDB.OCREAT));
        }

        @Override
        public Handle open() {
            return new Ordered();
        }

        @Override
        boolean transactional() {
            return transactional;
        }

        /**
         * A transaction covers the whole object, and a second thread that begins one sleeps for 10 ms and more: a
         * lock lets them in one by one, as in workers/c/drivers/tokyocabinet.
         */
        @Override
        Status written(Write write, int refusedBy, Status refused) throws IOException {
            if (!transactional)
                return super.written(write, refusedBy, refused);
            transactions.lock();
            try {
                if (!db.tranbegin())
                    throw failed();
                if (write.apply()) {
                    if (!db.trancommit())
                        throw failed();
                    return Status.OK;
                }
                Status answer = answer(refusedBy, refused);
                db.tranabort();
                return answer;
            } finally {
                transactions.unlock();
            }
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
            return List.of("bnum", "xmsiz_bytes", "lmemb", "nmemb", "lcnum", "ncnum", "apow", "fpow");
        }

        /** Writes beside a scan move cursors: keys are fetched in lists, and a record that is gone by then is passed over. */
        private final class Ordered extends Access implements Handle.Scan {
            @Override
            public Status scan(Bytes start, int limit, Visitor visitor) throws IOException {
                Bytes key = new Bytes(), value = new Bytes();
                byte[] from = start.toArray();
                int most = Math.max(1, limit);
                while (true) {
                    List<?> keys = db.range(from, true, END, true, most);
                    for (Object each : keys) {
                        byte[] name = (byte[]) each, found = db.get(name);
                        from = Arrays.copyOf(name, name.length + 1); // the next key that can be
                        if (found == null) {
                            if (db.ecode() != BDB.ENOREC)
                                throw failed();
                            continue;
                        }
                        key.set(name);
                        value.set(found);
                        if (!visitor.visit(key, value))
                            return Status.OK;
                    }
                    if (keys.size() < most)
                        return Status.OK;
                }
            }
        }
    }
}
