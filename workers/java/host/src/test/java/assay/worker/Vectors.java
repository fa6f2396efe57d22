package assay.worker;

import assay.driver.Bytes;
import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import com.grack.nanojson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Holds the host's code against the vectors of the worker contract: {@code Vectors FOLDER [FILE…]} prints how
 * many values were held against each file, and ends with status 1 if one is wrong.
 */
final class Vectors {
    private static final HexFormat HEX = HexFormat.of();

    private static String file;
    private static int checked;
    private static boolean wrong;

    private interface Check {
        void run(Object content) throws Exception;
    }

    private Vectors() {}

    private static void expect(boolean right, String what, long position) {
        checked++;
        if (right)
            return;
        wrong = true;
        System.out.printf("%s: %s, number %d, is wrong%n", file, what, position);
    }

    private static long word(Object text) {
        return Long.parseUnsignedLong((String) text, 16);
    }

    private static long word(JsonObject object, String name) {
        return word(object.getString(name));
    }

    private static Iterable<JsonObject> objects(Object list) {
        return () -> ((JsonArray) list).stream().map(JsonObject.class::cast).iterator();
    }

    private static boolean same(Object hex, byte[] data, int length) {
        byte[] expected = HEX.parseHex((String) hex);
        return Arrays.equals(expected, 0, expected.length, data, 0, length);
    }

    private static boolean sameDigest(Object hex, byte[] data) throws Exception {
        return Arrays.equals(HEX.parseHex((String) hex), MessageDigest.getInstance("SHA-256").digest(data));
    }

    private static void mix(Object list) {
        for (JsonObject o : objects(list)) {
            expect(Mix.mix(word(o, "x")) == word(o, "mix"), "mix", checked);
            expect(Mix.ycsbHash(word(o, "x")) == word(o, "ycsb_hash"), "ycsb_hash", checked);
        }
    }

    private static void keys(Object list) throws Refusal {
        for (JsonObject o : objects(list)) {
            KeyShape shape = new KeyShape(new Fields("shape", o.getObject("shape")));
            byte[] key = new byte[shape.bytesMax() + 8];
            for (JsonObject each : objects(o.getArray("keys")))
                expect(same(each.getString("key"), key, shape.write(word(each, "index"), key)), "key", checked);
        }
    }

    /** The vectors have seeds in hexadecimal, messages have numbers. */
    private static ValuePool pool(JsonObject object) throws Refusal {
        JsonObject shape = new JsonObject(object.getObject("shape"));
        shape.put("pool_seed", new java.math.BigInteger(shape.getString("pool_seed"), 16));
        return new ValuePool(new Fields("shape", shape));
    }

    private static void pools(Object list) throws Exception {
        for (JsonObject o : objects(list)) {
            ValuePool pool = pool(o);
            expect(pool.bytes.length == o.getInt("bytes"), "length of the pool", checked);
            expect(sameDigest(o.getString("sha256"), pool.bytes), "digest of the pool", checked);
            for (JsonObject block : objects(o.getArray("blocks"))) {
                int at = 64 * block.getInt("block");
                expect(same(block.getString("bytes"), Arrays.copyOfRange(pool.bytes, at, at + 64), 64), "block", checked);
            }
        }
    }

    private static void values(Object list) throws Exception {
        for (JsonObject o : objects(list)) {
            ValuePool pool = pool(o);
            for (JsonObject each : objects(o.getArray("values"))) {
                byte[] value = new byte[each.getInt("length")];
                long index = word(each, "index"), version = word(each, "version");
                pool.write(value, 0, value.length, index, version);
                expect(same(each.getString("first"), value, Math.min(64, value.length)), "first bytes of a value", checked);
                expect(sameDigest(each.getString("sha256"), value), "digest of a value", checked);
                Bytes read = new Bytes();
                read.set(value);
                boolean proves = value.length >= ValuePool.STAMP_BYTES;
                expect(pool.isRight(read, index) && (!proves || ValuePool.version(read) == version), "check of a value that was made", checked);
            }
        }
    }

