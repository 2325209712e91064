#include "tools/load/user_block.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "tools/source/hdf5_glue.h"
#include "tools/source/hdf5_source.h"
#include "vol/core/hid.h"
#include "vol/core/vol.h"
#include "vol/open/pointer_leave.h"
#include "vol/vfd/store_driver.h"

void user_block_fini(struct user_block *u) { bkt_buf_fini(&u->bytes); }

/* By its name: as a store, its folder would have to be readable as well. */
static int read_local(const char *name, struct user_block *out, struct bkt_err *err)
{
    BKT_PASS_MEM(err, bkt_buf_resize(&out->bytes, (size_t)out->size));
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    BKT_FAIL_IF(err, fd < 0, BKT_EIO, "%s: %s", name, strerrordesc_np(errno));
    bool ok = bkt_read_at(fd, out->bytes.ptr, out->bytes.len, 0);
    (void)close(fd);
    BKT_FAIL_IF(err, !ok, BKT_EIO, "%s: its user block can't be read", name);
    return BKT_OK;
}

static int read_remote(const char *name, const struct bkt_settings *set, struct user_block *out,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_store_closep) struct bkt_store *st = NULL;
    BKT_CLEANUP(bkt_freep) char *uri = source_uri(name), *key = NULL;
    BKT_NEED(err, uri);
    BKT_PASS(bkt_vfd_open_store(uri, set, &st, &key, err));
    BKT_TRY(err, bkt_store_get(st, key, 0, out->size, &out->bytes, err), "%s: its user block can't be read",
            name);
    return BKT_OK;
}

/* HDF5 doesn't read these bytes. */
static int read_file(const char *name, const struct bkt_settings *set, struct user_block *out,
                     struct bkt_err *err)
{
    BKT_PASS(bkt_vfd_takes(name) ? read_remote(name, set, out, err) : read_local(name, out, err));
    bkt_buf_cut(&out->bytes, bkt_userblock_used(out->bytes.ptr, out->bytes.len));
    return BKT_OK;
}

static int of_plain(hid_t file, const struct bkt_settings *set, struct user_block *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fcpl = H5Fget_create_plist(file);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    hsize_t                                  size = 0;
    ssize_t                                  n    = H5Fget_name(file, NULL, 0);
    if (fcpl < 0 || H5Pget_userblock(fcpl, &size) < 0 || n < 0)
        return h5_fail(err, "asking for the user block");
    out->size = size;
    if (size == 0)
        return BKT_OK;
    BKT_FAIL_IF(err, size > BKT_USERBLOCK_MAX, BKT_EUNSUP, "user block of %llu bytes: the limit is %u",
                (unsigned long long)size, BKT_USERBLOCK_MAX);
    BKT_PASS_MEM(err, bkt_buf_resize(&name, (size_t)n + 1));
    if (H5Fget_name(file, (char *)name.ptr, (size_t)n + 1) < 0)
        return h5_fail(err, "asking for the file's name");
    return read_file(bkt_buf_str(&name), set, out, err);
}

int user_block_of(hid_t file, const struct bkt_settings *set, struct user_block *out, struct bkt_err *err)
{
    const struct bkt_vobj *o = H5VLobject(file);
    if (!o)
        return h5_fail(err, "looking at a file");
    return o->file ? bkt_file_user_block(o->file->name, o->file->dom, &out->size, &out->bytes, err)
                   : of_plain(o->native_id, set, out, err);
}
