/* Keys and values from index, version and length, and back: sections 1.1 to 1.4 of
 * docs/worker-contract.md. */
#ifndef ASSAY_HOST_KEYVAL_H
#define ASSAY_HOST_KEYVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "assay_driver.h"

#define KEYVAL_INDEX_MAX ((UINT64_C(1) << 48) - 1)
enum { KEYVAL_STAMP_BYTES = 24, KEYVAL_AFFIX_BYTES_MAX = 255, KEYVAL_PHASE_MAX = 255 };

enum { KEYVAL_STRETCHES_MAX = 1024, KEYVAL_KEY_BYTES_MAX = 65535 };

enum key_format { KEY_BINARY, KEY_DECIMAL, KEY_YCSB };

/* Indexes whose keys have one length, up to the next stretch. */
struct key_stretch {
    uint64_t from, first; /* the first index, and the number that its key holds */
    size_t bytes;
};

struct key_shape {
    enum key_format format;
    bool scatter;
    unsigned digits;
    uint64_t first; /* of decimal keys: the number of index 0 */
    size_t bytes; /* of a binary key */
    size_t prefix_bytes, suffix_bytes;
    unsigned char prefix[KEYVAL_AFFIX_BYTES_MAX], suffix[KEYVAL_AFFIX_BYTES_MAX];
    unsigned stretches; /* 0: all keys have one length, or that of their digits */
    size_t longest;     /* of all stretches */
    struct key_stretch stretch[KEYVAL_STRETCHES_MAX];
};

static inline uint64_t keyval_mix(uint64_t x) {
    uint64_t z = x + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t keyval_ycsb_hash(uint64_t n);

enum { DECIMAL_DIGITS_MAX = 20 }; /* of 2^64 - 1 */

/* Writes n in decimal, with zeros in front up to so many digits; returns its length. */
size_t decimal_write(uint64_t n, unsigned digits, unsigned char *at);

/* The length of the longest key. */
size_t key_bytes_max(const struct key_shape *shape);

/* Writes the key of an index to at, where key_bytes_max + 8 bytes are free; returns its length. */
size_t key_write_any(const struct key_shape *shape, uint64_t index, unsigned char *at);

/* Binary keys of 16 bytes, the commonest, are made in place. Words are stored as the machine has
 * them: trace.c refuses machines that are not little-endian. */
static inline size_t key_write(const struct key_shape *shape, uint64_t index, unsigned char *at) {
    if (shape->format == KEY_BINARY && shape->bytes == 16 && shape->prefix_bytes == 0) {
        uint64_t n = shape->scatter ? keyval_mix(index) : index;
        uint64_t high = __builtin_bswap64(n), low = keyval_mix(n);
        memcpy(at, &high, 8);
        memcpy(at + 8, &low, 8);
        return 16;
    }
    return key_write_any(shape, index, at);
}

struct value_shape {
    uint64_t pool_bytes, pool_seed, repeated_permille, length_max, short_lengths, trial_tag;
};

/* The bytes that values are cut from: read-only once made, shared by all threads. */
struct value_pool {
    unsigned char *bytes;
    size_t length;
    uint64_t mask;
    uint32_t tag;   /* the trial's */
    uint32_t short_lengths; /* bit n: values of n bytes, fewer than a stamp has, are the trial's */
};

/* False: there is no memory. */
bool pool_make(struct value_pool *pool, const struct value_shape *shape);
void pool_free(struct value_pool *pool);

void value_write_short(const struct value_pool *pool, unsigned char *at, size_t length, uint64_t index);

static inline uint64_t value_hash(uint64_t index, uint64_t version) {
    return keyval_mix(index ^ version * UINT64_C(0xff51afd7ed558ccd));
}

/* Writes the value of an index and a version over length bytes. */
static inline void value_write(const struct value_pool *pool, unsigned char *at, size_t length, uint64_t index,
                               uint64_t version) {
    if (length < KEYVAL_STAMP_BYTES) {
        value_write_short(pool, at, length, index);
        return;
    }
    uint64_t h = value_hash(index, version);
    uint32_t length32 = (uint32_t)length, check = (uint32_t)(h >> 32) ^ length32 ^ pool->tag;
    memcpy(at, &index, 8);
    memcpy(at + 8, &version, 8);
    memcpy(at + 16, &length32, 4);
    memcpy(at + 20, &check, 4);
    memcpy(at + KEYVAL_STAMP_BYTES, pool->bytes + (h & pool->mask), length - KEYVAL_STAMP_BYTES);
}

/* Steps 1 and 2 of section 1.4: is it a value of that index and this trial? Sets the version that
 * it proves, 0 for a short value. */
bool value_check(const struct value_pool *pool, struct assay_bytes value, uint64_t index, uint64_t *version);

/* Is it right for that index but for its trial's tag? A value too short for a stamp does not tell.
 * */
bool value_of_other_trial(const struct value_pool *pool, struct assay_bytes value, uint64_t index);

/* The index that a value's stamp claims; false for a value that is too short to claim one. */
bool value_claims(struct assay_bytes value, uint64_t *index);

static inline uint64_t version_make(uint64_t phase, uint64_t thread, uint64_t sequence) {
    return phase << 56 | thread << 40 | sequence;
}

#endif
