package assay.drivers;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Status;
import assay.driver.Store;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/** An ordered map in the worker's heap: a reference for what a store can do that has no files. */
public final class MemoryDriver implements Driver {
    @Override
    public Description describe() {
        return new Description("memory-java", "memory", "ConcurrentSkipListMap in the worker's heap, without files")
                .durability("D0", "nothing is written to a file")
                .set("handles_shareable", true)
                .set("note", "closing it drops its records");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Access.class;
    }

    @Override
    public Store open(Config config) {
        return new Records();
    }

    private static final class Records implements Store {
        private final ConcurrentSkipListMap<byte[], byte[]> map = new ConcurrentSkipListMap<>(Arrays::compareUnsigned);

        @Override
        public Handle open() {
            return new Access(map);
        }

        @Override
        public void close() {
            map.clear();
        }
    }

    private static final class Access implements Handle.Add, Handle.Batch, Handle.CompareAndSwap, Handle.Scan {
        private final ConcurrentSkipListMap<byte[], byte[]> map;

        Access(ConcurrentSkipListMap<byte[], byte[]> map) {
            this.map = map;
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
            return Status.OK;
        }

        @Override
        public Status delete(Bytes key) {
            return map.remove(key.toArray()) == null ? Status.MISS : Status.OK;
        }

        @Override
        public Status add(Bytes key, Bytes value) {
            return map.putIfAbsent(key.toArray(), value.toArray()) == null ? Status.OK : Status.CONFLICT;
        }

        /** The map's replace compares arrays by identity, and a value is a new array each time. */
        @Override
        public Status compareAndSwap(Bytes key, Bytes old, Bytes value) {
            byte[] name = key.toArray(), there = map.get(name);
            if (there == null)
                return Status.MISS;
            return old.isSame(there) && map.replace(name, there, value.toArray()) ? Status.OK : Status.CONFLICT;
        }

        @Override
        public Status batch(List<Write> writes) {
            for (Write write : writes) {
                if (write.value == null)
                    delete(write.key);
                else
                    put(write.key, write.value);
            }
            return Status.OK;
        }

        @Override
        public Status scan(Bytes start, int limit, Visitor visitor) {
            Bytes key = new Bytes(), value = new Bytes();
            for (Map.Entry<byte[], byte[]> record : map.tailMap(start.toArray()).entrySet()) {
                key.set(record.getKey());
                value.set(record.getValue());
                if (!visitor.visit(key, value))
                    break;
            }
            return Status.OK;
        }

        @Override
        public void close() {}
    }
}
