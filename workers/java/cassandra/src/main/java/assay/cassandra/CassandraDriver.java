package assay.cassandra;

import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.Store;
import assay.drivers.Credentials;
import com.datastax.oss.driver.api.core.CqlSession;

/** Cassandra by its project's driver for Java: table, keyspace and marks are those of drivers/cassandra. */
public final class CassandraDriver implements Driver {
    @Override
    public Description describe() {
        return new Description("cassandra-java", "server", "Apache Cassandra by its driver for Java: one multiplexed socket a node, on Netty")
                .library("org.apache.cassandra:java-driver-core", CqlSession.class, "Apache-2.0")
                .durability("D2", "commitlog_sync: periodic on each node: the log is synced in the background, and writes wait while the last sync is older than "
                        + "periodic_commitlog_sync_lag_block (1.5 × commitlog_sync_period, 15 s by default), which is the least T")
                .durability("D3", "commitlog_sync: batch or group on each node: each replica that a write waits for has synced its log before the reply")
                .durability("D4", "commitlog_sync: periodic on each node, and writes wait for k replicas, 2 or more (replication and consistency): k nodes have the write before the reply, and need not have synced it")
                .option(Option.choice("consistency", "quorum", "how many replicas a write waits for, and a read asks", "one", "quorum", "local_quorum", "all"))
                .option(Option.choice("read_consistency", "same", "how many replicas a read asks, where that is not the same", "same", "one", "quorum", "local_quorum", "all"))
                .option(Option.of("replication", "int", "1", "replicas of each record (replication_factor of the keyspace that Assay makes)"))
                .option(Option.choice("entry", "all", "which node coordinates an operation. one: the first endpoint, for all; all: the endpoints in turn; prefer: a replica of the key (token-aware)", "one", "all", "prefer"))
                .option(Option.of("keyspace", "string", "assay", "keyspace for Assay's table; made if it is not there, and dropped when a trial has left it empty. A keyspace that Assay did not make is refused"))
                .option(Option.of("flush_at_open", "bool", "false", "drop the keyspace at the first opening of each trial, if Assay made it: what earlier trials left in it goes, tombstones too"))
                .option(Option.of("operation_timeout", "duration", "11s", "how long a connection and an operation are waited for"))
                .option(Credentials.OPTION)
                .set("server_sets_class", true)
                .set("handles_shareable", true)
                .set("connections_own", 2) // each session has one for operations and one for its own control
                .set("connections_each", 2)
                .set("key_bytes_min", 1)
                .set("key_bytes_max", Rows.KEY_BYTES_MAX)
                .set("value_bytes_max", Rows.VALUE_BYTES_MAX)
                .set("batch_max", 100)
                .set("batch_bytes_max", 50 << 10) // batch_size_fail_threshold
                .set("note", "the settings' version is the server's; a handle is a session; nothing is tried twice; a batch is logged, and of two writes of a key in it the last is sent; "
                        + "add and compare-and-swap are lightweight transactions; keys have no order, so that there is no scan; no TLS");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Rows.class;
    }

    @Override
    public Store open(Config config) throws Exception {
        Cluster cluster = new Cluster(config);
        try {
            cluster.prepare();
        } catch (Exception e) {
            cluster.hangUp();
            throw Failures.told(e);
        }
        return cluster;
    }
}
