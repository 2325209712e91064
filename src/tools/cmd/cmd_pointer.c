/* h5bucket pointer DOMAIN FILE: write a pointer file (schema/name/pointer_file.h).  An existing FILE is left
 * alone. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/domain/domain.h"
#include "tools/show/json_out.h"
#include "schema/name/pointer_file.h"
#include "tools/cli/tool.h"
#include "schema/edit/userblock.h"

/* Makes a path of this machine absolute, so that it means the same from everywhere, whatever the default
 * bucket is. */
static int whole_name(const struct bkt_tool *t, struct bkt_buf *out, struct bkt_err *err)
{
    const char                  *name  = t->args[0];
    bool local =
        *name && !bkt_name_has_scheme(name) && !strstr(name, "://") && !(t->set.bucket && *t->set.bucket);
    BKT_PASS_MEM(err, bkt_buf_add_str(out, local ? "file://" : name));
    return local ? bkt_name_absolute(name, out, err) : BKT_OK;
}

static int read_user_block(const struct bkt_tool *t, struct bkt_pointer_block *block, struct bkt_buf *bytes,
                           struct bkt_err *err)
{
    BKT_CLEANUP(bkt_domain_closep) struct bkt_domain *d = NULL;
    if (!bkt_tool_has(t, "user-block"))
        return BKT_OK;
    BKT_PASS(bkt_domain_open(t->args[0], &t->set, &d, err));
    BKT_PASS(bkt_domain_check_acl(d, BKT_ACL_READ, err));
    BKT_PASS(bkt_userblock_load(d, &block->size, bytes, err));
    block->bytes = bytes->ptr;
    block->n     = bytes->len;
    return BKT_OK;
}

static int run(struct bkt_tool *t)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0}, bytes = {0};
    struct bkt_err                           err   = {.n = 0};
    struct bkt_pointer_block                 block = {.size = 0};
    if (whole_name(t, &name, &err) < 0 || read_user_block(t, &block, &bytes, &err) < 0 ||
        bkt_pointer_write(t->args[1], bkt_buf_str(&name), &block, false, &err) < 0)
        return bkt_tool_error(t, err.code == BKT_EEXIST || err.code == BKT_EIO ? NULL : t->args[0], &err);
    bkt_jout_object(&t->j, "file:s domain:u", t->args[1], bkt_buf_str(&name));
    return BKT_EXIT_OK;
}

static const struct bkt_opt opts[] = {
    {'u', "user-block", NULL, "start FILE with DOMAIN's present user block, for programs that read or write "
     "one", NULL},
};
const struct bkt_verb bkt_verb_pointer = {
    .name = "pointer", .args = "DOMAIN FILE", .min_args = 2, .max_args = 2,
    .help = "make FILE a pointer to DOMAIN, for programs that inspect a file before HDF5 does",
    .text = "netCDF-C, GDAL and other programs read the first bytes of a file before they pass its name to\n"
            "HDF5. FILE has a few bytes that look like HDF5 to them and name DOMAIN to the connector. An\n"
            "existing FILE is left alone.\n\n"
            "A path on this machine is written in full (file:///...), so FILE can be moved. With a default\n"
            "bucket, a plain path is written as it is, and names a domain in the default bucket of the\n"
            "program that opens FILE.\n\n"
            "JSON: {\"file\", \"domain\"}.",
    .opts = opts, .n_opts = BKT_COUNT(opts), .json = true, .run = run,
};
