package assay.worker;

import java.util.Arrays;
import java.util.List;

/** Section 1.2: a trial's keys. */
final class KeyShape {
    static final int BINARY = 0;
    static final int DECIMAL = 1;
    static final int YCSB = 2;
    static final long INDEX_MAX = (1L << 48) - 1;
    private static final int KEY_BYTES_MAX = 65535;
    private static final int AFFIX_BYTES_MAX = 255;
    private static final int STRETCHES_MAX = 1024;

    private final int format;
    private final int bytes;
    private final int digits;
    private final byte[] prefix;
    private final byte[] suffix;
    private final boolean scatter;
    private final long first;

    /** Keys of several lengths: each stretch's first index, the number that its key holds, and its length; empty: none. */
    private final long[] from;
    private final long[] numbers;
    private final int[] lengths;

    KeyShape(Fields fields) throws Refusal {
        String name = fields.text("format");
        long length = fields.integer("bytes"), padded = fields.integer("digits");
        prefix = fields.bytes("prefix");
        suffix = fields.bytes("suffix");
        scatter = fields.bool("scatter");
        first = fields.word("first");
        List<Object> stretches = fields.list("lengths");
        fields.end();
        if (prefix.length > AFFIX_BYTES_MAX || suffix.length > AFFIX_BYTES_MAX)
            throw Refusal.badRequest("keys: prefix and suffix have at most 255 bytes each");
        if (first != 0 && (!name.equals("decimal") || scatter || Long.compareUnsigned(first, INDEX_MAX) > 0))
            throw Refusal.badRequest("keys: first is 0 to 2^48-1, and of decimal keys without scatter alone");
        from = new long[stretches.size()];
        numbers = new long[stretches.size()];
        lengths = new int[stretches.size()];
        if (lengths.length > 0) {
            format = name.equals("decimal") ? DECIMAL : BINARY;
            if (format == BINARY && !name.equals("binary"))
                throw Refusal.badRequest("keys: binary and decimal keys alone have lengths");
            if (length != 0 || padded != 0 || first != 0 || suffix.length > 0)
                throw Refusal.badRequest("keys: those of several lengths have no bytes, digits, first and suffix");
            readLengths(stretches);
            bytes = Arrays.stream(lengths).max().getAsInt();
            digits = 0;
            return;
        }
        switch (name) {
            case "binary":
                format = BINARY;
                checkBinary(length, padded);
                break;
            case "decimal":
            case "ycsb":
                format = name.equals("decimal") ? DECIMAL : YCSB;
                if (length != 0)
                    throw Refusal.badRequest("keys: %s keys take no bytes", name);
                if (padded < 0 || padded > Mix.DIGITS_MAX || (format == YCSB && padded != 0))
                    throw Refusal.badRequest("keys: decimal keys have 0 to 20 digits, ycsb keys take none");
                break;
            default:
                throw Refusal.badRequest("keys: unknown format \"%s\"", name);
        }
        bytes = (int) length;
        digits = (int) padded;
    }

    private void readLengths(List<Object> stretches) throws Refusal {
        if (lengths.length > STRETCHES_MAX)
            throw Refusal.badRequest("keys: at most %d lengths", STRETCHES_MAX);
        for (int i = 0; i < lengths.length; i++) {
            Fields one = new Fields("lengths", stretches.get(i));
            long length = one.word("bytes");
            from[i] = one.word("from");
            numbers[i] = one.word("first");
            one.end();
            if (Long.compareUnsigned(from[i], INDEX_MAX) > 0 || Long.compareUnsigned(numbers[i], INDEX_MAX) > 0)
                throw Refusal.badRequest("keys: from and first of a length are at most 2^48-1");
            if (length <= prefix.length || length > KEY_BYTES_MAX)
                throw Refusal.badRequest("keys: lengths are longer than the prefix, and at most 65535");
            if (scatter && (format != BINARY || length - prefix.length < 8))
                throw Refusal.badRequest("keys: scattered keys of several lengths are binary and have at least 8 bytes after the prefix");
            lengths[i] = (int) length;
            checkOrder(i);
        }
    }

    private void checkOrder(int i) throws Refusal {
        if (i == 0) {
            if (from[0] != 0)
                throw Refusal.badRequest("keys: the first length begins at index 0");
            return;
        }
        if (from[i] <= from[i - 1])
            throw Refusal.badRequest("keys: lengths ascend by their first index");
        if (numbers[i - 1] + from[i] - from[i - 1] > numbersOf(lengths[i - 1] - prefix.length))
            throw Refusal.badRequest("keys: a length can't hold the numbers of its keys");
    }

    /** How many numbers, from 0 on, fit so many bytes; all that indexes need are below 2^50. */
    private long numbersOf(int length) {
        long numbers = 1;
        for (int i = 0; i < length && numbers < 1L << 50; i++)
            numbers *= format == BINARY ? 256 : 10;
        return numbers;
    }

    private void checkBinary(long length, long padded) throws Refusal {
        if (length < 1 || length > KEY_BYTES_MAX)
            throw Refusal.badRequest("keys: binary keys have 1 to 65535 bytes");
        if (suffix.length > 0 || padded != 0)
            throw Refusal.badRequest("keys: binary keys have no suffix or digits");
        if (prefix.length >= length)
            throw Refusal.badRequest("keys: the prefix leaves nothing of a binary key");
        if (length - prefix.length < 8 && scatter)
            throw Refusal.badRequest("keys: scattered keys need at least 8 bytes after the prefix");
    }

    int bytesMax() {
        return format == BINARY || lengths.length > 0 ? bytes : prefix.length + Mix.DIGITS_MAX + suffix.length;
    }

    /** Writes the key of an index from the array's start; returns its length. */
    int write(long index, byte[] to) {
        if (lengths.length > 0)
            return writeOfLength(index, to);
        long n = scatter ? Mix.mix(index) : index;
        int at = prefix.length;
        System.arraycopy(prefix, 0, to, 0, at);
        if (format == BINARY) {
            writeBinary(n, to, at, bytes);
            return bytes;
        }
        at = Mix.decimal((format == YCSB ? Mix.ycsbHash(n) : n) + first, digits, to, at);
        System.arraycopy(suffix, 0, to, at, suffix.length);
        return at + suffix.length;
    }

    private int writeOfLength(long index, byte[] to) {
        int low = 0, high = lengths.length; // the last one that begins at or before the index is in [low, high)
        while (high - low > 1) {
            int middle = (low + high) >>> 1;
            if (from[middle] <= index)
                low = middle;
            else
                high = middle;
        }
        long n = index - from[low] + numbers[low];
        if (scatter)
            n = Mix.mix(n);
        int at = prefix.length, end = lengths[low];
        System.arraycopy(prefix, 0, to, 0, at);
        if (format == BINARY) {
            writeBinary(n, to, at, end);
            return end;
        }
        at = Mix.decimal(n, Math.min(end - at, Mix.DIGITS_MAX), to, at);
        for (long word = n; at < end;) {
            word = Mix.mix(word);
            for (int i = 0; i < 64 && at < end; i += 8)
                to[at++] = (byte) ('a' + (word >>> i & 15));
        }
        return end;
    }

    private static void writeBinary(long n, byte[] to, int at, int end) {
        int length = end - at;
        if (length < 8) {
            for (int i = end - 1; i >= at; i--, n >>>= 8)
                to[i] = (byte) n;
            return;
        }
        Words.putBig(to, at, n);
        long word = n;
        for (int i = at + 8; i < end; i += 8) {
            word = Mix.mix(word);
            Words.putPart(to, i, end, word);
        }
    }
}
