/* What the bare loops share: the worker's keys and values and a uniform order of reads drawn beforehand, and nothing else. */
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
    char path[4096];
    uint64_t records;
    double seconds;
};

static inline void bare_must(bool done) {
    if (done)
        return;
    fprintf(stderr, "the bare loop failed\n");
    exit(1);
}

static inline struct bare bare_arguments(int argc, char **argv, const char *file) {
    struct bare bare;
    bare_must(argc == 4);
    snprintf(bare.path, sizeof bare.path, "%s/%s", argv[1], file);
    bare.records = strtoull(argv[2], NULL, 10);
    bare.seconds = strtod(argv[3], NULL);
    return bare;
}

static inline int64_t thread_cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A second thread that does nothing: as long as a process has but one, glibc leaves out the locks that every worker pays for. */
static void *bare_idle(void *nothing) {
    pause();
    return nothing;
}

static inline void bare_run(const struct bare *bare, void (*put)(const unsigned char *, const unsigned char *),
                            int (*get)(const unsigned char *, unsigned char *, int)) {
    struct key_shape shape = {.format = KEY_BINARY, .bytes = BARE_KEY_BYTES};
    struct value_shape values = {.pool_bytes = 1 << 20, .pool_seed = 1, .repeated_permille = 500, .length_max = BARE_VALUE_BYTES};
    struct value_pool pool;
    unsigned char key[BARE_KEY_BYTES + 8], value[2 * BARE_VALUE_BYTES];
    bare_must(pool_make(&pool, &values));
    for (uint64_t i = 0; i < bare->records; i++) {
        key_write(&shape, i, key);
        value_write(&pool, value, BARE_VALUE_BYTES, i, 0);
        put(key, value);
    }
    uint64_t *order = malloc(BARE_ORDER * sizeof *order);
    bare_must(order != NULL);
    for (uint64_t i = 0; i < BARE_ORDER; i++)
        order[i] = keyval_mix(i) % bare->records;
    pthread_t idle;
    bare_must(pthread_create(&idle, NULL, bare_idle, NULL) == 0);
    int64_t start = clock_monotonic_ns(), end = start + (int64_t)(bare->seconds * 1e9), now = start;
    int64_t cpu = thread_cpu_ns();
    uint64_t done = 0;
    while (now < end) {
        for (int i = 0; i < 1024; i++, done++) {
            key_write(&shape, order[done % BARE_ORDER], key);
            bare_must(get(key, value, sizeof value) == BARE_VALUE_BYTES);
        }
        now = clock_monotonic_ns();
    }
    printf("%.2f %.2f\n", (double)(now - start) / (double)done, (double)(thread_cpu_ns() - cpu) / (double)done);
    free(order);
    pool_free(&pool);
}

#endif
