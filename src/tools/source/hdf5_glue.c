#include "tools/source/hdf5_glue.h"

#include <stdio.h>
#include <string.h>

#include "vol/core/hid.h"
#include "vol/core/vol.h"
#include "vol/plain/remote_file.h"

/* Cuts the number at the end, which the connector adds for programs; people have read the reason. */
static void drop_errno(char *text)
{
    char *last = strrchr(text, ',');
    if (last && strncmp(last, ", errno = ", 10) == 0 && last[10 + strspn(last + 10, "0123456789")] == 0)
        *last = 0;
}

/* Shortens a driver's message: "unable to open file: name = 'x', errno = 2, error message = 'No such file or
 * directory', …".  Keeps the attempted action and the system's reason; the name is printed beside it. */
static void keep_reason(char *text)
{
    static const char said[] = "error message = '";
    char *reason = strstr(text, said), *colon = strstr(text, ": "),
         *end = reason ? strchr(reason + strlen(said), '\'') : NULL;
    if (!end || !colon || colon > reason)
        return;
    reason += strlen(said);
    memmove(colon + 2, reason, (size_t)(end - reason));
    colon[2 + (end - reason)] = 0;
}

/* Adds explanations that HDF5 leaves out. */
static void explain(char *text, size_t n)
{
    static const struct {
        const char *part, *said;
    } more[] = {
        {"file signature not found", "file signature not found: not an HDF5 file"},
        {"unable to lock file, errno = 11",
         "unable to lock file: another program has it open for writing; wait until it is closed, or "
         "set HDF5_USE_FILE_LOCKING=FALSE to read it as it is"},
        {"file is already open for write",
         "it is marked as open for writing; wait until its writer closes it; if the writer "
         "has died, run h5clear -s on it"},
    };
    for (size_t i = 0; i < BKT_COUNT(more); i++)
        if (strstr(text, more[i].part))
            (void)snprintf(text, n, "%s", more[i].said);
}

int h5_fail(struct bkt_err *err, const char *what)
{
    char text[BKT_ERR_MSG];
    bkt_h5err_innermost(text);
    explain(text, sizeof text);
    keep_reason(text);
    drop_errno(text);
    if (*text)
        (void)BKT_ERR(err, BKT_EHDF5, "%s", text);
    BKT_FAIL(err, BKT_EHDF5, "%s", what);
}

int h5_unreadable(struct bkt_err *err, const char *what)
{
    int rc = h5_fail(err, what);
    return rc == BKT_EHDF5 ? BKT_EFORMAT : rc;
}

int h5_open_native(const char *name, hid_t fapl, hid_t *out, struct bkt_err *err)
{
    *out = bkt_remote_native(name, H5F_ACC_RDONLY, fapl);
    if (*out < 0)
        return h5_fail(err, name);
    return BKT_OK;
}

hid_t h5_native_list(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (fapl >= 0 && H5Pset_vol(fapl, H5VL_NATIVE, NULL) < 0)
        bkt_hid_closep(&fapl);
    return fapl;
}

hid_t h5_creation_list(hid_t file)
{
    unsigned                     links = 0, attrs = 0, compact, dense;
    BKT_CLEANUP(bkt_hid_closep) hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    BKT_CLEANUP(bkt_hid_closep) hid_t gcpl = root < 0 ? H5I_INVALID_HID : H5Gget_create_plist(root);
    hid_t                        fcpl = gcpl < 0 ? H5I_INVALID_HID : H5Fget_create_plist(file);
    if (fcpl >= 0 &&
        (H5Pget_link_creation_order(gcpl, &links) < 0 || H5Pset_link_creation_order(fcpl, links) < 0 ||
         H5Pget_attr_creation_order(gcpl, &attrs) < 0 || H5Pset_attr_creation_order(fcpl, attrs) < 0 ||
         H5Pget_link_phase_change(gcpl, &compact, &dense) < 0 ||
         H5Pset_link_phase_change(fcpl, compact, dense) < 0 ||
         H5Pget_attr_phase_change(gcpl, &compact, &dense) < 0 ||
         H5Pset_attr_phase_change(fcpl, compact, dense) < 0))
        bkt_hid_closep(&fcpl);
    return fcpl;
}

int h5_start(const char *info, hid_t *fapl, struct bkt_err *err)
{
    static hid_t connector = H5I_INVALID_HID;
    void        *parsed    = NULL;
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (connector < 0 || H5Iis_valid(connector) <= 0)
        connector = H5VLregister_connector(bkt_vol_class(), H5P_DEFAULT);
    if (connector < 0)
        return h5_fail(err, "HDF5 refuses the bucket connector");
    if (info && *info && H5VLconnector_str_to_info(info, connector, &parsed) < 0)
        return h5_fail(err, info);
    *fapl     = H5Pcreate(H5P_FILE_ACCESS);
    herr_t rc = *fapl < 0 ? -1 : H5Pset_vol(*fapl, connector, parsed);
    if (parsed)
        (void)H5VLfree_connector_info(connector, parsed);
    return rc < 0 ? h5_fail(err, "making an access list for the bucket connector") : BKT_OK;
}

bool h5_scales_read(hid_t dset, struct h5_scales *out)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t attr = H5Aexists(dset, "DIMENSION_LIST") > 0 ? H5Aopen(dset, "DIMENSION_LIST", H5P_DEFAULT) : -1;
    BKT_CLEANUP(bkt_hid_closep) hid_t type = attr < 0 ? -1 : H5Aget_type(attr);
    BKT_CLEANUP(bkt_hid_closep)
    hid_t base = type >= 0 && H5Tget_class(type) == H5T_VLEN ? H5Tget_super(type) : -1;
    *out = (struct h5_scales){.type = H5Tvlen_create(H5T_STD_REF_OBJ),
                              .space = attr < 0 ? -1 : H5Aget_space(attr)};
    hssize_t n = out->space < 0 ? 0 : H5Sget_simple_extent_npoints(out->space);
    if (base >= 0 && H5Tequal(base, H5T_STD_REF_OBJ) > 0 && n > 0 && n <= H5S_MAX_RANK &&
        H5Aread(attr, out->type, out->v) >= 0)
        out->n = (unsigned)n;
    (void)H5Eclear2(H5E_DEFAULT);
    return out->n > 0;
}

void h5_scales_fini(struct h5_scales *s)
{
    if (s->n)
        (void)H5Treclaim(s->type, s->space, H5P_DEFAULT, s->v);
    bkt_hid_closep(&s->type);
    bkt_hid_closep(&s->space);
    s->n = 0;
    (void)H5Eclear2(H5E_DEFAULT);
}
