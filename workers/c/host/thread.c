#include "thread.h"

#include <sched.h>
#include <stdlib.h>

/* Rounded up to whole cache lines, so that no two threads' buffers share one. */
static unsigned char *make_bytes(size_t length) {
    size_t rounded = (length + 64 + 127) & ~(size_t)127;
    unsigned char *bytes = aligned_alloc(128, rounded);
    if (bytes != NULL)
        memset(bytes, 0, rounded); /* touched here, not under the clock */
    return bytes;
}

/* Makes room for the trace's largest batch. */
static bool make_batch(struct thread *t) {
    const struct trace *trace = &t->phase->trace;
    size_t members_max = 0, bytes_max = 0, key_bytes = key_bytes_max(&t->phase->keys);
    for (uint64_t p = 0; p < t->part->count; p++) {
        uint64_t entry = t->part->entries[p];
        if (entry_operation(entry) != OPERATION_BATCH || entry_is_member(entry))
            continue;
        size_t members = trace->amounts[entry_size_class(entry)], bytes = members * key_bytes;
        for (size_t i = 1; i <= members; i++) {
            uint64_t member = t->part->entries[p + i];
            if (operation_writes(entry_operation(member)))
                bytes += t->record != NULL ? t->record->bytes_max : trace->amounts[entry_size_class(member)];
        }
        members_max = members > members_max ? members : members_max;
        bytes_max = bytes > bytes_max ? bytes : bytes_max;
    }
    t->writes = calloc(members_max + 1, sizeof *t->writes);
    t->arena = make_bytes(bytes_max + 8);
    return t->writes != NULL && t->arena != NULL;
}

/* Makes room for what the trace's largest query finds: at most half of the table is ever taken. */
static bool make_query(struct thread *t) {
    uint32_t limit_max = 0;
    for (uint64_t p = 0; p < t->part->count; p++) {
        uint64_t entry = t->part->entries[p];
        uint32_t limit = amount_limit(t->phase->trace.amounts[entry_size_class(entry)]);
        if (entry_operation(entry) == OPERATION_QUERY && limit > limit_max)
            limit_max = limit;
    }
    t->query.thread = t;
    if (limit_max == 0)
        return true;
    uint64_t places = 4;
    while (places < 2 * (uint64_t)limit_max)
        places *= 2;
    t->query.mask = places - 1;
    t->query.found = (uint64_t *)(void *)make_bytes(places * sizeof *t->query.found);
    return t->query.found != NULL;
}

static uint64_t *observed_words(const struct phase *phase, uint32_t number) {
    if ((phase->trace.flags & TRACE_FLAG_RECORD_VERSIONS) == 0)
        return NULL;
    uint64_t *words = (uint64_t *)(void *)(phase->counters.data + phase->counters.observed_at);
    for (uint32_t i = 0; i < number; i++)
        words += phase->trace.thread[i].count;
    return words;
}

bool thread_make(struct thread *t, const struct phase *phase, const struct phases *phases, struct handles *handles,
                 uint32_t number) {
    memset(t, 0, sizeof *t);
    t->driver = handles->driver;
    t->handles = handles;
    t->phases = phases;
    t->phase = phase;
    t->record = phase->record;
    t->number = number;
    t->part = &phase->trace.thread[number];
    t->head = counters_thread(&phase->counters, number);
    t->handle = handles_of(handles, number);
    t->versions = version_make(phase->number, number, 0);
    t->observed = observed_words(phase, number);
    t->watching = t->observed != NULL;
    t->history = phase->history.data != NULL ? history_thread(&phase->history, number) : NULL;
    for (uint32_t k = 0; k < phase->trace.operations; k++)
        t->slots[phase->trace.operation[k]] = counters_slot(&phase->counters, number, k);
    size_t key_bytes = key_bytes_max(&phase->keys) + 8;
    t->key = make_bytes(key_bytes);
    t->value = make_bytes(phase->value_bytes_max);
    t->buffer.data = make_bytes(phase->value_bytes_max);
    t->old.data = make_bytes(phase->value_bytes_max);
    t->buffer.capacity = t->old.capacity = phase->value_bytes_max + 64;
    t->scan.thread = t;
    t->scan.previous = make_bytes(key_bytes);
    t->scan.expected = make_bytes(key_bytes);
    t->scratch = make_bytes(t->record != NULL ? RECORD_COLUMN_BYTES_MAX : 0);
    bool made = make_batch(t) && make_query(t) && t->scratch != NULL && t->key != NULL && t->value != NULL && t->buffer.data != NULL && t->old.data != NULL &&
                t->scan.previous != NULL && t->scan.expected != NULL;
    if (made && strcmp(t->driver->description->kind, "none") == 0) {
        t->sample = make_bytes(phase->value_bytes_max);
        if ((made = t->sample != NULL) && t->record != NULL)
            t->sample_bytes = record_write(t->record, &phase->pool, t->sample, 0, 0);
        else if (made)
            value_write(&phase->pool, t->sample, t->sample_bytes = phase->value_bytes_max, 0, 0);
    }
    if (!made)
        thread_free(t);
    return made;
}

