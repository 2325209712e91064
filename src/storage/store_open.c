/* The kinds of stores, and what the process has of them: forks and the end.  The rest of the layer does not
 * know the kinds; this file knows them all. */
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "base/files.h"
#include "base/os/fork.h"
#include "base/os/pool.h"
#include "base/url.h"
#include "storage/aws/cred/cred.h"
#include "storage/http/engine.h"
#include "storage/http/tls.h"
#include "storage/md5.h"
#include "storage/stats.h"
#include "storage/store.h"
#include "storage/store_impl.h"

static const struct bkt_store_kind kinds[] = {
    {"s3://", 5, bkt_s3_open, bkt_s3_shutdown},
    {"file://", 7, bkt_dir_open, NULL},
    {"https://", 8, bkt_web_open, NULL},
    {"http://", 7, bkt_web_open, NULL},
};
static const struct bkt_store_kind *added; /* NULL: none */

void bkt_store_add_kind(const struct bkt_store_kind *kind) { added = kind; }

/* NULL at the end. */
static const struct bkt_store_kind *kind_at(size_t i)
{
    return i < BKT_COUNT(kinds) ? &kinds[i] : i == BKT_COUNT(kinds) ? added : NULL;
}

/* ---- forks ---- */

static pthread_once_t hooked = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
    bkt_state_lock();
    bkt_engine_before_fork();
}
static void after_fork_parent(void)
{
    bkt_engine_after_fork_parent();
    bkt_state_unlock();
}
static void after_fork_child(void)
{
    bkt_engine_after_fork_child();
    bkt_tls_after_fork_child();
    bkt_state_unlock();
}
static void hook(void)
{
    static const struct bkt_fork_handlers handlers = {before_fork, after_fork_parent, after_fork_child};
    bkt_fork_handle(BKT_FORK_STORES, &handlers);
    /* HDF5's exit handler flushes the files of a program that just exits.  It runs after OpenSSL's handler,
     * if there is one. */
    (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

void bkt_store_hook_fork(void)
{
    (void)pthread_once(&hooked, hook);
    bkt_cred_hook_fork();
    bkt_pool_hook_fork();
}

/* ---- opening, and the end ---- */

/* Set the process up for its stores, before one is opened. */
static void begin(const struct bkt_settings *set)
{
    (void)pthread_once(&hooked, hook);
    bkt_stdfd_take();
    if (set->stats)
        bkt_stats_at_exit();
}

int bkt_store_open(const char *uri, const struct bkt_settings *set, struct bkt_store **out,
                   struct bkt_err *err)
{
    *out = NULL;
    BKT_FAIL_IF(err, !uri, BKT_EINVAL, "no store URI given");
    const struct bkt_store_kind *k;
    for (size_t i = 0; (k = kind_at(i)); i++) {
        if (strncmp(uri, k->prefix, strlen(k->prefix)) != 0)
            continue;
        BKT_CLEANUP(bkt_freep) char *norm = strdup(uri);
        BKT_NEED(err, norm);
        size_t n = strlen(norm);
        while (n > k->skip + 1 && norm[n - 1] == '/')
            norm[--n] = 0;
        begin(set);
        return k->open(norm, norm + k->skip, set, out, err);
    }
    BKT_FAIL(err, BKT_EINVAL, "'%.200s' is not a store; s3://bucket, file:///dir or https://host is expected",
             BKT_SHOWN(uri));
}

int bkt_url_open(const char *url, const struct bkt_settings *set, struct bkt_store **out, char **key,
                 struct bkt_err *err)
{
    begin(set);
    return bkt_url_store_open(url, set, out, key, err);
}

/* If the program has used libcrypto before hook(), libcrypto has an exit handler, and can't be initialised
 * again after that. */
bool bkt_store_is_usable(const struct bkt_store *st)
{
    return bkt_store_is_local(st) || OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL) == 1;
}

void bkt_store_cancelled(void) { bkt_engine_cancelled(); }

void bkt_store_shutdown(void)
{
    bkt_cred_shutdown();
    bkt_engine_shutdown();
    bkt_tls_shutdown();
    for (size_t i = 0; kind_at(i); i++)
        if (kind_at(i)->shutdown)
            kind_at(i)->shutdown();
    bkt_md5_shutdown();
}
