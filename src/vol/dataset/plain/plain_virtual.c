/* Virtual datasets of plain HDF5 files in stores.  Their sources are opened side by side, and read by chunk
 * like other datasets of such files.
 *
 * The mappings and names are HDF5's, and so is the order in which a name is looked for.  If a source can't be
 * opened because its server fails, the read fails; HDF5 would give fill values. */
#include <stdlib.h>
#include <string.h>

#include "vol/dataset/plain/plain_read.h"
#include "vol/dataset/virtual.h"
#include "vol/plain/remote_file.h"
#include "vol/vfd/store_driver_ahead.h"

#define KEPT 64 /* sources that stay open with the dataset; each has the first bytes of its file */

/* ---- names ---- */

/* The names by which HDF5 looks for a file: as it is, and if it is absolute, beside the dataset's file. */
static const char *candidate(const char *file, unsigned i)
{
    const char *slash = *file == '/' ? strrchr(file, '/') : NULL;
    return i == 0 ? file : i == 1 && slash ? slash + 1 : NULL;
}

static void expect(const struct bkt_view *v, const char *file)
{
    struct bkt_plain_dataset *s = v->arg;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full = {0};
    if (strcmp(file, ".") != 0 && bkt_vfd_linked_name(s->file, candidate(file, 0), &full, NULL) == BKT_OK)
        bkt_vfd_expect_linked(s->file, bkt_buf_str(&full));
}

/* ---- opening ---- */

/* Open a file by HDF5's native connector.  BKT_ENOENT: it is missing.  A file that is there and that HDF5
 * refuses is a failure, as in HDF5. */
static int open_named(struct bkt_plain_dataset *s, const char *name, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t own = H5Iget_file_id(s->dset);
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = own < 0 ? own : H5Fget_access_plist(own);
    BKT_NEED_H5(err, fapl >= 0, "asking for the access list of a virtual dataset's file");
    BKT_PASS(bkt_vfd_linked_name(s->file, name, &full, err));
    bkt_vfd_expect_linked(s->file, bkt_buf_str(&full));
    BKT_PASS(bkt_vfd_expected_wait(bkt_buf_str(&full), err));
    int rc = BKT_PASS_H5(err, *out = bkt_remote_native(bkt_buf_str(&full), H5F_ACC_RDONLY, fapl),
                         "opening a source");
    return rc == BKT_OK || bkt_vfd_linked_exists(s->file, bkt_buf_str(&full)) ? rc : BKT_ENOENT;
}

static int open_file(struct bkt_plain_dataset *s, const char *file, hid_t *out, struct bkt_err *err)
{
    int rc = BKT_ENOENT;
    if (strcmp(file, ".") == 0)
        return BKT_PASS_H5(err, *out = H5Iget_file_id(s->dset), "H5Iget_file_id");
    for (unsigned i = 0; rc == BKT_ENOENT && candidate(file, i); i++) {
        bkt_err_clear(err);
        rc = open_named(s, candidate(file, i), out, err);
    }
    return rc;
}

static int open_dataset(hid_t in, const char *name, hid_t *out, struct bkt_err *err)
{
    htri_t there = 0;
    if (BKT_PASS_H5(NULL, there = H5Oexists_by_name(in, name, H5P_DEFAULT), "H5Oexists_by_name") < 0 ||
        there <= 0)
        return BKT_ENOENT;
    return BKT_PASS_H5(err, *out = H5Dopen2(in, name, H5P_DEFAULT),
                       "opening the source of a virtual dataset");
}

static int open_source(const struct bkt_view *v, const char *file, const char *name, hid_t *out,
                       struct bkt_err *err)
{
    struct bkt_plain_dataset *s = v->arg;
    struct bkt_kept_source *kept = bkt_kept_find(&s->sources, file, name);
    hid_t in = H5I_INVALID_HID, dset = H5I_INVALID_HID;
    struct bkt_err why = {.n = 0};
    *out = H5I_INVALID_HID;
    if (kept) {
        BKT_FAIL_IF(err, H5Iis_valid(kept->o.native_id) <= 0, BKT_EINVAL,
                    "source %s in %s: the program has closed its id; open the virtual dataset again", name,
                    file);
        *out = bkt_hid_hold(kept->o.native_id);
        return BKT_OK;
    }
    int rc = open_file(s, file, &in, &why);
    if (rc == BKT_OK)
        rc = open_dataset(in, name, &dset, &why);
    if (rc == BKT_OK) {
        *out = bkt_hid_hold(dset);
        return bkt_kept_add(&s->sources, file, name, in, dset, err);
    }
    bkt_vobj_drop_id(in);
    if (rc == BKT_ENOENT)
        return BKT_OK;
    (void)bkt_err_copy(err, rc, &why);
    BKT_TRY(err, rc, "source %s in %s of virtual dataset %s", name, file,
            s->v.path ? s->v.path : s->v.obj->id.text);
    return BKT_OK;
}

/* ---- reading ---- */

/* HDF5 looks into more folders then. */
static bool has_prefix(hid_t dapl)
{
    const char *env = getenv("HDF5_VDS_PREFIX");
    return (env && *env) || H5Pget_virtual_prefix(dapl, NULL, 0) != 0;
}

static int read_view(struct bkt_plain_dataset *s, struct bkt_view *v, const struct bkt_io *io, size_t i,
                     struct bkt_err *err)
{
    struct bkt_io one = bkt_io_one(io, i);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Dget_space(s->dset);
    v->dcpl = H5Dget_create_plist(s->dset);
    BKT_NEED_H5(err, space >= 0 && v->dcpl >= 0, "asking about a virtual dataset");
    BKT_PASS(bkt_mappings_load(v->dcpl, &v->maps, &v->n, err));
    if (io->file_spaces[i] == H5S_ALL)
        one.file_spaces = &space;
    return bkt_view_transfer(v, &one, &s->sources, err);
}

int bkt_plain_virtual_read(struct bkt_plain_dataset *s, const struct bkt_io *io, size_t i, bool *native,
                           struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t dapl = H5Dget_access_plist(s->dset);
    struct bkt_view v = {
        .o = &s->v, .dcpl = H5I_INVALID_HID, .dapl = dapl, .open = open_source, .expect = expect, .arg = s};
    *native = dapl < 0 || has_prefix(dapl) || io->file_spaces[i] == H5S_PLIST;
    if (*native)
        return BKT_OK;
    BKT_PASS(bkt_view_enter(err));
    int rc = read_view(s, &v, io, i, err);
    bkt_view_fini(&v);
    if (s->sources.n > KEPT)
        bkt_kept_close(&s->sources);
    return rc;
}
