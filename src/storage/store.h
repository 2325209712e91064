/* Bytes by key: the contract that every backend keeps.
 *
 * A store is one bucket (or directory, or web server) opened by its URI:
 *   s3://bucket            S3 with SigV4, or anonymous
 *   file:///dir            a directory; key a/b is the file dir/a/b
 *   https://host[:port]/…  read-only, plain HTTP ranges; also http://
 *   mem:name               in memory, one per name and process; what tests use
 * Keys are UTF-8 without a leading '/'.  Every request is asynchronous underneath: start() hands it to
 * the backend, done() reports it.  The blocking calls are small wrappers.  Any number of threads may use
 * one store at once.  Requests and bytes are counted (stats.h) and traced (trace.h) on the way.
 *
 * PUT and DELETE take conditions.  A PUT that loses its race ends as BKT_EPRECOND, whatever the server calls it, and one
 * whose answer got lost is looked for before it is sent again: it is not applied twice.  Only this cannot be told: it
 * was applied, and another writer who had read it replaced it before we looked; that is BKT_EPRECOND, too.  So who
 * reads again and repeats his change must not mind finding it there.  S3 servers without conditional PUT: BKT_EUNSUP,
 * unless setting writers=one, which sends all PUTs without conditions.
 *
 * What is retried (408/429/500/502/503/504, resets, short bodies, stalls; with jittered back-off, within the
 * deadline) is retried below this interface: a failure that arrives here is final. */
#ifndef BKT_STORE_H
#define BKT_STORE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "settings.h"

#define BKT_WHOLE    UINT64_MAX
#define BKT_ETAG_MAX 96 /* S3's have 40 bytes at most (quotes, MD5, "-10000"), those of directories 52; a longer one counts as none */

/** Which version of an object answers came from, for who reads it in several requests and has no ETag of it.  Zero it first; the
 *  store fills it in and guards it. */
struct bkt_version {
    bool     known;
    uint64_t size;  /* UINT64_MAX: not said */
    double   mtime; /* 0: not said */
    char     etag[BKT_ETAG_MAX];
};

/** What of an ETag names a version: without quotes, which some servers leave out in lists, and the mark of a weak one.
 * @param n  gets its length; 0: none
 * @return borrowed; not ended by a 0 */
const char *bkt_etag_bare(const char *etag, size_t *n);
/** Whether two ETags name one version; "" is none. */
bool bkt_etag_same(const char *a, const char *b);

struct bkt_batch; /* store_impl.h */
struct bkt_store; /* opaque; see store_impl.h */

enum bkt_op { BKT_GET, BKT_HEAD, BKT_PUT, BKT_DELETE };

/** One request.  The caller owns it and everything it points to, unchanged until done() is called.
 *  Zero it first; free what came out with bkt_req_fini(). */
struct bkt_req {
    /* in */
    enum bkt_op       op;
    const char       *key;
    uint64_t          off;           /* GET: first byte, from 0 */
    uint64_t          len;           /* GET: bytes, > 0; BKT_WHOLE: the whole object from off = 0 */
    bool              may_be_short;  /* GET range: reaching the object's end is no error; n tells how much came */
    const char       *if_match;      /* ETag as bkt_req.etag gave it; GET, PUT, DELETE; NULL: no condition */
    struct bkt_version *version;     /* GET, HEAD: the first answer notes its version here, and one of another version ends as
                                        BKT_EPRECOND; NULL: not compared */
    const char       *if_none_match; /* ETag, or "*" for PUT: only when absent; NULL: no condition */
    void             *dst;           /* GET range: the body goes straight here (room for len bytes); NULL: into body */
    /** GET range, instead of dst: takes the body piece by piece: n bytes that lie `at` behind off.  In ascending order,
     *  except that a request sent again may begin again from an earlier place with the same or newer bytes.  On the
     *  store's thread: must not block. */
    void (*sink)(void *sink_arg, uint64_t at, const void *p, size_t n);
    void *sink_arg;
    const void       *put;           /* PUT: the bytes, put_len of them */
    size_t            put_len;
    bool               small;        /* GET: a few KB are expected, so that it mostly waits: more connections for it from the start */
    const atomic_bool *cancel;       /* may be NULL; once true, a request that has not begun ends as BKT_ECANCEL, and so does a
                                        GET over the network that has, soon after bkt_store_cancelled() */
    /** Called exactly once, on any thread, after the outputs are set.  Must not block, nor call the store's
     *  blocking functions; may start further requests and hand work to a pool.  The request may be freed
     *  within it.  NULL only under bkt_store_run(). */
    void (*done)(struct bkt_req *req);
    void *arg;                       /* the caller's own */

