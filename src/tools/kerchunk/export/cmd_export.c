/* h5bucket export --kerchunk NAME FILE: a reference set for Zarr's programs: groups, arrays, chunks. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "base/text/utf8.h"
#include "schema/domain/domain.h"
#include "tools/cli/interrupt.h"
#include "tools/kerchunk/export/export.h"
#include "tools/kerchunk/zarray.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"

/* Bytes of an array that is always inline: a request costs more than its base64. */
#define INLINE_SMALL 512u
#define INLINE_MAX                                                                                           \
    ((size_t)1 << 20) /* bytes of an array that is inline since its chunks can't be expressed */

void zarr_left_out(struct zarr_export *x, const char *path, const char *attr, const char *why)
{
    x->n_left_out++;
    (void)bkt_tool_fail(x->t, "%s: %s%s%sleft out: %s", *path ? path : "/", attr ? "attribute " : "",
                        attr ? attr : "", attr ? ": " : "", why);
}

/* ---- output ---- */

static int written(const struct zarr_export *x, int rc, struct bkt_err *err)
{
    BKT_PASS_MEM(err, rc);
    BKT_FAIL_IF(err, ferror(x->out), BKT_EIO, "%s can't be written: %s", x->t->args[1], strerror(errno));
    return BKT_OK;
}

/* "path/key": value.  All text is ASCII, the only form that zarr-python 2 takes. */
static int put(struct zarr_export *x, const char *path, const char *key, const struct bkt_buf *value,
               struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0}, line = {0};
    int rc = bkt_buf_addf(&name, "%s%s%s", path, *path ? "/" : "", key);
    rc = rc ? rc : bkt_utf8_quote(&line, bkt_buf_str(&name), name.len);
    if (rc == BKT_OK)
        (void)fprintf(x->out, "%s\n%s: %s", x->some ? "," : "", bkt_buf_str(&line), bkt_buf_str(value));
    x->some = true;
    return written(x, rc, err);
}

static int put_text(struct zarr_export *x, const char *path, const char *key, const struct bkt_buf *text,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf value = {0};
    BKT_PASS_MEM(err, bkt_utf8_quote(&value, bkt_buf_str(text), text->len));
    return put(x, path, key, &value, err);
}

static int put_bytes(struct zarr_export *x, const char *path, const char *key, const void *p, size_t n,
                     struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf value = {0};
    BKT_NEED(err, bkt_buf_add_str(&value, "\"base64:") >= 0 && bkt_base64_encode(p, n, &value) >= 0 &&
                      bkt_buf_add_str(&value, "\"") >= 0);
    return put(x, path, key, &value, err);
}

/* @p len BKT_WHOLE: a whole file */
static int put_place(struct zarr_export *x, const char *path, const char *key, const char *url, uint64_t off,
                     uint64_t len, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf value = {0};
    int rc = bkt_buf_add_str(&value, "[");
    rc = rc ? rc : bkt_utf8_quote(&value, url, strlen(url));
    if (rc == BKT_OK)
        rc = len == BKT_WHOLE ? bkt_buf_add_str(&value, "]")
                              : bkt_buf_addf(&value, ", %" PRIu64 ", %" PRIu64 "]", off, len);
    BKT_PASS_MEM(err, rc);
    return put(x, path, key, &value, err);
}

/* ---- an array ---- */

struct array {
    struct zarr_export *x;
    const char *path;
    hid_t dset, mem;
    struct bkt_buf dtype, zarray, zattrs;
    struct zarr_places p;
    uint64_t elements;
    size_t size; /* of a packed element; a string of variable length: of a pointer */
    bool var;
};

static void array_fini(struct array *a)
{
    bkt_hid_closep(&a->dset);
    bkt_hid_closep(&a->mem);
    bkt_buf_fini(&a->dtype);
    bkt_buf_fini(&a->zarray);
    bkt_buf_fini(&a->zattrs);
    zarr_places_fini(&a->p);
}

static int put_sizes(struct bkt_buf *b, const char *key, const uint64_t *v, unsigned n)
{
    BKT_PASS(bkt_buf_addf(b, "\"%s\": [", key));
    for (unsigned i = 0; i < n; i++)
        BKT_PASS(bkt_buf_addf(b, "%s%" PRIu64, i ? ", " : "", v[i]));
    return bkt_buf_add_str(b, "], ");
}

