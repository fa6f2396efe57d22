#include "definition.h"
#include "thread.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* How long others are not let in any more: giving the processor up takes longer than many a store's whole
 * operation. Then what a thread that did not spin may save up, and what struct waiter begins with. */
enum { ALONE_BELOW_NS = 5 * 1000, SLEEP_NS_MAX = 50 * 1000 * 1000, CREDIT_NS_MAX = 1000 * 1000 };
enum { LATE_NS_FIRST = 50 * 1000, LATE_NS_MAX = 1500 * 1000, LATE_NS_STEP = 500 };

/* All threads together may spin a quarter of the processors. */
static void waiter_make(struct waiter *w, uint32_t threads) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    w->share = (processors > 0 ? (double)processors : 1.0) / 4 / threads;
    w->share = w->share < 1 ? w->share : 1;
    w->late_ns = LATE_NS_FIRST;
    w->credit_ns = CREDIT_NS_MAX;
}

/* Returns how long before a moment a sleep should end. */
static int64_t waiter_lead(struct waiter *w, int64_t now) {
    double credit = (double)w->credit_ns + w->share * (double)(now - w->counted_ns);
    w->credit_ns = credit < CREDIT_NS_MAX ? (int64_t)credit : CREDIT_NS_MAX;
    w->counted_ns = now;
    int64_t lead = w->late_ns < w->credit_ns ? w->late_ns : w->credit_ns;
    return lead > 0 ? lead : 0;
}

/* Notes what a sleep ended late by. */
static void waiter_slept(struct waiter *w, int64_t late) {
    int64_t estimate = w->late_ns + (late > w->late_ns ? 9 * LATE_NS_STEP : -LATE_NS_STEP);
    w->late_ns = estimate < 0 ? 0 : estimate > LATE_NS_MAX ? LATE_NS_MAX : estimate;
}

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
            if (operation_puts(entry_operation(member)))
                bytes += t->record != NULL ? t->record->bytes_max : trace->amounts[entry_size_class(member)];
        }
        members_max = members > members_max ? members : members_max;
        bytes_max = bytes > bytes_max ? bytes : bytes_max;
    }
    t->writes = calloc(members_max + 1, sizeof *t->writes);
    t->arena = make_bytes(bytes_max + 8);
    return t->writes != NULL && t->arena != NULL;
}

/* Makes room for the values of queries, and for what the largest finds: at most half of the table is
 * ever taken. */
static bool make_query(struct thread *t) {
    size_t limit_max = 0, room = 0;
    t->query.thread = t;
    for (uint64_t p = 0; p < t->part->count; p++) {
        uint64_t entry = t->part->entries[p];
        unsigned operation = entry_operation(entry);
        if (!operation_asks(operation))
            continue;
        const struct query_shape *shape = &t->phase->definition->shape[t->phase->trace.amounts[entry_size_class(entry)]];
        size_t needed = query_room(shape, t->record);
        room = needed > room ? needed : room;
        if (operation == OPERATION_QUERY && shape->told.limit > limit_max)
            limit_max = shape->told.limit;
    }
    t->query.room = make_bytes(room);
    uint64_t places = 4;
    while (places < 2 * (uint64_t)limit_max)
        places *= 2;
    t->query.mask = places - 1;
    t->query.found = limit_max > 0 ? (uint64_t *)(void *)make_bytes(places * sizeof *t->query.found) : NULL;
    return t->query.room != NULL && (limit_max == 0 || t->query.found != NULL);
}

/* Makes room for the largest find that is recorded. */
static bool make_find(struct thread *t) {
    const struct trace *trace = &t->phase->trace;
    if ((trace->flags & TRACE_FLAG_FINDS) == 0)
        return true;
    uint64_t most = 0, heads = 1 + 2 * (uint64_t)trace->threads;
    for (uint64_t p = 0; p < t->part->count; p++) {
        uint64_t entry = t->part->entries[p], finds = 0;
        if (entry_is_recorded(entry) && entry_operation(entry) == OPERATION_SCAN)
            finds = trace->amounts[entry_size_class(entry)];
        if (entry_is_recorded(entry) && entry_operation(entry) == OPERATION_QUERY)
            finds = t->phase->definition->shape[trace->amounts[entry_size_class(entry)]].told.limit;
        most = finds > most ? finds : most;
    }
    t->find.words = (uint64_t *)(void *)make_bytes((heads + most + 1) * sizeof(uint64_t));
    t->find.found = t->find.words + heads;
    return t->find.words != NULL;
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
    t->clock = &phase->clock;
    t->still = (struct clock){.stands = true};
    t->record = phase->record;
    t->number = number;
    waiter_make(&t->waiter, phase->trace.threads);
    t->part = &phase->trace.thread[number];
    t->head = counters_thread(&phase->counters, number);
    t->handle = handles_of(handles, number);
    t->versions = version_make(phase->number, number, 0);
    t->observed = observed_words(phase, number);
    t->watching = t->observed != NULL;
    t->history = phase->history.data != NULL ? history_thread(&phase->history, number) : NULL;
    for (uint32_t k = 0; k < phase->trace.slots; k++)
        if (!operation_asks(phase->trace.operation[k]))
            t->slots[phase->trace.operation[k]] = counters_slot(&phase->counters, number, k);
    t->handle_times = counters_handle_times(&phase->counters, number);
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
    bool made = make_batch(t) && make_query(t) && make_find(t) && t->scratch != NULL && t->key != NULL && t->value != NULL && t->buffer.data != NULL && t->old.data != NULL &&
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
    free(t->query.room);
    free(t->find.words);
}

