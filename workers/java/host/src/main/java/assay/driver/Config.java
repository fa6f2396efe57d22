package assay.driver;

import java.util.List;

/** What a store is opened with. */
public final class Config {
    /** Of an embedded engine: where it keeps its files, and nowhere else. */
    public final String directory;
    /** Of a server: host:port addresses. */
    public final List<String> endpoints;
    /** D0 to D4: one that the description claims. */
    public final String durability;
    public final long lossWindowNs;
    public final Options options;
    /** How many threads, and how many handles, will be at work at once, at most. */
    public final int threads;
    public final int handles;
    /** Whether this is the trial's first opening of this store. */
    public final boolean first;

    public Config(String directory, List<String> endpoints, String durability, long lossWindowNs, Options options, int threads,
            int handles, boolean first) {
        this.directory = directory;
        this.endpoints = endpoints;
        this.durability = durability;
        this.lossWindowNs = lossWindowNs;
        this.options = options;
        this.threads = threads;
        this.handles = handles;
        this.first = first;
    }
}
