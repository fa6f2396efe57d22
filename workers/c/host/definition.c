#include "definition.h"

static struct assay_bytes text(const char *bytes) { return (struct assay_bytes){bytes, strlen(bytes)}; }

static bool is_name(const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_", digits[] = "0123456789";
    size_t length = strlen(name);
    if (length < 1 || length > RECORD_NAME_BYTES_MAX || strchr(letters, name[0]) == NULL)
        return false;
    for (size_t i = 1; i < length; i++)
        if (strchr(letters, name[i]) == NULL && strchr(digits, name[i]) == NULL)
            return false;
    return true;
}

/* Digits only, and none that a store which keeps numbers would lose. */
static bool is_integer(struct assay_bytes bytes) {
    const char *digits = bytes.data;
    if (bytes.length < 1 || bytes.length > RECORD_INTEGER_DIGITS_MAX || (digits[0] == '0' && bytes.length > 1))
        return false;
    for (size_t i = 0; i < bytes.length; i++)
        if (digits[i] < '0' || digits[i] > '9')
            return false;
    return true;
}

static bool read_sequence(struct column_shape *c, struct json_object *object, struct refusal *refusal) {
    c->source = COLUMN_SEQUENCE;
    c->prefix = c->suffix = text("");
    const struct field fields[] = {
        {"prefix", FIELD_BYTES, &c->prefix}, {"divide", FIELD_WORD, &c->divide}, {"modulo", FIELD_WORD, &c->modulo},
        {"multiply", FIELD_WORD, &c->multiply}, {"add", FIELD_WORD, &c->add}, {"suffix", FIELD_BYTES, &c->suffix},
    };
    if (!read_fields(object, "sequence", fields, sizeof fields / sizeof *fields, refusal))
        return false;
    c->divide = c->divide != 0 ? c->divide : 1;
    c->multiply = c->multiply != 0 ? c->multiply : 1;
    return true;
}

static bool check_integer(const struct column_shape *c, const char *name, struct refusal *refusal) {
    uint64_t largest;
    if (c->source == COLUMN_CONSTANT
            ? is_integer(c->constant)
            : c->prefix.length + c->suffix.length == 0 && column_number_max(c, &largest) && largest < UINT64_C(1000000000000000000))
        return true;
    return refuse(refusal, CLASS_BAD_REQUEST, "column %s: an integer has 1 to %d digits for every index, no zeros in front, prefix or suffix", name,
                  RECORD_INTEGER_DIGITS_MAX);
}

static bool read_column(struct assay_column *told, struct column_shape *c, struct json_object *object, struct refusal *refusal) {
    const char *type = "";
    struct json_object *sequence = NULL;
    uint64_t proof = 0;
    told->name = "";
    const struct field fields[] = {
        {"name", FIELD_TEXT, &told->name},       {"type", FIELD_TEXT, &type},    {"constant", FIELD_BYTES, &c->constant},
        {"sequence", FIELD_OBJECT, &sequence}, {"proof", FIELD_WORD, &proof},
    };
    if (!read_fields(object, "a column", fields, sizeof fields / sizeof *fields, refusal))
        return false;
    if (!is_name(told->name))
        return refuse(refusal, CLASS_BAD_REQUEST, "a column's name has 1 to %d letters, digits and _, the first no digit: \"%s\"",
                      RECORD_NAME_BYTES_MAX, told->name);
    if (strcmp(type, "text") == 0)
        told->type = ASSAY_TEXT;
    else if (strcmp(type, "integer") == 0)
        told->type = ASSAY_INTEGER;
    else if (strcmp(type, "bytes") == 0)
        told->type = ASSAY_BYTES;
    else
        return refuse(refusal, CLASS_BAD_REQUEST, "column %s: unknown type \"%s\"", told->name, type);
    if ((c->constant.data != NULL) + (sequence != NULL) + (proof != 0) != 1)
        return refuse(refusal, CLASS_BAD_REQUEST, "column %s: expected one of constant, sequence and proof", told->name);
    if (sequence != NULL && !read_sequence(c, sequence, refusal))
        return false;
    if (proof != 0) {
        c->source = COLUMN_PROOF;
        c->proof_bytes = proof;
        if (told->type != ASSAY_BYTES || proof < KEYVAL_STAMP_BYTES || proof > RECORD_COLUMN_BYTES_MAX)
            return refuse(refusal, CLASS_BAD_REQUEST, "column %s: a proof is of type bytes and has %d to %d of them", told->name,
                          KEYVAL_STAMP_BYTES, RECORD_COLUMN_BYTES_MAX);
    }
    if (column_bytes_max(c) > RECORD_COLUMN_BYTES_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "column %s has more than %d bytes", told->name, RECORD_COLUMN_BYTES_MAX);
    return told->type != ASSAY_INTEGER || check_integer(c, told->name, refusal);
}

