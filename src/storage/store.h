/* Bytes by key: the contract that every backend keeps.
 *
 * A store is one bucket (or directory, or web server) opened by its URI:
 *    s3://bucket            S3 with SigV4, or anonymous
 *    file:///dir            a directory; key a/b is the file dir/a/b
 *    https://host[:port]/…  read-only, plain HTTP ranges; also http://
 *                           (one file by its address: bkt_url_open())
 *
 * Keys are UTF-8 without a leading '/'.  Every request is asynchronous underneath: start()
 * hands it to the backend, done() reports its end.  The blocking calls are small wrappers.  Any number of
 * threads may use one store at once. Requests and bytes are counted (stats.h) and traced (trace.h).
 *
 * PUT and DELETE take conditions.  A PUT that loses its race ends as BKT_EPRECOND, whatever the server's
 * answer is.  If the answer to a PUT is lost, the store looks for the object before it sends the PUT again,
 * so the PUT is not applied twice.  One case cannot be recognised: the PUT was applied, and another writer
 * read and replaced the object before the store looked.  That case is reported as BKT_EPRECOND, too.  So a
 * caller that reads again and repeats its change must accept that the change is there already.  S3 servers
 * without conditional PUT are reported as BKT_EUNSUP, unless setting writers=one is set, which sends all PUTs
 * without conditions.
 *
 * Retries (408/429/500/502-504/520-524, resets, short bodies, stalls) happen below this interface, with
 * jittered back-off and within the deadline.  A failure that arrives here is final.
 *
 * One thing is left to the reader of a directory: HSDS's directory driver writes in place, so a GET can find
 * an object empty or cut.  Only the object's content shows that, so schema reads it again
 * (bkt_objects_pause()). */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/settings.h"

#define BKT_WHOLE    UINT64_MAX
#define BKT_ETAG_MAX 96 /* S3's have 40 bytes at most (quotes, MD5, "-10000"), those of directories 52; a
                           longer one is ignored */

/* The message about a file whose version has changed: "the file …" BKT_WHY_REPLACED. */
#define BKT_WHY_REPLACED "was replaced while it was open; open it again"

/** The version of an object that answers came from, for a caller that reads it in several requests and has no
 *  ETag of it.  Zero it first; the store fills it in and guards it. */
struct bkt_version {
    bool     known;
    uint64_t size;  /* UINT64_MAX: not known */
    double   mtime; /* 0: not known */
    char     etag[BKT_ETAG_MAX];
};

/** The part of an ETag that names a version.  It lacks the quotes, which some servers leave out in lists, and
 * the mark of a weak ETag.
 * @param n  gets its length; 0: there is no ETag
 * @return borrowed; not ended by a NUL */
const char *bkt_etag_bare(const char *etag, size_t *n);
/** Whether two ETags name one version; "" never does. */
bool bkt_etag_same(const char *a, const char *b);

struct bkt_recording; /* recorded_requests.h */
struct bkt_store; /* opaque; see store_impl.h */

enum bkt_op { BKT_GET, BKT_HEAD, BKT_PUT, BKT_DELETE };

/** One request.  The caller owns it and everything it points to, and does not change them until done() is
 *  called.  Zero it first; free its outputs with bkt_req_fini(). */
