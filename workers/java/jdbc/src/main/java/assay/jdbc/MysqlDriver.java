package assay.jdbc;

import assay.driver.Config;
import assay.driver.Description;
import java.util.Properties;

/** MariaDB by MySQL's driver, as many applications reach it. */
public final class MysqlDriver extends JdbcDriver {
    @Override
    public Description describe() {
        return describe(MariadbDatabase.describe(new Description("jdbc-mysql", "server", "MariaDB by MySQL's Connector/J: a pool of HikariCP, or a connection")
                .library("com.mysql:mysql-connector-j", com.mysql.cj.jdbc.Driver.class, "GPL-2.0-only WITH Universal-FOSS-exception-1.0")));
    }

    @Override
    String urlScheme() {
        return "mysql";
    }

    @Override
    Class<? extends java.sql.Driver> libraryDriver() {
        return com.mysql.cj.jdbc.Driver.class;
    }

    @Override
    Database database(Config config, Login login) throws Exception {
        Properties p = login.properties;
        p.setProperty("useServerPrepStmts", "true");
        p.setProperty("cachePrepStmts", "true");
        p.setProperty("connectTimeout", Long.toString(login.timeoutMs));
        p.setProperty("socketTimeout", Long.toString(login.timeoutMs));
        p.setProperty("sslMode", login.tls ? "VERIFY_IDENTITY" : "DISABLED");
        return new MariadbDatabase(config, login);
    }
}
