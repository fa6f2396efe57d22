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

enum {
    PAIR_TRIES = 50,
    DIFFERENCE_TRIES = 5,
    CALIBRATION_NS_MIN = 20 * 1000 * 1000,
    SCALE_APART = 2000 /* by which part a tick may be longer or shorter than it was found to be */
};
/* Since an older look than that the machine may have slept, which CLOCK_MONOTONIC does not count. */
static const int64_t CALIBRATION_NS_MAX = 60LL * 1000 * 1000 * 1000;

/* What both clocks showed at nearly one moment. */
struct look {
    uint64_t ticks;
    int64_t ns;
};

/* The last look of the calibration before, or that of clock_begin, and the scale that was found then;
 * 0: none was. The thread that prepares phases alone has them. */
static struct look earlier;
static uint64_t known;

/* The narrowest of many tries. */
static struct look look_at_both(void) {
    struct look at = {0, 0};
    int64_t narrowest = INT64_MAX;
    for (int i = 0; i < PAIR_TRIES; i++) {
        int64_t before = clock_monotonic_ns();
        uint64_t now = clock_ticks();
        int64_t width = clock_monotonic_ns() - before;
        if (width < narrowest) {
            narrowest = width;
            at = (struct look){now, before + width / 2};
        }
    }
    return at;
}

static uint64_t scale_of(struct look before, struct look now) {
    return (uint64_t)(((unsigned __int128)(uint64_t)(now.ns - before.ns) << 32) / (now.ticks - before.ticks));
}

/* Whether nothing but time has passed between looks: a tick is as long as it was. */
static bool is_plausible(struct look before, struct look now) {
    if (known == 0)
        return true;
    uint64_t scale = scale_of(before, now);
    return (scale > known ? scale - known : known - scale) <= known / SCALE_APART;
}

void clock_begin(void) { earlier = look_at_both(); }

/* Finds the length of a tick by two looks at least 20 ms apart. The first one is that of the
 * calibration before, so that a phase after another waits for nothing. */
static void calibrate(struct clock *clock) {
    struct look before = earlier, now = look_at_both();
    int64_t age = now.ns - before.ns;
    if (before.ns == 0 || age > CALIBRATION_NS_MAX || now.ticks <= before.ticks || !is_plausible(before, now)) {
        before = now;
        age = 0;
    }
    if (age < CALIBRATION_NS_MIN) {
        nanosleep(&(struct timespec){.tv_nsec = CALIBRATION_NS_MIN - age}, NULL);
        now = look_at_both();
    }
    clock->scale = known = scale_of(before, now);
    clock->ticks = now.ticks;
    clock->origin_ns = now.ns;
    earlier = now;
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
