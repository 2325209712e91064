/* h5bucket load --kerchunk SET DOMAIN.
 *
 * 1. The set is read: keys of a Zarr store, and where their bytes are.
 * 2. Groups and arrays become groups and datasets.  An array whose chunks HDF5's filters can decode refers to
 * them where they are; others are decoded and stored.
 * 3. The arrays' named dimensions become dimension scales. */
#include "tools/kerchunk/load_kerchunk.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "base/url.h"
#include "schema/domain/domain.h"
#include "tools/bucket/bucket_names.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/filters.h"
#include "vol/core/hid.h"
#include "vol/vfd/store_driver.h"

static void load_fini(struct kerchunk_load *k)
{
    for (size_t i = 0; k->uris && i < k->set.urls.n; i++)
        free(k->uris[i]);
    free(k->uris);
    kerchunk_set_fini(&k->set);
    bkt_buf_fini(&k->kept);
}

/* ---- names of files ---- */

static const struct {
    const char *scheme, *ours; /* ours NULL: none of our stores */
} schemes[] = {{"s3://", "s3://"},       {"s3a://", "s3://"},    {"s3n://", "s3://"},
               {"https://", "https://"}, {"http://", "http://"}, {"file:///", "file:///"},
               {"local:///", "file:///"}};

/* The URL as a name with a scheme that stores know; free().  BKT_EACCES, BKT_EUNSUP: the domain can't refer
 * to it. */
