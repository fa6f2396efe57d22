package assay.lettuce;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Status;
import assay.driver.Store;
import assay.drivers.RedisServer;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SetArgs;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Lettuce: a handle is one connection on Netty, which threads may share; their requests are pipelined. */
public final class LettuceDriver implements Driver {
    @Override
    public Description describe() {
        return RedisServer.describe(new Description("lettuce", "server", "Redis by Lettuce: one multiplexed socket a handle, on Netty"))
                .library("io.lettuce:lettuce-core", RedisClient.class, "MIT")
                .set("handles_shareable", true)
                .set("connections_own", 1)
                .set("note", "by the synchronous commands; a connection that was lost is an error until it is back: commands do not wait for it");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Connection.class;
    }

    @Override
    public Store open(Config config) throws Exception {
        return new Server(config);
    }

    private static final class Server implements Store {
        private final Config config;
        private final RedisServer server;
        private final RedisClient client;

        Server(Config config) throws Exception {
            this.config = config;
            server = new RedisServer(config);
            Duration timeout = Duration.ofNanos(config.options.durationNs("timeout"));
            RedisURI.Builder at = RedisURI.builder().withHost(server.host).withPort(server.port).withTimeout(timeout);
            if (!server.user.isEmpty())
                at = at.withAuthentication(server.user, server.password.toCharArray());
            else if (!server.password.isEmpty())
                at = at.withPassword(server.password.toCharArray());
            client = RedisClient.create(at.build());
            client.setOptions(ClientOptions.builder().disconnectedBehavior(ClientOptions.DisconnectedBehavior.REJECT_COMMANDS)
                    .timeoutOptions(TimeoutOptions.enabled(timeout)).build());
        }

        @Override
        public Handle open() {
            return new Connection(client.connect(ByteArrayCodec.INSTANCE));
        }

        @Override
        public Map<String, Double> stats() {
            return server.stats();
        }

        @Override
        public Map<String, String> settings() {
            Map<String, String> told = new LinkedHashMap<>(server.settings());
            told.put("timeout", config.options.text("timeout") + " (asked)");
            return told;
        }

        @Override
        public void close() {
            client.shutdown(0, 2, TimeUnit.SECONDS);
            server.close();
        }
    }

    private static final class Connection implements Handle.Add {
        private final StatefulRedisConnection<byte[], byte[]> connection;
        private final RedisCommands<byte[], byte[]> commands;

        Connection(StatefulRedisConnection<byte[], byte[]> connection) {
            this.connection = connection;
            commands = connection.sync();
        }

        /** Its time-out is none of java.util.concurrent's. */
        private static <T> T done(Callable<T> operation) throws Exception {
            try {
                return operation.call();
            } catch (RedisCommandTimeoutException e) {
                throw (TimeoutException) new TimeoutException(e.getMessage()).initCause(e);
            }
        }

        @Override
        public Status get(Bytes key, Bytes value) throws Exception {
            byte[] found = done(() -> commands.get(key.toArray()));
            if (found == null)
                return Status.MISS;
            value.set(found);
            return Status.OK;
        }

        @Override
        public Status put(Bytes key, Bytes value) throws Exception {
            String reply = done(() -> commands.set(key.toArray(), value.toArray()));
            if (!"OK".equals(reply))
                throw new IOException("the server answered " + reply);
            return Status.OK;
        }

        @Override
        public Status delete(Bytes key) throws Exception {
            return done(() -> commands.del(key.toArray())) > 0 ? Status.OK : Status.MISS;
        }

        @Override
        public Status add(Bytes key, Bytes value) throws Exception {
            String reply = done(() -> commands.set(key.toArray(), value.toArray(), SetArgs.Builder.nx()));
            return reply == null ? Status.CONFLICT : Status.OK;
        }

        @Override
        public void close() {
            connection.close();
        }
    }
}
