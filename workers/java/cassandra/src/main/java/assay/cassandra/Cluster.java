package assay.cassandra;

import static assay.cassandra.Failures.refused;

import assay.driver.Config;
import assay.driver.Handle;
import assay.driver.RefusedException;
import assay.driver.Store;
import assay.drivers.Credentials;
import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.CqlSessionBuilder;
import com.datastax.oss.driver.api.core.DefaultConsistencyLevel;
import com.datastax.oss.driver.api.core.DriverException;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.cql.Row;
import com.datastax.oss.driver.api.core.loadbalancing.NodeDistance;
import com.datastax.oss.driver.api.core.servererrors.ReadFailureException;
import com.datastax.oss.driver.internal.core.connection.ConstantReconnectionPolicy;
import com.datastax.oss.driver.internal.core.loadbalancing.DcInferringLoadBalancingPolicy;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;

/**
 * The cluster and the keyspace of Assay's own, with a session for each endpoint, so that a look at a node's
 * settings and numbers asks that node. The keyspace is made, marked and dropped as drivers/cassandra/keyspace.go has it.
 */
final class Cluster implements Store {
    private static final String MARK = "made by Assay";
    private static final String RECORDS = "records", SESSIONS = "assay_sessions";
    private static final int SESSION_SECONDS = 24 * 60 * 60;
    private static final Duration CONTROL_MIN = Duration.ofMinutes(1);
    private static final Duration STATS_PATIENCE = Duration.ofSeconds(10);
    /** Those that decide what a figure means. */
    private static final List<String> REPORTED = List.of("cluster_name", "partitioner", "commitlog_sync", "commitlog_sync_period",
            "periodic_commitlog_sync_lag_block", "commitlog_sync_group_window", "commit_failure_policy", "memtable_allocation_type", "concurrent_reads",
            "concurrent_writes", "read_request_timeout", "write_request_timeout", "batch_size_fail_threshold", "sstable.selected_format");

    private final Config config;
    private final String keyspace;
    private final int replication;
    private final ConsistencyLevel write, read;
    private final Duration timeout;
    private final Credentials login;
    private final List<InetSocketAddress> addresses = new ArrayList<>();
    private final List<CqlSession> members = new ArrayList<>();
    private final Map<String, String> told = new LinkedHashMap<>();
    private String entered; // this store's row among those that are open; null: there is none

    Cluster(Config config) throws RefusedException {
        this.config = config;
        keyspace = config.options.text("keyspace");
        replication = config.options.integer("replication");
        timeout = Duration.ofNanos(config.options.durationNs("operation_timeout"));
        String reads = config.options.text("read_consistency");
        write = level(config.options.text("consistency"));
        read = reads.equals("same") ? write : level(reads);
        login = new Credentials(config.options);
        if (config.endpoints.isEmpty() || timeout.isNegative() || timeout.isZero() || replication < 1)
            throw refused("expected an endpoint, an operation_timeout above 0 and a replication of at least 1");
        if (!keyspace.matches("[a-z][a-z0-9_]{0,47}"))
            throw refused("keyspace \"%s\": expected up to 48 small letters, digits and _, a letter first", keyspace);
        for (String endpoint : config.endpoints) {
            int colon = endpoint.lastIndexOf(':');
            addresses.add(new InetSocketAddress(endpoint.substring(0, colon), Integer.parseInt(endpoint.substring(colon + 1))));
        }
    }

    private static ConsistencyLevel level(String name) {
        return DefaultConsistencyLevel.valueOf(name.toUpperCase(Locale.ROOT));
    }

    void prepare() throws Exception {
        for (InetSocketAddress address : addresses) {
            CqlSession session = connect(List.of(address), CONTROL_MIN, false);
            members.add(session);
            Map<String, String> settings = new TreeMap<>();
            for (Row row : session.execute("SELECT name, value FROM system_views.settings"))
                settings.put(row.getString(0), row.getString(1));
            prove(address, settings);
            if (members.size() == 1) {
                told.put("version", session.execute("SELECT release_version FROM system.local").one().getString(0));
                for (String name : REPORTED)
                    if (settings.get(name) != null)
                        told.put(name, settings.get(name));
            }
        }
        openKeyspace(config.first && config.options.bool("flush_at_open"));
    }

