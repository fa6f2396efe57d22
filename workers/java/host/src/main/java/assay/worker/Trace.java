package assay.worker;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Section 2: a trace file, mapped and checked. Each thread's entries are a mapping of their own. */
final class Trace {
    static final int HEADER_BYTES = 4096;
    static final int DIRECTORY_BYTES = 128;
    static final int AMOUNTS_AT = 1024;
    static final int SLOTS_AT = 64; // their operations, and then their queries
    static final int SLOTS_MAX = 256;
    static final int THREADS_MAX = 65535;
    static final int FLAG_DUE = 1;
    static final int FLAG_RECORD_VERSIONS = 2;
    static final int FLAG_HISTORY = 4;
    static final int FLAG_HANDLE_TIMES = 8;
    static final int FLAG_FINDS = 32;
    private static final int FORMAT_VERSION = 3;
    private static final int FLAGS = FLAG_DUE | FLAG_RECORD_VERSIONS | FLAG_HISTORY | FLAG_HANDLE_TIMES | FLAG_FINDS;
    private static final long TIME_MAX = 1L << 62;
    private static final long MAGIC = 0x4352545941535341L; // "ASSAYTRC"

    /** A thread's part. */
    static final class Part {
        ByteBuffer entries;
        ByteBuffer due; // null: closed load
        int count;
        long stride;
        long lapNs;
        long limit; // entries in all; 0: until the deadline
        long fromNs;
        long untilNs;
        int group;
        int endpoint;

        long entry(int position) {
            return entries.getLong(position << 3);
        }

        long dueAt(int position) {
            return due.getLong(position << 3);
        }

        boolean hasRequests() {
            return count > 0 && Operation.of(entry(count - 1)) == Operation.REQUEST;
        }
    }

    final int threads;
    final int flags;
    final int groups;
    final int[] operations; // of each slot of the counters
    final int[] queries; // of each slot: the query that it asks; 0 where it asks none
    final int[] slot = new int[Operation.CODES]; // the first one of an operation; -1: does not occur
    final int[] amounts = new int[256];
    final Part[] parts;

    private final long length;

    static Trace map(String path) throws Refusal {
        try (FileChannel file = FileChannel.open(Path.of(path), StandardOpenOption.READ)) {
            return new Trace(file);
        } catch (IOException e) {
            throw Refusal.badRequest("opening the trace: %s", Messages.of(e));
        }
    }

    private Trace(FileChannel file) throws IOException, Refusal {
        length = file.size();
        if (length < HEADER_BYTES)
            throw wrong("not a trace file: it is shorter than a header");
        ByteBuffer header = Words.map(file, false, 0, HEADER_BYTES);
        if (header.getLong(0) != MAGIC)
            throw wrong("not a trace file: it does not begin with ASSAYTRC");
        if (header.getInt(8) != FORMAT_VERSION)
            throw wrong("trace format version %d, this program reads %d", header.getInt(8), FORMAT_VERSION);
        if (header.getInt(12) != HEADER_BYTES)
            throw wrong("trace header of %d bytes, expected %d", header.getInt(12), HEADER_BYTES);
        if (header.getLong(24) != length)
            throw wrong("the trace's length is not what its header says: it is cut short or damaged");
        threads = header.getInt(16);
        flags = header.getInt(20);
        groups = header.getInt(32);
        if (threads < 1 || threads > THREADS_MAX)
            throw wrong("trace of %d threads: expected 1 to %d", threads, THREADS_MAX);
        if (header.getInt(36) < 0 || header.getInt(36) > SLOTS_MAX)
            throw wrong("trace of %d slots: expected at most %d", header.getInt(36), SLOTS_MAX);
        operations = new int[header.getInt(36)];
        queries = new int[operations.length];
        if ((flags & ~FLAGS) != 0)
            throw wrong("trace has flags %#x, of which this program does not know all", flags);
        if (has(FLAG_RECORD_VERSIONS) && has(FLAG_HISTORY))
            throw wrong("a trace that records observed versions has no history");
        if (has(FLAG_FINDS) && !has(FLAG_HISTORY))
            throw wrong("what scans and queries found is recorded in a history, and the trace has no flag for one");
        if (groups < 1)
            throw wrong("a trace has at least one client group");
        if (HEADER_BYTES + (long) DIRECTORY_BYTES * threads > length)
            throw wrong("trace is too short for the directory of %d threads", threads);
        if (header.getLong(48) != checksum(file))
            throw wrong("trace checksum is wrong: the file is damaged");
        readSlots(header);
        for (int i = 0; i < amounts.length; i++)
            amounts[i] = header.getInt(AMOUNTS_AT + 4 * i);
        parts = new Part[threads];
        for (int i = 0; i < threads; i++)
            parts[i] = readPart(file, i);
    }