/* Returns the time once a moment has come, or -1 if the phase ends before. */
static int64_t sleep_until(struct thread *t, int64_t moment, int64_t deadline, const uint64_t *stop) {
    int64_t now = clock_now_ns(&t->phase->clock);
    if (moment >= deadline)
        moment = deadline;
    int64_t lead = now < moment ? waiter_lead(&t->waiter, now) : 0;
    while (now < moment) {
        if (word_load(stop) != 0)
            return -1;
        int64_t before = now, asked = moment - now - lead < SLEEP_NS_MAX ? moment - now - lead : SLEEP_NS_MAX;
        if (asked > ALONE_BELOW_NS) {
            nanosleep(&(struct timespec){.tv_nsec = asked}, NULL);
            now = clock_now_ns(&t->phase->clock);
            waiter_slept(&t->waiter, now - before - asked);
            continue;
        }
        if (moment - now > ALONE_BELOW_NS)
            sched_yield(); /* a spin that would keep another worker's thread from its processor measures itself */
        now = clock_now_ns(&t->phase->clock);
        t->waiter.credit_ns -= now - before;
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

/* Counts a handle that was asked for at one moment and had at another. */
static void count_handle(struct thread *t, int64_t asked, int64_t had) {
    if (t->handle_times != NULL)
        t->handle_times[histogram_bucket(had > asked ? (uint64_t)(had - asked) : 0)]++;
}

/* Counts the wait for a pooled handle, and returns when it ended. */
static int64_t count_wait(struct thread *t, int64_t asked) {
    int64_t had = clock_now_ns(&t->phase->clock);
    if (had > asked)
        t->head->handle_wait_ns += (uint64_t)(had - asked);
    count_handle(t, asked, had);
    return had;
}

/* Counts a handle that was opened for what is about to be done. */
static void count_opening(struct thread *t, int64_t asked) {
    t->head->handles_opened++;
    if (t->handle_times != NULL)
        count_handle(t, asked, clock_now_ns(&t->phase->clock));
}

/* Waiting for a pooled handle is in no service time, it is counted apart: *last moves to its end.
 * Opening a new one is in the service time, for a client that opens one each time pays for it each
 * time. */
static struct result operate_with_handle(struct thread *t, const struct step *s, int64_t *last) {
    struct result result;
    if (t->handles->mode == HANDLES_POOL) {
        struct assay_handle *handle = t->handle = handles_take(t->handles);
        *last = count_wait(t, *last);
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
    count_opening(t, *last);
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

/* Notes how far the threads are, if what the marked operation finds in this lap is recorded. */
static bool begin_find(struct thread *t, const struct step *s) {
    if (!operation_finds(entry_operation(s->entry)) || !trace_records_find(s->lap))
        return false;
    for (uint32_t i = 0; i < t->phase->trace.threads; i++)
        t->find.words[1 + i] = word_load(&counters_thread(&t->phase->counters, i)->acknowledged);
    t->find.active = true;
    t->find.count = t->find.items = 0;
    return true;
}

/* Records what a marked operation found, if it is to be in this lap. */
static void remember_find(struct thread *t, struct history_record record, enum outcome outcome) {
    if (!t->find.active)
        return;
    t->find.active = false;
    uint32_t threads = t->phase->trace.threads;
    for (uint32_t i = 0; i < threads; i++)
        t->find.words[1 + threads + i] = word_load(&counters_thread(&t->phase->counters, i)->attempted);
    record.read = t->find.items;
    t->find.words[0] = outcome == OUTCOME_OK ? t->find.count : 0;
    history_append_find(t->history, t->phase->history.each, record, t->find.words, 1 + 2 * (uint64_t)threads + t->find.words[0]);
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
    if (operation_finds(entry_operation(s->entry))) {
        remember_find(t, record, result->outcome);
        return;
    }
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

/* Where an entry's operation is counted. */
static inline struct counters_slot *slot_of(const struct thread *t, uint64_t entry) {
    struct counters_slot *slot = t->slots[entry_operation(entry)];
    return slot != NULL ? slot : counters_slot(&t->phase->counters, t->number, (uint32_t)trace_slot_of(&t->phase->trace, entry));
}

/* Where a thread stands in its requests. */
struct request {
    struct step step; /* the entry that is next */
    int64_t due;
    enum assay_status opened; /* whether the request's own handle could be opened */
};

/* Counts the entry at the step and goes on to the next. */
static void count_entry(struct thread *t, struct request *r, int64_t begin, int64_t now, enum outcome outcome) {
    struct counters_slot *slot = slot_of(t, r->step.entry);
    uint64_t service = now > begin ? (uint64_t)(now - begin) : 0;
    slot->service[histogram_bucket(service)]++;
    if (service > slot->service_max_ns)
        slot->service_max_ns = service;
    if (t->part->due != NULL)
        counters_response(slot)[histogram_bucket(now > r->due ? (uint64_t)(now - r->due) : 0)]++;
    slot->outcomes[outcome]++;
    r->step.sequence++;
    r->step.position++;
    t->head->now_ns = (uint64_t)(now - t->start_ns);
    word_store(&t->head->acknowledged, r->step.sequence);
}

/* Takes the request's handle, and returns when the request begins: waiting for a pooled handle is in
 * no service time, opening one is in that of the request and of its first step. */
static int64_t take_handle(struct thread *t, struct request *r, int64_t last) {
    if (t->handles->mode != HANDLES_POOL) {
        r->opened = t->driver->handle_open(t->handles->store, &t->handle, &t->error);
        if (r->opened == ASSAY_OK)
            count_opening(t, last);
        return last;
    }
    t->handle = handles_take(t->handles);
    return count_wait(t, last);
}

static void give_handle_back(struct thread *t, const struct request *r) {
    if (t->handles->mode == HANDLES_POOL)
        handles_give_back(t->handles, t->handle);
    else if (r->opened == ASSAY_OK && t->driver->handle_close(t->handle, &t->error) != ASSAY_OK)
        note(t, OPERATION_REQUEST, OUTCOME_ERROR, t->error.text);
    t->handle = NULL;
}

static struct result do_step(struct thread *t, struct request *r, int64_t last) {
    struct step *step = &r->step;
    unsigned operation = entry_operation(step->entry);
    step->index = entry_effective_index(step->entry, step->lap, t->part->stride);
    step->slot = slot_of(t, step->entry);
    bool recorded = entry_is_recorded(step->entry);
    if (recorded)
        t->watching = true, t->saw = OBSERVED_NOT_READ;
    word_store(&t->head->attempted, step->sequence + 1);
    struct result result;
    if (r->opened == ASSAY_OK) {
        result = operate(t, step);
    } else { /* never a miss or a conflict, for the store was not asked */
        enum outcome outcome = r->opened == ASSAY_TIMEOUT ? OUTCOME_TIMEOUT : OUTCOME_ERROR;
        result = (struct result){outcome, true, clock_now_ns(&t->phase->clock)};
        note(t, operation, outcome, t->error.text);
    }
    if (recorded)
        remember(t, step, last, &result);
    count_entry(t, r, last, result.now, result.outcome);
    return result;
}

/* Does one request from its first step. Returns when its last step ended; *next is when another
 * operation may begin. */
static int64_t do_request(struct thread *t, struct request *r, bool keeps_handle, int64_t *next) {
    int64_t begin = keeps_handle ? *next : take_handle(t, r, *next);
    int64_t last = begin;
    enum outcome outcome = OUTCOME_OK;
    struct result result = {OUTCOME_OK, false, begin};
    while (r->step.entry = t->part->entries[r->step.position], entry_operation(r->step.entry) != OPERATION_REQUEST) {
        result = do_step(t, r, last);
        if (outcome == OUTCOME_OK)
            outcome = result.outcome;
        last = result.looked ? clock_now_ns(&t->phase->clock) : result.now;
    }
    word_store(&t->head->attempted, r->step.sequence + 1);
    count_entry(t, r, begin, result.now, outcome);
    if (!keeps_handle)
        give_handle_back(t, r);
    *next = result.looked || !keeps_handle ? clock_now_ns(&t->phase->clock) : result.now;
    return result.now;
}

/* The same for entries that are requests: a loop of its own, so that traces without them pay
 * nothing. A request has one handle for all of its steps, and is never left in the middle. */
static void walk_requests(struct thread *t) {
    const struct trace_thread *part = t->part;
    const uint64_t *stop = &t->phase->counters.header->stop;
    const int64_t deadline = ends(t);
    const bool keeps_handle = t->handle != NULL;
    struct request r = {.opened = ASSAY_OK};
    int64_t next = clock_now_ns(&t->phase->clock), ended = t->start_ns + (int64_t)part->from_ns;
    do {
        if (r.step.position == part->count) {
            r.step.position = 0;
            r.step.lap++;
        }
        if (part->due != NULL) {
            r.due = t->start_ns + (int64_t)(part->due[r.step.position] + r.step.lap * part->lap_ns);
            if ((next = wait_until(t, r.due, ended, deadline, stop)) < 0)
                return;
        }
        ended = do_request(t, &r, keeps_handle, &next);
    } while (ended < deadline && (part->limit == 0 || r.step.sequence < part->limit) && word_load(stop) == 0);
}

/* The same where one operation in so many is timed: at the others the clock stands still, so that
 * whatever looks at it costs nothing. Those on recorded keys are timed for the history alone. */
static void walk_sampled(struct thread *t) {
    const struct phase *phase = t->phase;
    const struct trace_thread *part = t->part;
    struct counters_thread *head = t->head;
    const uint64_t *stop = &phase->counters.header->stop;
    const uint64_t limit = part->limit != 0 ? part->limit : UINT64_MAX, every = phase->trace.timed_every;
    const int64_t deadline = ends(t);
    uint64_t next = trace_next_timed(every, UINT64_MAX);
    struct step step = {0};
    struct result result = {.now = t->still.at = clock_now_ns(&phase->clock)};
    for (uint64_t operation = 0;; operation++) {
        step.entry = part->entries[step.position];
        unsigned code = entry_operation(step.entry);
        uint64_t entries_done = code == OPERATION_BATCH ? 1 + phase->trace.amounts[entry_size_class(step.entry)] : 1;
        step.index = entry_index(step.entry);
        if (entry_is_special(step.entry)) {
            if (entry_grows(step.entry))
                step.index += step.lap * part->stride;
            else
                t->watching = true, t->saw = OBSERVED_NOT_READ, begin_find(t, &step);
        }
        step.slot = slot_of(t, step.entry);
        word_store(&head->attempted, step.sequence + entries_done);

        bool timed = operation == next, looks = timed || entry_is_recorded(step.entry);
        int64_t begin = 0;
        t->clock = &t->still;
        if (looks) {
            t->clock = &phase->clock;
            begin = clock_now_ns(t->clock);
        }
        result = operate(t, &step);
        if (timed) {
            uint64_t service = result.now > begin ? (uint64_t)(result.now - begin) : 0;
            step.slot->service[histogram_bucket(service)]++;
            if (service > step.slot->service_max_ns)
                step.slot->service_max_ns = service;
            next = trace_next_timed(every, next);
        }
        step.slot->outcomes[result.outcome]++;
        if (looks) {
            t->still.at = result.now;
            head->now_ns = (uint64_t)(result.now - t->start_ns);
            if (entry_is_recorded(step.entry))
                remember(t, &step, begin, &result);
        }
        step.sequence += entries_done;
        word_store(&head->acknowledged, step.sequence);

        if (result.now >= deadline || step.sequence >= limit || word_load(stop) != 0)
            break;
        if ((step.position += entries_done) == part->count) {
            step.position = 0;
            step.lap++;
        }
    }
    t->clock = &phase->clock;
    head->now_ns = (uint64_t)(clock_now_ns(t->clock) - t->start_ns);
}

/* The clock is read once an operation: each end is the next one's start. So an operation's time
 * includes making its key and value and counting the one before, which is what the null driver's
 * rate bounds. Where the worker did something else in between (checked a value, waited for a handle
 * or a due time), the clock is read again. */
void thread_walk(struct thread *t) {
    if (trace_thread_has_requests(t->part)) {
        walk_requests(t);
        return;
    }
    if (t->phase->trace.timed_every > 0) {
        walk_sampled(t);
        return;
    }
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
            else {
                t->watching = true, t->saw = OBSERVED_NOT_READ;
                if (begin_find(t, &step))
                    last = clock_now_ns(&phase->clock);
            }
        }
        step.slot = slot_of(t, step.entry);
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
