/* Batches of samples, from records to verified elements in the program's buffers.
 *
 * 1. All records are parsed; equal ones are read once.
 * 2. Their files and collections are opened, and the samples' places are checked against the collections'
 * extents.
 * 3. The stored bytes are read together and compared with the digests (batch.c).
 * 4. Samples that failed in a file that an earlier call had opened are tried again in a fresh one: a writer
 * may have added them since.
 * 5. Elements are converted to the program's type. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "samples/batch.h"
#include "samples/records.h"

void bkt_item_fail(struct bkt_item *it, int rc, const struct bkt_err *err)
{
    struct h5bucket_sample *s = it->sample;
    char shown[BKT_SAMPLE_RECORD_SHOWN];
    const char *why = bkt_err_reason(err, rc), *text = s->record ? s->record : "";
    it->rc = rc;
    s->status = -1;
    if (strncmp(why, "record", 6) == 0)
        (void)snprintf(s->error, sizeof s->error, "%.511s", why);
    else
        (void)snprintf(s->error, sizeof s->error, "record '%s': %.370s",
                       bkt_sample_record_show(text, strnlen(text, H5BUCKET_RECORD_MAX), shown), why);
}

/* ---- places ---- */

/* Backend 00 stores samples flat; before v0.3 it did not.  Backend 01 stores a scalar as one element. */
static int check_place(struct bkt_item *it, struct bkt_err *err)
{
    const struct h5bucket_record *r = &it->record;
    const struct bkt_sample_dset *d = it->dset;
    it->flat = d->rank == 2 && (r->format == 0 || r->rank == 0);
    bool inside = (it->flat || d->rank == r->rank + 1) && r->row < d->dims[0];
    if (inside && it->flat)
        inside = it->n <= d->dims[1];
    else
        for (int i = 0; inside && i < r->rank; i++)
            inside = r->shape[i] <= d->dims[i + 1];
    BKT_FAIL_IF(err, !inside, BKT_ERANGE, "%s: collection %" PRIu32 " has no such row or shape",
                it->file->name, r->dataset);
    return BKT_OK;
}

static int check_size(const struct h5bucket_sample *s, size_t needed, struct bkt_err *err)
{
    size_t size = s->buffer ? s->size : 0;
    BKT_FAIL_IF(err, size < needed, BKT_EINVAL, "the buffer has %zu bytes; the sample needs %zu", size,
                needed);
    return BKT_OK;
}

/* Decide where the stored bytes go.  A sample is only as long as the program's buffer, or four times that. */
static int check_buffer(const struct bkt_sample_batch *b, struct bkt_item *it, struct bkt_err *err)
{
    const struct h5bucket_sample *s = it->sample;
    it->converts = b->type >= 0 && H5Tequal(b->type, it->dset->type) <= 0;
    BKT_FAIL_IF(
        err,
        !bkt_mul_size((size_t)it->n, it->dset->elem, &it->bytes) ||
            !bkt_mul_size((size_t)it->n, it->converts ? b->type_size : it->dset->elem, &it->out_bytes),
        BKT_ERANGE, "the sample is too large");
    BKT_PASS(check_size(s, it->out_bytes, err));
    if (it->bytes > it->out_bytes && !it->staged) {
        it->staged = malloc(it->bytes);
        BKT_NEED(err, it->staged);
    }
    it->at = it->staged ? it->staged : s->buffer;
    return BKT_OK;
}

static int place(const struct bkt_sample_batch *b, struct bkt_item *it, struct bkt_err *err)
{
    const struct h5bucket_record *r = &it->record;
    BKT_FAIL_IF(err, !bkt_sample_record_elements(r, &it->n) || it->n > SIZE_MAX, BKT_ERANGE,
                "the sample is too large");
    BKT_PASS(bkt_repository_file(b->repo, r->format, r->uid, &it->file, err));
    BKT_PASS(bkt_sample_file_dset(it->file, r->dataset, &it->dset, err));
    BKT_PASS(check_place(it, err));
    return check_buffer(b, it, err);
}

static void place_all(struct bkt_sample_batch *b)
{
    for (size_t i = 0; i < b->n_todo; i++) {
        struct bkt_err err;
        bkt_err_clear(&err);
        int rc = place(b, b->todo[i], &err);
        if (rc < 0)
            bkt_item_fail(b->todo[i], rc, &err);
    }
}

/* ---- one round ---- */

