package assay.jdbc;

import assay.driver.Config;
import assay.driver.Description;

/** PostgreSQL by its own driver. */
public final class PostgresDriver extends JdbcDriver {
    @Override
    public Description describe() {
        return describe(PostgresDatabase.describe(new Description("jdbc-postgres", "server", "PostgreSQL by its JDBC driver: a pool of HikariCP, or a connection")
                .library("org.postgresql:postgresql", org.postgresql.Driver.class, "BSD-2-Clause")));
    }

    @Override
    String urlScheme() {
        return "postgresql";
    }

    @Override
    Class<? extends java.sql.Driver> libraryDriver() {
        return org.postgresql.Driver.class;
    }

    @Override
    Database database(Config config, Login login) throws Exception {
        String seconds = Long.toString((login.timeoutMs + 999) / 1000);
        login.properties.setProperty("connectTimeout", seconds);
        login.properties.setProperty("socketTimeout", seconds);
        login.properties.setProperty("sslmode", login.tls ? "verify-full" : "disable");
        login.properties.setProperty("ApplicationName", "assay");
        return new PostgresDatabase(config, login);
    }
}
