package assay.worker;

import assay.driver.Bytes;
import assay.driver.Handle;
import assay.driver.Status;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * The measured loop: a thread walks its part of the trace. Nothing in it is shared with another
 * thread but read-only memory, and nothing is allocated once it runs, but for messages.
 *
 * <p>The clock is read once an operation: each end is the next one's start. So an operation's time
 * includes making its key and value and counting the one before, which is what the null driver's rate
 * bounds. Where the worker did something else in between (checked a value, waited for a handle or a
 * due time), the clock is read again.
 */
final class Walker implements Runnable {
    /** Below it the processor is not given up: that takes longer than many a store's operation. */
    private static final long ALONE_BELOW_NS = 5_000;
    private static final long SLEEP_NS_MAX = 50_000_000;
    private static final long WORD_BEGINS = 128; // ns: the first word of dispatch lateness

    private final Phase phase;
    private final int number;
    private final Trace.Part part;
    private final Handles handles;
    private final Checker checker;
    private final ByteBuffer block;
    private final ByteBuffer header;
    private final ByteBuffer observed; // one word an entry, in a verify phase; else null
    private final int[] slotAt = new int[Operation.CODES];
    private final long versions; // phase and thread of the versions that this thread writes
    private final boolean keepsHandle;
    private final boolean open; // load, with due times
    private final boolean verify;

    private final Bytes key;
    private final Bytes value;
    private final Bytes got = new Bytes();
    private final Bytes old;
    private final ScanCheck scan;
    private Handle.Write[] puts = {};
    private Handle.Write[] deletes = {};
    private byte[] arena = {};
    private final List<Handle.Write> writes = new ArrayList<>();

    private final Waiter waiter;
    private Handle handle; // null: one is taken for each operation
    private long startNs;
    private long deadline;
    private CountDownLatch gate;
    private CountDownLatch ended;
    private volatile boolean cancelled;

    // where it stands
    private long entry;
    private int position;
    private long lap;
    private long sequence;
    private long index;
    private int slot;
    private long limit;
    private long last;
    private long lastEnd; // of the operation before, for lateness

    // how the operation ended
    private long now;
    private boolean looked; // did more after `now` than counting, so that the next operation must not begin there
    private boolean watching;
    private long saw;
    private final FindState find; // null: what scans found is not recorded
    long allocatedBytes;

    Walker(Phase phase, Phase[] phases, Handles handles, boolean storesNothing, int number) {
        this.phase = phase;
        this.number = number;
        this.handles = handles;
        part = phase.trace.parts[number];
        waiter = new Waiter(phase.trace.parts.length);
        block = phase.counters.thread[number];
        header = phase.counters.header;
        observed = phase.counters.observed == null ? null : phase.counters.observed[number];
        handle = handles.of(number);
        keepsHandle = handle != null;
        open = part.due != null;
        verify = phase.verify;
        versions = (long) phase.number << 56 | (long) number << 40;
        watching = observed != null;
        int[] operations = phase.trace.operations;
        for (int k = 0; k < operations.length; k++)
            slotAt[operations[k]] = phase.counters.layout.slotAt(k);
        checker = new Checker(phase, phases, storesNothing);
        key = new Bytes(phase.keys.bytesMax() + 8);
        value = new Bytes(phase.valueBytesMax + 8);
        old = new Bytes(phase.valueBytesMax);
        find = phase.trace.has(Trace.FLAG_FINDS) ? new FindState(phase, part) : null;
        scan = new ScanCheck(checker, phase, find);
        makeBatch();
    }

    private int valueLength(long entry) {
        return phase.record != null ? phase.record.bytesMax : phase.trace.amount(entry);
    }

    /** Makes room for the trace's largest batch. */
    private void makeBatch() {
        int membersMax = 0, bytesMax = 0;
        for (int p = 0; p < part.count; p++) {
            long head = part.entry(p);
            if (Operation.of(head) != Operation.BATCH || (head & Operation.MEMBER) != 0)
                continue;
            int members = phase.trace.amount(head), bytes = 0;
            for (int i = 1; i <= members; i++)
                if (Operation.puts(Operation.of(part.entry(p + i))))
                    bytes += valueLength(part.entry(p + i));
            membersMax = Math.max(membersMax, members);
            bytesMax = Math.max(bytesMax, bytes);
        }
        puts = new Handle.Write[membersMax];
        deletes = new Handle.Write[membersMax];
        arena = new byte[bytesMax + 8];
        for (int i = 0; i < membersMax; i++) {
            Bytes room = new Bytes(phase.keys.bytesMax() + 8);
            puts[i] = new Handle.Write(room, new Bytes());
            deletes[i] = new Handle.Write(room, null);
        }
        ((ArrayList<?>) writes).ensureCapacity(membersMax);
    }

