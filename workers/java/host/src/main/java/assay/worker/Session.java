package assay.worker;

import assay.driver.Config;
import assay.driver.Description;
import assay.driver.Driver;
import assay.driver.Option;
import assay.driver.Options;
import assay.driver.Store;
import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonParser;
import com.grack.nanojson.JsonParserException;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.ServiceConfigurationError;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The worker's state between requests: the store that is open and the phases that were prepared. */
final class Session {
    private static final int CONTRACT = 4;
    private static final int POOL_MAX = 1 << 20;
    private static final long LOOK_MS = 100;
    private static final List<String> OF_OPEN_STORE = List.of("prepare", "run", "inspect", "sync", "define", "explain", "close");
    private static final List<String> WITH_FIELDS = List.of("open", "define", "prepare", "explain");

    private final Map<String, Driver> drivers = new LinkedHashMap<>();
    private final String unusable; // why no client's driver of the class path can be used; null: one can, or there is none

    private Driver driver; // of the open store; null: none is open
    private Store store;
    private Handles handles;
    int threads;
    Abilities abilities;
    Definition definition; // null: values have no columns
    Phase[] phases = new Phase[Phase.NUMBER_MAX + 1];
    private Phase prepared; // waits for run
    private Walker[] walkers;
    private Telemetry telemetry; // null: a verify phase, in which nothing is measured

    private volatile Phase running;
    private volatile boolean abandoned;

    /**
     * A driver needs its library's classes: a jar that is missing, or of another version, shows here. Where the
     * class path has drivers of several libraries, those that can be used are: an arm's jars may be of one.
     */
    Session(Iterable<Driver> found) {
        String why = null;
        boolean ofClient = false;
        for (Iterator<Driver> all = found.iterator();;) {
            Driver each = null;
            try {
                if (!all.hasNext())
                    break;
                each = all.next();
                drivers.put(each.describe().text("name"), each);
                ofClient = ofClient || !isHosts(each);
            } catch (LinkageError | ServiceConfigurationError | IllegalStateException e) {
                String problem = (each == null ? "a driver of the class path" : each.getClass().getSimpleName())
                        + " can't be used with the jars that were given: " + Messages.of(e);
                System.err.println("worker: " + problem);
                why = why == null ? problem : why;
            }
        }
        unusable = ofClient ? null : why;
    }

    private static boolean isHosts(Driver driver) {
        return driver.getClass().getPackageName().equals("assay.drivers");
    }

    String driverName() {
        return driver.describe().text("name");
    }

    /** Stops the phase that runs: the conductor went away. Called from the thread that reads. */
    void abandon() {
        abandoned = true;
        Phase phase = running;
        if (phase != null)
            Words.store(phase.counters.header, Counters.STOP, 1);
    }

    /** Closes what a conductor that went away left open. */
    void end() {
        if (driver == null)
            return;
        try {
            close();
        } catch (Refusal refusal) {
            System.err.println("worker: the conductor went away; " + refusal.getMessage());
        }
    }

    JsonObject answer(String line) {
        JsonObject reply = new JsonObject();
        reply.put("id", 0);
        try {
            Object request = parse(line);
            if (request instanceof JsonObject && ((JsonObject) request).get("id") instanceof Number)
                reply.put("id", ((JsonObject) request).get("id"));
            JsonObject result = execute(new Fields("the request", request));
            reply.put("ok", true);
            reply.put("result", result);
        } catch (Refusal refusal) {
            JsonObject error = new JsonObject();
            error.put("class", refusal.errorClass);
            error.put("message", refusal.getMessage());
            reply.put("ok", false);
            reply.put("error", error);
        }
        return reply;
    }

    private static Object parse(String line) throws Refusal {
        try {
            Object parsed = JsonParser.any().from(line);
            if (!(parsed instanceof JsonObject))
                throw Refusal.badRequest("the request is no object");
            return parsed;
        } catch (JsonParserException e) {
            throw Refusal.badRequest("the request is no JSON: %s", e.getMessage());
        }
    }

