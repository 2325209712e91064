/* Reads and writes by several processes together: who takes part, what is shared, and the answers of
 * H5Pget_mpio_actual_io_mode() and the calls like it. */
#include "vol/dataset/shared_transfer.h"

#include "base/bytes.h"
#include "base/os/comm.h"
#include "chunk/write/write.h"
#include "vol/convert/convert.h"
#include "vol/core/transfer_list.h"
#include "vol/dataset/raw_files.h"
#include "vol/dataset/virtual.h"
#include "vol/parallel/group.h"

bool bkt_shared_is(const struct bkt_vobj *o)
{
    return o->file && o->file->comm && o->file->flags & H5F_ACC_RDWR;
}

/* The processes that make a call together, by a collective transfer list. */
static struct bkt_comm *group_of(const struct bkt_io *io)
{
    struct bkt_comm *c = io->n && io->dsets[0]->file ? io->dsets[0]->file->comm : NULL;
    if (!c || !bkt_xfer_is_collective(io->dxpl) || (io->write && !bkt_shared_is(io->dsets[0])))
        return NULL;
    for (size_t i = 1; i < io->n; i++)
        if (!io->dsets[i]->file || io->dsets[i]->file->comm != c)
            return NULL;
    return c;
}

/* Other processes may have replaced elements. */
static void forget(const struct bkt_io *io)
{
    for (size_t i = 0; i < io->n; i++)
        if (bkt_shared_is(io->dsets[i]) && (i == 0 || io->dsets[i]->file->dom != io->dsets[i - 1]->file->dom))
            bkt_chunk_cache_drop(io->dsets[i]->file->dom);
}

int bkt_shared_store(struct bkt_vobj *o, struct bkt_err *err)
{
    int rc = bkt_chunks_flush_dataset(o->file->dom, &o->obj->id, err);
    bkt_chunk_cache_drop(o->file->dom);
    return rc;
}

/* The selections were checked; a process whose selection can't be used takes part without one. */
int bkt_shared_hand_on(struct bkt_comm *c, const struct bkt_io *io, size_t i, struct bkt_err *err)
{
    struct bkt_dsel sel = {.flat = false};
    struct bkt_dsetio *d = NULL;
    int rc = bkt_comm_agree(c, bkt_dataset_io(io->dsets[i], &d, err), err);
    if (rc == BKT_OK) {
        bool good =
            bkt_dsel_init(&sel, io->dsets[i], io->mem_spaces[i], io->file_spaces[i], NULL) == BKT_OK;
        rc = bkt_collective_read(c, d, good ? &sel.file : NULL, err);
    }
    bkt_dsel_fini(&sel);
    return rc;
}

/* After a write with result @p rc: store its elements. */
static int store_all(const struct bkt_io *io, int rc, struct bkt_err *err)
{
    for (size_t i = 0; i < io->n; i++) {
        struct bkt_vobj *o = io->dsets[i];
        struct bkt_err why = {.n = 0};
        if (bkt_shared_is(o) && o->obj)
            bkt_err_keep_first(&rc, err, bkt_chunks_flush_dataset(o->file->dom, &o->obj->id, &why), &why);
    }
    forget(io);
    return bkt_comm_agree(io->group, rc, err);
}

/* ---- the answers of H5Pget_mpio_actual_io_mode() and the calls like it ---- */

/* HDF5 keeps them as properties of the transfer list.
 *
 * Type conversion, transforms and filters don't prevent collective access.  But a program that turns
 * selection I/O off (H5Pset_selection_io) asks for HDF5's older way, in which they do: then each process
 * moves its elements for itself.  Reports of selection I/O use HDF5's words: "selection" for elements moved
 * as one selection, "vector" for a list of encoded chunks, "scalar" for the older way. */

/* Numbers of HDF5's public headers, some of which came with 1.14.3. */
enum {
    SELECTION_IO_OFF = 1,    /* H5D_SELECTION_IO_MODE_OFF */
    NO_SELECTION_IO = 0x100, /* H5D_MPIO_NO_SELECTION_IO */
    OFF_BY_PROGRAM = 0x1,    /* H5D_SEL_IO_DISABLE_BY_API */
    OFF_BY_LAYOUT = 0x2,     /* H5D_SEL_IO_NOT_CONTIGUOUS_OR_CHUNKED_DATASET */
    OFF_BY_FILTER = 0x20,    /* H5D_SEL_IO_DATASET_FILTER */
    SCALAR_IO = 1,
    VECTOR_IO = 2,
    SELECTION_IO = 4,
    CAUSES = 9, /* bits of H5D_mpio_no_collective_cause_t */
};

