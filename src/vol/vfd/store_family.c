#include "vol/vfd/store_family.h"

#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "storage/concat_store.h"
#include "vol/core/hid.h"

#define MEMBERS_MAX 1024 /* as in store_driver.c */

/* HDF5 takes a family's name as a format of printf(), with the member's number.  Only the usual forms are
 * known here. */
static int member_name(const char *format, unsigned number, struct bkt_buf *out)
{
    const char *at = strchr(format, '%');
    if (!at || strchr(at + 1, '%'))
        return BKT_EUNSUP;
    size_t digits = strspn(at + 1, "0123456789");
    int width = digits <= 2 ? (int)strtol(at + 1, NULL, 10) : -1;
    char end = at[1 + digits];
    if (width < 0 || (end != 'd' && end != 'u') || (digits && at[1] != '0'))
        return BKT_EUNSUP;
    return bkt_buf_addf(out, "%.*s%0*u%s", (int)(at - format), format, width, number, at + digits + 2);
}

/* The open file of a member; NULL: it is not open. */
static struct vfd_file *member(struct vfd_file *first, const char *format, unsigned number)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0}, full = {0};
    if (member_name(format, number, &name) < 0 || vfd_linked_name(first, bkt_buf_str(&name), &full, NULL) < 0)
        return NULL;
    return vfd_open_link(first, bkt_buf_str(&full));
}

/* A member is a part of @p each bytes, of which the file may have fewer. */
static size_t add_parts(struct bkt_joined_part *v, struct vfd_file *f, uint64_t each, bool is_last)
{
    struct vfd_facts facts = vfd_facts(f);
    uint64_t has = bkt_min_u64(facts.size, each);
    size_t n = 0;
    if (has)
        v[n++] = (struct bkt_joined_part){facts.st, facts.key, bkt_version_condition(facts.version),
                                          0,        has,       facts.version};
    if (!is_last && has < each)
        v[n++] = (struct bkt_joined_part){.size = each - has};
    return n;
}

static int join(struct vfd_file *first, const char *format, uint64_t each, struct bkt_store **st,
                uint64_t *size, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) struct bkt_joined_part *v = calloc(2 * MEMBERS_MAX + 2, sizeof *v);
    size_t n = 0;
    BKT_NEED(err, v);
    struct vfd_file *f = member(first, format, 0);
    if (f != first)
        return BKT_EUNSUP;
    for (unsigned i = 0; f && i < MEMBERS_MAX; i++) {
        struct vfd_file *next = member(first, format, i + 1);
        n += add_parts(v + n, f, each, !next);
        f = next;
    }
    for (size_t i = 0; i < n; i++)
        if (!bkt_add_u64(*size, v[i].size, size))
            return BKT_EUNSUP;
    return f ? BKT_EUNSUP : bkt_joined_open(v, n, st, err);
}

static bool is_family(hid_t file, uint64_t *each)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = H5Fget_access_plist(file);
    BKT_CLEANUP(bkt_hid_closep) hid_t inner = H5I_INVALID_HID;
    hsize_t size = 0;
    if (fapl < 0 || H5Pget_driver(fapl) != H5FD_FAMILY || H5Pget_fapl_family(fapl, &size, &inner) < 0)
        return false;
    *each = size;
    return size > 0;
}

int vfd_family_of(hid_t object, struct vfd_file **first, struct bkt_store **st, uint64_t *size,
                  struct bkt_err *err)
{
    uint64_t each = 0;
    char format[4096];
    struct vfd_file *f = vfd_first_behind(object);
    *first = NULL;
    *size = 0;
    if (!f)
        return BKT_OK;
    BKT_CLEANUP(bkt_hid_closep) hid_t file = H5Iget_file_id(object);
    ssize_t n = file < 0 ? -1 : H5Fget_name(file, format, sizeof format);
    if (n <= 0 || (size_t)n >= sizeof format || !is_family(file, &each))
        return BKT_OK;
    int rc = join(f, format, each, st, size, err);
    if (rc == BKT_OK)
        *first = f;
    return rc == BKT_EUNSUP ? BKT_OK : rc;
}
