package assay.whalin;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.RefusedException;
import assay.driver.Status;
import assay.driver.Store;
import com.schooner.MemCached.MemcachedItem;
import com.whalin.MemCached.ErrorHandler;
import com.whalin.MemCached.MemCachedClient;
import com.whalin.MemCached.SockIOPool;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Memcached-Java-Client (Greg Whalin's): a handle is a client with a pool of its own. It hides
 * failures behind null and false: an ErrorHandler of ours keeps what it swallowed.
 */
public final class WhalinDriver implements Driver {
    @Override
    public Description describe() {
        return new Description("whalin", "server", "memcached by Memcached-Java-Client: a pool of sockets a client")
                .library("com.whalin:Memcached-Java-Client", "3.0.2", "BSD-3-Clause")
                .durability("D0", "the server keeps everything in memory alone")
                .option(Option.choice("protocol", "text", "memcached's protocol", "text", "binary"))
                .option(Option.of("init_conn", "int", "1", "setInitConn: sockets that are opened first"))
                .option(Option.of("min_conn", "int", "1", "setMinConn: the least sockets that are kept"))
                .option(Option.of("max_conn", "int", "0", "setMaxConn: the most sockets; 0: one a thread that shares the client"))
                .option(Option.of("timeout", "duration", "3s", "setSocketTO: how long a socket is read from"))
                .set("handles_shareable", true)
                .set("handle_pools", true)
                .set("key_bytes_min", 1)
                .set("key_bytes_max", 250)
                .set("key_text", true)
                .set("value_bytes_max", (1 << 20) - 512)
                .set("note", "values are byte arrays; where add, delete or a compare-and-swap is false and the client told no error, "
                        + "that is a conflict or a miss: it does not tell a server's refusal from them; its get takes an empty value for a miss, "
                        + "so each miss is asked for a second time, by gets");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Client.class;
    }

    @Override
    public Store open(Config config) throws Exception {
        if (config.endpoints.isEmpty())
            throw new RefusedException("expected the server's address as endpoint");
        return new Servers(config);
    }

    private static final class Servers implements Store {
        private final Config config;

        Servers(Config config) {
            this.config = config;
        }

        private int maxConn() {
            int asked = config.options.integer("max_conn");
            return asked != 0 ? asked : config.handles == 1 ? config.threads : 1;
        }

        @Override
        public Handle open() throws Exception {
            return new Client(config, maxConn());
        }

        @Override
        public Map<String, String> settings() {
            return Map.of("protocol", config.options.text("protocol"), "initConn", config.options.text("init_conn"), "minConn",
                    config.options.text("min_conn"), "maxConn", Integer.toString(maxConn()), "socketTO", config.options.text("timeout"));
        }

        @Override
        public void close() {}
    }

    private static final class Client implements Handle.Add, Handle.CompareAndSwap, ErrorHandler {
        private static final byte[] EMPTY = {};
        private static final AtomicLong NUMBER = new AtomicLong();

        private final SockIOPool pool;
        private final MemCachedClient client;
        private final ThreadLocal<Throwable> swallowed = new ThreadLocal<>();

        @SuppressWarnings("deprecation") // the ErrorHandler: without one the client's failures can't be told from misses
        Client(Config config, int maxConn) throws Exception {
            String name = "assay-" + NUMBER.incrementAndGet();
            boolean binary = config.options.text("protocol").equals("binary");
            pool = SockIOPool.getInstance(name);
            pool.setServers(config.endpoints.toArray(String[]::new));
            pool.setInitConn(config.options.integer("init_conn"));
            pool.setMinConn(config.options.integer("min_conn"));
            pool.setMaxConn(maxConn);
            pool.setSocketTO((int) TimeUnit.NANOSECONDS.toMillis(config.options.durationNs("timeout")));
            pool.setFailover(false);
            pool.setNagle(false);
            pool.initialize();
            client = new MemCachedClient(name, true, binary, null, this);
            client.setSanitizeKeys(false);
            if (client.stats().size() < config.endpoints.size()) { // it says nothing where it can't connect
                pool.shutDown();
                throw new IOException("no answer from some of " + config.endpoints);
            }
        }

        private String begin(Bytes key) {
            swallowed.remove();
            return key.toText();
        }

        /** Throws what the client swallowed in the call that this thread has just made. */
        private void check() throws IOException {
            Throwable thrown = swallowed.get();
            if (thrown != null)
                throw new IOException(thrown.getClass().getName() + ": " + thrown.getMessage(), thrown);
        }

        private Status judge(boolean done, Status otherwise) throws IOException {
            if (done)
                return Status.OK;
            check();
            return otherwise;
        }

        @Override
        public Status get(Bytes key, Bytes value) throws Exception {
            String name = begin(key);
            byte[] found = (byte[]) client.get(name);
            if (found == null) {
                check();
                MemcachedItem item = client.gets(name);
                if (item == null)
                    return judge(false, Status.MISS);
                found = valueOf(item);
            }
            value.set(found);
            return Status.OK;
        }

        /** An empty value comes as null, from get as if the key were not there. */
        private static byte[] valueOf(MemcachedItem item) {
            return item.getValue() == null ? EMPTY : (byte[]) item.getValue();
        }

        @Override
        public Status put(Bytes key, Bytes value) throws Exception {
            if (judge(client.set(begin(key), value.toArray()), Status.CONFLICT) == Status.OK)
                return Status.OK;
            throw new IOException("set returned false");
        }

        @Override
        public Status delete(Bytes key) throws Exception {
            return judge(client.delete(begin(key)), Status.MISS);
        }

        @Override
        public Status add(Bytes key, Bytes value) throws Exception {
            return judge(client.add(begin(key), value.toArray()), Status.CONFLICT);
        }

        @Override
        public Status compareAndSwap(Bytes key, Bytes old, Bytes value) throws Exception {
            String name = begin(key);
            MemcachedItem there = client.gets(name);
            if (there == null)
                return judge(false, Status.MISS);
            if (!old.isSame(valueOf(there)))
                return Status.CONFLICT;
            return judge(client.cas(name, value.toArray(), there.getCasUnique()), Status.CONFLICT);
        }

        @Override
        public void close() {
            pool.shutDown();
        }

        @Override
        public void handleErrorOnInit(MemCachedClient from, Throwable error) {
            swallowed.set(error);
        }

        @Override
        public void handleErrorOnGet(MemCachedClient from, Throwable error, String key) {
            swallowed.set(error);
        }

        @Override
        public void handleErrorOnGet(MemCachedClient from, Throwable error, String[] keys) {
            swallowed.set(error);
        }

        @Override
        public void handleErrorOnSet(MemCachedClient from, Throwable error, String key) {
            swallowed.set(error);
        }

        @Override
        public void handleErrorOnDelete(MemCachedClient from, Throwable error, String key) {
            swallowed.set(error);
        }

        @Override
        public void handleErrorOnFlush(MemCachedClient from, Throwable error) {
            swallowed.set(error);
        }

        @Override
        public void handleErrorOnStats(MemCachedClient from, Throwable error) {
            swallowed.set(error);
        }
    }
}
