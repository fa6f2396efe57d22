#include "record.h"

static inline uint64_t quotient(const struct column_shape *c, uint64_t index) {
    if (c->cycle == 0)
        return c->divide > 1 ? index / c->divide : index;
    uint64_t n = index / c->cycle * c->steps_count, rest = index % c->cycle;
    for (size_t i = 0; i < c->steps_count && rest >= c->steps[i]; i++, n++)
        rest -= c->steps[i];
    return n;
}

uint64_t column_number(const struct column_shape *c, uint64_t index) {
    uint64_t n = quotient(c, index) + c->shift;
    if (c->modulo > 0)
        n %= c->modulo;
    return n * c->multiply + c->add;
}

bool column_number_max(const struct column_shape *c, uint64_t *largest) {
    uint64_t n = quotient(c, KEYVAL_INDEX_MAX) + c->shift, product;
    if (c->modulo > 0 && n >= c->modulo)
        n = c->modulo - 1;
    if (!__builtin_mul_overflow(n, c->multiply, &product) && !__builtin_add_overflow(product, c->add, largest))
        return true;
    *largest = UINT64_MAX;
    return false;
}

size_t column_bytes_max(const struct column_shape *c) {
    unsigned char digits[DECIMAL_DIGITS_MAX];
    uint64_t largest = 0;
    size_t bytes = 0;
    switch (c->source) {
    case COLUMN_CONSTANT:
        return c->constant.length;
    case COLUMN_PROOF:
        return c->proof_bytes;
    case COLUMN_PARTS:
        for (size_t i = 0; i < c->parts_count; i++)
            bytes += column_bytes_max(c + c->parts_behind + i);
        return bytes;
    case COLUMN_WORDS:
        for (size_t i = 0; i < c->steps_count; i++)
            largest = c->steps[i] > largest ? c->steps[i] : largest;
        return largest * (c->letters + 1) - 1;
    case COLUMN_STAMP:
        return decimal_write(c->stamp_least, 0, digits);
    case COLUMN_COUNTER:
        return RECORD_INTEGER_DIGITS_MAX;
    default:
        column_number_max(c, &largest);
        return c->prefix.length + decimal_write(largest, 0, digits) + c->suffix.length;
    }
}

bool column_leads_back(const struct column_shape *c) {
    uint64_t largest;
    return c->source == COLUMN_SEQUENCE && c->modulo == 0 && c->divide == 1 && c->cycle == 0 && c->shift == 0 && column_number_max(c, &largest);
}

void record_measure(struct record_shape *shape) {
    shape->bytes_max = shape->following_count = 0;
    shape->proof = shape->leads_back = shape->counter = -1;
    for (size_t i = 0; i < shape->columns; i++) {
        struct column_shape *c = &shape->column[i];
        c->position = i;
        if (column_follows(c))
            shape->following[shape->following_count++] = i;
        shape->bytes_max += RECORD_LENGTH_BYTES + column_bytes_max(c);
        if (c->source == COLUMN_PROOF)
            shape->proof = (int)i;
        if (c->source == COLUMN_COUNTER)
            shape->counter = (int)i;
        if (shape->leads_back < 0 && column_leads_back(c))
            shape->leads_back = (int)i;
    }
}

static inline unsigned char *append(unsigned char *at, struct assay_bytes bytes) {
    if (bytes.length > 0)
        memcpy(at, bytes.data, bytes.length);
    return at + bytes.length;
}

/* Records take words in turn, each from where the one before it ended. */
static unsigned char *append_words(unsigned char *at, const struct column_shape *c, uint64_t index) {
    uint64_t n = index / c->steps_count * c->cycle, place = index % c->steps_count;
    for (uint64_t i = 0; i < place; i++)
        n += c->steps[i];
    for (uint64_t i = 0; i < c->steps[place]; i++) {
        uint64_t word = (n + i) % c->words_all;
        if (i > 0)
            *at++ = ' ';
        for (size_t letter = c->letters; letter-- > 0; word /= 26)
            at[letter] = (unsigned char)('a' + word % 26);
        at += c->letters;
    }
    return at;
}