static int kerchunk_uri(struct kerchunk_load *k, uint32_t url, char **out, struct bkt_err *err)
{
    const char *u = k->set.urls.v[url], *scheme = strstr(u, "://");
    *out = NULL;
    for (size_t i = 0; i < BKT_COUNT(schemes); i++)
        if (strncasecmp(u, schemes[i].scheme, strlen(schemes[i].scheme)) == 0) {
            u += strlen(schemes[i].scheme);
            BKT_FAIL_IF(err, strncmp(schemes[i].ours, "http", 4) == 0 && strpbrk(u, "?#@"), BKT_EUNSUP,
                        "%.200s: a web address with user, query or fragment; references need a plain one",
                        BKT_SHOWN(k->set.urls.v[url]));
            if (asprintf(out, "%s%s", schemes[i].ours, u) < 0)
                *out = NULL;
            break;
        }
    BKT_FAIL_IF(err,
                !*out && scheme &&
                    strspn(u, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.:") ==
                        (size_t)(scheme - u) + 1,
                BKT_EUNSUP, "%.200s: unknown scheme; use s3://, https://, http://, file:/// or a path",
                BKT_SHOWN(u));
    if (!*out)
        *out = source_uri(u);
    BKT_NEED(err, *out);
    if (k->set_is_remote && strncmp(*out, "file:", 5) == 0) {
        free(*out);
        *out = NULL;
        BKT_FAIL(
            err, BKT_EACCES,
            "%.200s: a set that is not on this machine can't refer to files on it; copy the set here first",
            BKT_SHOWN(u));
    }
    return BKT_OK;
}

int kerchunk_name(struct kerchunk_load *k, uint32_t url, const char **out, struct bkt_err *err)
{
    if (!k->uris[url]) {
        BKT_CLEANUP(bkt_freep) char *uri = NULL;
        BKT_PASS(kerchunk_uri(k, url, &uri, err));
        BKT_PASS(load_file_uri(k->l, uri, &k->uris[url], err));
    }
    *out = k->uris[url];
    return BKT_OK;
}

/* ---- chunks that HDF5's filters can decode: the domain refers to them where they are ---- */

static int key_of(const struct kerchunk_load *k, struct bkt_buf *out)
{
    return bkt_buf_addf(out, "db/%.17s/" BKT_KEPT_CHUNKS, bkt_domain_root(k->l->file->dom)->text + 2);
}

/* The file's name among those of the set; k->uris has a place for one more. */
static int begin_kept(struct kerchunk_load *k, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf uri = {0}, key = {0};
    BKT_NEED(err, key_of(k, &key) >= 0 &&
                      bkt_buf_addf(&uri, "%s/%s", bkt_store_uri(bkt_domain_store(k->l->file->dom)),
                                   bkt_buf_str(&key)) >= 0 &&
                      bkt_strs_add(&k->set.urls, bkt_buf_str(&uri)) >= 0);
    k->kept_url = (uint32_t)(k->set.urls.n - 1);
    return load_file_uri(k->l, bkt_buf_str(&uri), &k->uris[k->kept_url], err);
}

static int keep(struct kerchunk_load *k, const struct kerchunk_array *a, struct bkt_err *err)
{
    for (size_t i = 0; i < a->n_chunks; i++) {
        struct kerchunk_ref *r = &k->set.refs[a->chunks[i].ref];
        if (r->url != KERCHUNK_INLINE)
            continue;
        if (!k->kept.len)
            BKT_PASS(begin_kept(k, err));
        size_t at = k->kept.len;
        BKT_PASS_MEM(err, bkt_buf_add(&k->kept, k->set.bytes.ptr + r->off, (size_t)r->len));
        r->url = k->kept_url;
        r->off = at;
    }
    return BKT_OK;
}

/* Store the file of inline chunks, if it has any bytes. */
static int kerchunk_store_kept(struct kerchunk_load *k, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (!k->kept.len)
        return BKT_OK;
    BKT_PASS_MEM(err, key_of(k, &key));
    return bkt_store_put(bkt_domain_store(k->l->file->dom), bkt_buf_str(&key), k->kept.ptr, k->kept.len, NULL,
                         NULL, NULL, err);
}

/* ---- references ---- */

static const char *kerchunk_must_copy(const struct kerchunk_load *k, const struct kerchunk_array *a)
{
    const char *why = kerchunk_array_differs(a);
    if (why)
        return why;
    if (a->rank == 0 && a->codecs.n)
        return "a scalar with codecs";
    size_t inside = 0;
    for (size_t i = 0; i < a->n_chunks; i++)
        inside += k->set.refs[a->chunks[i].ref].url == KERCHUNK_INLINE;
    return inside && inside == a->n_chunks ? "chunks in the set itself" : NULL;
}

/* Without filters each chunk has its size. */
static int check_sizes(const struct kerchunk_load *k, const struct kerchunk_array *a, struct bkt_err *err)
{
    const uint64_t full = a->chunk_elements * a->type.size;
    for (size_t i = 0; i < a->n_chunks; i++) {
        const struct kerchunk_ref *r = &k->set.refs[a->chunks[i].ref];
        BKT_FAIL_IF(err, r->len == 0 || (a->codecs.n == 0 && r->len != full), BKT_EFORMAT,
                    "%.*s: %llu bytes are stored, a chunk has %llu", (int)bkt_min_u64(r->key_n, 200),
                    kerchunk_ref_key(&k->set, r), (unsigned long long)r->len, (unsigned long long)full);
    }
    return BKT_OK;
}

struct placed {
    const struct kerchunk_load *k;
    const struct kerchunk_array *a;
};

static void get_row(void *arg, size_t i, struct load_row *out)
{
    const struct placed *p = arg;
    const struct kerchunk_ref *r = &p->k->set.refs[p->a->chunks[i].ref];
    *out = (struct load_row){p->a->chunks[i].index, r->off, r->len, 0, p->k->uris[r->url], NULL};
}

static int link_many(struct kerchunk_load *k, const struct kerchunk_array *a, hid_t dset, struct bkt_err *err)
{
    struct placed p = {k, a};
    struct load_rows rows = {a->n_chunks, get_row, &p};
    for (size_t i = 0; i < a->n_chunks; i++) {
        const char *name;
        BKT_PASS(kerchunk_name(k, k->set.refs[a->chunks[i].ref].url, &name, err));
    }
    struct load_grid g = {a->rank, a->chunk, a->grid, a->grid};
    return load_link_rows(k->l, dset, &g, &rows, err);
}

/* All chunks lie in one file. */
static int link_one(struct kerchunk_load *k, const struct kerchunk_array *a, hid_t dset, struct bkt_err *err)
{
    BKT_CLEANUP(survey_fini)
    struct survey s = {.rank = a->rank, .kind = a->whole ? BKT_MAP_CONTIGUOUS : BKT_MAP_CHUNKED};
    BKT_CLEANUP(bkt_freep) char *uri = NULL;
    const struct kerchunk_ref *r = &k->set.refs[a->chunks[0].ref];
    BKT_PASS(kerchunk_uri(k, r->url, &uri, err));
    struct source_part part = {.uri = uri, .size = UINT64_MAX, .file_size = UINT64_MAX};
    struct source src = {
        .name = uri, .parts = &part, .n_parts = 1, .set = k->l->set, .file = H5I_INVALID_HID};
    struct source *old = k->l->src;
    memcpy(s.dims, a->dims, sizeof s.dims);
    memcpy(s.cdims, a->chunk, sizeof s.cdims);
    memcpy(s.grid, a->grid, sizeof s.grid);
    s.addr = r->off, s.size = r->len;
    if (!a->whole && !(s.chunks = calloc(a->n_chunks, sizeof *s.chunks)))
        BKT_NOMEM(err);
    for (size_t i = 0; !a->whole && i < a->n_chunks; i++, s.n_chunks++) {
        r = &k->set.refs[a->chunks[i].ref];
        s.chunks[i] = (struct bkt_file_chunk){a->chunks[i].index, r->off, r->len, 0};
    }
    k->l->src = &src;
    int rc = load_link_survey(k->l, &s, H5Tget_size(a->type.h5), dset, a->path, err);
    k->l->src = old;
    BKT_FAIL_IF(err, rc == 0, BKT_EUNSUP, "references can't lead to its chunks");
    return rc < 0 ? rc : BKT_OK;
}

/* Refer to the chunks where they are. */
static int kerchunk_link(struct kerchunk_load *k, const struct kerchunk_array *a, hid_t dset,
                         struct bkt_err *err)
{
    bool one = true;
    if (!a->n_chunks)
        return BKT_OK;
    BKT_PASS(kerchunk_sizes(k, a, err));
    BKT_PASS(check_sizes(k, a, err));
    BKT_PASS(keep(k, a, err));
    for (size_t i = 1; i < a->n_chunks && one; i++)
        one = k->set.refs[a->chunks[i].ref].url == k->set.refs[a->chunks[0].ref].url;
    return one ? link_one(k, a, dset, err) : link_many(k, a, dset, err);
}

#define ALONE "data" /* name of the dataset of a set that is one array */

/* ---- the set's objects ---- */

enum part { PART_NONE, PART_GROUP, PART_ARRAY, PART_ATTRS };

/* The kind of a metadata key, and its object's path. */
static enum part part_of(const struct kerchunk_set *set, const struct kerchunk_ref *r, char **path)
{
    static const char *const names[] = {
        [PART_GROUP] = ".zgroup", [PART_ARRAY] = ".zarray", [PART_ATTRS] = ".zattrs"};
    const char *key = kerchunk_ref_key(set, r), *slash = memrchr(key, '/', r->key_n);
    size_t dir = slash ? (size_t)(slash - key) : 0, n = r->key_n - dir - (slash != NULL);
    for (int p = PART_GROUP; p <= PART_ATTRS; p++)
        if (n == strlen(names[p]) && memcmp(key + r->key_n - n, names[p], n) == 0) {
            *path = strndup(key, dir);
            return (enum part)p;
        }
    return PART_NONE;
}

/* A key of metadata at @p path; *n 0: the set lacks it. */
static int metadata(struct kerchunk_load *k, const char *path, const char *name, const void **p, size_t *n,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS_MEM(err, bkt_buf_addf(&key, "%s%s%s", path, *path ? "/" : "", name));
    const struct kerchunk_ref *r = kerchunk_set_find(&k->set, bkt_buf_str(&key), key.len);
    *n = 0;
    BKT_FAIL_IF(err, r && r->url != KERCHUNK_INLINE, BKT_EUNSUP, "%s: metadata outside of the set", name);
    if (r) {
        *p = k->set.bytes.ptr + r->off;
        *n = (size_t)r->len;
    }
    return BKT_OK;
}

static int read_attrs(struct kerchunk_load *k, const char *path, struct kerchunk_doc **out,
                      struct bkt_err *err)
{
    const void *p = NULL;
    size_t n;
    BKT_PASS(metadata(k, path, ".zattrs", &p, &n, err));
    if (n)
        BKT_TRY(err, kerchunk_doc_parse(p, n, out, err), ".zattrs");
    return BKT_OK;
}

/* ---- datasets ---- */

static int creation_list(const struct kerchunk_array *a, bool copied, hid_t *out, struct bkt_err *err)
{
    *out = H5Pcreate(H5P_DATASET_CREATE);
    if (*out < 0 || (a->fill.len && H5Pset_fill_value(*out, a->type.h5, a->fill.ptr) < 0))
        return h5_fail(err, "making a creation list");
    if (a->rank == 0 || a->whole)
        return BKT_OK;
    if (H5Pset_chunk(*out, (int)a->rank, a->chunk) < 0)
        return h5_fail(err, "setting the chunk shape");
    if (!copied)
        return kerchunk_codecs_filters(&a->codecs, *out, a->type.size,
                                       (size_t)(a->chunk_elements * a->type.size), err);
    bool is_text = a->type.form == KERCHUNK_VLEN_UTF8;
    if (a->codecs.compresses && ((!is_text && H5Pset_shuffle(*out) < 0) || H5Pset_deflate(*out, 4) < 0))
        return h5_fail(err, "setting filters");
    return BKT_OK;
}

/* HDF5 takes chunks that are larger than the array only where it may grow up to them. */
static hid_t space_of(const struct kerchunk_array *a)
{
    hsize_t most[BKT_MAX_RANK];
    for (unsigned d = 0; d < a->rank; d++)
        most[d] = a->whole ? a->dims[d] : bkt_max_u64(a->dims[d], a->chunk[d]);
    return a->rank ? H5Screate_simple((int)a->rank, a->dims, most) : H5Screate(H5S_SCALAR);
}

static int make_array(struct kerchunk_load *k, struct kerchunk_array *a, const struct kerchunk_doc *zattrs,
                      struct bkt_err *err)
{
    const char *why = kerchunk_must_copy(k, a);
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep) hid_t space = space_of(a);
    BKT_CLEANUP(bkt_hid_closep) hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
    BKT_PASS(creation_list(a, why != NULL, &dcpl, err));
    if (space < 0 || H5Pset_create_intermediate_group(lcpl, 1) < 0)
        return h5_fail(err, "making a dataset");
    BKT_CLEANUP(bkt_hid_closep)
    hid_t dset = bkt_filters_create(k->l->dst, a->path, a->type.h5, space, lcpl, dcpl, H5I_INVALID_HID);
    if (dset < 0)
        return h5_fail(err, "making a dataset");
    BKT_PASS(kerchunk_attrs(k, dset, a->path, zattrs, &a->type, err));
    progress_add(k->l->progress, 0, 0, 1);
    if (k->l->o->no_data)
        return BKT_OK;
    if (why && a->n_chunks)
        progress_line(k->l->progress, "%s: copied: %s", a->path, why);
    return why ? kerchunk_copy(k, a, dset, err) : kerchunk_link(k, a, dset, err);
}

