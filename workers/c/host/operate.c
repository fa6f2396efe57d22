#include "definition.h"
#include "thread.h"

void note(struct thread *t, unsigned operation, enum outcome outcome, const char *text) {
    counters_message(&t->phase->counters, t->number, operation, outcome, text);
}

static inline struct assay_bytes make_key(struct thread *t, uint64_t index) {
    return (struct assay_bytes){t->key, key_write(&t->phase->keys, index, t->key)};
}

static inline uint64_t version_of(const struct thread *t, uint64_t sequence) {
    return t->phase->zero_versions ? 0 : t->versions | sequence;
}

static inline struct assay_bytes make_value(struct thread *t, const struct step *s) {
    if (t->record != NULL)
        return (struct assay_bytes){t->value, record_write(t->record, &t->phase->pool, t->value, s->index, version_of(t, s->sequence))};
    size_t length = t->phase->trace.amounts[entry_size_class(s->entry)];
    value_write(&t->phase->pool, t->value, length, s->index, version_of(t, s->sequence));
    return (struct assay_bytes){t->value, length};
}

static inline int64_t now_ns(const struct thread *t) { return clock_now_ns(t->clock); }

/* The outcome of a call that did not end well; keeps the message. */
static enum outcome failed(struct thread *t, unsigned operation, enum assay_status status) {
    switch (status) {
    case ASSAY_OK:
        return OUTCOME_OK;
    case ASSAY_MISS:
        return OUTCOME_MISS;
    case ASSAY_CONFLICT:
        return OUTCOME_CONFLICT;
    case ASSAY_TIMEOUT:
        note(t, operation, OUTCOME_TIMEOUT, t->error.text);
        return OUTCOME_TIMEOUT;
    default:
        note(t, operation, OUTCOME_ERROR, t->error.text);
        return OUTCOME_ERROR;
    }
}

/* The outcome of a read that gave nothing: a miss that was to be expected, or a lost value. */
static struct result not_read(struct thread *t, unsigned operation, uint64_t index, enum assay_status status, int64_t now) {
    enum outcome outcome = failed(t, operation, status);
    if (outcome == OUTCOME_MISS && index < t->phase->must_hit_below) {
        note(t, operation, OUTCOME_LOST, "a record that was stored is not there");
        outcome = OUTCOME_LOST;
    }
    return (struct result){outcome, true, now};
}

/* The result of an operation that got what was not written there. */
static struct result wrong(struct thread *t, const struct step *s, const char *problem, int64_t now) {
    note(t, entry_operation(s->entry), OUTCOME_WRONG, problem);
    if (problem == other_trial)
        s->slot->foreign++;
    return (struct result){OUTCOME_WRONG, true, now};
}

/* The result of a write of so many bytes. */
static inline struct result wrote(struct thread *t, const struct step *s, enum assay_status status, size_t bytes, int64_t now) {
    if (status == ASSAY_OK) {
        s->slot->bytes_sent += bytes;
        return (struct result){OUTCOME_OK, false, now};
    }
    return (struct result){failed(t, entry_operation(s->entry), status), true, now};
}

/* Keeps what a read of a verify phase gave, and adds up the counters of records that are right. */
static void keep_observed(struct thread *t, const struct step *s, struct assay_bytes value) {
    t->observed[s->position] = t->saw;
    if (t->record != NULL && (t->saw < OBSERVED_LOWEST || t->saw == OBSERVED_SHORT))
        s->slot->sort_sum += record_counted(t->record, value);
}

static struct result read_one(struct thread *t, const struct step *s) {
    struct assay_bytes value = {NULL, 0};
    enum assay_status status = t->driver->get(t->handle, make_key(t, s->index), &t->buffer, &value, &t->error);
    int64_t now = now_ns(t);
    if (t->watching) {
        observe(t, status, value, s->index);
        if (t->observed != NULL)
            keep_observed(t, s, value);
    }
    if (status != ASSAY_OK)
        return not_read(t, OPERATION_READ, s->index, status, now);
    const char *problem = check_if_asked(t, value, s->index);
    if (problem != NULL)
        return wrong(t, s, problem, now);
    s->slot->bytes_read += value.length;
    return (struct result){OUTCOME_OK, t->phase->verify || t->watching, now};
}

/* insert, update and upsert differ in the counts only. */
static struct result put_one(struct thread *t, const struct step *s) {
    struct assay_bytes key = make_key(t, s->index), value = make_value(t, s);
    enum assay_status status = t->driver->put(t->handle, key, value, &t->error);
    return wrote(t, s, status, key.length + value.length, now_ns(t));
}

static struct result add_one(struct thread *t, const struct step *s) {
    struct assay_bytes key = make_key(t, s->index), value = make_value(t, s);
    enum assay_status status = t->driver->add(t->handle, key, value, &t->error);
    return wrote(t, s, status, key.length + value.length, now_ns(t));
}

