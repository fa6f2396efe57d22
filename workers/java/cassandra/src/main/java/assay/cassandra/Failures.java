package assay.cassandra;

import assay.driver.RefusedException;
import com.datastax.oss.driver.api.core.AllNodesFailedException;
import com.datastax.oss.driver.api.core.ConsistencyLevel;
import com.datastax.oss.driver.api.core.DriverException;
import com.datastax.oss.driver.api.core.DriverTimeoutException;
import com.datastax.oss.driver.api.core.context.DriverContext;
import com.datastax.oss.driver.api.core.retry.RetryDecision;
import com.datastax.oss.driver.api.core.retry.RetryPolicy;
import com.datastax.oss.driver.api.core.servererrors.CASWriteUnknownException;
import com.datastax.oss.driver.api.core.servererrors.CoordinatorException;
import com.datastax.oss.driver.api.core.servererrors.ReadTimeoutException;
import com.datastax.oss.driver.api.core.servererrors.WriteTimeoutException;
import com.datastax.oss.driver.api.core.servererrors.WriteType;
import com.datastax.oss.driver.api.core.session.Request;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.TimeoutException;

/** What the client's errors mean, and that nothing is tried twice. Messages leave out what differs from one to the next. */
final class Failures {
    private Failures() {}

    static Exception told(Exception e) {
        if (!(e instanceof DriverException))
            return e;
        Throwable why = e;
        if (e instanceof AllNodesFailedException all && !all.getAllErrors().isEmpty()) {
            List<Throwable> first = all.getAllErrors().values().iterator().next();
            why = first.isEmpty() ? e : first.get(0);
        }
        if (why instanceof DriverTimeoutException || why instanceof WriteTimeoutException || why instanceof ReadTimeoutException || why instanceof CASWriteUnknownException)
            return (Exception) new TimeoutException(why.getClass().getSimpleName()).initCause(e);
        String text = why.getClass().getSimpleName();
        return new IOException(why instanceof CoordinatorException ? "the node answered " + text : text, e);
    }

    static RefusedException refused(String format, Object... parts) {
        return new RefusedException(String.format(format, parts));
    }

    /** A policy that tries nothing again. The client makes it by its name. */
    public static final class NoRetry implements RetryPolicy {
        public NoRetry(DriverContext context, String profile) {}

        @Override
        @Deprecated
        public RetryDecision onReadTimeout(Request r, ConsistencyLevel c, int required, int received, boolean data, int retries) {
            return RetryDecision.RETHROW;
        }

        @Override
        @Deprecated
        public RetryDecision onWriteTimeout(Request r, ConsistencyLevel c, WriteType type, int required, int received, int retries) {
            return RetryDecision.RETHROW;
        }

        @Override
        @Deprecated
        public RetryDecision onUnavailable(Request r, ConsistencyLevel c, int required, int alive, int retries) {
            return RetryDecision.RETHROW;
        }

        @Override
        @Deprecated
        public RetryDecision onRequestAborted(Request r, Throwable error, int retries) {
            return RetryDecision.RETHROW;
        }

        @Override
        @Deprecated
        public RetryDecision onErrorResponse(Request r, CoordinatorException error, int retries) {
            return RetryDecision.RETHROW;
        }

        @Override
        public void close() {}
    }
}
