/* Records with columns: section 1.5 of docs/worker-contract.md. */
#ifndef ASSAY_HOST_RECORD_H
#define ASSAY_HOST_RECORD_H

#include "keyval.h"

enum {
    RECORD_COLUMNS_MAX = ASSAY_COLUMNS_MAX,
    RECORD_NAME_BYTES_MAX = 64,
    RECORD_COLUMN_BYTES_MAX = ASSAY_COLUMN_BYTES_MAX,
    RECORD_LENGTH_BYTES = 2, /* before each column */
    RECORD_INTEGER_DIGITS_MAX = 18
};

enum column_source { COLUMN_CONSTANT, COLUMN_SEQUENCE, COLUMN_PROOF };

/* Where a column's bytes come from. */
struct column_shape {
    enum column_source source;
    struct assay_bytes constant;
    struct assay_bytes prefix, suffix;      /* of a sequence, as what follows */
    uint64_t divide, modulo, multiply, add; /* n = ((i div divide) mod modulo) * multiply + add; modulo 0: no remainder */
    size_t proof_bytes;
};

struct record_shape {
    struct column_shape column[RECORD_COLUMNS_MAX];
    size_t columns;
    size_t bytes_max; /* of the longest record, encoded */
    int proof;        /* the proof column's position; -1: there is none */
    int leads_back;   /* a sequence whose n leads back to its index; -1: there is none */
};

/* Sets the largest n of a sequence, over all indexes. False: it is no word, and n begins again at 0
 * somewhere. */
bool column_number_max(const struct column_shape *column, uint64_t *largest);

/* The length of the column's longest bytes. */
size_t column_bytes_max(const struct column_shape *column);

/* Fills in what follows from the columns. */
void record_measure(struct record_shape *shape);

/* Writes the bytes that a column without proof has in the record of an index; returns their length.
 * */
size_t column_write(const struct column_shape *column, unsigned char *at, uint64_t index);

/* Writes the record of an index and a version to at, where bytes_max are free; returns its length.
 * */
size_t record_write(const struct record_shape *shape, const struct value_pool *pool, unsigned char *at, uint64_t index,
                    uint64_t version);

/* Is it a record of that index? scratch has room for the longest column. Sets the version that it
 * proves, 0 without a proof. */
bool record_check(const struct record_shape *shape, const struct value_pool *pool, struct assay_bytes record, uint64_t index,
                  unsigned char *scratch, uint64_t *version);

/* Is its proof right for that index but for its trial's tag? */
bool record_of_other_trial(const struct record_shape *shape, const struct value_pool *pool, struct assay_bytes record, uint64_t index);

/* A column's bytes; false: it is no record with so many columns. */
bool record_column(struct assay_bytes record, size_t column, struct assay_bytes *bytes);

/* The index that the proof column claims; false: it has no such column. */
bool record_claims(const struct record_shape *shape, struct assay_bytes record, uint64_t *index);

/* The index that the proof, or else a sequence, leads back to; false: neither does. */
bool record_index(const struct record_shape *shape, struct assay_bytes record, uint64_t *index);

#endif
