package assay.jedis;

import assay.driver.Bytes;
import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.RefusedException;
import assay.driver.Status;
import assay.driver.Store;
import assay.drivers.RedisServer;
import java.io.IOException;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.commons.pool2.impl.GenericObjectPoolConfig;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.Transaction;

/**
 * Jedis: a handle is a JedisPool, from which each operation borrows a connection, as applications do.
 * What changed between 2.9 and 7 (counts became long from Long) is looked up by name, so that an arm's
 * {@code client:} may be any version from 2.9.3 on.
 */
public final class JedisDriver implements Driver {
    @Override
    public Description describe() {
        return RedisServer.describe(new Description("jedis", "server", "Redis by Jedis: a pool of sockets, one request on its way on each"))
                .library("redis.clients:jedis", Jedis.class, "MIT")
                .option(Option.of("connections", "int", "8", "maxTotal of the pool that a handle is, and maxIdle"))
                .set("handles_shareable", true)
                .set("connections_own", 1)
                .set("connections_option", "connections")
                .set("note", "a batch is a pipeline of SET and DEL; compare-and-swap is WATCH, GET, a comparison in the client, MULTI, SET, EXEC");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Pool.class;
    }

    @Override
    public Store open(Config config) throws Exception {
        return new Server(config);
    }

    private static final class Server implements Store {
        private final Config config;
        private final RedisServer server;

        Server(Config config) throws Exception {
            this.config = config;
            server = new RedisServer(config);
            if (!server.user.isEmpty() && !server.user.equals("default")) {
                server.close();
                throw new RefusedException("Jedis 2.9 logs in as the default user alone, and so does this driver: got user " + server.user);
            }
        }

        @Override
        public Handle open() {
            return new Pool(config, server);
        }

        @Override
        public Map<String, Double> stats() {
            return server.stats();
        }

        @Override
        public Map<String, String> settings() {
            Map<String, String> told = new LinkedHashMap<>(server.settings());
            told.put("maxTotal", config.options.text("connections") + " (asked)");
            told.put("timeout", config.options.text("timeout") + " (asked)");
            return told;
        }

        @Override
        public void close() {
            server.close();
        }
    }

    private static final class Pool implements Handle.Add, Handle.CompareAndSwap, Handle.Batch {
        private static final MethodHandle DELETE = counting("del", byte[].class);
        private static final MethodHandle SET_IF_ABSENT = counting("setnx", byte[].class, byte[].class);

        private final JedisPool pool;

        /** A method of Jedis that returns a count, as long or as Long. */
        private static MethodHandle counting(String name, Class<?>... arguments) {
            MethodHandles.Lookup lookup = MethodHandles.publicLookup();
            MethodHandle found;
            try {
                found = lookup.findVirtual(Jedis.class, name, MethodType.methodType(long.class, arguments));
            } catch (ReflectiveOperationException e) {
                try {
                    found = lookup.findVirtual(Jedis.class, name, MethodType.methodType(Long.class, arguments));
                } catch (ReflectiveOperationException neither) {
                    throw new LinkageError("Jedis has no method " + name, neither);
                }
            }
            return found.asType(MethodType.methodType(long.class, Jedis.class, arguments));
        }

        @SuppressWarnings("deprecation") // setMaxWaitMillis: the pool of Jedis 2.9 has no other
        Pool(Config config, RedisServer server) {
            int connections = config.options.integer("connections");
            GenericObjectPoolConfig<Jedis> limits = new GenericObjectPoolConfig<>();
            limits.setMaxTotal(connections);
            limits.setMaxIdle(connections);
            int timeout = (int) TimeUnit.NANOSECONDS.toMillis(config.options.durationNs("timeout"));
            limits.setMaxWaitMillis(timeout);
            pool = new JedisPool(limits, server.host, server.port, timeout, server.password.isEmpty() ? null : server.password);
        }

        @Override
        public Status get(Bytes key, Bytes value) {
            try (Jedis jedis = pool.getResource()) {
                byte[] found = jedis.get(key.toArray());
                if (found == null)
                    return Status.MISS;
                value.set(found);
                return Status.OK;
            }
        }

        @Override
        public Status put(Bytes key, Bytes value) throws Exception {
            try (Jedis jedis = pool.getResource()) {
                return ok(jedis.set(key.toArray(), value.toArray()));
            }
        }

        private static Status ok(String reply) throws IOException {
            if (!"OK".equals(reply))
                throw new IOException("the server answered " + reply);
            return Status.OK;
        }

        @Override
        public Status delete(Bytes key) throws Exception {
            try (Jedis jedis = pool.getResource()) {
                return count(DELETE, jedis, key.toArray()) > 0 ? Status.OK : Status.MISS;
            }
        }

        private static long count(MethodHandle method, Jedis jedis, byte[] key) throws Exception {
            try {
                return (long) method.invokeExact(jedis, key);
            } catch (Exception | Error e) {
                throw e;
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public Status add(Bytes key, Bytes value) throws Exception {
            try (Jedis jedis = pool.getResource()) {
                long added;
                try {
                    added = (long) SET_IF_ABSENT.invokeExact(jedis, key.toArray(), value.toArray());
                } catch (Exception | Error e) {
                    throw e;
                } catch (Throwable e) {
                    throw new IllegalStateException(e);
                }
                return added > 0 ? Status.OK : Status.CONFLICT;
            }
        }

        @Override
        public Status compareAndSwap(Bytes key, Bytes old, Bytes value) throws Exception {
            byte[] name = key.toArray();
            try (Jedis jedis = pool.getResource()) {
                jedis.watch(name);
                byte[] there = jedis.get(name);
                if (there == null || !old.isSame(there)) {
                    jedis.unwatch();
                    return there == null ? Status.MISS : Status.CONFLICT;
                }
                Transaction transaction = jedis.multi();
                transaction.set(name, value.toArray());
                List<Object> done = transaction.exec();
                return done == null || done.isEmpty() ? Status.CONFLICT : Status.OK;
            }
        }

        @Override
        public Status batch(List<Write> writes) {
            try (Jedis jedis = pool.getResource()) {
                var pipeline = jedis.pipelined();
                for (Write write : writes) {
                    if (write.value == null)
                        pipeline.del(write.key.toArray());
                    else
                        pipeline.set(write.key.toArray(), write.value.toArray());
                }
                for (Object reply : pipeline.syncAndReturnAll())
                    if (reply instanceof RuntimeException refused)
                        throw refused;
                return Status.OK;
            }
        }

        @Override
        public void close() {
            pool.close();
        }
    }
}
