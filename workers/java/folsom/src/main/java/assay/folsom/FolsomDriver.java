package assay.folsom;

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
import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.MemcacheClientBuilder;
import com.spotify.folsom.MemcacheStatus;
import com.spotify.folsom.Transcoder;
import com.spotify.folsom.transcoder.SerializableObjectTranscoder;
import java.io.IOException;
import java.io.Serializable;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/** folsom: a handle is a client with some multiplexed sockets a server, on Netty. */
public final class FolsomDriver implements Driver {
    @Override
    public Description describe() {
        return MemcachedStore.describe("folsom", "memcached by folsom: multiplexed sockets, on Netty",
                        Option.choice("protocol", "text", "memcached's protocol", "text", "binary"))
                .library("com.spotify:folsom", MemcacheClient.class, "Apache-2.0")
                .option(Option.of("connections", "int", "1", "withConnections: sockets for each server"))
                .option(Option.of("timeout", "duration", "3s", "requestTimeoutMillis: how long an operation is waited for"))
                .set("connections_option", "connections");
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
            super(config, null);
        }

        @Override
        public Handle open() throws Exception {
            return new Client(config, credentials, serialisation);
        }

        @Override
        public Map<String, String> settings() {
            return settings(Map.of("timeout", "timeout", "connections", "connections"));
        }
    }

    /** What newByteArrayClient has. */
    private static final class Plain implements Transcoder<Object> {
        @Override
        public byte[] encode(Object value) {
            return (byte[]) value;
        }

        @Override
        public Object decode(byte[] bytes) {
            return bytes;
        }
    }

    /** Objects, by the client's own serialisation or by ours, and what it costs. */
    private static final class Timed implements Transcoder<Object> {
        private static final Transcoder<Serializable> OWN = SerializableObjectTranscoder.getInstance();

        private final Serialisation serialisation;

        Timed(Serialisation serialisation) {
            this.serialisation = serialisation;
        }

        @Override
        public byte[] encode(Object item) {
            return serialisation.serialise(() -> serialisation.custom ? Serialisation.encode(item) : OWN.encode((Serializable) item));
        }

        @Override
        public Object decode(byte[] bytes) {
            return serialisation.deserialise(() -> serialisation.custom ? Serialisation.decode(bytes) : OWN.decode(bytes));
        }
    }

    private static final class Client implements Handle.Add, Handle.CompareAndSwap {
        private static final int FOREVER = 0;
        private static final int CONNECT_SECONDS = 30;

        private final MemcacheClient<Object> client;
        private final Serialisation serialisation;

        @SuppressWarnings("deprecation") // withRequestTimeoutMillis: 1.21.0 names no other
        Client(Config config, Credentials credentials, Serialisation serialisation) throws Exception {
            this.serialisation = serialisation;
            MemcacheClientBuilder<Object> builder = new MemcacheClientBuilder<Object>(serialisation.bytes ? new Plain() : new Timed(serialisation))
                    .withRequestTimeoutMillis(TimeUnit.NANOSECONDS.toMillis(config.options.durationNs("timeout")));
            builder.withConnections(config.options.integer("connections"));
            for (String endpoint : config.endpoints) {
                int colon = endpoint.lastIndexOf(':');
                builder = builder.withAddress(endpoint.substring(0, colon), Integer.parseInt(endpoint.substring(colon + 1)));
            }
            if (!credentials.user.isEmpty())
                builder = builder.withUsernamePassword(credentials.user, credentials.password);
            client = config.options.text("protocol").equals("binary") ? builder.connectBinary() : builder.connectAscii();
            try {
                client.awaitFullyConnected(CONNECT_SECONDS, TimeUnit.SECONDS);
            } catch (Exception e) {
                client.shutdown();
                throw e;
            }
        }

        /** The client ends each request by its own time-out. */
        private static <T> T await(CompletionStage<T> stage) throws Exception {
            return stage.toCompletableFuture().get();
        }

        private static Status judge(MemcacheStatus status) throws IOException {
            switch (status) {
                case OK:
                    return Status.OK;
                case KEY_NOT_FOUND:
                    return Status.MISS;
                case KEY_EXISTS:
                case ITEM_NOT_STORED:
                    return Status.CONFLICT;
                default:
                    throw new IOException("the server answered " + status);
            }
        }

        @Override
        public Status get(Bytes key, Bytes value) throws Exception {
            Object found = await(client.get(key.toText()));
            if (found == null)
                return Status.MISS;
            value.set(serialisation.value(found));
            return Status.OK;
        }

        @Override
        public Status put(Bytes key, Bytes value) throws Exception {
            MemcacheStatus status = await(client.set(key.toText(), serialisation.given(value.toArray()), FOREVER));
            if (status != MemcacheStatus.OK)
                throw new IOException("the server answered " + status);
            return Status.OK;
        }

        @Override
        public Status delete(Bytes key) throws Exception {
            return judge(await(client.delete(key.toText())));
        }

        @Override
        public Status add(Bytes key, Bytes value) throws Exception {
            return judge(await(client.add(key.toText(), serialisation.given(value.toArray()), FOREVER)));
        }

        @Override
        public Status compareAndSwap(Bytes key, Bytes old, Bytes value) throws Exception {
            String name = key.toText();
            GetResult<Object> there = await(client.casGet(name));
            if (there == null)
                return Status.MISS;
            if (!old.isSame(serialisation.value(there.getValue())))
                return Status.CONFLICT;
            return judge(await(client.set(name, serialisation.given(value.toArray()), FOREVER, there.getCas())));
        }

        @Override
        public void close() {
            client.shutdown();
        }
    }
}
