/* h5bucket sample ls REPOSITORY: branches, columns, and files. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/records.h"
#include "tools/samples/sample.h"
#include "tools/show/show.h"
#include "tools/source/hdf5_source.h"
#include "vol/vfd/store_driver.h"

/* A file of a repository. */
struct sample_use {
    int      format;
    char     uid[H5BUCKET_UID_MAX];
    bool     stored;    /* it is in the list of the store */
    uint64_t records;   /* distinct records that name it */
    int      rc;        /* < 0: it can't be opened; `why` has the reason */
    char     why[256];
    uint64_t used, all; /* rows; all 0: unknown */
};
struct sample_files {
    struct sample_use *v;
    size_t             n, cap;
};

/* ---- by name ---- */

struct finder {
    struct sample_files *out;
    struct bkt_map      *map;  /* index + 1, by "00/uid" */
    struct bkt_map      *seen; /* records */
    int                  format;
};

static int use_of(struct finder *f, int format, const char *uid, struct sample_use **out)
{
    char   key[H5BUCKET_UID_MAX + 8];
    int    n  = snprintf(key, sizeof key, "0%d/%s", format, uid);
    size_t at = (size_t)bkt_map_number(f->map, key, (size_t)n);
    if (!at) {
        if (bkt_list_room(&f->out->v, f->out->n, &f->out->cap, sizeof *f->out->v) < 0 ||
            bkt_map_set_number(&f->map, key, (size_t)n, (intptr_t)f->out->n + 1) < 0)
            return BKT_ENOMEM;
        struct sample_use *u = &f->out->v[f->out->n];
        memset(u, 0, sizeof *u);
        u->format = format;
        (void)snprintf(u->uid, sizeof u->uid, "%s", uid);
        at = ++f->out->n;
    }
    *out = &f->out->v[at - 1];
    return BKT_OK;
}

/* A sample is counted once, however many digests lead to it. */
static int add_record(void *arg, const char *key, size_t n, const void *value, size_t n_value)
{
    struct finder          *f = arg;
    struct h5bucket_record  r;
    struct sample_use      *u;
    (void)key, (void)n;
    if (n_value >= H5BUCKET_RECORD_MAX || bkt_sample_record_parse(value, n_value, &r, NULL) < 0 ||
        bkt_map_get(f->seen, value, n_value))
        return BKT_OK;
    if (bkt_map_set(&f->seen, value, n_value, f, NULL) < 0)
        return BKT_ENOMEM;
    BKT_PASS(use_of(f, r.format, r.uid, &u));
    u->records++;
    return BKT_OK;
}

/* ---- by a list of the store ---- */

static int add_key(const struct bkt_listed *e, void *arg)
{
    struct finder     *f     = arg;
    const char        *end   = e->key + strlen(e->key) - e->is_prefix, *base = end;
    struct sample_use *u;
    char               uid[H5BUCKET_UID_MAX];
    while (base > e->key && base[-1] != '/')
        base--;
    size_t n = (size_t)(end - base);
    if (n <= 5 || strncmp(end - 5, ".hdf5", 5) != 0 || !bkt_uid_ok(base, n - 5))
        return BKT_OK;
    memcpy(uid, base, n - 5);
    uid[n - 5] = 0;
    BKT_PASS(use_of(f, f->format, uid, &u));
    u->stored = true;
    return BKT_OK;
}

static int list_folder(struct sample_tool *s, struct finder *f, const char *data, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char             *uri  = source_uri(s->repo->name);
    BKT_CLEANUP(bkt_freep) char             *key  = NULL;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    struct bkt_store *st = NULL;
    BKT_NEED(err, uri && bkt_buf_addf(&name, "%s/%s/0%d/x", uri, data, f->format) >= 0);
    int rc = bkt_vfd_open_store(bkt_buf_str(&name), &s->t->set, &st, &key, err);
    if (rc == BKT_ENOENT) /* no such folder */
        return BKT_OK;
    if (rc < 0)
        return rc;
    key[strlen(key) - 1] = 0;
    rc = bkt_store_list(st, key, "/", add_key, f, err);
    bkt_store_close(st);
    return rc == BKT_ENOENT || rc == BKT_EUNSUP ? BKT_OK : rc; /* a web server has no lists */
}

