#include "thread.h"

/* Steps 1 and 2 of section 1.4, or those of a record in section 1.5. */
static bool is_right(struct thread *t, struct assay_bytes value, uint64_t index, uint64_t *version) {
    if (t->record != NULL)
        return record_check(t->record, &t->phase->pool, value, index, t->scratch, version);
    return value_check(&t->phase->pool, value, index, version);
}

static bool proves_version(const struct thread *t, struct assay_bytes value) {
    return t->record != NULL ? t->record->proof >= 0 : value.length >= KEYVAL_STAMP_BYTES;
}

const char other_trial[] = "a value of another trial";

static bool is_of_other_trial(struct thread *t, struct assay_bytes value, uint64_t index) {
    if (t->record != NULL)
        return record_of_other_trial(t->record, &t->phase->pool, value, index);
    return value_of_other_trial(&t->phase->pool, value, index);
}

static const char *why_wrong_record(struct thread *t, struct assay_bytes record, uint64_t index) {
    uint64_t claimed, version;
    if (!record_index(t->record, record, &claimed))
        return "bytes that are no record of this trial, or none that says whose it is";
    if (claimed == index)
        return "the record's own columns, damaged or not all of them";
    if (is_right(t, record, claimed, &version))
        return "another record's columns";
    return "bytes that are no record of this trial, or none that says whose it is";
}

/* Looks closer at a value that is not right. The messages leave numbers out, so that they count up.
 * */
static const char *why_wrong(struct thread *t, struct assay_bytes value, uint64_t index) {
    uint64_t claimed, version;
    if (is_of_other_trial(t, value, index))
        return other_trial;
    if (t->record != NULL)
        return why_wrong_record(t, value, index);
    if (!value_claims(value, &claimed))
        return "a short value that is not this record's";
    if (claimed == index)
        return "the record's own value, damaged: its checksum or body is wrong";
    if (value_check(&t->phase->pool, value, claimed, &version))
        return "another record's value";
    return "bytes that are no value of this trial";
}

/* Step 3: why no write of this trial had the version, or NULL. */
static const char *check_version(struct thread *t, uint64_t version, uint64_t index, size_t length) {
    if (version == 0)
        return index < t->phase->loaded_records ? NULL : "a loaded value for a record that was never loaded";
    const struct phase *writer = t->phases->phase[version >> 56];
    uint64_t thread = version >> 40 & 0xffff, sequence = version & ((UINT64_C(1) << 40) - 1);
    if (writer == NULL || !trace_wrote(&writer->trace, thread, sequence, index, length))
        return "a value with a right checksum that no operation of this trial wrote";
    return NULL;
}

const char *check_value(struct thread *t, struct assay_bytes value, uint64_t index) {
    uint64_t version;
    if (!is_right(t, value, index, &version))
        return why_wrong(t, value, index);
    if (!proves_version(t, value))
        return NULL;
    return check_version(t, version, index, t->record != NULL ? TRACE_ANY_LENGTH : value.length);
}

const char *check_answer(struct thread *t, struct assay_bytes value, uint64_t index) {
    if (t->sample != NULL) {
        uint64_t version;
        is_right(t, (struct assay_bytes){t->sample, t->sample_bytes}, 0, &version);
        return NULL;
    }
    return check_value(t, value, index);
}

static uint64_t observation(struct thread *t, enum assay_status status, struct assay_bytes value, uint64_t index) {
    if (status == ASSAY_MISS)
        return OBSERVED_MISS;
    if (status != ASSAY_OK)
        return OBSERVED_ERROR;
    uint64_t version;
    if (!is_right(t, value, index, &version))
        return is_of_other_trial(t, value, index) ? OBSERVED_FOREIGN : OBSERVED_WRONG;
    return proves_version(t, value) ? version : OBSERVED_SHORT;
}

void observe(struct thread *t, enum assay_status status, struct assay_bytes value, uint64_t index) {
    t->saw = observation(t, status, value, index);
}

static int compare_keys(struct assay_bytes a, const unsigned char *b, size_t b_length) {
    size_t common = a.length < b_length ? a.length : b_length;
    int order = common == 0 ? 0 : memcmp(a.data, b, common);
    return order != 0 ? order : (a.length > b_length) - (a.length < b_length);
}

