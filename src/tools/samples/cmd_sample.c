/* h5bucket sample ls|cat|put|verify REPOSITORY ... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "samples/records.h"
#include "tools/cli/interrupt.h"
#include "tools/samples/sample.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"

#define BATCH_BYTES ((size_t)64 << 20)  /* of a batch, unless one sample is longer */
#define SAMPLE_MAX  ((uint64_t)4 << 30) /* bytes of a sample; more is taken for damage */

static int measure(struct sample_tool *s, const char *record, size_t *bytes, struct bkt_err *err)
{
    struct h5bucket_record  r;
    struct bkt_sample_file *f;
    struct bkt_sample_dset *d;
    uint64_t                n, room = 1, size;
    BKT_PASS(bkt_sample_record_parse(record, strlen(record), &r, err));
    BKT_PASS(bkt_repository_file(s->repo, r.format, r.uid, &f, err));
    BKT_PASS(bkt_sample_file_dset(f, r.dataset, &d, err));
    for (int i = 1; i < d->rank; i++)
        BKT_FAIL_IF(err, !bkt_mul_u64(room, d->dims[i], &room), BKT_EFORMAT,
                    "%s: collection %u has an impossible extent", f->name, r.dataset);
    BKT_FAIL_IF(err, !bkt_sample_record_elements(&r, &n) || n > room || !bkt_mul_u64(n, d->elem, &size),
                BKT_ERANGE, "record '%s': %s: collection %u has no such row or shape", record, f->name,
                r.dataset);
    BKT_FAIL_IF(err, size > SAMPLE_MAX, BKT_EUNSUP, "record '%s': more than 4 GiB", record);
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
    BKT_NEED(err, b);
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

static const struct bkt_opt opts[] = {
    {'f', "format", "FORMAT", "cat: the form of each sample; default: text", "text raw npy"},
    {'o', "output", "FILE", "cat: write to FILE instead of standard output", NULL},
    {0, "records", "FILE", "cat, verify: take records from the lines of FILE (-: standard input)", NULL},
    {0, "backend", "CODE", "put: the format of new files; default: 00", "00 01"},
    {0, "plain", NULL, "put: new files are plain HDF5 files, in a folder only", NULL},
    {0, "variable", NULL, "put: shapes may differ; the largest extent of each dimension is the schema's",
     NULL},
    {0, "shape", "D,D...", "put: the shape of a raw sample, or with --variable the largest possible one",
     NULL},
    {0, "type", "TYPE", "put: the type of a raw sample's elements, in numpy's letters: u1, i2, f4, ...",
     NULL},
    {0, "rows", NULL, "put: each row of a FILE is a sample", NULL},
    {0, "complib", "CODEC", "put: the codec; default: blosc:lz4hc, or lzf for up to 16 bytes",
     "blosc:blosclz blosc:lz4 blosc:lz4hc blosc:zlib blosc:zstd lzf gzip none"},
    {0, "complevel", "N", "put: its level, 0 to 9; default: 5", NULL},
    {0, "shuffle", "WAY", "put: how bytes are rearranged before; default: the codec's", "none byte bit"},
    {'v', "verbose", NULL, "verify: print progress also where it is not shown on a terminal", NULL},
};

static const struct word {
    const char *name;
    int (*run)(struct sample_tool *s);
    bool names; /* it looks for the repository's names */
} words[] = {{"ls", sample_ls, true},
             {"cat", sample_cat, false},
             {"put", sample_put, false},
             {"verify", sample_verify, true}};

int sample_open_names(struct sample_tool *s, struct bkt_err *err)
{
    int rc = s->names ? BKT_OK : bkt_repository_names_open(s->name, &s->t->set, &s->names, err);
    if (rc == BKT_ENOENT) {
        bkt_err_clear(err);
        return BKT_OK;
    }
    return rc;
}

static int open_and_run(struct sample_tool *s, const struct word *w, const char *info)
{
    struct bkt_err              *err  = &s->t->err;
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf own = {0};
    if (bkt_buf_addf(&own, "%s%s", bkt_tool_has(s->t, "plain") ? "backend=file;" : "", info) < 0)
        return bkt_tool_fail(s->t, "out of memory");
    BKT_PASS(h5_start(info, &fapl, err));
    BKT_PASS(bkt_repository_open(s->name, bkt_buf_str(&own), &s->repo, err));
    if (w->names)
        BKT_PASS(sample_open_names(s, err));
    return w->run(s);
}

static int run(struct bkt_tool *t)
{
    const struct word           *w    = NULL;
    BKT_CLEANUP(bkt_freep) char *info = bkt_tool_info(t);
    struct sample_tool s = {.t = t, .name = t->args[1], .args = t->args + 2, .n_args = t->n_args - 2};
    for (size_t i = 0; i < BKT_COUNT(words); i++)
        w = strcmp(words[i].name, t->args[0]) == 0 ? &words[i] : w;
    if (!w)
        return bkt_tool_usage(t, "%s: unknown word; use ls, cat, put or verify", t->args[0]);
    if (!*s.name)
        return bkt_tool_usage(t, "the repository's name is empty");
    if (!info)
        return bkt_tool_fail(t, "out of memory");
    interrupt_catch();
    int rc = open_and_run(&s, w, info);
    if (rc < 0)
        rc = bkt_tool_error(t, s.name, &t->err);
    bkt_repository_names_close(s.names);
    bkt_repository_close(s.repo);
    return rc;
}

const struct bkt_verb bkt_verb_sample = {
    .name = "sample",
    .args = "ls|cat|put|verify REPOSITORY [NAME|FILE]...",
    .min_args = 2,
    .max_args = -1,
    .help = "list, print, append and check samples of a Hangar repository",
    .text =
        "A repository is the folder, s3:// or https:// name above data/00 and data/01, or above .hangar.\n"
        "Its files are plain HDF5 files or domains. docs/samples.md describes them.\n\n"
        "  h5bucket sample ls s3://b/flowers                      # branches, columns, files\n"
        "  h5bucket sample cat s3://b/flowers images/7            # one sample as text\n"
        "  h5bucket sample cat -f npy -o x.npy s3://b/flowers main:images/7\n"
        "  h5bucket sample put --complib=gzip s3://b/flowers a.npy b.npy\n"
        "  h5bucket sample verify s3://b/flowers\n\n"
        "A sample's NAME is its record, or [BRANCH:]COLUMN/SAMPLE, or [BRANCH:]COLUMN/SAMPLE/SUBSAMPLE in\n"
        "a nested column. [BRANCH:]COLUMN means all of its samples. Without BRANCH, the branch that was\n"
        "last checked out counts. Names are looked up in the repository's LMDB files, which are only\n"
        "read.\n\n"
        "ls prints branches with their columns, then files: how many rows are used, and how many records\n"
        "name them. A file that records name and that isn't there is reported, and the exit code is 1.\n\n"
        "cat compares each sample's digest. As text, a line that begins with # names the sample, its\n"
        "type and its shape. raw prints the bytes as they are stored, npy one array after the other, as\n"
        "numpy.load() reads them from an open file.\n\n"
        "put appends each FILE as a sample, and prints a record for each once all samples of a FILE are\n"
        "stored. FILE is numpy's .npy file, in C order, or raw bytes with --type and --shape. Samples go\n"
        "to new files with new names. Hangar's LMDB files don't change. With --plain, the new files are\n"
        "plain HDF5 files in a local repository, otherwise domains.\n\n"
        "verify compares the digests of all samples that the repository's names lead to, or of --records,\n"
        "many side by side. Damaged samples are listed, with the exit code 1. Samples in other formats\n"
        "than HDF5 are counted as foreign.\n\n"
        "JSON of ls: {\"head\", \"branches\": [{\"name\", \"commit\", \"columns\": [...]}], \"files\":\n"
        "[...]}; of verify: {\"samples\", \"whole\", \"foreign\", \"damaged\": [{\"record\", \"names\",\n"
        "\"message\"}]}.",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .json = true,
    .run = run,
};