static int list_all(struct sample_tool *s, struct finder *f, struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_SAMPLE_PLACES; i++)
        for (f->format = 0; f->format < 2; f->format++)
            if (!s->repo->data || s->repo->data == bkt_sample_places[i])
                BKT_PASS(list_folder(s, f, bkt_sample_places[i], err));
    return BKT_OK;
}

/* ---- what they hold ---- */

static void look(struct sample_tool *s, struct sample_use *u)
{
    struct bkt_err          err = {.n = 0};
    struct bkt_sample_file *f;
    int64_t                 next[2], rows, count;
    u->rc = bkt_repository_file(s->repo, u->format, u->uid, &f, &err);
    if (u->rc < 0) {
        (void)snprintf(u->why, sizeof u->why, "%.255s", bkt_err_reason(&err, u->rc));
        return;
    }
    bool known = bkt_sample_file_numbers(f, "next_location", next, 2) &&
                 bkt_sample_file_numbers(f, "collection_max_size", &rows, 1) &&
                 bkt_sample_file_numbers(f, "collection_total", &count, 1) && next[0] >= 0 && next[1] >= 0 &&
                 rows > 0 && count > 0 && rows < INT32_MAX && count < INT32_MAX && next[0] <= count &&
                 next[1] <= rows;
    (void)H5Eclear2(H5E_DEFAULT);
    u->used = known ? (uint64_t)(next[0] * rows + next[1]) : 0;
    u->all  = known ? (uint64_t)(rows * count) : 0;
    s->repo->calls++;
    bkt_repository_trim(s->repo);
}

static int by_name(const void *a, const void *b)
{
    const struct sample_use *x = a, *y = b;
    return x->format != y->format ? x->format - y->format : strcmp(x->uid, y->uid);
}

/* Finds the files of a repository: by the records of its names, and by a list of the store if it has one. */
static int sample_files_find(struct sample_tool *s, struct sample_files *out, struct bkt_err *err)
{
    struct finder f  = {.out = out};
    int           rc = BKT_OK;
    if (s->names)
        rc = bkt_lmdb_each(s->names->hash, "h:", add_record, &f, err);
    rc = rc ? rc : list_all(s, &f, err);
    bkt_map_free(f.map, NULL);
    bkt_map_free(f.seen, NULL);
    BKT_PASS(rc);
    if (out->n)
        qsort(out->v, out->n, sizeof *out->v, by_name);
    for (size_t i = 0; i < out->n; i++)
        look(s, &out->v[i]);
    return BKT_OK;
}

static void sample_files_fini(struct sample_files *f)
{
    free(f->v);
    *f = (struct sample_files){0};
}

static void say_shape(struct bkt_buf *b, const struct bkt_sample_column_schema *s)
{
    if (!s->has_shape)
        return;
    bkt_say(b, s->variable ? " up to (" : " (");
    for (int i = 0; i < s->rank; i++)
        bkt_say(b, "%s%" PRIu64, i ? ", " : "", (uint64_t)s->shape[i]);
    bkt_say(b, ")");
}

static void column_json(struct bkt_jout *j, const struct bkt_sample_column *c,
                        const struct bkt_sample_column_schema *s)
{
    bkt_jout_open(j, NULL, '{');
    bkt_jout_members(j, "name:s nested:b samples:n type:s backend:s variable:b", c->name, c->nested,
                     (uint64_t)c->n, s->type[0] ? s->type : NULL, s->backend[0] ? s->backend : NULL,
                     s->variable);
    if (s->has_shape)
        bkt_jout_dims(j, "shape", s->shape, (unsigned)s->rank);
    bkt_jout_close(j);
}

static int column(struct sample_tool *s, struct bkt_jout *j, const struct bkt_sample_column *c,
                  struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf line = {0};
    struct bkt_sample_column_schema schema;
    BKT_TRY(err, bkt_repository_names_schema(s->names, c->schema, &schema, err), "column %s", c->name);
    if (s->t->json) {
        column_json(j, c, &schema);
        return BKT_OK;
    }
    bkt_say(&line, "  %-20s %zu samples, %s, ", c->name, c->n, c->nested ? "nested" : "flat");
    bkt_show_name(&line, schema.type[0] ? schema.type : "unknown type");
    say_shape(&line, &schema);
    bkt_say(&line, ", backend ");
    bkt_show_name(&line, schema.backend[0] ? schema.backend : "?");
    printf("%s\n", bkt_buf_str(&line));
    return BKT_OK;
}

