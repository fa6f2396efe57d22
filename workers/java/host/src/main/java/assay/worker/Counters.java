package assay.worker;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;

/** Section 3: the counters file. */
final class Counters {
    static final int HEADER_BYTES = 4096;
    static final int FORMAT_VERSION = 4;
    static final int SUB_BUCKET_BITS = 7;
    static final int BUCKETS = 4608;
    static final int VALUE_BITS = 42;
    static final int ERROR_PLACES = 8;
    static final int STATS_MAX = 128;
    private static final int ERROR_BYTES = 256;
    private static final int ERROR_TEXT_AT = 20;
    private static final long MAGIC = 0x544e435941535341L; // "ASSAYCNT"

    // the header
    static final int STATE = 1024;
    static final int START = 1032;
    static final int END = 1040;
    static final int CLOCK = 1048;
    static final int CLOCK_DIFFERENCE = 1056;
    static final int STOP = 2048;
    static final int ROUNDS = 3064;
    static final int STATS = 3072;
    static final long CLOCK_MONOTONIC = 2;
    static final long RUNNING = 1;
    static final long ENDED = 2;

    // a thread's block
    static final int ATTEMPTED = 0;
    static final int ACKNOWLEDGED = 8;
    static final int NOW = 16;
    static final int THREAD_STATE = 24;
    static final int HANDLE_WAIT = 32;
    static final int HANDLES_OPENED = 40;
    static final int LATENESS_MAX = 48;
    static final int LATE = 56;
    static final int LATE_WORDS = 25;
    static final int THREAD_BYTES = 256;

    // a slot
    static final int BYTES_WRITTEN = 56;
    static final int BYTES_READ = 64;
    static final int ITEMS = 72;
    static final int SERVICE_MAX = 80;
    static final int FOREIGN = 88;
    static final int SORT_SUM = 96;
    static final int SERVICE = 128;
    static final int RESPONSE = SERVICE + 8 * BUCKETS;

    // outcomes: positions of words in a slot
    static final int OK = 0;
    static final int MISS = 1;
    static final int LOST = 2;
    static final int CONFLICT = 3;
    static final int WRONG = 4;
    static final int ERROR = 5;
    static final int TIMEOUT = 6;

    // words of section 5
    static final long OBSERVED_MISS = -1;
    static final long OBSERVED_WRONG = -2;
    static final long OBSERVED_ERROR = -3;
    static final long OBSERVED_NOT_READ = -4;
    static final long OBSERVED_SHORT = -5;
    static final long OBSERVED_FOREIGN = -6;

    /** Where everything lies in a file of some shape. */
    static final class Layout {
        final int slots;
        final int slotBytes;
        final boolean handleTimes;
        final int threadBytes;
        final long observedAt;
        final long fileBytes;

        Layout(int threads, int slots, boolean response, boolean handleTimes, boolean observed, long observedEntries) {
            this.slots = slots;
            slotBytes = SERVICE + 8 * BUCKETS * (response ? 2 : 1);
            this.handleTimes = handleTimes;
            threadBytes = handleTimesAt() + (handleTimes ? 8 * BUCKETS : 0) + 127 & ~127;
            long end = threadAt(threads);
            observedAt = observed ? end : 0;
            fileBytes = end + 8 * observedEntries;
        }

        long threadAt(int thread) {
            return HEADER_BYTES + (long) thread * threadBytes;
        }

        /** Within the thread's block. */
        int slotAt(int slot) {
            return THREAD_BYTES + slot * slotBytes;
        }

        /** Of the times from a thread's asking for a handle until it had one, if they are counted. */
        int handleTimesAt() {
            return errorPlaceAt(ERROR_PLACES);
        }

        int errorPlaceAt(int place) {
            return slotAt(slots) + place * ERROR_BYTES;
        }
    }

    final Layout layout;
    final ByteBuffer header;
    final ByteBuffer[] thread;
    final ByteBuffer[] observed; // null: not a verify phase

