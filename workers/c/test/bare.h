/* What the bare loops share: the worker's keys and values and a uniform order of them drawn beforehand, and nothing else. They open the files
 * that the worker has loaded, so that both meet the same pages.
 *
 *   bare-ENGINE DIRECTORY RECORDS SECONDS read|update    prints ns an operation, by the clock and of the process's processor time */
#ifndef ASSAY_TEST_BARE_H
#define ASSAY_TEST_BARE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "keyval.h"

enum { BARE_KEY_BYTES = 16, BARE_VALUE_BYTES = 100, BARE_ORDER = 1 << 20 };

struct bare {
    char directory[4096];
    uint64_t records;
    double seconds;
    bool update;
};

static inline void bare_must(bool done) {
    if (done)
        return;
    fprintf(stderr, "the bare loop failed\n");
    exit(1);
}

static inline struct bare bare_arguments(int argc, char **argv) {
    struct bare bare;
    bare_must(argc == 5 && (strcmp(argv[4], "read") == 0 || strcmp(argv[4], "update") == 0));
    snprintf(bare.directory, sizeof bare.directory, "%s", argv[1]);
    bare.records = strtoull(argv[2], NULL, 10);
    bare.seconds = strtod(argv[3], NULL);
    bare.update = strcmp(argv[4], "update") == 0;
    return bare;
}

static inline int64_t bare_cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A second thread that does nothing: as long as a process has but one, glibc leaves out the locks
 * that every worker pays for. */
static void *bare_idle(void *nothing) {
    pause();
    return nothing;
}

static inline void bare_run(const struct bare *bare, void (*put)(const unsigned char *, const unsigned char *),
                            int (*get)(const unsigned char *, unsigned char *, int)) {
    struct key_shape shape = {.format = KEY_BINARY, .bytes = BARE_KEY_BYTES};
    struct value_shape values = {.pool_bytes = 1 << 20, .pool_seed = 1, .repeated_permille = 500, .length_max = BARE_VALUE_BYTES, .trial_tag = 1};
    struct value_pool pool;
    unsigned char key[BARE_KEY_BYTES + 8], value[2 * BARE_VALUE_BYTES];
    bare_must(pool_make(&pool, &values));
    uint64_t *order = malloc(BARE_ORDER * sizeof *order);
    bare_must(order != NULL);
    for (uint64_t i = 0; i < BARE_ORDER; i++)
        order[i] = keyval_mix(i) % bare->records;
    pthread_t idle;
    bare_must(pthread_create(&idle, NULL, bare_idle, NULL) == 0);
    int64_t start = clock_monotonic_ns(), end = start + (int64_t)(bare->seconds * 1e9), now = start, cpu = bare_cpu_ns();
    uint64_t done = 0;
    while (now < end) {
        if (bare->update) {
            for (int i = 0; i < 128; i++, done++) {
                uint64_t index = order[done % BARE_ORDER];
                key_write(&shape, index, key);
                value_write(&pool, value, BARE_VALUE_BYTES, index, done);
                put(key, value);
            }
        } else {
            for (int i = 0; i < 128; i++, done++) {
                key_write(&shape, order[done % BARE_ORDER], key);
                bare_must(get(key, value, sizeof value) == BARE_VALUE_BYTES);
            }
        }
        now = clock_monotonic_ns();
    }
    printf("%.2f %.2f\n", (double)(now - start) / (double)done, (double)(bare_cpu_ns() - cpu) / (double)done);
    free(order);
    pool_free(&pool);
}

#endif