struct bkt_req {
    /* in */
    enum bkt_op       op;
    const char       *key;
    uint64_t          off;           /* GET: first byte, from 0 */
    uint64_t          len;           /* GET: bytes, > 0; BKT_WHOLE: the whole object from off = 0 */
    bool              may_be_short;  /* GET range: the object may end before the range does; n is the number
                                        of bytes received */
    const char       *if_match;      /* ETag as in bkt_req.etag; GET, PUT, DELETE; NULL: no condition */
    struct bkt_version *version;     /* GET, HEAD: the first answer's version is recorded here, and an answer
                                        of another version ends as BKT_EPRECOND; NULL: not compared */
    const char       *if_none_match; /* ETag, or "*" for PUT: only when absent; NULL: no condition */
    void             *dst;           /* GET range: memory for the body, len bytes; NULL: the body goes to
                                        `body` */
    /** GET range, instead of dst: called with the body piece by piece: n bytes that lie `at` bytes after off.
     *  Pieces come in ascending order, but a repeated request may begin again at an earlier place, with the
     *  same or newer bytes.  Runs on the store's thread: must not block. */
    void (*sink)(void *sink_arg, uint64_t at, const void *p, size_t n);
    void *sink_arg;
    const void       *put;           /* PUT: the bytes, put_len of them */
    size_t            put_len;
    bool               small;        /* GET: a few KB are expected, so the request mostly waits: it gets more
                                        connections from the start */
    bool               guess;        /* GET: only a guess that the object may exist.  HTTP 500 of a plain web
                                        server then ends as BKT_EUNSUP: many fail so below a file's name */
    const atomic_bool *cancel;       /* may be NULL.  Once true, a request that has not begun ends as
                                        BKT_ECANCEL.  So does a GET over the network that has begun, soon
                                        after bkt_store_cancelled() */
    /** Called exactly once, on any thread, after the outputs are set.  It must not block, nor call the
     *  store's blocking functions.  It may start further requests, hand work to a pool, and free the request.
     *  NULL is allowed only under bkt_store_perform(). */
    void (*done)(struct bkt_req *req);
    void *arg;                       /* the caller's own */

    /* out */
    int rc; /* BKT_OK, BKT_ENOENT, BKT_EACCES, BKT_ENOTMOD, BKT_EPRECOND, BKT_ERANGE (range
               starts at or past the end), BKT_EFORMAT, BKT_ENET, BKT_ETIME, … */
    struct bkt_err *err;             /* the error on failure (may be NULL if memory is short) */
    struct bkt_buf  body;            /* GET without dst */
    uint64_t        n;               /* GET: bytes received */
    uint64_t        size;            /* GET, HEAD: the whole object's size; UINT64_MAX: the server did not
                                        send it */
    double          mtime;           /* GET, HEAD: Last-Modified, seconds since the epoch; 0: unknown */
    char            etag[BKT_ETAG_MAX]; /* as the server sent it, with quotes; "": unknown.  Directory: made
                                           of inode, size and mtime.  PUT: the new version's, so that the
                                           writer can go on with If-Match */

    /* used by the backend while the request is under way */
    const char       *uri;   /* the store's, for messages */
    void             *impl;
    struct bkt_req   *next;
    struct bkt_req_batch *batch;     /* bkt_store_perform()'s */
    struct bkt_recording *recording; /* gets the outcome; NULL: none */
};

/** Open a store.  No network is touched.
 * @param uri  see above; borrowed.  S3 keys below a prefix are not a store: the domain code adds prefixes
 * @param set  settings; copied as far as needed, borrowed for the call
 * @param out  the store, to be released with bkt_store_close()
 * @return BKT_OK; BKT_EINVAL: unknown scheme or bad bucket name; BKT_ENOENT: no such directory; BKT_EACCES,
 *     BKT_EIO: it cannot be opened; BKT_ENOMEM.  *out is NULL on failure */
BKT_NODISCARD int bkt_store_open(const char *uri, const struct bkt_settings *set, struct bkt_store **out,
                                 struct bkt_err *err);

/** Open one file on a web server as a store of one object.  No network is touched.
 *
 * The address is requested byte for byte, with its query and percent escapes; a fragment ('#') is cut off.  A
 * HEAD is sent as a GET of one byte, since a signed address is often good for GET only.  Redirects are
 * followed, also to other servers, and the address at their end serves all requests until it expires.  If an
 * answer belongs to another version of the file than the first answer, the request ends as BKT_EPRECOND.  To
 * read a file that was replaced, the caller opens a new store.  A server without ranges is reported as
 * BKT_EUNSUP, unless the request is for the whole file.  A secret in the query never appears in messages,
 * traces or bkt_store_uri().
 * @param url  http(s)://host[:port]/path[?query]; borrowed
 * @param set  as for bkt_store_open()
 * @param out  the store, to be released with bkt_store_close()
 * @param key  gets the key to be used in requests, the caller's (free()).  It is the file's name for messages
 * and does not identify the file: addresses with other queries have the same one
 * @return BKT_OK; BKT_EINVAL: not such an address */