    boolean has(int flag) {
        return (flags & flag) != 0;
    }

    private static Refusal wrong(String format, Object... arguments) {
        return Refusal.badRequest(format, arguments);
    }

    /** FNV-1a 64 over all behind the header. */
    private long checksum(FileChannel file) throws IOException {
        long h = 0xcbf29ce484222325L;
        for (long at = HEADER_BYTES; at < length; ) {
            int part = (int) Math.min(1 << 30, length - at);
            ByteBuffer bytes = Words.map(file, false, at, part).order(ByteOrder.LITTLE_ENDIAN);
            for (int i = 0; i < part; i++)
                h = (h ^ bytes.get(i) & 0xff) * 1099511628211L;
            at += part;
        }
        return h;
    }

    private void readSlots(ByteBuffer header) throws Refusal {
        java.util.Arrays.fill(slot, -1);
        for (int k = 0; k < operations.length; k++) {
            int code = operations[k] = header.get(SLOTS_AT + k) & 0xff;
            int query = queries[k] = header.get(SLOTS_AT + SLOTS_MAX + k) & 0xff;
            if (code < 1 || code >= Operation.END)
                throw wrong("trace uses operation %d, which this program does not know", code);
            if (query != 0 && !Operation.asks(code))
                throw wrong("trace says that %s asks query %d", Operation.name(code), query);
            if (k > 0 && (code < operations[k - 1] || code == operations[k - 1] && query <= queries[k - 1]))
                throw wrong("trace lists its operations out of order");
            if (slot[code] < 0)
                slot[code] = k;
        }
    }

    private ByteBuffer words(FileChannel file, long offset, long count, int number, String what) throws IOException, Refusal {
        if (offset < 0 || offset % 64 != 0 || offset < HEADER_BYTES + (long) DIRECTORY_BYTES * threads || offset > length
                || Long.compareUnsigned(count, (length - offset) / 8) > 0)
            throw wrong("trace, thread %d: its %s do not fit the file", number, what);
        return Words.map(file, false, offset, 8 * count);
    }

    private Part readPart(FileChannel file, int number) throws IOException, Refusal {
        ByteBuffer directory = Words.map(file, false, HEADER_BYTES + (long) DIRECTORY_BYTES * number, DIRECTORY_BYTES);
        Part part = new Part();
        long count = directory.getLong(8), due = directory.getLong(24);
        part.stride = directory.getLong(16);
        part.lapNs = directory.getLong(32);
        part.group = directory.getInt(40);
        part.endpoint = directory.getInt(44);
        part.limit = directory.getLong(48);
        part.fromNs = directory.getLong(56);
        part.untilNs = directory.getLong(64);
        if (count != 0)
            part.entries = words(file, directory.getLong(0), count, number, "entries");
        if (count != 0 && due != 0)
            part.due = words(file, due, count, number, "due times");
        part.count = (int) count;
        if ((part.untilNs != 0 && Long.compareUnsigned(part.untilNs, part.fromNs) <= 0)
                || Long.compareUnsigned(part.fromNs, TIME_MAX) > 0 || Long.compareUnsigned(part.untilNs, TIME_MAX) > 0)
            throw wrong("trace, thread %d: it is to end before it begins", number);
        if (Integer.compareUnsigned(part.group, groups) >= 0)
            throw wrong("trace, thread %d: client group %d of %d", number, part.group, groups);
        checkDue(part, number);
        checkEntries(part, number);
        if (slot[Operation.REQUEST] >= 0)
            checkRequests(part, number);
        return part;
    }

    private void checkDue(Part part, int number) throws Refusal {
        if (part.due == null)
            return;
        if (!has(FLAG_DUE))
            throw wrong("trace, thread %d: due times in a trace of closed load", number);
        for (int i = 1; i < part.count; i++)
            if (Long.compareUnsigned(part.dueAt(i), part.dueAt(i - 1)) < 0)
                throw wrong("trace, thread %d: due times do not ascend", number);
        if (Long.compareUnsigned(part.dueAt(part.count - 1) - part.dueAt(0), part.lapNs) > 0)
            throw wrong("trace, thread %d: due times span more than the lap time", number);
    }

    private boolean mayBeRecorded(long entry, boolean member, boolean batchRecorded) {
        int operation = Operation.of(entry);
        if (Operation.finds(operation))
            return has(FLAG_FINDS) && (entry & Operation.GROWS) == 0 && !member;
        return has(FLAG_HISTORY) && (entry & Operation.GROWS) == 0
                && (member ? batchRecorded : operation == Operation.BATCH || Operation.isAboutOneKey(operation));
    }

