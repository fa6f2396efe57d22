package assay.tokyocabinet;

import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Option;
import assay.driver.RefusedException;
import assay.driver.Store;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import tokyocabinet.FDB;

/** Tokyo Cabinet's fixed-length database by its Java binding: the options are those of the driver tokyocabinet-fixed in C. */
public final class FixedDriver extends CabinetDriver {
    private static final int WIDTH_DEFAULT = 255, WIDTH_MAX = 65536;

    @Override
    public Description describe() {
        return describe(new Description("tokyocabinet-fixed-java", "embedded", "Tokyo Cabinet's array of records of one width in a mapped file, by its Java binding")
                .durability("D1", "FDB.put: shared mapped memory, never synced")
                .option(Option.of("width_bytes", "int", "255", "FDB.tune: the longest value, 1 to 65536; each record takes so many bytes and the length"))
                .option(Option.of("limit_bytes", "bytes", "256MiB", "FDB.tune: the largest size of the file, all of it mapped, in whole pages")))
                .set("key_numbers", true)
                .set("key_bytes_min", Long.BYTES)
                .set("key_bytes_max", Long.BYTES)
                .set("value_bytes_max", WIDTH_DEFAULT)
                .set("value_bytes_option", "width_bytes")
                .set("fixed_disk_bytes", 4 << 10)
                .set("note", "keys are numbers, 8 bytes with the high byte first and unscattered, below limit_bytes / (width_bytes + 1 to 4), which the binding takes as decimal text; "
                        + "all handles are one object, with its mutex; no D3, as of the hash; no compare-and-swap; the native library is in the jar: Tokyo Cabinet 1.4.48");
    }

    @Override
    public Store open(Config config) throws Exception {
        int width = config.options.integer("width_bytes");
        if (width < 1 || width > WIDTH_MAX)
            throw new RefusedException("expected width_bytes of 1 to " + WIDTH_MAX);
        return new Fixed(config, new FDB(), width);
    }

    private static final class Fixed extends BytesDatabase {
        private final FDB db;
        private final int width;

        Fixed(Config config, FDB db, int width) throws IOException {
            super(config, db, Long.BYTES);
            this.db = db;
            this.width = width;
            opened(db.tune(width, config.options.bytes("limit_bytes")) && db.open(path(config, "data.tcf"), FDB.OWRITER | FDB.OCREAT));
        }

        /** The number of a record is its key's, plus 1. */
        @Override
        byte[] name(byte[] key) {
            long number = key.length == Long.BYTES ? ByteBuffer.wrap(key).getLong() : -1;
            if (number < 0 || number == Long.MAX_VALUE)
                throw new IllegalArgumentException("keys of an array are numbers of exactly 8 bytes, below limit_bytes");
            return Long.toString(number + 1).getBytes(StandardCharsets.US_ASCII);
        }

        /** The library would cut it. */
        @Override
        byte[] content(byte[] value) {
            if (value.length > width)
                throw new IllegalArgumentException("the value is longer than width_bytes");
            return value;
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
            return List.of("width_bytes", "limit_bytes");
        }
    }
}
