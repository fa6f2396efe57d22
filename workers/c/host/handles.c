#include "handles.h"

#include <stdlib.h>

static enum assay_status close_all(struct handles *h, struct assay_error *error) {
    enum assay_status worst = ASSAY_OK;
    for (int i = 0; i < h->count; i++) {
        struct assay_error one = {{0}};
        if (h->driver->handle_close(h->all[i], &one) != ASSAY_OK && worst == ASSAY_OK)
            worst = assay_fail(error, "closing a handle: %s", one.text);
    }
    free(h->all);
    free(h->idle);
    h->all = h->idle = NULL;
    h->count = 0;
    return worst;
}

enum assay_status handles_open(struct handles *h, const struct assay_driver *driver, struct assay_store *store,
                               enum handle_mode mode, int count, struct assay_error *error) {
    *h = (struct handles){.driver = driver, .store = store, .mode = mode};
    if (mode == HANDLES_PER_OPERATION)
        count = 0;
    h->all = calloc((size_t)count + 1, sizeof *h->all);
    h->idle = calloc((size_t)count + 1, sizeof *h->idle);
    if (h->all == NULL || h->idle == NULL) {
        free(h->all);
        free(h->idle);
        h->all = h->idle = NULL;
        return assay_fail(error, "no memory for handles");
    }
    for (; h->count < count; h->count++) {
        enum assay_status status = driver->handle_open(store, &h->all[h->count], error);
        if (status != ASSAY_OK) {
            struct assay_error ignored; /* why no more could be opened says more */
            close_all(h, &ignored);
            return status;
        }
        h->idle[h->count] = h->all[h->count];
    }
    h->idle_count = count;
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->given_back, NULL);
    return ASSAY_OK;
}

enum assay_status handles_close(struct handles *h, struct assay_error *error) {
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->given_back);
    return close_all(h, error);
}

struct assay_handle *handles_of(const struct handles *h, uint32_t thread) {
    switch (h->mode) {
    case HANDLES_SHARED:
        return h->all[0];
    case HANDLES_PER_THREAD:
        return h->all[thread];
    default:
        return NULL;
    }
}

struct assay_handle *handles_take(struct handles *h) {
    pthread_mutex_lock(&h->lock);
    while (h->idle_count == 0)
        pthread_cond_wait(&h->given_back, &h->lock);
    struct assay_handle *handle = h->idle[h->idle_first];
    h->idle_first = (h->idle_first + 1) % h->count;
    h->idle_count--;
    pthread_mutex_unlock(&h->lock);
    return handle;
}

void handles_give_back(struct handles *h, struct assay_handle *handle) {
    pthread_mutex_lock(&h->lock);
    h->idle[(h->idle_first + h->idle_count++) % h->count] = handle;
    pthread_mutex_unlock(&h->lock);
    pthread_cond_signal(&h->given_back);
}