/* The names of its dimensions, if there is one for each. */
static int take_names(const struct kerchunk_array *a, const struct kerchunk_doc *zattrs,
                      struct kerchunk_named *out, struct bkt_err *err)
{
    const struct kerchunk_doc *d = kerchunk_doc_get(zattrs, "_ARRAY_DIMENSIONS");
    bool good = d && d->kind == KERCHUNK_LIST && d->n == a->rank;
    out->rank = a->rank;
    memcpy(out->dims, a->dims, sizeof out->dims);
    out->path = strdup(a->path);
    for (const struct kerchunk_doc *v = good ? d->first : NULL; v; v = v->next)
        good = good && v->kind == KERCHUNK_TEXT;
    if (good)
        out->names = calloc(a->rank + 1, sizeof *out->names);
    if (!out->path || (good && !out->names))
        BKT_NOMEM(err);
    unsigned i = 0;
    for (const struct kerchunk_doc *v = good ? d->first : NULL; v; v = v->next, i++)
        BKT_NEED(err, (out->names[i] = strdup(v->text)));
    return BKT_OK;
}

static int one_array(struct kerchunk_load *k, const char *path, struct kerchunk_named *named,
                     struct bkt_err *err)
{
    BKT_CLEANUP(kerchunk_array_fini) struct kerchunk_array a = {.type.h5 = H5I_INVALID_HID};
    BKT_CLEANUP(kerchunk_doc_freep) struct kerchunk_doc *zattrs = NULL;
    const void *p = NULL;
    size_t n;
    BKT_PASS(kerchunk_path_check(path, err));
    BKT_PASS(metadata(k, path, ".zarray", &p, &n, err));
    BKT_PASS(kerchunk_array_parse(path, p, n, &a, err));
    BKT_PASS(read_attrs(k, path, &zattrs, err));
    BKT_PASS(kerchunk_array_find_chunks(&a, &k->set, err));
    k->n_chunks += a.n_chunks;
    if (!*path) { /* the set is one array */
        free(a.path);
        BKT_NEED(err, (a.path = strdup(ALONE)));
    }
    BKT_PASS(make_array(k, &a, zattrs, err));
    return take_names(&a, zattrs, named, err);
}

