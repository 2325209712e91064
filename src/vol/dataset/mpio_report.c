#include "vol/dataset/mpio_report.h"

#include "base/bytes.h"
#include "base/os/comm.h"
#include "vol/convert/convert.h"
#include "vol/core/transfer_list.h"
#include "vol/dataset/raw_files.h"
#include "vol/dataset/virtual.h"
#include "vol/parallel/group.h"

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

int bkt_mpio_find_causes(const struct bkt_io *io, struct bkt_mpio_causes *out, struct bkt_err *err)
{
    uint64_t bits[CAUSES + 2] = {0};
    *out = (struct bkt_mpio_causes){0};
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

void bkt_mpio_report(const struct bkt_io *io, const struct bkt_mpio_causes *causes)
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
