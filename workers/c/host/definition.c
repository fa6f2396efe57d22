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

static bool read_steps(struct column_shape *c, struct json_object *list, struct refusal *refusal) {
    c->steps_count = list != NULL ? json_object_array_length(list) : 0;
    if (c->steps_count > RECORD_STEPS_MAX || (c->steps_count > 0 && c->divide != 0))
        return refuse(refusal, CLASS_BAD_REQUEST, "a sequence has either divide or at most %d steps", RECORD_STEPS_MAX);
    bool fits = c->shift <= KEYVAL_INDEX_MAX;
    for (size_t i = 0; i < c->steps_count; i++) {
        if (!read_value(json_object_array_get_idx(list, i), "steps", FIELD_WORD, &c->steps[i], refusal))
            return false;
        fits = fits && c->steps[i] >= 1 && c->steps[i] <= KEYVAL_INDEX_MAX;
        c->cycle += c->steps[i];
    }
    return fits || refuse(refusal, CLASS_BAD_REQUEST, "steps are 1 to 2^48-1, and a shift at most that");
}

static bool read_sequence(struct column_shape *c, struct json_object *object, struct refusal *refusal) {
    c->source = COLUMN_SEQUENCE;
    c->prefix = c->suffix = text("");
    struct json_object *steps = NULL;
    const struct field fields[] = {
        {"steps", FIELD_LIST, &steps}, {"shift", FIELD_WORD, &c->shift}, {"prefix", FIELD_BYTES, &c->prefix}, {"divide", FIELD_WORD, &c->divide}, {"modulo", FIELD_WORD, &c->modulo},
        {"multiply", FIELD_WORD, &c->multiply}, {"add", FIELD_WORD, &c->add}, {"suffix", FIELD_BYTES, &c->suffix},
    };
    if (!read_fields(object, "sequence", fields, sizeof fields / sizeof *fields, refusal))
        return false;
    if (!read_steps(c, steps, refusal))
        return false;
    c->divide = c->divide != 0 ? c->divide : 1;
    c->multiply = c->multiply != 0 ? c->multiply : 1;
    return true;
}

static bool read_words(struct column_shape *c, struct json_object *object, struct refusal *refusal) {
    c->source = COLUMN_WORDS;
    struct json_object *counts = NULL;
    uint64_t letters = 0;
    const struct field fields[] = {{"letters", FIELD_WORD, &letters}, {"counts", FIELD_LIST, &counts}};
    if (!read_fields(object, "words", fields, sizeof fields / sizeof *fields, refusal))
        return false;
    c->steps_count = counts != NULL ? json_object_array_length(counts) : 0;
    if (letters < 1 || letters > RECORD_WORD_LETTERS_MAX || c->steps_count < 1 || c->steps_count > RECORD_STEPS_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "words have 1 to %d letters, and 1 to %d counts", RECORD_WORD_LETTERS_MAX,
                      RECORD_STEPS_MAX);
    c->letters = letters;
    c->words_all = 1;
    for (; letters > 0; letters--)
        c->words_all *= 26;
    for (size_t i = 0; i < c->steps_count; i++) {
        if (!read_value(json_object_array_get_idx(counts, i), "counts", FIELD_WORD, &c->steps[i], refusal))
            return false;
        if (c->steps[i] < 1 || c->steps[i] > RECORD_WORD_COUNT_MAX)
            return refuse(refusal, CLASS_BAD_REQUEST, "a count of words is 1 to %d", RECORD_WORD_COUNT_MAX);
        c->cycle += c->steps[i];
    }
    return true;
}

static bool read_part(struct column_shape *c, struct json_object *object, struct refusal *refusal) {
    struct json_object *sequence = NULL, *words = NULL;
    const struct field fields[] = {{"text", FIELD_BYTES, &c->constant}, {"sequence", FIELD_OBJECT, &sequence}, {"words", FIELD_OBJECT, &words}};
    if (!read_fields(object, "a part", fields, sizeof fields / sizeof *fields, refusal))
        return false;
    if ((c->constant.length > 0) + (sequence != NULL) + (words != NULL) != 1)
        return refuse(refusal, CLASS_BAD_REQUEST, "a part has one of text, sequence and words");
    c->source = COLUMN_CONSTANT;
    return sequence != NULL ? read_sequence(c, sequence, refusal) : words == NULL || read_words(c, words, refusal);
}

