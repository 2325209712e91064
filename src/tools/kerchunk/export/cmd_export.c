/* h5bucket export --kerchunk NAME FILE: a reference set for Zarr's programs. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/utf8.h"
#include "schema/domain/domain.h"
#include "tools/cli/interrupt.h"
#include "tools/kerchunk/export/export_set.h"
#include "tools/source/hdf5_glue.h"

static const struct bkt_opt opts[] = {
    {0, "kerchunk", NULL, "write a kerchunk reference set (JSON, version 1)", NULL},
    {'f', "force", NULL, "replace an existing FILE", NULL},
    {'v', "verbose", NULL, "print what was written", NULL},
};

/* Errors of one object: it is named and left out.  Those of the output or of the program end the run. */
static int one(struct kx *x, hid_t object, const char *path)
{
    struct bkt_err err = {.n = 0};
    bool dset = H5Iget_type(object) == H5I_DATASET;
    int rc = dset ? kx_put_dataset(x, object, path, &err) : kx_put_group(x, object, path, &err);
    if (!dset)
        h5_closep(&object);
    if (rc == BKT_OK)
        return BKT_OK;
    if (rc == BKT_EIO || rc == BKT_ENOMEM || rc == BKT_ECANCEL)
        return bkt_err_copy(x->err, rc, &err);
    kx_left_out(x, path, NULL, err.n ? err.frame[0].msg : bkt_err_text(rc));
    return BKT_OK;
}

/* HDF5 goes through a group once, however many names it has. */
static int is_again(struct kx *x, hid_t group)
{
    H5O_info2_t info;
    if (H5Oget_info3(group, &info, H5O_INFO_BASIC) < 0)
        return h5_fail(x->err, "asking for a group");
    if (bkt_map_get(x->groups, &info.token, sizeof info.token))
        return 1;
    return bkt_map_put(x->groups, &info.token, sizeof info.token, x, NULL) < 0
               ? BKT_ERR(x->err, BKT_ENOMEM, "out of memory")
               : 0;
}

static int step(struct kx *x, hid_t root, const char *path, const H5L_info2_t *link)
{
    BKT_PASS(interrupt_check(x->err));
    if (!bkt_utf8_is(path, strlen(path))) {
        kx_left_out(x, "(a link)", NULL, "its name is not UTF-8");
        return BKT_OK;
    }
    if (link->type != H5L_TYPE_HARD) {
        kx_left_out(x, path, NULL, link->type == H5L_TYPE_SOFT ? "a soft link" : "a link into another file");
        return BKT_OK;
    }
    hid_t object = H5Oopen(root, path, H5P_DEFAULT);
    if (object < 0)
        return h5_fail(x->err, path);
    H5I_type_t type = H5Iget_type(object);
    int again = type == H5I_GROUP ? is_again(x, object) : 0;
    if (again == 0 && (type == H5I_DATASET || type == H5I_GROUP))
        return one(x, object, path);
    h5_closep(&object);
    if (again >= 0)
        kx_left_out(x, path, NULL,
                    again ? "another name of a group that is in the set" : "a committed datatype");
    return again < 0 ? again : BKT_OK;
}

static herr_t visit(hid_t root, const char *path, const H5L_info2_t *link, void *arg)
{
    struct kx *x = arg;
    x->rc = step(x, root, path, link);
    return x->rc < 0 ? -1 : 0;
}

static int write_set(struct kx *x)
{
    hid_t root = H5Gopen2(x->file, "/", H5P_DEFAULT);
    if (root < 0)
        return h5_fail(x->err, "opening the root group");
    int rc = is_again(x, root);
    if (rc < 0) {
        h5_closep(&root);
        return rc;
    }
    (void)fputs("{\"version\": 1, \"refs\": {", x->out);
    BKT_PASS(one(x, root, ""));
    if (H5Lvisit2(x->file, H5_INDEX_NAME, H5_ITER_INC, visit, x) < 0)
        return x->rc < 0 ? x->rc : h5_fail(x->err, "going through the file");
    (void)fputs("\n}}\n", x->out);
    return BKT_OK;
}

/* The set appears under its name when it is complete. */
static int to_file(struct kx *x, const char *name)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf part = {0};
    if (bkt_buf_addf(&part, "%s.part-%ld", name, (long)getpid()) < 0)
        BKT_NOMEM(x->err);
    x->out = fopen(bkt_buf_str(&part), "wxe");
    if (!x->out)
        BKT_FAIL(x->err, BKT_EIO, "%s: %s", name, strerror(errno));
    int rc = write_set(x);
    if ((ferror(x->out) | fclose(x->out)) && rc == BKT_OK)
        rc = BKT_ERR(x->err, BKT_EIO, "%s can't be written", name);
    if (rc == BKT_OK && rename(bkt_buf_str(&part), name) < 0)
        rc = BKT_ERR(x->err, BKT_EIO, "%s: %s", name, strerror(errno));
    if (rc < 0)
        (void)unlink(bkt_buf_str(&part));
    return rc;
}

/* A domain by the connector; another name as a file, by HDF5's own. */
static int open_name(struct kx *x, const char *name, const char *info, hid_t *fapl)
{
    BKT_PASS(h5_start(info, fapl, x->err));
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

static int work(struct kx *x)
{
    BKT_CLEANUP(h5_closep) hid_t fapl = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_freep) char *info = bkt_tool_info(x->t);
    x->by_url = bkt_map_new();
    x->groups = bkt_map_new();
    x->phony = bkt_map_new();
    if (!info || !x->by_url || !x->groups || !x->phony)
        BKT_NOMEM(x->err);
    int rc = open_name(x, x->t->args[0], info, &fapl);
    if (rc == BKT_OK)
        rc = to_file(x, x->t->args[1]);
    if (!x->src)
        h5_closep(&x->file);
    source_close(x->src);
    return rc;
}

static int run(struct bkt_tool *t)
{
    struct bkt_err err = {.n = 0};
    struct kx x = {.t = t, .file = H5I_INVALID_HID, .err = &err};
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
    if (rc < 0)
        return bkt_tool_error(t, t->args[0], &err);
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
        "NAME is a domain, or an HDF5 file by its path, s3:// or https:// name. The set names the place "
        "of each\n"
        "chunk. fsspec and Zarr, and xarray on top of them, read the values from there.\n\n"
        "  h5bucket export --kerchunk s3://b/home/run7.h5 run7.json\n\n"
        "deflate, shuffle, fletcher32, zstd, bzip2 and blosc are codecs of numcodecs (fletcher32 since "
        "0.12).\n"
        "Dimension scales become _ARRAY_DIMENSIONS. Arrays of up to 512 bytes are in the set itself. So "
        "are those\n"
        "of up to 1 MiB whose chunks Zarr can't decode, and strings of variable length.\n\n"
        "Other parts are left out and named on stderr: types without a dtype, filters without a codec of "
        "the\n"
        "same bytes, chunks that skip filters, soft and external links, further names of a group, committed "
        "types,\n"
        "attributes that are not JSON's. The exit code is then 1. Names of an enumeration's values are "
        "lost without a note.",
    .opts = opts,
    .n_opts = BKT_COUNT(opts),
    .run = run,
};
