package assay.worker;

import assay.driver.Bytes;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** Section 1.5: where a column's bytes come from. Immutable. */
final class Column {
    static final int COLUMN_BYTES_MAX = 65535;
    static final int INTEGER_DIGITS_MAX = 18;
    private static final int STEPS_MAX = 64;
    private static final int LETTERS_MAX = 8;
    private static final int WORD_COUNT_MAX = 255;
    private static final long STAMP_MODULO_MAX = 100_000_000_000_000_000L;

    enum Source { CONSTANT, SEQUENCE, PARTS, WORDS, PROOF, STAMP, COUNTER }

    final String name;
    final String type;
    final Source source;
    final int proofBytes;
    private byte[] constant = {};
    private byte[] prefix = {};
    private byte[] suffix = {};
    private long divide;
    private long shift;
    private long modulo;
    private long multiply;
    private long add;
    private long[] steps = {}; // in place of divide; of words, how many each record takes, in turn
    private long cycle; // their sum
    private int letters;
    private long wordsAll; // how many words of so many letters there are
    private Column[] parts = {};
    private long stampModulo;
    private long stampLeast;
    private int position;

    /** A column of define. partsLeft counts down the parts that all columns together may have. */
    Column(Object given, int position, int[] partsLeft) throws Refusal {
        Fields fields = new Fields("a column", given);
        this.position = position;
        name = fields.text("name");
        type = fields.text("type");
        if (!name.matches("[A-Za-z_][A-Za-z0-9_]{0,63}"))
            throw Refusal.badRequest("a column's name has 1 to 64 letters, digits and _, the first no digit: \"%s\"", name);
        if (!List.of("text", "integer", "bytes").contains(type))
            throw Refusal.badRequest("column %s: unknown type \"%s\"", name, type);
        boolean hasConstant = fields.has("constant"), hasSequence = fields.has("sequence"), hasStamp = fields.has("stamp");
        List<Object> list = fields.list("parts");
        long proof = fields.word("proof");
        boolean counter = fields.bool("counter");
        constant = fields.bytes("constant");
        Fields sequence = fields.object("sequence"), stamp = fields.object("stamp");
        fields.end();
        int sources = (hasConstant ? 1 : 0) + (hasSequence ? 1 : 0) + (list.isEmpty() ? 0 : 1) + (proof != 0 ? 1 : 0) + (hasStamp ? 1 : 0)
                + (counter ? 1 : 0);
        if (sources != 1)
            throw Refusal.badRequest("column %s: expected one of constant, sequence, parts, proof, stamp and counter", name);
        boolean integer = type.equals("integer");
        proofBytes = (int) Math.min(Integer.MAX_VALUE, proof);
        if (hasStamp) {
            source = Source.STAMP;
            readStamp(stamp, integer);
        } else if (counter) {
            source = Source.COUNTER;
            if (!integer)
                throw Refusal.badRequest("column %s: a counter is of type integer", name);
        } else if (proof != 0) {
            source = Source.PROOF;
            if (!type.equals("bytes") || proof < ValuePool.STAMP_BYTES || proof > COLUMN_BYTES_MAX)
                throw Refusal.badRequest("column %s: a proof is of type bytes and has %d to %d of them", name, ValuePool.STAMP_BYTES, COLUMN_BYTES_MAX);
        } else if (hasSequence) {
            source = Source.SEQUENCE;
            readSequence(sequence);
        } else if (hasConstant) {
            source = Source.CONSTANT;
        } else {
            source = Source.PARTS;
            readParts(list, partsLeft);
        }
        if (bytesMax() > COLUMN_BYTES_MAX)
            throw Refusal.badRequest("column %s has more than %d bytes", name, COLUMN_BYTES_MAX);
        if (integer && !varies() && !isInteger())
            throw Refusal.badRequest("column %s: an integer has 1 to %d digits for every index, no zeros in front, prefix or suffix", name, INTEGER_DIGITS_MAX);
    }

    /** A part. */
    private Column(Object given) throws Refusal {
        Fields fields = new Fields("a part", given);
        name = type = "";
        proofBytes = 0;
        constant = fields.bytes("text");
        boolean hasSequence = fields.has("sequence"), hasWords = fields.has("words");
        Fields sequence = fields.object("sequence"), words = fields.object("words");
        fields.end();
        if ((constant.length > 0 ? 1 : 0) + (hasSequence ? 1 : 0) + (hasWords ? 1 : 0) != 1)
            throw Refusal.badRequest("a part has one of text, sequence and words");
        source = hasSequence ? Source.SEQUENCE : hasWords ? Source.WORDS : Source.CONSTANT;
        if (hasSequence)
            readSequence(sequence);
        if (hasWords)
            readWords(words);
    }

