package assay.xmemcached;

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
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.CallbackHandler;
import javax.security.auth.callback.NameCallback;
import javax.security.auth.callback.PasswordCallback;
import net.rubyeye.xmemcached.GetsResponse;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.auth.AuthInfo;
import net.rubyeye.xmemcached.auth.AuthTask;
import net.rubyeye.xmemcached.command.BinaryCommandFactory;
import net.rubyeye.xmemcached.command.TextCommandFactory;
import net.rubyeye.xmemcached.transcoders.CachedData;
import net.rubyeye.xmemcached.transcoders.CompressionMode;
import net.rubyeye.xmemcached.transcoders.SerializingTranscoder;
import net.rubyeye.xmemcached.transcoders.Transcoder;

/** XMemcached: a handle is a client with some multiplexed sockets. */
public final class XmemcachedDriver implements Driver {
    @Override
    public Description describe() {
        return MemcachedStore.describe("xmemcached", "memcached by XMemcached: multiplexed sockets",
                        Option.choice("protocol", "text", "memcached's protocol", "text", "binary"))
                .library("com.googlecode.xmemcached:xmemcached", MemcachedClient.class, "Apache-2.0")
                .option(Option.of("weights", "string", "", "a weight for each endpoint, in their order: 3,1,1. Unset: 1 for each"))
                .option(Option.of("connections", "int", "1", "setConnectionPoolSize: sockets for each server"))
                .option(Option.of("timeout", "duration", "5s", "opTimeout: how long an operation is waited for"))
                .set("connections_option", "connections")
                .set("note", "values are uncompressed");
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

        @Override
        public Handle open() throws Exception {
            return new Client(config, credentials, serialisation);
        }

        @Override
        public Map<String, String> settings() {
            return settings(Map.of("timeout", "timeout", "weights", "weights", "connectionPoolSize", "connections"));
        }
    }

    /** Objects, by the client's own serialisation or by ours, and what it costs. */
    private static final class Timed implements Transcoder<Object> {
        private static final int NO_FLAGS = 0;

        private final SerializingTranscoder own;
        private final Serialisation serialisation;

        Timed(SerializingTranscoder own, Serialisation serialisation) {
            this.own = own;
            this.serialisation = serialisation;
        }

        @Override
        public CachedData encode(Object item) {
            return serialisation.serialise(() -> serialisation.custom ? new CachedData(NO_FLAGS, Serialisation.encode(item)) : own.encode(item));
        }

        @Override
        public Object decode(CachedData data) {
            return serialisation.deserialise(() -> serialisation.custom ? Serialisation.decode(data.getData()) : own.decode(data));
        }

        @Override
        public void setPrimitiveAsString(boolean as) {
            own.setPrimitiveAsString(as);
        }

        @Override
        public void setPackZeros(boolean pack) {
            own.setPackZeros(pack);
        }

        @Override
        public void setCompressionThreshold(int bytes) {
            own.setCompressionThreshold(bytes);
        }

        @Override
        public boolean isPrimitiveAsString() {
            return own.isPrimitiveAsString();
        }

        @Override
        public boolean isPackZeros() {
            return own.isPackZeros();
        }

        @Override
        public void setCompressionMode(CompressionMode mode) {
            own.setCompressionMode(mode);
        }
    }

    /** The client logs in by threads of its own, which ask here as whom, and loses a connection that is used before. */
    private static final class Login implements CallbackHandler {
        private static final int SECONDS = 30;

        private final Credentials credentials;
        private final CountDownLatch connections;

        Login(Credentials credentials, int connections) {
            this.credentials = credentials;
            this.connections = new CountDownLatch(connections);
        }

        @Override
        public void handle(Callback[] callbacks) {
            for (Callback callback : callbacks)
                if (callback instanceof NameCallback)
                    ((NameCallback) callback).setName(credentials.user);
                else if (callback instanceof PasswordCallback)
                    ((PasswordCallback) callback).setPassword(credentials.password.toCharArray());
            connections.countDown();
        }

