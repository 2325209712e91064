#include "vfd_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "vfd.h"

/* One file under way.  The list is the caller's thread's; `done` is set by the store's. */
struct expected {
    struct expected    *next;
    char               *name;
    struct vfd_expected got;
    struct bkt_req      req;
    pthread_mutex_t     lock;
    pthread_cond_t      wake;
    bool                done;
};
static struct expected *list;

static void arrived(struct bkt_req *req)
{
    struct expected *e = req->arg;
    (void)pthread_mutex_lock(&e->lock);
    e->done = true;
    (void)pthread_cond_signal(&e->wake);
    (void)pthread_mutex_unlock(&e->lock);
}

static void finish(struct expected *e)
{
    (void)pthread_mutex_lock(&e->lock);
    while (!e->done)
        (void)pthread_cond_wait(&e->wake, &e->lock);
    (void)pthread_mutex_unlock(&e->lock);
}

static void expected_free(struct expected *e)
{
    bkt_req_fini(&e->req);
    bkt_store_close(e->got.st);
    (void)pthread_mutex_destroy(&e->lock);
    (void)pthread_cond_destroy(&e->wake);
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
    (void)pthread_mutex_init(&e->lock, NULL);
    (void)pthread_cond_init(&e->wake, NULL);
    if (!(e->name = strdup(name)) || !(e->got.first = malloc(VFD_FIRST)) || vfd_open_store(name, set, &e->got.st, &e->got.key, NULL) < 0 ||
        bkt_store_is_local(e->got.st)) {
        expected_free(e);
        return;
    }
    e->req  = (struct bkt_req){.op = BKT_GET, .key = e->got.key, .len = VFD_FIRST, .dst = e->got.first, .may_be_short = true,
                               .done = arrived, .arg = e};
    e->next = list;
    list    = e;
    bkt_store_start(e->got.st, &e->req);
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
    finish(e);
    bool good = e->req.rc == BKT_OK && e->req.size != UINT64_MAX;
    if (good) {
        *out      = e->got;
        out->n    = e->req.n;
        out->size = e->req.size;
        memcpy(out->etag, e->req.etag, sizeof out->etag);
        e->got = (struct vfd_expected){.st = NULL};
    }
    expected_free(e);
    return good;
}

void vfd_expect_nothing(void)
{
    while (list) {
        struct expected *e = list;
        list               = e->next;
        finish(e);
        expected_free(e);
    }
}