    private void readStamp(Fields fields, boolean integer) throws Refusal {
        stampModulo = fields.word("modulo");
        fields.end();
        if (!integer || stampModulo < 1 || stampModulo > STAMP_MODULO_MAX)
            throw Refusal.badRequest("column %s: a stamp is of type integer, and its modulo 1 to 10^17", name);
        for (stampLeast = 1; stampLeast < stampModulo;)
            stampLeast *= 10;
    }

    private void readSequence(Fields fields) throws Refusal {
        prefix = fields.bytes("prefix");
        suffix = fields.bytes("suffix");
        long given = fields.word("divide"), factor = fields.word("multiply");
        shift = fields.word("shift");
        modulo = fields.word("modulo");
        add = fields.word("add");
        List<Object> widths = fields.list("steps");
        fields.end();
        if (widths.size() > STEPS_MAX || (!widths.isEmpty() && given != 0))
            throw Refusal.badRequest("a sequence has either divide or at most %d steps", STEPS_MAX);
        readSteps("steps", widths, KeyShape.INDEX_MAX);
        if (Long.compareUnsigned(shift, KeyShape.INDEX_MAX) > 0)
            throw Refusal.badRequest("a sequence's shift is at most 2^48-1");
        divide = given != 0 ? given : 1;
        multiply = factor != 0 ? factor : 1;
    }

    private void readSteps(String field, List<Object> list, long max) throws Refusal {
        steps = new long[list.size()];
        for (int i = 0; i < steps.length; i++) {
            steps[i] = Fields.wordOf(field, list.get(i));
            if (steps[i] < 1 || steps[i] > max)
                throw Refusal.badRequest("%s are 1 to %d", field, max);
            cycle += steps[i];
        }
    }

    private void readWords(Fields fields) throws Refusal {
        long length = fields.word("letters");
        List<Object> counts = fields.list("counts");
        fields.end();
        if (length < 1 || length > LETTERS_MAX || counts.isEmpty() || counts.size() > STEPS_MAX)
            throw Refusal.badRequest("words have 1 to %d letters, and 1 to %d counts", LETTERS_MAX, STEPS_MAX);
        readSteps("counts", counts, WORD_COUNT_MAX);
        letters = (int) length;
        wordsAll = 1;
        for (int i = 0; i < letters; i++)
            wordsAll *= 26;
    }

    private void readParts(List<Object> list, int[] left) throws Refusal {
        if ((left[0] -= list.size()) < 0)
            throw Refusal.badRequest("more than 64 parts in all columns together");
        parts = new Column[list.size()];
        for (int i = 0; i < parts.length; i++)
            parts[i] = new Column(list.get(i));
    }

    private boolean isInteger() {
        if (source == Source.CONSTANT)
            return isDecimal(constant, 0, constant.length);
        return source == Source.SEQUENCE && prefix.length + suffix.length == 0 && neverWraps()
                && Long.compareUnsigned(numberMax(), 1_000_000_000_000_000_000L) < 0;
    }

    /** Digits only, and none that a store which keeps numbers would lose. */
    static boolean isDecimal(byte[] data, int at, int length) {
        if (length < 1 || length > INTEGER_DIGITS_MAX || (data[at] == '0' && length > 1))
            return false;
        for (int i = at; i < at + length; i++)
            if (data[i] < '0' || data[i] > '9')
                return false;
        return true;
    }

    /** Is it the proof or a stamp, which follow the version? */
    boolean follows() {
        return source == Source.PROOF || source == Source.STAMP;
    }

    boolean varies() {
        return follows() || source == Source.COUNTER;
    }

    boolean leadsBack() {
        return source == Source.SEQUENCE && modulo == 0 && divide == 1 && steps.length == 0 && shift == 0 && neverWraps();
    }

    private long quotient(long index) {
        if (steps.length == 0)
            return divide == 1 ? index : Long.divideUnsigned(index, divide);
        long n = index / cycle * steps.length, rest = index % cycle;
        for (int i = 0; i < steps.length && rest >= steps[i]; i++, n++)
            rest -= steps[i];
        return n;
    }

    private long number(long index) {
        long n = quotient(index) + shift;
        if (modulo != 0)
            n = Long.remainderUnsigned(n, modulo);
        return n * multiply + add;
    }

    /** The largest n before it is multiplied. */
    private long factorMax() {
        long n = quotient(KeyShape.INDEX_MAX) + shift;
        return modulo != 0 && Long.compareUnsigned(n, modulo) >= 0 ? modulo - 1 : n;
    }

