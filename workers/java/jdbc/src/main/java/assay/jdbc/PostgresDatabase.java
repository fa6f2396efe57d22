package assay.jdbc;

import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Option;
import assay.driver.RefusedException;
import java.io.IOException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A schema of PostgreSQL's, with a heap table. Its classes, locks and owner are those of drivers/postgres. */
final class PostgresDatabase extends Database {
    private static final int KEY_BYTES_MAX = 2688; // of keys that do not compress, of which an index takes so much
    private static final int VALUE_BYTES_MAX = 64 << 20;
    private static final int VERSION_MIN = 140000; // it has pg_stat_wal
    private static final int WRITER_PERIODS = 3; // that a commit may wait with synchronous_commit=off

    /** What a session of a class is set to. */
    private static final Map<String, String> SYNCHRONOUS_COMMIT = Map.of("D0", "off", "D1", "on", "D2", "off", "D3", "on");

    /** What the server must tell for a class. */
    private static final Map<String, Map<String, String>> NEEDS = Map.of("D0", Map.of("synchronous_commit", "off"),
            "D1", Map.of("synchronous_commit", "on", "fsync", "off"),
            "D2", Map.of("synchronous_commit", "off", "fsync", "on", "full_page_writes", "on"),
            "D3", Map.of("synchronous_commit", "on", "fsync", "on", "full_page_writes", "on"));

    private static final String SETTINGS = "SELECT name, current_setting(name) FROM pg_settings WHERE name IN ('shared_buffers', 'effective_cache_size', "
            + "'work_mem', 'max_connections', 'synchronous_commit', 'fsync', 'full_page_writes', 'wal_level', 'wal_sync_method', 'wal_buffers', "
            + "'wal_writer_delay', 'commit_delay', 'max_wal_size', 'checkpoint_timeout', 'synchronous_standby_names', 'autovacuum', "
            + "'default_transaction_isolation', 'jit', 'plan_cache_mode', 'server_encoding')";

    /** Of the database, of Assay's tables in it, and of the whole server's log. */
    private static final String STATISTICS = """
            SELECT 'connections', count(*)::float8 FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
            UNION ALL SELECT v.name, v.value FROM pg_stat_database s, LATERAL (VALUES
                ('block_cache_hits', s.blks_hit::float8), ('block_cache_misses', s.blks_read::float8), ('commits', s.xact_commit::float8),
                ('rollbacks', s.xact_rollback::float8), ('deadlocks', s.deadlocks::float8)) v(name, value) WHERE s.datname = current_database()
            UNION ALL SELECT v.name, v.value FROM (SELECT coalesce(sum(n_live_tup), 0) live, coalesce(sum(n_dead_tup), 0) dead,
                coalesce(sum(pg_total_relation_size(relid)), 0) total, coalesce(sum(autovacuum_count), 0) vacuums
                FROM pg_stat_user_tables WHERE schemaname = ?) s, LATERAL (VALUES ('records', s.live::float8), ('dead_records', s.dead::float8),
                ('file_bytes', s.total::float8), ('autovacuums', s.vacuums::float8)) v(name, value)
            UNION ALL SELECT v.name, v.value FROM pg_stat_wal s, LATERAL (VALUES ('wal_written_bytes', s.wal_bytes::float8),
                ('wal_syncs', s.wal_sync::float8), ('wal_buffers_full', s.wal_buffers_full::float8)) v(name, value)""";

    private final String schema;
    private final String table;
    private final long making; // the lock that is held while the schema is made or dropped
    private final long using; // and the one that each open store shares

    static Description describe(Description d) {
        return d.durability("D0", "synchronous_commit=off in each session, whatever the server's settings: a commit waits in the server's memory")
                .durability("D1", "synchronous_commit=on, and the server runs with fsync=off: the log is written and never synced, and a power cut may damage everything")
                .durability("D2", "synchronous_commit=off in each session, and the server runs with fsync=on and full_page_writes=on: its log's writer syncs "
                        + "what commits left in memory; T is at least 3 × wal_writer_delay, 600ms by default")
                .durability("D3", "synchronous_commit=on, and the server runs with fsync=on and full_page_writes=on: the log is synced before a commit is acknowledged")
                .option(Option.of("user", "string", "", "role to connect as; unset: PGUSER, or the user who runs Assay. The password comes from PGPASSWORD, PGPASSFILE or ~/.pgpass, never from an option"))
                .option(Option.of(JdbcDriver.PASSWORD_FILE, "string", "", "file in the format of .pgpass, in place of these"))
                .option(Option.of("database", "string", "postgres", "database to connect to"))
                .option(Option.of("schema", "string", "assay", "schema for Assay's tables; made if it is not there, dropped when a trial has left it empty. One that Assay did not make is refused"))
                .set("key_bytes_max", KEY_BYTES_MAX)
                .set("value_bytes_max", VALUE_BYTES_MAX);
    }

    PostgresDatabase(Config config, JdbcDriver.Login login) throws Exception {
        super(config, login, KEY_BYTES_MAX, VALUE_BYTES_MAX);
        schema = config.options.text("schema");
        if (schema.isEmpty())
            throw new RefusedException("option schema is empty, expected a name");
        table = name(schema) + "." + name(TABLE);
        making = Fnv.hash("assay:" + schema) & ~1L;
        using = making + 1;
        String user = config.options.text("user"), file = config.options.text(JdbcDriver.PASSWORD_FILE);
        if (user.isEmpty())
            user = System.getenv().getOrDefault("PGUSER", System.getProperty("user.name"));
        login.properties.setProperty("user", user);
        if (!file.isEmpty()) {
            firstLine(file); // the library would go on without a password where it can't be read
            System.setProperty("org.postgresql.pgpassfile", file);
        } else if (System.getenv("PGPASSWORD") != null)
            login.properties.setProperty("password", System.getenv("PGPASSWORD"));
        login.properties.setProperty("options", "-c synchronous_commit=" + SYNCHRONOUS_COMMIT.get(config.durability));
    }

