package failing;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.Status;
import assay.driver.Store;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/** A map whose JVM fails by an update, in the way that its option names. */
public final class FailingDriver implements Driver {
    @Override
    public Description describe() {
        return new Description("failing", "memory", "a map whose JVM fails by an update")
                .durability("D0", "nothing is written to a file")
                .option(Option.of("by", "string", "", "direct: keeps a direct buffer; kill: kills its JVM; collect: needs a collection of a full heap for each"))
                .set("handles_shareable", true);
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Access.class;
    }

    @Override
    public Store open(Config config) {
        Access access = new Access(config.options.text("by"));
        return new Store() {
            @Override
            public Handle open() {
                return access;
            }

            @Override
            public void close() {}
        };
    }

    private static final class Access implements Handle {
        private static final int DIRECT_BYTES = 1 << 20;

        private final Map<ByteBuffer, byte[]> records = new ConcurrentHashMap<>();
        private final List<Object> kept = new ArrayList<>();
        private final String by;

        Access(String by) {
            this.by = by;
        }

        private synchronized void fail() throws Exception {
            switch (by) {
                case "direct":
                    kept.add(ByteBuffer.allocateDirect(DIRECT_BYTES));
                    return;
                case "kill":
                    new ProcessBuilder("kill", "-KILL", Long.toString(ProcessHandle.current().pid())).inheritIO().start();
                    new CountDownLatch(1).await();
                    return;
                case "collect":
                    collect();
                    return;
                default:
            }
        }

        /** Fills the heap with small objects once, of which each collection marks and moves all. */
        private void collect() {
            if (kept.isEmpty()) {
                long most = Runtime.getRuntime().maxMemory();
                Object[] last = null;
                while (Runtime.getRuntime().totalMemory() < most || Runtime.getRuntime().freeMemory() > most / 8)
                    last = new Object[] {last};
                kept.add(last);
            }
            while (true)
                System.gc();
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
        public Status put(Bytes key, Bytes value) throws Exception {
            if (records.put(copy(key), value.toArray()) != null)
                fail();
            return Status.OK;
        }

        @Override
        public Status delete(Bytes key) {
            return records.remove(copy(key)) == null ? Status.MISS : Status.OK;
        }

        @Override
        public void close() {}
    }
}
