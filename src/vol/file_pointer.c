#include "file_pointer.h"

#include <hdf5.h>
#include <unistd.h>

#include "pointer.h"
#include "trace.h"

/* Where there is no default bucket, a plain name is the domain's own folder. */
static bool is_wanted(const char *name, const struct bkt_settings *set)
{
    return set->pointers && set->bucket && *set->bucket && !bkt_name_has_scheme(name);
}

int bkt_file_pointer_may(const char *name, unsigned flags, const struct bkt_settings *set, struct bkt_err *err)
{
    if (is_wanted(name, set) && flags & H5F_ACC_EXCL && access(name, F_OK) == 0 && !bkt_pointer_is(name))
        BKT_FAIL(err, BKT_EEXIST, "%s: there is a file of that name", name);
    return BKT_OK;
}

int bkt_file_pointer_leave(const char *name, const struct bkt_settings *set, struct bkt_domain *dom, struct bkt_err *err)
{
    if (!is_wanted(name, set) || bkt_pointer_is(name))
        return BKT_OK;
    bkt_trace(BKT_TRACE_VOL, "%s becomes a pointer file to %s", name, bkt_domain_name(dom));
    return bkt_pointer_write(name, bkt_domain_name(dom), true, err);
}

void bkt_file_pointer_remove(const char *name, const struct bkt_settings *set)
{
    if (is_wanted(name, set) && bkt_pointer_is(name))
        (void)unlink(name);
}