    void prepare(CountDownLatch gate, CountDownLatch ended) {
        this.gate = gate;
        this.ended = ended;
    }

    /** Says when the phase began, before the gate opens. */
    void begin(long startNs) {
        this.startNs = startNs;
        deadline = phase.deadlineNs != 0 ? startNs + phase.deadlineNs : Long.MAX_VALUE;
        if (part.untilNs != 0)
            deadline = Math.min(deadline, startNs + part.untilNs);
    }

    void cancel() {
        cancelled = true;
    }

    long nowNs() {
        return block.getLong(Counters.NOW);
    }

    @Override
    public void run() {
        try {
            gate.await();
            if (cancelled)
                return;
            long before = Telemetry.threadAllocatedBytes();
            if (part.count > 0 && waitsForItsTurn()) {
                Words.store(block, Counters.THREAD_STATE, Counters.RUNNING);
                if (part.hasRequests())
                    walkRequests();
                else
                    walk();
            }
            allocatedBytes = Telemetry.threadAllocatedBytes() - before;
            Words.store(block, Counters.THREAD_STATE, Counters.ENDED);
        } catch (Throwable broken) { // a fault of this program: nothing that a driver throws comes here
            phase.counters.message(number, Operation.of(entry), Counters.ERROR, "the worker's thread broke: " + Messages.of(broken));
            Words.store(block, Counters.THREAD_STATE, 3);
            broken.printStackTrace();
        } finally {
            ended.countDown();
        }
    }

    private boolean isStopped() {
        return Words.load(header, Counters.STOP) != 0;
    }

    /** Returns the time once a moment has come, or -1 if the phase ends before. */
    private long sleepUntil(long moment) {
        long time = System.nanoTime();
        if (moment >= deadline)
            moment = deadline;
        long lead = time < moment ? waiter.lead(time) : 0;
        while (time < moment) {
            if (isStopped())
                return -1;
            long before = time, asked = Math.min(moment - time - lead, SLEEP_NS_MAX);
            if (asked > ALONE_BELOW_NS) {
                LockSupport.parkNanos(asked);
                time = System.nanoTime();
                waiter.slept(time - before - asked);
                continue;
            }
            if (moment - time > ALONE_BELOW_NS)
                Thread.yield(); // a spin that would keep another thread from its processor measures itself
            time = System.nanoTime();
            waiter.spun(time - before);
        }
        return time < deadline ? time : -1;
    }

    private boolean waitsForItsTurn() {
        return part.fromNs == 0 || sleepUntil(startNs + part.fromNs) >= 0;
    }

    private long due() {
        return startNs + part.dueAt(position) + lap * part.lapNs;
    }

    /** The same for a due time. Operations that are late are issued at once, one after the other. */
    private boolean waitsForDue(long due) {
        long time = sleepUntil(due);
        if (time < 0)
            return false;
        long late = time - Math.max(due, lastEnd); // until the operation before ended, the store was late and not this thread
        if (late > block.getLong(Counters.LATENESS_MAX))
            block.putLong(Counters.LATENESS_MAX, late);
        if (late >= WORD_BEGINS) {
            int word = Math.min(Counters.LATE_WORDS - 1, 63 - Long.numberOfLeadingZeros(late) - 7);
            add(Counters.LATE + 8 * word, 1);
        }
        last = time;
        return true;
    }

    private void add(int at, long amount) {
        block.putLong(at, block.getLong(at) + amount);
    }

    private void walk() {
        limit = part.limit != 0 ? part.limit : Long.MAX_VALUE;
        if (observed != null)
            limit = Math.min(limit, part.count); // one lap: a second one would overwrite what the first observed
        last = System.nanoTime();
        lastEnd = startNs + part.fromNs;
        while (step())
            ;
    }

