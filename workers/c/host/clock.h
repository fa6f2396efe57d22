/* The time inside the loop: the processor's time-stamp counter where it can be trusted,
 * CLOCK_MONOTONIC otherwise. */
#ifndef ASSAY_HOST_CLOCK_H
#define ASSAY_HOST_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#define CLOCK_HAS_TICKS 1
/* It does not wait for earlier instructions: a store's call ends in a return and loads of its
 * result, which hold it back by more than the few ns that could slip past. */
static inline uint64_t clock_ticks(void) { return __rdtsc(); }
#else
#define CLOCK_HAS_TICKS 0
static inline uint64_t clock_ticks(void) { return 0; }
#endif

#include "assay_driver.h"

/* Does not change once it is made, so that all threads share it. */
struct clock {
    bool tsc;
    int64_t origin_ns; /* CLOCK_MONOTONIC at the origin */
    uint64_t ticks;    /* at the origin */
    uint64_t scale;    /* ns a tick, times 2^32 */
    bool stands;       /* it shows `at` until that is set anew */
    int64_t at;
};

static inline int64_t clock_monotonic_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ns since the origin. */
static inline int64_t clock_now_ns(const struct clock *clock) {
    if (clock->tsc)
        return (int64_t)(((unsigned __int128)(clock_ticks() - clock->ticks) * clock->scale) >> 32);
    if (clock->stands)
        return clock->at;
    return clock_monotonic_ns() - clock->origin_ns;
}

/* Takes the first look of a calibration, so that the first clock_make need not wait for the second. */
void clock_begin(void);

/* Makes the clock "auto", "tsc" or "monotonic". False: error says why not. Calibrating the counter
 * takes 20 ms, less what has passed since clock_begin or the calibration before. One thread alone
 * may call this and clock_begin. */
bool clock_make(struct clock *clock, const char *source, struct assay_error *error);

/* How far the clock has gone from CLOCK_MONOTONIC, in ns: positive if it is ahead. */
int64_t clock_difference_ns(const struct clock *clock);

#endif
