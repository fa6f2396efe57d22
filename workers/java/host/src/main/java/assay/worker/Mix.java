package assay.worker;

/** Section 1.1 and 1.2 of the contract: the mixing function, YCSB's hash, and numbers in decimal. */
final class Mix {
    static final int DIGITS_MAX = 20;
    private static final byte[] PAIRS = pairs();

    private Mix() {}

    static long mix(long x) {
        long z = x + 0x9e3779b97f4a7c15L;
        z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    static long ycsbHash(long n) {
        long h = 0xCBF29CE484222325L;
        for (int i = 0; i < 8; i++) {
            h = (h ^ n & 0xff) * 1099511628211L;
            n >>>= 8;
        }
        return h < 0 ? -h : h;
    }

    private static byte[] pairs() {
        byte[] all = new byte[200];
        for (int i = 0; i < 100; i++) {
            all[2 * i] = (byte) ('0' + i / 10);
            all[2 * i + 1] = (byte) ('0' + i % 10);
        }
        return all;
    }

    private static int countDigits(long n) {
        if (n < 0)
            return Long.compareUnsigned(n, -8446744073709551616L) >= 0 ? 20 : 19;
        int digits = 1;
        for (long bound = 10; digits < 19 && n >= bound; bound *= 10)
            digits++;
        return digits;
    }

    /** Writes a word in decimal, padded with zeros to so many digits; returns where it ends. */
    static int decimal(long n, int padded, byte[] to, int at) {
        int digits = countDigits(n), end = at + Math.max(padded, digits);
        while (at < end - digits)
            to[at++] = '0';
        int p = end;
        if (n < 0) { // the last digit alone needs an unsigned division
            long rest = Long.divideUnsigned(n, 10);
            to[--p] = (byte) ('0' + (n - rest * 10));
            n = rest;
        }
        while (n >= 100) {
            int pair = 2 * (int) (n % 100);
            n /= 100;
            to[--p] = PAIRS[pair + 1];
            to[--p] = PAIRS[pair];
        }
        if (n >= 10) {
            to[--p] = PAIRS[2 * (int) n + 1];
            to[--p] = PAIRS[2 * (int) n];
        } else if (p > at) {
            to[--p] = (byte) ('0' + n);
        }
        return end;
    }
}
