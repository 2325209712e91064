#include "vol/open/pointer_leave.h"

#include <hdf5.h>
#include <unistd.h>

#include "schema/name/pointer_file.h"
#include "base/trace.h"
#include "schema/edit/userblock.h"

/* Without a default bucket, a plain name is the domain's own folder. */
static bool is_wanted(const char *name, const struct bkt_settings *set)
{
    return set->pointers && set->bucket && *set->bucket && !bkt_name_has_scheme(name);
}

int bkt_file_pointer_may(const char *name, unsigned flags, const struct bkt_settings *set,
                         struct bkt_err *err)
{
    BKT_FAIL_IF(
        err, is_wanted(name, set) && flags & H5F_ACC_EXCL && access(name, F_OK) == 0 && !bkt_pointer_is(name),
        BKT_EEXIST, "%s: a file with this name exists", name);
    return BKT_OK;
}

int bkt_file_pointer_leave(const char *name, const struct bkt_settings *set, struct bkt_domain *dom,
                           uint64_t user_block, struct bkt_err *err)
{
    const struct bkt_pointer_block blank = {.size = user_block};
    if (bkt_pointer_is(name)) /* a pointer without a user block stays as it is */
        return user_block || bkt_pointer_userblock(name) ? bkt_pointer_reblock(name, &blank, err) : BKT_OK;
    if (!is_wanted(name, set))
        return BKT_OK;
    bkt_trace(BKT_TRACE_VOL, "%s becomes a pointer file to %s", name, bkt_domain_name(dom));
    return bkt_pointer_write(name, bkt_domain_name(dom), &blank, true, err);
}

void bkt_file_pointer_remove(const char *name, const struct bkt_settings *set)
{
    if (is_wanted(name, set) && bkt_pointer_is(name))
        (void)unlink(name);
}

/* ---- the user block ---- */

uint64_t bkt_file_pointer_block(const char *name) { return bkt_pointer_userblock(name); }

int bkt_file_user_block(const char *name, struct bkt_domain *dom, uint64_t *size, struct bkt_buf *bytes,
                        struct bkt_err *err)
{
    size_t before = bytes->len;
    BKT_PASS(bkt_pointer_userblock_read(name, size, bytes, err));
    return bytes->len > before ? BKT_OK : bkt_userblock_load(dom, size, bytes, err);
}

void bkt_file_pointer_take(const char *name, struct bkt_domain *dom)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    struct bkt_err                           err   = {.n = 0};
    const struct bkt_userblock              *u     = &bkt_domain_doc(dom)->user;
    uint64_t                                 size  = 0;
    if (u->bad || (u->size && !bkt_userblock_is_blank(dom)) || !bkt_pointer_userblock(name))
        return;
    int rc = bkt_pointer_userblock_read(name, &size, &bytes, &err);
    if (rc == BKT_OK && bytes.len)
        rc = bkt_userblock_store(dom, size, bytes.ptr, bytes.len, &err);
    if (rc < 0)
        bkt_trace(BKT_TRACE_VOL, "the user block of %s isn't stored: %s", name, bkt_err_reason(&err, rc));
}

int bkt_file_user_block_set(const char *name, struct bkt_domain *dom, uint64_t size,
                            const struct bkt_buf *bytes, struct bkt_err *err)
{
    const struct bkt_pointer_block block = {.size = size, .bytes = bytes->ptr, .n = bytes->len};
    BKT_PASS(bkt_userblock_store(dom, size, bytes->ptr, bytes->len, err));
    return bkt_pointer_is(name) ? bkt_pointer_reblock(name, &block, err) : BKT_OK;
}
