#include "zero_free.h"

enum { RUN_MAX = 254, CODE_MAX = RUN_MAX + 1 };

size_t zero_free_bound(size_t length) { return length + length / RUN_MAX + 1; }

size_t zero_free_encode(unsigned char *to, struct assay_bytes bytes) {
    const unsigned char *from = bytes.data;
    unsigned char *at = to;
    size_t left = bytes.length;
    for (;;) {
        size_t most = left < RUN_MAX ? left : RUN_MAX;
        const unsigned char *zero = most > 0 ? memchr(from, 0, most) : NULL;
        size_t run = zero != NULL ? (size_t)(zero - from) : most;
        *at++ = (unsigned char)(run + 1);
        if (run > 0)
            memcpy(at, from, run);
        at += run;
        if (zero == NULL && (run < RUN_MAX || left == run))
            return (size_t)(at - to);
        size_t taken = run + (zero != NULL);
        from += taken;
        left -= taken;
    }
}

bool zero_free_decode(unsigned char *to, const unsigned char *from, size_t length, size_t *decoded) {
    const unsigned char *end = from + length;
    unsigned char *at = to;
    if (length == 0)
        return false;
    while (from < end) {
        size_t code = *from++;
        if (code == 0 || (size_t)(end - from) < code - 1)
            return false;
        memcpy(at, from, code - 1);
        at += code - 1;
        from += code - 1;
        if (code < CODE_MAX && from < end)
            *at++ = 0;
    }
    *decoded = (size_t)(at - to);
    return true;
}