/* Why a call with a collective list is not collective: bits of H5D_mpio_no_collective_cause_t. */
struct causes {
    uint32_t here, anywhere; /* in this process, in any */
    bool datasets_differ;    /* between processes; each of them moves its elements for itself */
};

/* HDF5's default list must stay as it is.  Programs without MPI end before the question to their list. */
static bool is_reported(const struct bkt_io *io)
{
    /* Whether the file was opened with the mpio driver, also if by one process. */
    return io->n && io->dxpl != H5P_DEFAULT && io->dxpl != H5P_DATASET_XFER_DEFAULT &&
           (io->dsets[0]->file &&
            (io->dsets[0]->file->comm || bkt_group_is_wanted(io->dsets[0]->file->fapl))) &&
           H5Pexist(io->dxpl, "actual_io_mode") > 0;
}

static bool is_turned_off(hid_t dxpl)
{
    int mode = 0; /* of an enumeration of HDF5's */
    herr_t rc = -1;
    if (H5Pexist(dxpl, "selection_io_mode") > 0)
        rc = H5Pget(dxpl, "selection_io_mode", &mode);
    return rc >= 0 && mode == SELECTION_IO_OFF;
}

/* A compact dataset's elements belong to its structure. */
static bool has_place(const struct bkt_vobj *o)
{
    return o->obj && o->obj->dset.layout.user_cls != BKT_D_COMPACT && !bkt_is_virtual(o) &&
           !bkt_is_external(o);
}

static bool is_converted(struct bkt_vobj *o, hid_t mem_type)
{
    struct bkt_err ignored = {.n = 0};
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    return o->obj && bkt_convert_shown_type(o, o->obj->dset.type, &type, &ignored) == BKT_OK &&
           H5Tequal(type, mem_type) == 0;
}

static uint32_t causes_here(const struct bkt_io *io)
{
    bool off = is_turned_off(io->dxpl);
    uint32_t v = off && bkt_dsel_has_transform(io->dxpl) ? H5D_MPIO_DATA_TRANSFORMS | NO_SELECTION_IO : 0;
    for (size_t i = 0; i < io->n; i++) {
        struct bkt_vobj *o = io->dsets[i];
        if (off && is_converted(o, io->mem_types[i]))
            v |= H5D_MPIO_DATATYPE_CONVERSION | NO_SELECTION_IO;
        if (o->obj && o->obj->dset.space.cls == BKT_S_NULL)
            v |= H5D_MPIO_NOT_SIMPLE_OR_SCALAR_DATASPACES;
        if (!has_place(o))
            v |= H5D_MPIO_NOT_CONTIGUOUS_OR_CHUNKED_DATASET;
    }
    if (v & (H5D_MPIO_NOT_SIMPLE_OR_SCALAR_DATASPACES | H5D_MPIO_NOT_CONTIGUOUS_OR_CHUNKED_DATASET))
        v &= ~(uint32_t)NO_SELECTION_IO;
    return v;
}

static uint64_t digest_datasets(const struct bkt_io *io)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < io->n; i++)
        digest = io->dsets[i]->obj ? bkt_digest(io->dsets[i]->obj->id.text, BKT_ID_LEN, digest) : digest;
    return digest;
}

/* Collective if io->group is set. */
static int find_causes(const struct bkt_io *io, struct causes *out, struct bkt_err *err)
{
    uint64_t bits[CAUSES + 2] = {0};
    *out = (struct causes){0};
    if (!is_reported(io))
        return BKT_OK;
    out->here = out->anywhere = bkt_xfer_is_collective(io->dxpl) ? causes_here(io) : H5D_MPIO_SET_INDEPENDENT;
    for (unsigned i = 0; i < CAUSES; i++)
        bits[i] = out->here >> i & 1;
    bits[CAUSES] = digest_datasets(io);
    bits[CAUSES + 1] = ~bits[CAUSES]; /* becomes the complement of the smallest digest */
    BKT_PASS(bkt_comm_reduce(io->group, BKT_COMM_MAX, bits, BKT_COUNT(bits), err));
    out->datasets_differ = bits[CAUSES] != ~bits[CAUSES + 1];
    for (unsigned i = 0; i < CAUSES; i++)
        out->anywhere |= (uint32_t)(bits[i] << i);
    return BKT_OK;
}

