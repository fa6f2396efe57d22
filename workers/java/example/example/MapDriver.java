package example;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.Status;
import assay.driver.Store;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A whole driver, of a hash map: docs/jvm.md tells how it becomes a worker's. */
public final class MapDriver implements Driver {
    @Override
    public Description describe() {
        return new Description("example-map", "memory", "ConcurrentHashMap in the worker's heap")
                .durability("D0", "nothing is written to a file")
                .option(Option.of("capacity", "int", "1024", "how many records it makes room for"))
                .set("handles_shareable", true)
                .set("note", "closing it drops its records");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Access.class;
    }

    @Override
    public Store open(Config config) {
        Map<ByteBuffer, byte[]> records = new ConcurrentHashMap<>(config.options.integer("capacity"));
        return new Store() {
            @Override
            public Handle open() {
                return new Access(records);
            }

            @Override
            public Map<String, String> settings() {
                return Map.of("capacity", config.options.text("capacity"));
            }

            @Override
            public Map<String, Double> stats() {
                return Map.of("records", (double) records.size());
            }

            @Override
            public void close() {
                records.clear();
            }
        };
    }

    /** Its map has an insert-if-absent of its own: so it has the ability add. */
    private static final class Access implements Handle.Add {
        private final Map<ByteBuffer, byte[]> records;

        Access(Map<ByteBuffer, byte[]> records) {
            this.records = records;
        }

        private static ByteBuffer copy(Bytes key) {
            return ByteBuffer.wrap(key.toArray());
        }

        @Override
        public Status get(Bytes key, Bytes value) {
            byte[] found = records.get(copy(key));
            if (found == null)
                return Status.MISS;
            value.set(found);
            return Status.OK;
        }

        @Override
        public Status put(Bytes key, Bytes value) {
            records.put(copy(key), value.toArray());
            return Status.OK;
        }

        @Override
        public Status delete(Bytes key) {
            return records.remove(copy(key)) == null ? Status.MISS : Status.OK;
        }

        @Override
        public Status add(Bytes key, Bytes value) {
            return records.putIfAbsent(copy(key), value.toArray()) == null ? Status.OK : Status.CONFLICT;
        }

        @Override
        public void close() {}
    }
}