    private static void shortValues(Object list) {
        for (JsonObject o : objects(list)) {
            JsonArray values = o.getArray("values");
            int tag = (int) o.getLong("trial_tag");
            for (int length = 0; length < values.size(); length++) {
                byte[] value = new byte[length];
                ValuePool.writeShort(tag, value, 0, length, word(o, "index"));
                Bytes read = new Bytes();
                read.set(value);
                expect(same(values.getString(length), value, length), "short value", length);
                expect(ValuePool.isShort(tag, read, word(o, "index")), "check of a short value", length);
            }
        }
    }

    private static void checks(Object content) throws Exception {
        ValuePool pool = pool((JsonObject) content);
        for (JsonObject o : objects(((JsonObject) content).getArray("values"))) {
            Bytes value = new Bytes();
            value.set(HEX.parseHex(o.getString("value")));
            boolean right = o.getBoolean("right");
            expect(pool.isRight(value, word(o, "index")) == right, o.getString("name", "a value"), checked);
            expect(pool.isOfOtherTrial(value, word(o, "index")) == o.getBoolean("other_trial"), "of another trial", checked);
            if (right)
                expect(ValuePool.version(value) == word(o, "version"), "version of a value", checked);
        }
    }

    private static void versions(Object list) {
        for (JsonObject o : objects(list)) {
            long version = o.getLong("phase") << 56 | o.getLong("thread") << 40 | o.getLong("sequence");
            expect(version == word(o, "version"), "version", checked);
        }
    }

    private static void buckets(Object list) {
        for (JsonObject o : objects(list))
            expect(Counters.bucket(word(o, "value")) == o.getInt("bucket"), "bucket", checked);
    }

    private static void counters(Object list) {
        for (JsonObject o : objects(list)) {
            int threads = o.getInt("threads"), slots = o.getInt("slots");
            long observed = o.getLong("observed_entries");
            Counters.Layout layout = new Counters.Layout(threads, slots, o.getBoolean("response"), o.getBoolean("handle_times"), observed > 0, observed);
            expect(layout.fileBytes == o.getLong("file_bytes"), "length of the file", checked);
            expect(layout.slotBytes == o.getInt("slot_bytes"), "length of a slot", checked);
            expect(layout.threadBytes == o.getInt("thread_bytes"), "length of a thread's block", checked);
            expect(layout.observedAt == o.getLong("observed_offset"), "place of the observed versions", checked);
            for (int t = 0; t < threads; t++) {
                long at = layout.threadAt(t);
                expect(at == o.getArray("thread_offsets").getLong(t), "thread", t);
                if (layout.handleTimes)
                    expect(at + layout.handleTimesAt() == o.getArray("handle_times_offsets").getLong(t), "handle times", t);
                for (int k = 0; k < slots; k++)
                    expect(at + layout.slotAt(k) == o.getArray("slot_offsets").getArray(t).getLong(k), "slot", k);
                for (int p = 0; p < Counters.ERROR_PLACES; p++)
                    expect(at + layout.errorPlaceAt(p) == o.getArray("error_place_offsets").getArray(t).getLong(p), "error place", p);
            }
        }
    }

    /** Spreads the blocks of a vector's file over as many bytes as it says. */
    private static byte[] fileOf(JsonObject o) {
        byte[] data = new byte[o.getInt("bytes")];
        o.getObject("file").forEach((offset, hex) -> {
            byte[] block = HEX.parseHex((String) hex);
            System.arraycopy(block, 0, data, Integer.parseInt(offset), Math.min(block.length, data.length - Integer.parseInt(offset)));
        });
        return data;
    }

    private static Trace traceOf(Path path, byte[] data) throws IOException {
        Files.write(path, data);
        try {
            return Trace.map(path.toString());
        } catch (Refusal refusal) {
            return null;
        }
    }

