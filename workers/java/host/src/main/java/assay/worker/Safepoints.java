package assay.worker;

import java.lang.reflect.Method;
import java.util.Map;

/**
 * The JVM's safepoints, which HotSpot tells in a class of its own that a program may use only where
 * it was started with {@code --add-exports java.management/sun.management=ALL-UNNAMED}; the launcher does. Elsewhere they
 * are left out.
 */
final class Safepoints {
    private static final Object BEAN;
    private static final Method COUNT;
    private static final Method TIME_MS;

    static {
        Object bean = null;
        Method count = null;
        Method time = null;
        try {
            bean = Class.forName("sun.management.ManagementFactoryHelper").getMethod("getHotspotRuntimeMBean").invoke(null);
            Class<?> type = Class.forName("sun.management.HotspotRuntimeMBean");
            count = type.getMethod("getSafepointCount");
            time = type.getMethod("getTotalSafepointTime");
            count.invoke(bean);
        } catch (ReflectiveOperationException | IllegalArgumentException notTold) {
            bean = null;
        }
        BEAN = bean;
        COUNT = count;
        TIME_MS = time;
    }

    private Safepoints() {}

    static void tell(Map<String, Double> all) {
        if (BEAN == null)
            return;
        try {
            all.put("jvm_safepoints", (double) (long) COUNT.invoke(BEAN));
            all.put("jvm_safepoint_ns", (long) TIME_MS.invoke(BEAN) * 1e6);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e); // it answered before
        }
    }
}
