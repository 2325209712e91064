/* The parts of a backend or a decorator; for src/storage and tests only. */
#pragma once

#include <pthread.h>
#include <string.h>

#include "storage/store.h"

/** The lists of one call: keys below prefixes[0], in parts if there are cuts (bkt_store_list_parts()); or
 * below each of n prefixes (bkt_store_list_each()).  The latter two only for stores with many_lists. */
struct bkt_lists {
    const char *const *prefixes;
    size_t             n; /* > 0 */
    const char        *delimiter; /* "" or "/" */
    const char *const *cuts;
    size_t             n_cuts;
};

struct bkt_store_ops {
    bool        local;     /* no round trips */
    bool        directory; /* objects are files in a directory */
    bool        readonly;
    bool        many_lists; /* lists with several prefixes or with cuts are requested side by side */
    bool        decorator; /* passes requests on to another store, which counts them */
    /** Begin @p req, whose arguments are checked and whose outputs are reset.  It ends with
     *  bkt_store_finish(), on any thread, also before start() returns.  Never blocks on the network. */
    void (*start)(struct bkt_store *st, struct bkt_req *req);
    /** As start(), for PUT and DELETE.  NULL: start() begins them, too. */
    void (*change)(struct bkt_store *st, struct bkt_req *req);
    /** Begin DELETEs without conditions that belong together, at least two.  Each ends by itself, as under
     *  start().  The backend counts them.  @p reqs is borrowed for the call.  NULL: they are begun one by
     *  one. */
    void (*delete_many)(struct bkt_store *st, struct bkt_req *const *reqs, size_t n);
    /** Blocks.  NULL: not supported. */
    int (*list)(struct bkt_store *st, const struct bkt_lists *l, bkt_list_each_fn *each, void *arg,
                struct bkt_err *err);
    /** As bkt_store_uploads() and bkt_store_abort(); block.  NULL: the store has no uploads. */
    int (*uploads)(struct bkt_store *st, const char *prefix, bkt_upload_each_fn *each, void *arg,
                   struct bkt_err *err);
    int (*abort)(struct bkt_store *st, const char *key, const char *id, struct bkt_err *err);
    /** As bkt_store_may_put(), for a store that is not read-only; NULL: not known. */
    int (*may_put)(struct bkt_store *st, const char *key, struct bkt_err *err);
    /** As bkt_store_turn(); NULL: the store has no turns. */
    int (*turn)(struct bkt_store *st, const char *key);
    void (*end_turn)(int held); /* with turn */
    /** As bkt_store_will_write(); NULL: nothing to prepare. */
    void (*will_write)(struct bkt_store *st, const char *key);
    /** As bkt_store_pace().  NULL: nothing is known. */
    void (*pace)(struct bkt_store *st, double *first_byte_s, double *bytes_per_s);
    /** As bkt_store_ahead().  NULL: the store uses the local clock. */
    int64_t (*ahead)(struct bkt_store *st);
    /** As bkt_store_facts(); @p out is empty.  NULL: no server. */
    void (*facts)(struct bkt_store *st, struct bkt_store_facts *out);
    /** Free everything except the common part, which bkt_store_init() made.  No request is under way. */
    void (*close)(struct bkt_store *st);
};

/** First member of each backend's struct. */
struct bkt_store {
    const struct bkt_store_ops *ops;
    char                       *uri;
    pthread_mutex_t             lock; /* guards under_way */
    pthread_cond_t              idle;
    size_t                      under_way;
    atomic_uint                 generation; /* of the process, see bkt_fork_generation() */
    atomic_uint                 holders;    /* besides the one who opened it */
    _Atomic(struct bkt_shared_puts *)
        shared_puts; /* for batches of the thread with HDF5's lock; NULL: none */
};

/** bkt_store_enter() and bkt_store_leave() are the begin and the end of a backend's own work, for which
 * bkt_store_close() waits.  The store may be freed after the last bkt_store_leave(). */
void bkt_store_enter(struct bkt_store *st);
void bkt_store_leave(struct bkt_store *st);

/** Set up a wait for @p n requests. */
void bkt_req_batch_init(struct bkt_req_batch *b, size_t n);
/** One of the requests has ended; any thread.  @p b may be gone after the last one. */
void bkt_req_batch_end_one(struct bkt_req_batch *b);
/** Wait until all have ended.
 *  @param help_pool  run jobs of the pool during the wait: the caller may be one of the pool's threads */
