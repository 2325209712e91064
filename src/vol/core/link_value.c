#include "vol/core/link_value.h"

#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

/* The form of paths in HDF5's links: single slashes, and no slash at the end. */
static char *tidy_path(const char *path)
{
    char *out = strdup(path);
    size_t n = 0;
    for (const char *p = path; out && *p; p++)
        if (*p != '/' || n == 0 || out[n - 1] != '/')
            out[n++] = *p;
    if (!out)
        return NULL;
    if (n > 1 && out[n - 1] == '/')
        n--;
    out[n] = '\0';
    return out;
}

int bkt_link_soft(struct bkt_link *l, const char *target, struct bkt_err *err)
{
    l->cls = BKT_L_SOFT;
    l->path = tidy_path(target);
    return l->path ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

/* An external link's value in the form of H5Lcreate_external() and H5Lget_val(): version and flags (0),
 * file, object. */
static int external_value(struct bkt_link *l, const char *value, size_t n, struct bkt_err *err)
{
    const char *file = value + 1;
    size_t nf = strnlen(file, n - 1);
    const char *path = file + nf + 1;
    l->cls = BKT_L_EXTERNAL;
    l->file = strdup(file);
    l->path = strndup(path, n - 2 - nf);
    return l->file && l->path ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

static bool is_external_value(const char *value, size_t n)
{
    size_t nf = n > 1 ? strnlen(value + 1, n - 1) : 0;
    return n > 3 && value[0] == 0 && nf > 0 && nf + 2 < n && strnlen(value + nf + 2, n - nf - 2) < n - nf - 2;
}

int bkt_link_user(struct bkt_link *l, int type, const void *value, size_t n, struct bkt_err *err)
{
    if (type == H5L_TYPE_EXTERNAL && is_external_value(value, n))
        return external_value(l, value, n, err);
    if (type < H5L_TYPE_UD_MIN || H5Lis_registered((H5L_type_t)type) <= 0)
        BKT_FAIL(err, BKT_EINVAL, "links of class %d: the class is not registered with HDF5", type);
    l->cls = BKT_L_USER;
    l->ud_type = type;
    return bkt_buf_add(&l->ud, value, n) < 0 ? BKT_ERR(err, BKT_ENOMEM, "out of memory") : BKT_OK;
}
