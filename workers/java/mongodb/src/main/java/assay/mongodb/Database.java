package assay.mongodb;

import assay.driver.Config;
import assay.driver.Handle;
import assay.driver.RefusedException;
import assay.driver.Store;
import assay.drivers.Credentials;
import com.mongodb.MongoClientSettings;
import com.mongodb.MongoCommandException;
import com.mongodb.MongoCredential;
import com.mongodb.MongoException;
import com.mongodb.ServerAddress;
import com.mongodb.WriteConcern;
import com.mongodb.client.MongoClient;
import com.mongodb.client.MongoClients;
import com.mongodb.client.MongoCollection;
import com.mongodb.client.MongoDatabase;
import com.mongodb.connection.ClusterConnectionMode;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.bson.Document;
import org.bson.RawBsonDocument;
import org.bson.types.ObjectId;

/**
 * The database of Assay's own, over a client of its own. It is made, marked by the collection of open stores,
 * and dropped when a trial has left it empty, as drivers/mongodb/database.go has it: both may use one beside
 * each other.
 */
final class Database implements Store.Sync {
    private static final String RECORDS = "records";
    private static final String OURS = "^records(_[0-9a-f]{16})?$";
    private static final String SESSIONS = "assay_sessions";
    /** Up to 500 ms pass between two syncs of the journal, and one takes its time. */
    private static final long JOURNAL_LOSS_NS = 2_000_000_000L;
    private static final int COMMAND_NOT_FOUND = 59, NAMESPACE_EXISTS = 48;
    /** For what is no operation: making a collection, dropping one. */
    private static final long CONTROL_MS_MIN = 60_000;

    private final Config config;
    private final MongoClientSettings settings;
    private final MongoClient client;
    private final MongoDatabase database;
    private final ObjectId session = new ObjectId();
    private final Map<String, String> told = new LinkedHashMap<>();

    Database(Config config) throws Exception {
        this.config = config;
        if (config.endpoints.size() != 1)
            throw new RefusedException("expected one endpoint, got " + config.endpoints.size());
        long timeoutMs = TimeUnit.NANOSECONDS.toMillis(config.options.durationNs("operation_timeout"));
        if (timeoutMs <= 0 || config.options.integer("connections") <= 0)
            throw new RefusedException("operation_timeout and connections: expected at least 1 ms and 1");
        String name = config.options.text("database");
        if (!name.matches("[^/\\\\. \"$*<>:|?\\x00]{1,63}"))
            throw new RefusedException("database is \"" + name + "\", expected a name of 1 to 63 bytes without spaces, dots or any of /\\\"$*<>:|?");
        settings = settings(timeoutMs);
        client = MongoClients.create(MongoClientSettings.builder(settings)
                .applyToSocketSettings(s -> s.readTimeout((int) Math.max(timeoutMs, CONTROL_MS_MIN), TimeUnit.MILLISECONDS)).build());
        database = client.getDatabase(name);
        try {
            prove();
            prepare(config.first && config.options.bool("flush_at_open"));
        } catch (MongoException e) {
            client.close();
            throw Documents.told(e);
        } catch (Exception e) {
            client.close();
            throw e;
        }
    }

    private MongoClientSettings settings(long timeoutMs) throws RefusedException {
        String endpoint = config.endpoints.get(0);
        int colon = endpoint.lastIndexOf(':');
        ServerAddress address = new ServerAddress(endpoint.substring(0, colon), Integer.parseInt(endpoint.substring(colon + 1)));
        MongoClientSettings.Builder all = MongoClientSettings.builder().applicationName("assay").retryReads(false).retryWrites(false)
                .writeConcern(WriteConcern.W1.withJournal(config.durability.equals("D3")))
                .applyToClusterSettings(c -> c.hosts(List.of(address)).mode(ClusterConnectionMode.SINGLE)
                        .serverSelectionTimeout(timeoutMs, TimeUnit.MILLISECONDS))
                .applyToConnectionPoolSettings(p -> p.maxSize(config.options.integer("connections")).maxWaitTime(timeoutMs, TimeUnit.MILLISECONDS))
                .applyToSocketSettings(s -> s.connectTimeout((int) timeoutMs, TimeUnit.MILLISECONDS).readTimeout((int) timeoutMs, TimeUnit.MILLISECONDS));
        Credentials login = new Credentials(config.options);
        if (!login.user.isEmpty())
            all.credential(MongoCredential.createCredential(login.user, config.options.text("auth_database"), login.password.toCharArray()));
        return all.build();
    }

    /** What the server is, and whether it gives the class: of servers that are not MongoDB it is not known what they sync. */
    private void prove() throws RefusedException {
        Document build = ask("buildInfo"), hello = askIfKnown("hello");
        if (build.containsKey("ferretdbVersion"))
            throw new RefusedException("the server is FerretDB " + build.get("ferretdbVersion") + ", which ignores write concerns: the driver ferretdb is for it");
        if (hello == null)
            hello = ask("isMaster"); // the name before MongoDB 4.4.2
        if ("isdbgrid".equals(hello.get("msg")))
            throw new RefusedException("the server is mongos, which hands writes on to others");
        if (!Boolean.TRUE.equals(hello.getOrDefault("isWritablePrimary", hello.get("ismaster"))))
            throw new RefusedException("the server is no primary: it takes no writes");
        Document engine = ask("serverStatus").get("storageEngine", new Document());
        told.put("version", String.valueOf(build.get("version")));
        told.put("storageEngine", String.valueOf(engine.getOrDefault("name", "")));
        if (config.durability.equals("D0"))
            return;
        if (!"wiredTiger".equals(engine.get("name")) || !Boolean.TRUE.equals(engine.get("persistent")))
            throw new RefusedException("the server tells storageEngine \"" + told.get("storageEngine") + "\", and " + config.durability + " needs wiredTiger and its journal");
        if (config.durability.equals("D2") && config.lossWindowNs < JOURNAL_LOSS_NS)
            throw new RefusedException("D2(" + config.lossWindowNs / 1e9 + "s): up to 500 ms pass between two syncs of the journal, and one takes its time: expected D2(2s) or more");
    }

