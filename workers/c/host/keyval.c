#include "keyval.h"

#include <stdlib.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the worker lays words over files as they are: it needs a little-endian machine"
#endif

uint64_t keyval_ycsb_hash(uint64_t n) {
    uint64_t h = UINT64_C(0xCBF29CE484222325);
    for (int i = 0; i < 8; i++) {
        h = (h ^ (n & 0xff)) * UINT64_C(1099511628211);
        n >>= 8;
    }
    return (h >> 63) != 0 ? -h : h;
}

size_t key_bytes_max(const struct key_shape *shape) {
    if (shape->stretches > 0)
        return shape->longest;
    if (shape->format == KEY_BINARY)
        return shape->bytes;
    return shape->prefix_bytes + DECIMAL_DIGITS_MAX + shape->suffix_bytes;
}

static size_t write_binary(uint64_t n, size_t bytes, unsigned char *at) {
    uint64_t big = __builtin_bswap64(n);
    if (bytes < 8) {
        memcpy(at, (unsigned char *)&big + 8 - bytes, bytes);
        return bytes;
    }
    memcpy(at, &big, 8);
    uint64_t word = n;
    for (size_t done = 8; done < bytes; done += 8) {
        word = keyval_mix(word);
        memcpy(at + done, &word, bytes - done < 8 ? bytes - done : 8);
    }
    return bytes;
}

size_t decimal_write(uint64_t n, unsigned digits, unsigned char *at) {
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    unsigned char reversed[DECIMAL_DIGITS_MAX];
    unsigned start = DECIMAL_DIGITS_MAX;
    while (n >= 100) {
        start -= 2;
        memcpy(reversed + start, pairs + 2 * (n % 100), 2);
        n /= 100;
    }
    if (n >= 10) {
        start -= 2;
        memcpy(reversed + start, pairs + 2 * n, 2);
    } else {
        reversed[--start] = (unsigned char)('0' + n);
    }
    unsigned length = DECIMAL_DIGITS_MAX - start, zeros = digits > length ? digits - length : 0;
    memset(at, '0', zeros);
    memcpy(at + zeros, reversed + start, length);
    return zeros + length;
}

/* The key of an index, of keys of several lengths. */
static size_t write_of_length(const struct key_shape *shape, uint64_t index, unsigned char *at) {
    unsigned low = 0, high = shape->stretches; /* the last one that begins at or before the index is in [low, high) */
    while (high - low > 1) {
        unsigned middle = (low + high) / 2;
        if (shape->stretch[middle].from <= index)
            low = middle;
        else
            high = middle;
    }
    const struct key_stretch *stretch = &shape->stretch[low];
    uint64_t n = index - stretch->from + stretch->first;
    if (shape->scatter)
        n = keyval_mix(n);
    size_t done = shape->prefix_bytes, left = stretch->bytes - done;
    memcpy(at, shape->prefix, done);
    if (shape->format == KEY_BINARY)
        return done + write_binary(n, left, at + done);
    done += decimal_write(n, left < DECIMAL_DIGITS_MAX ? (unsigned)left : DECIMAL_DIGITS_MAX, at + done);
    for (uint64_t word = n; done < stretch->bytes;) {
        word = keyval_mix(word);
        for (unsigned i = 0; i < 8 && done < stretch->bytes; i++)
            at[done++] = (unsigned char)('a' + (word >> (8 * i) & 15));
    }
    return done;
}

size_t key_write_any(const struct key_shape *shape, uint64_t index, unsigned char *at) {
    if (shape->stretches > 0)
        return write_of_length(shape, index, at);
    uint64_t n = shape->scatter ? keyval_mix(index) : index;
    size_t length = shape->prefix_bytes;
    memcpy(at, shape->prefix, length);
    if (shape->format == KEY_BINARY)
        return length + write_binary(n, shape->bytes - length, at + length);
    if (shape->format == KEY_YCSB)
        n = keyval_ycsb_hash(n);
    length += decimal_write(n + shape->first, shape->digits, at + length);
    memcpy(at + length, shape->suffix, shape->suffix_bytes);
    return length + shape->suffix_bytes;
}

enum { BLOCK_BYTES = 64, BLOCK_WORDS = BLOCK_BYTES / 8 };