/* By file and place, so that reading goes forward. */
static int by_place(const void *a, const void *b)
{
    const struct bkt_item *x = *(struct bkt_item *const *)a, *y = *(struct bkt_item *const *)b;
    if (x->record.format != y->record.format)
        return x->record.format - y->record.format;
    int uid = strcmp(x->record.uid, y->record.uid);
    if (uid)
        return uid;
    if (x->record.dataset != y->record.dataset)
        return x->record.dataset < y->record.dataset ? -1 : 1;
    return x->record.row < y->record.row ? -1 : x->record.row > y->record.row;
}

static void round_of(struct bkt_sample_batch *b)
{
    qsort(b->todo, b->n_todo, sizeof(struct bkt_item *), by_place);
    place_all(b);
    bkt_sample_batch_read(b);
    bkt_sample_batch_verify(b);
}

/* The samples for a second round; their files are closed. */
static void take_stale(struct bkt_sample_batch *b)
{
    struct h5bucket_repository *repo = b->repo;
    b->n_todo = 0;
    for (size_t i = 0; i < b->n; i++) {
        struct bkt_item *it = &b->items[i];
        if (it->rc < 0 && it->file && it->file->head.call != repo->calls && it->rc != BKT_EINVAL)
            b->todo[b->n_todo++] = it;
    }
    for (size_t i = 0; i < b->n_todo; i++)
        bkt_repository_forget(repo, b->todo[i]->record.format, b->todo[i]->record.uid);
    for (size_t i = 0; i < b->n_todo; i++) {
        b->todo[i]->rc = BKT_OK;
        b->todo[i]->file = NULL;
        b->todo[i]->dset = NULL;
    }
}

/* ---- results ---- */

static int convert(const struct bkt_sample_batch *b, struct bkt_item *it, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) void *back = NULL;
    if (it->converts && it->n) {
        bool compound = H5Tget_class(b->type) == H5T_COMPOUND;
        back = compound ? calloc(1, it->out_bytes) : NULL;
        if (compound && !back)
            BKT_NOMEM(err);
        BKT_NEED_H5(err, H5Tconvert(it->dset->type, b->type, (size_t)it->n, it->at, back, H5P_DEFAULT) >= 0,
                    it->file->name);
    }
    if (it->staged)
        memcpy(it->sample->buffer, it->staged, it->out_bytes);
    return BKT_OK;
}

static void copy_from(struct bkt_item *it, const struct bkt_item *first)
{
    struct bkt_err err = {.n = 0};
    if (first->rc < 0 && first->rc != BKT_EINVAL) {
        it->rc = first->rc;
        it->sample->status = -1;
        memcpy(it->sample->error, first->sample->error, sizeof it->sample->error);
    } else if (check_size(it->sample, first->out_bytes, &err) < 0)
        bkt_item_fail(it, BKT_EINVAL, &err);
    else if (it->sample->buffer != first->sample->buffer && first->out_bytes)
        memmove(it->sample->buffer, first->sample->buffer, first->out_bytes);
}

static void finish(struct bkt_sample_batch *b)
{
    for (size_t i = 0; i < b->n; i++) {
        struct bkt_item *it = &b->items[i];
        struct bkt_err err;
        bkt_err_clear(&err);
        if (it->same)
            copy_from(it, it->same);
        else if (it->rc == BKT_OK) {
            int rc = convert(b, it, &err);
            if (rc < 0)
                bkt_item_fail(it, rc, &err);
        }
        if (it->rc == BKT_OK) {
            it->sample->status = 0;
            it->sample->error[0] = 0;
        }
    }
}

/* ---- batches ---- */

static void batch_fini(struct bkt_sample_batch *b)
{
    for (size_t i = 0; b->items && i < b->n; i++)
        free(b->items[i].staged);
    free(b->items);
    free(b->todo);
}

