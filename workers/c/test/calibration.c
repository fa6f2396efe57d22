/* Holds the calibration of the host's clock against what may happen between its looks. Prints what is wrong; status 1 if
 * something is. */
#include <stdio.h>
#include <time.h>

static int naps; /* that a calibration took */

static int counted_nap(const struct timespec *length, struct timespec *left) {
    naps++;
    return nanosleep(length, left);
}

#define nanosleep counted_nap
#include "clock.c"
#undef nanosleep

static int wrong;

static void expect(bool right, const char *what) {
    if (right)
        return;
    wrong = 1;
    printf("%s\n", what);
}

/* Calibrates anew, and holds the scale against that of a calibration before, and the naps against how many it should take. */
static void calibrates(const char *what, uint64_t scale, int naps_wanted) {
    struct clock clock;
    struct assay_error error;
    naps = 0;
    expect(clock_make(&clock, "tsc", &error), error.text);
    double apart = (double)clock.scale / (double)scale - 1;
    if (apart > 1e-3 || apart < -1e-3 || naps != naps_wanted)
        printf("%s: a tick is %g of what it was longer, after %d naps\n", what, apart, naps);
    expect(apart <= 1e-3 && apart >= -1e-3, "the scale is wrong");
    expect(naps == naps_wanted, "it should have waited otherwise");
}

int main(void) {
    struct clock first;
    struct assay_error error;
    if (!clock_make(&first, "tsc", &error)) {
        printf("skipped: %s\n", error.text);
        return 0;
    }
    expect(naps == 1, "the first calibration did not wait");
    const struct timespec longer = {.tv_nsec = 2 * CALIBRATION_NS_MIN};
    const int64_t some = 50 * 1000 * 1000;
    nanosleep(&longer, NULL);
    calibrates("a phase after another", first.scale, 0);
    earlier = (struct look){earlier.ticks - (1ULL << 40), earlier.ns - some};
    calibrates("the machine slept", first.scale, 1);
    earlier = (struct look){1ULL << 63, earlier.ns - some};
    calibrates("the counter began anew", first.scale, 1);
    earlier = (struct look){1, earlier.ns - 2 * CALIBRATION_NS_MAX};
    calibrates("long ago", first.scale, 1);
    clock_begin();
    nanosleep(&longer, NULL);
    calibrates("begun at the start of the process", first.scale, 0);
    return wrong;
}
