/* The connector itself: its description for HDF5, its start and its end. */
#include <H5PLextern.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "base/os/pool.h"
#include "base/trace.h"
#include "bkt_config.h"
#include "storage/stats.h"
#include "vol/callbacks.h"
#include "vol/calls/outage.h"
#include "vol/connector_info.h"
#include "vol/convert/region_shadow.h"
#include "vol/core/filters.h"
#include "vol/core/token.h"
#include "vol/core/vol.h"
#include "vol/open/file_calls.h"
#include "vol/open/permission_and_flush.h"
#include "vol/vfd/store_driver.h"

/* The operations of objects in domains: the tables of the classes are in the files of their code. */
const struct bkt_ops bkt_domain_ops = {.open = &bkt_domain_open_ops,
                                       .attr = &bkt_domain_attr_ops,
                                       .dataset = &bkt_domain_dataset_ops,
                                       .datatype = &bkt_domain_datatype_ops,
                                       .file = &bkt_domain_file_ops,
                                       .group = &bkt_domain_group_ops,
                                       .link = &bkt_domain_link_ops,
                                       .object = &bkt_domain_object_ops,
                                       .token = &bkt_domain_token_ops,
                                       .is_same_file = bkt_file_is_same,
                                       .may_create = bkt_vobj_may_create,
                                       .flush = bkt_vobj_flush,
                                       .refresh = bkt_vobj_refresh};

/* ---- introspection ---- */

static herr_t get_conn_cls(void *obj, H5VL_get_conn_lvl_t lvl, const H5VL_class_t **out)
{
    const struct bkt_vobj *o     = obj;
    const H5VL_class_t *shown =
        lvl == H5VL_GET_CONN_LVL_TERM && o && o->has_native_header ? bkt_native_header_class() : NULL;
    bkt_region_shadow_was_asked_for_class();
    *out = shown ? shown : bkt_vol_class();
    return 0;
}

static herr_t get_cap_flags(const void *info, uint64_t *flags)
{
    (void)info;
    *flags = bkt_vol_class()->cap_flags;
    return 0;
}

/* HDF5's own optional operations that have a meaning here; the tools ask before they call. */
static const struct {
    H5VL_subclass_t cls;
    int             op;
    uint64_t        does; /* besides asking for metadata, which all others do */
} optional_ops[] = {
    {H5VL_SUBCLS_DATASET, H5VL_NATIVE_DATASET_GET_CHUNK_STORAGE_SIZE, 0},
    {H5VL_SUBCLS_DATASET, H5VL_NATIVE_DATASET_GET_NUM_CHUNKS, 0},
    {H5VL_SUBCLS_DATASET, H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_IDX, 0},
    {H5VL_SUBCLS_DATASET, H5VL_NATIVE_DATASET_GET_CHUNK_INFO_BY_COORD, 0},
    {H5VL_SUBCLS_DATASET, H5VL_NATIVE_DATASET_CHUNK_READ, H5VL_OPT_QUERY_READ_DATA},
    {H5VL_SUBCLS_DATASET, H5VL_NATIVE_DATASET_CHUNK_WRITE, H5VL_OPT_QUERY_WRITE_DATA},
    {H5VL_SUBCLS_DATASET, H5VL_NATIVE_DATASET_CHUNK_ITER, 0},
    {H5VL_SUBCLS_DATASET, H5VL_NATIVE_DATASET_GET_VLEN_BUF_SIZE, 0},
    {H5VL_SUBCLS_DATASET, H5VL_NATIVE_DATASET_GET_OFFSET, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_GET_SIZE, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_GET_INFO, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_GET_FREE_SECTIONS, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_GET_FREE_SPACE, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_CLEAR_ELINK_CACHE, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_START_SWMR_WRITE, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_GET_MDC_CONF, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_SET_MDC_CONFIG, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_GET_MDC_HR, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_RESET_MDC_HIT_RATE, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_GET_MDC_SIZE, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_GET_METADATA_READ_RETRY_INFO, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_GET_MDC_LOGGING_STATUS, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_GET_MDC_IMAGE_INFO, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_SET_LIBVER_BOUNDS, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_FORMAT_CONVERT, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_GET_MIN_DSET_OHDR_FLAG, 0},
    {H5VL_SUBCLS_FILE, H5VL_NATIVE_FILE_SET_MIN_DSET_OHDR_FLAG, H5VL_OPT_QUERY_MODIFY_METADATA},
    {H5VL_SUBCLS_GROUP, H5VL_NATIVE_GROUP_ITERATE_OLD, 0},
    {H5VL_SUBCLS_GROUP, H5VL_NATIVE_GROUP_GET_OBJINFO, 0},
    {H5VL_SUBCLS_ATTR, H5VL_NATIVE_ATTR_ITERATE_OLD, 0},
    {H5VL_SUBCLS_OBJECT, H5VL_NATIVE_OBJECT_GET_COMMENT, 0},
    {H5VL_SUBCLS_OBJECT, H5VL_NATIVE_OBJECT_SET_COMMENT, H5VL_OPT_QUERY_MODIFY_METADATA},
    {H5VL_SUBCLS_OBJECT, H5VL_NATIVE_OBJECT_DISABLE_MDC_FLUSHES, 0},
    {H5VL_SUBCLS_OBJECT, H5VL_NATIVE_OBJECT_ENABLE_MDC_FLUSHES, 0},
    {H5VL_SUBCLS_OBJECT, H5VL_NATIVE_OBJECT_ARE_MDC_FLUSHES_DISABLED, 0},
    {H5VL_SUBCLS_OBJECT, H5VL_NATIVE_OBJECT_GET_NATIVE_INFO, 0},
};