    private JsonObject execute(Fields request) throws Refusal {
        request.integer("id");
        String command = request.text("command");
        for (String part : WITH_FIELDS) {
            boolean own = part.equals(command);
            if (request.has(part) && !own)
                throw Refusal.badRequest("%s with the fields of %s", command, part);
            if (own && !request.has(part))
                throw Refusal.badRequest("%s without its fields", command);
        }
        Fields fields = null;
        if (command.equals("run") && request.has("run"))
            throw Refusal.badRequest("run with fields: this worker does a phase alone");
        for (String part : WITH_FIELDS)
            if (part.equals(command))
                fields = request.object(part);
            else
                request.any(part);
        request.any("run");
        request.end();
        if (command.equals("describe"))
            return describe();
        if (command.equals("open"))
            return open(fields);
        if (!OF_OPEN_STORE.contains(command))
            throw Refusal.badRequest("unknown command \"%s\"", command);
        if (driver == null)
            throw Refusal.badRequest("%s before open", command);
        switch (command) {
            case "prepare":
                return prepare(fields);
            case "run":
                return run();
            case "inspect":
                return inspect();
            case "sync":
                return sync();
            case "define":
                return define(fields);
            case "explain":
                throw Refusal.refused("%s has no explain", driverName());
            default:
                return close();
        }
    }

    private JsonObject describe() throws Refusal {
        if (unusable != null)
            throw Refusal.failed("%s", unusable);
        JsonArray all = new JsonArray();
        for (Driver each : drivers.values())
            all.add(describe(each));
        JsonObject result = new JsonObject();
        result.put("contract", CONTRACT);
        result.put("worker", "assay-java");
        result.put("language", "Java " + System.getProperty("java.version") + ", " + System.getProperty("java.vm.name"));
        result.put("drivers", all);
        return result;
    }

    private static JsonObject describe(Driver driver) {
        Description description = driver.describe();
        JsonObject told = new JsonObject(description.fields());
        JsonArray claims = new JsonArray(), options = new JsonArray();
        description.durability().forEach((name, how) -> {
            JsonObject claim = new JsonObject();
            claim.put("class", name);
            claim.put("how", how);
            claims.add(claim);
        });
        for (Option option : description.options().values()) {
            JsonObject each = new JsonObject();
            each.put("name", option.name());
            each.put("type", option.type());
            each.put("default", option.byDefault());
            each.put("help", option.help());
            if (!option.choices().isEmpty())
                each.put("choices", new JsonArray(option.choices()));
            options.add(each);
        }
        told.put("durability", claims);
        if (!options.isEmpty())
            told.put("options", options);
        told.put("handle_times", true);
        told.put("finds_recorded", true);
        told.put("key_lengths", true);
        told.put("abilities", new Abilities(driver).told());
        return told;
    }

    private JsonObject open(Fields fields) throws Refusal {
        if (driver != null)
            throw Refusal.badRequest("open while %s is open", driverName());
        String name = fields.text("driver"), directory = fields.text("directory"), durability = fields.text("durability");
        String mode = fields.text("handles");
        boolean first = fields.bool("first");
        List<String> endpoints = fields.texts("endpoints");
        long window = fields.integer("loss_window_ns"), pool = fields.integer("pool_handles"), count = fields.integer("threads");
        Map<String, String> given = fields.textMap("options");
        fields.end();
        if (count < 1 || count > Trace.THREADS_MAX)
            throw Refusal.badRequest("open for threads out of 1 to %d", Trace.THREADS_MAX);
        Driver asked = drivers.get(name);
        if (asked == null)
            throw Refusal.badRequest("this worker has no driver \"%s\"", name);
        Description description = asked.describe();
        if (!description.durability().containsKey(durability))
            throw Refusal.refused("%s can't reach durability class %s", name, durability);
        Options options;
        try {
            options = new Options(description.options(), given);
        } catch (IllegalArgumentException e) {
            throw Refusal.badRequest("%s: %s", name, e.getMessage());
        }
        Handles.Mode way = mode(mode);
        int opened = countHandles(way, (int) count, pool, description);
        Config config = new Config(directory, endpoints, durability, window, options, (int) count, opened, first);
        openStore(asked, config, way);
        threads = (int) count;
        abilities = new Abilities(asked);
        driver = asked;
        JsonObject result = new JsonObject();
        result.put("abilities", abilities.told());
        result.put("settings", settings());
        result.put("version", description.text("version"));
        return result;
    }