BKT_NODISCARD int bkt_url_open(const char *url, const struct bkt_settings *set, struct bkt_store **out,
                               char **key, struct bkt_err *err);

/** Add a holder, which must also call bkt_store_close().  Returns @p st. */
struct bkt_store *bkt_store_share(struct bkt_store *st);

/** The last holder waits for the requests under way, and then frees the store.  NULL is allowed. */
void bkt_store_close(struct bkt_store *st);
static inline void bkt_store_closep(struct bkt_store **st) { bkt_store_close(*st); }

/** The URI with which the store was opened, normalised (no trailing '/'); borrowed. */
const char *bkt_store_uri(const struct bkt_store *st);
/** A directory or memory, or joined parts of such stores: no round trips. */
bool        bkt_store_is_local(const struct bkt_store *st);
/** Whether requests are possible: false if the process is ending, and a library that they need has ended. */
bool bkt_store_is_usable(const struct bkt_store *st);
bool bkt_store_is_directory(const struct bkt_store *st);       /* its objects are files in a directory */
bool        bkt_store_is_readonly(const struct bkt_store *st); /* a PUT or DELETE ends as BKT_EACCES */
/** Fail with a message if the store is read-only.  BKT_EACCES */
BKT_NODISCARD int bkt_store_need_writable(const struct bkt_store *st, struct bkt_err *err);
/** Whether @p key can be stored, as far as that is known without a request.  Only a directory's permissions
 *  are checked; for a bucket the first PUT shows it.
 *  @return BKT_OK; BKT_EACCES, which names the directory */
BKT_NODISCARD int bkt_store_may_put(struct bkt_store *st, const char *key, struct bkt_err *err);

/** The server's speed as seen in its answers: seconds until the first byte, and bytes per second of one
 *  connection; 0: not known. */
void bkt_store_pace(struct bkt_store *st, double *first_byte_s, double *bytes_per_s);

/** The number of seconds by which the store's clock is ahead of the local clock; 0: not known.  For a server
 *  it is taken from its last answer.  For a directory that was written to before, a scratch file is created
 *  and removed.  bkt_listed.stored is compared with the local time plus this number. */
int64_t bkt_store_ahead(struct bkt_store *st);

/** A store's server, as far as it is known without a request.  Texts that don't fit are cut. */
struct bkt_store_facts {
    char endpoint[300];    /* scheme://host[:port], or "" for stores without a server */
    char region[40];       /* "": none */
    char credentials[200]; /* their source, without secrets; "": none were used yet, or none are needed */
};
/** Fill in @p out; its texts are "" for a store without a server. */
void bkt_store_facts(struct bkt_store *st, struct bkt_store_facts *out);

/** Announce that objects like @p key will be written.  The store begins to find out how the server takes
 *  conditions.  Does not wait.  Changes no objects except scratch objects, which it deletes. */
void bkt_store_will_write(struct bkt_store *st, const char *key);

/** Begin a request.  Never fails here: failures arrive in done(). */
void bkt_store_start(struct bkt_store *st, struct bkt_req *req);

/** Announce that `cancel` of some request has become true: the requests under way are checked.  Any thread;
 *  does not wait. */
void bkt_store_cancelled(void);

/** Start @p n requests (done must be NULL) and wait for all.  Each request's rc has its own result.
 *  @return BKT_OK if all succeeded, else the first failure's code in request order, with its error in @p
 *  err */
int bkt_store_perform(struct bkt_store *st, struct bkt_req *reqs, size_t n, struct bkt_err *err);
/** As bkt_store_perform(), for @p n > 0.  @p beside (may be NULL) is called once all requests have begun,
 *  before the first is waited for; with it, no batch is spread over processes (shared_puts.h). */