    /* out */
    int             rc;              /* BKT_OK, BKT_ENOENT, BKT_EACCES, BKT_ENOTMOD, BKT_EPRECOND, BKT_ERANGE (range
                                        starts at or past the end), BKT_EFORMAT, BKT_ENET, BKT_ETIME, … */
    struct bkt_err *err;             /* the story on failure (may be NULL if memory is short) */
    struct bkt_buf  body;            /* GET without dst */
    uint64_t        n;               /* GET: bytes that came */
    uint64_t        size;            /* GET, HEAD: the whole object's size; UINT64_MAX when the server did not say */
    double          mtime;           /* GET, HEAD: Last-Modified, seconds since the epoch; 0 unknown */
    char            etag[BKT_ETAG_MAX]; /* as the server sent it, quotes and all; "" unknown.  Directory: made of inode, size and
                                           mtime.  PUT: the new version's, so that the writer can go on with If-Match */

    /* the backend's own while under way */
    const char       *uri;   /* the store's, for messages */
    void             *impl;
    struct bkt_req   *next;
    struct bkt_batch *batch; /* bkt_store_run()'s */
};

/** Open a store.
 * @param uri  see above; borrowed.  S3 keys below a prefix are not a store: the domain code adds prefixes
 * @param set  settings; copied as far as needed, borrowed for the call
 * @param out  the store; bkt_store_close()
 * @return BKT_OK; BKT_EINVAL, unknown scheme or bad bucket name; BKT_ENOENT, no such directory.
 *         No network is touched. */
BKT_NODISCARD int bkt_store_open(const char *uri, const struct bkt_settings *set, struct bkt_store **out,
                                 struct bkt_err *err);

/** Wait for what is under way, then free.  NULL is fine. */
void bkt_store_close(struct bkt_store *st);

/** The URI it was opened with, normalised (no trailing '/'); borrowed. */
const char *bkt_store_uri(const struct bkt_store *st);
bool        bkt_store_is_local(const struct bkt_store *st);  /* directory or memory, or parts of some: no round trips */
bool        bkt_store_is_readonly(const struct bkt_store *st);
/** Whether @p key can be stored, as far as that is known without a request: a directory's permissions tell, of a bucket only a PUT
 *  does.  @return BKT_OK; BKT_EACCES, which names the directory */
BKT_NODISCARD int bkt_store_may_put(struct bkt_store *st, const char *key, struct bkt_err *err);

/** What its answers tell of a server: seconds until the first byte, bytes per second of one connection; 0: not known. */
void bkt_store_pace(struct bkt_store *st, double *first_byte_s, double *bytes_per_s);

/** By how many seconds the store's clock is ahead of ours: the server's at its last answer, a directory's by a scratch file that is made
 *  and removed, where one has been written to before; 0 where that isn't known.  What its objects' mtime is compared with is our time
 *  and this. */
int64_t bkt_store_ahead(struct bkt_store *st);

/** Objects like @p key will be written: what there is to be found out about the store before (how it takes conditions) is begun
 *  now.  Doesn't wait; changes no object but scratch ones, which it deletes. */
void bkt_store_will_write(struct bkt_store *st, const char *key);

/** Begin a request.  Never fails here: failures arrive through done(). */
void bkt_store_start(struct bkt_store *st, struct bkt_req *req);

/** Some request's `cancel` has become true: those under way are looked through.  Any thread; does not wait. */
void bkt_store_cancelled(void);

/** Start @p n requests (done must be NULL) and wait for all.  Returns BKT_OK if all succeeded, else the first
 *  failure's code in request order, its story in @p err; each request's rc says how it fared. */
int bkt_store_run(struct bkt_store *st, struct bkt_req *reqs, size_t n, struct bkt_err *err);
/** The same for @p n > 0; once all are begun, and before any is waited for, @p meanwhile is called (NULL: nothing). */
int bkt_store_run_and(struct bkt_store *st, struct bkt_req *reqs, size_t n, void (*meanwhile)(void *arg), void *arg,
                      struct bkt_err *err);

/** Release what came back; the request's inputs are the caller's. */
void bkt_req_fini(struct bkt_req *req);

/** Requests with keys of their own.  A zeroed one is empty. */
struct bkt_reqs {
    struct bkt_req *v;
    struct bkt_buf *keys; /* each request's: v[i].key is set to it when they are made */
    size_t          n;
};
/** @p n of them, zeroed, to be filled in.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_reqs_init(struct bkt_reqs *r, size_t n);
/** Make all at once and wait for them; each one's rc says how it fared. */
void bkt_reqs_run(struct bkt_store *st, struct bkt_reqs *r);
void bkt_reqs_fini(struct bkt_reqs *r);

/** What is known of it: copied to @p out, so that it can be looked at while answers come.  false: nothing yet. */
bool bkt_version_get(const struct bkt_version *v, struct bkt_version *out);
/** The next answer's version counts, whichever it is: what was read before is void. */
void bkt_version_forget(struct bkt_version *v);

