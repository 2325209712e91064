#include "vol/vfd/store_driver_ahead.h"

#include <stdlib.h>
#include <string.h>

#include "storage/request_future.h"
#include "vol/vfd/store_driver.h"

/* One file that is being fetched. */
struct expected {
    struct expected    *next;
    char               *name;
    struct vfd_expected got;
    struct bkt_await    get; /* begun, once it is in the list */
};
static struct expected *list;

static void expected_free(struct expected *e)
{
    bkt_store_close(e->got.st);
    free(e->got.first);
    free(e->got.key);
    free(e->name);
    free(e);
}

void vfd_expect(const char *name, const struct bkt_settings *set)
{
    struct expected *e = !vfd_takes(name) ? NULL : calloc(1, sizeof *e);
    if (!e)
        return;
    if (!(e->name = strdup(name)) || !(e->got.first = malloc(VFD_FIRST)) || vfd_open_store(name, set, &e->got.st, &e->got.key, NULL) < 0 ||
        bkt_store_is_local(e->got.st)) {
        expected_free(e);
        return;
    }
    e->get.req = (struct bkt_req){.op = BKT_GET, .key = e->got.key, .len = VFD_FIRST, .dst = e->got.first, .may_be_short = true};
    e->next    = list;
    list       = e;
    bkt_await_start(e->got.st, &e->get);
}

bool vfd_take_expected(const char *name, struct vfd_expected *out)
{
    struct expected **at = &list;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    struct expected *e = *at;
    if (!e)
        return false;
    *at = e->next;
    bkt_await(&e->get);
    const struct bkt_req *r    = &e->get.req;
    bool                  good = r->rc == BKT_OK && r->size != UINT64_MAX;
    if (good) {
        *out      = e->got;
        out->n    = r->n;
        out->size = r->size;
        memcpy(out->etag, r->etag, sizeof out->etag);
        e->got = (struct vfd_expected){.st = NULL};
    }
    bkt_await_fini(&e->get);
    expected_free(e);
    return good;
}

void vfd_expect_nothing(void)
{
    while (list) {
        struct expected *e = list;
        list               = e->next;
        bkt_await_fini(&e->get);
        expected_free(e);
    }
}
