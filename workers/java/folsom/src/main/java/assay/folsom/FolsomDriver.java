package assay.folsom;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.RefusedException;
import assay.driver.Status;
import assay.driver.Store;
import assay.drivers.MemcachedServers;
import com.spotify.folsom.GetResult;
import com.spotify.folsom.MemcacheClient;
import com.spotify.folsom.MemcacheClientBuilder;
import com.spotify.folsom.MemcacheStatus;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

/** folsom: a handle is a client with some multiplexed sockets a server, on Netty. */
public final class FolsomDriver implements Driver {
    @Override
    public Description describe() {
        return new Description("folsom", "server", "memcached by folsom: multiplexed sockets, on Netty")
                .library("com.spotify:folsom", MemcacheClient.class, "Apache-2.0")
                .durability("D0", "the server keeps everything in memory alone")
                .option(Option.choice("protocol", "text", "memcached's protocol", "text", "binary"))
                .option(Option.of("connections", "int", "1", "withConnections: sockets for each server"))
                .option(Option.of("timeout", "duration", "3s", "requestTimeoutMillis: how long an operation is waited for"))
                .set("handles_shareable", true)
                .set("connections_own", 1)
                .set("connections_option", "connections")
                .set("key_bytes_min", 1)
                .set("key_bytes_max", 250)
                .set("key_text", true)
                .set("value_bytes_max", (1 << 20) - 512)
                .set("note", "values are byte arrays, as newByteArrayClient takes them");
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
        private final MemcachedServers servers;

        Servers(Config config) throws Exception {
            this.config = config;
            servers = new MemcachedServers(config.endpoints, null);
        }

        @Override
        public Map<String, Double> stats() {
            return servers.stats();
        }

        @Override
        public Handle open() throws Exception {
            return new Client(config);
        }

        @Override
        public Map<String, String> settings() {
            return Map.of("protocol", config.options.text("protocol"), "timeout", config.options.text("timeout"), "connections", config.options.text("connections"));
        }

        @Override
        public void close() {
            servers.close();
        }
    }

    private static final class Client implements Handle.Add, Handle.CompareAndSwap {
        private static final int FOREVER = 0;
        private static final int CONNECT_SECONDS = 30;

        private final MemcacheClient<byte[]> client;

        @SuppressWarnings("deprecation") // withRequestTimeoutMillis: 1.21.0 names no other
        Client(Config config) throws Exception {
            var builder = MemcacheClientBuilder.newByteArrayClient()
                    .withRequestTimeoutMillis(TimeUnit.NANOSECONDS.toMillis(config.options.durationNs("timeout")));
            builder.withConnections(config.options.integer("connections"));
            for (String endpoint : config.endpoints) {
                int colon = endpoint.lastIndexOf(':');
                builder = builder.withAddress(endpoint.substring(0, colon), Integer.parseInt(endpoint.substring(colon + 1)));
            }
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
            byte[] found = await(client.get(key.toText()));
            if (found == null)
                return Status.MISS;
            value.set(found);
            return Status.OK;
        }

        @Override
        public Status put(Bytes key, Bytes value) throws Exception {
            MemcacheStatus status = await(client.set(key.toText(), value.toArray(), FOREVER));
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
            return judge(await(client.add(key.toText(), value.toArray(), FOREVER)));
        }

        @Override
        public Status compareAndSwap(Bytes key, Bytes old, Bytes value) throws Exception {
            String name = key.toText();
            GetResult<byte[]> there = await(client.casGet(name));
            if (there == null)
                return Status.MISS;
            if (!old.isSame(there.getValue()))
                return Status.CONFLICT;
            return judge(await(client.set(name, value.toArray(), FOREVER, there.getCas())));
        }

        @Override
        public void close() {
            client.shutdown();
        }
    }
}
