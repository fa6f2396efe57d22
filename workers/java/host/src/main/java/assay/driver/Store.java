package assay.driver;

import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** An open store. The worker calls it from one thread, but for {@link #stats}. */
public interface Store extends AutoCloseable {
    /** Opens one more handle. */
    Handle open() throws Exception;

    /**
     * Returns the settings in force by the client's own names: read back where it can tell them,
     * otherwise the given value with " (asked)" behind it.
     */
    default Map<String, String> settings() {
        return Map.of();
    }

    /**
     * Returns the store's own counters and gauges; names end in their unit. Called once a second
     * while operations run. The worker adds the JVM's.
     */
    default Map<String, Double> stats() {
        return Map.of();
    }

    /** Closes the store; all its handles were closed before. */
    @Override
    void close() throws Exception;

    /** Stores that keep the columns of a record as columns of their own. They have no indexes. */
    interface Records extends Store {
        /** Names the columns of all records, in the order of their encoded form, before the first operation. */
        void define(List<String> columns) throws Exception;
    }

    /** A column of a record in its encoded form: section 1.5 of docs/worker-contract.md. */
    final class Column {
        private static final int LENGTH_BYTES = 2;

        public final int number;
        private final byte[] record;
        private final int from;
        private final int length;

        private Column(byte[] record, int number, int at) {
            this.record = record;
            this.number = number;
            from = at + LENGTH_BYTES;
            length = record[at] & 0xff | (record[at + 1] & 0xff) << 8;
        }

        public static Column first(byte[] record) {
            return new Column(record, 0, 0);
        }

        /** null: there are no more. */
        public Column next() {
            return from + length == record.length ? null : new Column(record, number + 1, from + length);
        }

        public byte[] bytes() {
            return Arrays.copyOfRange(record, from, from + length);
        }

        /** The encoded form of a record with these columns. */
        public static byte[] join(byte[]... columns) {
            byte[] record = new byte[Arrays.stream(columns).mapToInt(column -> LENGTH_BYTES + column.length).sum()];
            int at = 0;
            for (byte[] column : columns) {
                record[at] = (byte) column.length;
                record[at + 1] = (byte) (column.length >>> 8);
                System.arraycopy(column, 0, record, at + LENGTH_BYTES, column.length);
                at += LENGTH_BYTES + column.length;
            }
            return record;
        }
    }

    /** Stores that can make every acknowledged write durable. */
    interface Sync extends Store {
        void sync() throws Exception;
    }
}