static bool read_columns(struct definition *d, struct record_shape *record, struct json_object *list, struct refusal *refusal) {
    size_t count = list != NULL ? json_object_array_length(list) : 0;
    if (count < 1 || count > RECORD_COLUMNS_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "define needs 1 to %d columns", RECORD_COLUMNS_MAX);
    size_t proofs = 0;
    for (size_t i = 0; i < count; i++) {
        if (!read_column(&d->columns[i], &record->column[i], json_object_array_get_idx(list, i), refusal))
            return false;
        for (size_t j = 0; j < i; j++)
            if (strcmp(d->columns[i].name, d->columns[j].name) == 0)
                return refuse(refusal, CLASS_BAD_REQUEST, "two columns have the name %s", d->columns[i].name);
        proofs += record->column[i].source == COLUMN_PROOF;
    }
    if (proofs > 1)
        return refuse(refusal, CLASS_BAD_REQUEST, "define has a proof in %zu columns, at most one may have it", proofs);
    d->told.columns = d->columns;
    d->told.columns_count = record->columns = count;
    record_measure(record);
    return true;
}

static bool read_index(const struct definition *d, struct assay_index *index, struct json_object *object, struct refusal *refusal) {
    const char *column = "", *kind = "";
    const struct field fields[] = {{"column", FIELD_TEXT, &column}, {"kind", FIELD_TEXT, &kind}};
    if (!read_fields(object, "an index", fields, sizeof fields / sizeof *fields, refusal))
        return false;
    index->column = 0;
    while (index->column < d->told.columns_count && strcmp(d->columns[index->column].name, column) != 0)
        index->column++;
    if (index->column == d->told.columns_count)
        return refuse(refusal, CLASS_BAD_REQUEST, "an index of \"%s\", which is no column", column);
    enum assay_column_type type = d->columns[index->column].type;
    bool fits;
    if (strcmp(kind, "ordered") == 0)
        index->kind = ASSAY_ORDERED, fits = type == ASSAY_TEXT || type == ASSAY_INTEGER;
    else if (strcmp(kind, "token") == 0)
        index->kind = ASSAY_TOKEN, fits = type == ASSAY_TEXT;
    else
        return refuse(refusal, CLASS_BAD_REQUEST, "index of %s: unknown kind \"%s\"", column, kind);
    return fits || refuse(refusal, CLASS_BAD_REQUEST, "index of %s: %s does not go with the column's type", column, kind);
}

static bool read_indexes(struct definition *d, struct json_object *list, struct refusal *refusal) {
    size_t count = list != NULL ? json_object_array_length(list) : 0;
    if (count > sizeof d->indexes / sizeof *d->indexes)
        return refuse(refusal, CLASS_BAD_REQUEST, "define has more indexes than columns can have");
    for (size_t i = 0; i < count; i++) {
        struct assay_index *index = &d->indexes[i];
        if (!read_index(d, index, json_object_array_get_idx(list, i), refusal))
            return false;
        for (size_t j = 0; j < i; j++)
            if (d->indexes[j].column == index->column && d->indexes[j].kind == index->kind)
                return refuse(refusal, CLASS_BAD_REQUEST, "two indexes of one kind on column %s", d->columns[index->column].name);
    }
    d->told.indexes = d->indexes;
    d->told.indexes_count = count;
    return true;
}

bool definition_read(struct definition *d, struct record_shape *record, struct json_object *fields, struct refusal *refusal) {
    struct json_object *columns = NULL, *indexes = NULL;
    const struct field lists[] = {{"columns", FIELD_LIST, &columns}, {"indexes", FIELD_LIST, &indexes}};
    return read_fields(fields, "define", lists, sizeof lists / sizeof *lists, refusal) && read_columns(d, record, columns, refusal) &&
           read_indexes(d, indexes, refusal);
}
