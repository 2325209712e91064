/* H5F: HDF5's operations beyond those of every connector (H5VL_NATIVE_FILE_*), as far as they have a
 * meaning for a domain. */
#include <string.h>

#include "vol/open/file_calls.h"
#include "vol/open/permission_and_flush.h"
#include "vol/parallel/group.h"

/* The hint is shared by all handles of the domain. */
static void set_no_attrs_hint(const struct bkt_file *f, bool on)
{
    for (struct bkt_file *other = bkt_file_next(NULL); other; other = bkt_file_next(other))
        if (other->dom == f->dom)
            other->no_attrs_hint = on;
}

/* Versions of a file format: kept in the access lists of all handles of the domain, which report them
 * again.  HDF5 also accepts senseless values, which a list refuses. */
static int set_libver_bounds(const struct bkt_file *f, const H5VL_native_file_set_libver_bounds_t *a,
                             struct bkt_err *err)
{
    if (a->low > a->high || a->high == H5F_LIBVER_EARLIEST)
        return BKT_OK;
    for (struct bkt_file *other = bkt_file_next(NULL); other; other = bkt_file_next(other))
        if (other->dom == f->dom)
            BKT_PASS(
                BKT_PASS_H5(err, H5Pset_libver_bounds(other->fapl, a->low, a->high), "H5Fset_libver_bounds"));
    return BKT_OK;
}

/* SWMR's promise holds for every domain: a reader finds what the writer's H5Dflush() stored, after its own
 * H5Drefresh().  As in HDF5, the call itself flushes, so that readers which open the file later find all
 * earlier data. */
static int start_swmr(struct bkt_file *f, struct bkt_err *err)
{
    BKT_FAIL_IF(err, !(f->flags & H5F_ACC_RDWR) || f->flags & H5F_ACC_SWMR_WRITE, BKT_EINVAL,
                "%s: opened read-only, or SWMR writing has begun already", f->name);
    BKT_TRY(err, bkt_file_flush(f, err), "%s: SWMR writing has not begun", f->name);
    f->flags |= H5F_ACC_SWMR_WRITE;
    return BKT_OK;
}

static void fill_mdc_size(const H5VL_native_file_get_mdc_size_t *a)
{
    if (a->max_size)
        *a->max_size = 0;
    if (a->min_clean_size)
        *a->min_clean_size = 0;
    if (a->cur_size)
        *a->cur_size = 0;
    if (a->cur_num_entries)
        *a->cur_num_entries = 0;
}

static void fill_mdc_image(const H5VL_native_file_get_mdc_image_info_t *a)
{
    if (a->addr)
        *a->addr = HADDR_UNDEF;
    if (a->len)
        *a->len = 0;
}

/* H5Fget_mpi_atomicity(), H5Fset_mpi_atomicity(): an HDF5 without MPI has no
 * names for them (H5VLnative.h). */
#define GET_MPI_ATOMICITY 26
#define SET_MPI_ATOMICITY 27
union atomicity {
    struct {
        hbool_t *flag;
    } get;
    struct {
        hbool_t flag;
    } set;
};

/* 1: another operation */
static int mpi_optional(struct bkt_file *f, int op, void *args, struct bkt_err *err)
{
    union atomicity *a = args;
    if (op != GET_MPI_ATOMICITY && op != SET_MPI_ATOMICITY)
        return 1;
    BKT_FAIL_IF(err, !f->comm && !bkt_group_is_wanted(f->fapl), BKT_EINVAL,
                "%s: it was opened without the mpio driver; call H5Pset_fapl_mpio for its access list",
                f->name);
    if (op == GET_MPI_ATOMICITY)
        *a->get.flag = f->atomic;
    else
        f->atomic = a->set.flag;
    return BKT_OK;
}

/* Programs tune the cache in which HDF5 keeps metadata of its own files.  A domain has no such cache:
 * settings are checked and reported again, and the cache is always empty.  1: the operation is none of
 * these. */