static herr_t opt_query(void *obj, H5VL_subclass_t cls, int op, uint64_t *flags)
{
    (void)obj;
    *flags = 0;
    for (size_t i = 0; i < BKT_COUNT(optional_ops); i++)
        if (optional_ops[i].cls == cls && optional_ops[i].op == op)
            *flags = H5VL_OPT_QUERY_SUPPORTED | H5VL_OPT_QUERY_NO_ASYNC |
                     (optional_ops[i].does ? optional_ops[i].does : H5VL_OPT_QUERY_QUERY_METADATA);
    return 0;
}

static herr_t optional(void *obj, H5VL_optional_args_t *args, hid_t dxpl, void **req)
{
    struct bkt_err err = {.n = 0};
    (void)obj, (void)dxpl, (void)req;
    return bkt_h5err_publish(
        &err, BKT_ERR(&err, BKT_EUNSUP, "optional operation %d: not supported", args->op_type));
}

/* ---- life ---- */

/* The number of registrations in HDF5.  H5VLregister_connector_by_name() finds an earlier registration
 * only while the program itself holds its id, not while only lists and files do.  The connector ends with
 * the last registration. */
static unsigned registrations;

static int start(struct bkt_err *err)
{
    struct bkt_settings set;
    BKT_FAIL_IF(err, bkt_h5err_init() < 0, BKT_EHDF5, "HDF5 can't register an error class");
    BKT_FAIL_IF(err, bkt_outage_register() < 0, BKT_EHDF5, "HDF5 can't register an operation");
    /* A bad value in the environment is reported when a file is opened, where the user sees it. */
    if (bkt_settings_init(&set, NULL, NULL) < 0)
        return 0;
    if (set.stats)
        bkt_stats_at_exit();
    bkt_pool_size((size_t)set.workers);
    int rc = bkt_trace_set(set.trace, err);
    bkt_settings_fini(&set);
    return rc;
}

static herr_t initialize(hid_t vipl)
{
    struct bkt_err err = {.n = 0};
    (void)vipl;
    if (registrations == 0) {
        hid_t reported = bkt_h5err_hold(); /* the reason why HDF5 itself could not open the file */
        int   rc   = start(&err);
        bkt_h5err_restore(reported);
        if (rc < 0)
            return bkt_h5err_publish(&err, rc);
    }
    registrations++;
    return 0;
}

static herr_t terminate(void)
{
    if (registrations == 0 || --registrations > 0)
        return 0;
    hid_t reported = bkt_h5err_hold(); /* an error about HDF5_VOL_CONNECTOR's settings, or about a file that
                                      we can't open */
    bkt_ahead_shutdown();
    bkt_domain_forget_probe();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    bkt_plugin_close_all();
    bkt_token_forget_all();
    bkt_vfd_term();
    bkt_h5err_term();
    bkt_h5err_restore(reported);
    return 0;
}

/* User-defined links are kept and shown.  Only HDF5's own connector can follow one, as it alone can call
 * its class. */
