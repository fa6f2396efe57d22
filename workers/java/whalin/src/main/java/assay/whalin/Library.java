package assay.whalin;

import assay.driver.Config;
import assay.drivers.Credentials;
import com.schooner.MemCached.AuthInfo;
import com.schooner.MemCached.MemcachedItem;
import com.schooner.MemCached.SchoonerSockIOPool;
import com.schooner.MemCached.TransCoder;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * A client and its pool, by method handles that are constants of the JIT compiler: the library's
 * classes are in com.whalin since version 3.0, and were in com.danga before.
 */
final class Library {
    static final Class<?> CLIENT = classOf("MemCachedClient");
    private static final Class<?> POOL = classOf("SockIOPool");
    private static final Class<?> ERRORS = classOf("ErrorHandler");
    private static final MethodHandle GET = method("get", Object.class, String.class);
    private static final MethodHandle GETS = method("gets", MemcachedItem.class, String.class);
    private static final MethodHandle SET = method("set", boolean.class, String.class, Object.class);
    private static final MethodHandle ADD = method("add", boolean.class, String.class, Object.class);
    private static final MethodHandle CAS = method("cas", boolean.class, String.class, Object.class, long.class);
    private static final MethodHandle DELETE = method("delete", boolean.class, String.class);

    private final Object pool;
    private final Object client;

    Library(String name, Config config, int maxConn, Credentials credentials, InvocationHandler errors) throws Exception {
        String protocol = config.options.text("protocol");
        boolean tcp = !protocol.equals("udp"), binary = protocol.equals("binary");
        if (!credentials.user.isEmpty()) // the pool is made with the login, and found by its name
            SchoonerSockIOPool.getInstance(name, AuthInfo.plain(credentials.user, credentials.password));
        pool = tcp ? POOL.getMethod("getInstance", String.class).invoke(null, name)
                : POOL.getMethod("getInstance", String.class, boolean.class).invoke(null, name, false);
        setPool("setServers", String[].class, config.endpoints.toArray(String[]::new));
        int[] weights = config.options.integers("weights", config.endpoints.size());
        if (weights != null)
            setPool("setWeights", Integer[].class, java.util.Arrays.stream(weights).boxed().toArray(Integer[]::new));
        setPool("setInitConn", int.class, config.options.integer("init_conn"));
        setPool("setMinConn", int.class, config.options.integer("min_conn"));
        setPool("setMaxConn", int.class, maxConn);
        setPool("setSocketTO", int.class, (int) TimeUnit.NANOSECONDS.toMillis(config.options.durationNs("timeout")));
        setPool("setFailover", boolean.class, config.options.bool("failover"));
        setPool("setNagle", boolean.class, false);
        POOL.getMethod("initialize").invoke(pool);
        Object handler = Proxy.newProxyInstance(Library.class.getClassLoader(), new Class<?>[] {ERRORS}, errors);
        client = newClient(name, tcp, binary, handler);
        CLIENT.getMethod("setSanitizeKeys", boolean.class).invoke(client, false);
    }

    private static Class<?> classOf(String name) {
        for (String home : new String[] {"com.whalin.MemCached.", "com.danga.MemCached."})
            try {
                return Class.forName(home + name);
            } catch (ClassNotFoundException e) {
                // said below
            }
        throw new NoClassDefFoundError("com.whalin.MemCached." + name + " (com.danga.MemCached before version 3.0)");
    }

    private static MethodHandle method(String name, Class<?> result, Class<?>... parameters) {
        try {
            return MethodHandles.lookup().findVirtual(CLIENT, name, MethodType.methodType(result, parameters))
                    .asType(MethodType.methodType(result, parameters).insertParameterTypes(0, Object.class));
        } catch (NoSuchMethodException | IllegalAccessException e) {
            throw new NoSuchMethodError(e.getMessage());
        }
    }

    /** Version 2.6.1 has no way to set an ErrorHandler: it is put where the client looks for it. */
    private static Object newClient(String name, boolean tcp, boolean binary, Object handler) throws ReflectiveOperationException {
        try {
            return CLIENT.getConstructor(String.class, boolean.class, boolean.class, ClassLoader.class, ERRORS)
                    .newInstance(name, tcp, binary, null, handler);
        } catch (NoSuchMethodException e) {
            Object made = CLIENT.getConstructor(String.class, boolean.class, boolean.class).newInstance(name, tcp, binary);
            Field inner = CLIENT.getDeclaredField("client"), errors = CLIENT.getDeclaredField("errorHandler");
            inner.setAccessible(true);
            errors.setAccessible(true);
            errors.set(inner.get(made), handler);
            return made;
        }
    }

    private void setPool(String name, Class<?> type, Object value) throws ReflectiveOperationException {
        POOL.getMethod(name, type).invoke(pool, value);
    }

    void setTransCoder(TransCoder coder) throws ReflectiveOperationException {
        CLIENT.getMethod("setTransCoder", TransCoder.class).invoke(client, coder);
    }

    /** How many servers answer. */
    int answering() throws ReflectiveOperationException {
        return ((Map<?, ?>) CLIENT.getMethod("stats").invoke(client)).size();
    }

    Object get(String key) throws Exception {
        try {
            return (Object) GET.invokeExact(client, key);
        } catch (Throwable thrown) {
            throw exception(thrown);
        }
    }

    MemcachedItem gets(String key) throws Exception {
        try {
            return (MemcachedItem) GETS.invokeExact(client, key);
        } catch (Throwable thrown) {
            throw exception(thrown);
        }
    }

    boolean set(String key, Object value) throws Exception {
        try {
            return (boolean) SET.invokeExact(client, key, value);
        } catch (Throwable thrown) {
            throw exception(thrown);
        }
    }

    boolean add(String key, Object value) throws Exception {
        try {
            return (boolean) ADD.invokeExact(client, key, value);
        } catch (Throwable thrown) {
            throw exception(thrown);
        }
    }

    boolean cas(String key, Object value, long unique) throws Exception {
        try {
            return (boolean) CAS.invokeExact(client, key, value, unique);
        } catch (Throwable thrown) {
            throw exception(thrown);
        }
    }

    boolean delete(String key) throws Exception {
        try {
            return (boolean) DELETE.invokeExact(client, key);
        } catch (Throwable thrown) {
            throw exception(thrown);
        }
    }

    /** The library's methods declare none: what a handle throws is unchecked, or an Error. */
    private static Exception exception(Throwable thrown) {
        if (thrown instanceof Error)
            throw (Error) thrown;
        return (Exception) thrown;
    }

    void close() throws ReflectiveOperationException {
        POOL.getMethod("shutDown").invoke(pool);
    }
}