/* Reads a column's parts to behind those that other columns have. */
static bool read_parts(struct column_shape *c, struct json_object *list, struct column_shape *parts, size_t *parts_count,
                       struct refusal *refusal) {
    c->source = COLUMN_PARTS;
    c->parts_count = json_object_array_length(list);
    if (c->parts_count > RECORD_PARTS_MAX - *parts_count)
        return refuse(refusal, CLASS_BAD_REQUEST, "more than %d parts in all columns together", RECORD_PARTS_MAX);
    c->parts_behind = (size_t)(parts + *parts_count - c);
    for (size_t i = 0; i < c->parts_count; i++)
        if (!read_part(&parts[(*parts_count)++], json_object_array_get_idx(list, i), refusal))
            return false;
    return true;
}

static bool check_integer(const struct column_shape *c, const char *name, struct refusal *refusal) {
    uint64_t largest;
    if (c->source == COLUMN_CONSTANT
            ? column_is_decimal(c->constant)
            : c->source == COLUMN_SEQUENCE && c->prefix.length + c->suffix.length == 0 && column_number_max(c, &largest) && largest < UINT64_C(1000000000000000000))
        return true;
    return refuse(refusal, CLASS_BAD_REQUEST, "column %s: an integer has 1 to %d digits for every index, no zeros in front, prefix or suffix", name,
                  RECORD_INTEGER_DIGITS_MAX);
}

static bool read_stamp(const struct assay_column *told, struct column_shape *c, struct json_object *object, struct refusal *refusal) {
    c->source = COLUMN_STAMP;
    const struct field fields[] = {{"modulo", FIELD_WORD, &c->stamp_modulo}};
    if (!read_fields(object, "stamp", fields, sizeof fields / sizeof *fields, refusal))
        return false;
    if (told->type != ASSAY_INTEGER || c->stamp_modulo < 1 || c->stamp_modulo > RECORD_STAMP_MODULO_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "column %s: a stamp is of type integer, and its modulo 1 to 10^17", told->name);
    for (c->stamp_least = 1; c->stamp_least < c->stamp_modulo;)
        c->stamp_least *= 10;
    return true;
}

