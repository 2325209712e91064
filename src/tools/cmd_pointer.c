/* h5bucket pointer DOMAIN FILE: write a pointer file (schema/pointer.h).  An existing FILE is left alone. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "domain.h"
#include "jout.h"
#include "pointer.h"
#include "tool.h"

/* A path of this machine is written so that it means the same from everywhere, and whatever the default bucket is. */
static int whole_name(const struct bkt_tool *t, struct bkt_buf *out, struct bkt_err *err)
{
    const char                  *name  = t->args[0];
    bool                         local = *name && !bkt_name_has_scheme(name) && !strstr(name, "://") && !(t->set.bucket && *t->set.bucket);
    BKT_CLEANUP(bkt_freep) char *cwd   = local && *name != '/' ? getcwd(NULL, 0) : NULL;
    if (local && *name != '/' && !cwd)
        BKT_FAIL(err, BKT_EIO, "the working folder is unknown");
    bool ok = !local || bkt_buf_add_str(out, "file://") == BKT_OK;
    ok      = ok && (!cwd || bkt_buf_addf(out, "%s/", cwd) == BKT_OK);
    return ok && bkt_buf_add_str(out, name) == BKT_OK ? BKT_OK : BKT_ERR(err, BKT_ENOMEM, "out of memory");
}

static int run(struct bkt_tool *t)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    struct bkt_err                           err  = {.n = 0};
    if (whole_name(t, &name, &err) < 0 || bkt_pointer_write(t->args[1], bkt_buf_str(&name), false, &err) < 0)
        return bkt_tool_error(t, err.code == BKT_EEXIST || err.code == BKT_EIO ? NULL : t->args[0], &err);
    if (t->json) {
        struct bkt_jout j;
        bkt_jout_init(&j, stdout);
        bkt_jout_open(&j, NULL, '{');
        bkt_jout_str(&j, "file", t->args[1]);
        bkt_jout_str(&j, "domain", bkt_buf_str(&name));
        bkt_jout_close(&j);
    }
    return BKT_EXIT_OK;
}

const struct bkt_verb bkt_verb_pointer = {
    .name = "pointer", .args = "DOMAIN FILE", .min_args = 2, .max_args = 2,
    .help = "make FILE stand for DOMAIN, for programs that look at a file before HDF5 does",
    .text = "netCDF-C, GDAL and others read the first bytes of a file before they give its name to HDF5. FILE is a few bytes\n"
            "that look like HDF5 to them and name DOMAIN to the connector. An existing FILE is left alone.\n"
            "A path of this machine is written from / on (file:///...), so FILE can be moved; with a default bucket a plain\n"
            "path stays as it is, and names a domain in the default bucket of whoever opens FILE.\n\n"
            "JSON: {\"file\", \"domain\"}.",
    .json = true, .run = run,
};
