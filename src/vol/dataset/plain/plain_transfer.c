/* H5Dread, H5Dread_multi, H5Dwrite and H5Dwrite_multi of plain HDF5 files: the way for each dataset. */
#include <stdlib.h>

#include "base/trace.h"
#include "vol/core/transfer_list.h"
#include "vol/dataset/plain/plain_heaps.h"
#include "vol/dataset/plain/plain_read.h"
#include "vol/dataset/raw_files.h"
#include "vol/dataset/shared_transfer.h"

struct bkt_plain_counts bkt_plain_counts;

/* Adds the remedy to the failure that a replaced file causes. */
static int explain(int rc, struct bkt_err *err)
{
    BKT_FAIL_IF(err, rc == BKT_EPRECOND, rc, "the file " BKT_WHY_REPLACED);
    return rc;
}

/* The code of a failure, or that of the store if it was the reason: HDF5 reports every failure in the same
 * way, and the driver knows the reason. */
static int with_reason(struct bkt_plain_dataset *s, int rc, struct bkt_err *err)
{
    int why = s ? bkt_vfd_failure(s->file) : BKT_OK;
    return explain(rc < 0 && why < 0 && !bkt_plain_is_format(why) ? why : rc, err);
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

static int transfer_native(const struct bkt_io *io, size_t i, struct bkt_err *err)
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
    return with_reason(s, rc, err);
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

/* Find the way for one dataset of the call.
 * @param out  NULL: the native connector reads it
 * @return BKT_OK; failures that end the call */
static int plan_one(const struct bkt_io *io, size_t i, struct bkt_plain_dataset **out, struct bkt_err *err)
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
    rc = with_reason(s, rc, err);
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
        return explain(rc, err);
    bkt_trace(BKT_TRACE_VOL, "HDF5's native connector reads again: %s", bkt_err_text(rc));
    bkt_err_clear(err);
    for (size_t i = 0; i < p->io.n; i++)
        BKT_PASS(transfer_native(io, p->whose[i], err));
    return BKT_OK;
}

static int read_virtual(struct bkt_plain_dataset *s, const struct bkt_io *io, size_t i, struct bkt_err *err)
{
    bool native = false;
    int rc = bkt_plain_virtual_read(s, io, i, &native, err);
    if (rc == BKT_OK && !native)
        bkt_plain_counts.by_sources++;
    if (!native && !bkt_plain_is_format(rc))
        return explain(rc, err);
    bkt_err_clear(err);
    return transfer_native(io, i, err);
}

static int read_alone(struct bkt_plain_dataset *s, const struct bkt_io *io, size_t i, struct bkt_err *err)
{
    if (s->way == BKT_PLAIN_VIRTUAL)
        return read_virtual(s, io, i, err);
    const struct bkt_io one = bkt_io_one(io, i);
    return s->way == BKT_PLAIN_EXTERNAL ? bkt_external_read_plain(&s->v, s->dset, &one, err)
                                        : with_reason(s, bkt_heaps_read(s, io, i, err), err);
}

/* Indexes in several files begin side by side.  In one file the first ones show that the others are wanted. A
 * failure is reported by plan_one(). */
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
        BKT_PASS(plan_one(io, i, &s, err));
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

static const struct bkt_plain_dataset *plain_dataset(const struct planned *p, size_t k)
{
    return (const void *)p->dsets[k];
}

/* The datasets that are read by chunk, and their places among the @p n of the call. */
static uint64_t digest_datasets(size_t n, const struct planned *p)
{
    uint64_t digest = n;
    for (size_t k = 0; k < p->io.n; k++) {
        uint64_t v[] = {p->whose[k], plain_dataset(p, k)->header};
        digest = bkt_digest(v, sizeof v, digest);
    }
    return digest;
}

/* Chunks that several processes need are fetched by one of them, for datasets that all processes read by
 * chunk.  If the processes name different datasets, or one's plan failed, each reads for itself. */
static int hand_on(struct bkt_comm *c, size_t n, const struct planned *p, struct bkt_err *err)
{
    uint64_t digest = digest_datasets(n, p), same[] = {digest, ~digest};
    BKT_CLEANUP(bkt_freep) uint64_t *can = calloc(n, sizeof *can);
    BKT_PASS(bkt_comm_reduce(c, BKT_COMM_MAX, same, 2, err));
    BKT_PASS(bkt_comm_agree(c, can ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory"), err));
    if (same[0] != ~same[1] || !can)
        return BKT_OK;
    for (size_t k = 0; k < p->io.n; k++) /* HDF5 leaves memory as it is where a chunk doesn't exist */
        can[p->whose[k]] = !plain_dataset(p, k)->leaves_missing;
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
            BKT_PASS(p->alone[i] ? read_alone(p->alone[i], io, i, err) : transfer_native(io, i, err));
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
        rc = transfer_native(io, i, err);
    return rc;
}
