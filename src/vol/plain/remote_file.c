#include "vol/plain/remote_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "schema/domain/domain.h"
#include "schema/name/uri.h"
#include "vol/core/hid.h"
#include "vol/plain/plain_file.h"
#include "vol/vfd/store_driver.h"
#include "vol/vfd/store_driver_ahead.h"

static bool is_here(const struct bkt_remote *r) { return r->full && strncmp(r->full, "file:", 5) == 0; }

bool bkt_remote_is_local(const struct bkt_remote *r) { return is_here(r) && !r->through; }

int bkt_remote_find(const char *name, const struct bkt_settings *set, struct bkt_remote *r,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf full = {0};
    *r = (struct bkt_remote){.name = name, .through = strncasecmp(name, "hsds+file:", 10) == 0};
    int rc = bkt_name_of_file(name, set, &full, err);
    if (rc < 0)
        return rc == BKT_ENOENT ? BKT_OK : rc;
    r->full = strdup(bkt_buf_str(&full));
    return BKT_MADE(err, r->full);
}

bool bkt_remote_instead(const struct bkt_remote *r, int rc)
{
    bool web = r->full && strncmp(r->full, "http", 4) == 0;
    return r->full && (rc == BKT_ENOENT || rc == BKT_EACCES || rc == BKT_EUNSUP ||
                       (web && (rc == BKT_EINVAL || rc == BKT_EFORMAT)));
}

bool bkt_remote_is_kept(struct bkt_remote *r, const struct bkt_settings *set)
{
    r->asked = r->full && bkt_vfd_is_expected_soon(r->full, set);
    return r->asked;
}

void bkt_remote_keep(struct bkt_remote *r)
{
    if (r->asked)
        bkt_vfd_expect_soon(r->full);
    r->asked = false;
}

void bkt_remote_fini(struct bkt_remote *r)
{
    if (r->asked)
        bkt_vfd_expect_not(r->full);
    free(r->full);
    r->full = NULL;
}

/* ---- drivers ---- */

static hid_t driver_of(hid_t like)
{
    return like == H5P_DEFAULT || like < 0 ? H5FD_SEC2 : H5Pget_driver(like);
}

/* Whether the driver makes other names of the name: those of a family's members, or of a pair. */
static bool has_members(hid_t like)
{
    hid_t driver = driver_of(like);
    return driver == H5FD_FAMILY || driver == H5FD_MULTI;
}

/* "name%05d.h5": the files of a family.  HDF5 takes the name as a format of printf(), so it may have one
 * percent sign only.  In a web address that may be an escape, "%20data.h5", but no name has control
 * characters. */
static bool is_family_name(const char *name)
{
    const char *at = strchr(name, '%');
    if (!at || strchr(at + 1, '%'))
        return false;
    size_t n = strspn(at + 1, "0123456789");
    bool web = strncasecmp(name, "http", 4) == 0;
    bool escape = web && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2]) && at[1] > '1';
    return !escape && n <= 3 && (at[1 + n] == 'd' || at[1 + n] == 'u');
}

static int set_family(hid_t fapl, const char *full, bool given, const struct bkt_settings *set,
                      struct bkt_err *err)
{
    hsize_t size = H5F_FAMILY_DEFAULT;
    hid_t was = H5P_DEFAULT;
    if (given && H5Pget_fapl_family(fapl, &size, &was) < 0)
        return bkt_h5err_capture(err, "the list of a family's members");
    if (was > 0)
        bkt_vobj_drop_id(was);
    BKT_CLEANUP(bkt_hid_closep) hid_t member = H5Pcreate(H5P_FILE_ACCESS);
    BKT_NEED_H5(err, member >= 0, "the list of a family's members");
    BKT_PASS(bkt_vfd_set(member, full, set, err));
    return H5Pset_fapl_family(fapl, size, member) < 0 ? bkt_h5err_capture(err, "H5Pset_fapl_family") : BKT_OK;
}

/* Also a split pair, which is a multi file of two. */
static int set_multi(hid_t fapl, const char *full, const struct bkt_settings *set, struct bkt_err *err)
{
    H5FD_mem_t map[H5FD_MEM_NTYPES];
    hid_t was[H5FD_MEM_NTYPES], ours[H5FD_MEM_NTYPES];
    char *names[H5FD_MEM_NTYPES];
    haddr_t addrs[H5FD_MEM_NTYPES];
    hbool_t relax;
    BKT_NEED_H5(err, H5Pget_fapl_multi(fapl, map, was, names, addrs, &relax) >= 0,
                "the list of a split file");
    BKT_CLEANUP(bkt_hid_closep) hid_t member = H5Pcreate(H5P_FILE_ACCESS);
    int rc =
        member < 0 ? bkt_h5err_capture(err, "the list of a split file") : bkt_vfd_set(member, full, set, err);
    for (size_t i = 0; i < H5FD_MEM_NTYPES; i++)
        ours[i] = member;
    if (rc == BKT_OK && H5Pset_fapl_multi(fapl, map, ours, (const char *const *)names, addrs, relax) < 0)
        rc = bkt_h5err_capture(err, "H5Pset_fapl_multi");
    for (size_t i = 0; i < H5FD_MEM_NTYPES; i++) {
        if (was[i] > 0)
            bkt_vobj_drop_id(was[i]);
        H5free_memory(names[i]);
    }
    return rc;
}

