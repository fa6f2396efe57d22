/* The store's own counters, written into the counters file while a phase runs: section 3.1 of
 * docs/worker-contract.md. */
#ifndef ASSAY_HOST_STATS_H
#define ASSAY_HOST_STATS_H

#include "counters.h"
#include "message.h"

struct stats {
    struct json_object *names; /* a list of texts; NULL: the store reports nothing */
    uint64_t count;
    double values[COUNTERS_STATS_MAX];
    uint64_t rounds;
    int64_t cost_ns; /* of all rounds */
    int64_t next_ns; /* when the next round is due, on CLOCK_MONOTONIC */
};

/* Asks the store once, for the names. */
void stats_make(struct stats *stats, const struct assay_driver *driver, struct assay_store *store);
void stats_free(struct stats *stats);

/* The phase begins: the first round is due in a second. */
void stats_begin(struct stats *stats);
/* Writes a round if one is due. The one thread that waits for the phase's end calls it. */
void stats_tell(struct stats *stats, const struct assay_driver *driver, struct assay_store *store,
                struct counters_header *header);

#endif