void thread_free(struct thread *t) {
    free(t->key);
    free(t->value);
    free(t->buffer.data);
    free(t->old.data);
    free(t->writes);
    free(t->arena);
    free(t->scan.previous);
    free(t->scan.expected);
    free(t->sample);
    free(t->scratch);
    free(t->query.found);
}

/* How long a wait for a due time may be spun away: sleeps overshoot by some 60 us even with the
 * least timer slack. And how long others are not let in any more: giving the processor up takes
 * longer than many a store's whole operation. */
enum { SPIN_BELOW_NS = 200 * 1000, ALONE_BELOW_NS = 5 * 1000, SLEEP_NS_MAX = 50 * 1000 * 1000 };

/* Returns the time once a moment has come, or -1 if the phase ends before. */
static int64_t sleep_until(struct thread *t, int64_t moment, int64_t deadline, const uint64_t *stop) {
    int64_t now = clock_now_ns(&t->phase->clock);
    if (moment >= deadline)
        moment = deadline;
    while (now < moment) {
        if (word_load(stop) != 0)
            return -1;
        int64_t wait = moment - now - SPIN_BELOW_NS;
        if (wait > 0)
            nanosleep(&(struct timespec){.tv_nsec = wait < SLEEP_NS_MAX ? wait : SLEEP_NS_MAX}, NULL);
        else if (moment - now > ALONE_BELOW_NS)
            sched_yield(); /* a spin that would keep another worker's thread from its processor measures itself */
        now = clock_now_ns(&t->phase->clock);
    }
    return now < deadline ? now : -1;
}

/* The same for a due time. Operations that are late are issued at once, one after the other. */
static int64_t wait_until(struct thread *t, int64_t due, int64_t ended, int64_t deadline, const uint64_t *stop) {
    int64_t now = sleep_until(t, due, deadline, stop);
    if (now < 0)
        return -1;
    int64_t since = due > ended ? due : ended; /* until the operation before ended, the store was late and not this thread */
    uint64_t late = now > since ? (uint64_t)(now - since) : 0;
    if (late > t->head->lateness_max_ns)
        t->head->lateness_max_ns = late;
    int word = lateness_word(late);
    if (word >= 0)
        t->head->late[word]++;
    return now;
}

/* Waiting for a pooled handle is in no service time, it is counted apart: *last moves to its end.
 * Opening a new one is in the service time, for a client that opens one each time pays for it each
 * time. */
static struct result operate_with_handle(struct thread *t, const struct step *s, int64_t *last) {
    struct result result;
    if (t->handles->mode == HANDLES_POOL) {
        struct assay_handle *handle = t->handle = handles_take(t->handles);
        int64_t start = clock_now_ns(&t->phase->clock);
        if (start > *last)
            t->head->handle_wait_ns += (uint64_t)(start - *last);
        *last = start;
        result = operate(t, s);
        t->handle = NULL;
        handles_give_back(t->handles, handle);
        return result;
    }
    unsigned operation = entry_operation(s->entry);
    enum assay_status status = t->driver->handle_open(t->handles->store, &t->handle, &t->error);
    if (status != ASSAY_OK) { /* never a miss or a conflict, for the store was not asked */
        result = (struct result){status == ASSAY_TIMEOUT ? OUTCOME_TIMEOUT : OUTCOME_ERROR, true,
                                 clock_now_ns(&t->phase->clock)};
        note(t, operation, result.outcome, t->error.text);
        if (t->observed != NULL)
            t->observed[s->position] = OBSERVED_ERROR;
        t->handle = NULL;
        return result;
    }
    t->head->handles_opened++;
    result = operate(t, s);
    if (t->driver->handle_close(t->handle, &t->error) != ASSAY_OK)
        note(t, operation, OUTCOME_ERROR, t->error.text);
    t->handle = NULL;
    return result;
}