        void await() throws InterruptedException {
            connections.await(SECONDS, TimeUnit.SECONDS); // a missing one shows in the list of servers
            for (Thread thread : Thread.getAllStackTraces().keySet())
                if (thread instanceof AuthTask)
                    thread.join(TimeUnit.SECONDS.toMillis(SECONDS));
        }
    }

    private static final class Client implements Handle.Add, Handle.CompareAndSwap {
        private static final int FOREVER = 0;

        private final MemcachedClient client;
        private final Serialisation serialisation;

        Client(Config config, Credentials credentials, Serialisation serialisation) throws Exception {
            this.serialisation = serialisation;
            List<InetSocketAddress> servers = new ArrayList<>();
            for (String endpoint : config.endpoints) {
                int colon = endpoint.lastIndexOf(':');
                servers.add(new InetSocketAddress(named(endpoint.substring(0, colon)), Integer.parseInt(endpoint.substring(colon + 1))));
            }
            int[] weights = config.options.integers("weights", servers.size());
            XMemcachedClientBuilder builder = weights == null ? new XMemcachedClientBuilder(servers) : new XMemcachedClientBuilder(servers, weights);
            builder.setConnectionPoolSize(config.options.integer("connections"));
            builder.setCommandFactory(config.options.text("protocol").equals("binary") ? new BinaryCommandFactory() : new TextCommandFactory());
            builder.setOpTimeout(TimeUnit.NANOSECONDS.toMillis(config.options.durationNs("timeout")));
            SerializingTranscoder plain = new SerializingTranscoder();
            plain.setCompressionThreshold(Integer.MAX_VALUE);
            builder.setTranscoder(serialisation.bytes ? plain : new Timed(plain, serialisation));
            Login login = new Login(credentials, servers.size() * config.options.integer("connections"));
            if (!credentials.user.isEmpty())
                servers.forEach(server -> builder.addAuthInfo(server, new AuthInfo(login, new String[] {"PLAIN"})));
            client = builder.build();
            if (!credentials.user.isEmpty())
                login.await();
            if (client.getAvailableServers().size() < servers.size()) {
                client.shutdown();
                throw new java.net.ConnectException("no connection to some of " + config.endpoints);
            }
        }

        /** The client finds a server's login by its name, which must not become another one once it is looked up. */
        private static InetAddress named(String host) throws UnknownHostException {
            return InetAddress.getByAddress(host, InetAddress.getByName(host).getAddress());
        }

        @Override
        public Status get(Bytes key, Bytes value) throws Exception {
            Object found = client.get(key.toText());
            if (found == null)
                return Status.MISS;
            value.set(serialisation.value(found));
            return Status.OK;
        }

        @Override
        public Status put(Bytes key, Bytes value) throws Exception {
            if (!client.set(key.toText(), FOREVER, serialisation.given(value.toArray())))
                throw new java.io.IOException("set returned false");
            return Status.OK;
        }

        @Override
        public Status delete(Bytes key) throws Exception {
            return client.delete(key.toText()) ? Status.OK : Status.MISS;
        }

        @Override
        public Status add(Bytes key, Bytes value) throws Exception {
            return client.add(key.toText(), FOREVER, serialisation.given(value.toArray())) ? Status.OK : Status.CONFLICT;
        }

        /** Its cas returns false where the value is another one and where there is none: both are conflicts. */
        @Override
        public Status compareAndSwap(Bytes key, Bytes old, Bytes value) throws Exception {
            String name = key.toText();
            GetsResponse<Object> there = client.gets(name);
            if (there == null)
                return Status.MISS;
            if (!old.isSame(serialisation.value(there.getValue())))
                return Status.CONFLICT;
            return client.cas(name, FOREVER, serialisation.given(value.toArray()), there.getCas()) ? Status.OK : Status.CONFLICT;
        }

        @Override
        public void close() throws Exception {
            client.shutdown();
        }
    }
}
