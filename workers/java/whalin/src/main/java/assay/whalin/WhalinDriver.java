package assay.whalin;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.Status;
import assay.driver.Store;
import assay.drivers.Credentials;
import assay.drivers.MemcachedStore;
import assay.drivers.Serialisation;
import com.schooner.MemCached.MemcachedItem;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Memcached-Java-Client (Greg Whalin's): a handle is a client with a pool of its own. It hides
 * failures behind null and false: an ErrorHandler of ours keeps what it swallowed.
 */
public final class WhalinDriver implements Driver {
    /** A request is one datagram, of which the value leaves the rest to the command and the key. */
    private static final int DATAGRAM_VALUE_BYTES_MAX = 1000;

    @Override
    public Description describe() {
        return MemcachedStore.describe("whalin", "memcached by Memcached-Java-Client: a pool of sockets a client",
                        Option.choice("protocol", "text", "memcached's protocol; udp: the text protocol in datagrams, which get lost", "text", "binary", "udp"))
                .library("com.whalin:Memcached-Java-Client", Library.CLIENT, "BSD-3-Clause")
                .option(Option.of("init_conn", "int", "1", "setInitConn: sockets that are opened first"))
                .option(Option.of("min_conn", "int", "1", "setMinConn: the least sockets that are kept"))
                .option(Option.of("max_conn", "int", "0", "setMaxConn: the most sockets; 0: one a thread that shares the client"))
                .option(Option.of("weights", "string", "", "setWeights: a weight for each endpoint, in their order: 3,1,1. Unset: 1 for each"))
                .option(Option.choice("failover", "false", "setFailover: another server takes the keys of one that is dead", "true", "false"))
                .option(Option.of("timeout", "duration", "3s", "setSocketTO: how long a socket is read from"))
                .set("handle_pools", true)
                .set("connections_option", "max_conn")
                .set("value_bytes_option", "protocol")
                .set("value_bytes_choices", Map.of("udp", DATAGRAM_VALUE_BYTES_MAX))
                .set("note", "where add, delete or a compare-and-swap is false and the client told no error, "
                        + "that is a conflict or a miss: it does not tell a server's refusal from them; its get takes an empty value for a miss, "
                        + "so each miss is asked for a second time, by gets");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Client.class;
    }

    @Override
    public Store open(Config config) throws Exception {
        return new Servers(config);
    }

    private static final class Servers extends MemcachedStore {
        Servers(Config config) throws Exception {
            super(config, weights(config));
        }

        private int maxConn() {
            int asked = config.options.integer("max_conn");
            return asked != 0 ? asked : config.handles == 1 ? config.threads : 1;
        }

        @Override
        public Handle open() throws Exception {
            return new Client(config, maxConn(), credentials, serialisation);
        }

        @Override
        public Map<String, String> settings() {
            Map<String, String> settings = settings(Map.of("initConn", "init_conn", "minConn", "min_conn", "socketTO", "timeout", "weights", "weights", "failover", "failover"));
            settings.put("maxConn", Integer.toString(maxConn()));
            return settings;
        }
    }

    private static final class Client implements Handle.Add, Handle.CompareAndSwap, InvocationHandler {
        private static final byte[] EMPTY = {};
        private static final int KEY_BYTES_MAX = 250;
        private static final AtomicLong NUMBER = new AtomicLong();

        private final Library library;
        private final boolean binary;
        private final Serialisation serialisation;
        private final ThreadLocal<Throwable> swallowed = new ThreadLocal<>();

        Client(Config config, int maxConn, Credentials credentials, Serialisation serialisation) throws Exception {
            this.serialisation = serialisation;
            binary = config.options.text("protocol").equals("binary");
            library = new Library("assay-" + NUMBER.incrementAndGet(), config, maxConn, credentials, this);
            if (!serialisation.bytes)
                library.setTransCoder(new Timed(serialisation));
            if (library.answering() < config.endpoints.size()) { // it says nothing where it can't connect
                library.close();
                throw new IOException("no answer from some of " + config.endpoints);
            }
        }

        /** The binary protocol sends a longer key anyway, and loses the connection. */
        private String begin(Bytes key) throws IOException {
            if (binary && key.length > KEY_BYTES_MAX)
                throw new IOException("a key has at most " + KEY_BYTES_MAX + " bytes");
            swallowed.remove();
            return key.toText();
        }

        /** The ErrorHandler: each of its methods has the client, the error, and perhaps keys. */
        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) {
            if (method.getDeclaringClass() == Object.class)
                return method.getName().equals("equals") ? proxy == arguments[0] : method.getName().equals("hashCode") ? (Object) hashCode() : "errors";
            swallowed.set((Throwable) arguments[1]);
            return null;
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
            Object found = library.get(name);
            if (found == null) {
                check();
                MemcachedItem item = there(name);
                if (item == null)
                    return judge(false, Status.MISS);
                value.set(valueOf(item));
                return Status.OK;
            }
            value.set(serialisation.value(found));
            return Status.OK;
        }

        /** What gets gives. By the binary protocol it gives an item for a miss too: one that no server has numbered. */
        private MemcachedItem there(String name) throws Exception {
            MemcachedItem item = library.gets(name);
            return item != null && item.getValue() == null && item.getCasUnique() == 0 ? null : item;
        }

        /** An empty value comes as null, from get as if the key were not there. */
        private byte[] valueOf(MemcachedItem item) {
            return item.getValue() == null ? EMPTY : serialisation.value(item.getValue());
        }

        @Override
        public Status put(Bytes key, Bytes value) throws Exception {
            if (judge(library.set(begin(key), serialisation.given(value.toArray())), Status.CONFLICT) == Status.OK)
                return Status.OK;
            throw new IOException("set returned false");
        }

        @Override
        public Status delete(Bytes key) throws Exception {
            return judge(library.delete(begin(key)), Status.MISS);
        }

        @Override
        public Status add(Bytes key, Bytes value) throws Exception {
            return judge(library.add(begin(key), serialisation.given(value.toArray())), Status.CONFLICT);
        }

        @Override
        public Status compareAndSwap(Bytes key, Bytes old, Bytes value) throws Exception {
            String name = begin(key);
            MemcachedItem there = there(name);
            if (there == null)
                return judge(false, Status.MISS);
            if (!old.isSame(valueOf(there)))
                return Status.CONFLICT;
            return judge(library.cas(name, serialisation.given(value.toArray()), there.getCasUnique()), Status.CONFLICT);
        }

        @Override
        public void close() throws Exception {
            library.close();
        }
    }
}
