#include "tools/samples/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "samples/records.h"
#include "tools/cli/interrupt.h"

#define BATCH_BYTES ((size_t)64 << 20)  /* of a batch, unless one sample is longer */
#define SAMPLE_MAX  ((uint64_t)4 << 30) /* bytes of a sample; more is taken for damage */

static int measure(struct sample_tool *s, const char *record, size_t *bytes, struct bkt_err *err)
{
    struct h5bucket_record  r;
    struct bkt_sample_file *f;
    struct bkt_sample_dset *d;
    uint64_t                n, room = 1, size;
    BKT_PASS(bkt_record_parse(record, strlen(record), &r, err));
    BKT_PASS(bkt_repository_file(s->repo, r.format, r.uid, &f, err));
    BKT_PASS(bkt_sample_file_dset(f, r.dataset, &d, err));
    for (int i = 1; i < d->rank; i++)
        if (!bkt_mul_u64(room, d->dims[i], &room))
            BKT_FAIL(err, BKT_EFORMAT, "%s: collection %u has an impossible extent", f->name, r.dataset);
    if (!bkt_record_elements(&r, &n) || n > room || !bkt_mul_u64(n, d->elem, &size))
        BKT_FAIL(err, BKT_ERANGE, "record '%s': %s: collection %u has no such row or shape", record, f->name,
                 r.dataset);
    if (size > SAMPLE_MAX)
        BKT_FAIL(err, BKT_EUNSUP, "record '%s': more than 4 GiB", record);
    *bytes = (size_t)size;
    return BKT_OK;
}

struct batch {
    struct h5bucket_sample v[SAMPLE_BATCH];
    bool                   failed[SAMPLE_BATCH]; /* before it was read */
    size_t                 n;
};

static void batch_fini(struct batch *b)
{
    for (size_t i = 0; i < b->n; i++)
        free(b->v[i].buffer);
    b->n = 0;
}

/* The message from the outside in. */
static void note(struct h5bucket_sample *sample, const char *record, const struct bkt_err *why)
{
    const char *text = why->n ? why->frame[0].msg : "it can't be read";
    bool        whole = strncmp(text, "record", 6) == 0;
    sample->status = -1;
    (void)snprintf(sample->error, sizeof sample->error, whole ? "%.0s%s" : "record '%.200s': %.280s",
                   whole ? "" : record, text);
}

static size_t add(struct sample_tool *s, struct batch *b, const char *record, struct bkt_err *err)
{
    struct h5bucket_sample *sample = &b->v[b->n];
    size_t bytes = 0;
    bkt_err_clear(err);
    *sample = (struct h5bucket_sample){.record = record};
    b->failed[b->n] = measure(s, record, &bytes, err) < 0;
    if (!b->failed[b->n]) {
        sample->buffer = malloc(bytes ? bytes : 1);
        sample->size   = bytes;
        b->failed[b->n] = !sample->buffer;
        if (!sample->buffer)
            (void)BKT_ERR(err, BKT_ENOMEM, "out of memory for %zu bytes", bytes);
    }
    if (b->failed[b->n])
        note(sample, record, err);
    b->n++;
    return bytes;
}

/* Those that failed already come behind the others, for the one call that reads. */
static void read_batch(struct sample_tool *s, struct batch *b)
{
    struct h5bucket_sample *v = calloc(b->n, sizeof *v);
    size_t                  n = 0;
    for (size_t i = 0; v && i < b->n; i++)
        if (!b->failed[i])
            v[n++] = b->v[i];
    if (v && n && h5bucket_sample_read_many(s->repo, n, v, H5I_INVALID_HID) < 0)
        (void)H5Eclear2(H5E_DEFAULT); /* each sample has its own error */
    n = 0;
    for (size_t i = 0; i < b->n; i++)
        if (!v)
            b->v[i].status = -1;
        else if (!b->failed[i])
            b->v[i] = v[n++];
    free(v);
}

int sample_read_each(struct sample_tool *s, char *const *records, size_t n,
                     int (*each)(void *arg, size_t i, const struct h5bucket_sample *sample), void *arg,
                     struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct batch *b = calloc(1, sizeof *b);
    struct bkt_err why = {.n = 0};
    int            rc  = BKT_OK;
    if (!b)
        BKT_NOMEM(err);
    for (size_t i = 0; i < n && rc >= 0;) {
        size_t first = i, bytes = 0;
        for (; i < n && b->n < SAMPLE_BATCH && bytes < BATCH_BYTES; i++)
            bytes += add(s, b, records[i], &why);
        read_batch(s, b);
        for (size_t k = 0; k < b->n && rc >= 0; k++)
            rc = each(arg, first + k, &b->v[k]);
        batch_fini(b);
        if (rc >= 0)
            rc = interrupt_check(err);
    }
    return rc;
}
