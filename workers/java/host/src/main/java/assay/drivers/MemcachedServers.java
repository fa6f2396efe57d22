package assay.drivers;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
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
    // the binary protocol
    private static final int HEADER_BYTES = 24;
    private static final int ANSWER_BYTES_MAX = 1 << 16;
    private static final int STAT = 0x10;
    private static final int SASL_AUTH = 0x21;
    /** Those of the server's numbers that are reported unchanged; connections are added. */
    private static final List<String> TOLD = List.of("total_connections", "curr_items", "bytes", "cmd_get", "cmd_set", "get_hits",
            "get_misses", "delete_hits", "delete_misses", "cas_hits", "cas_misses", "cas_badval", "evictions");
    /** As drivers/memcached/spread.go counts them. */
    private static final List<String> OPERATIONS = List.of("cmd_get", "cmd_set", "cmd_touch", "delete_hits", "delete_misses");
    private static final List<String> EVICTING = List.of("evictions", "expired_unfetched", "slab_reassign_evictions_nomem", "slab_reassign_busy_deletes");

    private final List<Member> members = new ArrayList<>();

    /** weights is null where all are alike. */
    public MemcachedServers(List<String> endpoints, int[] weights, Credentials credentials) throws IOException {
        try {
            for (int i = 0; i < endpoints.size(); i++)
                members.add(new Member(endpoints.get(i), weights == null ? 1 : weights[i], credentials));
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
        private final boolean binary; // a server that demands a login by SASL speaks nothing else
        private final DataInputStream in;

        Member(String endpoint, int weight, Credentials credentials) throws IOException {
            this.weight = weight;
            binary = !credentials.user.isEmpty();
            int colon = endpoint.lastIndexOf(':');
            socket.connect(new InetSocketAddress(endpoint.substring(0, colon), Integer.parseInt(endpoint.substring(colon + 1))), TIMEOUT_MS);
            socket.setSoTimeout(TIMEOUT_MS);
            in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            if (!binary)
                return;
            ask(SASL_AUTH, "PLAIN", "\0" + credentials.user + "\0" + credentials.password);
            try {
                answer();
            } catch (IOException e) {
                close();
                throw new IOException("logging in to " + endpoint + " as " + credentials.user + ": " + e.getMessage());
            }
        }

        /** null: the server did not answer, and is not asked again over a connection that is out of step. */
        Map<String, Double> stats() {
            Map<String, Double> told = new LinkedHashMap<>();
            try {
                if (binary)
                    ask(STAT, "", "");
                else
                    socket.getOutputStream().write("stats\r\n".getBytes(StandardCharsets.US_ASCII));
                for (String[] named = next(); named != null; named = next())
                    try {
                        told.put(named[0], Double.valueOf(named[1]));
                    } catch (NumberFormatException e) {
                        // a version, or a name
                    }
                return told;
            } catch (IOException e) {
                close();
                return null;
            }
        }

        /** The next name and its value; null: there are no more. */
        private String[] next() throws IOException {
            if (binary) {
                String[] named = answer();
                return named[0].isEmpty() ? null : named;
            }
            String[] words = line().split(" ");
            return words[0].equals("END") ? null : new String[] {words[1], words[2]};
        }

        private String line() throws IOException {
            StringBuilder line = new StringBuilder();
            for (int c = in.readUnsignedByte(); c != '\n'; c = in.readUnsignedByte())
                if (c != '\r')
                    line.append((char) c);
            return line.toString();
        }

        /** A request of the binary protocol: 24 bytes of header, key, value. */
        private void ask(int operation, String key, String value) throws IOException {
            byte[] name = key.getBytes(StandardCharsets.UTF_8), body = value.getBytes(StandardCharsets.UTF_8);
            socket.getOutputStream().write(ByteBuffer.allocate(HEADER_BYTES + name.length + body.length).put((byte) 0x80).put((byte) operation)
                    .putShort((short) name.length).putInt(0).putInt(name.length + body.length).position(HEADER_BYTES).put(name).put(body).array());
        }

        /** Key and value of an answer; an exception where its status is not 0. */
        private String[] answer() throws IOException {
            ByteBuffer header = ByteBuffer.wrap(in.readNBytes(HEADER_BYTES));
            if (header.remaining() < HEADER_BYTES)
                throw new IOException("the server closed the connection");
            int key = header.getShort(2) & 0xffff, extras = header.get(4), status = header.getShort(6) & 0xffff, length = header.getInt(8);
            if (length < key + extras || length > ANSWER_BYTES_MAX)
                throw new IOException("an answer of " + length + " bytes");
            String body = new String(in.readNBytes(length), StandardCharsets.ISO_8859_1);
            if (status != 0)
                throw new IOException("the server answered with status " + status + ": " + body.substring(extras + key));
            return new String[] {body.substring(extras, extras + key), body.substring(extras + key)};
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
