#include "vol/vfd/store_driver_ahead.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "schema/name/pointer_file.h"
#include "storage/store.h"
#include "vol/vfd/store_driver.h"

#define SOON 5 /* seconds: HDF5 opens a file at once after it has asked whether the driver takes it */

/* One file that is being fetched. */
struct expected {
    struct expected    *next;
    char               *name;
    struct bkt_vfd_expected got;
    struct bkt_await    get; /* begun, once it is in the list */
    atomic_bool         cancel;
    struct bkt_settings set;   /* of the request */
    time_t              until; /* on a monotonic clock; 0: it stays until the file is opened */
};
static struct expected *list;

static void expected_free(struct expected *e)
{
    bkt_store_close(e->got.st);
    free(e->got.first);
    free(e->got.key);
    free(e->name);
    bkt_settings_fini(&e->set);
    free(e);
}

static struct expected **find(const char *name)
{
    struct expected **at = &list;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

static void drop(struct expected **at)
{
    struct expected *e = *at;
    *at = e->next;
    atomic_store(&e->cancel, true);
    bkt_store_cancelled();
    bkt_await_fini(&e->get);
    expected_free(e);
}

static void drop_late(void)
{
    time_t now = list ? bkt_seconds_now() : 0;
    for (struct expected **at = &list; *at;)
        if ((*at)->until && now >= (*at)->until)
            drop(at);
        else
            at = &(*at)->next;
}

/* The entry of a file whose bytes may be used. */
static struct expected *current(const char *name, const struct bkt_settings *set)
{
    drop_late();
    struct expected **at = find(name);
    if (!*at || bkt_settings_equal(&(*at)->set, set))
        return *at;
    drop(at);
    return NULL;
}

static bool prepare(struct expected *e, const char *name, const struct bkt_settings *set)
{
    return bkt_settings_copy(&e->set, set, NULL) == BKT_OK && (e->name = strdup(name)) &&
           (e->got.first = malloc(BKT_VFD_FIRST)) &&
           bkt_vfd_open_store(name, set, &e->got.st, &e->got.key, NULL) == BKT_OK &&
           !bkt_store_is_local(e->got.st);
}

void bkt_vfd_expect(const char *name, const struct bkt_settings *set)
{
    struct expected *e = !bkt_vfd_takes(name) || current(name, set) ? NULL : calloc(1, sizeof *e);
    if (!e)
        return;
    if (!prepare(e, name, set)) {
        expected_free(e);
        return;
    }
    e->get.req = (struct bkt_req){.op = BKT_GET,
                                  .key = e->got.key,
                                  .len = BKT_VFD_FIRST,
                                  .dst = e->got.first,
                                  .may_be_short = true,
                                  .cancel = &e->cancel,
                                  .version = &e->got.version};
    e->next    = list;
    list       = e;
    bkt_await_start(NULL, e->got.st, &e->get);
}

int bkt_vfd_first(const char *name, const struct bkt_req *r, uint64_t *n, uint64_t *size, struct bkt_err *err)
{
    bool empty = r->rc == BKT_ERANGE;
    *n = empty ? 0 : r->n;
    *size = empty ? 0 : r->size;
    if (r->rc < 0 && !empty)
        return bkt_err_copy(err, r->rc, r->err);
    BKT_FAIL_IF(err, *size == UINT64_MAX, BKT_EUNSUP, "%s: the server does not report its length", name);
    return BKT_OK;
}

/* The answer, if it can be used. */
static int outcome(struct expected *e, struct bkt_err *err)
{
    bkt_await(&e->get);
    return bkt_vfd_first(e->name, &e->get.req, &e->got.n, &e->got.size, err);
}

int bkt_vfd_take_expected(const char *name, struct bkt_vfd_expected *out, struct bkt_err *err)
{
    struct expected **at = find(name);
    if (!*at)
        return 0;
    int rc = outcome(*at, err);
    if (rc == BKT_OK) {
        *out = (*at)->got;
        (*at)->got = (struct bkt_vfd_expected){.st = NULL};
    }
    drop(at);
    return rc < 0 ? rc : 1;
}

int bkt_vfd_expected_wait(const char *name, struct bkt_err *err)
{
    struct expected **at = find(name);
    int rc = *at ? outcome(*at, err) : BKT_OK;
    if (*at && rc < 0)
        drop(at);
    return rc;
}

bool bkt_vfd_expected_is_hdf5(const char *name)
{
    struct expected *e = *find(name);
    if (!e || outcome(e, NULL) < 0)
        return false;
    const size_t n = sizeof BKT_HDF5_SIGNATURE - 1;
    for (uint64_t at = 0; at + n <= e->got.n; at = at ? 2 * at : 512)
        if (memcmp(e->got.first + at, BKT_HDF5_SIGNATURE, n) == 0)
            return true;
    return false;
}

void bkt_vfd_expect_soon(const char *name)
{
    struct expected *e = *find(name);
    if (e)
        e->until = bkt_seconds_now() + SOON;
}

bool bkt_vfd_is_expected_soon(const char *name, const struct bkt_settings *set)
{
    struct expected *e = current(name, set);
    return e && e->until;
}

void bkt_vfd_expect_not(const char *name)
{
    struct expected **at = find(name);
    if (*at)
        drop(at);
}

void bkt_vfd_expect_nothing(void)
{
    while (list)
        drop(&list);
}
