package assay.worker;

import assay.driver.Bytes;
import java.util.Arrays;

/** Sections 1.3 and 1.4, steps 1 and 2: a trial's values. Read-only once made, shared by all threads. */
final class ValuePool {
    static final int STAMP_BYTES = 24;
    private static final int BLOCK_BYTES = 64;

    final byte[] bytes;
    final int tag;
    final int lengthMax;
    private final int mask;
    /** Bit n: values of n bytes, fewer than a stamp has, are the trial's. */
    private final int shortLengths;

    ValuePool(Fields fields) throws Refusal {
        long pool = fields.word("pool_bytes"), seed = fields.word("pool_seed"), repeated = fields.word("repeated_permille");
        long longest = fields.word("length_max"), shorter = fields.word("short_lengths"), trialTag = fields.word("trial_tag");
        fields.end();
        if (Long.compareUnsigned(pool, 4096) < 0 || Long.compareUnsigned(pool, 1 << 30) > 0 || Long.bitCount(pool) != 1)
            throw Refusal.badRequest("values: pool_bytes must be a power of two from 4096 to 2^30");
        if (Long.compareUnsigned(repeated, 1000) > 0)
            throw Refusal.badRequest("values: repeated_permille must be 0 to 1000");
        if (Long.compareUnsigned(longest, Integer.MAX_VALUE) > 0)
            throw Refusal.badRequest("values: length_max must be below 2^31");
        if (shorter >>> STAMP_BYTES != 0)
            throw Refusal.badRequest("values: short_lengths has bits of lengths below 24 alone");
        if (trialTag == 0 || Long.compareUnsigned(trialTag, 0xffffffffL) > 0)
            throw Refusal.badRequest("values: trial_tag must be 1 to 2^32-1");
        long length = (pool + longest + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
        if (length > Integer.MAX_VALUE - BLOCK_BYTES)
            throw Refusal.failed("values: a pool of %d bytes is more than an array of Java holds", length);
        lengthMax = (int) longest;
        shortLengths = (int) shorter;
        tag = (int) trialTag;
        mask = (int) (pool - 1) & -BLOCK_BYTES;
        bytes = new byte[(int) length];
        fill(seed, BLOCK_BYTES - (int) (BLOCK_BYTES * repeated / 1000));
    }

    private void fill(long seed, int fresh) {
        byte[] same = new byte[BLOCK_BYTES], block = new byte[BLOCK_BYTES];
        fillBlock(same, seed ^ 0x5045415445440000L);
        for (int at = 0; at < bytes.length; at += BLOCK_BYTES) {
            fillBlock(block, seed ^ (long) (at / BLOCK_BYTES) << 8);
            System.arraycopy(block, 0, bytes, at, fresh);
            System.arraycopy(same, fresh, bytes, at + fresh, BLOCK_BYTES - fresh);
        }
    }

    private static void fillBlock(byte[] block, long x) {
        for (int i = 0; i < BLOCK_BYTES; i += 8) {
            x = Mix.mix(x);
            Words.put(block, i, x);
        }
    }

    private static long hash(long index, long version) {
        return Mix.mix(index ^ version * 0xff51afd7ed558ccdL);
    }

    void write(byte[] to, int at, int length, long index, long version) {
        if (length < STAMP_BYTES) {
            writeShort(tag, to, at, length, index);
            return;
        }
        long h = hash(index, version);
        Words.put(to, at, index);
        Words.put(to, at + 8, version);
        Words.putHalf(to, at + 16, length);
        Words.putHalf(to, at + 20, (int) (h >>> 32) ^ length ^ tag);
        System.arraycopy(bytes, (int) h & mask, to, at + STAMP_BYTES, length - STAMP_BYTES);
    }

    /** Its length is in it: a part of a longer value is none. */
    private static long firstWord(int tag, long index, int length) {
        return index ^ tag & 0xffffffffL ^ (long) length << 56;
    }

    static void writeShort(int tag, byte[] to, int at, int length, long index) {
        long word = firstWord(tag, index, length);
        for (int i = at; i < at + length; i += 8) {
            word = Mix.mix(word);
            Words.putPart(to, i, at + length, word);
        }
    }

    static boolean isShort(int tag, Bytes value, long index) {
        long word = firstWord(tag, index, value.length);
        for (int i = 0; i < value.length; i++, word >>>= 8) {
            if (i % 8 == 0)
                word = Mix.mix(i == 0 ? word : wordBefore(tag, index, value.length, i));
            if (value.data[value.offset + i] != (byte) word)
                return false;
        }
        return true;
    }

    /** The word before the one that byte i begins: a value is at most three words long. */
    private static long wordBefore(int tag, long index, int length, int i) {
        long word = firstWord(tag, index, length);
        for (int done = 0; done < i; done += 8)
            word = Mix.mix(word);
        return word;
    }

    /** Do index, length and body agree with the stamp, whatever trial it is of? */
    private boolean isStamped(Bytes value, long index) {
        int body = value.length - STAMP_BYTES;
        if (body < 0 || body > bytes.length - mask) // longer than any value of the trial: the pool ends before it
            return false;
        int at = value.offset;
        if (Words.get(value.data, at) != index || Words.getHalf(value.data, at + 16) != value.length)
            return false;
        int from = (int) hash(index, version(value)) & mask;
        return Arrays.equals(value.data, at + STAMP_BYTES, at + value.length, bytes, from, from + body);
    }

    private int tagOf(Bytes value, long index) {
        return Words.getHalf(value.data, value.offset + 20) ^ (int) (hash(index, version(value)) >>> 32) ^ value.length;
    }

    /** Is it a value of that index and this trial? */
    boolean isRight(Bytes value, long index) {
        if (value.length < STAMP_BYTES)
            return (shortLengths >>> value.length & 1) != 0 && isShort(tag, value, index);
        return isStamped(value, index) && tagOf(value, index) == tag;
    }

    /** Is it right for that index but for its trial's tag? */
    boolean isOfOtherTrial(Bytes value, long index) {
        return value.length >= STAMP_BYTES && isStamped(value, index) && tagOf(value, index) != tag;
    }

    /** The version that a value claims; 0 where it is too short to claim one. */
    static long version(Bytes value) {
        return value.length < STAMP_BYTES ? 0 : Words.get(value.data, value.offset + 8);
    }
}