/* How the call moved elements, of H5Pget_actual_selection_io_mode(). */
static uint32_t selection_mode(const struct bkt_io *io, bool all, bool filtered, bool unfiltered)
{
    uint32_t mode = 0;
    bool mixed = filtered && unfiltered, older = mixed || is_turned_off(io->dxpl);
    for (size_t i = 0; i < io->n; i++) {
        const struct bkt_vobj *o = io->dsets[i];
        bool any = io->file_spaces[i] == H5S_ALL || H5Sget_select_npoints(io->file_spaces[i]) > 0;
        if (!has_place(o) || (!any && !(unfiltered && all && (mixed || !older))))
            continue;
        if (!o->obj->dset.n_filters)
            mode |= older ? SCALAR_IO : SELECTION_IO;
        else if (any)
            mode |= all ? VECTOR_IO : SCALAR_IO;
    }
    return mode;
}

static void report_selection(const struct bkt_io *io, bool all)
{
    bool filtered = false, unfiltered = false;
    uint32_t mode, cause = is_turned_off(io->dxpl) ? OFF_BY_PROGRAM : 0;
    if (H5Pexist(io->dxpl, "actual_selection_io_mode") <= 0 ||
        H5Pexist(io->dxpl, "no_selection_io_cause") <= 0)
        return;
    for (size_t i = 0; i < io->n; i++) {
        bool has = has_place(io->dsets[i]);
        cause |= has ? 0 : OFF_BY_LAYOUT;
        filtered |= has && io->dsets[i]->obj->dset.n_filters;
        unfiltered |= has && !io->dsets[i]->obj->dset.n_filters;
    }
    cause |= filtered && !cause ? OFF_BY_FILTER : 0;
    mode = selection_mode(io, all, filtered, unfiltered);
    (void)H5Pset(io->dxpl, "actual_selection_io_mode", &mode);
    (void)H5Pset(io->dxpl, "no_selection_io_cause", &cause);
}

static void report(const struct bkt_io *io, const struct causes *causes)
{
    if (!is_reported(io))
        return;
    bool all = causes->anywhere == H5D_MPIO_COLLECTIVE && !causes->datasets_differ;
    /* Elements elsewhere (virtual, external) are moved by each process for itself. */
    bool chunks = io->dsets[0]->obj && io->dsets[0]->obj->dset.layout.user_cls == BKT_D_CHUNKED;
    H5D_mpio_actual_io_mode_t mode = H5D_MPIO_NO_COLLECTIVE;
    H5D_mpio_actual_chunk_opt_mode_t opt = H5D_MPIO_NO_CHUNK_OPTIMIZATION;
    uint32_t here = causes->here, anywhere = causes->anywhere;
    if (all)
        mode = chunks ? H5D_MPIO_CHUNK_COLLECTIVE : H5D_MPIO_CONTIGUOUS_COLLECTIVE;
    if (all && chunks)
        opt = H5D_MPIO_LINK_CHUNK;
    H5E_BEGIN_TRY
    {
        (void)H5Pset(io->dxpl, "actual_io_mode", &mode);
        (void)H5Pset(io->dxpl, "actual_chunk_opt_mode", &opt);
        (void)H5Pset(io->dxpl, "local_no_collective_cause", &here);
        (void)H5Pset(io->dxpl, "global_no_collective_cause", &anywhere);
        report_selection(io, all);
    }
    H5E_END_TRY
}

int bkt_shared_transfer(const struct bkt_io *io,
                        int (*transfer)(const struct bkt_io *io, struct bkt_err *err), struct bkt_err *err)
{
    struct bkt_io own = *io;
    struct causes causes;
    bool shared = false;
    own.group = group_of(io);
    for (size_t i = 0; i < io->n; i++)
        shared = shared || bkt_shared_is(io->dsets[i]);
    BKT_PASS(find_causes(&own, &causes, err));
    if (causes.datasets_differ || causes.anywhere & (H5D_MPIO_DATATYPE_CONVERSION | H5D_MPIO_DATA_TRANSFORMS))
        own.group = NULL;
    if (shared)
        forget(&own);
    int rc = transfer(&own, err);
    if (shared && io->write)
        rc = store_all(&own, rc, err);
    if (rc == BKT_OK)
        report(&own, &causes);
    return rc;
}