    /** Does one operation. False: it was the last. A method of its own, so that the JVM compiles it whole. */
    private boolean step() {
        entry = part.entry(position);
        int operation = Operation.of(entry), entries = operation == Operation.BATCH ? 1 + phase.trace.amount(entry) : 1;
        long due = 0;
        if (open && !waitsForDue(due = due()))
            return false;
        aim(operation);
        if (entry < 0 && find != null && find.begin(operation, lap))
            last = System.nanoTime();
        Words.store(block, Counters.ATTEMPTED, sequence + entries);
        int outcome = keepsHandle ? operate(operation) : operateWithHandle(operation);
        if (entry < 0)
            remember(operation, last, outcome);
        count(last, due, outcome);
        sequence += entries;
        Words.store(block, Counters.ACKNOWLEDGED, sequence);
        if (now >= deadline || sequence >= limit || isStopped())
            return false;
        lastEnd = now;
        last = looked || !keepsHandle ? System.nanoTime() : now;
        if ((position += entries) == part.count) {
            position = 0;
            lap++;
        }
        return true;
    }

    /** Sets what the entry is done to. */
    private void aim(int operation) {
        index = entry & Operation.INDEX;
        if ((entry & Operation.GROWS) != 0)
            index += lap * part.stride;
        slot = slotAt[operation];
        looked = false;
        watching = observed != null || entry < 0;
        saw = Counters.OBSERVED_NOT_READ;
    }

    /** Counts the operation that ended at `now`. */
    private void count(long begin, long due, int outcome) {
        long service = Math.max(0, now - begin);
        add(slot + Counters.SERVICE + 8 * Counters.bucket(service), 1);
        if (service > block.getLong(slot + Counters.SERVICE_MAX))
            block.putLong(slot + Counters.SERVICE_MAX, service);
        if (open)
            add(slot + Counters.RESPONSE + 8 * Counters.bucket(Math.max(0, now - due)), 1);
        add(slot + 8 * outcome, 1);
        block.putLong(Counters.NOW, now - startNs);
    }

    /** Records an operation on a recorded key, or the recorded members of a batch. */
    private void remember(int operation, long begin, int outcome) {
        long beginNs = begin - startNs, endNs = Math.max(now, begin) - startNs, what = sequence | (long) outcome << 40;
        if (Operation.finds(operation)) {
            find.end(number, beginNs, endNs, what, outcome == Counters.OK);
            return;
        }
        if (operation != Operation.BATCH) {
            phase.history.append(number, beginNs, endNs, what, saw);
            return;
        }
        for (int i = 1; i <= phase.trace.amount(entry); i++)
            if (part.entry(position + i) < 0)
                phase.history.append(number, beginNs, endNs, what + i, Counters.OBSERVED_NOT_READ);
    }

    /**
     * Waiting for a pooled handle is in no service time, it is counted apart. Opening a new one is in
     * the service time, for a client that opens one each time pays for it each time.
     */
    private int operateWithHandle(int operation) {
        if (!takeHandle())
            return couldNotOpen(operation);
        int outcome = operate(operation);
        giveHandleBack(operation);
        return outcome;
    }

    private Throwable notOpened;

    /** Sets the handle, and `last` to the end of the wait for it. False: it could not be opened. */
    private boolean takeHandle() {
        try {
            if (handles.mode == Handles.Mode.POOL) {
                handle = handles.take();
                long time = System.nanoTime();
                add(Counters.HANDLE_WAIT, Math.max(0, time - last));
                countHandle(time - last);
                last = time;
            } else {
                handle = handles.store.open();
                add(Counters.HANDLES_OPENED, 1);
                if (phase.counters.layout.handleTimes)
                    countHandle(System.nanoTime() - last);
            }
            return true;
        } catch (Throwable thrown) {
            notOpened = thrown;
            return false;
        }
    }

    /** Counts how long a handle took to be had. */
    private void countHandle(long ns) {
        if (phase.counters.layout.handleTimes)
            add(phase.counters.layout.handleTimesAt() + 8 * Counters.bucket(Math.max(0, ns)), 1);
    }

    private void giveHandleBack(int operation) {
        Handle taken = handle;
        handle = null;
        if (handles.mode == Handles.Mode.POOL) {
            handles.giveBack(taken);
            return;
        }
        try {
            taken.close();
        } catch (Throwable thrown) {
            note(operation, Counters.ERROR, Messages.of(thrown));
        }
    }

    /** Never a miss or a conflict, for the store was not asked. */
    private int couldNotOpen(int operation) {
        return thrown(operation, notOpened);
    }

    private void note(int operation, int outcome, String text) {
        phase.counters.message(number, operation, outcome, text);
    }

    // Requests: section 2.5.

