package assay.jdbc;

import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Handle;
import assay.driver.Option;
import assay.driver.RefusedException;
import assay.driver.Store;
import java.sql.SQLException;
import java.util.Properties;

/**
 * A driver of JDBC on a table of keys and values: what the three have in common.
 *
 * <p>A handle is a pool of HikariCP, from which each operation borrows a connection, or one connection.
 * Which durability class the server has, and whom its tables belong to, are as in drivers/mariadb and
 * drivers/postgres, whose databases and locks these are.
 */
abstract class JdbcDriver implements Driver {
    static final String PASSWORD_FILE = "password_file";

    /** Adds what all have to a description that has classes and the options to get in. */
    static Description describe(Description d) {
        return d.option(Option.choice("pool", "hikari", "hikari: a handle is a pool of HikariCP; none: it is one connection, in which threads that share it take turns", "hikari", "none"))
                .option(Option.of("connections", "int", "10", "maximumPoolSize of the pool"))
                .option(Option.of("minimum_idle", "int", "-1", "minimumIdle of the pool; -1, its default: as many as connections"))
                .option(Option.of("flush_at_open", "bool", "false", "drop Assay's tables at the first opening of each trial: what earlier trials left goes"))
                .option(Option.choice("tls", "auto", "verify: TLS, with the server's certificate verified; auto: off on loopback, verify elsewhere", "auto", "verify", "off"))
                .option(Option.of("operation_timeout", "duration", "30s", "socketTimeout: how long a connection and an answer are waited for; after it the connection is given up"))
                .set("server_sets_class", true)
                .set("handles_shareable", true)
                .set("batch_atomic", true)
                .set("write_conflicts", true)
                .set("connections_own", 1)
                .set("connections_option", "connections")
                .set("note", "the settings' version is the server's; prepared statements of the server's, kept by the driver for each connection; "
                        + "a batch is a transaction of addBatch and executeBatch, and the victim of a deadlock is counted as a conflict; the wait for a pooled connection is in an operation's time");
    }

    @Override
    public Class<? extends Handle> handleType() {
        return Access.class;
    }

    @Override
    public Class<? extends Store> storeType() {
        return Database.class;
    }

    @Override
    public Store open(Config config) throws Exception {
        if (config.endpoints.size() != 1)
            throw new RefusedException("expected one endpoint, got " + config.endpoints.size());
        if (config.options.durationNs("operation_timeout") <= 0)
            throw new RefusedException("operation_timeout is " + config.options.text("operation_timeout") + ", expected more than 0");
        Database database = database(config, new Login(config, urlScheme(), libraryDriver()));
        try {
            database.prepare(config.first && config.options.bool("flush_at_open"));
        } catch (SQLException e) {
            database.hangUp();
            throw Failures.told(e);
        } catch (Exception e) {
            database.hangUp();
            throw e;
        }
        return database;
    }

    /** What stands in a URL between jdbc: and ://. */
    abstract String urlScheme();

    abstract Class<? extends java.sql.Driver> libraryDriver();

    abstract Database database(Config config, Login login) throws Exception;

    /** How to connect: the URL of a database, and the properties beside it. */
    static final class Login {
        private final String scheme;
        private final Class<? extends java.sql.Driver> library;
        final String endpoint;
        final long timeoutMs;
        final boolean tls;
        final Properties properties = new Properties();

        Login(Config config, String scheme, Class<? extends java.sql.Driver> library) {
            this.scheme = scheme;
            this.library = library;
            endpoint = config.endpoints.get(0);
            timeoutMs = Math.max(1, config.options.durationNs("operation_timeout") / 1_000_000);
            String choice = config.options.text("tls");
            tls = choice.equals("verify") || choice.equals("auto") && !isLocal();
        }

        /** Is the server on this machine? */
        boolean isLocal() {
            String host = endpoint.substring(0, endpoint.lastIndexOf(':'));
            return host.equals("localhost") || host.equals("[::1]") || host.startsWith("127.");
        }

        String url(String database) {
            return "jdbc:" + scheme + "://" + endpoint + "/" + database;
        }

        Class<? extends java.sql.Driver> library() {
            return library;
        }
    }
}
