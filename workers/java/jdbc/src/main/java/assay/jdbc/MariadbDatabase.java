package assay.jdbc;

import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Option;
import assay.driver.RefusedException;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A database of MariaDB's, with an InnoDB table. Its classes and its owner are those of drivers/mariadb. */
final class MariadbDatabase extends Database {
    /** InnoDB's index of 16 KiB pages takes so much of a key. */
    private static final int KEY_BYTES_MAX = 3072;
    /** A statement is at most max_allowed_packet long, and compare-and-swap has two values in one. */
    private static final int VALUE_BYTES_MAX = 7 << 20;
    private static final long PACKET_BYTES_MIN = 2L * VALUE_BYTES_MAX + (1 << 20);
    /** The same as MARK: a power cut takes a database's comment, which the server does not sync. */
    private static final String MARK_TABLE = "made_by_assay";
    private static final String PASSWORD_VARIABLE = "MYSQL_PWD";
    private static final long LOSS_BEYOND_NS = TimeUnit.SECONDS.toNanos(2); // the server looks once a second, and a sync takes its time
    private static final int LOCK_WAIT_S = 30;
    private static final long SYNC_PATIENCE_MS = 60_000; // many times innodb_flush_log_at_timeout's default

    /** Values of innodb_flush_log_at_trx_commit that give a class. */
    private static final Map<String, List<String>> FLUSHES = Map.of("D0", List.of("0"), "D1", List.of("2"), "D2", List.of("0", "2"), "D3", List.of("1", "3"));

    private static final String SETTINGS = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_buffer_pool_size', 'innodb_log_file_size', "
            + "'innodb_flush_log_at_trx_commit', 'innodb_flush_log_at_timeout', 'innodb_flush_method', 'innodb_doublewrite', 'innodb_page_size', "
            + "'innodb_lock_wait_timeout', 'log_bin', 'sync_binlog', 'sql_mode', 'max_connections', 'max_allowed_packet', 'max_prepared_stmt_count', "
            + "'thread_handling', 'tx_isolation', 'autocommit')";

    /** The server's counters, and what they are called here where other stores have them too. */
    private static final Map<String, String> COUNTERS = Map.ofEntries(Map.entry("Threads_connected", "connections"), Map.entry("Connections", "connections_made"),
            Map.entry("Threads_running", "threads_running"), Map.entry("Com_commit", "commits"), Map.entry("Com_rollback", "rollbacks"),
            Map.entry("Com_stmt_prepare", "statements_prepared"), Map.entry("Innodb_buffer_pool_read_requests", "block_cache_hits"),
            Map.entry("Innodb_buffer_pool_reads", "block_cache_misses"), Map.entry("Innodb_buffer_pool_wait_free", "stalls"),
            Map.entry("Innodb_os_log_written", "wal_written_bytes"), Map.entry("Innodb_checkpoint_age", "checkpoint_age_bytes"),
            Map.entry("Innodb_row_lock_waits", "row_lock_waits"), Map.entry("Innodb_deadlocks", "deadlocks"), Map.entry("Innodb_data_fsyncs", "syncs"),
            Map.entry("Innodb_data_written", "data_written_bytes"));

    private final String database;
    private final String table;

    static Description describe(Description d) {
        return d.durability("D0", "the server runs with innodb_flush_log_at_trx_commit=0: a commit waits in the server's memory")
                .durability("D1", "the server runs with innodb_flush_log_at_trx_commit=2: a commit is written to the log, which is synced in the background")
                .durability("D2", "the server runs with innodb_flush_log_at_trx_commit=0 or 2, and otherwise as for D3: the log is synced once in "
                        + "innodb_flush_log_at_timeout, 1 s by default; T is at least 2s more")
                .durability("D3", "the server runs with innodb_flush_log_at_trx_commit=1, innodb_doublewrite=ON and, where log_bin=ON, sync_binlog=1: "
                        + "the log is synced before a commit is acknowledged")
                .option(Option.of("user", "string", "", "user to connect as; unset: the user who runs Assay. The password comes from " + PASSWORD_VARIABLE + ", never from an option"))
                .option(Option.of(JdbcDriver.PASSWORD_FILE, "string", "", "file whose first line is the password, in place of " + PASSWORD_VARIABLE))
                .option(Option.of("database", "string", "assay", "database for Assay's tables; made if it is not there, dropped when a trial has left it empty. One that Assay did not make is refused"))
                .set("key_bytes_max", KEY_BYTES_MAX)
                .set("value_bytes_max", VALUE_BYTES_MAX);
    }