/* Whether every chunk of the grid is there. */
static bool is_complete(const struct array *a, bool inside)
{
    uint64_t all = 1;
    for (unsigned d = 0; d < a->p.rank; d++)
        all *= a->p.grid[d]; /* no more than elements */
    return inside || a->p.n == all;
}

/* The fill value is written only where chunks are missing: xarray takes it for a mark of missing values. */
static int put_zarray(struct array *a, bool inside, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(a->dset);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf fill = {0};
    struct bkt_buf *b = &a->zarray;
    if (dcpl < 0)
        return h5_fail(err, "asking for the creation list");
    if (!is_complete(a, inside))
        BKT_PASS(zarr_fill(dcpl, a->mem, &fill, err));
    else if (bkt_buf_add_str(&fill, "null") < 0)
        BKT_NOMEM(err);
    if (bkt_buf_add_str(b, "{") < 0 || put_sizes(b, "shape", a->p.dims, a->p.rank) < 0 ||
        put_sizes(b, "chunks", a->p.chunk, a->p.rank) < 0 ||
        bkt_buf_addf(b,
                     "\"dtype\": %s, \"fill_value\": %s, \"order\": \"C\", \"filters\": %s%s%s, "
                     "\"compressor\": null, \"zarr_format\": 2}",
                     bkt_buf_str(&a->dtype), bkt_buf_str(&fill), a->p.codecs.len ? "[" : "null",
                     bkt_buf_str(&a->p.codecs), a->p.codecs.len ? "]" : "") < 0)
        BKT_NOMEM(err);
    return put_text(a->x, a->path, ".zarray", b, err);
}

static int put_chunks(struct array *a, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS(put_zarray(a, false, err));
    for (size_t i = 0; i < a->p.n; i++) {
        const struct zarr_chunk *c = &a->p.v[i];
        bkt_buf_clear(&key);
        BKT_PASS_MEM(err, kerchunk_chunk_key(a->p.grid, a->p.rank, '.', c->index, &key));
        BKT_PASS(put_place(a->x, a->path, bkt_buf_str(&key), a->x->urls.v[c->url], c->off, c->len, err));
    }
    a->x->n_chunks += a->p.n;
    return BKT_OK;
}

/* ---- inline ---- */

/* vlen-utf8's form: the number of strings, and each one's length and bytes. */
static int join_strings(char **v, uint64_t n, struct bkt_buf *out, bool *fits)
{
    unsigned char four[4];
    bkt_put_le(four, 4, n);
    BKT_PASS(bkt_buf_add(out, four, 4));
    for (uint64_t i = 0; i < n && *fits; i++) {
        size_t len = v[i] ? strlen(v[i]) : 0;
        *fits = len <= INLINE_MAX && out->len + len <= INLINE_MAX;
        bkt_put_le(four, 4, len);
        BKT_PASS(bkt_buf_add(out, four, 4));
        if (*fits && len)
            BKT_PASS(bkt_buf_add(out, v[i], len));
    }
    return BKT_OK;
}

static int read_strings(const struct array *a, struct bkt_buf *out, bool *fits, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(a->dset);
    BKT_CLEANUP(bkt_freep) char **v = calloc((size_t)a->elements + 1, sizeof *v);
    BKT_NEED(err, v);
    if (H5Dread(a->dset, a->mem, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) < 0)
        return h5_fail(err, "reading its elements");
    int rc = join_strings(v, a->elements, out, fits);
    (void)H5Treclaim(a->mem, space, H5P_DEFAULT, v);
    return BKT_MADE(err, rc >= 0);
}