static unsigned char *append_parts(unsigned char *at, const struct column_shape *c, uint64_t index) {
    const struct column_shape *part = c + c->parts_behind, *end = part + c->parts_count;
    for (; part < end; part++)
        at = part->source == COLUMN_WORDS ? append_words(at, part, index) : at + column_write(part, at, index);
    return at;
}

bool column_follows(const struct column_shape *c) { return c->source == COLUMN_PROOF || c->source == COLUMN_STAMP; }

bool column_varies(const struct column_shape *c) { return column_follows(c) || c->source == COLUMN_COUNTER; }

/* Digits only, and none that a store which keeps numbers would lose. */
bool column_is_decimal(struct assay_bytes bytes) {
    const char *digits = bytes.data;
    if (bytes.length < 1 || bytes.length > RECORD_INTEGER_DIGITS_MAX || (digits[0] == '0' && bytes.length > 1))
        return false;
    for (size_t i = 0; i < bytes.length; i++)
        if (digits[i] < '0' || digits[i] > '9')
            return false;
    return true;
}

uint64_t record_counted(const struct record_shape *shape, struct assay_bytes record) {
    struct assay_bytes bytes;
    uint64_t n = 0;
    if (shape->counter < 0 || !record_column(record, (size_t)shape->counter, &bytes) || !column_is_decimal(bytes))
        return 0;
    for (size_t i = 0; i < bytes.length; i++)
        n = 10 * n + (uint64_t)(((const char *)bytes.data)[i] - '0');
    return n;
}

/* Writes the number of a stamp; returns its length. */
static size_t stamp_write(const struct column_shape *c, unsigned char *at, uint64_t index, uint64_t version) {
    uint64_t of_write = keyval_mix(index ^ version * UINT64_C(0xff51afd7ed558ccd) ^ (c->position + 1) << 56);
    return decimal_write(c->stamp_least + of_write % c->stamp_modulo, 0, at);
}

size_t column_write(const struct column_shape *c, unsigned char *start, uint64_t index) {
    if (c->source == COLUMN_CONSTANT)
        return (size_t)(append(start, c->constant) - start);
    if (c->source == COLUMN_PARTS)
        return (size_t)(append_parts(start, c, index) - start);
    unsigned char *at = append(start, c->prefix);
    at += decimal_write(column_number(c, index), 0, at);
    return (size_t)(append(at, c->suffix) - start);
}

/* Writes the bytes of any column. */
static inline size_t write_column(const struct column_shape *c, const struct value_pool *pool, unsigned char *at, uint64_t index, uint64_t version) {
    if (c->source == COLUMN_PROOF) {
        value_write(pool, at, c->proof_bytes, index, version);
        return c->proof_bytes;
    }
    if (c->source == COLUMN_COUNTER) {
        *at = '0'; /* what a put writes */
        return 1;
    }
    return c->source == COLUMN_STAMP ? stamp_write(c, at, index, version) : column_write(c, at, index);
}

size_t record_following(const struct record_shape *shape, const struct value_pool *pool, unsigned char *start, uint64_t index,
                        uint64_t version, struct assay_bytes *values) {
    unsigned char *at = start;
    for (size_t i = 0; i < shape->following_count; i++) {
        values[i] = (struct assay_bytes){at, write_column(&shape->column[shape->following[i]], pool, at, index, version)};
        at += values[i].length;
    }
    return (size_t)(at - start);
}

size_t record_write(const struct record_shape *shape, const struct value_pool *pool, unsigned char *start, uint64_t index,
                    uint64_t version) {
    unsigned char *at = start;
    for (size_t i = 0; i < shape->columns; i++) {
        size_t length = write_column(&shape->column[i], pool, at + RECORD_LENGTH_BYTES, index, version);
        uint16_t length16 = (uint16_t)length;
        memcpy(at, &length16, sizeof length16);
        at += RECORD_LENGTH_BYTES + length;
    }
    return (size_t)(at - start);
}