static int one_group(struct kerchunk_load *k, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(kerchunk_doc_freep) struct kerchunk_doc *zattrs = NULL;
    BKT_CLEANUP(bkt_hid_closep) hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
    BKT_PASS(kerchunk_path_check(path, err));
    BKT_PASS(read_attrs(k, path, &zattrs, err));
    if (H5Pset_create_intermediate_group(lcpl, 1) < 0)
        return h5_fail(err, "making a group");
    /* a group that an array below it has made already */
    bool there = !*path || H5Lexists(k->l->dst, path, H5P_DEFAULT) > 0;
    BKT_CLEANUP(bkt_hid_closep)
    hid_t g = there ? H5Gopen2(k->l->dst, *path ? path : "/", H5P_DEFAULT)
                    : H5Gcreate2(k->l->dst, path, lcpl, H5P_DEFAULT, H5P_DEFAULT);
    if (g < 0)
        return h5_fail(err, "making a group");
    progress_add(k->l->progress, 0, 0, 1);
    return kerchunk_attrs(k, g, path, zattrs, NULL, err);
}

/* ---- all of it ---- */

/* With --ignore-errors a part that can't be loaded is named and left out. */
static int left_out(struct kerchunk_load *k, const char *path, int rc, struct bkt_err *why,
                    struct bkt_err *err)
{
    if (!k->l->o->ignore || rc == BKT_ENOMEM || rc == BKT_ECANCEL)
        return bkt_err_copy(err, rc, why) < 0 ? BKT_ERR(err, rc, "%s", *path ? path : "/") : BKT_OK;
    progress_note(k->l->progress, "%s: left out: %s", *path ? path : "/", bkt_err_reason(why, rc));
    k->l->n_left_out++;
    if (H5Ldelete(k->l->dst, *path ? path : ALONE, H5P_DEFAULT) < 0) /* what was made of it */
        (void)H5Eclear2(H5E_DEFAULT);
    return BKT_OK;
}