    private boolean neverWraps() {
        long n = factorMax(), product = n * multiply;
        return (n == 0 || Long.divideUnsigned(product, n) == multiply) && Long.compareUnsigned(product + add, product) >= 0;
    }

    /** The largest number; 2^64-1 where n begins again at 0 somewhere. */
    private long numberMax() {
        return neverWraps() ? factorMax() * multiply + add : -1;
    }

    private static int digits(long n) {
        return Long.toUnsignedString(n).length();
    }

    /** The length of the longest bytes. */
    int bytesMax() {
        switch (source) {
            case CONSTANT:
                return constant.length;
            case PROOF:
                return proofBytes;
            case STAMP:
                return digits(stampLeast);
            case COUNTER:
                return INTEGER_DIGITS_MAX;
            case WORDS:
                long most = 0;
                for (long count : steps)
                    most = Math.max(most, count);
                return (int) most * (letters + 1) - 1;
            case PARTS:
                int all = 0;
                for (Column part : parts)
                    all += part.bytesMax();
                return all;
            default:
                return prefix.length + digits(numberMax()) + suffix.length;
        }
    }

    private static int append(byte[] bytes, byte[] to, int at) {
        System.arraycopy(bytes, 0, to, at, bytes.length);
        return at + bytes.length;
    }

    /** Records take words in turn, each from where the one before it ended. */
    private int writeWords(byte[] to, int at, long index) {
        long n = index / steps.length * cycle;
        int place = (int) (index % steps.length);
        for (int i = 0; i < place; i++)
            n += steps[i];
        for (long i = 0; i < steps[place]; i++) {
            long word = Long.remainderUnsigned(n + i, wordsAll);
            if (i > 0)
                to[at++] = ' ';
            for (int letter = letters; letter-- > 0; word /= 26)
                to[at + letter] = (byte) ('a' + word % 26);
            at += letters;
        }
        return at;
    }

    /** Writes its bytes in the record of an index and a version; returns where they end. */
    int write(ValuePool pool, byte[] to, int at, long index, long version) {
        switch (source) {
            case PROOF:
                pool.write(to, at, proofBytes, index, version);
                return at + proofBytes;
            case COUNTER:
                to[at] = '0'; // what a put writes
                return at + 1;
            case STAMP:
                long write = Mix.mix(index ^ version * 0xff51afd7ed558ccdL ^ (position + 1L) << 56);
                return Mix.decimal(stampLeast + Long.remainderUnsigned(write, stampModulo), 0, to, at);
            case CONSTANT:
                return append(constant, to, at);
            case WORDS:
                return writeWords(to, at, index);
            case PARTS:
                for (Column part : parts)
                    at = part.write(pool, to, at, index, version);
                return at;
            default:
                at = Mix.decimal(number(index), 0, to, append(prefix, to, at));
                return append(suffix, to, at);
        }
    }

    /** The index whose number the bytes are, of one that leads back; -1: there is none. */
    long indexOf(Bytes bytes) {
        int affixes = prefix.length + suffix.length, digits = bytes.length - affixes;
        if (digits < 1 || digits > Mix.DIGITS_MAX)
            return -1;
        String text = new String(bytes.data, bytes.offset + prefix.length, digits, StandardCharsets.ISO_8859_1);
        if (!text.chars().allMatch(c -> c >= '0' && c <= '9'))
            return -1;
        try {
            long index = Long.divideUnsigned(Long.parseUnsignedLong(text) - add, multiply);
            return Long.compareUnsigned(index, KeyShape.INDEX_MAX) <= 0 ? index : -1;
        } catch (NumberFormatException beyondAWord) {
            return -1;
        }
    }

    /** Is every byte of it a character from space to ~, and is it never empty? So a prefix may end anywhere. */
    boolean isPlainText() {
        switch (source) {
            case WORDS:
                return true;
            case SEQUENCE:
                return isPlain(prefix) && isPlain(suffix);
            case PARTS:
                for (Column part : parts)
                    if (!part.isPlainText())
                        return false;
                return true;
            default:
                return constant.length > 0 && isPlain(constant);
        }
    }

    private static boolean isPlain(byte[] text) {
        for (byte c : text)
            if (c < ' ' || c > '~')
                return false;
        return true;
    }

    boolean hasWord() {
        if (source == Source.SEQUENCE || source == Source.WORDS)
            return true;
        for (Column part : parts)
            if (part.hasWord())
                return true;
        for (byte c : constant)
            if (c != ' ' && c != ',')
                return true;
        return false;
    }
}
