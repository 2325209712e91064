/* What H5Pget_mpio_actual_io_mode() and the calls like it return: HDF5 keeps it as properties of the transfer list. */
#include "vol/core/transfer_list.h"
#include "vol/dataset/shared_transfer.h"
#include "vol/parallel/group.h"

/* HDF5's default list must stay as it is. */
static bool can_tell(hid_t dxpl)
{
    return dxpl != H5P_DEFAULT && dxpl != H5P_DATASET_XFER_DEFAULT && H5Pexist(dxpl, "actual_io_mode") > 0;
}

static bool is_mpio(const struct bkt_vobj *o)
{
    return o->file && (o->file->comm || bkt_group_is_wanted(o->file->fapl));
}

/* Elements elsewhere (virtual, external) are moved by each process for itself. */
static bool is_chunked(const struct bkt_vobj *o)
{
    return o->obj && o->obj->dset.layout.user_cls == BKT_D_CHUNKED;
}

void bkt_shared_report(const struct bkt_io *io)
{
    if (!io->n || !can_tell(io->dxpl) || !is_mpio(io->dsets[0]))
        return;
    bool                            all   = bkt_xfer_is_collective(io->dxpl);
    H5D_mpio_actual_io_mode_t       mode  = H5D_MPIO_NO_COLLECTIVE;
    H5D_mpio_actual_chunk_opt_mode_t opt  = H5D_MPIO_NO_CHUNK_OPTIMIZATION;
    uint32_t                        cause = all ? H5D_MPIO_COLLECTIVE : H5D_MPIO_SET_INDEPENDENT;
    if (all)
        mode = is_chunked(io->dsets[0]) ? H5D_MPIO_CHUNK_COLLECTIVE : H5D_MPIO_CONTIGUOUS_COLLECTIVE;
    if (all && is_chunked(io->dsets[0]))
        opt = H5D_MPIO_LINK_CHUNK;
    H5E_BEGIN_TRY
    {
        (void)H5Pset(io->dxpl, "actual_io_mode", &mode);
        (void)H5Pset(io->dxpl, "actual_chunk_opt_mode", &opt);
        (void)H5Pset(io->dxpl, "local_no_collective_cause", &cause);
        (void)H5Pset(io->dxpl, "global_no_collective_cause", &cause);
    }
    H5E_END_TRY
}
