package assay.tokyocabinet;

import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Option;
import assay.driver.Store;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import tokyocabinet.TDB;

/** Tokyo Cabinet's table database by its Java binding: the options are those of the driver tokyocabinet-table in C. */
public final class TableDriver extends CabinetDriver {
    @Override
    public Description describe() {
        return describe(new Description("tokyocabinet-table-java", "embedded", "Tokyo Cabinet's table over a hash file, by its Java binding: columns as defined, else one column, v")
                .durability("D1", "TDB.put: shared mapped memory and pwrite, never synced")
                .option(Option.of("bnum", "int", "131071", "TDB.tune: buckets; advised: at least half the number of records"))
                .option(Option.of("xmsiz_bytes", "bytes", "64MiB", "TDB.setxmsiz: how much of the file is mapped, beyond the buckets"))
                .option(Option.of("rcnum", "int", "0", "TDB.setcache: records cached for reading; 0, the default: none"))
                .option(Option.of("apow", "int", "4", "TDB.tune: records are aligned to 2^apow bytes"))
                .option(Option.of("fpow", "int", "10", "TDB.tune: at most 2^fpow free blocks are remembered"))
                .set("fixed_disk_bytes", 520 << 10)
                .set("note", "all handles are one object, with its mutex; no indexes and no queries; no compare-and-swap; the native library is in the jar: Tokyo Cabinet 1.4.48"));
    }

    @Override
    public Class<? extends Store> storeType() {
        return Table.class;
    }

    @Override
    public Store open(Config config) throws Exception {
        return new Table(config);
    }

    private static final class Table extends Database implements Store.Records {
        private static final int LEAVES = 4096, NODES = 512; // of indexes, which it has none of

        private final TDB db = new TDB();
        private List<String> columns; // null: values have none

        Table(Config config) throws IOException {
            super(config, KEY_BYTES_MAX);
            opened(db.tune(config.options.integer("bnum"), config.options.integer("apow"), config.options.integer("fpow"), 0)
                    && db.setcache(config.options.integer("rcnum"), LEAVES, NODES) && db.setxmsiz(config.options.bytes("xmsiz_bytes"))
                    && db.open(path(config, "data.tct"), TDB.OWRITER | TDB.OCREAT));
        }

        @Override
        public void define(List<String> names) {
            columns = names;
        }

        private Map<String, byte[]> split(byte[] value) {
            Map<String, byte[]> split = new HashMap<>();
            if (columns == null)
                split.put("v", value);
            else
                for (Store.Column column = Store.Column.first(value); column != null; column = column.next())
                    split.put(columns.get(column.number), column.bytes());
            return split;
        }

        private byte[] join(Map<?, ?> found) {
            if (columns == null)
                return (byte[]) found.get("v");
            if (found.size() != columns.size())
                throw new IllegalStateException("a record of " + found.size() + " columns, " + columns.size() + " were stored");
            byte[][] parts = new byte[columns.size()][];
            for (int i = 0; i < parts.length; i++)
                parts[i] = (byte[]) found.get(columns.get(i));
            return Store.Column.join(parts);
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
        byte[] find(byte[] key) {
            Map<?, ?> found = db.get(key);
            return found == null ? null : join(found);
        }

        @Override
        boolean store(byte[] key, byte[] value) {
            return db.put(key, split(value));
        }

        @Override
        boolean keep(byte[] key, byte[] value) {
            return db.putkeep(key, split(value));
        }

        @Override
        boolean remove(byte[] key) {
            return db.out(key);
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
        double records() {
            return db.rnum();
        }

        @Override
        double fileBytes() {
            return db.fsiz();
        }

        @Override
        Iterable<String> options() {
            return List.of("bnum", "xmsiz_bytes", "rcnum", "apow", "fpow");
        }
    }
}