#define CAPABILITIES                                                                                         \
    (H5VL_CAP_FLAG_ATTR_BASIC | H5VL_CAP_FLAG_ATTR_MORE | H5VL_CAP_FLAG_DATASET_BASIC |                      \
     H5VL_CAP_FLAG_DATASET_MORE | H5VL_CAP_FLAG_FILE_BASIC | H5VL_CAP_FLAG_FILE_MORE |                       \
     H5VL_CAP_FLAG_GROUP_BASIC | H5VL_CAP_FLAG_GROUP_MORE | H5VL_CAP_FLAG_LINK_BASIC |                       \
     H5VL_CAP_FLAG_LINK_MORE | H5VL_CAP_FLAG_OBJECT_BASIC | H5VL_CAP_FLAG_OBJECT_MORE |                      \
     H5VL_CAP_FLAG_REF_BASIC | H5VL_CAP_FLAG_REF_MORE | H5VL_CAP_FLAG_OBJ_REF | H5VL_CAP_FLAG_REG_REF |      \
     H5VL_CAP_FLAG_ATTR_REF | H5VL_CAP_FLAG_STORED_DATATYPES | H5VL_CAP_FLAG_CREATION_ORDER |                \
     H5VL_CAP_FLAG_ITERATE | H5VL_CAP_FLAG_STORAGE_SIZE | H5VL_CAP_FLAG_BY_IDX | H5VL_CAP_FLAG_GET_PLIST |   \
     H5VL_CAP_FLAG_FLUSH_REFRESH | H5VL_CAP_FLAG_EXTERNAL_LINKS | H5VL_CAP_FLAG_HARD_LINKS |                 \
     H5VL_CAP_FLAG_SOFT_LINKS | H5VL_CAP_FLAG_UD_LINKS | H5VL_CAP_FLAG_TRACK_TIMES | H5VL_CAP_FLAG_MOUNT |   \
     H5VL_CAP_FLAG_FILTERS | H5VL_CAP_FLAG_FILL_VALUES)

static H5VL_class_t class = {
    .version      = H5VL_VERSION,
    .value        = (H5VL_class_value_t)BKT_CONNECTOR_VALUE,
    .name         = BKT_CONNECTOR_NAME,
    .conn_version = BKT_VERSION_MAJOR << 16 | BKT_VERSION_MINOR << 8 | BKT_VERSION_PATCH,
    .cap_flags    = CAPABILITIES,
    .initialize   = initialize,
    .terminate    = terminate,
    .info_cls =
        {
            .size     = sizeof(char),
            .copy     = bkt_info_copy,
            .cmp      = bkt_info_cmp,
            .free     = bkt_info_free,
            .to_str   = bkt_info_to_str,
            .from_str = bkt_info_from_str,
        },
    .introspect_cls =
        {
            .get_conn_cls  = get_conn_cls,
            .get_cap_flags = get_cap_flags,
            .opt_query     = opt_query,
        },
    .optional = optional,
};

const H5VL_class_t *bkt_vol_class(void)
{
    class.attr_cls     = bkt_attr_class;
    class.dataset_cls  = bkt_dataset_class;
    class.datatype_cls = bkt_datatype_class;
    class.file_cls     = bkt_file_class;
    class.group_cls    = bkt_group_class;
    class.link_cls     = bkt_link_class;
    class.object_cls   = bkt_object_class;
    class.token_cls    = bkt_token_class;
    return &class;
}

H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_VOL; }

/* The caller is a running HDF5.  If the HDF5 that the connector is linked with isn't running, the caller is
 * another build.  Ids of one mean nothing to the other, and HDF5's own errors would fill pages.  The message
 * goes to stderr, since the caller's error stack can't be reached. */
const void *H5PLget_plugin_info(void)
{
    Dl_info asks, linked;
    void   *caller = __builtin_return_address(0);
    if (H5E_ERR_CLS_g != H5I_INVALID_HID)
        return bkt_vol_class();
    if (!dladdr(caller, &asks) || !dladdr(&H5E_ERR_CLS_g, &linked))
        return NULL;
    (void)fprintf(
        stderr,
        "h5bucket: the connector was built for another HDF5: the program uses %s, the plugin uses %s; "
        "build it with the program's (-DHDF5_ROOT=...)\n",
        asks.dli_fname, linked.dli_fname);
    return NULL;
}
