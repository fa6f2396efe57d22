package assay.jdbc;

import assay.driver.Config;
import assay.driver.Description;
import java.util.Properties;

/** MariaDB by its own driver. */
public final class MariadbDriver extends JdbcDriver {
    @Override
    public Description describe() {
        return describe(MariadbDatabase.describe(new Description("jdbc-mariadb", "server", "MariaDB by its JDBC driver: a pool of HikariCP, or a connection")
                .library("org.mariadb.jdbc:mariadb-java-client", org.mariadb.jdbc.Driver.class, "LGPL-2.1-or-later")));
    }

    @Override
    String urlScheme() {
        return "mariadb";
    }

    @Override
    Class<? extends java.sql.Driver> libraryDriver() {
        return org.mariadb.jdbc.Driver.class;
    }

    @Override
    Database database(Config config, Login login) throws Exception {
        Properties p = login.properties;
        p.setProperty("useServerPrepStmts", "true");
        p.setProperty("connectTimeout", Long.toString(login.timeoutMs));
        p.setProperty("socketTimeout", Long.toString(login.timeoutMs));
        p.setProperty("sslMode", login.tls ? "verify-full" : "disable");
        p.setProperty("useSsl", Boolean.toString(login.tls)); // of version 2, which has no sslMode
        return new MariadbDatabase(config, login);
    }
}