    static Counters map(String path, Trace trace) throws Refusal {
        try (FileChannel file = FileChannel.open(Path.of(path), StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return new Counters(file, trace);
        } catch (IOException e) {
            throw Refusal.badRequest("opening the counters file: %s", Messages.of(e));
        }
    }

    private Counters(FileChannel file, Trace trace) throws IOException, Refusal {
        boolean verify = trace.has(Trace.FLAG_RECORD_VERSIONS);
        long entries = 0;
        for (Trace.Part part : trace.parts)
            entries += verify ? part.count : 0;
        layout = new Layout(trace.threads, trace.operations.length, trace.has(Trace.FLAG_DUE), trace.has(Trace.FLAG_HANDLE_TIMES), verify, entries);
        if (file.size() != layout.fileBytes)
            throw Refusal.badRequest("the counters file has another length than its trace needs");
        header = file.map(FileChannel.MapMode.READ_WRITE, 0, HEADER_BYTES).order(java.nio.ByteOrder.LITTLE_ENDIAN);
        checkHeader(trace);
        thread = new ByteBuffer[trace.threads];
        observed = verify ? new ByteBuffer[trace.threads] : null;
        long at = layout.observedAt;
        for (int i = 0; i < thread.length; i++) {
            thread[i] = Words.map(file, true, layout.threadAt(i), layout.threadBytes);
            if (verify && trace.parts[i].count > 0)
                observed[i] = Words.map(file, true, at, 8L * trace.parts[i].count);
            at += 8L * trace.parts[i].count;
        }
    }

    private void expect(String name, long got, long expected) throws Refusal {
        if (got != expected)
            throw Refusal.badRequest("the counters file's %s is %d, expected %d", name, got, expected);
    }

    private void checkHeader(Trace trace) throws Refusal {
        if (header.getLong(0) != MAGIC)
            throw Refusal.badRequest("the counters file does not begin with ASSAYCNT");
        expect("format version", header.getInt(8), FORMAT_VERSION);
        expect("header bytes", header.getInt(12), HEADER_BYTES);
        expect("threads", header.getInt(16), trace.threads);
        expect("slots", header.getInt(20), trace.operations.length);
        expect("thread bytes", header.getLong(24), layout.threadBytes);
        expect("histogram bits", header.getInt(32), SUB_BUCKET_BITS);
        expect("histogram buckets", header.getInt(36), BUCKETS);
        expect("error places", header.getInt(40), ERROR_PLACES);
        expect("flags", header.getInt(44), (trace.has(Trace.FLAG_DUE) ? 1 : 0) | (layout.handleTimes ? 2 : 0));
        expect("offset of the observed versions", header.getLong(48), layout.observedAt);
        for (int k = 0; k < trace.operations.length; k++) {
            expect("operation of slot " + k, header.get(Trace.SLOTS_AT + k) & 0xff, trace.operations[k]);
            expect("query of slot " + k, header.get(Trace.SLOTS_AT + Trace.SLOTS_MAX + k) & 0xff, trace.queries[k]);
        }
    }

    /** The histogram bucket of a time, of which a negative one is a large unsigned number. */
    static int bucket(long ns) {
        if (ns >>> SUB_BUCKET_BITS == 0)
            return (int) ns;
        if (ns >>> VALUE_BITS != 0)
            ns = (1L << VALUE_BITS) - 1;
        int shift = 63 - Long.numberOfLeadingZeros(ns) - SUB_BUCKET_BITS;
        return (shift + 1 << SUB_BUCKET_BITS) + (int) (ns >>> shift) - (1 << SUB_BUCKET_BITS);
    }

    /** Counts a message in a thread's places. Only that thread calls it. */
    void message(int number, int operation, int outcome, String text) {
        ByteBuffer block = thread[number];
        byte[] clean = cut(text);
        for (int i = 0; i < ERROR_PLACES; i++) {
            int at = layout.errorPlaceAt(i);
            boolean last = i == ERROR_PLACES - 1;
            long count = block.getLong(at);
            if (count == 0) {
                if (last)
                    clean = cut("other messages");
                block.putInt(at + 8, operation);
                block.putInt(at + 12, outcome);
                block.putInt(at + 16, clean.length);
                block.put(at + ERROR_TEXT_AT, clean);
                Words.store(block, at, 1); // last: a reader that sees the count sees the text
                return;
            }
            byte[] there = new byte[block.getInt(at + 16)];
            block.get(at + ERROR_TEXT_AT, there);
            boolean same = block.getInt(at + 8) == operation && block.getInt(at + 12) == outcome && Arrays.equals(there, clean);
            if (same || last) {
                Words.store(block, at, count + 1);
                return;
            }
        }
    }

    /** As UTF-8, of the length that a place has room for, and no character cut in two. */
    private static byte[] cut(String text) {
        try {
            ByteBuffer room = ByteBuffer.allocate(ERROR_BYTES - ERROR_TEXT_AT);
            StandardCharsets.UTF_8.newEncoder().onMalformedInput(java.nio.charset.CodingErrorAction.REPLACE)
                    .encode(java.nio.CharBuffer.wrap(text), room, true);
            return Arrays.copyOf(room.array(), room.position());
        } catch (IllegalStateException e) {
            throw new AssertionError(e);
        }
    }
}