/* When the thread ends, on the phase's clock. */
static int64_t ends(const struct thread *t) {
    int64_t end = t->phase->deadline_ns != 0 ? t->start_ns + t->phase->deadline_ns : INT64_MAX;
    if (t->part->until_ns != 0 && t->start_ns + (int64_t)t->part->until_ns < end)
        end = t->start_ns + (int64_t)t->part->until_ns;
    return end;
}

bool thread_waits_for_its_turn(struct thread *t) {
    if (t->part->from_ns == 0)
        return true;
    return sleep_until(t, t->start_ns + (int64_t)t->part->from_ns, ends(t), &t->phase->counters.header->stop) >= 0;
}

/* Records an operation on a recorded key, or the recorded members of a batch. */
static void remember(struct thread *t, const struct step *s, int64_t begin, const struct result *result) {
    t->watching = t->observed != NULL;
    struct history_record record = {
        .begin_ns = (uint64_t)(begin - t->start_ns),
        .end_ns = (uint64_t)((result->now > begin ? result->now : begin) - t->start_ns),
        .what = s->sequence | (uint64_t)result->outcome << HISTORY_OUTCOME_SHIFT,
        .read = t->saw,
    };
    uint64_t each = t->phase->history.each;
    if (entry_operation(s->entry) != OPERATION_BATCH) {
        history_append(t->history, each, record);
        return;
    }
    record.read = OBSERVED_NOT_READ;
    for (uint64_t i = 1; i <= t->phase->trace.amounts[entry_size_class(s->entry)]; i++) {
        record.what++; /* the member's sequence number */
        if (entry_is_recorded(t->part->entries[s->position + i]))
            history_append(t->history, each, record);
    }
}

/* The clock is read once an operation: each end is the next one's start. So an operation's time
 * includes making its key and value and counting the one before, which is what the null driver's
 * rate bounds. Where the worker did something else in between (checked a value, waited for a handle
 * or a due time), the clock is read again. */
void thread_walk(struct thread *t) {
    const struct phase *phase = t->phase;
    const struct trace_thread *part = t->part;
    struct counters_thread *head = t->head;
    const uint64_t *stop = &phase->counters.header->stop;
    uint64_t limit = part->limit != 0 ? part->limit : UINT64_MAX;
    if (t->observed != NULL && limit > part->count)
        limit = part->count; /* one lap: a second one would overwrite what the first observed */
    const int64_t deadline = ends(t);
    const bool open = part->due != NULL, keeps_handle = t->handle != NULL;
    struct step step = {0};
    int64_t last = clock_now_ns(&phase->clock), ended = t->start_ns + (int64_t)part->from_ns;
    for (;;) {
        step.entry = part->entries[step.position];
        unsigned operation = entry_operation(step.entry);
        uint64_t entries_done = operation == OPERATION_BATCH ? 1 + phase->trace.amounts[entry_size_class(step.entry)] : 1;
        int64_t due = 0;
        if (open) {
            due = t->start_ns + (int64_t)(part->due[step.position] + step.lap * part->lap_ns);
            if ((last = wait_until(t, due, ended, deadline, stop)) < 0)
                return;
        }
        step.index = entry_index(step.entry);
        if (entry_is_special(step.entry)) { /* one branch for what most entries are not */
            if (entry_grows(step.entry))
                step.index += step.lap * part->stride;
            else
                t->watching = true, t->saw = OBSERVED_NOT_READ;
        }
        step.slot = t->slots[operation];
        word_store(&head->attempted, step.sequence + entries_done);

        struct result result = keeps_handle ? operate(t, &step) : operate_with_handle(t, &step, &last);

        /* the counters of two processors may differ by some ns */
        uint64_t service = result.now > last ? (uint64_t)(result.now - last) : 0;
        step.slot->service[histogram_bucket(service)]++;
        if (service > step.slot->service_max_ns)
            step.slot->service_max_ns = service;
        if (open)
            counters_response(step.slot)[histogram_bucket(result.now > due ? (uint64_t)(result.now - due) : 0)]++;
        step.slot->outcomes[result.outcome]++;
        if (entry_is_recorded(step.entry))
            remember(t, &step, last, &result);
        step.sequence += entries_done;
        head->now_ns = (uint64_t)(result.now - t->start_ns);
        word_store(&head->acknowledged, step.sequence);

        if (result.now >= deadline || step.sequence >= limit || word_load(stop) != 0)
            return;
        ended = result.now;
        last = result.looked || !keeps_handle ? clock_now_ns(&phase->clock) : result.now;
        if ((step.position += entries_done) == part->count) {
            step.position = 0;
            step.lap++;
        }
    }
}