void bkt_req_batch_wait(struct bkt_req_batch *b, bool help_pool);
void bkt_req_batch_fini(struct bkt_req_batch *b); /* after the wait */

/** The backends' constructors bkt_dir_open(), bkt_web_open() and bkt_s3_open(), as bkt_store_open().  @p uri
 * is normalised, @p rest is its part after the scheme; both are borrowed.  *out is left alone on failure. */
int bkt_dir_open(const char *uri, const char *rest, const struct bkt_settings *set, struct bkt_store **out,
                 struct bkt_err *err);
int bkt_web_open(const char *uri, const char *rest, const struct bkt_settings *set, struct bkt_store **out,
                 struct bkt_err *err);
int bkt_s3_open(const char *uri, const char *rest, const struct bkt_settings *set, struct bkt_store **out,
                struct bkt_err *err);
/** As bkt_url_open(), in a process that is set up for stores. */
int bkt_url_store_open(const char *url, const struct bkt_settings *set, struct bkt_store **out, char **key,
                       struct bkt_err *err);
/** Forget everything learned about S3's buckets. */
void bkt_s3_shutdown(void);

/** A kind of stores, by the begin of their URIs. */
struct bkt_store_kind {
    const char *prefix;
    size_t      skip; /* bytes of the URI that are the scheme */
    int (*open)(const char *uri, const char *rest, const struct bkt_settings *set, struct bkt_store **out,
                struct bkt_err *err);
    void (*shutdown)(void); /* in bkt_store_shutdown(); may be NULL */
};
/** Add one kind, before the first store is opened; for tests. */
void bkt_store_add_kind(const struct bkt_store_kind *kind);

/** Fill in the common part.  On failure (out of memory) there is nothing to free. */
BKT_NODISCARD int bkt_store_init(struct bkt_store *st, const struct bkt_store_ops *ops, const char *uri,
                                 struct bkt_err *err);

/** Begin @p n requests that a caller waits for together.  DELETEs without conditions become one call of
 *  delete_many(), if the backend has it. */
void bkt_store_start_all(struct bkt_store *st, struct bkt_req *reqs, size_t n);

/** End a request: req->rc and all outputs are set.  The request may have been freed afterwards. */
void bkt_store_finish(struct bkt_store *st, struct bkt_req *req);

/** The request's error, allocated on first use.  BKT_REQ_FAIL() records a failure in it and has the failure's
 *  code as its value. */
struct bkt_err *bkt_req_err(struct bkt_req *req); /* NULL: memory is short */
/* The whole name of a request's object in a message: BKT_REQ_NAME in the format, BKT_REQ_NAMED() among the
 * arguments. */
#define BKT_REQ_NAME       "%s%s%s"
#define BKT_REQ_NAMED(req) (req)->uri ? (req)->uri : "", bkt_req_slash(req), (req)->key
static inline const char *bkt_req_slash(const struct bkt_req *req)
{
    size_t n = req->uri ? strlen(req->uri) : 0;
    return n && req->uri[n - 1] != '/' ? "/" : "";
}
#define BKT_REQ_FAIL(req, code, ...)                                                                         \
    ((req)->rc = bkt_err_push(bkt_req_err(req), (code), BKT_HERE, __VA_ARGS__))

/** Compare a successful answer with a version, which the first one sets.  False: it is of another version. */
bool bkt_version_fits(struct bkt_version *v, const struct bkt_req *req);

/** Whether a component of the key is "." or "..". */
bool bkt_key_has_dots(const char *key);
/** The name of an operation: GET, HEAD, PUT, DELETE. */
const char *bkt_op_name(enum bkt_op op);

/** The part of an object of @p size bytes that a GET asks for.  Checks the start, and cuts at the object's
 *  end if the request allows it.  Otherwise sets req->rc and the error. */
BKT_NODISCARD int bkt_req_span(struct bkt_req *req, uint64_t size, uint64_t *len);

/** Memory for @p len bytes of a GET's answer: req->dst, or the end of req->body, which is made long enough.
 *  NULL: out of memory, recorded in the request. */
void *bkt_req_room(struct bkt_req *req, uint64_t len);

/** Whether conditions hold for an object with this ETag (NULL: there is no object): BKT_OK, BKT_EPRECOND,
 *  BKT_ENOTMOD; recorded in the request. */
int bkt_req_condition(struct bkt_req *req, const char *etag);

/** bkt_state_lock() and bkt_state_unlock() guard small state of the process and of stores.  The lock is held
 * across fork(), so that a child finds the state whole. */
void bkt_state_lock(void);
void bkt_state_unlock(void);