    private void checkEntries(Part part, int number) throws Refusal {
        long members = 0; // of the batch under way that are still to come
        boolean batchRecorded = false;
        for (int p = 0; p < part.count; p++) {
            long entry = part.entry(p);
            int operation = Operation.of(entry);
            boolean member = (entry & Operation.MEMBER) != 0;
            if (entry < 0 && !mayBeRecorded(entry, members > 0, batchRecorded))
                throw wrong("trace, thread %d: an entry is recorded that can't be", number);
            if (members > 0) {
                if (!member || operation < Operation.INSERT || operation > Operation.DELETE)
                    throw wrong("trace, thread %d: an entry should be a put or delete in a batch, is %s", number, Operation.name(operation));
                members--;
                continue;
            }
            if (member)
                throw wrong("trace, thread %d: a batch's member without a batch", number);
            if (slotOf(entry) < 0)
                throw wrong("trace, thread %d: operation %s, or its query, is not in the header's list", number, Operation.name(operation));
            batchRecorded = entry < 0;
            if (operation == Operation.BATCH && (members = amount(entry) & 0xffffffffL) == 0)
                throw wrong("trace, thread %d: a batch without members", number);
            if (has(FLAG_RECORD_VERSIONS) && operation != Operation.READ)
                throw wrong("trace, thread %d: a phase that records versions has only reads", number);
        }
        if (members > 0)
            throw wrong("trace, thread %d: the last batch crosses the end of the lap", number);
        int rest = part.count == 0 ? 0 : (int) Long.remainderUnsigned(part.limit, part.count);
        if (rest > 0 && (part.entry(rest) & Operation.MEMBER) != 0)
            throw wrong("trace, thread %d: its limit cuts a batch", number);
    }

    /** Each operation of the thread belongs to a request, or none does. */
    private void checkRequests(Part part, int number) throws Refusal {
        int steps = 0, requests = 0;
        for (int p = 0; p < part.count; p++) {
            long entry = part.entry(p);
            if (Operation.of(entry) != Operation.REQUEST) {
                steps++;
                continue;
            }
            if (steps == 0 || amount(entry) != steps)
                throw wrong("trace, thread %d: a request has not as many steps as it says", number);
            for (int i = p - steps; i < p; i++) {
                long step = part.entry(i);
                if ((step & Operation.MEMBER) != 0 || !Operation.isAboutOneKey(Operation.of(step)))
                    throw wrong("trace, thread %d: %s can't be a step of a request", number, Operation.name(Operation.of(step)));
                if (((step ^ entry) & (Operation.INDEX | Operation.GROWS)) != 0)
                    throw wrong("trace, thread %d: the steps of a request are on several keys", number);
            }
            steps = 0;
            requests++;
        }
        if (requests == 0)
            return;
        if (steps > 0)
            throw wrong("trace, thread %d: its last operations belong to no request", number);
        int rest = (int) Long.remainderUnsigned(part.limit, part.count);
        if (rest > 0 && Operation.of(part.entry(rest - 1)) != Operation.REQUEST)
            throw wrong("trace, thread %d: its limit cuts a request", number);
    }

    /** The slot that counts an entry; -1: the header does not list it. */
    int slotOf(long entry) {
        int operation = Operation.of(entry), k = slot[operation];
        if (k < 0 || !Operation.asks(operation))
            return k;
        for (; k < operations.length && operations[k] == operation; k++)
            if (queries[k] == amount(entry))
                return k;
        return -1;
    }

    int amount(long entry) {
        return amounts[Operation.sizeClass(entry)];
    }

    /** All entries, for what is checked of each; members of batches too. */
    interface Visitor {
        void visit(long entry) throws Refusal;
    }

    void each(Visitor visitor) throws Refusal {
        for (Part part : parts)
            for (int p = 0; p < part.count; p++)
                visitor.visit(part.entry(p));
    }

    static long effectiveIndex(long entry, long lap, long stride) {
        return (entry & Operation.INDEX) + ((entry & Operation.GROWS) != 0 ? lap * stride : 0);
    }

    /** Step 3 of section 1.4: is the entry at that place a write of this index, and of this length where it is not negative? */
    boolean wrote(int thread, long sequence, long index, int length) {
        if (thread >= threads || parts[thread].count == 0)
            return false;
        Part part = parts[thread];
        if (part.limit != 0 && Long.compareUnsigned(sequence, part.limit) >= 0)
            return false;
        long entry = part.entry((int) (sequence % part.count));
        return Operation.writes(Operation.of(entry)) && effectiveIndex(entry, sequence / part.count, part.stride) == index
                && (length < 0 || amount(entry) == length);
    }
}
