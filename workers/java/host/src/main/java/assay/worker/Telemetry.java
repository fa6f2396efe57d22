package assay.worker;

import assay.driver.Store;
import com.sun.management.GarbageCollectionNotificationInfo;
import com.sun.management.ThreadMXBean;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

/** The store's own counters and the JVM's, reported without a message: section 3.1 of the contract. */
final class Telemetry {
    private static final long PERIOD_NS = 1_000_000_000;
    /** Asking takes at most one part in so many of one processor, by its CPU time: a JVM that collects makes it last. */
    private static final long RARITY = 500;
    private static final int NAMES_MAX = Counters.STATS_MAX;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final List<GarbageCollectorMXBean> COLLECTORS = ManagementFactory.getGarbageCollectorMXBeans();
    private static final double MS = 1e6;

    private final Store store;
    final List<String> names;
    private long nextNs;
    private long rounds;
    private long costNs;

    Telemetry(Store store) {
        this.store = store;
        List<String> all = new ArrayList<>(all(store).keySet());
        names = all.subList(0, Math.min(NAMES_MAX, all.size()));
    }

    /** What inspect tells. */
    static Map<String, Double> all(Store store) {
        Map<String, Double> all = new LinkedHashMap<>();
        store.stats().forEach((name, value) -> {
            if (Double.isFinite(value))
                all.put(name, value);
        });
        jvm(all);
        return all;
    }

    private static void jvm(Map<String, Double> all) {
        var memory = ManagementFactory.getMemoryMXBean();
        all.put("jvm_heap_used_bytes", (double) memory.getHeapMemoryUsage().getUsed());
        all.put("jvm_heap_committed_bytes", (double) memory.getHeapMemoryUsage().getCommitted());
        all.put("jvm_outside_heap_bytes", (double) memory.getNonHeapMemoryUsage().getUsed());
        for (BufferPoolMXBean pool : ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class)) {
            if (!pool.getName().equals("direct"))
                continue;
            all.put("jvm_direct_buffers_bytes", (double) pool.getMemoryUsed());
            all.put("jvm_direct_buffers", (double) pool.getCount());
        }
        for (GarbageCollectorMXBean collector : COLLECTORS) {
            String name = "jvm_gc_" + collector.getName().toLowerCase(java.util.Locale.ROOT).replaceAll("[^a-z0-9]+", "_");
            all.put(name + "_collections", (double) collector.getCollectionCount());
            all.put(name + "_ns", collector.getCollectionTime() * MS);
        }
        Safepoints.tell(all);
        all.put("jvm_threads", (double) THREADS.getThreadCount());
        all.put("jvm_classes", (double) ManagementFactory.getClassLoadingMXBean().getLoadedClassCount());
        all.put("jvm_jit_ns", compileNs());
    }

    private static double compileNs() {
        var compiler = ManagementFactory.getCompilationMXBean();
        return compiler != null && compiler.isCompilationTimeMonitoringSupported() ? compiler.getTotalCompilationTime() * MS : 0;
    }

    static long threadAllocatedBytes() {
        return THREADS.isThreadAllocatedMemoryEnabled() ? THREADS.getCurrentThreadAllocatedBytes() : 0;
    }

    /** Writes each collection with its cause to standard error, which is kept in the trial's log. */
    static void logCollections() {
        for (GarbageCollectorMXBean collector : COLLECTORS) {
            if (!(collector instanceof NotificationEmitter))
                continue;
            ((NotificationEmitter) collector).addNotificationListener((notification, ignored) -> {
                if (!notification.getType().equals(GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION))
                    return;
                var info = GarbageCollectionNotificationInfo.from((CompositeData) notification.getUserData());
                var gc = info.getGcInfo();
                long before = gc.getMemoryUsageBeforeGc().values().stream().mapToLong(u -> u.getUsed()).sum();
                long after = gc.getMemoryUsageAfterGc().values().stream().mapToLong(u -> u.getUsed()).sum();
                // In one write: printf writes piece by piece, and what the JVM says as it dies would stand between them.
                System.err.println("gc: %d ms after the start: %s, %s, %d ms, %d to %d KiB".formatted(gc.getStartTime(),
                        info.getGcName(), info.getGcCause(), gc.getDuration(), before >> 10, after >> 10));
            }, null, null);
        }
    }

    void begin() {
        nextNs = System.nanoTime() + PERIOD_NS;
    }

    /** Writes the counters if it is time to. */
    void tell(ByteBuffer header) {
        long begin = System.nanoTime();
        if (begin < nextNs)
            return;
        long used = THREADS.getCurrentThreadCpuTime();
        Map<String, Double> all = all(store);
        for (int i = 0; i < names.size(); i++)
            Words.store(header, Counters.STATS + 8 * i, Double.doubleToRawLongBits(all.getOrDefault(names.get(i), Double.NaN)));
        Words.store(header, Counters.ROUNDS, ++rounds);
        long cost = System.nanoTime() - begin;
        costNs += cost;
        nextNs = begin + Math.max(PERIOD_NS, (THREADS.getCurrentThreadCpuTime() - used) * RARITY);
    }

    /** What the JVM can tell about a phase: totals, of which the phase's are differences. */
    static final class Totals {
        private final long cycles;
        private final double pauseNs;
        private final double jitNs;
        private final long cpuNs;

        Totals() {
            cycles = COLLECTORS.stream().mapToLong(GarbageCollectorMXBean::getCollectionCount).sum();
            pauseNs = COLLECTORS.stream().mapToLong(GarbageCollectorMXBean::getCollectionTime).sum() * MS;
            jitNs = compileNs();
            cpuNs = ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
        }

        Map<String, Object> since(Totals before) {
            Map<String, Object> told = new LinkedHashMap<>();
            told.put("gc_cycles", cycles - before.cycles);
            told.put("gc_pause_ns", pauseNs - before.pauseNs);
            told.put("jit_ns", jitNs - before.jitNs);
            told.put("cpu_ns", cpuNs - before.cpuNs);
            return told;
        }
    }

    void addTo(Map<String, Object> runtime) {
        runtime.put("inspects", rounds);
        runtime.put("inspect_ns", costNs);
    }
}
