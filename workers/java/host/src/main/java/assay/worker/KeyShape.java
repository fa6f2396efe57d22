package assay.worker;

/** Section 1.2: a trial's keys. */
final class KeyShape {
    static final int BINARY = 0;
    static final int DECIMAL = 1;
    static final int YCSB = 2;
    static final long INDEX_MAX = (1L << 48) - 1;
    private static final int KEY_BYTES_MAX = 65535;
    private static final int AFFIX_BYTES_MAX = 255;

    private final int format;
    private final int bytes;
    private final int digits;
    private final byte[] prefix;
    private final byte[] suffix;
    private final boolean scatter;
    private final long first;

    KeyShape(Fields fields) throws Refusal {
        String name = fields.text("format");
        long length = fields.integer("bytes"), padded = fields.integer("digits");
        prefix = fields.bytes("prefix");
        suffix = fields.bytes("suffix");
        scatter = fields.bool("scatter");
        first = fields.word("first");
        fields.end();
        if (prefix.length > AFFIX_BYTES_MAX || suffix.length > AFFIX_BYTES_MAX)
            throw Refusal.badRequest("keys: prefix and suffix have at most 255 bytes each");
        if (first != 0 && (!name.equals("decimal") || scatter || Long.compareUnsigned(first, INDEX_MAX) > 0))
            throw Refusal.badRequest("keys: first is 0 to 2^48-1, and of decimal keys without scatter alone");
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
        return format == BINARY ? bytes : prefix.length + Mix.DIGITS_MAX + suffix.length;
    }

    /** Writes the key of an index from the array's start; returns its length. */
    int write(long index, byte[] to) {
        long n = scatter ? Mix.mix(index) : index;
        int at = prefix.length;
        System.arraycopy(prefix, 0, to, 0, at);
        if (format == BINARY) {
            writeBinary(n, to, at);
            return bytes;
        }
        at = Mix.decimal((format == YCSB ? Mix.ycsbHash(n) : n) + first, digits, to, at);
        System.arraycopy(suffix, 0, to, at, suffix.length);
        return at + suffix.length;
    }

    private void writeBinary(long n, byte[] to, int at) {
        int length = bytes - at;
        if (length < 8) {
            for (int i = bytes - 1; i >= at; i--, n >>>= 8)
                to[i] = (byte) n;
            return;
        }
        Words.putBig(to, at, n);
        long word = n;
        for (int i = at + 8; i < bytes; i += 8) {
            word = Mix.mix(word);
            Words.putPart(to, i, bytes, word);
        }
    }
}
