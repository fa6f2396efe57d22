package assay.spymemcached;

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
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import net.spy.memcached.AddrUtil;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.CachedData;
import net.spy.memcached.ConnectionFactory;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.DefaultHashAlgorithm;
import net.spy.memcached.KetamaConnectionFactory;
import net.spy.memcached.KetamaNodeKeyFormatter;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.auth.AuthDescriptor;
import net.spy.memcached.auth.PlainCallbackHandler;
import net.spy.memcached.internal.OperationFuture;
import net.spy.memcached.OperationFactory;
import net.spy.memcached.ops.OperationStatus;
import net.spy.memcached.ops.StatusCode;
import net.spy.memcached.transcoders.SerializingTranscoder;
import net.spy.memcached.transcoders.Transcoder;

/** spymemcached: a handle is a client, which has one socket a server and one thread for all of them. */
public final class SpymemcachedDriver implements Driver {
    @Override
    public Description describe() {
        return MemcachedStore.describe("spymemcached", "memcached by spymemcached: one socket a server and client",
                        Option.choice("protocol", "text", "memcached's protocol", "text", "binary"))
                .library("net.spy:spymemcached", MemcachedClient.class, "MIT")
                .option(Option.of("weights", "string", "", "a weight for each endpoint, in their order: 3,1,1; keys are then spread by ketama. Unset: by the key's hash alone"))
                .option(Option.of("timeout", "duration", "2500ms", "operationTimeout: how long an operation is waited for"))
                .set("note", "values are uncompressed; nothing is evicted only while the server has room");
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
            return settings(Map.of("timeout", "timeout", "weights", "weights"));
        }
    }

    /** Passes byte arrays through, whatever the flags, and never compresses: the length is the trace's. */
    private static class Plain extends SerializingTranscoder {
        Plain() {
            setCompressionThreshold(Integer.MAX_VALUE);
        }

        @Override
        public boolean asyncDecode(CachedData data) {
            return false;
        }
    }

    /** Objects, by the client's own serialisation or by ours, and what it costs. */
    private static final class Timed extends Plain {
        private static final int NO_FLAGS = 0;

        private final Serialisation serialisation;

        Timed(Serialisation serialisation) {
            this.serialisation = serialisation;
        }

        @Override
        public CachedData encode(Object item) {
            return serialisation.serialise(() -> serialisation.custom ? new CachedData(NO_FLAGS, Serialisation.encode(item), getMaxSize()) : super.encode(item));
        }

        @Override
        public Object decode(CachedData data) {
            return serialisation.deserialise(() -> serialisation.custom ? Serialisation.decode(data.getData()) : super.decode(data));
        }
    }

    /** The client's only way to weights, which its builder does not have. */
    private static final class Weighted extends KetamaConnectionFactory {
        private final ConnectionFactory plain;

        Weighted(ConnectionFactory plain, List<InetSocketAddress> servers, int[] weights) {
            super(DEFAULT_OP_QUEUE_LEN, DEFAULT_READ_BUFFER_SIZE, DEFAULT_OP_QUEUE_MAX_BLOCK_TIME, DefaultHashAlgorithm.KETAMA_HASH,
                    KetamaNodeKeyFormatter.Format.SPYMEMCACHED, byServer(servers, weights));
            this.plain = plain;
        }

        private static Map<InetSocketAddress, Integer> byServer(List<InetSocketAddress> servers, int[] weights) {
            Map<InetSocketAddress, Integer> all = new HashMap<>();
            for (int i = 0; i < weights.length; i++)
                all.put(servers.get(i), weights[i]);
            return all;
        }

        @Override
        public OperationFactory getOperationFactory() {
            return plain.getOperationFactory();
        }

        @Override
        public long getOperationTimeout() {
            return plain.getOperationTimeout();
        }

        @Override
        public Transcoder<Object> getDefaultTranscoder() {
            return plain.getDefaultTranscoder();
        }

        @Override
        public AuthDescriptor getAuthDescriptor() {
            return plain.getAuthDescriptor();
        }

        @Override
        public boolean isDaemon() {
            return true;
        }
    }

    private static final class Client implements Handle.Add, Handle.CompareAndSwap {
        private static final int FOREVER = 0;

        private final MemcachedClient client;
        private final long timeoutMs;
        private final Serialisation serialisation;

        Client(Config config, Credentials credentials, Serialisation serialisation) throws Exception {
            this.serialisation = serialisation;
            timeoutMs = TimeUnit.NANOSECONDS.toMillis(config.options.durationNs("timeout"));
            var protocol = config.options.text("protocol").equals("binary") ? ConnectionFactoryBuilder.Protocol.BINARY : ConnectionFactoryBuilder.Protocol.TEXT;
            List<InetSocketAddress> servers = AddrUtil.getAddresses(config.endpoints);
            int[] weights = config.options.integers("weights", servers.size());
            ConnectionFactoryBuilder builder = new ConnectionFactoryBuilder().setProtocol(protocol).setOpTimeout(timeoutMs)
                    .setTranscoder(serialisation.bytes ? new Plain() : new Timed(serialisation)).setDaemon(true);
            if (!credentials.user.isEmpty())
                builder.setAuthDescriptor(new AuthDescriptor(new String[] {"PLAIN"}, new PlainCallbackHandler(credentials.user, credentials.password)));
            ConnectionFactory plain = builder.build();
            client = new MemcachedClient(weights == null ? plain : new Weighted(plain, servers, weights), servers);
            try {
                client.getVersions(); // a client connects in the background, and says nothing where it can't
                for (InetSocketAddress dead : client.getUnavailableServers().stream().map(InetSocketAddress.class::cast).toList())
                    throw new java.net.ConnectException("no connection to " + dead);
            } catch (Exception e) {
                client.shutdown();
                throw e;
            }
        }

        private <T> T await(OperationFuture<T> future) throws Exception {
            return future.get(timeoutMs, TimeUnit.MILLISECONDS);
        }

        /** Throws what a status says that is neither of those that an operation may end in. */
        private static Status judge(OperationStatus status, StatusCode beaten, Status meaning) throws Exception {
            if (status.isSuccess())
                return Status.OK;
            if (status.getStatusCode() == beaten)
                return meaning;
            throw new java.io.IOException(status.getStatusCode() + ": " + status.getMessage());
        }

        /** A get that found nothing is a miss only where its status does not tell of a failure. */
        private static Status missed(OperationStatus status) throws Exception {
            judge(status, StatusCode.ERR_NOT_FOUND, Status.MISS);
            return Status.MISS;
        }

        @Override
        public Status get(Bytes key, Bytes value) throws Exception {
            var future = client.asyncGet(key.toText());
            Object found = future.get(timeoutMs, TimeUnit.MILLISECONDS);
            if (found == null)
                return missed(future.getStatus());
            value.set(serialisation.value(found));
            return Status.OK;
        }

        @Override
        public Status put(Bytes key, Bytes value) throws Exception {
            var future = client.set(key.toText(), FOREVER, serialisation.given(value.toArray()));
            await(future);
            return judge(future.getStatus(), null, Status.OK);
        }

        @Override
        public Status delete(Bytes key) throws Exception {
            var future = client.delete(key.toText());
            await(future);
            return judge(future.getStatus(), StatusCode.ERR_NOT_FOUND, Status.MISS);
        }

        @Override
        public Status add(Bytes key, Bytes value) throws Exception {
            var future = client.add(key.toText(), FOREVER, serialisation.given(value.toArray()));
            await(future);
            OperationStatus status = future.getStatus();
            return judge(status, status.getStatusCode() == StatusCode.ERR_EXISTS ? StatusCode.ERR_EXISTS : StatusCode.ERR_NOT_STORED, Status.CONFLICT);
        }

        @Override
        public Status compareAndSwap(Bytes key, Bytes old, Bytes value) throws Exception {
            String name = key.toText();
            OperationFuture<CASValue<Object>> gets = client.asyncGets(name);
            CASValue<Object> there = await(gets);
            if (there == null)
                return missed(gets.getStatus());
            if (!old.isSame(serialisation.value(there.getValue())))
                return Status.CONFLICT;
            CASResponse answer = await(client.asyncCAS(name, there.getCas(), serialisation.given(value.toArray())));
            switch (answer) {
                case OK:
                    return Status.OK;
                case EXISTS:
                    return Status.CONFLICT;
                case NOT_FOUND:
                    return Status.MISS;
                default:
                    throw new java.io.IOException("compare-and-swap answered " + answer);
            }
        }

        @Override
        public void close() {
            client.shutdown();
        }
    }
}
