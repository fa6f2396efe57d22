#include "stats.h"

#include <math.h>

#include "clock.h"

/* Asking the store takes at most one part in RARITY of one processor. */
enum { PERIOD_NS = 1000000000, RARITY = 500 };

void stats_make(struct stats *stats, const struct assay_driver *driver, struct assay_store *store) {
    *stats = (struct stats){.names = NULL};
    if (driver->inspect == NULL)
        return;
    struct assay_sink sink = {.object = json_object_new_object()};
    bool busy;
    driver->inspect(store, &sink, &busy);
    stats->names = json_object_new_array();
    json_object_object_foreach(sink.object, name, value) {
        (void)value;
        if (stats->count == COUNTERS_STATS_MAX)
            break;
        json_object_array_add(stats->names, json_object_new_string(name));
        stats->count++;
    }
    json_object_put(sink.object);
    if (stats->count == 0)
        stats_free(stats);
}

void stats_free(struct stats *stats) {
    json_object_put(stats->names);
    stats->names = NULL;
}

void stats_begin(struct stats *stats) { stats->next_ns = clock_monotonic_ns() + PERIOD_NS; }

static void take(void *context, const char *name, double value) {
    struct stats *stats = context;
    for (uint64_t i = 0; i < stats->count; i++)
        if (strcmp(json_object_get_string(json_object_array_get_idx(stats->names, i)), name) == 0)
            stats->values[i] = value;
}

void stats_tell(struct stats *stats, const struct assay_driver *driver, struct assay_store *store,
                struct counters_header *header) {
    int64_t begin = clock_monotonic_ns();
    if (stats->names == NULL || begin < stats->next_ns)
        return;
    for (uint64_t i = 0; i < stats->count; i++)
        stats->values[i] = NAN; /* not known, unless the store reports it */
    bool busy;
    driver->inspect(store, &(struct assay_sink){.take = take, .context = stats}, &busy);
    for (uint64_t i = 0; i < stats->count; i++) {
        uint64_t word;
        memcpy(&word, &stats->values[i], sizeof word);
        word_store(&header->stats[i], word);
    }
    word_store(&header->rounds, ++stats->rounds);
    int64_t cost = clock_monotonic_ns() - begin;
    stats->cost_ns += cost;
    stats->next_ns = begin + (cost * RARITY > PERIOD_NS ? cost * RARITY : PERIOD_NS);
}
