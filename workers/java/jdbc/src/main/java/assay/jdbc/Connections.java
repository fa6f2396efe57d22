package assay.jdbc;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/** Where the connections of a handle come from. */
interface Connections extends AutoCloseable {
    /** Gives a connection for one operation. */
    Lease take() throws SQLException;

    @Override
    void close() throws SQLException;

    /** A connection while an operation has it. */
    interface Lease extends AutoCloseable {
        Connection connection();

        PreparedStatement prepared(String text) throws SQLException;

        /** An operation failed, and the connection is given up where that broke it. */
        void failed(SQLException e);

        @Override
        void close() throws SQLException;
    }

    /** A pool of HikariCP. It gives up broken connections by itself. */
    final class Pool implements Connections {
        /** HikariCP takes no shorter wait. */
        private static final long WAIT_MS_MIN = 250;

        private final HikariDataSource pool;

        Pool(JdbcDriver.Login login, String database, int connections, int minimumIdle) {
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(login.url(database));
            config.setDriverClassName(login.library().getName());
            config.setDataSourceProperties(login.properties);
            config.setMaximumPoolSize(connections);
            config.setMinimumIdle(minimumIdle < 0 ? connections : minimumIdle);
            config.setConnectionTimeout(Math.max(WAIT_MS_MIN, login.timeoutMs));
            pool = new HikariDataSource(config);
        }

        @Override
        public Lease take() throws SQLException {
            Connection connection = pool.getConnection();
            return new Lease() {
                @Override
                public Connection connection() {
                    return connection;
                }

                @Override
                public PreparedStatement prepared(String text) throws SQLException {
                    return connection.prepareStatement(text); // closed with the connection; the driver keeps what it prepared
                }

                @Override
                public void failed(SQLException e) {}

                @Override
                public void close() throws SQLException {
                    connection.close();
                }
            };
        }

        @Override
        public void close() {
            pool.close();
        }
    }

    /** One connection, with its statements, for one operation at a time. After it broke, the next operation connects anew. */
    final class One implements Connections, Lease {
        private final JdbcDriver.Login login;
        private final String database;
        private final Lock turn = new ReentrantLock();
        private final Map<String, PreparedStatement> statements = new HashMap<>();
        private Connection connection; // null: it broke

        One(JdbcDriver.Login login, String database) throws SQLException {
            this.login = login;
            this.database = database;
            connection = connect(login, database);
        }

        static Connection connect(JdbcDriver.Login login, String database) throws SQLException {
            try {
                return login.library().getConstructor().newInstance().connect(login.url(database), login.properties);
            } catch (ReflectiveOperationException e) {
                throw new LinkageError("the driver can't be made", e);
            }
        }

        @Override
        public Lease take() throws SQLException {
            turn.lock();
            try {
                if (connection == null)
                    connection = connect(login, database);
                return this;
            } catch (SQLException | RuntimeException | Error e) {
                turn.unlock();
                throw e;
            }
        }

        @Override
        public Connection connection() {
            return connection;
        }

        @Override
        public PreparedStatement prepared(String text) throws SQLException {
            PreparedStatement statement = statements.get(text);
            if (statement == null)
                statements.put(text, statement = connection.prepareStatement(text));
            return statement;
        }

        @Override
        public void failed(SQLException e) {
            if (!Failures.breaks(e))
                return;
            try {
                connection.close();
            } catch (SQLException ignored) {
                // the failure that broke it is reported
            }
            statements.clear();
            connection = null;
        }

        /** Ends an operation, not the connection: {@link Owner} is what the handle closes. */
        @Override
        public void close() {
            turn.unlock();
        }

        void hangUp() throws SQLException {
            statements.clear();
            if (connection != null)
                connection.close();
            connection = null;
        }
    }

    /** A handle's {@link One}: closing it hangs up. */
    record Owner(One one) implements Connections {
        @Override
        public Lease take() throws SQLException {
            return one.take();
        }

        @Override
        public void close() throws SQLException {
            one.hangUp();
        }
    }
}