int bkt_store_perform_and(struct bkt_store *st, struct bkt_req *reqs, size_t n, void (*beside)(void *arg),
                          void *arg, struct bkt_err *err);

/** Requests that one thread waits for.  For src/storage only (store_impl.h has its functions); it is here
 *  because struct bkt_await holds one. */
struct bkt_req_batch {
    pthread_mutex_t lock;
    pthread_cond_t  done;
    size_t          n, left;
};
struct bkt_node_reads;
/** One request that is begun now and waited for later, by one thread.  Zeroed: none was begun. */
struct bkt_await {
    struct bkt_req req; /* filled in by the caller except done and arg; its outputs are valid once bkt_await()
                           has returned */
    struct bkt_req_batch batch;
};
/** Begin w->req.  @p w must not move until bkt_await_fini().
 * @param shared  answers are shared with other processes of this node: bkt_node_reads_start(); or NULL */
void bkt_await_start(struct bkt_node_reads *shared, struct bkt_store *st, struct bkt_await *w);
/** Whether the request has ended; does not wait. */
bool bkt_await_arrived(struct bkt_await *w);
/** Wait for the request.  Further calls return at once. */
void bkt_await(struct bkt_await *w);
/** Wait as bkt_await() does, and free the outputs. */
void bkt_await_fini(struct bkt_await *w);

/** Release the outputs; the inputs belong to the caller. */
void bkt_req_fini(struct bkt_req *req);

/** Requests that own their keys.  A zeroed struct is empty. */
struct bkt_reqs {
    struct bkt_req *v;
    struct bkt_buf *keys; /* the key of each request: bkt_reqs_perform() sets v[i].key to it */
    size_t          n;
};
/** Allocate @p n zeroed requests, to be filled in.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_reqs_init(struct bkt_reqs *r, size_t n);
/** Perform all requests at once.  Each request's rc has its own result. */
void bkt_reqs_perform(struct bkt_store *st, struct bkt_reqs *r);
void bkt_reqs_fini(struct bkt_reqs *r);

/** Copy the known version to @p out, so that it can be read while answers arrive.  False: not known yet. */
bool bkt_version_get(const struct bkt_version *v, struct bkt_version *out);
/** The version's ETag for If-Match; NULL: it is unknown, or weak, which If-Match can't compare. */
const char *bkt_version_condition(const struct bkt_version *v);
/** Forget the version: the next answer's version is recorded, whichever it is.  Data read before are void. */
void bkt_version_forget(struct bkt_version *v);

/** GET and wait.  @p out gets the bytes in place of its contents.  Errors as in struct bkt_req.
 * @param off, len  as in struct bkt_req */
BKT_NODISCARD int bkt_store_get(struct bkt_store *st, const char *key, uint64_t off, uint64_t len,
                                struct bkt_buf *out, struct bkt_err *err);
/** HEAD and wait.  @p size (may be NULL) gets the object's size.  BKT_ENOENT: no such object; … */
BKT_NODISCARD int bkt_store_head(struct bkt_store *st, const char *key, uint64_t *size, struct bkt_err *err);
/** PUT of @p len bytes.
 * @param if_match, if_none_match  as in struct bkt_req
 * @param etag  gets the new version's ETag, BKT_ETAG_MAX bytes; may be NULL
 * @return BKT_OK; BKT_EPRECOND: another writer was first, and nothing of this PUT is stored; … */
BKT_NODISCARD int bkt_store_put(struct bkt_store *st, const char *key, const void *bytes, size_t len,
                                const char *if_match, const char *if_none_match, char *etag,
                                struct bkt_err *err);
/** Delete @p n objects, many at once; a missing object counts as deleted.  All are tried.  The first failure
 *  is reported. */
BKT_NODISCARD int bkt_store_delete(struct bkt_store *st, const char *const *keys, size_t n,
                                   struct bkt_err *err);