static int make_groups(struct kerchunk_load *k, struct bkt_err *err)
{
    for (size_t i = 0; i < k->set.n; i++) {
        BKT_CLEANUP(bkt_freep) char *path = NULL;
        enum part p = part_of(&k->set, &k->set.refs[i], &path);
        const void *array = NULL;
        size_t n = 0;
        if (p != PART_GROUP)
            continue;
        BKT_NEED(err, path);
        BKT_PASS(metadata(k, path, ".zarray", &array, &n, err));
        if (!n)
            BKT_TRY(err, one_group(k, path, err), "%s", *path ? path : "/");
        BKT_PASS(interrupt_check(err));
    }
    return BKT_OK;
}

static int make_arrays(struct kerchunk_load *k, struct kerchunk_named *named, size_t *n, struct bkt_err *err)
{
    for (size_t i = 0; i < k->set.n; i++) {
        BKT_CLEANUP(bkt_freep) char *path = NULL;
        struct bkt_err why = {.n = 0};
        if (part_of(&k->set, &k->set.refs[i], &path) != PART_ARRAY)
            continue;
        BKT_NEED(err, path);
        int rc = one_array(k, path, &named[*n], &why);
        if (rc < 0) {
            BKT_PASS(left_out(k, path, rc, &why, err));
            continue;
        }
        ++*n;
        BKT_PASS(interrupt_check(err));
    }
    return BKT_OK;
}

