package assay.driver;

import java.util.List;

/**
 * What a thread works with: a connection, a session, or a client that all threads share. Calls on
 * one handle come from one thread at a time, unless the description says that handles are shareable.
 *
 * <p>Every exception is counted as an error under its message, and one that is or was caused by a
 * time-out ({@link java.util.concurrent.TimeoutException}, {@link java.net.SocketTimeoutException})
 * as a time-out. Nothing is tried again. A client that hides failures, by returning {@code null} or
 * {@code false}, must be asked until they differ from a miss.
 */
public interface Handle extends AutoCloseable {
    /** Sets value to the value of key, or returns MISS. The empty value is a value. */
    Status get(Bytes key, Bytes value) throws Exception;

    /** Stores value under key, whether key was there or not. */
    Status put(Bytes key, Bytes value) throws Exception;

    /** Removes key. MISS only where the store tells by itself that it was not there. */
    Status delete(Bytes key) throws Exception;

    @Override
    void close() throws Exception;

    /** Handles whose store has an insert-if-absent of its own. */
    interface Add extends Handle {
        /** Stores value if key is absent, otherwise returns CONFLICT. */
        Status add(Bytes key, Bytes value) throws Exception;
    }

    /** Handles whose store has a compare-and-swap of its own. */
    interface CompareAndSwap extends Handle {
        /**
         * Stores value if the value of key is old, which a get on this handle returned just before.
         * CONFLICT if it is another, MISS if there is none.
         */
        Status compareAndSwap(Bytes key, Bytes old, Bytes value) throws Exception;
    }

    /** Handles whose store takes several writes in one call. */
    interface Batch extends Handle {
        /** Applies all writes, in order. */
        Status batch(List<Write> writes) throws Exception;
    }

    /** Handles whose store keeps its keys in bytewise order. */
    interface Scan extends Handle {
        /**
         * Visits records from the first key at or after start, ascending, until visitor returns false
         * or the keys end. limit is how many will be taken: a hint for fetching ahead.
         */
        Status scan(Bytes start, int limit, Visitor visitor) throws Exception;
    }

    /** Takes the records of a scan. */
    interface Visitor {
        /** Takes one record, whose bytes need be valid only until it returns. False: no more. */
        boolean visit(Bytes key, Bytes value);
    }

    /** One write of a batch: a put, or a delete where value is null. */
    final class Write {
        public final Bytes key;
        public final Bytes value;

        public Write(Bytes key, Bytes value) {
            this.key = key;
            this.value = value;
        }
    }
}