    private static void traces(Object list) throws Exception {
        Path path = Files.createTempFile("assay-vectors", "");
        for (JsonObject o : objects(list)) {
            byte[] data = fileOf(o);
            expect(sameDigest(o.getString("sha256"), data), "digest of the file", checked);
            Trace trace = traceOf(path, data);
            expect(trace != null, "trace", checked);
            if (trace == null)
                continue;
            JsonObject expected = o.getObject("trace");
            expect(trace.flags == expected.getInt("flags") && trace.groups == expected.getInt("groups"), "flags and groups", checked);
            JsonArray operations = expected.getArray("operations"), queries = expected.getArray("queries"), amounts = expected.getArray("amounts"), threads = expected.getArray("threads");
            expect(trace.operations.length == operations.size(), "operations", checked);
            for (int k = 0; k < trace.operations.length; k++)
                expect(trace.operations[k] == operations.getInt(k) && trace.queries[k] == queries.getInt(k)
                        && trace.slot[trace.operations[k]] == operations.indexOf(operations.get(k)), "slot", k);
            for (int k = 0; k < amounts.size(); k++)
                expect(trace.amounts[k] == amounts.getInt(k), "amount", k);
            expect(trace.threads == threads.size(), "threads", checked);
            for (int t = 0; t < trace.threads; t++)
                part(trace, t, threads.getObject(t), o.getArray("effective_indexes").getArray(t));
            for (int at = 0; at < data.length; at += 61) { // any damage is seen, or was in bytes that say nothing
                data[at] ^= 0x5a;
                boolean silent = at >= 40 && at < 48 || at >= 56 && at < 64 || at >= Trace.SLOTS_AT + trace.operations.length && at < Trace.SLOTS_AT + Trace.SLOTS_MAX
                        || at >= Trace.SLOTS_AT + Trace.SLOTS_MAX + trace.operations.length && at < Trace.HEADER_BYTES;
                expect(silent || traceOf(path, data) == null, "damage of a byte", at);
                data[at] ^= 0x5a;
            }
        }
        Files.delete(path);
    }

    private static void part(Trace trace, int number, JsonObject expected, JsonArray effective) {
        Trace.Part part = trace.parts[number];
        JsonArray entries = expected.getArray("entries"), due = expected.getArray("due");
        expect(part.count == entries.size() && part.stride == expected.getLong("stride") && part.limit == expected.getLong("limit")
                && part.lapNs == expected.getLong("lap_ns") && part.fromNs == expected.getLong("from_ns")
                && part.untilNs == expected.getLong("until_ns") && part.group == expected.getInt("group")
                && part.endpoint == expected.getInt("endpoint"), "a thread's directory entry", number);
        expect((part.due != null) == (due != null && !due.isEmpty()), "due times", number);
        for (int p = 0; p < part.count; p++) {
            expect(part.entry(p) == word(entries.get(p)), "entry", p);
            if (part.due != null)
                expect(part.dueAt(p) == due.getLong(p), "due time", p);
        }
        for (int sequence = 0; sequence < effective.size(); sequence++) {
            long entry = part.entry(sequence % part.count), index = word(effective.get(sequence));
            expect(Trace.effectiveIndex(entry, sequence / part.count, part.stride) == index, "effective index", sequence);
            int length = trace.amount(entry);
            boolean did = Operation.writes(Operation.of(entry)) && (part.limit == 0 || sequence < part.limit);
            expect(trace.wrote(number, sequence, index, length) == did, "who wrote what", sequence);
            expect(!trace.wrote(number, sequence, index + 1, length), "who wrote another index", sequence);
            expect(!trace.wrote(number, sequence, index, length + 1), "who wrote another length", sequence);
        }
    }