static int tuning_optional(const struct bkt_vobj *o, int op, H5VL_native_file_optional_args_t *a,
                           struct bkt_err *err)
{
    hid_t fapl = o->file->fapl;
    switch (op) {
        case H5VL_NATIVE_FILE_GET_MDC_CONF:
            return BKT_PASS_H5(err, H5Pget_mdc_config(fapl, a->get_mdc_config.config), "H5Fget_mdc_config");
        case H5VL_NATIVE_FILE_SET_MDC_CONFIG:
            return BKT_PASS_H5(err, H5Pset_mdc_config(fapl, (void *)(uintptr_t)a->set_mdc_config.config),
                               "H5Fset_mdc_config");
        case H5VL_NATIVE_FILE_GET_MDC_HR:
            *a->get_mdc_hit_rate.hit_rate = 0;
            return BKT_OK;
        case H5VL_NATIVE_FILE_GET_MDC_SIZE:
            fill_mdc_size(&a->get_mdc_size);
            return BKT_OK;
        case H5VL_NATIVE_FILE_GET_METADATA_READ_RETRY_INFO:
            memset(a->get_metadata_read_retry_info.info, 0, sizeof *a->get_metadata_read_retry_info.info);
            return BKT_OK;
        case H5VL_NATIVE_FILE_GET_MDC_LOGGING_STATUS:
            *a->get_mdc_logging_status.is_enabled           = false;
            *a->get_mdc_logging_status.is_currently_logging = false;
            return BKT_OK;
        case H5VL_NATIVE_FILE_GET_MDC_IMAGE_INFO:
            fill_mdc_image(&a->get_mdc_image_info);
            return BKT_OK;
        case H5VL_NATIVE_FILE_SET_LIBVER_BOUNDS:
            return set_libver_bounds(o->file, &a->set_libver_bounds, err);
        case H5VL_NATIVE_FILE_START_SWMR_WRITE:
            return start_swmr(o->file, err);
        case H5VL_NATIVE_FILE_POST_OPEN:         /* a connector above asks for it, such as vol-async */
        case H5VL_NATIVE_FILE_CLEAR_ELINK_CACHE: /* files behind external links stay open for as long as this
                                                    one */
        case H5VL_NATIVE_FILE_RESET_MDC_HIT_RATE:
        case H5VL_NATIVE_FILE_FORMAT_CONVERT:
            return BKT_OK;
        default:
            return 1;
    }
}

/* h5stat and H5Fget_info ask for properties that only a file has, such as the size of its superblock and
 * its free space.  A bucket has none of them. */
int bkt_file_optional(struct bkt_vobj *o, H5VL_optional_args_t *args, hid_t dxpl, struct bkt_err *err)
{
    H5VL_native_file_optional_args_t *a  = args->args;
    int                               op = args->op_type, rc;
    (void)dxpl;
    switch (op) {
        case H5VL_NATIVE_FILE_GET_SIZE:
            *a->get_size.size = 1; /* the real size would take a list of all keys; h5stat of HDF5 2.x needs
                                      a size > 0 */
            return BKT_OK;
        case H5VL_NATIVE_FILE_GET_INFO:
            memset(a->get_info.finfo, 0, sizeof *a->get_info.finfo);
            return BKT_OK;
        case H5VL_NATIVE_FILE_GET_FREE_SECTIONS:
            *a->get_free_sections.sect_count = 0;
            return BKT_OK;
        case H5VL_NATIVE_FILE_GET_FREE_SPACE:
            *a->get_freespace.size = 0;
            return BKT_OK;
        case H5VL_NATIVE_FILE_GET_MIN_DSET_OHDR_FLAG:
            *a->get_min_dset_ohdr_flag.minimize = o->file->no_attrs_hint;
            return BKT_OK;
        case H5VL_NATIVE_FILE_SET_MIN_DSET_OHDR_FLAG:
            set_no_attrs_hint(o->file, a->set_min_dset_ohdr_flag.minimize);
            return BKT_OK;
        default:
            if ((rc = tuning_optional(o, op, a, err)) <= 0 || (rc = mpi_optional(o->file, op, a, err)) <= 0)
                return rc;
            BKT_FAIL(err, BKT_EUNSUP, "native file operation %d: not supported for domains", op);
    }
}