static struct result delete_one(struct thread *t, const struct step *s) {
    struct assay_bytes key = make_key(t, s->index);
    enum assay_status status = t->driver->remove(t->handle, key, &t->error);
    return wrote(t, s, status, key.length, now_ns(t));
}

/* The records are checked as they come, inside the clock: they are gone afterwards. */
static struct result scan_from(struct thread *t, const struct step *s) {
    struct assay_bytes key = make_key(t, s->index);
    struct scan *scan = &t->scan;
    scan->limit = t->phase->trace.amounts[entry_size_class(s->entry)];
    scan->seen = scan->bytes = 0;
    scan->problem = NULL;
    memcpy(scan->previous, key.data, key.length);
    scan->previous_length = key.length;
    enum assay_status status = t->driver->scan(t->handle, key, scan->limit, check_scanned, scan, &t->error);
    int64_t now = now_ns(t);
    if (status != ASSAY_OK)
        return (struct result){failed(t, OPERATION_SCAN, status), true, now};
    if (scan->problem == NULL && scan->seen > scan->limit)
        scan->problem = "a scan went on after it was told to stop";
    if (scan->problem != NULL)
        return wrong(t, s, scan->problem, now);
    t->find.items = scan->seen;
    s->slot->items += scan->seen;
    s->slot->bytes_read += scan->bytes;
    return (struct result){OUTCOME_OK, false, now};
}

/* The outcome of a query or a count that found nothing. */
static struct result found_nothing(struct thread *t, const struct step *s, int64_t now) {
    if (s->index >= t->phase->must_hit_below)
        return (struct result){OUTCOME_MISS, true, now};
    note(t, entry_operation(s->entry), OUTCOME_LOST, "no record with a column's bytes that a stored record has");
    return (struct result){OUTCOME_LOST, true, now};
}

/* Makes ready for the query that a step names, with the values of its index. */
static uint32_t ask(struct thread *t, const struct step *s) {
    uint32_t number = t->phase->trace.amounts[entry_size_class(s->entry)];
    t->query.shape = &t->phase->definition->shape[number];
    query_ask(t->query.shape, t->record, s->index, t->query.values, t->query.room);
    return number;
}

/* As with a scan, the records are checked as they come. */
static struct result query_records(struct thread *t, const struct step *s) {
    enum { ROUNDS = 1 << 16 };
    struct query *query = &t->query;
    uint32_t number = ask(t, s);
    query->limit = query->shape->told.limit;
    query->seen = query->bytes = query->sort_sum = 0;
    query->problem = NULL;
    if (++query->round == ROUNDS) {
        memset(query->found, 0, (query->mask + 1) * sizeof *query->found);
        query->round = 1;
    }
    enum assay_status status = t->driver->query(t->handle, number, query->values, check_found, query, &t->error);
    int64_t now = now_ns(t);
    if (status != ASSAY_OK)
        return (struct result){failed(t, OPERATION_QUERY, status), true, now};
    if (query->problem == NULL && query->seen > query->limit)
        query->problem = "a query went on after it was told to stop";
    if (query->problem != NULL)
        return wrong(t, s, query->problem, now);
    if (query->seen == 0)
        return found_nothing(t, s, now);
    t->find.items = query->seen;
    s->slot->items += query->seen;
    s->slot->bytes_read += query->bytes;
    s->slot->sort_sum += query->sort_sum;
    return (struct result){OUTCOME_OK, false, now};
}

static struct result count_records(struct thread *t, const struct step *s) {
    uint64_t records = 0;
    enum assay_status status = t->driver->count(t->handle, ask(t, s), t->query.values, &records, &t->error);
    int64_t now = now_ns(t);
    if (status != ASSAY_OK)
        return (struct result){failed(t, OPERATION_COUNT, status), true, now};
    if (records == 0)
        return found_nothing(t, s, now);
    t->find.items = records;
    s->slot->items += records;
    return (struct result){OUTCOME_OK, false, now};
}

/* That there is nothing to delete is a miss, whatever was stored: another may have deleted it. */
static struct result delete_by_query(struct thread *t, const struct step *s) {
    uint64_t records = 0;
    enum assay_status status = t->driver->delete_query(t->handle, ask(t, s), t->query.values, &records, &t->error);
    int64_t now = now_ns(t);
    if (status != ASSAY_OK)
        return (struct result){failed(t, OPERATION_DELETE_QUERY, status), true, now};
    s->slot->items += records;
    return (struct result){records > 0 ? OUTCOME_OK : OUTCOME_MISS, false, now};
}