/** Blocking conveniences over bkt_store_run(). */
BKT_NODISCARD int bkt_store_get(struct bkt_store *st, const char *key, uint64_t off, uint64_t len,
                                struct bkt_buf *out, struct bkt_err *err);
BKT_NODISCARD int bkt_store_head(struct bkt_store *st, const char *key, uint64_t *size, struct bkt_err *err);
/** PUT.  @p if_match, @p if_none_match: as in struct bkt_req.  @p etag: the new version's, BKT_ETAG_MAX bytes, may be NULL.
 *  @return BKT_OK; BKT_EPRECOND, another writer was first: nothing of ours is stored; … */
BKT_NODISCARD int bkt_store_put(struct bkt_store *st, const char *key, const void *bytes, size_t len, const char *if_match,
                                const char *if_none_match, char *etag, struct bkt_err *err);
/** Delete @p n objects, many at once; one that is not there counts as deleted.  All are tried; the first failure is
 *  reported. */
BKT_NODISCARD int bkt_store_delete(struct bkt_store *st, const char *const *keys, size_t n, struct bkt_err *err);

/** Wait for a turn to read, change and write @p key, after others on this machine who asked for one.  Conditional PUTs are
 *  needed as before: whoever doesn't ask isn't kept away.  It saves those who meet often from losing to each other again
 *  and again.
 *  @return what bkt_store_end_turn() wants; -1: a store without turns (it ends with the process too) */
int  bkt_store_turn(struct bkt_store *st, const char *key);
void bkt_store_end_turn(int held); /* -1 is fine */

/** One listed key. */
struct bkt_listed {
    const char *key;      /* full key; for a common prefix it ends with the delimiter */
    bool        is_prefix;
    uint64_t    size;
    double      mtime;
    const char *etag;     /* "" when the backend has none */
};
/** List keys by prefix, in the backend's order (S3: UTF-8 binary).
 * @param prefix     "" for all
 * @param delimiter  "" or "/": roll up what follows the first delimiter behind the prefix
 * @param each       called for each entry (borrowed for the call); a negative return stops and is returned
 * @return BKT_OK; what @p each returned; BKT_EACCES, BKT_EUNSUP (plain HTTP), … */
BKT_NODISCARD int bkt_store_list(struct bkt_store *st, const char *prefix, const char *delimiter,
                                 int (*each)(const struct bkt_listed *entry, void *arg), void *arg,
                                 struct bkt_err *err);

/** The same without delimiter, for a prefix that has many keys of which some are known: part i has those behind cuts[i-1],
 *  up to and with cuts[i]; the parts are asked for side by side, where the backend can do that.
 * @param cuts  @p n_cuts keys in the order of bytes; they begin with the prefix, and need not exist */
BKT_NODISCARD int bkt_store_list_parts(struct bkt_store *st, const char *prefix, const char *const *cuts, size_t n_cuts,
                                       int (*each)(const struct bkt_listed *entry, void *arg), void *arg, struct bkt_err *err);

/** Keys of each of @p n prefixes, one prefix after the other; they are asked for side by side, where the backend can do that.
 *  Otherwise as bkt_store_list() without delimiter. */
BKT_NODISCARD int bkt_store_list_each(struct bkt_store *st, const char *const *prefixes, size_t n,
                                      int (*each)(const struct bkt_listed *entry, void *arg), void *arg, struct bkt_err *err);

/** An upload in parts that was begun, and neither ended nor given up: its writer is at it, or was killed, or never heard that it
 *  had begun.  Nothing of it can be seen, but the server keeps its parts. */
struct bkt_upload {
    const char *key, *id;
    double      begun; /* seconds since the epoch; 0: the server did not say */
};
/** Those of keys that begin with @p prefix.  @p each: as for bkt_store_list().  A store that has no uploads has none to tell of.
 *  @return BKT_OK; what @p each returned; BKT_EACCES, BKT_EUNSUP, BKT_EFORMAT: the server doesn't tell */
BKT_NODISCARD int bkt_store_uploads(struct bkt_store *st, const char *prefix,
                                    int (*each)(const struct bkt_upload *upload, void *arg), void *arg, struct bkt_err *err);
/** Give one up; one that isn't there any more counts as given up.  If its writer is at it, that PUT fails. */
BKT_NODISCARD int bkt_store_abort(struct bkt_store *st, const char *key, const char *id, struct bkt_err *err);

/** Changes in every forked child: state of threads that stayed with the parent is void there.  (getpid() asks the kernel
 *  each time.) */
unsigned bkt_fork_generation(void);

/** Have all handlers for fork() of storage and of the pool in place.  Whoever has one that waits until requests have ended
 *  registers it after this: then it runs before theirs, which hold the locks that requests need. */
void bkt_store_hook_fork(void);

/** End the process-wide parts (I/O thread, connections, cached credentials).  Called from the connector's
 *  terminate; they start again on demand.  No request may be under way. */
void bkt_store_shutdown(void);

#endif
