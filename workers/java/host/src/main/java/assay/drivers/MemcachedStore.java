package assay.drivers;

import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Option;
import assay.driver.RefusedException;
import assay.driver.Store;
import java.util.Map;
import java.util.TreeMap;

/** What clients of memcached have alike: its claims and limits, a login, values as objects, what the servers report. */
public abstract class MemcachedStore implements Store {
    protected final Config config;
    protected final Credentials credentials;
    protected final Serialisation serialisation;
    private final MemcachedServers servers;

    /** weights is null where all servers are alike. */
    protected MemcachedStore(Config config, int[] weights) throws Exception {
        if (config.endpoints.isEmpty())
            throw new RefusedException("expected the server's address as endpoint");
        this.config = config;
        credentials = new Credentials(config.options).needBinary(config.options);
        serialisation = new Serialisation(config.options);
        servers = new MemcachedServers(config.endpoints, weights, credentials);
    }

    /** The weight of each server by the option weights; null: it is unset. */
    public static int[] weights(Config config) throws RefusedException {
        return config.options.integers("weights", config.endpoints.size());
    }

    /** What each client of memcached claims, and the options that each has. */
    public static Description describe(String name, String summary, Option protocol) {
        return new Description(name, "server", summary)
                .durability("D0", "the server keeps everything in memory alone")
                .option(protocol)
                .option(Serialisation.OPTION)
                .option(Credentials.OPTION)
                .set("handles_shareable", true)
                .set("connections_own", 1)
                .set("key_bytes_min", 1)
                .set("key_bytes_max", 250)
                .set("key_text", true)
                .set("value_bytes_max", (1 << 20) - 512);
    }

    /** The settings that each client has, and those that are named: by the client's own name, and by the option. */
    protected Map<String, String> settings(Map<String, String> options) {
        Map<String, String> settings = new TreeMap<>();
        for (String name : new String[] {"protocol", "values"})
            settings.put(name, config.options.text(name));
        options.forEach((name, option) -> settings.put(name, config.options.text(option)));
        return settings;
    }

    @Override
    public Map<String, Double> stats() {
        return serialisation.stats(servers.stats());
    }

    @Override
    public void close() {
        servers.close();
    }
}