/* The whole array as one chunk.  1: done; 0: it is too large. */
static int put_inline(struct array *a, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0}, key = {0};
    bool fits = true;
    if (a->elements > INLINE_MAX / a->size)
        return 0;
    BKT_PASS_MEM(err, bkt_buf_resize(&bytes, a->var ? 0 : (size_t)a->elements * a->size));
    if (a->var)
        BKT_PASS(read_strings(a, &bytes, &fits, err));
    else if (a->elements && H5Dread(a->dset, a->mem, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.ptr) < 0)
        return h5_fail(err, "reading its elements");
    if (!fits)
        return 0;
    for (unsigned d = 0; d < a->p.rank; d++) {
        a->p.chunk[d] = bkt_max_u64(a->p.dims[d], 1);
        a->p.grid[d] = a->p.dims[d] ? 1 : 0;
    }
    bkt_buf_clear(&a->p.codecs);
    if ((a->var && bkt_buf_add_str(&a->p.codecs, "{\"id\": \"vlen-utf8\"}") < 0) ||
        bkt_buf_reserve(&a->p.codecs, 0) < 0)
        BKT_NOMEM(err);
    BKT_PASS(put_zarray(a, true, err));
    a->x->n_inline++;
    if (!a->elements)
        return 1;
    BKT_PASS_MEM(err, kerchunk_chunk_key(a->p.grid, a->p.rank, '.', 0, &key));
    BKT_PASS(put_bytes(a->x, a->path, bkt_buf_str(&key), bytes.ptr, bytes.len, err));
    return 1;
}

/* ---- objects ---- */

static int describe(struct array *a, const char **why, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5Dget_type(a->dset), space = H5Dget_space(a->dset);
    int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, a->p.dims, NULL);
    if (type < 0 || rank < 0)
        return h5_fail(err, "asking for its type and dataspace");
    if (H5Sget_simple_extent_type(space) == H5S_NULL) {
        *why = "a null dataspace, which Zarr can't express";
        return 0;
    }
    int rc = zarr_dtype(type, &a->dtype, &a->mem, why, err);
    if (rc <= 0)
        return rc;
    a->var = H5Tis_variable_str(type) > 0;
    a->size = a->var ? sizeof(char *) : H5Tget_size(a->mem);
    a->p.rank = (unsigned)rank;
    a->elements = 1;
    for (int d = 0; d < rank; d++)
        BKT_FAIL_IF(err, !bkt_mul_u64(a->elements, a->p.dims[d], &a->elements), BKT_EFORMAT,
                    "2^64 elements or more");
    return 1;
}

/* A small array, if it can be read; its chunks may lie where only other programs read. */
static int put_small(struct array *a, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int rc = put_inline(a, &why);
    if (rc == BKT_EIO || rc == BKT_ENOMEM)
        return bkt_err_copy(err, rc, &why);
    (void)H5Eclear2(H5E_DEFAULT);
    return rc < 0 ? 0 : rc;
}

static int put_array(struct array *a, const char **why, struct bkt_err *err)
{
    int rc = describe(a, why, err);
    if (rc <= 0)
        return rc;
    BKT_PASS(zarr_attrs(a->x, a->dset, a->path, (int)a->p.rank, a->p.dims, &a->zattrs, err));
    if (!a->var)
        BKT_PASS(zarr_places(a->x, a->dset, a->size, &a->p, err));
    bool small = a->elements <= INLINE_SMALL / a->size, odd = a->var || a->p.why[0];
    rc = odd ? put_inline(a, err) : small ? put_small(a, err) : 0;
    if (rc == 0 && odd) {
        *why = a->var ? "strings of variable length beyond 1 MiB have no codec of the same bytes" : a->p.why;
        return 0;
    }
    if (rc == 0)
        rc = put_chunks(a, err);
    if (rc < 0)
        return rc;
    a->x->n_arrays++;
    return put_text(a->x, a->path, ".zattrs", &a->zattrs, err) < 0 ? BKT_EIO : 1;
}

/* Write a dataset's entries; @p dset is taken over.  A dataset that can't be expressed is named.
 *  @param path  without a leading '/'
 *  @return BKT_OK; negative: it can't be read, or the set can't be written (BKT_EIO) */
static int put_dataset(struct zarr_export *x, hid_t dset, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(array_fini) struct array a = {.x = x, .path = path, .dset = dset, .mem = H5I_INVALID_HID};
    const char *why = NULL;
    if (zarr_is_bare_dimension(dset))
        return BKT_OK;
    int rc = put_array(&a, &why, err);
    if (rc == 0)
        zarr_left_out(x, path, NULL, why ? why : "it can't be expressed");
    return rc < 0 ? rc : BKT_OK;
}

