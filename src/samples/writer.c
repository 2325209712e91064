/* Writers: one file after the other, each filled collection by collection, row by row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/batch.h"
#include "samples/new_file.h"
#include "samples/records.h"
#include "samples/repository.h"
#include "vol/core/hid.h"

#define GRAMMAR 5 /* of new records */

struct h5bucket_samples {
    struct h5bucket_repository *repo;
    struct bkt_sample_form form;
    bool variable;
    char uid[H5BUCKET_UID_MAX];
    hid_t file, dataset, space; /* negative: none is open; the dataset is that of `collection` */
    unsigned collection, row;   /* the place of the next sample; row may be behind the last one */
    bool flushed;
};

/* ---- places ---- */

static void close_collection(struct h5bucket_samples *w)
{
    bkt_hid_closep(&w->space);
    bkt_hid_closep(&w->dataset);
    w->space = w->dataset = H5I_INVALID_HID;
}

static int flush(struct h5bucket_samples *w, struct bkt_err *err)
{
    BKT_FAIL_IF(err, !w, BKT_EINVAL, "samples: the writer is missing");
    if (w->file < 0 || w->flushed)
        return BKT_OK;
    int rc = bkt_sample_file_flush(w->file, &w->form, w->collection, w->row, err);
    BKT_FAIL_IF(err, rc < 0, rc, "file %s of samples can't be flushed", w->uid);
    w->flushed = true;
    return BKT_OK;
}

static int close_file(struct h5bucket_samples *w, struct bkt_err *err)
{
    BKT_PASS(flush(w, err));
    close_collection(w);
    if (w->file >= 0)
        BKT_PASS(BKT_PASS_H5(err, H5Fclose(w->file), w->uid));
    w->file = H5I_INVALID_HID;
    return BKT_OK;
}

static int open_collection(struct h5bucket_samples *w, struct bkt_err *err)
{
    char name[16];
    (void)snprintf(name, sizeof name, "%u", w->collection);
    BKT_PASS(BKT_PASS_H5(err, w->dataset = H5Dopen2(w->file, name, H5P_DEFAULT), name));
    return BKT_PASS_H5(err, w->space = H5Dget_space(w->dataset), name);
}

/* Open the collection with the next place.  The format leaves the last collection of a file empty. */
static int find_place(struct h5bucket_samples *w, struct bkt_err *err)
{
    if (w->file >= 0 && w->row == w->form.rules.rows && w->collection + 2 >= BKT_COLLECTIONS)
        BKT_PASS(close_file(w, err));
    if (w->file < 0) {
        w->collection = w->row = 0;
        BKT_PASS(bkt_sample_file_create(w->repo, &w->form, w->uid, &w->file, err));
        w->flushed = true;
    }
    if (w->row == w->form.rules.rows) {
        close_collection(w);
        w->collection++;
        w->row = 0;
    }
    if (w->space < 0)
        close_collection(w);
    return w->dataset < 0 ? open_collection(w, err) : BKT_OK;
}

/* ---- samples ---- */

static int emit(const struct h5bucket_samples *w, const void *sample, const hsize_t *shape, uint64_t elements,
                char record[H5BUCKET_RECORD_MAX], struct bkt_err *err)
{
    const struct bkt_collections *c = &w->form.rules;
    struct h5bucket_record r = {.format = c->format,
                                .has_digest = true,
                                .digest = bkt_sample_digest(sample, elements * c->item),
                                .dataset = w->collection,
                                .row = w->row,
                                .rank = c->rank};
    memcpy(r.uid, w->uid, sizeof r.uid);
    if (c->rank)
        memcpy(r.shape, shape, (size_t)c->rank * sizeof *shape);
    return bkt_sample_record_emit(&r, GRAMMAR, record, err);
}

static int write_sample(struct h5bucket_samples *w, const void *sample, const hsize_t *shape,
                        struct bkt_err *err)
{
    const struct bkt_collections *c = &w->form.rules;
    hsize_t start[H5S_MAX_RANK], count[H5S_MAX_RANK];
    BKT_CLEANUP(bkt_hid_closep) hid_t mem = H5I_INVALID_HID;
    bkt_collections_block(c, w->row, shape, start, count);
    BKT_PASS(BKT_PASS_H5(err, mem = H5Screate_simple(c->dims, count, NULL), "a sample's elements"));
    BKT_PASS(BKT_PASS_H5(err, H5Sselect_hyperslab(w->space, H5S_SELECT_SET, start, NULL, count, NULL),
                         "a sample's place"));
    return BKT_PASS_H5(err, H5Dwrite(w->dataset, w->form.type, mem, w->space, H5P_DEFAULT, sample), w->uid);
}

static int append(struct h5bucket_samples *w, const void *sample, const hsize_t *shape,
                  char record[H5BUCKET_RECORD_MAX], struct bkt_err *err)
{
    char own[H5BUCKET_RECORD_MAX];
    uint64_t elements;
    BKT_FAIL_IF(err, !w, BKT_EINVAL, "sample: the writer is missing");
    shape = shape ? shape : w->form.rules.shape;
    BKT_PASS(bkt_collections_fits(&w->form.rules, w->variable, shape, &elements, err));
    BKT_FAIL_IF(err, elements && !sample, BKT_EINVAL, "sample: its %llu elements are missing",
                (unsigned long long)elements);
    BKT_PASS(find_place(w, err));
    BKT_PASS(emit(w, sample, shape, elements, record ? record : own, err));
    if (elements)
        BKT_PASS(write_sample(w, sample, shape, err));
    w->row++;
    w->flushed = false;
    return BKT_OK;
}

/* ---- public calls ---- */

static int open_writer(struct h5bucket_repository *repo, const struct h5bucket_samples_schema *schema,
                       struct h5bucket_samples **out, struct bkt_err *err)
{
    BKT_FAIL_IF(err, !repo || !schema, BKT_EINVAL,
                "a writer of samples: the repository or the schema is missing");
    struct h5bucket_samples *w = calloc(1, sizeof *w);
    BKT_NEED(err, w);
    w->repo = repo;
    w->variable = schema->variable;
    w->file = w->dataset = w->space = H5I_INVALID_HID;
    int rc = bkt_sample_form_init(&w->form, schema, repo, err);
    if (rc < 0)
        free(w);
    else
        *out = w;
    return rc;
}

h5bucket_samples *h5bucket_samples_open(h5bucket_repository *repository,
                                        const struct h5bucket_samples_schema *schema)
{
    struct h5bucket_samples *w = NULL;
    return BKT_SAMPLES_CALL(open_writer(repository, schema, &w, &err)) < 0 ? NULL : w;
}

herr_t h5bucket_samples_append(h5bucket_samples *samples, const void *sample, const hsize_t *shape,
                               char record[H5BUCKET_RECORD_MAX])
{
    return BKT_SAMPLES_CALL(append(samples, sample, shape, record, &err));
}

herr_t h5bucket_samples_flush(h5bucket_samples *samples)
{
    return BKT_SAMPLES_CALL(flush(samples, &err));
}

static int close_writer(struct h5bucket_samples *w, struct bkt_err *err)
{
    BKT_PASS(close_file(w, err));
    bkt_sample_form_fini(&w->form);
    free(w);
    return BKT_OK;
}

herr_t h5bucket_samples_close(h5bucket_samples *samples)
{
    return samples ? BKT_SAMPLES_CALL(close_writer(samples, &err)) : 0;
}
