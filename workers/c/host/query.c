#include "query.h"

static bool is_separator(unsigned char byte) { return byte == ' ' || byte == ','; }

struct assay_bytes query_next_word(struct assay_bytes *rest) {
    const unsigned char *at = rest->data;
    size_t start = 0, end;
    while (start < rest->length && is_separator(at[start]))
        start++;
    for (end = start; end < rest->length && !is_separator(at[end]); end++) {
    }
    struct assay_bytes word = {at + start, end - start};
    *rest = (struct assay_bytes){at + end, rest->length - end};
    return word;
}

void query_measure(struct query_shape *shape, const struct record_shape *record) {
    shape->projected = shape->told.columns_count != record->columns;
    shape->proof = shape->leads_back = -1;
    for (size_t i = 0; i < shape->told.columns_count; i++) {
        size_t column = shape->columns[i];
        shape->projected = shape->projected || column != i;
        if ((int)column == record->proof)
            shape->proof = (int)i;
        if (shape->leads_back < 0 && column_leads_back(&record->column[column]))
            shape->leads_back = (int)i;
    }
}

size_t query_room(const struct query_shape *shape, const struct record_shape *record) {
    size_t bytes = 0;
    for (size_t i = 0; i < shape->told.conditions_count; i++) {
        bytes += column_bytes_max(&record->column[shape->conditions[i].column]);
        if (shape->conditions[i].is == ASSAY_RANGE)
            bytes += DECIMAL_DIGITS_MAX;
    }
    return bytes;
}

static uint64_t number_of(struct assay_bytes decimal) {
    const unsigned char *at = decimal.data;
    uint64_t n = 0;
    for (size_t i = 0; i < decimal.length; i++)
        n = 10 * n + (uint64_t)(at[i] - '0');
    return n;
}

/* A word by its number, counted from 0 and around. */
static struct assay_bytes word_of(struct assay_bytes text, uint64_t number) {
    struct assay_bytes rest = text, word;
    uint64_t words = 0;
    while (query_next_word(&rest).length > 0)
        words++;
    rest = text;
    word = query_next_word(&rest);
    for (uint64_t n = words > 0 ? number % words : 0; n > 0; n--)
        word = query_next_word(&rest);
    return word;
}

void query_ask(const struct query_shape *shape, const struct record_shape *record, uint64_t index, struct assay_bytes *values,
               unsigned char *room) {
    for (size_t i = 0; i < shape->told.conditions_count; i++) {
        struct assay_bytes own = {room, column_write(&record->column[shape->conditions[i].column], room, index)};
        room += own.length;
        switch (shape->conditions[i].is) {
        case ASSAY_RANGE:
            *values++ = own;
            own = (struct assay_bytes){room, decimal_write(number_of(own) + shape->amount[i], 0, room)};
            room += own.length;
            break;
        case ASSAY_PREFIX:
            own.length = own.length < shape->amount[i] ? own.length : shape->amount[i];
            break;
        case ASSAY_HAS:
            own = word_of(own, shape->amount[i]);
            break;
        default:
            break;
        }
        *values++ = own;
    }
}

static bool same(struct assay_bytes a, struct assay_bytes b) {
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

static bool holds(enum assay_comparison is, struct assay_bytes column, const struct assay_bytes *values) {
    struct assay_bytes word;
    uint64_t n;
    switch (is) {
    case ASSAY_RANGE:
        n = number_of(column);
        return n >= number_of(values[0]) && n < number_of(values[1]);
    case ASSAY_PREFIX:
        return column.length >= values[0].length && memcmp(column.data, values[0].data, values[0].length) == 0;
    case ASSAY_HAS:
        while ((word = query_next_word(&column)).length > 0)
            if (same(word, values[0]))
                return true;
        return false;
    default:
        return same(column, values[0]);
    }
}

bool query_holds(const struct query_shape *shape, const struct record_shape *record, const struct assay_bytes *values, uint64_t index,
                 unsigned char *scratch) {
    bool all = shape->told.alternatives == 0;
    for (size_t i = 0; i < shape->told.conditions_count; i++) {
        const struct assay_condition *c = &shape->conditions[i];
        if (i == 0 || c->alternative != c[-1].alternative) {
            if (all)
                return true;
            all = true;
        }
        if (all) {
            struct assay_bytes column = {scratch, column_write(&record->column[c->column], scratch, index)};
            all = holds(c->is, column, values);
        }
        values += c->is == ASSAY_RANGE ? 2 : 1;
    }
    return all;
}

uint64_t query_sort_number(const struct query_shape *shape, const struct record_shape *record, uint64_t index) {
    const struct column_shape *c = &record->column[shape->told.sort];
    return c->source == COLUMN_SEQUENCE ? column_number(c, index) : number_of(c->constant);
}

bool query_index(const struct query_shape *shape, const struct record_shape *record, struct assay_bytes found, uint64_t *index) {
    struct assay_bytes bytes;
    if (!shape->projected)
        return record_index(record, found, index);
    if (shape->proof >= 0)
        return record_column(found, (size_t)shape->proof, &bytes) && value_claims(bytes, index) && *index <= KEYVAL_INDEX_MAX;
    return shape->leads_back >= 0 && record_column(found, (size_t)shape->leads_back, &bytes) &&
           column_index(&record->column[shape->columns[shape->leads_back]], bytes, index);
}

bool query_check(const struct query_shape *shape, const struct record_shape *record, const struct value_pool *pool,
                 struct assay_bytes found, uint64_t index, unsigned char *scratch, uint64_t *version) {
    if (!shape->projected)
        return record_check(record, pool, found, index, scratch, version);
    struct assay_bytes bytes;
    *version = record_claimed_version(record, found, shape->proof);
    for (size_t i = 0; i < shape->told.columns_count; i++)
        if (!assay_next_column(&found, &bytes) ||
            !column_check(&record->column[shape->columns[i]], pool, bytes, index, scratch, version))
            return false;
    return found.length == 0;
}

bool query_of_other_trial(const struct query_shape *shape, const struct record_shape *record, const struct value_pool *pool,
                          struct assay_bytes found, uint64_t index) {
    struct assay_bytes proof;
    return shape->proof >= 0 && record_column(found, (size_t)shape->proof, &proof) &&
           proof.length == record->column[record->proof].proof_bytes && value_of_other_trial(pool, proof, index);
}