/* Sets what a scanned value claims; false: it is too short to say whose it is, or a record without
 * a proof. */
static bool claims(const struct thread *t, struct assay_bytes value, uint64_t *index, const char **problem) {
    if (t->record == NULL)
        return value_claims(value, index);
    if (t->record->proof < 0)
        return false;
    if (!record_claims(t->record, value, index))
        *problem = "a scanned value that is no record";
    return *problem == NULL;
}

static const char *problem_of(struct scan *s, struct assay_bytes key, struct assay_bytes value) {
    int order = compare_keys(key, s->previous, s->previous_length);
    if (s->seen > 0 && order <= 0)
        return "keys of a scan do not ascend";
    if (s->seen == 0 && order < 0)
        return "a scan began before its first key";
    uint64_t index;
    const char *problem = NULL;
    bool claimed = claims(s->thread, value, &index, &problem);
    if (s->thread->find.active && problem == NULL && s->seen < s->limit)
        s->thread->find.found[s->thread->find.count++] = claimed ? index : FOUND_UNKNOWN;
    if (!claimed)
        return problem;
    const struct key_shape *shape = &s->thread->phase->keys;
    if (index > KEYVAL_INDEX_MAX || compare_keys(key, s->expected, key_write(shape, index, s->expected)) != 0)
        return "a scanned value that is not its key's";
    return check_value(s->thread, value, index);
}

bool check_scanned(void *context, struct assay_bytes key, struct assay_bytes value) {
    struct scan *s = context;
    if (s->thread->phase->verify && s->problem == NULL) {
        s->problem = problem_of(s, key, value);
        if (s->problem == NULL && key.length <= key_bytes_max(&s->thread->phase->keys)) {
            memcpy(s->previous, key.data, key.length);
            s->previous_length = key.length;
        } else if (s->problem == NULL) {
            s->problem = "a scanned key that is longer than any of this trial";
        }
    }
    s->bytes += value.length;
    s->seen++;
    return s->seen < s->limit;
}

/* Remembers an index in this query; false: it was there. */
static bool remember(struct query *q, uint64_t index) {
    uint64_t word = q->round << 48 | index;
    uint64_t place = keyval_mix(index) & q->mask;
    while (q->found[place] >> 48 == q->round) { /* at most half of the places are taken */
        if (q->found[place] == word)
            return false;
        place = (place + 1) & q->mask;
    }
    q->found[place] = word;
    return true;
}

static const char *problem_of_found(struct query *q, struct assay_bytes key, struct assay_bytes value) {
    struct thread *t = q->thread;
    unsigned char *expected = t->scan.expected;
    uint64_t index, version;
    if (t->sample != NULL) /* the null driver's record is of no key */
        return check_if_asked(t, value, 0);
    if (!query_index(q->shape, t->record, value, &index))
        return "a query found a record that does not say whose it is";
    if (compare_keys(key, expected, key_write(&t->phase->keys, index, expected)) != 0)
        return "a query found a record that is not its key's";
    if (!query_check(q->shape, t->record, &t->phase->pool, value, index, t->scratch, &version))
        return query_of_other_trial(q->shape, t->record, &t->phase->pool, value, index) ? other_trial
                                                                                       : "a query found columns that are not the record's";
    const char *problem = q->shape->proof >= 0 ? check_version(t, version, index, TRACE_ANY_LENGTH) : NULL;
    if (problem != NULL)
        return problem;
    if (!query_holds(q->shape, t->record, q->values, index, t->scratch))
        return "a query found a record that it did not ask for";
    if (q->shape->told.sort >= 0) {
        uint64_t number = query_sort_number(q->shape, t->record, index);
        if (q->seen > 0 && number != q->last && (number < q->last) != q->shape->told.descending)
            return "records that a query found are not in its order";
        q->last = number;
        q->sort_sum += number;
    }
    if (t->find.active)
        t->find.found[t->find.count++] = index;
    return remember(q, index) ? NULL : "a query found a record twice";
}

bool check_found(void *context, struct assay_bytes key, struct assay_bytes value) {
    struct query *q = context;
    if (q->thread->phase->verify && q->problem == NULL && q->seen < q->limit)
        q->problem = problem_of_found(q, key, value);
    q->bytes += value.length;
    q->seen++;
    return q->seen < q->limit;
}
