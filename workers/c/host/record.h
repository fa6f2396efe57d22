/* Records with columns: section 1.5 of docs/worker-contract.md. */
#ifndef ASSAY_HOST_RECORD_H
#define ASSAY_HOST_RECORD_H

#include "keyval.h"

enum {
    RECORD_COLUMNS_MAX = ASSAY_COLUMNS_MAX,
    RECORD_NAME_BYTES_MAX = 64,
    RECORD_COLUMN_BYTES_MAX = ASSAY_COLUMN_BYTES_MAX,
    RECORD_LENGTH_BYTES = 2, /* before each column */
    RECORD_INTEGER_DIGITS_MAX = 18,
    RECORD_STEPS_MAX = 64,
    RECORD_PARTS_MAX = 64, /* of all columns together */
    RECORD_WORD_LETTERS_MAX = 8,
    RECORD_WORD_COUNT_MAX = 255
};

enum column_source { COLUMN_CONSTANT, COLUMN_SEQUENCE, COLUMN_PROOF, COLUMN_STAMP, COLUMN_COUNTER, COLUMN_PARTS, COLUMN_WORDS /* a part */ };

/* Where a column's bytes come from. */
struct column_shape {
    enum column_source source;
    struct assay_bytes constant;
    struct assay_bytes prefix, suffix;      /* of a sequence, as what follows */
    uint64_t divide, shift, modulo, multiply, add; /* n = ((i div divide + shift) mod modulo) * multiply + add; modulo 0: no remainder */
    uint64_t steps[RECORD_STEPS_MAX];              /* in place of divide: widths that repeat, of which whole ones before i are counted */
    size_t steps_count;
    uint64_t cycle; /* their sum; 0: there are none */
    size_t letters;     /* of each word; steps are then how many words each record takes, in turn */
    uint64_t words_all; /* how many words of so many letters there are */
    size_t parts_behind, parts_count; /* where the parts stand: so many places behind the column itself */
    size_t proof_bytes;
    uint64_t stamp_modulo, stamp_least; /* of a stamp: its number is stamp_least + a remainder of stamp_modulo */
    uint64_t position;                  /* among the record's columns */
};

#define RECORD_STAMP_MODULO_MAX UINT64_C(100000000000000000)

struct record_shape {
    struct column_shape column[RECORD_COLUMNS_MAX + RECORD_PARTS_MAX]; /* behind the columns, their parts */
    size_t columns;
    size_t bytes_max; /* of the longest record, encoded */
    int proof;        /* the proof column's position; -1: there is none */
    int counter;      /* the counter's position; -1: there is none */
    int leads_back;   /* a sequence whose n leads back to its index; -1: there is none */
    size_t following[RECORD_COLUMNS_MAX]; /* positions of the columns that follow the version */
    size_t following_count;
};

/* Sets the largest n of a sequence, over all indexes. False: it is no word, and n begins again at 0
 * somewhere. */
bool column_number_max(const struct column_shape *column, uint64_t *largest);

/* The length of the column's longest bytes. */
size_t column_bytes_max(const struct column_shape *column);

/* Fills in what follows from the columns. */
void record_measure(struct record_shape *shape);

/* Does the column change with each write: is it the proof or a stamp? */
bool column_follows(const struct column_shape *column);

/* Does it follow the version, or is it a counter? Then its bytes don't follow from the index alone. */
bool column_varies(const struct column_shape *column);

/* Are they a number as an integer column has it? */
bool column_is_decimal(struct assay_bytes bytes);

/* The number of a record's counter; 0 where it has none. */
uint64_t record_counted(const struct record_shape *shape, struct assay_bytes record);

/* Writes the bytes that a column which does not follow the version has in the record of an index;
 * returns their length. */
size_t column_write(const struct column_shape *column, unsigned char *at, uint64_t index);

/* n of a sequence in the record of an index. */
uint64_t column_number(const struct column_shape *column, uint64_t index);

/* Does it tell the index, being a sequence whose numbers differ? */
bool column_leads_back(const struct column_shape *column);

/* The index whose n the column's bytes are, of one that leads back; false: there is none. */
bool column_index(const struct column_shape *column, struct assay_bytes bytes, uint64_t *index);

/* Are they the column's bytes in the record of an index? Of a proof, sets the version; of a stamp,
 * takes it. */
bool column_check(const struct column_shape *column, const struct value_pool *pool, struct assay_bytes bytes, uint64_t index,
                  unsigned char *scratch, uint64_t *version);

/* Writes the record of an index and a version to at, where bytes_max are free; returns its length.
 * */
size_t record_write(const struct record_shape *shape, const struct value_pool *pool, unsigned char *at, uint64_t index,
                    uint64_t version);

/* Writes the columns that follow the version to at, one after the other, where bytes_max are free,
 * and sets values to them, as many as there are; returns their length. */
size_t record_following(const struct record_shape *shape, const struct value_pool *pool, unsigned char *at, uint64_t index,
                        uint64_t version, struct assay_bytes *values);

/* The version that a proof claims, which is a column at a position; 0: there is no such column, or
 * the record has no stamps, which alone need it beforehand. */
uint64_t record_claimed_version(const struct record_shape *shape, struct assay_bytes columns, int proof);

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