static struct result apply_batch(struct thread *t, const struct step *s) {
    const uint64_t *members = t->part->entries + s->position + 1;
    size_t count = t->phase->trace.amounts[entry_size_class(s->entry)];
    unsigned char *at = t->arena;
    for (size_t i = 0; i < count; i++) {
        uint64_t index = entry_effective_index(members[i], s->lap, t->part->stride);
        struct assay_write *write = &t->writes[i];
        write->key = (struct assay_bytes){at, key_write(&t->phase->keys, index, at)};
        write->value = (struct assay_bytes){NULL, 0};
        at += write->key.length;
        write->remove = entry_operation(members[i]) == OPERATION_DELETE;
        if (write->remove)
            continue;
        uint64_t member_version = version_of(t, s->sequence + 1 + i);
        write->value = (struct assay_bytes){at, t->phase->trace.amounts[entry_size_class(members[i])]};
        if (t->record != NULL)
            write->value.length = record_write(t->record, &t->phase->pool, at, index, member_version);
        else
            value_write(&t->phase->pool, at, write->value.length, index, member_version);
        at += write->value.length;
    }
    enum assay_status status = t->driver->batch(t->handle, t->writes, count, &t->error);
    int64_t now = now_ns(t);
    if (status == ASSAY_OK)
        s->slot->items += count;
    return wrote(t, s, status, (size_t)(at - t->arena), now);
}

/* Updates the columns that follow the version, and leaves the others. */
static struct result modify_columns(struct thread *t, const struct step *s) {
    const struct record_shape *record = t->record;
    struct assay_bytes values[RECORD_COLUMNS_MAX], key = make_key(t, s->index);
    size_t length = record_following(record, &t->phase->pool, t->value, s->index, version_of(t, s->sequence), values);
    enum assay_status status = t->driver->modify(t->handle, key, record->following, values, record->following_count, &t->error);
    int64_t now = now_ns(t);
    if (status != ASSAY_OK)
        return not_read(t, OPERATION_MODIFY, s->index, status, now);
    return wrote(t, s, status, key.length + length, now);
}

static struct result increment(struct thread *t, const struct step *s) {
    struct assay_bytes key = make_key(t, s->index);
    enum assay_status status = t->driver->increment(t->handle, key, (size_t)t->record->counter, 1, &t->error);
    int64_t now = now_ns(t);
    if (status != ASSAY_OK)
        return not_read(t, OPERATION_INCREMENT, s->index, status, now);
    return wrote(t, s, status, key.length, now);
}

static struct result read_and_write(struct thread *t, const struct step *s) {
    const unsigned operation = entry_operation(s->entry);
    struct assay_bytes got = {NULL, 0};
    enum assay_status status = t->driver->get(t->handle, make_key(t, s->index), &t->buffer, &got, &t->error);
    if (t->watching)
        observe(t, status, got, s->index);
    if (status != ASSAY_OK)
        return not_read(t, operation, s->index, status, now_ns(t));
    const char *problem = check_if_asked(t, got, s->index);
    size_t read_bytes = got.length;
    struct assay_bytes key, next;
    if (operation == OPERATION_COMPARE_AND_SWAP) {
        /* got may stand in the handle's memory, which its next call may change */
        struct assay_bytes old = {NULL, 0};
        status = assay_copy(&t->old, got.data, got.length, &old, &t->error);
        key = make_key(t, s->index), next = make_value(t, s);
        if (status == ASSAY_OK)
            status = t->driver->compare_and_swap(t->handle, key, old, next, &t->error);
    } else {
        key = make_key(t, s->index), next = make_value(t, s);
        status = t->driver->put(t->handle, key, next, &t->error);
    }
    int64_t now = now_ns(t);
    if (problem != NULL)
        return wrong(t, s, problem, now);
    if (status == ASSAY_OK)
        s->slot->bytes_read += read_bytes;
    return wrote(t, s, status, key.length + next.length, now);
}

/* trace_decode lets no other code pass, and a request is no operation of its own. */
operation_function *const operations[OPERATION_CODES] = {
    [OPERATION_READ] = read_one,
    [OPERATION_INSERT] = put_one,
    [OPERATION_UPDATE] = put_one,
    [OPERATION_UPSERT] = put_one,
    [OPERATION_DELETE] = delete_one,
    [OPERATION_SCAN] = scan_from,
    [OPERATION_BATCH] = apply_batch,
    [OPERATION_READ_MODIFY_WRITE] = read_and_write,
    [OPERATION_COMPARE_AND_SWAP] = read_and_write,
    [OPERATION_ADD] = add_one,
    [OPERATION_QUERY] = query_records,
    [OPERATION_COUNT] = count_records,
    [OPERATION_MODIFY] = modify_columns,
    [OPERATION_DELETE_QUERY] = delete_by_query,
    [OPERATION_INCREMENT] = increment,
};
