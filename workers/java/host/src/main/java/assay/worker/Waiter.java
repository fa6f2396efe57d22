package assay.worker;

/**
 * How a thread lets time pass until an operation is due. It sleeps for most of a wait, and spins the rest
 * away, since a sleep ends late: as long as nine in ten sleeps are late by, but not beyond its share of the
 * processors, which a server or the JVM's own threads need too. For one thread at a time.
 */
final class Waiter {
    /** The part of the processors that all threads together may spin. */
    private static final double SHARE = 1.0 / 4;
    /** What a thread that did not spin may save up. */
    private static final long CREDIT_NS_MAX = 1_000_000;
    private static final long LATE_NS_MAX = 1_500_000;
    private static final long LATE_NS_STEP = 500;

    private final double share; // of its time that the thread may spin
    private long lateNs = 50_000; // what nine in ten sleeps end late by, or less
    private long creditNs = CREDIT_NS_MAX; // that may be spun away
    private long countedNs = System.nanoTime(); // when the credit was counted

    Waiter(int threads) {
        share = Math.min(SHARE * Runtime.getRuntime().availableProcessors() / Math.max(threads, 1), 1);
    }

    /** Returns how long before a moment a sleep should end. */
    long lead(long now) {
        creditNs = (long) Math.min(creditNs + share * (now - countedNs), CREDIT_NS_MAX);
        countedNs = now;
        return Math.max(Math.min(lateNs, creditNs), 0);
    }

    /** Notes what a sleep ended late by. */
    void slept(long late) {
        lateNs = late > lateNs ? Math.min(lateNs + 9 * LATE_NS_STEP, LATE_NS_MAX) : Math.max(lateNs - LATE_NS_STEP, 0);
    }

    /** Notes time that was spun away. */
    void spun(long ns) {
        creditNs -= ns;
    }
}
