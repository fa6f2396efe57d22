/* The open handles of a store, in the way that the experiment shares them. */
#ifndef ASSAY_HOST_HANDLES_H
#define ASSAY_HOST_HANDLES_H

#include <pthread.h>

#include "assay_driver.h"

enum handle_mode { HANDLES_SHARED, HANDLES_PER_THREAD, HANDLES_POOL, HANDLES_PER_OPERATION };

struct handles {
    const struct assay_driver *driver;
    struct assay_store *store;
    enum handle_mode mode;
    struct assay_handle **all;
    int count; /* that are open for as long as the store is */

    pthread_mutex_t lock; /* of what follows: a pool's idle handles, first in, first out */
    pthread_cond_t given_back;
    struct assay_handle **idle;
    int idle_first, idle_count;
};

/* Opens count handles; none where each operation opens its own. False: error says why, and none is
 * open. */
enum assay_status handles_open(struct handles *handles, const struct assay_driver *driver, struct assay_store *store,
                               enum handle_mode mode, int count, struct assay_error *error);
enum assay_status handles_close(struct handles *handles, struct assay_error *error);

/* The handle that a thread keeps, or NULL where it takes one for each operation. */
struct assay_handle *handles_of(const struct handles *handles, uint32_t thread);

/* Waits for a pooled handle; gives it back. */
struct assay_handle *handles_take(struct handles *handles);
void handles_give_back(struct handles *handles, struct assay_handle *handle);

#endif