    MariadbDatabase(Config config, JdbcDriver.Login login) throws Exception {
        super(config, login, KEY_BYTES_MAX, VALUE_BYTES_MAX);
        database = config.options.text("database");
        if (database.isEmpty())
            throw new RefusedException("option database is empty, expected a name");
        table = name(database) + "." + name(TABLE);
        String user = config.options.text("user"), file = config.options.text(JdbcDriver.PASSWORD_FILE);
        String password = file.isEmpty() ? System.getenv(PASSWORD_VARIABLE) : firstLine(file);
        login.properties.setProperty("user", user.isEmpty() ? System.getProperty("user.name") : user);
        if (password != null)
            login.properties.setProperty("password", password);
    }

    private static String name(String text) {
        return quote(text, '`');
    }

    @Override
    String controlDatabase() {
        return "";
    }

    @Override
    String handleDatabase() {
        return database;
    }

    @Override
    String table() {
        return table;
    }

    @Override
    String orReplace() {
        return " ON DUPLICATE KEY UPDATE v = VALUES(v)";
    }

    @Override
    String orKeep() {
        return "";
    }

    /** A global setting; "" if the server does not know it. */
    private String variable(String name) throws SQLException {
        List<List<String>> rows = rows("SHOW GLOBAL VARIABLES LIKE '" + name + "'");
        return rows.isEmpty() ? "" : rows.get(0).get(1);
    }

    private void need(String variable, List<String> values) throws SQLException, RefusedException {
        String told = variable(variable);
        if (!values.contains(told))
            throw new RefusedException("the server runs with " + variable + "=" + told + ", and " + config.durability + " needs " + variable + "=" + values.get(0));
    }

    /** Asks the server for the settings on which the class rests. None of them is a session's. */
    private void prove() throws SQLException, RefusedException {
        need("innodb_flush_log_at_trx_commit", FLUSHES.get(config.durability));
        need("autocommit", List.of("ON", "1"));
        if (!config.durability.equals("D2") && !config.durability.equals("D3"))
            return;
        need("innodb_doublewrite", List.of("ON", "1"));
        if (variable("log_bin").equals("ON"))
            need("sync_binlog", List.of("1"));
        need("innodb_flush_method", List.of("O_DIRECT", "fsync", "O_DSYNC"));
        need("debug_no_sync", List.of("OFF", "0", ""));
        if (config.durability.equals("D2")) {
            String seconds = variable("innodb_flush_log_at_timeout");
            refuseWindow("innodb_flush_log_at_timeout=" + seconds, TimeUnit.SECONDS.toNanos(Long.parseLong(seconds)) + LOSS_BEYOND_NS);
        }
    }

    @Override
    void prepare(boolean drop) throws Exception {
        String told = value("SELECT VERSION()");
        if (!told.contains("MariaDB"))
            throw new RefusedException("the server is no MariaDB but " + told);
        prove();
        String mode = value("SELECT @@GLOBAL.sql_mode");
        if (!mode.contains("STRICT_"))
            throw new RefusedException("the server runs with sql_mode=" + mode + ", and shortens what is too long: STRICT_TRANS_TABLES is needed");
        if (Long.parseLong(variable("max_allowed_packet")) < PACKET_BYTES_MIN)
            throw new RefusedException("the server runs with max_allowed_packet=" + variable("max_allowed_packet") + ", expected " + PACKET_BYTES_MIN + " or more");
        locked(() -> make(drop));
        version = told;
    }

    private interface Step {
        void take() throws SQLException, RefusedException;
    }

    /** Does something while no other Assay makes or drops the database: drivers/mariadb takes the same lock. */
    private void locked(Step step) throws SQLException, RefusedException {
        String lock = "assay " + String.format("%016x", Fnv.hash(database));
        if (!value("SELECT GET_LOCK(?, ?)", lock, LOCK_WAIT_S).equals("1"))
            throw new SQLException("another Assay keeps the lock of the database");
        try {
            step.take();
        } finally {
            rows("DO RELEASE_LOCK(?)", lock);
        }
    }

