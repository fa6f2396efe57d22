package assay.worker;

import com.grack.nanojson.JsonArray;
import com.grack.nanojson.JsonObject;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The fields of an object in a request: each is read by its type, null is as if it were absent, and
 * {@link #end} refuses those that were not read.
 */
final class Fields {
    private static final BigInteger WORD_END = BigInteger.ONE.shiftLeft(64);

    private final String what;
    private final JsonObject object;
    private final Set<String> unread;

    /** A missing object has no fields, but {@code required} refuses it. */
    Fields(String what, Object object) throws Refusal {
        if (object != null && !(object instanceof JsonObject))
            throw Refusal.badRequest("%s is no object", what);
        this.what = what;
        this.object = object == null ? new JsonObject() : (JsonObject) object;
        unread = new HashSet<>(this.object.keySet());
    }

    void end() throws Refusal {
        if (!unread.isEmpty())
            throw Refusal.badRequest("%s has the unknown field \"%s\"", what, unread.iterator().next());
    }

    boolean has(String name) {
        return object.get(name) != null;
    }

    Object any(String name) {
        unread.remove(name);
        return object.get(name);
    }

    private <T> T typed(String name, Class<T> type, T absent, String expected) throws Refusal {
        Object value = any(name);
        if (value == null)
            return absent;
        if (!type.isInstance(value))
            throw Refusal.badRequest("field %s: expected %s", name, expected);
        return type.cast(value);
    }

    String text(String name) throws Refusal {
        return typed(name, String.class, "", "a text");
    }

    byte[] bytes(String name) throws Refusal {
        return text(name).getBytes(StandardCharsets.UTF_8);
    }

    boolean bool(String name) throws Refusal {
        return typed(name, Boolean.class, false, "true or false");
    }

    Fields object(String name) throws Refusal {
        Object value = typed(name, JsonObject.class, null, "an object");
        return new Fields(name, value);
    }

    List<Object> list(String name) throws Refusal {
        return listOf(name, any(name));
    }

    static List<Object> listOf(String name, Object value) throws Refusal {
        if (value != null && !(value instanceof JsonArray))
            throw Refusal.badRequest("field %s: expected a list", name);
        return value == null ? List.of() : (JsonArray) value;
    }

    List<String> texts(String name) throws Refusal {
        List<String> all = new ArrayList<>();
        for (Object each : list(name)) {
            if (!(each instanceof String))
                throw Refusal.badRequest("field %s: expected texts", name);
            all.add((String) each);
        }
        return all;
    }

    /** A whole number from 0 to 2^64-1. */
    long word(String name) throws Refusal {
        Object value = any(name);
        return value == null ? 0 : wordOf(name, value);
    }

    static long wordOf(String name, Object value) throws Refusal {
        BigInteger whole = whole(name, value);
        if (whole.signum() < 0 || whole.compareTo(WORD_END) >= 0)
            throw Refusal.badRequest("field %s: expected a whole number, 0 to 2^64-1", name);
        return whole.longValue();
    }

    /** A whole number of either sign, below 2^63. */
    long integer(String name) throws Refusal {
        Object value = any(name);
        BigInteger whole = value == null ? BigInteger.ZERO : whole(name, value);
        if (whole.bitLength() > 63)
            throw Refusal.badRequest("field %s: expected a whole number below 2^63", name);
        return whole.longValue();
    }

    private static BigInteger whole(String name, Object value) throws Refusal {
        if (value instanceof BigInteger)
            return (BigInteger) value;
        if (value instanceof Integer || value instanceof Long)
            return BigInteger.valueOf(((Number) value).longValue());
        throw Refusal.badRequest("field %s: expected a whole number", name);
    }

    /** The options of open: names and texts. */
    java.util.Map<String, String> textMap(String name) throws Refusal {
        Object value = typed(name, JsonObject.class, new JsonObject(), "an object");
        java.util.Map<String, String> all = new java.util.LinkedHashMap<>();
        for (var entry : ((JsonObject) value).entrySet()) {
            if (!(entry.getValue() instanceof String))
                throw Refusal.badRequest("field %s: expected texts", entry.getKey());
            all.put(entry.getKey(), (String) entry.getValue());
        }
        return all;
    }
}
