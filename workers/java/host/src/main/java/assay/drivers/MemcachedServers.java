package assay.drivers;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The servers of a client of memcached, asked over connections of Assay's own: what each counts tells
 * the client's connections, evictions and how keys are spread, whatever the client says of itself.
 */
public final class MemcachedServers implements AutoCloseable {
    private static final int TIMEOUT_MS = 1000;
    /** Those of the server's numbers that are told as they are; connections are added. */
    private static final List<String> TOLD = List.of("total_connections", "curr_items", "bytes", "cmd_get", "cmd_set", "get_hits",
            "get_misses", "delete_hits", "delete_misses", "cas_hits", "cas_misses", "cas_badval", "evictions");
    /** As drivers/memcached/spread.go counts them. */
    private static final List<String> OPERATIONS = List.of("cmd_get", "cmd_set", "cmd_touch", "delete_hits", "delete_misses");
    private static final List<String> EVICTING = List.of("evictions", "expired_unfetched", "slab_reassign_evictions_nomem", "slab_reassign_busy_deletes");

    private final List<Member> members = new ArrayList<>();

    /** weights is null where all are alike. */
    public MemcachedServers(List<String> endpoints, int[] weights) throws IOException {
        try {
            for (int i = 0; i < endpoints.size(); i++)
                members.add(new Member(endpoints.get(i), weights == null ? 1 : weights[i]));
        } catch (IOException e) {
            close();
            throw e;
        }
    }

    /** The sum over the servers, and of several each one's share; nothing where one does not tell. */
    public Map<String, Double> stats() {
        Map<String, Double> all = new LinkedHashMap<>(), each = new LinkedHashMap<>();
        for (int i = 0; i < members.size(); i++) {
            Map<String, Double> told = members.get(i).stats();
            if (told == null)
                return Map.of();
            all.merge("connections", told.getOrDefault("curr_connections", 0.0), Double::sum);
            for (String name : TOLD)
                all.merge(name, told.getOrDefault(name, 0.0), Double::sum);
            all.merge("records_evicted", sum(told, EVICTING), Double::sum);
            String server = "server" + (i + 1) + "_";
            each.put(server + "operations", sum(told, OPERATIONS));
            each.put(server + "weight", (double) members.get(i).weight);
            each.put(server + "items", told.getOrDefault("curr_items", 0.0));
            each.put(server + "connections", told.getOrDefault("curr_connections", 0.0));
        }
        if (members.size() > 1)
            all.putAll(each);
        return all;
    }

    private static double sum(Map<String, Double> told, List<String> names) {
        return names.stream().mapToDouble(name -> told.getOrDefault(name, 0.0)).sum();
    }

    @Override
    public void close() {
        members.forEach(Member::close);
    }

    private static final class Member {
        final int weight;
        private final Socket socket = new Socket();
        private final BufferedReader lines;

        Member(String endpoint, int weight) throws IOException {
            this.weight = weight;
            int colon = endpoint.lastIndexOf(':');
            socket.connect(new InetSocketAddress(endpoint.substring(0, colon), Integer.parseInt(endpoint.substring(colon + 1))), TIMEOUT_MS);
            socket.setSoTimeout(TIMEOUT_MS);
            lines = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
        }

        /** null: the server did not answer, and is not asked again over a connection that is out of step. */
        Map<String, Double> stats() {
            Map<String, Double> told = new LinkedHashMap<>();
            try {
                socket.getOutputStream().write("stats\r\n".getBytes(StandardCharsets.US_ASCII));
                for (String line = lines.readLine(); !"END".equals(line); line = lines.readLine()) {
                    if (line == null)
                        throw new IOException("the server closed the connection");
                    String[] words = line.split(" ");
                    if (words.length == 3)
                        try {
                            told.put(words[1], Double.valueOf(words[2]));
                        } catch (NumberFormatException e) {
                            // a version, or a name
                        }
                }
                return told;
            } catch (IOException e) {
                close();
                return null;
            }
        }

        void close() {
            try {
                socket.close();
            } catch (IOException e) {
                System.err.println("worker: closing a connection: " + e.getMessage());
            }
        }
    }
}
