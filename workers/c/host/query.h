/* Queries of records: section 1.6 of docs/worker-contract.md. */
#ifndef ASSAY_HOST_QUERY_H
#define ASSAY_HOST_QUERY_H

#include "record.h"

enum {
    QUERY_ALTERNATIVES_MAX = 8,
    QUERY_CONDITIONS_MAX = QUERY_ALTERNATIVES_MAX * 8,
    QUERY_VALUES_MAX = 2 * QUERY_CONDITIONS_MAX,
    QUERY_LIMIT_MAX = (1 << 24) - 1
};

struct query_shape {
    struct assay_query told;
    struct assay_condition conditions[QUERY_CONDITIONS_MAX];
    uint64_t amount[QUERY_CONDITIONS_MAX]; /* a range's span, a prefix's bytes, the number of a word */
    size_t columns[RECORD_COLUMNS_MAX];
    bool projected; /* not all columns are given, or in another order */
    int proof;      /* the proof's place among the columns that are given; -1: it is not given */
    int leads_back; /* likewise, of the first column that leads back to its index */
};

/* Fills in what follows from conditions and columns. */
void query_measure(struct query_shape *shape, const struct record_shape *record);

/* The bytes of room that query_ask needs. */
size_t query_room(const struct query_shape *shape, const struct record_shape *record);

/* Fills in the values for an index; they stand in room. */
void query_ask(const struct query_shape *shape, const struct record_shape *record, uint64_t index, struct assay_bytes *values,
               unsigned char *room);

/* Does the record of an index fulfil the conditions? scratch has room for the longest column. */
bool query_holds(const struct query_shape *shape, const struct record_shape *record, const struct assay_bytes *values, uint64_t index,
                 unsigned char *scratch);

/* The number by which the record of an index is sorted. */
uint64_t query_sort_number(const struct query_shape *shape, const struct record_shape *record, uint64_t index);

/* The index that what was found leads back to; false: it does not. */
bool query_index(const struct query_shape *shape, const struct record_shape *record, struct assay_bytes found, uint64_t *index);

/* Is it what the query gives of the record of an index? Sets the version that it proves. */
bool query_check(const struct query_shape *shape, const struct record_shape *record, const struct value_pool *pool,
                 struct assay_bytes found, uint64_t index, unsigned char *scratch, uint64_t *version);

/* Is its proof right for that index but for its trial's tag? */
bool query_of_other_trial(const struct query_shape *shape, const struct record_shape *record, const struct value_pool *pool,
                          struct assay_bytes found, uint64_t index);

/* Takes the first word off a text; its length is 0 where there is none left. */
struct assay_bytes query_next_word(struct assay_bytes *rest);

#endif