    private void walkRequests() {
        limit = part.limit != 0 ? part.limit : Long.MAX_VALUE;
        last = System.nanoTime();
        lastEnd = startNs + part.fromNs;
        do {
            if (position == part.count) {
                position = 0;
                lap++;
            }
        } while (request() && now < deadline && sequence < limit && !isStopped());
    }

    /** Does one request from its first step, with one handle. It is never left in the middle. */
    private boolean request() {
        long due = 0;
        if (open && !waitsForDue(due = due()))
            return false;
        boolean opened = keepsHandle || takeHandle();
        long begin = last, stepBegin = last;
        int outcome = Counters.OK;
        while (Operation.of(entry = part.entry(position)) != Operation.REQUEST) {
            int operation = Operation.of(entry);
            aim(operation);
            Words.store(block, Counters.ATTEMPTED, sequence + 1);
            int ended = opened ? operate(operation) : couldNotOpen(operation);
            if (entry < 0)
                remember(operation, stepBegin, ended);
            countEntry(stepBegin, due, ended);
            if (outcome == Counters.OK)
                outcome = ended;
            stepBegin = looked ? System.nanoTime() : now;
        }
        slot = slotAt[Operation.REQUEST];
        Words.store(block, Counters.ATTEMPTED, sequence + 1);
        countEntry(begin, due, outcome);
        if (!keepsHandle && opened)
            giveHandleBack(Operation.REQUEST);
        lastEnd = now;
        last = looked || !keepsHandle ? System.nanoTime() : now;
        return true;
    }

    private void countEntry(long begin, long due, int outcome) {
        count(begin, due, outcome);
        sequence++;
        position++;
        Words.store(block, Counters.ACKNOWLEDGED, sequence);
    }

    // One operation of each kind: they set `now` as soon as the store has answered.

    private int operate(int operation) {
        try {
            switch (operation) {
                case Operation.READ:
                    return read();
                case Operation.DELETE:
                    makeKey();
                    return wrote(operation, handle.delete(key), key.length);
                case Operation.SCAN:
                    return scan();
                case Operation.BATCH:
                    return batch();
                case Operation.READ_MODIFY_WRITE:
                case Operation.COMPARE_AND_SWAP:
                    return readAndWrite(operation);
                case Operation.ADD:
                    makeKey();
                    makeValue();
                    return wrote(operation, ((Handle.Add) handle).add(key, value), key.length + value.length);
                default: // insert, update, upsert: Abilities lets no other code pass
                    makeKey();
                    makeValue();
                    return wrote(operation, handle.put(key, value), key.length + value.length);
            }
        } catch (Throwable thrown) {
            return thrown(operation, thrown);
        }
    }

    /** The outcome of a call that threw. */
    private int thrown(int operation, Throwable thrown) {
        now = System.nanoTime();
        looked = true;
        int outcome = Messages.isTimeout(thrown) ? Counters.TIMEOUT : Counters.ERROR;
        note(operation, outcome, Messages.of(thrown));
        boolean reads = operation == Operation.READ || operation == Operation.READ_MODIFY_WRITE || operation == Operation.COMPARE_AND_SWAP;
        if (watching && reads && saw == Counters.OBSERVED_NOT_READ && handle != null)
            saw = Counters.OBSERVED_ERROR;
        if (observed != null)
            observed.putLong(position << 3, Counters.OBSERVED_ERROR);
        return outcome;
    }

    private void makeKey() {
        key.length = phase.keys.write(index, key.data);
    }

    private void makeValue() {
        value.length = writeValue(value.data, 0, entry, index, sequence);
    }

    private int writeValue(byte[] to, int at, long entry, long index, long sequence) {
        long version = phase.zeroVersions ? 0 : versions | sequence;
        if (phase.record != null)
            return phase.record.write(phase.pool, to, at, index, version);
        int length = phase.trace.amount(entry);
        phase.pool.write(to, at, length, index, version);
        return length;
    }

    private int wrote(int operation, Status status, long bytes) {
        now = System.nanoTime();
        if (status == Status.OK) {
            add(slot + Counters.BYTES_WRITTEN, bytes);
            return Counters.OK;
        }
        looked = true;
        return status == Status.MISS ? Counters.MISS : Counters.CONFLICT;
    }

