package assay.jdbc;

import java.nio.charset.StandardCharsets;

/** FNV-1a of 64 bits, by which the drivers in Go name their locks. */
final class Fnv {
    private static final long BASIS = 0xcbf29ce484222325L;
    private static final long PRIME = 0x100000001b3L;

    private Fnv() {}

    static long hash(String text) {
        long h = BASIS;
        for (byte b : text.getBytes(StandardCharsets.UTF_8))
            h = (h ^ b & 0xff) * PRIME;
        return h;
    }
}