static void block_words(uint64_t x, uint64_t words[BLOCK_WORDS]) {
    for (int i = 0; i < BLOCK_WORDS; i++)
        words[i] = x = keyval_mix(x);
}

bool pool_make(struct value_pool *pool, const struct value_shape *shape) {
    uint64_t blocks = (shape->pool_bytes + shape->length_max + BLOCK_BYTES - 1) / BLOCK_BYTES;
    size_t fresh = BLOCK_BYTES - BLOCK_BYTES * shape->repeated_permille / 1000;
    pool->length = blocks * BLOCK_BYTES;
    pool->mask = (shape->pool_bytes - 1) & ~(uint64_t)(BLOCK_BYTES - 1);
    pool->tag = (uint32_t)shape->trial_tag;
    pool->short_lengths = (uint32_t)shape->short_lengths;
    pool->bytes = aligned_alloc(BLOCK_BYTES, pool->length);
    if (pool->bytes == NULL)
        return false;
    uint64_t same[BLOCK_WORDS], words[BLOCK_WORDS];
    block_words(shape->pool_seed ^ UINT64_C(0x5045415445440000), same);
    for (uint64_t b = 0; b < blocks; b++) {
        unsigned char *block = pool->bytes + b * BLOCK_BYTES;
        block_words(shape->pool_seed ^ b << 8, words);
        memcpy(block, words, fresh);
        memcpy(block + fresh, (unsigned char *)same + fresh, BLOCK_BYTES - fresh);
    }
    return true;
}

void pool_free(struct value_pool *pool) {
    free(pool->bytes);
    pool->bytes = NULL;
}

void value_write_short(const struct value_pool *pool, unsigned char *at, size_t length, uint64_t index) {
    uint64_t word = index ^ pool->tag ^ (uint64_t)length << 56; /* a part of a longer value is none */
    for (size_t done = 0; done < length; done += 8) {
        word = keyval_mix(word);
        memcpy(at + done, &word, length - done < 8 ? length - done : 8);
    }
}

/* Do index, length and body agree with the stamp? Sets what it says of version and trial. */
static bool read_stamped(const struct value_pool *pool, struct assay_bytes value, uint64_t index, uint64_t *version,
                         uint32_t *tag) {
    *version = *tag = 0;
    size_t body = value.length - KEYVAL_STAMP_BYTES;
    if (body > pool->length - pool->mask) /* longer than any value of the trial: the pool ends before it */
        return false;
    const unsigned char *bytes = value.data;
    uint64_t stamp_index, stamp_version;
    uint32_t stamp_length, stamp_check;
    memcpy(&stamp_index, bytes, 8);
    memcpy(&stamp_version, bytes + 8, 8);
    memcpy(&stamp_length, bytes + 16, 4);
    memcpy(&stamp_check, bytes + 20, 4);
    uint64_t h = value_hash(index, stamp_version);
    *version = stamp_version;
    *tag = stamp_check ^ (uint32_t)(h >> 32) ^ (uint32_t)value.length;
    return stamp_index == index && stamp_length == value.length &&
           memcmp(bytes + KEYVAL_STAMP_BYTES, pool->bytes + (h & pool->mask), body) == 0;
}

bool value_check(const struct value_pool *pool, struct assay_bytes value, uint64_t index, uint64_t *version) {
    *version = 0;
    if (value.length < KEYVAL_STAMP_BYTES) {
        if ((pool->short_lengths >> value.length & 1) == 0)
            return false;
        unsigned char right[KEYVAL_STAMP_BYTES];
        value_write_short(pool, right, value.length, index);
        return value.length == 0 || memcmp(value.data, right, value.length) == 0;
    }
    uint32_t tag;
    return read_stamped(pool, value, index, version, &tag) && tag == pool->tag;
}

bool value_of_other_trial(const struct value_pool *pool, struct assay_bytes value, uint64_t index) {
    uint64_t version;
    uint32_t tag;
    return value.length >= KEYVAL_STAMP_BYTES && read_stamped(pool, value, index, &version, &tag) && tag != pool->tag;
}

bool value_claims(struct assay_bytes value, uint64_t *index) {
    if (value.length < KEYVAL_STAMP_BYTES)
        return false;
    memcpy(index, value.data, 8);
    return true;
}
