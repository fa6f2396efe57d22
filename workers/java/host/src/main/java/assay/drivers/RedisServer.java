package assay.drivers;

import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Option;
import assay.driver.RefusedException;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The server of a client of Redis, asked over a connection of Assay's own: its settings, which give the
 * durability class, and its counters. One server; a cluster is not driven from here.
 */
public final class RedisServer implements AutoCloseable {
    private static final int TIMEOUT_MS = 5000;
    private static final List<String> TOLD = List.of("connected_clients", "total_connections_received", "total_commands_processed", "used_memory",
            "keyspace_hits", "keyspace_misses", "evicted_keys", "expired_keys", "aof_current_size", "aof_delayed_fsync");
    private static final List<String> SETTINGS = List.of("appendonly", "appendfsync", "no-appendfsync-on-rewrite", "save", "maxmemory",
            "maxmemory-policy", "io-threads", "maxclients");
    private static final long EVERY_SECOND_LOSS_NS = 3_000_000_000L; // as drivers/redis/class.go

    public final String host;
    public final int port;
    public final String user; // "": the server's default user
    public final String password; // "": no login

    private final Socket socket = new Socket();
    private final InputStream in;
    private Map<String, String> config;

    /** Adds to a description what every client of Redis has: the classes, and how to get in. */
    public static Description describe(Description d) {
        return d.durability("D0", "appendonly no: records live in the server's memory")
                .durability("D1", "appendonly yes, appendfsync no: write(2) to the log before the reply")
                .durability("D2", "appendonly yes, appendfsync everysec: synced once a second by a thread; T is at least 3s")
                .durability("D3", "appendonly yes, appendfsync always: fdatasync(2) before the reply")
                .option(Option.of("timeout", "duration", "2s", "how long a connection and an operation are waited for"))
                .option(Credentials.OPTION)
                .set("server_sets_class", true)
                .set("key_bytes_min", 1)
                .set("value_bytes_max", 512 << 20);
    }

    /** Connects, and refuses a server whose settings do not give the class. */
    public RedisServer(Config c) throws Exception {
        if (c.endpoints.size() != 1)
            throw new RefusedException("expected one endpoint, got " + c.endpoints.size() + ": this client drives one server");
        int colon = c.endpoints.get(0).lastIndexOf(':');
        host = c.endpoints.get(0).substring(0, colon);
        port = Integer.parseInt(c.endpoints.get(0).substring(colon + 1));
        Credentials login = new Credentials(c.options);
        user = login.user;
        password = login.password;
        try {
            socket.connect(new InetSocketAddress(host, port), TIMEOUT_MS);
            socket.setSoTimeout(TIMEOUT_MS);
            socket.setTcpNoDelay(true);
            in = new BufferedInputStream(socket.getInputStream());
            if (!password.isEmpty())
                ask(user.isEmpty() ? new String[] {"AUTH", password} : new String[] {"AUTH", user, password});
            config = readConfig();
            refuse(c.durability, c.lossWindowNs);
        } catch (Exception e) {
            close();
            throw e;
        }
    }

    private void refuse(String wanted, long windowNs) throws RefusedException {
        String policy = config.getOrDefault("appendfsync", "");
        String given = "D0";
        if (config.getOrDefault("appendonly", "").equals("yes"))
            given = policy.equals("no") ? "D1" : policy.equals("everysec") ? "D2" : policy.equals("always") ? "D3" : "none";
        if (!given.equals("D0") && !given.equals("D1") && !config.getOrDefault("no-appendfsync-on-rewrite", "").equals("no"))
            given = "none";
        if (!given.equals(wanted))
            throw new RefusedException("redis at " + host + ":" + port + " can't reach " + wanted + ": its settings give " + given);
        if (wanted.equals("D2") && windowNs < EVERY_SECOND_LOSS_NS)
            throw new RefusedException("redis can't reach D2 of less than 3s: a sync each second may take 2 s");
        if (!wanted.equals("D0") && evicts())
            throw new RefusedException("redis can't reach " + wanted + ": its maxmemory-policy removes acknowledged records");
    }

    private boolean evicts() {
        return !config.getOrDefault("maxmemory", "0").equals("0") && config.getOrDefault("maxmemory-policy", "").startsWith("allkeys-");
    }

    /** Settings in force, as the server reports them. */
    public Map<String, String> settings() {
        Map<String, String> told = new LinkedHashMap<>();
        for (String name : SETTINGS)
            told.put(name, config.getOrDefault(name, ""));
        return told;
    }

    /** The server's counters; nothing where it does not answer. */
    public synchronized Map<String, Double> stats() {
        Map<String, Double> told = new LinkedHashMap<>();
        try {
            for (String line : ((String) ask("INFO")).split("\r\n")) {
                int colon = line.indexOf(':');
                if (colon > 0 && TOLD.contains(line.substring(0, colon)))
                    told.put(line.substring(0, colon), Double.valueOf(line.substring(colon + 1)));
            }
        } catch (IOException | NumberFormatException e) {
            close();
            return Map.of();
        }
        if (evicts())
            told.put("records_evicted", told.getOrDefault("evicted_keys", 0.0));
        told.put("connections", told.getOrDefault("connected_clients", 0.0));
        return told;
    }

    private Map<String, String> readConfig() throws IOException {
        Map<String, String> all = new LinkedHashMap<>();
        List<?> pairs = (List<?>) ask("CONFIG", "GET", "*");
        for (int i = 0; i + 1 < pairs.size(); i += 2)
            all.put((String) pairs.get(i), (String) pairs.get(i + 1));
        return all;
    }

    /** Sends a command and returns its reply: a text, or a list of them; null for none. */
    private Object ask(String... words) throws IOException {
        StringBuilder request = new StringBuilder("*" + words.length + "\r\n");
        for (String word : words)
            request.append('$').append(word.getBytes(StandardCharsets.UTF_8).length).append("\r\n").append(word).append("\r\n");
        socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.UTF_8));
        return reply();
    }

    private Object reply() throws IOException {
        String line = line();
        String rest = line.substring(1);
        switch (line.charAt(0)) {
            case '+':
            case ':':
                return rest;
            case '$':
                int length = Integer.parseInt(rest);
                if (length < 0)
                    return null;
                byte[] text = in.readNBytes(length + 2);
                if (text.length < length + 2)
                    throw new IOException("the server closed the connection");
                return new String(text, 0, length, StandardCharsets.UTF_8);
            case '*':
                List<Object> list = new ArrayList<>();
                for (int i = Integer.parseInt(rest); i > 0; i--)
                    list.add(reply());
                return list;
            default:
                throw new IOException("the server answered " + rest);
        }
    }

    private String line() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int b = in.read(); b != '\r'; b = in.read()) {
            if (b < 0)
                throw new IOException("the server closed the connection");
            line.append((char) b);
        }
        in.read(); // the line end's second byte
        return line.length() == 0 ? "-an empty line" : line.toString();
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            System.err.println("worker: closing a connection: " + e.getMessage());
        }
    }
}
