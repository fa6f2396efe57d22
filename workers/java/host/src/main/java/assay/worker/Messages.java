package assay.worker;

import java.net.SocketTimeoutException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

/** What an exception says. */
final class Messages {
    private Messages() {}

    static String of(Throwable thrown) {
        Throwable told = thrown;
        while (told.getCause() != null && (told instanceof ExecutionException || told.getMessage() == null))
            told = told.getCause();
        String name = told.getClass().getName(), message = told.getMessage();
        return message == null ? name : name + ": " + message;
    }

    static boolean isTimeout(Throwable thrown) {
        for (Throwable cause = thrown; cause != null; cause = cause.getCause())
            if (cause instanceof TimeoutException || cause instanceof SocketTimeoutException)
                return true;
        return false;
    }
}