    private static void records(Object list) throws Exception {
        for (JsonObject o : objects(list)) {
            ValuePool pool = pool(o);
            JsonObject define = new JsonObject();
            define.put("columns", o.getArray("columns"));
            RecordShape shape = new Definition(new Fields("define", define)).record;
            byte[] made = new byte[shape.bytesMax + 8], scratch = new byte[Column.COLUMN_BYTES_MAX + 8];
            Bytes record = new Bytes(), room = new Bytes();
            for (JsonObject each : objects(o.getArray("records"))) {
                long index = word(each, "index"), version = word(each, "version");
                record.set(made, 0, shape.write(pool, made, 0, index, version));
                expect(record.length <= shape.bytesMax && same(each.getString("record"), made, record.length), "record", checked);
                expect(shape.isRight(pool, record, index, scratch, room), "check of a record that was made", checked);
                expect(shape.version(record, room) == (shape.proof >= 0 ? version : 0), "version of a record", checked);
                expect((shape.proof < 0 && shape.leadsBack < 0) || shape.indexOf(record, room) == index, "the index that a record leads back to", checked);
            }
            for (JsonObject each : objects(o.getArray("checks"))) {
                record.set(HEX.parseHex(each.getString("record")));
                boolean right = each.getBoolean("right");
                expect(shape.isRight(pool, record, word(each, "index"), scratch, room) == right
                        && (!right || shape.version(record, room) == word(each, "version")), each.getString("name"), checked);
            }
        }
    }

    private static void history(Object list) throws Exception {
        Path path = Files.createTempFile("assay-vectors", "");
        for (JsonObject o : objects(list)) {
            byte[] expected = fileOf(o);
            Files.write(path, Arrays.copyOf(Arrays.copyOf(expected, History.HEADER_BYTES), expected.length));
            JsonArray threads = o.getArray("threads");
            History history = History.map(path.toString(), threads.size());
            expect(history.each == o.getInt("records_each"), "room for records", checked);
            for (int t = 0; t < threads.size(); t++) {
                expect(History.threadAt(t, history.each) == o.getArray("thread_offsets").getLong(t), "area", t);
                for (JsonObject r : objects(threads.getObject(t).getArray("records")))
                    history.append(t, r.getLong("begin_ns"), r.getLong("end_ns"), r.getLong("sequence") | r.getLong("outcome") << 40, word(r, "read"));
                for (long dropped = threads.getObject(t).getLong("dropped"); dropped > 0; dropped--)
                    history.append(t, 0, 0, 0, 1);
            }
            expect(Arrays.equals(Files.readAllBytes(path), expected), "bytes of a history file", checked);
            for (int at = 0; at < 40; at++) { // any damage of the header is seen
                expected[at] ^= 0x5a;
                Files.write(path, expected);
                boolean seen = false;
                try {
                    History.map(path.toString(), threads.size());
                } catch (Refusal refusal) {
                    seen = true;
                }
                expect(seen, "damage of a history file's header", at);
                expected[at] ^= 0x5a;
            }
        }
        Files.delete(path);
    }

    private static void check(Path folder, String name, Check check) throws Exception {
        file = name;
        checked = 0;
        check.run(JsonParser.any().from(Files.readString(folder.resolve(name + ".json"))));
        System.out.println(name + " " + checked);
    }

    /** Arguments: the folder, and the files in it that are checked; none: all. */
    public static void main(String[] arguments) throws Exception {
        Map<String, Check> checks = new LinkedHashMap<>();
        checks.put("mix", Vectors::mix);
        checks.put("keys", Vectors::keys);
        checks.put("pool", Vectors::pools);
        checks.put("values", Vectors::values);
        checks.put("short_values", Vectors::shortValues);
        checks.put("checks", Vectors::checks);
        checks.put("versions", Vectors::versions);
        checks.put("traces", Vectors::traces);
        checks.put("counters", Vectors::counters);
        checks.put("buckets", Vectors::buckets);
        checks.put("records", Vectors::records);
        checks.put("history", Vectors::history);
        if (arguments.length > 1)
            checks.keySet().retainAll(Arrays.asList(arguments));
        for (Map.Entry<String, Check> each : checks.entrySet())
            check(Path.of(arguments[0]), each.getKey(), each.getValue());
        System.exit(wrong ? 1 : 0);
    }
}
