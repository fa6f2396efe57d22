package assay.worker;

import java.nio.ByteBuffer;

/**
 * The recorded scan that is under way: section 3.5. What an operation finds beside others that write
 * can only be judged by what they had done by then: so it is recorded with how far each thread was
 * before it and after it.
 */
final class FindState {
    static final long UNKNOWN = -1; // a record that does not tell its index
    private static final long LAP_END = 1 << 11;

    private final Phase phase;
    private final ByteBuffer[] threads;
    private final long[] words; // as they are recorded: how many were found, threads before and after, indexes
    private final int heads; // words before the indexes
    private int count; // of indexes
    boolean active; // there is one
    long items; // that it gave, where it was ok

    FindState(Phase phase, Trace.Part part) {
        this.phase = phase;
        threads = phase.counters.thread;
        int most = 0;
        for (int p = 0; p < part.count; p++) {
            long entry = part.entry(p);
            if (entry < 0 && Operation.of(entry) == Operation.SCAN)
                most = Math.max(most, phase.trace.amount(entry));
        }
        heads = 1 + 2 * threads.length;
        words = new long[heads + most];
    }

    /** Notes how far the threads are, if what the marked operation finds in this lap is recorded. */
    boolean begin(int operation, long lap) {
        if (!Operation.finds(operation) || lap >= LAP_END || (lap & (lap - 1)) != 0)
            return false;
        for (int i = 0; i < threads.length; i++)
            words[1 + i] = Words.load(threads[i], Counters.ACKNOWLEDGED);
        active = true;
        count = 0;
        items = 0;
        return true;
    }

    void add(long index) {
        words[heads + count++] = index;
    }

    /** Records what the marked operation of a thread found, if it is to be in this lap. */
    void end(int number, long beginNs, long endNs, long what, boolean ok) {
        if (!active)
            return;
        active = false;
        for (int i = 0; i < threads.length; i++)
            words[1 + threads.length + i] = Words.load(threads[i], Counters.ATTEMPTED);
        words[0] = ok ? count : 0;
        phase.history.appendFind(number, beginNs, endNs, what, items, words, heads + (int) words[0]);
    }
}
