/* Files of a repository, and how full they are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/records.h"
#include "tools/samples/sample.h"
#include "tools/source/hdf5_glue.h"
#include "tools/source/hdf5_source.h"
#include "vol/vfd/store_driver.h"

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
    if (n_value >= H5BUCKET_RECORD_MAX || bkt_record_parse(value, n_value, &r, NULL) < 0 ||
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
    if (!uri || bkt_buf_addf(&name, "%s/%s/0%d/x", uri, data, f->format) < 0)
        BKT_NOMEM(err);
    int rc = vfd_open_store(bkt_buf_str(&name), &s->t->set, &st, &key, err);
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
        (void)snprintf(u->why, sizeof u->why, "%.255s", err.n ? err.frame[0].msg : bkt_err_text(u->rc));
        return;
    }
    bool known = bkt_sample_file_numbers(f, "next_location", next, 2, NULL) == BKT_OK &&
                 bkt_sample_file_numbers(f, "collection_max_size", &rows, 1, NULL) == BKT_OK &&
                 bkt_sample_file_numbers(f, "collection_total", &count, 1, NULL) == BKT_OK && next[0] >= 0 &&
                 next[1] >= 0 && rows > 0 && count > 0 && rows < INT32_MAX && count < INT32_MAX &&
                 next[0] <= count && next[1] <= rows;
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

int sample_files_find(struct sample_tool *s, struct sample_files *out, struct bkt_err *err)
{
    struct finder f  = {.out = out};
    int           rc = BKT_OK;
    if (s->names)
        rc = bkt_lmdb_each(s->names->hash, "h:", add_record, &f, err);
    if (rc == BKT_OK)
        rc = list_all(s, &f, err);
    bkt_map_free(f.map, NULL);
    bkt_map_free(f.seen, NULL);
    BKT_PASS(rc);
    if (out->n)
        qsort(out->v, out->n, sizeof *out->v, by_name);
    for (size_t i = 0; i < out->n; i++)
        look(s, &out->v[i]);
    return BKT_OK;
}

void sample_files_fini(struct sample_files *f)
{
    free(f->v);
    *f = (struct sample_files){0};
}
