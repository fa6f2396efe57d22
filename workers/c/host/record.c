#include "record.h"

static inline uint64_t column_number(const struct column_shape *c, uint64_t index) {
    uint64_t n = index;
    if (c->divide > 1)
        n /= c->divide;
    if (c->modulo > 0)
        n %= c->modulo;
    return n * c->multiply + c->add;
}

bool column_number_max(const struct column_shape *c, uint64_t *largest) {
    uint64_t n = KEYVAL_INDEX_MAX / c->divide, product;
    if (c->modulo > 0 && n >= c->modulo)
        n = c->modulo - 1;
    if (!__builtin_mul_overflow(n, c->multiply, &product) && !__builtin_add_overflow(product, c->add, largest))
        return true;
    *largest = UINT64_MAX;
    return false;
}

size_t column_bytes_max(const struct column_shape *c) {
    unsigned char digits[DECIMAL_DIGITS_MAX];
    uint64_t largest;
    switch (c->source) {
    case COLUMN_CONSTANT:
        return c->constant.length;
    case COLUMN_PROOF:
        return c->proof_bytes;
    default:
        column_number_max(c, &largest);
        return c->prefix.length + decimal_write(largest, 0, digits) + c->suffix.length;
    }
}

void record_measure(struct record_shape *shape) {
    uint64_t largest;
    shape->bytes_max = 0;
    shape->proof = shape->leads_back = -1;
    for (size_t i = 0; i < shape->columns; i++) {
        const struct column_shape *c = &shape->column[i];
        shape->bytes_max += RECORD_LENGTH_BYTES + column_bytes_max(c);
        if (c->source == COLUMN_PROOF)
            shape->proof = (int)i;
        bool injective = c->source == COLUMN_SEQUENCE && c->modulo == 0 && c->divide == 1 && column_number_max(c, &largest);
        if (injective && shape->leads_back < 0)
            shape->leads_back = (int)i;
    }
}

static inline unsigned char *append(unsigned char *at, struct assay_bytes bytes) {
    if (bytes.length > 0)
        memcpy(at, bytes.data, bytes.length);
    return at + bytes.length;
}

size_t column_write(const struct column_shape *c, unsigned char *start, uint64_t index) {
    if (c->source == COLUMN_CONSTANT)
        return (size_t)(append(start, c->constant) - start);
    unsigned char *at = append(start, c->prefix);
    at += decimal_write(column_number(c, index), 0, at);
    return (size_t)(append(at, c->suffix) - start);
}

size_t record_write(const struct record_shape *shape, const struct value_pool *pool, unsigned char *start, uint64_t index,
                    uint64_t version) {
    unsigned char *at = start;
    for (size_t i = 0; i < shape->columns; i++) {
        const struct column_shape *c = &shape->column[i];
        size_t length = c->proof_bytes;
        if (c->source == COLUMN_PROOF)
            value_write(pool, at + RECORD_LENGTH_BYTES, length, index, version);
        else
            length = column_write(c, at + RECORD_LENGTH_BYTES, index);
        uint16_t length16 = (uint16_t)length;
        memcpy(at, &length16, sizeof length16);
        at += RECORD_LENGTH_BYTES + length;
    }
    return (size_t)(at - start);
}

static bool same(struct assay_bytes a, const unsigned char *b, size_t length) {
    return a.length == length && (length == 0 || memcmp(a.data, b, length) == 0);
}

bool record_check(const struct record_shape *shape, const struct value_pool *pool, struct assay_bytes rest, uint64_t index,
                  unsigned char *scratch, uint64_t *version) {
    struct assay_bytes bytes;
    *version = 0;
    for (size_t i = 0; i < shape->columns; i++) {
        const struct column_shape *c = &shape->column[i];
        if (!assay_next_column(&rest, &bytes))
            return false;
        bool right = c->source == COLUMN_PROOF ? bytes.length == c->proof_bytes && value_check(pool, bytes, index, version)
                                               : same(bytes, scratch, column_write(c, scratch, index));
        if (!right)
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

/* The index whose n the column's bytes are, if there is one: what is no number, or none that the
 * sequence reaches, leads nowhere. */
static bool column_index(const struct column_shape *c, struct assay_bytes bytes, uint64_t *index) {
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