    private static Handles.Mode mode(String name) throws Refusal {
        for (Handles.Mode mode : Handles.Mode.values())
            if (mode.name().toLowerCase(java.util.Locale.ROOT).equals(name))
                return mode;
        throw Refusal.badRequest("unknown way to share handles \"%s\"", name);
    }

    /** How many handles will be open at once. */
    private static int countHandles(Handles.Mode mode, int threads, long pool, Description description) throws Refusal {
        String name = description.text("name");
        if (mode == Handles.Mode.SHARED && threads > 1 && !description.is("handles_shareable"))
            throw Refusal.refused("a handle of %s can't be shared by threads", name);
        if (mode == Handles.Mode.POOL && (pool < 1 || pool > POOL_MAX))
            throw Refusal.badRequest("a pool needs pool_handles of at least 1");
        int count = mode == Handles.Mode.SHARED ? 1 : mode == Handles.Mode.POOL ? (int) pool : threads;
        int max = description.number("handles_max");
        if (max > 0 && count > max)
            throw Refusal.refused("%s has at most %d handles, this needs %d", name, max, count);
        return count;
    }

    private void openStore(Driver asked, Config config, Handles.Mode mode) throws Refusal {
        String name = asked.describe().text("name");
        try {
            store = asked.open(config);
        } catch (Throwable thrown) {
            throw Refusal.of(name, thrown);
        }
        try {
            handles = new Handles(store, mode, config.handles);
        } catch (Throwable thrown) {
            try {
                store.close();
            } catch (Throwable closing) {
                System.err.println("worker: closing " + name + ", which gave no handle: " + Messages.of(closing));
            }
            throw Refusal.of("opening a handle", thrown);
        }
    }

    /** Where the driver has not the ability records, columns are the worker's alone. */
    private JsonObject define(Fields fields) throws Refusal {
        if (definition != null)
            throw Refusal.badRequest("define twice: the columns hold until close");
        for (Phase phase : phases)
            if (phase != null)
                throw Refusal.badRequest("define after the first prepare");
        Definition made = new Definition(fields);
        if (made.hasIndexes)
            throw Refusal.refused("%s has no indexes", driverName());
        if (store instanceof Store.Records)
            try {
                ((Store.Records) store).define(made.names());
            } catch (Throwable thrown) {
                throw Refusal.of("define", thrown);
            }
        definition = made;
        return new JsonObject();
    }

    private JsonObject prepare(Fields fields) throws Refusal {
        if (prepared != null)
            throw Refusal.badRequest("prepare while phase %s waits for run", prepared.name);
        Phase phase = new Phase(fields, this);
        walkers = new Walker[phase.trace.threads];
        boolean storesNothing = driver.describe().text("kind").equals("none");
        for (int i = 0; i < walkers.length; i++)
            walkers[i] = new Walker(phase, phases, handles, storesNothing, i);
        phases[phase.number] = prepared = phase;
        telemetry = phase.trace.has(Trace.FLAG_RECORD_VERSIONS) ? null : new Telemetry(store);
        JsonObject result = new JsonObject();
        if (telemetry != null)
            result.put("stats", new JsonArray(telemetry.names));
        return result;
    }