    /**
     * Opens a session that knows the given nodes alone, and tries nothing twice. With tokens it reads who has
     * which key, and asks a replica.
     */
    private CqlSession connect(List<InetSocketAddress> nodes, Duration patience, boolean tokens) {
        var all = DriverConfigLoader.programmaticBuilder()
                .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, patience)
                .withDuration(DefaultDriverOption.CONNECTION_CONNECT_TIMEOUT, patience)
                .withDuration(DefaultDriverOption.CONNECTION_INIT_QUERY_TIMEOUT, patience)
                .withDuration(DefaultDriverOption.CONTROL_CONNECTION_TIMEOUT, patience)
                .withString(DefaultDriverOption.REQUEST_CONSISTENCY, write.name())
                .withString(DefaultDriverOption.REQUEST_SERIAL_CONSISTENCY, write == DefaultConsistencyLevel.LOCAL_QUORUM ? "LOCAL_SERIAL" : "SERIAL")
                .withClass(DefaultDriverOption.LOAD_BALANCING_POLICY_CLASS, DcInferringLoadBalancingPolicy.class)
                .withClass(DefaultDriverOption.RETRY_POLICY_CLASS, Failures.NoRetry.class)
                .withClass(DefaultDriverOption.RECONNECTION_POLICY_CLASS, ConstantReconnectionPolicy.class)
                .withDuration(DefaultDriverOption.RECONNECTION_BASE_DELAY, Duration.ofSeconds(1))
                .withBoolean(DefaultDriverOption.CONTROL_CONNECTION_AGREEMENT_WARN, false)
                .withBoolean(DefaultDriverOption.METADATA_TOKEN_MAP_ENABLED, tokens)
                .withBoolean(DefaultDriverOption.METADATA_SCHEMA_ENABLED, tokens)
                .withStringList(DefaultDriverOption.METADATA_SCHEMA_REFRESHED_KEYSPACES, List.of(keyspace));
        CqlSessionBuilder builder = CqlSession.builder().withConfigLoader(all.build()).addContactPoints(nodes)
                .withNodeDistanceEvaluator((node, centre) -> node.getEndPoint().resolve() instanceof InetSocketAddress at
                        && nodes.stream().anyMatch(each -> each.getAddress().equals(at.getAddress())) ? null : NodeDistance.IGNORED);
        if (!login.user.isEmpty())
            builder = builder.withAuthCredentials(login.user, login.password);
        return builder.build();
    }

    @Override
    public Handle open() throws Exception {
        String entry = config.options.text("entry");
        CqlSession session = null;
        try {
            session = connect(entry.equals("one") ? addresses.subList(0, 1) : addresses, timeout, entry.equals("prefer"));
            return new Rows(session, table(RECORDS), read);
        } catch (DriverException e) {
            if (session != null)
                session.close();
            throw Failures.told(e);
        }
    }

    private static int acknowledgements(ConsistencyLevel level, int replicas) {
        return level == DefaultConsistencyLevel.ONE ? 1 : level == DefaultConsistencyLevel.ALL ? replicas : replicas / 2 + 1;
    }

    /** Holds a node to the class: drivers/cassandra/class.go says why. */
    private void prove(InetSocketAddress at, Map<String, String> settings) throws RefusedException {
        String mode = settings.getOrDefault("commitlog_sync", ""), wanted = config.durability;
        if (!List.of("periodic", "batch", "group").contains(mode))
            throw refused("cassandra at %s runs with commitlog_sync=\"%s\": expected periodic, batch or group", at, mode);
        if ("ignore".equals(settings.get("commit_failure_policy")))
            throw refused("cassandra at %s runs with commit_failure_policy=ignore, and acknowledges what it could not log", at);
        int acks = acknowledgements(write, replication);
        String given = !mode.equals("periodic") ? "D3" : acks >= 2 ? "D4" : "D2";
        if (!given.equals(wanted))
            throw refused("cassandra at %s can't reach %s: with commitlog_sync=%s, and writes that wait for %d replicas, it gives %s", at, wanted, mode, acks, given);
        if (!wanted.equals("D2"))
            return;
        String lag = settings.get("periodic_commitlog_sync_lag_block");
        long lossNs = lag == null || lag.isEmpty() || lag.equals("null") ? ns(settings.get("commitlog_sync_period")) * 3 / 2 : ns(lag);
        if (config.lossWindowNs < lossNs)
            throw refused("cassandra at %s can't reach D2(%ss): the last sync of its log may be %ss old", at, config.lossWindowNs / 1e9, lossNs / 1e9);
    }

    private static long ns(String duration) throws RefusedException {
        if (duration != null && duration.matches("[0-9]+(ms|s|m)")) {
            long number = Long.parseLong(duration.replaceAll("[a-z]", ""));
            return number * (duration.endsWith("ms") ? 1_000_000L : duration.endsWith("s") ? 1_000_000_000L : 60_000_000_000L);
        }
        throw refused("the node tells \"%s\" as a duration of its log", duration);
    }

    private String table(String name) {
        return keyspace + "." + name;
    }

    private CqlSession first() {
        return members.get(0);
    }

    private Row one(String statement, Object... values) {
        return first().execute(statement, values).one();
    }

    private void openKeyspace(boolean drop) throws RefusedException {
        int replicas = lookAtKeyspace();
        if (replicas > 0) {
            boolean used = isUsed(), empty = isEmpty();
            if (drop && used)
                throw refused("flush_at_open: another Assay uses keyspace %s", keyspace);
            if (drop || replicas != replication && empty && !used) {
                first().execute("DROP KEYSPACE " + keyspace);
                replicas = 0;
            } else if (replicas != replication) {
                throw refused("keyspace %s has %d replicas of each record, expected %d: flush_at_open drops it, and option keyspace names another", keyspace, replicas, replication);
            }
        }
        if (replicas == 0) {
            first().execute("CREATE KEYSPACE IF NOT EXISTS " + keyspace + " WITH replication = {'class': 'NetworkTopologyStrategy', 'replication_factor': " + replication + "}");
            first().execute("CREATE TABLE IF NOT EXISTS " + table(RECORDS) + " (k blob PRIMARY KEY, v blob) WITH comment = '" + MARK + "' AND allow_auto_snapshot = false");
            first().execute("CREATE TABLE IF NOT EXISTS " + table(SESSIONS) + " (id text PRIMARY KEY) WITH default_time_to_live = " + SESSION_SECONDS + " AND allow_auto_snapshot = false");
        }
        String id = UUID.randomUUID().toString();
        first().execute("INSERT INTO " + table(SESSIONS) + " (id) VALUES (?)", id);
        entered = id;
    }

    /** How many replicas the keyspace has, 0 if it is not there; refuses one that Assay did not make. */
    private int lookAtKeyspace() throws RefusedException {
        String own = one("SELECT data_center FROM system.local").getString(0);
        int nodes = 1;
        for (Row peer : first().execute("SELECT data_center FROM system.peers_v2")) {
            if (!own.equals(peer.getString(0)))
                throw refused("the cluster has nodes in data centres %s and %s, expected one", own, peer.getString(0));
            nodes++;
        }
        if (nodes < replication)
            throw refused("replication is %d, and the cluster has %d nodes", replication, nodes);
        Row found = one("SELECT durable_writes, replication FROM system_schema.keyspaces WHERE keyspace_name = ?", keyspace);
        if (found == null)
            return 0;
        Row marked = one("SELECT comment FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?", keyspace, RECORDS);
        if (marked == null || !MARK.equals(marked.getString(0)) || !found.getBoolean(0))
            throw refused("keyspace %s is there, and Assay did not make it: option keyspace names another", keyspace);
        Map<String, String> replicas = new LinkedHashMap<>(found.getMap(1, String.class, String.class));
        replicas.remove("class");
        int count = replicas.size() == 1 ? Integer.parseInt(replicas.values().iterator().next()) : 0;
        if (count < 1 || count > nodes)
            throw refused("keyspace %s is replicated as %s on %d nodes of one data centre", keyspace, replicas, nodes);
        return count;
    }

    private boolean isUsed() {
        return one("SELECT count(*) FROM " + table(SESSIONS)).getLong(0) > 0;
    }

    private boolean isEmpty() {
        try {
            return one("SELECT k FROM " + table(RECORDS) + " LIMIT 1") == null;
        } catch (ReadFailureException e) {
            return false; // too many tombstones: what is behind them is not known
        }
    }

    @Override
    public Map<String, String> settings() {
        Map<String, String> all = new LinkedHashMap<>(told);
        for (String asked : List.of("consistency", "read_consistency", "replication", "entry", "keyspace", "operation_timeout"))
            all.put("driver." + asked, config.options.text(asked));
        all.put("driver.nodes", String.valueOf(members.size()));
        return all;
    }

    @Override
    public Map<String, Double> stats() {
        Map<String, Double> all = new LinkedHashMap<>();
        for (int i = 0; i < members.size(); i++) {
            try {
                double statements = 0, connections = 0;
                for (Row row : ask(members.get(i), "SELECT name, value FROM system_views.cql_metrics"))
                    if (Arrays.asList("prepared_statements_executed", "regular_statements_executed").contains(row.getString(0)))
                        statements += row.getDouble(1);
                for (Row ignored : ask(members.get(i), "SELECT port FROM system_views.clients"))
                    connections++;
                all.merge("statements", statements, Double::sum);
                all.merge("connections", connections, Double::sum);
                if (members.size() > 1)
                    all.put("server" + (i + 1) + "_operations", statements);
            } catch (DriverException e) {
                return Map.of(); // a sum of some is none
            }
        }
        return all;
    }

    private static Iterable<Row> ask(CqlSession member, String statement) {
        return member.execute(com.datastax.oss.driver.api.core.cql.SimpleStatement.newInstance(statement).setTimeout(STATS_PATIENCE));
    }

    /** Drops the keyspace if no other store has it open, no record is left in it, and nothing of anybody's but Assay's. */
    @Override
    public void close() throws Exception {
        try {
            first().execute("DELETE FROM " + table(SESSIONS) + " WHERE id = ?", entered);
            if (isUsed() || !isEmpty())
                return;
            for (Row row : first().execute("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ?", keyspace))
                if (!row.getString(0).equals(RECORDS) && !row.getString(0).equals(SESSIONS))
                    return;
            first().execute("DROP KEYSPACE " + keyspace);
        } catch (DriverException e) {
            throw Failures.told(e);
        } finally {
            hangUp();
        }
    }

    void hangUp() {
        members.forEach(CqlSession::close);
    }
}