/* Write a group's own entries; @p path "": the root. */
static int put_group(struct zarr_export *x, hid_t group, const char *path, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf format = {0}, zattrs = {0};
    BKT_PASS_MEM(err, bkt_buf_add_str(&format, "{\"zarr_format\": 2}"));
    BKT_PASS(put_text(x, path, ".zgroup", &format, err));
    BKT_PASS(zarr_attrs(x, group, path, -1, NULL, &zattrs, err));
    return put_text(x, path, ".zattrs", &zattrs, err);
}

/* ---- the verb ---- */

static const struct bkt_opt opts[] = {
    {0, "kerchunk", NULL, "write a kerchunk reference set (JSON, version 1)", NULL},
    {'f', "force", NULL, "replace an existing FILE", NULL},
    {'v', "verbose", NULL, "print what was written", NULL},
};

/* Errors of one object: it is named and left out.  Those of the output or of the program end the run. */
static int one(struct zarr_export *x, hid_t object, const char *path)
{
    struct bkt_err err = {.n = 0};
    bool dset = H5Iget_type(object) == H5I_DATASET;
    int rc = dset ? put_dataset(x, object, path, &err) : put_group(x, object, path, &err);
    if (!dset)
        bkt_hid_closep(&object);
    if (rc == BKT_OK)
        return BKT_OK;
    if (rc == BKT_EIO || rc == BKT_ENOMEM || rc == BKT_ECANCEL)
        return bkt_err_copy(x->err, rc, &err);
    zarr_left_out(x, path, NULL, bkt_err_reason(&err, rc));
    return BKT_OK;
}

/* HDF5 goes through a group once, however many names it has. */
static int is_again(struct zarr_export *x, hid_t group)
{
    H5O_info2_t info;
    if (H5Oget_info3(group, &info, H5O_INFO_BASIC) < 0)
        return h5_fail(x->err, "asking for a group");
    if (bkt_map_get(x->groups, &info.token, sizeof info.token))
        return 1;
    return bkt_map_set(&x->groups, &info.token, sizeof info.token, x, NULL) < 0
               ? BKT_ERR(x->err, BKT_ENOMEM, "out of memory")
               : 0;
}

static int step(struct zarr_export *x, hid_t root, const char *path, const H5L_info2_t *link)
{
    BKT_PASS(interrupt_check(x->err));
    if (!bkt_utf8_is(path, strlen(path))) {
        zarr_left_out(x, "(a link)", NULL, "its name is not UTF-8");
        return BKT_OK;
    }
    if (link->type != H5L_TYPE_HARD) {
        zarr_left_out(x, path, NULL,
                      link->type == H5L_TYPE_SOFT ? "a soft link" : "a link into another file");
        return BKT_OK;
    }
    hid_t object = H5Oopen(root, path, H5P_DEFAULT);
    if (object < 0)
        return h5_fail(x->err, path);
    H5I_type_t type = H5Iget_type(object);
    int again = type == H5I_GROUP ? is_again(x, object) : 0;
    if (again == 0 && (type == H5I_DATASET || type == H5I_GROUP))
        return one(x, object, path);
    bkt_hid_closep(&object);
    if (again >= 0)
        zarr_left_out(x, path, NULL,
                      again ? "another name of a group that is in the set" : "a committed datatype");
    return again < 0 ? again : BKT_OK;
}

static herr_t visit(hid_t root, const char *path, const H5L_info2_t *link, void *arg)
{
    struct zarr_export *x = arg;
    x->rc = step(x, root, path, link);
    return x->rc < 0 ? -1 : 0;
}

static int write_set(struct zarr_export *x)
{
    hid_t root = H5Gopen2(x->file, "/", H5P_DEFAULT);
    if (root < 0)
        return h5_fail(x->err, "opening the root group");
    int rc = is_again(x, root);
    if (rc < 0) {
        bkt_hid_closep(&root);
        return rc;
    }
    (void)fputs("{\"version\": 1, \"refs\": {", x->out);
    BKT_PASS(one(x, root, ""));
    if (H5Lvisit2(x->file, H5_INDEX_NAME, H5_ITER_INC, visit, x) < 0)
        return x->rc < 0 ? x->rc : h5_fail(x->err, "going through the file");
    (void)fputs("\n}}\n", x->out);
    (void)fflush(x->out);
    return written(x, BKT_OK, x->err);
}

