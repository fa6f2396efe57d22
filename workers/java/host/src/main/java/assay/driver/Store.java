package assay.driver;

import java.util.Map;

/** An open store. The worker calls it from one thread, but for {@link #stats}. */
public interface Store extends AutoCloseable {
    /** Opens one more handle. */
    Handle open() throws Exception;

    /**
     * Returns the settings in force by the client's own names: read back where it can tell them,
     * otherwise the given value with " (asked)" behind it.
     */
    default Map<String, String> settings() {
        return Map.of();
    }

    /**
     * Returns the store's own counters and gauges; names end in their unit. Called once a second
     * while operations run. The worker adds the JVM's.
     */
    default Map<String, Double> stats() {
        return Map.of();
    }

    /** Closes the store; all its handles were closed before. */
    @Override
    void close() throws Exception;

    /** Stores that can make every acknowledged write durable. */
    interface Sync extends Store {
        void sync() throws Exception;
    }
}
