package assay.worker;

import assay.driver.Handle;
import assay.driver.Store;
import java.util.ArrayList;
import java.util.List;

/** The open handles of a store, in the way that the experiment shares them. */
final class Handles {
    enum Mode { SHARED, PER_THREAD, POOL, PER_OPERATION }

    final Mode mode;
    final Store store;
    private final List<Handle> all = new ArrayList<>();
    private final Handle[] idle; // a pool's: first in, first out
    private int idleFirst;
    private int idleCount;

    Handles(Store store, Mode mode, int count) throws Exception {
        this.store = store;
        this.mode = mode;
        int open = mode == Mode.PER_OPERATION ? 0 : count;
        idle = new Handle[open];
        try {
            for (int i = 0; i < open; i++)
                all.add(idle[i] = store.open());
        } catch (Throwable why) {
            try {
                close();
            } catch (Exception ignored) { // why no more could be opened says more
                why.addSuppressed(ignored);
            }
            throw why;
        }
        idleCount = open;
    }

    /** The handle that a thread keeps, or null where it takes one for each operation. */
    Handle of(int thread) {
        switch (mode) {
            case SHARED:
                return all.get(0);
            case PER_THREAD:
                return all.get(thread);
            default:
                return null;
        }
    }

    /** Waits for a pooled handle. */
    synchronized Handle take() throws InterruptedException {
        while (idleCount == 0)
            wait();
        Handle handle = idle[idleFirst];
        idleFirst = (idleFirst + 1) % idle.length;
        idleCount--;
        return handle;
    }

    synchronized void giveBack(Handle handle) {
        idle[(idleFirst + idleCount++) % idle.length] = handle;
        notify();
    }

    /** Closes all; the first that failed tells why. */
    void close() throws Exception {
        Exception first = null;
        for (Handle handle : all) {
            try {
                handle.close();
            } catch (Exception e) {
                first = first == null ? e : first;
            }
        }
        all.clear();
        if (first != null)
            throw first;
    }
}
