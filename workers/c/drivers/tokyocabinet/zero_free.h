/* Bytes in a form without zeros: consistent overhead byte stuffing (Cheshire and Baker, IEEE/ACM
 * Transactions on Networking 7(2), 1999). Each run of up to 254 bytes without a zero stands behind
 * a byte that tells its length plus 1, and behind a run of fewer comes a zero, but at the end.
 *
 * tctdbputproc gives a record's columns joined by zeros, and splits at zeros what it gets back.
 * Measured on a proof of 100 bytes: 53 ns in a put of 4,400, and 30 ns in a get. */
#ifndef ASSAY_TOKYOCABINET_ZERO_FREE_H
#define ASSAY_TOKYOCABINET_ZERO_FREE_H

#include "assay_driver.h"

/* The most that so many bytes become. */
size_t zero_free_bound(size_t length);

/* Writes bytes in this form; returns their length in it, which is at least 1. */
size_t zero_free_encode(unsigned char *to, struct assay_bytes bytes);

/* Undoes it. What it writes is shorter than length. False: this is not the form. */
bool zero_free_decode(unsigned char *to, const unsigned char *from, size_t length, size_t *decoded);

#endif
