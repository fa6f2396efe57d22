package assay.jdbc;

import java.io.IOException;
import java.sql.BatchUpdateException;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTransientConnectionException;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import java.util.regex.Pattern;

/** What a SQLException means. */
final class Failures {
    /** SQLSTATEs of PostgreSQL: a serialization failure, a deadlock, a lock that was not to be had. */
    private static final Set<String> UNDONE_STATES = Set.of("40001", "40P01", "55P03");
    /** Errors of MariaDB: a record that changed, a lock that did not come in time, a deadlock. */
    private static final Set<Integer> UNDONE_CODES = Set.of(1020, 1205, 1213);
    private static final int DUPLICATE_CODE = 1062;
    private static final String DUPLICATE_STATE = "23505";
    /** What drivers put into a message that makes each one a message of its own: the connection's number, and times. */
    private static final Pattern NUMBERED = Pattern.compile("\\(conn[:=]-?\\d+\\) |HikariPool-\\d+ - ");

    private Failures() {}

    /** Was the statement undone because of another session's? */
    static boolean isConflict(SQLException e) {
        return UNDONE_STATES.contains(String.valueOf(e.getSQLState())) || UNDONE_CODES.contains(e.getErrorCode());
    }

    static boolean isDuplicate(SQLException e) {
        return e.getErrorCode() == DUPLICATE_CODE || DUPLICATE_STATE.equals(e.getSQLState());
    }

    /** Is the connection of no more use? Its late answer must not be taken for the next operation's. */
    static boolean breaks(SQLException e) {
        for (Throwable cause = e; cause != null; cause = cause.getCause())
            if (cause instanceof IOException)
                return true;
        return e instanceof SQLNonTransientConnectionException || e instanceof SQLRecoverableException || String.valueOf(e.getSQLState()).startsWith("08");
    }

    /** The exception to count: a message without what differs each time, details with keys left out. */
    static Exception told(SQLException e) {
        if (e instanceof SQLTransientConnectionException && e.getCause() == null)
            return new TimeoutException("no connection of the pool came free in time");
        boolean outer = e instanceof SQLTransientConnectionException || e instanceof BatchUpdateException; // a batch's has the statement's text
        SQLException cause = outer && e.getCause() instanceof SQLException inner ? inner : e;
        String text = NUMBERED.matcher(String.valueOf(cause.getMessage()).lines().findFirst().orElse("")).replaceAll("");
        return new SQLException(text + (cause.getSQLState() == null ? "" : " (SQLSTATE " + cause.getSQLState() + ")"), cause.getSQLState(), cause.getErrorCode(), cause);
    }
}