    private JsonObject run() throws Refusal {
        if (prepared == null)
            throw Refusal.badRequest("run without prepare");
        Phase phase = prepared;
        CountDownLatch gate = new CountDownLatch(1), ended = new CountDownLatch(walkers.length);
        Thread[] started = start(gate, ended);
        Telemetry.Totals before = new Telemetry.Totals();
        long start = System.nanoTime();
        Words.store(phase.counters.header, Counters.CLOCK, Counters.CLOCK_MONOTONIC);
        Words.store(phase.counters.header, Counters.START, start);
        for (Walker walker : walkers)
            walker.begin(start);
        Words.store(phase.counters.header, Counters.STATE, Counters.RUNNING);
        if (telemetry != null)
            telemetry.begin();
        running = phase;
        if (abandoned)
            abandon();
        gate.countDown();
        await(ended, started, phase);
        running = null;
        long end = start;
        for (Walker walker : walkers)
            end = Math.max(end, start + walker.nowNs());
        Words.store(phase.counters.header, Counters.END, end);
        Words.store(phase.counters.header, Counters.STATE, Counters.ENDED);
        JsonObject result = new JsonObject();
        result.put("runtime", runtime(before));
        prepared = null;
        walkers = null;
        return result;
    }

    private Thread[] start(CountDownLatch gate, CountDownLatch ended) throws Refusal {
        Thread[] started = new Thread[walkers.length];
        int i = 0;
        try {
            for (; i < started.length; i++) {
                walkers[i].prepare(gate, ended);
                started[i] = new Thread(walkers[i], "assay-" + i);
                started[i].start();
            }
        } catch (OutOfMemoryError none) { // what Java throws where the system has no thread left
            for (Walker walker : walkers)
                walker.cancel();
            gate.countDown();
            prepared = null;
            throw Refusal.failed("starting thread %d of %d: %s", i + 1, started.length, none.getMessage());
        }
        return started;
    }

    private void await(CountDownLatch ended, Thread[] started, Phase phase) throws Refusal {
        try {
            while (!ended.await(LOOK_MS, TimeUnit.MILLISECONDS))
                if (telemetry != null)
                    telemetry.tell(phase.counters.header);
            for (Thread thread : started)
                thread.join();
        } catch (InterruptedException e) {
            throw Refusal.failed("waiting for the threads was interrupted");
        }
    }

    private JsonObject runtime(Telemetry.Totals before) {
        Map<String, Object> runtime = new Telemetry.Totals().since(before);
        long allocated = 0;
        for (Walker walker : walkers)
            allocated += walker.allocatedBytes;
        runtime.put("alloc_bytes", allocated);
        if (telemetry != null)
            telemetry.addTo(runtime);
        return new JsonObject(runtime);
    }

    private JsonObject inspect() {
        JsonObject result = new JsonObject();
        result.put("stats", new JsonObject(Telemetry.all(store)));
        result.put("busy", false);
        result.put("settings", settings());
        return result;
    }

    /** The store's and the JVM's, which decides as much. */
    private JsonObject settings() {
        JsonObject all = new JsonObject(store.settings());
        all.putAll(Jvm.SETTINGS);
        return all;
    }

    private JsonObject sync() throws Refusal {
        if (!(store instanceof Store.Sync))
            throw Refusal.refused("%s has no sync", driverName());
        try {
            ((Store.Sync) store).sync();
        } catch (Throwable thrown) {
            throw Refusal.of(driverName(), thrown);
        }
        return new JsonObject();
    }

    /** Closes the store that is open; what it prepared and defined is forgotten, also where closing fails. */
    private JsonObject close() throws Refusal {
        Refusal first = null;
        try {
            handles.close();
        } catch (Throwable thrown) {
            first = Refusal.of("closing a handle", thrown);
        }
        try {
            store.close();
        } catch (Throwable thrown) {
            first = first == null ? Refusal.of("closing the store", thrown) : first;
        }
        driver = null;
        store = null;
        handles = null;
        definition = null;
        prepared = null;
        walkers = null;
        telemetry = null;
        phases = new Phase[phases.length];
        if (first != null)
            throw first;
        return new JsonObject();
    }
}