    /** The outcome of a get that found nothing, or that others were in the way of. */
    private int notRead(int operation, Status status) {
        looked = true;
        if (status == Status.CONFLICT)
            return Counters.CONFLICT;
        if (Long.compareUnsigned(index, phase.mustHitBelow) >= 0)
            return Counters.MISS;
        note(operation, Counters.LOST, "a record that was stored is not there");
        return Counters.LOST;
    }

    private int wrong(int operation, String problem) {
        looked = true;
        note(operation, Counters.WRONG, problem);
        if (problem == Checker.OTHER_TRIAL)
            add(slot + Counters.FOREIGN, 1);
        return Counters.WRONG;
    }

    private void observe(Status status) {
        saw = status == Status.OK ? checker.observe(got, index) : status == Status.MISS ? Counters.OBSERVED_MISS : Counters.OBSERVED_ERROR;
        if (observed == null)
            return;
        observed.putLong(position << 3, saw);
        if (Long.compareUnsigned(saw, Counters.OBSERVED_FOREIGN) < 0 || saw == Counters.OBSERVED_SHORT)
            add(slot + Counters.SORT_SUM, status == Status.OK ? checker.counted(got) : 0);
    }

    private int read() throws Exception {
        makeKey();
        Status status = handle.get(key, got);
        now = System.nanoTime();
        if (watching)
            observe(status);
        if (status != Status.OK)
            return notRead(Operation.READ, status);
        looked = verify || watching;
        String problem = checker.problem(got, index);
        if (problem != null)
            return wrong(Operation.READ, problem);
        add(slot + Counters.BYTES_READ, got.length);
        return Counters.OK;
    }

    private int readAndWrite(int operation) throws Exception {
        makeKey();
        Status status = handle.get(key, got);
        if (watching)
            observe(status);
        if (status != Status.OK) {
            now = System.nanoTime();
            return notRead(operation, status);
        }
        String problem = checker.problem(got, index);
        int bytesRead = got.length;
        if (operation == Operation.COMPARE_AND_SWAP) {
            keepOld(); // got may stand in the handle's memory, which its next call may change
            makeKey();
            makeValue();
            status = ((Handle.CompareAndSwap) handle).compareAndSwap(key, old, value);
        } else {
            makeKey();
            makeValue();
            status = handle.put(key, value);
        }
        now = System.nanoTime();
        if (problem != null)
            return wrong(operation, problem);
        if (status == Status.OK)
            add(slot + Counters.BYTES_READ, bytesRead);
        long time = now; // wrote reads the clock, which was read
        int outcome = wrote(operation, status, key.length + value.length);
        now = time;
        return outcome == Counters.MISS ? notRead(operation, status) : outcome;
    }

    private void keepOld() {
        if (old.data.length < got.length)
            old.data = new byte[got.length];
        System.arraycopy(got.data, got.offset, old.data, 0, got.length);
        old.length = got.length;
    }

    private int scan() throws Exception {
        makeKey();
        int records = phase.trace.amount(entry);
        scan.begin(key, records);
        Status status = ((Handle.Scan) handle).scan(key, records, scan);
        now = System.nanoTime();
        if (status != Status.OK) {
            looked = true;
            return status == Status.MISS ? Counters.MISS : Counters.CONFLICT;
        }
        if (scan.problem == null && scan.seen > records)
            scan.problem = "a scan went on after it was told to stop";
        if (scan.problem != null)
            return wrong(Operation.SCAN, scan.problem);
        if (find != null)
            find.items = scan.seen;
        add(slot + Counters.ITEMS, scan.seen);
        add(slot + Counters.BYTES_READ, scan.bytes);
        return Counters.OK;
    }

    private int batch() throws Exception {
        int members = phase.trace.amount(entry), at = 0;
        long bytes = 0;
        writes.clear();
        for (int i = 0; i < members; i++) {
            long member = part.entry(position + 1 + i);
            long of = Trace.effectiveIndex(member, lap, part.stride);
            Handle.Write put = puts[i];
            put.key.length = phase.keys.write(of, put.key.data);
            bytes += put.key.length;
            if (!Operation.puts(Operation.of(member))) {
                writes.add(deletes[i]);
                continue;
            }
            int length = writeValue(arena, at, member, of, sequence + 1 + i);
            put.value.set(arena, at, length);
            at += length;
            bytes += length;
            writes.add(put);
        }
        Status status = ((Handle.Batch) handle).batch(writes);
        int outcome = wrote(Operation.BATCH, status, bytes);
        if (outcome == Counters.OK)
            add(slot + Counters.ITEMS, members);
        return outcome;
    }
}