/* parts has room for the parts of all columns, of which parts_count are taken. */
static bool read_column(struct assay_column *told, struct column_shape *c, struct column_shape *parts, size_t *parts_count,
                        struct json_object *object, struct refusal *refusal) {
    const char *type = "";
    struct json_object *sequence = NULL, *list = NULL, *stamp = NULL;
    uint64_t proof = 0;
    bool counter = false;
    told->name = "";
    const struct field fields[] = {
        {"name", FIELD_TEXT, &told->name},       {"type", FIELD_TEXT, &type},    {"constant", FIELD_BYTES, &c->constant},
        {"sequence", FIELD_OBJECT, &sequence}, {"parts", FIELD_LIST, &list}, {"proof", FIELD_WORD, &proof}, {"stamp", FIELD_OBJECT, &stamp}, {"counter", FIELD_BOOL, &counter},
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
    bool in_parts = list != NULL && json_object_array_length(list) > 0;
    if ((c->constant.data != NULL) + (sequence != NULL) + in_parts + (proof != 0) + (stamp != NULL) + counter != 1)
        return refuse(refusal, CLASS_BAD_REQUEST, "column %s: expected one of constant, sequence, parts, proof, stamp and counter", told->name);
    if (stamp != NULL)
        return read_stamp(told, c, stamp, refusal);
    if (counter) {
        c->source = COLUMN_COUNTER;
        return told->type == ASSAY_INTEGER || refuse(refusal, CLASS_BAD_REQUEST, "column %s: a counter is of type integer", told->name);
    }
    if (sequence != NULL && !read_sequence(c, sequence, refusal))
        return false;
    if (in_parts && !read_parts(c, list, parts, parts_count, refusal))
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
    size_t proofs = 0, counters = 0, parts = 0;
    for (size_t i = 0; i < count; i++) {
        if (!read_column(&d->columns[i], &record->column[i], &record->column[count], &parts, json_object_array_get_idx(list, i), refusal))
            return false;
        for (size_t j = 0; j < i; j++)
            if (strcmp(d->columns[i].name, d->columns[j].name) == 0)
                return refuse(refusal, CLASS_BAD_REQUEST, "two columns have the name %s", d->columns[i].name);
        proofs += record->column[i].source == COLUMN_PROOF;
        counters += record->column[i].source == COLUMN_COUNTER;
    }
    if (counters > 1)
        return refuse(refusal, CLASS_BAD_REQUEST, "define has %zu counters, at most one may be", counters);
    if (proofs > 1)
        return refuse(refusal, CLASS_BAD_REQUEST, "define has a proof in %zu columns, at most one may have it", proofs);
    d->told.columns = d->columns;
    d->told.columns_count = record->columns = count;
    record_measure(record);
    if (record->following_count > 0 && record->proof < 0)
        return refuse(refusal, CLASS_BAD_REQUEST, "a stamp needs a proof column beside it, which says what write it is of");
    return true;
}

static bool read_index(const struct definition *d, struct assay_index *index, struct json_object *object, struct refusal *refusal) {
    const char *column = "", *kind = "";
    const struct field fields[] = {{"column", FIELD_TEXT, &column}, {"kind", FIELD_TEXT, &kind}, {"descending", FIELD_BOOL, &index->descending}};
    index->descending = false;
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
    if (index->descending && index->kind != ASSAY_ORDERED)
        return refuse(refusal, CLASS_BAD_REQUEST, "index of %s: only an ordered index is descending", column);
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

/* The column of a name, by its position. */
static bool find_column(const struct definition *d, const char *name, size_t *column, struct refusal *refusal) {
    for (*column = 0; *column < d->told.columns_count; ++*column)
        if (strcmp(d->columns[*column].name, name) == 0)
            return true;
    return refuse(refusal, CLASS_BAD_REQUEST, "a query names \"%s\", which is no column", name);
}

static const struct {
    const char *name;
    int amount; /* which of span, bytes and word it takes; -1: none */
} comparisons[] = {[ASSAY_EQUAL] = {"equal", -1}, [ASSAY_RANGE] = {"range", 0}, [ASSAY_PREFIX] = {"prefix", 1}, [ASSAY_HAS] = {"has", 2}};

/* A text of bytes that end a prefix anywhere. */
static bool is_plain_text(struct assay_bytes text) {
    const unsigned char *at = text.data;
    for (size_t i = 0; i < text.length; i++)
        if (at[i] < ' ' || at[i] > '~')
            return false;
    return true;
}

static bool has_word(const struct column_shape *c) {
    struct assay_bytes rest = c->constant;
    for (size_t i = 0; i < c->parts_count; i++)
        if (has_word(c + c->parts_behind + i))
            return true;
    return c->source == COLUMN_SEQUENCE || c->source == COLUMN_WORDS || query_next_word(&rest).length > 0;
}

static bool has_prefixes(const struct column_shape *c) {
    switch (c->source) {
    case COLUMN_WORDS:
        return true;
    case COLUMN_SEQUENCE:
        return is_plain_text(c->prefix) && is_plain_text(c->suffix);
    case COLUMN_PARTS:
        for (size_t i = 0; i < c->parts_count; i++)
            if (!has_prefixes(c + c->parts_behind + i))
                return false;
        return true;
    default:
        return c->constant.length > 0 && is_plain_text(c->constant);
    }
}

static bool check_condition(const struct definition *d, const struct record_shape *record, const struct assay_condition *condition,
                            uint64_t amount, struct refusal *refusal) {
    const struct column_shape *c = &record->column[condition->column];
    const struct assay_column *told = &d->columns[condition->column];
    if (column_varies(c))
        return refuse(refusal, CLASS_BAD_REQUEST, "column %s: a proof, a stamp or a counter can't be asked for: it changes with each write", told->name);
    if (condition->is == ASSAY_RANGE && (told->type != ASSAY_INTEGER || amount < 1 || amount > UINT64_C(1000000000000000000)))
        return refuse(refusal, CLASS_BAD_REQUEST, "column %s: a range is of integers, and its span 1 to 10^18", told->name);
    if (condition->is == ASSAY_PREFIX && (told->type != ASSAY_TEXT || amount < 1 || amount > RECORD_COLUMN_BYTES_MAX || !has_prefixes(c)))
        return refuse(refusal, CLASS_BAD_REQUEST, "column %s: a prefix is of texts of ASCII that are not empty, and has 1 to %d bytes", told->name,
                      RECORD_COLUMN_BYTES_MAX);
    if (condition->is == ASSAY_HAS && (told->type != ASSAY_TEXT || amount > RECORD_COLUMN_BYTES_MAX || !has_word(c)))
        return refuse(refusal, CLASS_BAD_REQUEST, "column %s: has asks for a word of a text that has some", told->name);
    return true;
}

static bool read_condition(const struct definition *d, const struct record_shape *record, struct query_shape *shape, size_t alternative,
                           struct json_object *object, struct refusal *refusal) {
    size_t i = shape->told.conditions_count;
    struct assay_condition *c = &shape->conditions[i];
    const char *column = "", *is = "";
    uint64_t amounts[3] = {0};
    const struct field fields[] = {{"column", FIELD_TEXT, &column}, {"is", FIELD_TEXT, &is}, {"span", FIELD_WORD, &amounts[0]},
                                   {"bytes", FIELD_WORD, &amounts[1]}, {"word", FIELD_WORD, &amounts[2]}};
    if (!read_fields(object, "a condition", fields, sizeof fields / sizeof *fields, refusal) || !find_column(d, column, &c->column, refusal))
        return false;
    size_t comparison = 0;
    while (comparison < sizeof comparisons / sizeof *comparisons && strcmp(comparisons[comparison].name, is) != 0)
        comparison++;
    if (comparison == sizeof comparisons / sizeof *comparisons)
        return refuse(refusal, CLASS_BAD_REQUEST, "unknown comparison \"%s\": expected equal, range, prefix or has", is);
    for (int k = 0; k < 3; k++)
        if (amounts[k] != 0 && k != comparisons[comparison].amount)
            return refuse(refusal, CLASS_BAD_REQUEST, "a condition has a number that is another comparison's than %s", is);
    c->alternative = alternative;
    c->is = (enum assay_comparison)comparison;
    shape->amount[i] = comparisons[comparison].amount >= 0 ? amounts[comparisons[comparison].amount] : 0;
    shape->told.conditions_count++;
    return check_condition(d, record, c, shape->amount[i], refusal);
}

/* What bounds the work of knowing how many records are found. */
static bool check_ranges(const struct query_shape *shape, struct refusal *refusal) {
    const struct assay_condition *ranged = NULL;
    for (size_t i = 0; i < shape->told.conditions_count; i++) {
        const struct assay_condition *c = &shape->conditions[i];
        if (c->is != ASSAY_RANGE)
            continue;
        if (ranged != NULL && ranged->column != c->column)
            return refuse(refusal, CLASS_BAD_REQUEST, "ranges of two columns: expected those of one");
        if (ranged != NULL && ranged->alternative == c->alternative)
            return refuse(refusal, CLASS_BAD_REQUEST, "two ranges at once of one column");
        ranged = c;
    }
    return true;
}

static bool read_where(const struct definition *d, const struct record_shape *record, struct query_shape *shape, struct json_object *list,
                       struct refusal *refusal) {
    shape->told.alternatives = list != NULL ? json_object_array_length(list) : 0;
    if (shape->told.alternatives > QUERY_ALTERNATIVES_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "a query has at most %d alternatives", QUERY_ALTERNATIVES_MAX);
    for (size_t i = 0; i < shape->told.alternatives; i++) {
        struct json_object *all = NULL;
        if (!read_value(json_object_array_get_idx(list, i), "where", FIELD_LIST, &all, refusal))
            return false;
        size_t count = all != NULL ? json_object_array_length(all) : 0;
        if (count < 1 || count > QUERY_CONDITIONS_MAX / QUERY_ALTERNATIVES_MAX)
            return refuse(refusal, CLASS_BAD_REQUEST, "an alternative has 1 to %d conditions", QUERY_CONDITIONS_MAX / QUERY_ALTERNATIVES_MAX);
        for (size_t j = 0; j < count; j++)
            if (!read_condition(d, record, shape, i, json_object_array_get_idx(all, j), refusal))
                return false;
    }
    return check_ranges(shape, refusal);
}

static bool read_sort(const struct definition *d, const struct record_shape *record, struct query_shape *shape, struct json_object *object,
                      struct refusal *refusal) {
    const char *column = "";
    size_t at;
    shape->told.sort = -1;
    if (object == NULL)
        return true;
    const struct field fields[] = {{"column", FIELD_TEXT, &column}, {"descending", FIELD_BOOL, &shape->told.descending}};
    if (!read_fields(object, "a sort", fields, sizeof fields / sizeof *fields, refusal) || !find_column(d, column, &at, refusal))
        return false;
    if (d->columns[at].type != ASSAY_INTEGER)
        return refuse(refusal, CLASS_BAD_REQUEST, "sorted by %s, which is no integer: stores order texts in their own ways", column);
    if (column_varies(&record->column[at]))
        return refuse(refusal, CLASS_BAD_REQUEST, "sorted by %s, which changes with each write", column);
    shape->told.sort = (int)at;
    return true;
}

static bool read_projection(const struct definition *d, struct query_shape *shape, struct json_object *list, struct refusal *refusal) {
    size_t count = list != NULL ? json_object_array_length(list) : 0;
    if (count > d->told.columns_count)
        return refuse(refusal, CLASS_BAD_REQUEST, "a query gives more columns than there are");
    for (size_t i = 0; i < count; i++) {
        const char *name = "";
        if (!read_value(json_object_array_get_idx(list, i), "columns", FIELD_TEXT, &name, refusal) ||
            !find_column(d, name, &shape->columns[i], refusal))
            return false;
        for (size_t j = 0; j < i; j++)
            if (shape->columns[j] == shape->columns[i])
                return refuse(refusal, CLASS_BAD_REQUEST, "a query gives the column %s twice", name);
    }
    if (count == 0)
        for (; count < d->told.columns_count; count++)
            shape->columns[count] = count;
    shape->told.columns_count = count;
    return true;
}

static bool read_query(const struct definition *d, const struct record_shape *record, struct query_shape *shape, struct json_object *object,
                       struct refusal *refusal) {
    const char *name = "";
    struct json_object *where = NULL, *sort = NULL, *columns = NULL;
    uint64_t limit = 0;
    const struct field fields[] = {{"name", FIELD_TEXT, &name}, {"where", FIELD_LIST, &where}, {"sort", FIELD_OBJECT, &sort},
                                   {"limit", FIELD_WORD, &limit}, {"columns", FIELD_LIST, &columns}};
    if (!read_fields(object, "a query", fields, sizeof fields / sizeof *fields, refusal))
        return false;
    if (limit > QUERY_LIMIT_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "a query finds at most %d records", QUERY_LIMIT_MAX);
    shape->told.limit = limit;
    shape->told.conditions = shape->conditions;
    shape->told.columns = shape->columns;
    if (!read_where(d, record, shape, where, refusal) || !read_sort(d, record, shape, sort, refusal) || !read_projection(d, shape, columns, refusal))
        return false;
    query_measure(shape, record);
    for (size_t i = 0; i < shape->told.columns_count && limit > 0 && shape->proof < 0; i++)
        if (column_follows(&record->column[shape->columns[i]]))
            return refuse(refusal, CLASS_BAD_REQUEST, "the stamp %s is given without the proof, and so can't be checked",
                          d->columns[shape->columns[i]].name);
    return limit == 0 || shape->proof >= 0 || shape->leads_back >= 0 ||
           refuse(refusal, CLASS_BAD_REQUEST,
                  "what is found does not tell its index: that needs a proof, or a column whose number leads back to it");
}

static bool read_queries(struct definition *d, const struct record_shape *record, struct json_object *list, struct refusal *refusal) {
    size_t count = list != NULL ? json_object_array_length(list) : 0;
    if (count > ASSAY_QUERIES_MAX)
        return refuse(refusal, CLASS_BAD_REQUEST, "define has %zu queries, at most %d", count, ASSAY_QUERIES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!read_query(d, record, &d->shape[i], json_object_array_get_idx(list, i), refusal))
            return false;
        d->queries[i] = d->shape[i].told;
    }
    d->told.queries = d->queries;
    d->told.queries_count = count;
    return true;
}

bool definition_read(struct definition *d, struct record_shape *record, struct json_object *fields, struct refusal *refusal) {
    struct json_object *columns = NULL, *indexes = NULL, *queries = NULL;
    const struct field lists[] = {{"columns", FIELD_LIST, &columns}, {"indexes", FIELD_LIST, &indexes}, {"queries", FIELD_LIST, &queries}};
    return read_fields(fields, "define", lists, sizeof lists / sizeof *lists, refusal) && read_columns(d, record, columns, refusal) &&
           read_indexes(d, indexes, refusal) && read_queries(d, record, queries, refusal);
}