    private void make(boolean drop) throws SQLException, RefusedException {
        List<List<String>> there = rows("SELECT SCHEMA_COMMENT FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = ?", database);
        String marked = value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = '" + MARK_TABLE + "'", database);
        if (there.isEmpty())
            rows("CREATE DATABASE " + name(database) + " COMMENT '" + MARK + "'");
        else if (!there.get(0).get(0).equals(MARK) && marked.equals("0"))
            throw new RefusedException("database " + database + " is there, and Assay did not make it: option database names another");
        else if (drop) {
            if (!soon(this::others, "0").equals("0"))
                throw new RefusedException("flush_at_open: another session uses database " + database);
            for (String each : tables())
                rows("DROP TABLE " + name(database) + "." + name(each));
        }
        rows("CREATE TABLE IF NOT EXISTS " + name(database) + "." + name(MARK_TABLE) + " (mark INT) ENGINE=InnoDB");
        entered();
        rows("CREATE TABLE IF NOT EXISTS " + table + " (k VARBINARY(" + KEY_BYTES_MAX + ") NOT NULL PRIMARY KEY, v MEDIUMBLOB NOT NULL) ENGINE=InnoDB ROW_FORMAT=DYNAMIC");
        if (!value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND ENGINE <> 'InnoDB'", database).equals("0"))
            throw new RefusedException("tables of database " + database + " are not InnoDB's");
    }

    /** It is how others see that the database is in use. */
    @Override
    void entered() throws SQLException {
        rows("USE " + name(database));
    }

    private List<String> tables() throws SQLException {
        return rows("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME REGEXP '" + TABLES + "'", database)
                .stream().map(row -> row.get(0)).toList();
    }

    /** Counts the other sessions in the database. A user without the privilege PROCESS sees his own. */
    private String others() throws SQLException {
        return value("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = ? AND ID <> CONNECTION_ID()", database);
    }

    @Override
    void leave() throws Exception {
        value("SELECT 1"); // a server that was started again is found out, and connected to, before a lock is taken
        locked(() -> {
            if (!soon(this::others, "0").equals("0"))
                return;
            for (String each : tables())
                if (!value("SELECT EXISTS (SELECT 1 FROM " + name(database) + "." + name(each) + ")").equals("0"))
                    return;
            for (String each : tables())
                rows("DROP TABLE " + name(database) + "." + name(each));
            if (value("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME <> '" + MARK_TABLE + "'", database).equals("0"))
                rows("DROP DATABASE " + name(database));
        });
    }

    /** Waits until the log is on disk as far as it was written when it began. */
    @Override
    public void sync() throws Exception {
        if (variable("innodb_flush_method").equals("nosync"))
            throw new SQLException("the server runs with innodb_flush_method=nosync: nothing makes its writes durable");
        long end = status("Innodb_lsn_current");
        await("the server has not synced its log in a minute", SYNC_PATIENCE_MS, () -> status("Innodb_lsn_flushed") >= end ? "synced" : "");
    }

    private long status(String name) throws SQLException {
        List<List<String>> rows = rows("SHOW GLOBAL STATUS LIKE '" + name + "'");
        if (rows.isEmpty())
            throw new SQLException("the server has no variable " + name);
        return Long.parseLong(rows.get(0).get(1));
    }

    @Override
    public Map<String, String> settings() {
        return settings(SETTINGS);
    }

    @Override
    public Map<String, Double> stats() {
        Map<String, Double> all = new LinkedHashMap<>();
        try {
            for (List<String> row : rows("SHOW GLOBAL STATUS"))
                if (COUNTERS.containsKey(row.get(0)))
                    put(all, COUNTERS.get(row.get(0)), row.get(1));
            // Requests count every look at a page, of which those that were not there are a part.
            all.computeIfPresent("block_cache_hits", (name, requests) -> requests - all.getOrDefault("block_cache_misses", 0.0));
            for (List<String> row : rows("SELECT COALESCE(SUM(TABLE_ROWS), 0), COALESCE(SUM(DATA_LENGTH + INDEX_LENGTH), 0) FROM information_schema.TABLES WHERE TABLE_SCHEMA = ?", database)) {
                put(all, "records", row.get(0));
                put(all, "file_bytes", row.get(1));
            }
        } catch (SQLException e) {
            return Map.of();
        }
        return all;
    }
}