/* The set appears under its name when it is complete. */
static int to_file(struct zarr_export *x, const char *name)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf part = {0};
    BKT_PASS_MEM(x->err, bkt_buf_addf(&part, "%s.part-%ld", name, (long)getpid()));
    x->out = fopen(bkt_buf_str(&part), "wxe");
    BKT_FAIL_IF(x->err, !x->out, BKT_EIO, "%s: %s", name, strerror(errno));
    int rc = write_set(x);
    if (fclose(x->out) != 0 && rc == BKT_OK)
        rc = BKT_ERR(x->err, BKT_EIO, "%s can't be written: %s", name, strerror(errno));
    if (rc == BKT_OK && rename(bkt_buf_str(&part), name) < 0)
        rc = BKT_ERR(x->err, BKT_EIO, "%s: %s", name, strerror(errno));
    if (rc < 0)
        (void)unlink(bkt_buf_str(&part));
    return rc;
}

/* A domain by the connector; another name as a file, by HDF5's own. */
static int open_name(struct zarr_export *x, const char *name, hid_t *fapl)
{
    BKT_PASS(bkt_tool_start(x->t, fapl, x->err));
    int is = bkt_domain_probe(name, &x->t->set, x->err);
    if (is < 0)
        return is;
    bkt_err_clear(x->err);
    if (is) {
        x->file = H5Fopen(name, H5F_ACC_RDONLY, *fapl);
        return x->file < 0 ? h5_fail(x->err, name) : BKT_OK;
    }
    BKT_PASS(source_open(name, NULL, &x->t->set, &x->src, x->err));
    x->file = x->src->file;
    return BKT_OK;
}

static int work(struct zarr_export *x)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5I_INVALID_HID;
    int rc = open_name(x, x->t->args[0], &fapl);
    rc = rc ? rc : to_file(x, x->t->args[1]);
    if (!x->src)
        bkt_hid_closep(&x->file);
    source_close(x->src);
    return rc;
}

static int run(struct bkt_tool *t)
{
    struct zarr_export x = {.t = t, .file = H5I_INVALID_HID, .err = &t->err};
    const char *name = t->args[1];
    struct stat there;
    if (!bkt_tool_has(t, "kerchunk"))
        return bkt_tool_usage(t, "name the form of the output: --kerchunk");
    if (!bkt_tool_has(t, "force") && stat(name, &there) == 0)
        return bkt_tool_fail(t, "%s exists; --force replaces it", name);
    interrupt_catch();
    int rc = work(&x);
    bkt_map_free(x.by_url, NULL);
    bkt_map_free(x.groups, NULL);
    bkt_map_free(x.phony, NULL);
    bkt_strs_fini(&x.urls);
    BKT_PASS(rc);
    if (bkt_tool_has(t, "verbose"))
        printf("%s: %llu arrays, %llu of them inline; %llu references to %zu files\n", name,
               (unsigned long long)x.n_arrays, (unsigned long long)x.n_inline, (unsigned long long)x.n_chunks,
               x.urls.n);
    return x.n_left_out
               ? bkt_tool_fail(t, "%s: written without %llu parts that a reference set can't express", name,
                               (unsigned long long)x.n_left_out)
               : BKT_EXIT_OK;
}

const struct bkt_verb bkt_verb_export = {
    .name = "export",
    .args = "NAME FILE",
    .min_args = 2,
    .max_args = 2,
    .help = "write a kerchunk reference set of a domain or HDF5 file, for Zarr's programs",
    .text =
        "NAME is a domain, or an HDF5 file by its path, s3:// or https:// name. The set names the place\n"
        "of each chunk. fsspec and Zarr, and xarray on top of them, read the values from there.\n\n"
        "  h5bucket export --kerchunk s3://b/home/run7.h5 run7.json\n\n"
        "deflate, shuffle, fletcher32, zstd, bzip2 and blosc are codecs of numcodecs (fletcher32 since\n"
        "0.12). Dimension scales become _ARRAY_DIMENSIONS. Arrays of up to 512 bytes are in the set\n"
        "itself. So are those of up to 1 MiB whose chunks Zarr can't decode, and strings of variable\n"
        "length.\n\n"
        "Other parts are left out and named on stderr: types without a dtype, filters without a codec of\n"
        "the same bytes, chunks that skip filters, soft and external links, further names of a group,\n"
        "committed types, attributes that are not JSON's. The exit code is then 1. Names of an\n"
        "enumeration's values are lost without a note.",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .run = run,
};