    private Document ask(String command) {
        return client.getDatabase("admin").runCommand(new Document(command, 1));
    }

    private Document askIfKnown(String command) {
        try {
            return ask(command);
        } catch (MongoCommandException e) {
            if (e.getErrorCode() == COMMAND_NOT_FOUND)
                return null;
            throw e;
        }
    }

    private List<String> collections() {
        return database.listCollectionNames().into(new ArrayList<>());
    }

    private void prepare(boolean drop) throws Exception {
        List<String> names = collections();
        if (!names.isEmpty() && !names.contains(SESSIONS))
            throw new RefusedException("database " + database.getName() + " is there, and Assay did not make it: option database names another");
        // Where a class needs a journal, j: true: a server without one refuses it.
        WriteConcern concern = config.durability.equals("D0") ? settings.getWriteConcern() : WriteConcern.JOURNALED;
        database.getCollection(SESSIONS).withWriteConcern(concern).insertOne(new Document("_id", session)
                .append("host", InetAddress.getLocalHost().getHostName()).append("process", (int) ProcessHandle.current().pid()));
        try {
            if (drop) {
                if (!isAlone())
                    throw new RefusedException("flush_at_open: another Assay uses database " + database.getName() + " (collection " + SESSIONS + " has its document)");
                for (String name : names)
                    if (name.matches(OURS))
                        database.getCollection(name).drop();
            }
            create();
        } catch (MongoException | RefusedException e) {
            sessions().deleteOne(new Document("_id", session));
            throw e;
        }
    }

    private void create() {
        try {
            database.createCollection(RECORDS);
        } catch (MongoCommandException e) {
            if (e.getErrorCode() != NAMESPACE_EXISTS)
                throw e;
        }
    }

    private MongoCollection<Document> sessions() {
        return database.getCollection(SESSIONS);
    }

    /** Whether no other store is open. Of this machine's, one whose process has ended is gone. */
    private boolean isAlone() throws Exception {
        boolean alone = true;
        String host = InetAddress.getLocalHost().getHostName();
        for (Document other : sessions().find().into(new ArrayList<>())) {
            if (other.get("_id").equals(session))
                continue;
            if (host.equals(other.get("host")) && !Files.exists(Path.of("/proc/" + other.get("process"))))
                sessions().deleteOne(new Document("_id", other.get("_id")));
            else
                alone = false;
        }
        return alone;
    }

    @Override
    public Handle open() throws Exception {
        MongoClient own = MongoClients.create(settings);
        try {
            MongoDatabase there = own.getDatabase(database.getName());
            there.runCommand(new Document("ping", 1));
            return new Documents(own, there.getCollection(RECORDS, RawBsonDocument.class));
        } catch (MongoException e) {
            own.close();
            throw Documents.told(e);
        }
    }

    @Override
    public Map<String, String> settings() {
        Map<String, String> all = new LinkedHashMap<>(told);
        for (String asked : List.of("database", "connections", "operation_timeout"))
            all.put("driver." + asked, config.options.text(asked));
        all.put("driver.j", String.valueOf(settings.getWriteConcern().getJournal()));
        return all;
    }

    @Override
    public Map<String, Double> stats() {
        Map<String, Double> all = new LinkedHashMap<>();
        try {
            Document status = ask("serverStatus");
            put(all, "connections", status, "connections", "current");
            for (String each : List.of("insert", "update", "delete", "query"))
                put(all, each.equals("query") ? "queries" : each + "s", status, "opcounters", each);
            put(all, "received_bytes", status, "network", "bytesIn");
            put(all, "sent_bytes", status, "network", "bytesOut");
        } catch (MongoException e) {
            return Map.of(); // it does not answer
        }
        return all;
    }

    private static void put(Map<String, Double> all, String name, Document status, String part, String field) {
        if (status.get(part) instanceof Document d && d.get(field) instanceof Number n)
            all.put(name, n.doubleValue());
    }

    /** mongod's; a server without the command acknowledges what it has written. */
    @Override
    public void sync() {
        askIfKnown("fsync");
    }

    /** Drops what is empty, unless another client uses it: the server has no lock to hold meanwhile. */
    @Override
    public void close() throws Exception {
        try (MongoClient last = client) {
            sessions().deleteOne(new Document("_id", session));
            if (!isAlone())
                return;
            List<String> names = collections(), mine = names.stream().filter(name -> name.matches(OURS)).toList();
            for (String name : mine)
                if (database.getCollection(name).find().first() != null)
                    return;
            mine.forEach(name -> database.getCollection(name).drop());
            if (names.size() <= mine.size() + 1)
                database.drop();
        } catch (MongoException e) {
            throw Documents.told(e);
        }
    }
}
