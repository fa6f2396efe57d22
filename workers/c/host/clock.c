#include "clock.h"

#include <stdio.h>
#include <string.h>

/* Returns why the time-stamp counter is not trusted, or NULL. The kernel's own choice of clock
 * source is the strictest judge: it watches the counter against other timers and gives it up when
 * they part. */
static const char *why_no_tsc(void) {
    if (!CLOCK_HAS_TICKS)
        return "it is read on x86-64 only";
    char line[4096];
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (file == NULL)
        return "the kernel's clock source can't be read";
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    if (!read || (strcmp(line, "tsc\n") != 0 && strcmp(line, "kvm-clock\n") != 0))
        return "the kernel uses another clock source";
    file = fopen("/proc/cpuinfo", "r");
    if (file == NULL)
        return "the processor's flags can't be read";
    bool constant = false, nonstop = false;
    while (!(constant && nonstop) && fgets(line, sizeof line, file) != NULL) {
        constant |= strstr(line, " constant_tsc") != NULL;
        nonstop |= strstr(line, " nonstop_tsc") != NULL;
    }
    fclose(file);
    return constant && nonstop ? NULL : "the processor does not promise constant_tsc and nonstop_tsc";
}

enum { PAIR_TRIES = 50, DIFFERENCE_TRIES = 5, CALIBRATION_NS = 20 * 1000 * 1000 };

/* Reads both clocks at nearly one moment: the narrowest of many tries. */
static void read_pair(uint64_t *ticks, int64_t *ns) {
    int64_t narrowest = INT64_MAX;
    for (int i = 0; i < PAIR_TRIES; i++) {
        int64_t before = clock_monotonic_ns();
        uint64_t now = clock_ticks();
        int64_t width = clock_monotonic_ns() - before;
        if (width < narrowest) {
            narrowest = width;
            *ticks = now;
            *ns = before + width / 2;
        }
    }
}

static void calibrate(struct clock *clock) {
    uint64_t ticks0 = 0, ticks1 = 0;
    int64_t ns0 = 0, ns1 = 0;
    read_pair(&ticks0, &ns0);
    nanosleep(&(struct timespec){.tv_nsec = CALIBRATION_NS}, NULL);
    read_pair(&ticks1, &ns1);
    clock->scale = (uint64_t)(((unsigned __int128)(uint64_t)(ns1 - ns0) << 32) / (ticks1 - ticks0));
    clock->ticks = ticks1;
    clock->origin_ns = ns1;
}

bool clock_make(struct clock *clock, const char *source, struct assay_error *error) {
    *clock = (struct clock){.origin_ns = clock_monotonic_ns()};
    if (strcmp(source, "monotonic") == 0)
        return true;
    bool automatic = strcmp(source, "auto") == 0;
    if (!automatic && strcmp(source, "tsc") != 0)
        return assay_fail(error, "unknown clock: expected auto, tsc or monotonic"), false;
    const char *reason = why_no_tsc();
    if (reason != NULL) {
        if (automatic)
            return true;
        return assay_fail(error, "the time-stamp counter can't be used: %s", reason), false;
    }
    clock->tsc = true;
    calibrate(clock);
    return true;
}

int64_t clock_difference_ns(const struct clock *clock) {
    int64_t narrowest = INT64_MAX, difference = 0;
    for (int i = 0; i < DIFFERENCE_TRIES; i++) { /* a look may be interrupted: the closest counts */
        int64_t before = clock_monotonic_ns(), now = clock_now_ns(clock), width = clock_monotonic_ns() - before;
        if (width < narrowest) {
            narrowest = width;
            difference = now - (before + width / 2 - clock->origin_ns);
        }
    }
    return difference;
}
