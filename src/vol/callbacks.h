/* HDF5's callbacks: the one place where a call finds its object's table of operations (ops.h).
 *
 * Each callback finds the object of the call, which an external link may have put into another kind of file
 * than the location.  It calls that object's table once.  On failure the reason is on HDF5's error stack,
 * published after every cleanup.  A callback that makes or opens an object returns a struct bkt_vobj that
 * HDF5 closes, or NULL.  Nothing is asynchronous: the last argument stays as it was.
 *
 * Attributes, datasets and types are in callbacks_data.c, all others in callbacks.c. */
#pragma once

#include "vol/core/vol.h"

/* ---- ends of a callback ---- */

static inline herr_t bkt_call_done(int rc, const struct bkt_err *err)
{
    return rc < 0 ? bkt_h5err_publish(err, rc) : 0;
}

/** > 0: the return value of the program's callback; -1 without a message in @p err: that has failed, and left
 * its own message. */
static inline herr_t bkt_call_answer(herr_t rc, const struct bkt_err *err)
{
    return rc >= 0 || (rc == -1 && !err->n) ? rc : bkt_h5err_publish(err, rc);
}

/** The end of a callback that makes or opens an object.  @p o: by address, since another argument may be the
 *  call that sets it. */
static inline void *bkt_call_made(int rc, struct bkt_vobj *const *o, const struct bkt_err *err)
{
    if (rc >= 0)
        return *o;
    (void)bkt_h5err_publish(err, rc);
    return NULL;
}

/** The operations of an object that HDF5 names. */
static inline const struct bkt_ops *bkt_ops_of(void *obj)
{
    return ((struct bkt_vobj *)obj)->ops;
}

/** Define a callback that is one call, and returns its result.  Behind the parameters come HDF5's last two,
 *  which hardly any call needs.  @p end: done or answer; @p call: with the parameters, `dxpl` and `&err` */
#define BKT_CALLBACK(name, end, call, ...)                                                                   \
    static herr_t name(__VA_ARGS__, hid_t dxpl, void **req)                                                  \
    {                                                                                                        \
        struct bkt_err err = {.n = 0};                                                                       \
        (void)dxpl, (void)req;                                                                               \
        return bkt_call_##end(call, &err);                                                                   \
    }

/** As BKT_CALLBACK(), for a callback that makes or opens the object `o`. */
#define BKT_CALLBACK_MADE(name, call, ...)                                                                   \
    static void *name(__VA_ARGS__, hid_t dxpl, void **req)                                                   \
    {                                                                                                        \
        struct bkt_err err = {.n = 0};                                                                       \
        struct bkt_vobj *o = NULL;                                                                           \
        (void)dxpl, (void)req;                                                                               \
        return bkt_call_made(call, &o, &err);                                                                \
    }

/* ---- shared ---- */

/** Open a group, dataset or committed datatype by its name from a place.
 *  @param list  its access list
 *  @param type  H5I_GROUP, H5I_DATASET or H5I_DATATYPE
 *  @return BKT_OK; BKT_EINVAL: the object is of another type; as bkt_path_open() */
BKT_NODISCARD int bkt_call_open(struct bkt_vobj *obj, const H5VL_loc_params_t *loc, const char *name,
                                hid_t list, H5I_type_t type, struct bkt_vobj **out, struct bkt_err *err);
/** Give a dataset its access list, copied. */
BKT_NODISCARD int bkt_call_keep_list(struct bkt_vobj *o, hid_t dapl, struct bkt_err *err);

/** Closes an object of any type. */
herr_t bkt_call_close(void *obj, hid_t dxpl, void **req);

/** The parts of bkt_vol_class(). */
extern const H5VL_attr_class_t bkt_attr_class;
extern const H5VL_dataset_class_t bkt_dataset_class;
extern const H5VL_datatype_class_t bkt_datatype_class;
extern const H5VL_file_class_t bkt_file_class;
extern const H5VL_group_class_t bkt_group_class;
extern const H5VL_link_class_t bkt_link_class;
extern const H5VL_object_class_t bkt_object_class;
extern const H5VL_token_class_t bkt_token_class;