static bool same(struct assay_bytes a, const unsigned char *b, size_t length) {
    return a.length == length && (length == 0 || memcmp(a.data, b, length) == 0);
}

bool column_check(const struct column_shape *c, const struct value_pool *pool, struct assay_bytes bytes, uint64_t index,
                  unsigned char *scratch, uint64_t *version) {
    if (c->source == COLUMN_PROOF)
        return bytes.length == c->proof_bytes && value_check(pool, bytes, index, version);
    if (c->source == COLUMN_COUNTER)
        return column_is_decimal(bytes);
    return same(bytes, scratch, write_column(c, pool, scratch, index, *version));
}

uint64_t record_claimed_version(const struct record_shape *shape, struct assay_bytes columns, int proof) {
    struct assay_bytes bytes;
    uint64_t version = 0;
    if (shape->following_count > 1 && proof >= 0 && record_column(columns, (size_t)proof, &bytes) && bytes.length >= KEYVAL_STAMP_BYTES)
        memcpy(&version, (const unsigned char *)bytes.data + sizeof version, sizeof version);
    return version;
}

bool record_check(const struct record_shape *shape, const struct value_pool *pool, struct assay_bytes rest, uint64_t index,
                  unsigned char *scratch, uint64_t *version) {
    struct assay_bytes bytes;
    *version = record_claimed_version(shape, rest, shape->proof);
    for (size_t i = 0; i < shape->columns; i++) {
        if (!assay_next_column(&rest, &bytes) || !column_check(&shape->column[i], pool, bytes, index, scratch, version))
            return false;
    }
    return rest.length == 0;
}

bool record_column(struct assay_bytes rest, size_t column, struct assay_bytes *bytes) {
    for (size_t i = 0; i <= column; i++)
        if (!assay_next_column(&rest, bytes))
            return false;
    return true;
}

bool record_claims(const struct record_shape *shape, struct assay_bytes record, uint64_t *index) {
    struct assay_bytes proof;
    return shape->proof >= 0 && record_column(record, (size_t)shape->proof, &proof) && value_claims(proof, index);
}

/* What is no number, or none that the sequence reaches, leads nowhere. */
bool column_index(const struct column_shape *c, struct assay_bytes bytes, uint64_t *index) {
    const unsigned char *at = bytes.data;
    size_t affixes = c->prefix.length + c->suffix.length;
    if (bytes.length <= affixes || bytes.length > affixes + DECIMAL_DIGITS_MAX)
        return false;
    uint64_t n = 0;
    for (at += c->prefix.length; bytes.length > affixes; bytes.length--, at++) {
        uint64_t digit = (uint64_t)*at - '0', ten;
        if (digit > 9 || __builtin_mul_overflow(n, 10, &ten) || __builtin_add_overflow(ten, digit, &n))
            return false;
    }
    *index = (n - c->add) / c->multiply;
    return *index <= KEYVAL_INDEX_MAX;
}

bool record_index(const struct record_shape *shape, struct assay_bytes record, uint64_t *index) {
    struct assay_bytes bytes;
    if (shape->proof >= 0)
        return record_claims(shape, record, index) && *index <= KEYVAL_INDEX_MAX;
    return shape->leads_back >= 0 && record_column(record, (size_t)shape->leads_back, &bytes) &&
           column_index(&shape->column[shape->leads_back], bytes, index);
}

bool record_of_other_trial(const struct record_shape *shape, const struct value_pool *pool, struct assay_bytes record, uint64_t index) {
    struct assay_bytes proof;
    return shape->proof >= 0 && record_column(record, (size_t)shape->proof, &proof) &&
           proof.length == shape->column[shape->proof].proof_bytes && value_of_other_trial(pool, proof, index);
}