/* Chunks of arrays that the set doesn't describe. */
static void report_strays(const struct kerchunk_load *k)
{
    uint64_t n = 0;
    for (size_t i = 0; i < k->set.n; i++) {
        const struct kerchunk_ref *r = &k->set.refs[i];
        const char *key = kerchunk_ref_key(&k->set, r), *slash = memrchr(key, '/', r->key_n);
        const char *name = slash ? slash + 1 : key;
        n += name == key + r->key_n || *name != '.';
    }
    if (n > k->n_chunks && !k->l->n_left_out)
        progress_note(k->l->progress, "note: %llu keys belong to no array of the set; they are left out",
                      (unsigned long long)(n - k->n_chunks));
}

static int fill(void *load, struct bkt_err *err)
{
    struct kerchunk_load *k = load;
    size_t n_arrays = 0, n = 0, v3 = 0;
    for (size_t i = 0; i < k->set.n; i++) {
        BKT_CLEANUP(bkt_freep) char *path = NULL;
        const struct kerchunk_ref *r = &k->set.refs[i];
        n_arrays += part_of(&k->set, r, &path) == PART_ARRAY;
        v3 += r->key_n >= 9 && memcmp(kerchunk_ref_key(&k->set, r) + r->key_n - 9, "zarr.json", 9) == 0;
    }
    BKT_FAIL_IF(err, v3, BKT_EUNSUP, "zarr.json: metadata of Zarr version 3; reference sets have version 2");
    BKT_FAIL_IF(err, !n_arrays, BKT_EFORMAT, "no arrays: no key ends in .zarray");
    k->uris = calloc(k->set.urls.n + 1, sizeof *k->uris);
    struct kerchunk_named *named = calloc(n_arrays + 1, sizeof *named);
    int rc = k->uris && named ? make_groups(k, err) : BKT_ERR(err, BKT_ENOMEM, "out of memory");
    rc = rc ? rc : make_arrays(k, named, &n, err);
    rc = rc ? rc : kerchunk_store_kept(k, err);
    if (rc == BKT_OK)
        report_strays(k);
    rc = rc ? rc : kerchunk_scales(k, named, n, err);
    if (named)
        kerchunk_named_fini(named, n_arrays);
    return rc;
}

int load_kerchunk(struct load_job *l, const char *set_name, const char *domain, hid_t fapl,
                  struct bkt_err *err)
{
    BKT_CLEANUP(load_fini)
    struct kerchunk_load k = {.l = l,
                              .set_is_remote = bkt_vfd_takes(set_name) && strncmp(set_name, "file:", 5) != 0};
    BKT_TRY(err, kerchunk_set_read(set_name, l->set, &k.set, err), "%s", set_name);
    return load_made(l, domain, fapl, fill, &k, err);
}
