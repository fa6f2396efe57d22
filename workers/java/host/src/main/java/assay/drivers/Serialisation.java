package assay.drivers;

import assay.driver.Option;
import assay.driver.Options;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

/**
 * What a client is given as a value, and what its serialisation costs: the time in its transcoder,
 * which is also in the service time of the operation. A byte array passes through and costs nothing.
 */
public final class Serialisation {
    public static final Option OPTION = Option.choice("values", "bytes", "what the client is given as a value. bytes: the byte array, which it passes through; "
            + "object: an object that holds it, by the client's own serialisation, which is Java's; custom: the same object, by a serialisation "
            + "of ours through the client's interface for it. The counters tell its time: serialise_ns, deserialise_ns", "bytes", "object", "custom");

    private static final byte MARK = 1;

    public final boolean bytes;
    public final boolean custom;
    private final LongAdder serialised = new LongAdder(), serialiseNs = new LongAdder(), deserialised = new LongAdder(), deserialiseNs = new LongAdder();

    public Serialisation(Options options) {
        String values = options.text(OPTION.name());
        bytes = values.equals("bytes");
        custom = values.equals("custom");
    }

    /** What the client is given for a value. */
    public Object given(byte[] value) {
        return bytes ? value : new Item(value);
    }

    /** The value of what the client gave; null for nothing. */
    public byte[] value(Object given) {
        return bytes || given == null ? (byte[]) given : ((Item) given).value;
    }

    /** The form of ours: a byte, so that no value is empty, and the value. */
    public static byte[] encode(Object item) {
        byte[] value = ((Item) item).value, encoded = new byte[value.length + 1];
        encoded[0] = MARK;
        System.arraycopy(value, 0, encoded, 1, value.length);
        return encoded;
    }

    public static Object decode(byte[] encoded) {
        if (encoded.length == 0 || encoded[0] != MARK)
            throw new IllegalArgumentException("no value of this serialisation");
        byte[] value = new byte[encoded.length - 1];
        System.arraycopy(encoded, 1, value, 0, value.length);
        return new Item(value);
    }

    /** One call of a transcoder. */
    public interface Step<T> {
        T done() throws Exception;
    }

    public <T> T serialise(Step<T> step) {
        return timed(step, serialised, serialiseNs);
    }

    public <T> T deserialise(Step<T> step) {
        return timed(step, deserialised, deserialiseNs);
    }

    private static <T> T timed(Step<T> step, LongAdder calls, LongAdder ns) {
        long begin = System.nanoTime();
        try {
            return step.done();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        } finally {
            ns.add(System.nanoTime() - begin);
            calls.increment();
        }
    }

    /** Adds what serialisation cost so far; nothing where byte arrays pass through. */
    public Map<String, Double> stats(Map<String, Double> others) {
        if (bytes || others.isEmpty())
            return others;
        others.put("serialised", serialised.doubleValue());
        others.put("serialise_ns", serialiseNs.doubleValue());
        others.put("deserialised", deserialised.doubleValue());
        others.put("deserialise_ns", deserialiseNs.doubleValue());
        return others;
    }
}
