package assay.riak;

import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.RefusedException;
import assay.driver.Store;
import com.basho.riak.client.api.RiakClient;
import com.basho.riak.client.api.cap.Quorum;
import com.basho.riak.client.core.RiakCluster;
import com.basho.riak.client.core.RiakNode;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Riak by Basho's client for Java, in the bucket of drivers/riak. */
public final class RiakDriver implements Driver {
    private static final List<String> QUORUMS = List.of("r", "pr", "w", "dw", "pw");

    @Override
    public Description describe() {
        Description d = new Description("riak-java", "server", "Riak by Basho's client for Java: a pool of sockets on Netty, one request on its way on each")
                .library("com.basho.riak:riak-client", RiakClient.class, "Apache-2.0")
                .durability("D0", "any server: its storage backend and that one's sync settings are not told, so that nothing is proved of what a node keeps; the client can't ask for node_confirms, which D4 needs")
                .option(Option.choice("entry", "all", "which endpoints handles connect to. one: the first; all: each in turn", "one", "all"))
                .option(Option.of("connections", "int", "8", "maxConnections of the node that a handle knows; minConnections is 1"))
                .option(Option.choice("siblings", "newest", "a get of a record with siblings gives the newest by the nodes' clocks, or fails", "newest", "error"))
                .option(Option.of("operation_timeout", "duration", "5s", "how long a connection and an operation are waited for"));
        for (String quorum : QUORUMS)
            d.option(Option.of(quorum, "string", "default", "replicas that an operation waits for, as Riak names it: a number, one, quorum or all; default: the bucket's property"));
        return d.set("handles_shareable", true)
                .set("connections_option", "connections")
                .set("eventual", true)
                .set("key_bytes_min", 1)
                .set("key_bytes_max", Objects.KEY_BYTES_MAX)
                .set("value_bytes_min", 1) // the client refuses empty ones
                .set("value_bytes_max", Objects.VALUE_BYTES_MAX)
                .set("note", "tested against a stand-in, since no package has a Riak; a put that directly follows a get of the same key by the same thread sends the vector clock back; nothing is tried twice; "
                        + "there is no compare-and-swap and no add; a delete does not tell if there was a record; records are in the bucket assay, whose properties are the server's; no TLS and no login");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Objects.class;
    }

    @Override
    public Store open(Config config) throws Exception {
        return new Nodes(config);
    }

    /** The endpoints: the client reports neither settings nor numbers of them. */
    private static final class Nodes implements Store {
        private final Config config;
        private final Map<String, Quorum> quorums = new LinkedHashMap<>();
        private final AtomicLong siblings = new AtomicLong();
        private int opened;

        Nodes(Config config) throws RefusedException {
            this.config = config;
            if (config.endpoints.isEmpty())
                throw new RefusedException("expected an endpoint, got none");
            if (config.options.durationNs("operation_timeout") < 1_000_000 || config.options.integer("connections") < 1)
                throw new RefusedException("operation_timeout and connections: expected at least 1 ms and 1");
            for (String name : QUORUMS)
                if (!config.options.text(name).equals("default"))
                    quorums.put(name, quorum(name, config.options.text(name)));
        }

        private static Quorum quorum(String name, String text) throws RefusedException {
            switch (text) {
                case "one":
                    return Quorum.oneQuorum();
                case "quorum":
                    return Quorum.quorumQuorum();
                case "all":
                    return Quorum.allQuorum();
                default:
                    if (!text.matches("[0-9]{1,3}"))
                        throw new RefusedException(name + " is \"" + text + "\", expected a number of replicas, one, quorum, all or default");
                    return new Quorum(Integer.parseInt(text));
            }
        }

        /** A client that knows one node: which nodes handles connect to is the driver's choice, as in Go. */
        @Override
        public synchronized Handle open() throws Exception {
            String endpoint = config.endpoints.get(config.options.text("entry").equals("one") ? 0 : opened++ % config.endpoints.size());
            int colon = endpoint.lastIndexOf(':');
            int timeoutMs = (int) TimeUnit.NANOSECONDS.toMillis(config.options.durationNs("operation_timeout"));
            RiakNode node = new RiakNode.Builder().withRemoteAddress(endpoint.substring(0, colon)).withRemotePort(Integer.parseInt(endpoint.substring(colon + 1)))
                    .withMinConnections(1).withMaxConnections(config.options.integer("connections")).withBlockOnMaxConnections(true)
                    .withConnectionTimeout(timeoutMs).build();
            RiakCluster cluster = new RiakCluster.Builder(node).withExecutionAttempts(1).build();
            cluster.start();
            Objects handle = new Objects(new RiakClient(cluster), quorums, config.options.text("siblings").equals("error"), timeoutMs, siblings);
            try {
                handle.connect();
            } catch (Exception e) {
                handle.close();
                throw e;
            }
            return handle;
        }

        @Override
        public Map<String, Double> stats() {
            return Map.of("siblings", siblings.doubleValue());
        }

        @Override
        public Map<String, String> settings() {
            Map<String, String> all = new LinkedHashMap<>();
            List<String> names = new ArrayList<>(QUORUMS);
            names.addAll(List.of("entry", "connections", "siblings", "operation_timeout"));
            for (String name : names)
                all.put("driver." + name, config.options.text(name));
            all.put("driver.bucket", Objects.BUCKET);
            return all;
        }

        @Override
        public void close() {}
    }

    /** The client's errors stand inside of what its futures tell. */
    static Exception told(ExecutionException e) {
        return e.getCause() instanceof Exception cause ? cause : e;
    }
}
