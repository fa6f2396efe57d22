package assay.driver;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A piece of a byte array. The worker uses one over and over: what it holds is valid until the
 * handle's call returns, so a driver whose client keeps keys or values copies them.
 */
public final class Bytes {
    private static final byte[] NONE = {};

    public byte[] data = NONE;
    public int offset;
    public int length;

    public Bytes() {}

    public Bytes(int capacity) {
        data = new byte[capacity];
    }

    public void set(byte[] data) {
        set(data, 0, data.length);
    }

    public void set(byte[] data, int offset, int length) {
        this.data = data;
        this.offset = offset;
        this.length = length;
    }

    /** Returns a copy, for clients that take whole arrays. */
    public byte[] toArray() {
        return Arrays.copyOfRange(data, offset, offset + length);
    }

    /** Returns the bytes as the characters 0 to 255: for text keys, which are ASCII. */
    public String toText() {
        return new String(data, offset, length, StandardCharsets.ISO_8859_1);
    }

    public boolean isSame(byte[] other) {
        return Arrays.equals(data, offset, offset + length, other, 0, other.length);
    }
}
