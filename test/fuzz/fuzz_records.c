/* Fuzz target: records of samples.  A record that is parsed is safe to use, and its text comes out again. */
#include <stdlib.h>
#include <string.h>

#include "samples/records.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void same_again(const char *text, size_t n, const struct h5bucket_record *r)
{
    char again[H5BUCKET_RECORD_MAX];
    int grammar = text[3 + strlen(r->uid)] == ':' ? 5 : r->has_digest ? 4 : 2;
    if (bkt_sample_record_emit(r, grammar, again, NULL) < 0 || strlen(again) != n ||
        memcmp(again, text, n) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct h5bucket_record r;
    struct bkt_err err = {.n = 0};
    uint64_t elements;
    char *text = malloc(size ? size : 1); /* exact: a sanitizer sees a byte too far */
    if (!text)
        return 0;
    memcpy(text, data, size);
    if (bkt_sample_record_parse(text, size, &r, &err) == BKT_OK) {
        if (strchr(r.uid, '/') || strchr(r.uid, '.') || r.rank < 0 || r.rank > H5S_MAX_RANK ||
            !bkt_sample_record_elements(&r, &elements))
            abort();
        same_again(text, size, &r);
    } else if (err.n == 0)
        abort();
    free(text);
    return 0;
}
