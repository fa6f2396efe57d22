package assay.mongodb;

import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.Store;
import assay.drivers.Credentials;
import com.mongodb.client.MongoClient;

/** MongoDB by its own driver for Java: documents, database and marks are those of drivers/mongodb. */
public final class MongoDriver implements Driver {
    @Override
    public Description describe() {
        return new Description("mongodb-java", "server", "MongoDB by its driver for Java: a pool of sockets, one request on its way on each")
                .library("org.mongodb:mongodb-driver-sync", MongoClient.class, "Apache-2.0")
                .durability("D0", "w: 1, j: false: acknowledged from mongod's memory, where the journal's records wait for up to commitIntervalMs; killed, mongod loses them")
                .durability("D2", "w: 1, j: false, and the journal is synced each commitIntervalMs (100 ms; at most 500); T is at least 2s. A kill of the process loses acknowledged writes too")
                .durability("D3", "w: 1, j: true: the journal is synced before the reply")
                .option(Option.of("database", "string", "assay", "database for Assay's collections; made if it is not there, and dropped when a trial has left it empty. A database that Assay did not make is refused"))
                .option(Option.of("flush_at_open", "bool", "false", "drop Assay's collections in the database at the first opening of each trial: what earlier trials left in them goes"))
                .option(Option.of("connections", "int", "100", "maxPoolSize of the client that a handle is"))
                .option(Option.of("operation_timeout", "duration", "30s", "how long a connection and an answer are waited for"))
                .option(Option.of("auth_database", "string", "admin", "database that knows the user (authSource)"))
                .option(Credentials.OPTION)
                .set("handles_shareable", true)
                .set("write_conflicts", true)
                // Beside its pool a client has a connection that watches the server and one that measures its round trips.
                .set("connections_own", 3)
                .set("connections_each", 3)
                .set("handle_pools", true)
                .set("key_bytes_max", Documents.KEY_BYTES_MAX)
                .set("value_bytes_max", Documents.VALUE_BYTES_MAX)
                .set("note", "the settings' version is the server's; nothing is tried twice; a key is a string in which each byte is a character; batches are ordered bulk writes and not atomic; "
                        + "compare-and-swap is one replacement that names the old value, and a look at the key where it finds none; no TLS");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Documents.class;
    }

    @Override
    public Class<? extends Store> storeType() {
        return Database.class;
    }

    @Override
    public Store open(Config config) throws Exception {
        return new Database(config);
    }
}