    private static String name(String text) {
        return quote(text, '"');
    }

    @Override
    String controlDatabase() {
        return config.options.text("database");
    }

    @Override
    String handleDatabase() {
        return config.options.text("database");
    }

    @Override
    String table() {
        return table;
    }

    @Override
    String orReplace() {
        return " ON CONFLICT (k) DO UPDATE SET v = excluded.v";
    }

    @Override
    String orKeep() {
        return " ON CONFLICT DO NOTHING";
    }

    private void prove() throws SQLException, RefusedException {
        for (Map.Entry<String, String> need : NEEDS.get(config.durability).entrySet()) {
            String told = value("SHOW " + need.getKey());
            if (!told.equals(need.getValue()))
                throw new RefusedException("the server runs with " + need.getKey() + "=" + told + ", and " + config.durability + " needs " + need.getKey() + "=" + need.getValue());
        }
        if (config.durability.equals("D2")) {
            String ms = value("SELECT setting FROM pg_settings WHERE name = 'wal_writer_delay'");
            refuseWindow("wal_writer_delay=" + ms + "ms", WRITER_PERIODS * TimeUnit.MILLISECONDS.toNanos(Long.parseLong(ms)));
        }
    }

    @Override
    void prepare(boolean drop) throws Exception {
        if (Integer.parseInt(value("SHOW server_version_num")) < VERSION_MIN)
            throw new RefusedException("the server's version is " + value("SHOW server_version_num") + ", expected " + VERSION_MIN + " or later");
        String told = value("SHOW server_version");
        if (!value("SELECT pg_is_in_recovery()").equals("f"))
            throw new RefusedException("the server is a standby, which takes no writes");
        prove();
        rows("SELECT pg_advisory_lock(?)", making);
        if (drop && !value("SELECT pg_try_advisory_lock(?)", using).equals("t"))
            throw new RefusedException("flush_at_open: another Assay uses schema " + schema);
        make(drop); // where it fails the session ends, and the locks with it
        rows("SELECT pg_advisory_lock_shared(?)", using);
        rows("SELECT pg_advisory_unlock(?)", making);
        if (drop)
            rows("SELECT pg_advisory_unlock(?)", using); // the exclusive one: the shared one stays
        version = told;
    }

    private void make(boolean drop) throws SQLException, RefusedException {
        List<List<String>> there = rows("SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace WHERE nspname = ?", schema);
        if (!there.isEmpty() && !there.get(0).get(0).equals(MARK))
            throw new RefusedException("schema " + schema + " is there, and Assay did not make it: option schema names another");
        List<String> statements = new ArrayList<>();
        if (there.isEmpty())
            statements.addAll(List.of("CREATE SCHEMA " + name(schema), "COMMENT ON SCHEMA " + name(schema) + " IS '" + MARK + "'"));
        else if (drop)
            for (String each : tables())
                statements.add("DROP TABLE " + name(schema) + "." + name(each));
        statements.add("CREATE TABLE IF NOT EXISTS " + table + " (k bytea NOT NULL PRIMARY KEY, v bytea NOT NULL)");
        rows("BEGIN");
        for (String each : statements)
            rows(each);
        rows("COMMIT");
    }

    @Override
    void entered() throws SQLException {
        rows("SELECT pg_advisory_lock_shared(?)", using);
    }

    private List<String> tables() throws SQLException {
        return rows("SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '" + TABLES + "' AND relnamespace = "
                + "(SELECT oid FROM pg_namespace WHERE nspname = ?)", schema).stream().map(row -> row.get(0)).toList();
    }

    @Override
    void leave() throws Exception {
        value("SELECT 1"); // a server that was started again is found out, and connected to
        rows("SELECT pg_advisory_lock(?)", making);
        rows("SELECT pg_advisory_unlock_shared(?)", using);
        if (!value("SELECT pg_try_advisory_lock(?)", using).equals("t"))
            return;
        for (String each : tables())
            if (!value("SELECT EXISTS (SELECT 1 FROM " + name(schema) + "." + name(each) + ")").equals("f"))
                return;
        for (String each : tables())
            rows("DROP TABLE " + name(schema) + "." + name(each));
        if (value("SELECT count(*) FROM pg_class WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = ?)", schema).equals("0"))
            rows("DROP SCHEMA " + name(schema));
    }

    /** The log is one stream: all commits before one that is waited for are then durable too. */
    @Override
    public void sync() throws Exception {
        rows("BEGIN");
        rows("SET LOCAL synchronous_commit = on");
        rows("SELECT pg_logical_emit_message(true, 'assay', 'sync')");
        rows("COMMIT");
        if (value("SHOW fsync").equals("on"))
            return;
        if (!login.isLocal())
            throw new SQLException("the server runs with fsync=off on another machine: nothing makes its writes durable");
        if (new ProcessBuilder("sync").start().waitFor() != 0)
            throw new IOException("sync(1) failed");
    }

    @Override
    public Map<String, String> settings() {
        return settings(SETTINGS);
    }

    @Override
    public Map<String, Double> stats() {
        Map<String, Double> all = new LinkedHashMap<>();
        try {
            for (List<String> row : rows(STATISTICS, schema))
                put(all, row.get(0), row.get(1));
        } catch (SQLException e) {
            return Map.of();
        }
        return all;
    }
}
