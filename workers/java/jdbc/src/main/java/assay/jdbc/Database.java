package assay.jdbc;

import assay.driver.Config;
import assay.driver.Handle;
import assay.driver.RefusedException;
import assay.driver.Store;
import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeoutException;

/**
 * The database that holds the table, over a connection of its own: a look at the statistics waits for no
 * operation. It is made if it is not there, marked as Assay's, and dropped when a trial has left it empty;
 * what Assay did not make is refused. Locks of the server's are those of the drivers in Go.
 */
abstract class Database implements Store.Sync {
    /** The comment of what Assay made. */
    static final String MARK = "made by Assay";
    static final String TABLE = "records";
    /** The names of tables that Assay makes: of records with columns, too. */
    static final String TABLES = "^records(_[0-9a-f]{16})?$";
    private static final long GONE_MS_MAX = 1000;
    private static final long LOOK_MS = 10;

    final Config config;
    final JdbcDriver.Login login;
    String version = "";
    long lossMaxNs; // that the server's settings allow; 0: not in D2
    private final int keyBytesMax;
    private final int valueBytesMax;
    private Connection control; // null: it broke, or was never made

    Database(Config config, JdbcDriver.Login login, int keyBytesMax, int valueBytesMax) {
        this.config = config;
        this.login = login;
        this.keyBytesMax = keyBytesMax;
        this.valueBytesMax = valueBytesMax;
    }

    /** Holds the server to what the driver relies on, and makes database and table. */
    abstract void prepare(boolean drop) throws Exception;

    /** Drops what is empty, unless another client uses it. */
    abstract void leave() throws Exception;

    /** What a connection of the store's own must do after it was made anew: enter the database, take its lock. */
    abstract void entered() throws SQLException;

    /** The table of keys and values, quoted, with what it is in. */
    abstract String table();

    /** What makes an insert replace a record that is there, and what makes it change nothing. */
    abstract String orReplace();

    abstract String orKeep();

    /** The database in the URL of the store's own connection, and in that of its handles. */
    abstract String controlDatabase();

    abstract String handleDatabase();

    @Override
    public Handle open() throws Exception {
        String database = URLEncoder.encode(handleDatabase(), StandardCharsets.UTF_8);
        try {
            Connections connections = config.options.text("pool").equals("none")
                    ? new Connections.Owner(new Connections.One(login, database))
                    : new Connections.Pool(login, database, config.options.integer("connections"), config.options.integer("minimum_idle"));
            return new Access(connections, statements(), keyBytesMax, valueBytesMax);
        } catch (SQLException e) {
            throw Failures.told(e);
        }
    }

    private Access.Statements statements() {
        String insert = "INSERT INTO " + table() + " (k, v) VALUES (?, ?)";
        return new Access.Statements("SELECT v FROM " + table() + " WHERE k = ?", insert + orReplace(), insert + orKeep(),
                "UPDATE " + table() + " SET v = ? WHERE k = ? AND v = ?",
                "DELETE FROM " + table() + " WHERE k = ?",
                "SELECT 1 FROM " + table() + " WHERE k = ?",
                "SELECT k, v FROM " + table() + " WHERE k >= ? ORDER BY k LIMIT ?");
    }

    /** Runs a statement on the store's own connection, and returns the rows of its result as text. */
    synchronized List<List<String>> rows(String text, Object... parameters) throws SQLException {
        try {
            if (control == null) {
                boolean again = !version.isEmpty();
                control = Connections.One.connect(login, URLEncoder.encode(controlDatabase(), StandardCharsets.UTF_8));
                if (again)
                    entered();
            }
            try (PreparedStatement s = control.prepareStatement(text)) {
                for (int i = 0; i < parameters.length; i++)
                    s.setObject(i + 1, parameters[i]);
                List<List<String>> all = new ArrayList<>();
                if (s.execute())
                    try (ResultSet rows = s.getResultSet()) {
                        while (rows.next()) {
                            List<String> row = new ArrayList<>();
                            for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++)
                                row.add(rows.getString(i) == null ? "" : rows.getString(i));
                            all.add(row);
                        }
                    }
                return all;
            }
        } catch (SQLException e) {
            if (Failures.breaks(e))
                hangUp();
            throw e;
        }
    }

    /** The first value of the first row; "" without one, and for NULL. */
    String value(String text, Object... parameters) throws SQLException {
        List<List<String>> rows = rows(text, parameters);
        return rows.isEmpty() ? "" : rows.get(0).get(0);
    }

    /** Closes the store's own connection, and with it ends the session's locks. */
    synchronized void hangUp() {
        try {
            if (control != null)
                control.close();
        } catch (SQLException e) {
            System.err.println("worker: closing a connection: " + e.getMessage());
        }
        control = null;
    }

    /** Asks again until sessions that were closed just now have ended; gives the last answer. */
    static String soon(Asks question, String wanted) throws SQLException {
        long end = System.nanoTime() + GONE_MS_MAX * 1_000_000;
        String told = question.ask();
        while (!told.equals(wanted) && System.nanoTime() < end) {
            pause();
            told = question.ask();
        }
        return told;
    }

    interface Asks {
        String ask() throws SQLException;
    }

    static void pause() {
        try {
            Thread.sleep(LOOK_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    void refuseWindow(String setting, long lossNs) throws RefusedException {
        lossMaxNs = lossNs;
        if (config.lossWindowNs < lossNs)
            throw new RefusedException("D2(" + config.lossWindowNs / 1e9 + "s): with " + setting + " a crash loses what came in the last " + lossNs / 1e9
                    + "s: expected D2(" + lossNs / 1e9 + "s) or more");
    }

    /** The names and values of a query, added to what the driver says of itself. */
    Map<String, String> settings(String query) {
        Map<String, String> told = new LinkedHashMap<>();
        told.put("version", version);
        for (String asked : List.of("pool", "connections", "minimum_idle", "operation_timeout"))
            told.put("driver." + asked, config.options.text(asked));
        if (lossMaxNs > 0)
            told.put("driver.loss_max", lossMaxNs / 1e9 + "s");
        try {
            for (List<String> row : rows(query))
                told.put(row.get(0), row.get(1));
        } catch (SQLException e) {
            System.err.println("worker: asking for settings: " + e.getMessage()); // a setting without a value is left out
        }
        return told;
    }

    @Override
    public void close() throws Exception {
        try {
            leave();
        } catch (SQLException e) {
            throw Failures.told(e);
        } finally {
            hangUp();
        }
    }

    static void put(Map<String, Double> all, String name, String number) {
        try {
            all.put(name, Double.valueOf(number));
        } catch (NumberFormatException e) {
            // a word
        }
    }

    /** Waits for a condition that the server's background work brings about. */
    static void await(String what, long patienceMs, Asks question) throws Exception {
        for (long end = System.nanoTime() + patienceMs * 1_000_000; question.ask().isEmpty(); pause())
            if (System.nanoTime() > end)
                throw new TimeoutException(what);
    }

    static String quote(String name, char with) {
        return with + name.replace("" + with, "" + with + with) + with;
    }

    static String firstLine(String file) throws IOException, RefusedException {
        java.nio.file.Path path = java.nio.file.Path.of(file);
        if (!java.nio.file.Files.isReadable(path))
            throw new RefusedException("password_file: " + file + " can't be read");
        return java.nio.file.Files.readString(path).lines().findFirst().orElse("");
    }
}
