/* Virtual datasets of plain HDF5 files in stores.  Their sources are opened side by side, and read by chunk
 * like other datasets of such files.
 *
 * The mappings and names are HDF5's, and so is the order in which a name is looked for.  If a source can't be
 * opened because its server fails, the read fails; HDF5 would give fill values. */
#include <stdlib.h>
#include <string.h>

#include "base/trace.h"
#include "vol/core/transfer_list.h"
#include "vol/dataset/plain/plain_heaps.h"
#include "vol/dataset/plain/plain_read.h"
#include "vol/dataset/raw_files.h"
#include "vol/dataset/shared_transfer.h"
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

/* Read a virtual dataset, number @p i of the call.  @p native: set if only the native connector can. */
static int plain_virtual_read(struct bkt_plain_dataset *s, const struct bkt_io *io, size_t i, bool *native,
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

/* H5Dread, H5Dread_multi, H5Dwrite and H5Dwrite_multi of plain HDF5 files: the way for each dataset. */

struct bkt_plain_counts bkt_plain_counts;

static int report(int rc, struct bkt_err *err)
{
    BKT_FAIL_IF(err, rc == BKT_EPRECOND, rc, "the file was replaced while it was open; open it again");
    return rc;
}

/* HDF5 reports every failure in the same way.  The driver knows whether the store was the reason. */
static int reason(struct bkt_plain_dataset *s, int rc, struct bkt_err *err)
{
    int why = s ? bkt_vfd_failure(s->file) : BKT_OK;
    return report(rc < 0 && why < 0 && !bkt_plain_is_format(why) ? why : rc, err);
}

/* ---- by the native connector ---- */

/* libhdf5 would open raw files on this machine by the names that a file from elsewhere gives. */
static int check_raw_files(hid_t dset, struct bkt_err *err)
{
    struct bkt_vfd_file *f = bkt_vfd_first_behind(dset);
    if (!f || bkt_vfd_facts(f).is_local)
        return BKT_OK;
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5Dget_create_plist(dset);
    BKT_NEED_H5(err, dcpl >= 0, "asking for external files");
    BKT_FAIL_IF(err, H5Pget_external_count(dcpl) > 0, BKT_EUNSUP,
                "its external raw files can't be read for such a type or extent");
    return BKT_OK;
}

static int native_one(const struct bkt_io *io, size_t i, struct bkt_err *err)
{
    hid_t id = io->dsets[i]->native_id;
    BKT_CLEANUP(bkt_hid_closep) hid_t list = H5I_INVALID_HID;
    BKT_PASS(bkt_xfer_for(id, io->dxpl, &list, err));
    if (io->write)
        return BKT_PASS_NATIVE(
            err, H5Dwrite(id, io->mem_types[i], io->mem_spaces[i], io->file_spaces[i], list, io->bufs[i]),
            "H5Dwrite");
    struct bkt_plain_dataset *s = (struct bkt_plain_dataset *)io->dsets[i]->plain_dataset;
    bkt_plain_counts.by_native += s != NULL;
    BKT_PASS(check_raw_files(id, err));
    int rc = BKT_PASS_NATIVE(
        err, H5Dread(id, io->mem_types[i], io->mem_spaces[i], io->file_spaces[i], list, io->bufs[i]),
        "reading a dataset of another file");
    return reason(s, rc, err);
}

/* ---- by chunk ---- */

/* The datasets of a call that chunk reads. */
struct planned {
    struct bkt_io     io;
    struct bkt_vobj **dsets;
    hid_t            *mem_types, *mem_spaces, *file_spaces;
    void            **bufs;
    size_t           *whose; /* their numbers in the call */
    struct bkt_plain_dataset **alone; /* by number in the call: with heaps or in raw files; NULL: otherwise */
};

static void planned_fini(struct planned *p)
{
    free(p->dsets);
    free(p->mem_types);
    free(p->bufs);
    free(p->whose);
    free(p->alone);
}

static int planned_init(struct planned *p, const struct bkt_io *io, struct bkt_err *err)
{
    *p = (struct planned){.dsets = calloc(io->n, sizeof(struct bkt_vobj *)),
                          .mem_types = calloc(io->n, 3 * sizeof(hid_t)),
                          .bufs = calloc(io->n, sizeof(void *)),
                          .whose = calloc(io->n, sizeof *p->whose),
                          .alone = calloc(io->n, sizeof(struct bkt_plain_dataset *))};
    BKT_NEED(err, p->dsets && p->mem_types && p->bufs && p->whose && p->alone);
    p->mem_spaces  = p->mem_types + io->n;
    p->file_spaces = p->mem_spaces + io->n;
    p->io = (struct bkt_io){.dsets = p->dsets, .mem_types = p->mem_types, .mem_spaces = p->mem_spaces,
                            .file_spaces = p->file_spaces, .bufs = p->bufs, .dxpl = io->dxpl};
    return BKT_OK;
}

static void planned_add(struct planned *p, const struct bkt_io *io, size_t i, struct bkt_plain_dataset *s)
{
    size_t n = p->io.n++;
    p->dsets[n]       = &s->v;
    p->mem_types[n]   = io->mem_types[i];
    p->mem_spaces[n]  = io->mem_spaces[i];
    p->file_spaces[n] = io->file_spaces[i];
    p->bufs[n]        = io->bufs[i];
    p->whose[n]       = i;
}

/* Whether chunk reads one dataset of the call.  Gives a bkt code for failures that end the call. */
static int plan(const struct bkt_io *io, size_t i, struct bkt_plain_dataset **out, struct bkt_err *err)
{
    struct bkt_plain_dataset *s = NULL;
    bool native = true;
    int  rc     = BKT_OK;
    H5E_BEGIN_TRY
    {
        rc = bkt_plain_dataset_of(io->dsets[i], &s, err);
        if (rc == BKT_OK && s)
            (void)bkt_vfd_failure(s->file); /* of an earlier call */
        if (rc == BKT_OK && s)
            rc = bkt_plain_dataset_locate(s, io->file_spaces[i], &native, err);
    }
    H5E_END_TRY
    rc   = reason(s, rc, err);
    *out = rc == BKT_OK && !native ? s : NULL;
    if (!bkt_plain_is_format(rc))
        return rc;
    bkt_err_clear(err);
    return BKT_OK;
}

static int read_planned(const struct bkt_io *io, const struct planned *p, struct bkt_err *err)
{
    int rc;
    H5E_BEGIN_TRY
    {
        rc = bkt_dataset_read(&p->io, err);
    }
    H5E_END_TRY
    if (!bkt_plain_is_format(rc))
        return report(rc, err);
    bkt_trace(BKT_TRACE_VOL, "HDF5's native connector reads again: %s", bkt_err_text(rc));
    bkt_err_clear(err);
    for (size_t i = 0; i < p->io.n; i++)
        BKT_PASS(native_one(io, p->whose[i], err));
    return BKT_OK;
}

static int read_virtual(struct bkt_plain_dataset *s, const struct bkt_io *io, size_t i, struct bkt_err *err)
{
    bool native = false;
    int rc = plain_virtual_read(s, io, i, &native, err);
    if (rc == BKT_OK && !native)
        bkt_plain_counts.by_sources++;
    if (!native && !bkt_plain_is_format(rc))
        return report(rc, err);
    bkt_err_clear(err);
    return native_one(io, i, err);
}

static int read_alone(struct bkt_plain_dataset *s, const struct bkt_io *io, size_t i, struct bkt_err *err)
{
    if (s->way == BKT_PLAIN_VIRTUAL)
        return read_virtual(s, io, i, err);
    const struct bkt_io one = bkt_io_one(io, i);
    return s->way == BKT_PLAIN_EXTERNAL ? bkt_external_read_plain(&s->v, s->dset, &one, err)
                                        : reason(s, bkt_heaps_read(s, io, i, err), err);
}

/* Indexes in several files begin side by side.  In one file the first ones show that the others are wanted. A
 * failure is plan()'s to report. */
static void begin_indexes(const struct bkt_io *io)
{
    const struct bkt_vfd_file *first = NULL;
    struct bkt_plain_dataset *s;
    for (size_t i = 0; i < io->n; i++) {
        int rc = BKT_OK;
        H5E_BEGIN_TRY
        {
            rc = bkt_plain_dataset_of(io->dsets[i], &s, NULL);
        }
        H5E_END_TRY
        if (rc < 0 || !s || s->way != BKT_PLAIN_CHUNKED || s->complete)
            continue;
        if (first && s->file != first)
            bkt_foresight_begin_index(s->fore, s->header);
        first = first ? first : s->file;
    }
}

/* Whether the dataset belongs to the plan of the call, which chunk reads. */
static bool is_by_chunk(const struct bkt_plain_dataset *s)
{
    return s->elements == BKT_PLAIN_FIXED && (s->way == BKT_PLAIN_CHUNKED || s->way == BKT_PLAIN_CONTIGUOUS);
}

static int plan_all(const struct bkt_io *io, struct planned *p, struct bkt_err *err)
{
    struct bkt_plain_dataset *s;
    BKT_PASS(planned_init(p, io, err));
    if (io->n > 1)
        begin_indexes(io);
    for (size_t i = 0; i < io->n; i++) {
        BKT_PASS(plan(io, i, &s, err));
        if (s && is_by_chunk(s))
            planned_add(p, io, i, s);
        else
            p->alone[i] = s;
    }
    return BKT_OK;
}

/* ---- by several processes ---- */

/* The processes of a collective call, which opened the datasets' file together; NULL: none. */
static struct bkt_comm *group_of(const struct bkt_io *io)
{
    struct bkt_vfd_file *f =
        io->n && bkt_xfer_is_collective(io->dxpl) ? bkt_vfd_behind(io->dsets[0]->native_id) : NULL;
    for (size_t i = 1; f && i < io->n; i++)
        if (bkt_vfd_behind(io->dsets[i]->native_id) != f)
            return NULL;
    return f ? bkt_vfd_group(f) : NULL;
}

/* Chunks that several processes need are fetched by one of them, for datasets that all processes read by
 * chunk.  A process whose own plan failed takes part without one. */
static int hand_on(struct bkt_comm *c, size_t n, const struct planned *p, struct bkt_err *err)
{
    uint64_t same[2] = {n, ~(uint64_t)n};
    BKT_CLEANUP(bkt_freep) uint64_t *can = calloc(n, sizeof *can);
    BKT_PASS(bkt_comm_reduce(c, BKT_COMM_MAX, same, 2, err));
    BKT_PASS(bkt_comm_agree(c, can ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory"), err));
    if (same[0] != ~same[1] || !can)
        return BKT_OK;
    for (size_t k = 0; k < p->io.n; k++) /* HDF5 leaves memory as it is where a chunk doesn't exist */
        can[p->whose[k]] = !((const struct bkt_plain_dataset *)(const void *)p->dsets[k])->leaves_missing;
    BKT_PASS(bkt_comm_reduce(c, BKT_COMM_MIN, can, n, err));
    for (size_t k = 0; k < p->io.n; k++)
        if (can[p->whose[k]])
            BKT_PASS(bkt_shared_hand_on(c, &p->io, k, err));
    return BKT_OK;
}

static int read_all(const struct bkt_io *io, struct planned *p, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int rc = plan_all(io, p, &why);
    struct bkt_comm *c = group_of(io);
    if (rc < 0)
        p->io.n = 0;
    if (c)
        BKT_PASS(hand_on(c, io->n, p, err));
    if (rc < 0)
        return bkt_err_copy(err, rc, &why);
    size_t next = 0;
    if (p->io.n)
        BKT_PASS(read_planned(io, p, err));
    bkt_plain_counts.by_chunk += p->io.n;
    for (size_t i = 0; i < io->n; i++)
        if (next < p->io.n && p->whose[next] == i)
            next++;
        else
            BKT_PASS(p->alone[i] ? read_alone(p->alone[i], io, i, err) : native_one(io, i, err));
    return BKT_OK;
}

int bkt_plain_transfer(const struct bkt_io *io, struct bkt_err *err)
{
    struct planned p = {.dsets = NULL};
    int rc = BKT_OK;
    if (!io->write && io->n) {
        rc = read_all(io, &p, err);
        planned_fini(&p);
        return rc;
    }
    for (size_t i = 0; rc == BKT_OK && i < io->n; i++)
        rc = native_one(io, i, err);
    return rc;
}