/** Wait for a turn to read, change and write @p key, after other writers on this machine that asked for one.
 *  Conditional PUTs are still needed, since a writer that does not ask is not kept away.  Turns save writers
 *  that meet often from losing to each other again and again.  A turn ends with the process, too.
 *  @return the argument of bkt_store_end_turn(); -1: the store has no turns */
int  bkt_store_turn(struct bkt_store *st, const char *key);
void bkt_store_end_turn(struct bkt_store *st, int held); /* -1 is allowed */

/** One listed key. */
struct bkt_listed {
    const char *key;      /* full key; for a common prefix it ends with the delimiter */
    bool        is_prefix;
    uint64_t    size;
    double      mtime;
    const char *etag;     /* "": the backend has no ETag */
    bool is_link;         /* a symbolic link to a folder that isn't followed: nothing behind it is listed */
    /* when it was stored, or later, by the store's clock; in a directory mtime is by the writer's clock */
    double stored;
};
/** Called for an entry, which is borrowed for the call; a negative return stops the list. */
typedef int bkt_list_each_fn(const struct bkt_listed *entry, void *arg);
/** List keys by prefix, in the backend's order (S3: UTF-8 binary).
 * @param prefix     "" for all keys
 * @param delimiter  "" or "/": keys are rolled up after the first delimiter that follows the prefix
 * @param each       called for each entry; a negative return is returned
 * @return BKT_OK; the negative return of @p each; BKT_EACCES, BKT_EUNSUP (plain HTTP), … */
BKT_NODISCARD int bkt_store_list(struct bkt_store *st, const char *prefix, const char *delimiter,
                                 bkt_list_each_fn *each, void *arg, struct bkt_err *err);

/** As bkt_store_list() without delimiter, for a prefix with many keys of which some are known.  Part i has
 *  the keys after cuts[i-1], up to and including cuts[i].  The parts are requested side by side if the
 *  backend can do that.
 *  @param cuts  @p n_cuts keys in the order of bytes; they begin with the prefix, and need not exist */
BKT_NODISCARD int bkt_store_list_parts(struct bkt_store *st, const char *prefix, const char *const *cuts,
                                       size_t n_cuts, bkt_list_each_fn *each, void *arg, struct bkt_err *err);

/** List the keys of each of @p n prefixes, one prefix after the other.  The lists are requested side by side
 *  if the backend can do that.  Otherwise as bkt_store_list() without delimiter. */
BKT_NODISCARD int bkt_store_list_each(struct bkt_store *st, const char *const *prefixes, size_t n,
                                      bkt_list_each_fn *each, void *arg, struct bkt_err *err);

/** An upload in parts that has begun, and has been neither completed nor aborted.  Its writer is still at
 *  work, or was killed, or never got the answer to its begin.  The upload is not visible as an object, but
 *  the server keeps its parts. */
struct bkt_upload {
    const char *key, *id;
    double      begun; /* seconds since the epoch; 0: the server did not send it */
};
typedef int bkt_upload_each_fn(const struct bkt_upload *upload, void *arg);
/** List the uploads of keys that begin with @p prefix.  A store without uploads lists nothing.
 * @param each  as for bkt_store_list()
 * @return BKT_OK; the negative return of @p each; BKT_EACCES, BKT_EUNSUP, BKT_EFORMAT: the server does not
 *     list them */
BKT_NODISCARD int bkt_store_uploads(struct bkt_store *st, const char *prefix, bkt_upload_each_fn *each,
                                    void *arg, struct bkt_err *err);
/** Abort one upload.  A missing upload counts as aborted.  If its writer is still at work, that PUT fails. */
BKT_NODISCARD int bkt_store_abort(struct bkt_store *st, const char *key, const char *id, struct bkt_err *err);

/** Install all handlers for fork() of storage and of the pool.  Code with a handler that waits for requests
 *  registers it after this call.  Then its handler runs before those of storage, which hold the locks that
 *  requests need. */
void bkt_store_hook_fork(void);

/** End the process-wide parts (I/O threads, connections, cached credentials).  The connector's terminate
 *  calls it; they start again on demand.  No request may be under way. */
void bkt_store_shutdown(void);
