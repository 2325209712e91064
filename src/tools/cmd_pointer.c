/* h5bucket pointer DOMAIN FILE: write a pointer file (schema/pointer.h).  An existing FILE is left alone. */
#include "jout.h"
#include "pointer.h"
#include "tool.h"

static int run(struct bkt_tool *t)
{
    struct bkt_err err = {.n = 0};
    if (bkt_pointer_write(t->args[1], t->args[0], false, &err) < 0)
        return bkt_tool_error(t, err.code == BKT_EEXIST || err.code == BKT_EIO ? NULL : t->args[0], &err);
    if (t->json) {
        struct bkt_jout j;
        bkt_jout_init(&j, stdout);
        bkt_jout_open(&j, NULL, '{');
        bkt_jout_str(&j, "file", t->args[1]);
        bkt_jout_str(&j, "domain", t->args[0]);
        bkt_jout_close(&j);
    }
    return BKT_EXIT_OK;
}

const struct bkt_verb bkt_verb_pointer = {
    .name = "pointer", .args = "DOMAIN FILE", .min_args = 2, .max_args = 2,
    .help = "make FILE stand for DOMAIN, for programs that look at a file before HDF5 does",
    .text = "netCDF-C, GDAL and others read the first bytes of a file before they give its name to HDF5. FILE is a few bytes\n"
            "that look like HDF5 to them and name DOMAIN to the connector. An existing FILE is left alone.\n\n"
            "JSON: {\"file\", \"domain\"}.",
    .json = true, .run = run,
};