static int set_driver(hid_t fapl, struct bkt_remote *r, hid_t like, const struct bkt_settings *set,
                      struct bkt_err *err)
{
    hid_t driver = driver_of(like);
    if (driver == H5FD_MULTI)
        return set_multi(fapl, r->full, set, err);
    if (driver == H5FD_FAMILY || r->family)
        return set_family(fapl, r->full, driver == H5FD_FAMILY, set, err);
    return bkt_vfd_set(fapl, r->full, set, err);
}

/* ---- requests ---- */

/* Whether the driver asks for the file under its own full name. */
static bool can_ask(const struct bkt_remote *r, hid_t like)
{
    return r->full && !is_here(r) && !has_members(like);
}

static void ask(struct bkt_remote *r, hid_t like, const struct bkt_settings *set)
{
    if (r->asked || !can_ask(r, like))
        return;
    bkt_vfd_expect(r->full, set);
    r->asked = true;
}

void bkt_remote_ask(struct bkt_remote *r, hid_t like, const struct bkt_settings *set)
{
    if (can_ask(r, like) && !bkt_domain_is_open(r->name, set))
        ask(r, like, set);
}

/* Wait for the request.  A file of exactly that name comes before a family, whose members a server that
 * answers every name would have without end. */
static int wait_for_first(struct bkt_remote *r, struct bkt_err *err)
{
    struct bkt_err why = {.n = 0};
    int rc = bkt_vfd_expected_wait(r->full, &why);
    r->asked = rc == BKT_OK;
    r->family = rc == BKT_ENOENT && is_family_name(r->full);
    return rc == BKT_OK || r->family ? BKT_OK : bkt_err_copy(err, rc, &why);
}

static int with_list(struct bkt_remote *r, hid_t like, const struct bkt_settings *set, hid_t *fapl,
                     struct bkt_err *err)
{
    BKT_NEED_H5(err, (*fapl = bkt_native_fapl(like == H5P_DEFAULT ? H5I_INVALID_HID : like)) >= 0,
                "H5Pset_vol");
    return set_driver(*fapl, r, like, set, err);
}

/* If HDF5's native connector can't open a file, HDF5 asks other connectors, this one among them, whether the
 * file is theirs. */
static unsigned at_work;

bool bkt_remote_at_work(void)
{
    return at_work > 0;
}

hid_t bkt_remote_native(const char *name, unsigned flags, hid_t fapl)
{
    at_work++;
    hid_t id = H5Fopen(name, flags, fapl);
    at_work--;
    return id;
}

static htri_t native_is_accessible(const char *name, hid_t fapl)
{
    at_work++;
    htri_t yes = H5Fis_accessible(name, fapl);
    at_work--;
    return yes;
}

bool bkt_remote_is_hdf5(struct bkt_remote *r, hid_t like, const struct bkt_settings *set)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5I_INVALID_HID;
    htri_t yes = 0;
    if (!r->full || (r->asked && wait_for_first(r, NULL) < 0))
        return false;
    if (r->asked)
        return bkt_vfd_expected_is_hdf5(r->full);
    if (bkt_remote_is_local(r))
        return bkt_native_is_plain(r->full);
    return with_list(r, like, set, &fapl, NULL) == BKT_OK &&
           BKT_PASS_H5(NULL, yes = native_is_accessible(r->full, fapl), "H5Fis_accessible") == BKT_OK &&
           yes > 0;
}

static int refuse_writing(struct bkt_remote *r, hid_t like, const struct bkt_settings *set,
                          struct bkt_err *err)
{
    ask(r, like, set);
    if (!bkt_remote_is_hdf5(r, like, set))
        return BKT_ENOENT;
    BKT_FAIL_IF(err, r->through, BKT_EUNSUP,
                "%s: hsds+file:// opens files for reading only; to write, give the path without it", r->full);
    BKT_FAIL(err, BKT_EUNSUP,
             "%s is a plain HDF5 file in a store, which can't be opened for writing; `h5bucket load` makes a "
             "domain of it",
             r->full);
}

int bkt_remote_open(struct bkt_remote *r, unsigned flags, hid_t like, const struct bkt_settings *set,
                    hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5I_INVALID_HID;
    if (!r->full)
        return BKT_ENOENT;
    if (bkt_remote_is_local(r))
        return bkt_native_file(r->full, flags, like == H5P_DEFAULT ? H5I_INVALID_HID : like, out, err);
    if (flags & H5F_ACC_RDWR)
        return refuse_writing(r, like, set, err);
    ask(r, like, set);
    if (r->asked)
        BKT_PASS(wait_for_first(r, err));
    BKT_PASS(with_list(r, like, set, &fapl, err));
    int rc = BKT_PASS_H5(err, *out = bkt_remote_native(r->full, flags, fapl),
                         "opening a plain HDF5 file in a store");
    r->asked = false; /* its answer was taken */
    if (rc < 0)
        bkt_err_name(err, rc, r->full);
    return rc;
}
