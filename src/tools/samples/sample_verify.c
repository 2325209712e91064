/* h5bucket sample verify REPOSITORY: the digest of every sample. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/progress.h"
#include "tools/samples/sample.h"
#include "tools/samples/sample_choice.h"
#include "tools/show/show.h"

struct verify {
    struct sample_tool *s;
    struct bkt_strs     records, digests; /* digests: of records that the repository's names lead to */
    struct progress     progress;
    struct bkt_commit  *commits;          /* of all branches; made when the first damaged sample is named */
    size_t              n_whole, n_damaged, n_foreign;
};

static int add_record(void *arg, const char *key, size_t n, const void *value, size_t n_value)
{
    struct verify *v = arg;
    char           record[H5BUCKET_RECORD_MAX];
    if (n_value < sizeof record && !memchr(value, 0, n_value)) {
        memcpy(record, value, n_value);
        record[n_value] = 0;
        if (!bkt_sample_record_in_hdf5(record)) {
            v->n_foreign++;
            return BKT_OK;
        }
    } else
        (void)snprintf(record, sizeof record, "(%zu bytes)", n_value); /* its parser refuses that */
    char *digest = strndup(key + 2, n - 2);
    if (bkt_strs_take(&v->digests, digest) < 0)
        return BKT_ENOMEM;
    return bkt_strs_add(&v->records, record);
}

static int collect(struct verify *v, struct bkt_err *err)
{
    const char *file = bkt_tool_opt(v->s->t, "records");
    int rc = file          ? sample_lines(file, &v->records, err)
             : v->s->names ? bkt_lmdb_each(v->s->names->hash, "h:", add_record, v, err)
                           : BKT_OK;
    if (rc < 0)
        return err->n ? rc : BKT_ERR(err, rc, "hash.lmdb can't be listed");
    BKT_FAIL_IF(err, !file && !v->s->names, BKT_EINVAL,
                "it has no LMDB files that lead to records; give records by --records");
    return BKT_OK;
}

/* ---- the names of damaged samples ---- */

static void load_commits(struct verify *v)
{
    struct bkt_repository_names *names = v->s->names;
    v->commits = calloc(names->n_branches + 1, sizeof *v->commits);
    for (size_t i = 0; v->commits && i < names->n_branches; i++)
        if (bkt_repository_names_commit(names, names->branches[i].name, &v->commits[i], NULL) < 0)
            bkt_commit_fini(&v->commits[i]);
}

static void free_commits(struct verify *v)
{
    for (size_t i = 0; v->commits && i < v->s->names->n_branches; i++)
        bkt_commit_fini(&v->commits[i]);
    free(v->commits);
}

static void add_names(struct verify *v, const char *digest, struct bkt_strs *out)
{
    if (!v->commits)
        load_commits(v);
    for (size_t i = 0; v->commits && i < v->s->names->n_branches; i++)
        for (size_t k = 0; k < v->commits[i].n_samples; k++)
            if (strcmp(v->commits[i].samples[k].digest, digest) == 0) {
                struct bkt_buf name = {0};
                bkt_say(&name, "%s:", v->s->names->branches[i].name);
                if (selection_name(&v->commits[i].samples[k], &name) == BKT_OK &&
                    bkt_strs_take(out, bkt_buf_steal(&name)) < 0)
                    return;
                bkt_buf_fini(&name);
            }
}

static void report(struct verify *v, size_t i, const char *message)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs names = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf   line  = {0};
    if (i < v->digests.n)
        add_names(v, v->digests.v[i], &names);
    bkt_jout_open(&v->s->t->j, NULL, '{');
    bkt_jout_str(&v->s->t->j, "record", v->records.v[i]);
    bkt_jout_open(&v->s->t->j, "names", '[');
    for (size_t k = 0; k < names.n; k++)
        bkt_jout_str(&v->s->t->j, NULL, names.v[k]);
    bkt_jout_close(&v->s->t->j);
    bkt_jout_str(&v->s->t->j, "message", message);
    bkt_jout_close(&v->s->t->j);
    if (v->s->t->json)
        return;
    bkt_say(&line, "damaged: ");
    for (size_t k = 0; k < names.n; k++)
        bkt_say(&line, "%s%s", names.v[k], k + 1 < names.n ? ", " : ": ");
    bkt_show_url(&line, message);
    printf("%s\n", bkt_buf_str(&line));
}

static int each(void *arg, size_t i, const struct h5bucket_sample *sample)
{
    struct verify *v = arg;
    if (sample->status < 0) {
        v->n_damaged++;
        report(v, i, *sample->error ? sample->error : "it can't be read");
    } else
        v->n_whole++;
    progress_add(&v->progress, sample->size, 0, 1);
    return BKT_OK;
}

static int finish(struct verify *v)
{
    bkt_jout_close(&v->s->t->j);
    bkt_jout_members(&v->s->t->j, "samples:n whole:n foreign:n", (uint64_t)v->records.n, (uint64_t)v->n_whole,
                     (uint64_t)v->n_foreign);
    bkt_jout_close(&v->s->t->j);
    if (!v->s->t->json)
        printf("%zu samples: %zu whole, %zu damaged%s\n", v->records.n, v->n_whole, v->n_damaged,
               v->n_foreign ? ", and others that lie in no HDF5 file" : "");
    return v->n_damaged ? BKT_EXIT_FAIL : BKT_EXIT_OK;
}

int sample_verify(struct sample_tool *s)
{
    struct verify v = {.s = s};
    if (s->n_args)
        return bkt_tool_usage(s->t, "verify takes a repository alone");
    int rc = collect(&v, &s->t->err);
    if (rc == BKT_OK) {
        bkt_jout_open(&s->t->j, NULL, '{');
        bkt_jout_open(&s->t->j, "damaged", '[');
        progress_init(&v.progress, s->name, bkt_tool_has(s->t, "verbose") > 0);
        v.progress.total = v.records.n * (uint64_t)PROGRESS_OBJECT;
        rc = sample_read_each(s, v.records.v, v.records.n, each, &v, &s->t->err);
        progress_end(&v.progress);
    }
    int code = rc < 0 ? rc : finish(&v);
    free_commits(&v);
    bkt_strs_fini(&v.records);
    bkt_strs_fini(&v.digests);
    return code;
}