/* Parse the records.  An equal one with a large enough buffer is read once. */
static int parse_all(struct bkt_sample_batch *b, struct h5bucket_sample samples[], struct bkt_err *err)
{
    struct bkt_map *seen = NULL;
    int rc = BKT_OK;
    for (size_t i = 0; rc == BKT_OK && i < b->n; i++) {
        struct bkt_item *it = &b->items[i], *first;
        struct bkt_err why = {.n = 0};
        it->sample = &samples[i];
        size_t n = it->sample->record ? strnlen(it->sample->record, H5BUCKET_RECORD_MAX) : 0;
        int parsed = bkt_sample_record_parse(it->sample->record, n, &it->record, &why);
        if (parsed < 0) {
            bkt_item_fail(it, parsed, &why);
            continue;
        }
        first = bkt_map_get(seen, it->sample->record, n);
        if (first && first->sample->size >= it->sample->size && first->sample->buffer)
            it->same = first;
        else {
            b->todo[b->n_todo++] = it;
            if (bkt_map_set(&seen, it->sample->record, n, it, NULL) < 0)
                rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
        }
    }
    bkt_map_free(seen, NULL);
    return rc;
}

static int batch_init(struct bkt_sample_batch *b, struct h5bucket_sample samples[], struct bkt_err *err)
{
    b->items = calloc(b->n ? b->n : 1, sizeof *b->items);
    b->todo = calloc(b->n ? b->n : 1, sizeof(struct bkt_item *));
    BKT_NEED(err, b->items && b->todo);
    b->type_size = b->type < 0 ? 0 : H5Tget_size(b->type);
    BKT_FAIL_IF(err, b->type >= 0 && (!b->type_size || H5Iget_type(b->type) != H5I_DATATYPE), BKT_EINVAL,
                "the type of the elements in memory is not a datatype");
    return parse_all(b, samples, err);
}

static int summary(const struct bkt_sample_batch *b, struct bkt_err *err)
{
    const struct bkt_item *first = NULL;
    size_t failed = 0;
    for (size_t i = 0; i < b->n; i++)
        if (b->items[i].rc < 0) {
            first = first ? first : &b->items[i];
            failed++;
        }
    if (!first)
        return BKT_OK;
    BKT_FAIL_IF(err, b->n == 1, first->rc, "%s", first->sample->error);
    BKT_FAIL(err, first->rc, "%zu of %zu samples can't be read; the first: %s", failed, b->n,
             first->sample->error);
}

static int read_many(struct h5bucket_repository *repo, size_t n, struct h5bucket_sample samples[], hid_t type,
                     struct bkt_err *err)
{
    BKT_CLEANUP(batch_fini) struct bkt_sample_batch b = {.repo = repo, .type = type, .n = n};
    BKT_FAIL_IF(err, !repo || (n && !samples), BKT_EINVAL, "no repository or no samples given");
    for (size_t i = 0; i < n; i++) {
        samples[i].status = -1;
        samples[i].error[0] = 0;
    }
    repo->calls++;
    BKT_PASS(batch_init(&b, samples, err));
    round_of(&b);
    take_stale(&b);
    if (b.n_todo)
        round_of(&b);
    finish(&b);
    bkt_repository_trim(repo);
    return summary(&b, err);
}

/* ---- public ---- */

herr_t h5bucket_sample_read_many(h5bucket_repository *repository, size_t n, struct h5bucket_sample samples[],
                                 hid_t type)
{
    return BKT_SAMPLES_CALL(read_many(repository, n, samples, type, &err));
}

herr_t h5bucket_sample_read(h5bucket_repository *repository, const char *record, hid_t type, void *buffer,
                            size_t size)
{
    struct h5bucket_sample one = {.record = record, .buffer = buffer, .size = size};
    return h5bucket_sample_read_many(repository, 1, &one, type);
}

static int info(struct h5bucket_repository *repo, const char *record, hid_t *type,
                struct h5bucket_record *fields, struct bkt_err *err)
{
    struct h5bucket_record r;
    struct bkt_sample_file *f;
    struct bkt_sample_dset *d;
    BKT_PASS(bkt_sample_record_parse(record, record ? strnlen(record, H5BUCKET_RECORD_MAX) : 0, &r, err));
    if (fields)
        *fields = r;
    if (!type)
        return BKT_OK;
    BKT_FAIL_IF(err, !repo, BKT_EINVAL, "no repository given");
    repo->calls++;
    BKT_PASS(bkt_repository_file(repo, r.format, r.uid, &f, err));
    BKT_PASS(bkt_sample_file_dset(f, r.dataset, &d, err));
    *type = H5Tcopy(d->type);
    return *type < 0 ? bkt_h5err_capture(err, f->name) : BKT_OK;
}

herr_t h5bucket_sample_info(h5bucket_repository *repository, const char *record, hid_t *type,
                            struct h5bucket_record *fields)
{
    return BKT_SAMPLES_CALL(info(repository, record, type, fields, &err));
}