static int branch(struct sample_tool *s, struct bkt_jout *j, const struct bkt_branch *b, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_commit_fini) struct bkt_commit c = {0};
    bkt_jout_open(j, NULL, '{');
    bkt_jout_members(j, "name:s commit:s", b->name, *b->commit ? b->commit : NULL);
    bkt_jout_open(j, "columns", '[');
    if (!s->t->json)
        printf("branch %s%s %s\n", b->name, strcmp(b->name, s->names->head) == 0 ? " (head)" : "",
               *b->commit ? b->commit : "no commit");
    int rc = bkt_repository_names_commit(s->names, b->name, &c, err);
    for (size_t i = 0; i < c.n_columns && rc == BKT_OK; i++)
        rc = column(s, j, &c.columns[i], err);
    bkt_jout_close(j);
    bkt_jout_close(j);
    return rc;
}

static int branches(struct sample_tool *s, struct bkt_jout *j, struct bkt_err *err)
{
    int rc = BKT_OK;
    bkt_jout_str(j, "head", s->names->head);
    bkt_jout_open(j, "branches", '[');
    for (size_t i = 0; i < s->names->n_branches && rc == BKT_OK; i++)
        rc = branch(s, j, &s->names->branches[i], err);
    bkt_jout_close(j);
    return rc;
}

static void file_text(const struct sample_use *u)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf line = {0};
    bkt_say(&line, "file 0%d/%s ", u->format, u->uid);
    if (u->all)
        bkt_say(&line, " %" PRIu64 " of %" PRIu64 " rows (%.1f %%)", u->used, u->all,
                100.0 * (double)u->used / (double)u->all);
    else if (u->rc == BKT_OK)
        bkt_say(&line, " unknown rows");
    bkt_say(&line, ", %" PRIu64 " records", u->records);
    if (u->rc < 0) {
        bkt_say(&line, ", can't be opened: ");
        bkt_show_name(&line, u->why);
    }
    printf("%s\n", bkt_buf_str(&line));
}

static void file_json(struct bkt_jout *j, const struct sample_use *u)
{
    char name[H5BUCKET_UID_MAX + 8];
    (void)snprintf(name, sizeof name, "0%d/%s", u->format, u->uid);
    bkt_jout_open(j, NULL, '{');
    bkt_jout_members(j, "name:s records:n", name, u->records);
    if (u->all)
        bkt_jout_members(j, "used_rows:n rows:n", u->used, u->all);
    if (u->rc < 0)
        bkt_jout_str(j, "message", u->why);
    bkt_jout_close(j);
}

static int files(struct sample_tool *s, struct bkt_jout *j, size_t *bad, struct bkt_err *err)
{
    BKT_CLEANUP(sample_files_fini) struct sample_files f = {0};
    BKT_PASS(sample_files_find(s, &f, err));
    bkt_jout_open(j, "files", '[');
    for (size_t i = 0; i < f.n; i++) {
        if (s->t->json)
            file_json(j, &f.v[i]);
        else
            file_text(&f.v[i]);
        *bad += f.v[i].rc < 0;
    }
    bkt_jout_close(j);
    BKT_FAIL_IF(err, !f.n && !s->names, BKT_ENOENT,
                "repository: it has neither LMDB files nor files of samples; check its name");
    return BKT_OK;
}

int sample_ls(struct sample_tool *s)
{
    struct bkt_jout *j   = &s->t->j;
    struct bkt_err  *err = &s->t->err;
    size_t           bad = 0;
    if (s->n_args)
        return bkt_tool_usage(s->t, "ls takes a repository alone");
    bkt_jout_open(j, NULL, '{');
    int rc = s->names ? branches(s, j, err) : BKT_OK;
    rc = rc ? rc : files(s, j, &bad, err);
    bkt_jout_close(j);
    BKT_PASS(rc);
    return bad ? bkt_tool_fail(s->t, "%s: %zu files can't be opened", s->name, bad) : BKT_EXIT_OK;
}
