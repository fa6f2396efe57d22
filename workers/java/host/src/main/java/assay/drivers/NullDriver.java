package assay.drivers;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Status;
import assay.driver.Store;
import java.util.List;

/** Does nothing, as cheaply as can be: its rate is the ceiling that the harness itself allows. */
public final class NullDriver implements Driver {
    private static final String HOW = "nothing is stored: this is the ceiling of the harness";
    private static final byte[] NOTHING = {};

    @Override
    public Description describe() {
        return new Description("null-java", "none", "does nothing, in Java: the ceiling of the JVM harness")
                .durability("D0", HOW).durability("D1", HOW).durability("D2", HOW).durability("D3", HOW).durability("D4", HOW)
                .set("handles_shareable", true)
                .set("batch_atomic", true)
                .set("note", "it keeps nothing: every read gives the empty value, every scan ends at once, and nothing can be verified");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Nothing.class;
    }

    @Override
    public Class<? extends Store> storeType() {
        return NoStore.class;
    }

    @Override
    public Store open(Config config) {
        return new NoStore();
    }

    private static final class NoStore implements Store.Sync {
        @Override
        public Handle open() {
            return new Nothing();
        }

        @Override
        public void sync() {}

        @Override
        public void close() {}
    }

    private static final class Nothing implements Handle.Add, Handle.Batch, Handle.CompareAndSwap, Handle.Scan {
        @Override
        public Status get(Bytes key, Bytes value) {
            value.set(NOTHING);
            return Status.OK;
        }

        @Override
        public Status put(Bytes key, Bytes value) {
            return Status.OK;
        }

        @Override
        public Status delete(Bytes key) {
            return Status.OK;
        }

        @Override
        public Status add(Bytes key, Bytes value) {
            return Status.OK;
        }

        @Override
        public Status compareAndSwap(Bytes key, Bytes old, Bytes value) {
            return Status.OK;
        }

        @Override
        public Status batch(List<Write> writes) {
            return Status.OK;
        }

        @Override
        public Status scan(Bytes start, int limit, Visitor visitor) {
            return Status.OK;
        }

        @Override
        public void close() {}
    }
}
