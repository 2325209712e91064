/* Error codes, and the error object that every layer fills.  Only vol shows it to HDF5.
 *
 * A function that can fail returns BKT_OK or one of the negative codes below.  It takes a `struct bkt_err *`
 * as its last argument, which may be NULL.  The root cause is frame[0].  A caller adds a frame only if it
 * knows something that lower code cannot know (which dataset, which chunk).  Nothing here allocates, so
 * errors can be reported when memory is short, and from any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*        code           text */
#define BKT_ERRORS(X)                                                                                        \
    X(BKT_ENOENT, "no such object")                                                                          \
    X(BKT_EACCES, "access denied")                                                                           \
    X(BKT_EBUSY, "server asks to slow down")                                                                 \
    X(BKT_ENET, "transfer failed")                                                                           \
    X(BKT_ETIME, "deadline passed")                                                                          \
    X(BKT_EFORMAT, "stored data malformed")                                                                  \
    X(BKT_ERANGE, "range outside the object")                                                                \
    X(BKT_EPRECOND, "object changed (precondition failed)")                                                  \
    X(BKT_ENOTMOD, "object not modified")                                                                    \
    X(BKT_EEXIST, "object exists already")                                                                   \
    X(BKT_EINVAL, "invalid argument or setting")                                                             \
    X(BKT_EUNSUP, "not supported")                                                                           \
    X(BKT_EIO, "local input/output failed")                                                                  \
    X(BKT_ECANCEL, "cancelled")                                                                              \
    X(BKT_ENOMEM, "out of memory")                                                                           \
    X(BKT_EHDF5, "an HDF5 call failed")

enum bkt_code {
    BKT_OK       = 0,
    BKT_ERR_BASE = -100,
#define X(code, text) code,
    BKT_ERRORS(X)
#undef X
};

#define BKT_ERR_FRAMES 8   /* the root cause and frames of callers: domain, object, chunk, call; further
                              frames are dropped */
#define BKT_ERR_MSG    600 /* bytes; longer messages are cut.  All frames together take 5 KB of the caller's
                              stack */

struct bkt_frame {
    const char *file, *func;
    int         line;
    char        msg[BKT_ERR_MSG];
};
struct bkt_err {
    int              code;
    unsigned         n;
    struct bkt_frame frame[BKT_ERR_FRAMES];
};

/** Add a frame to @p err (ignored when NULL or full), and return @p code.  The first frame sets err->code.  A
 *  message that is too long is cut. */
int bkt_err_push(struct bkt_err *err, int code, const char *file, const char *func, int line, const char *fmt,
                 ...) __attribute__((format(printf, 6, 7)));

/** The code's own short text, never NULL. */
const char *bkt_err_text(int code);

/** The root cause's message, borrowed from @p err; bkt_err_text(@p code) if @p err has no frame or is NULL */
const char *bkt_err_reason(const struct bkt_err *err, int code);

/** Remove all frames; NULL is allowed.  On hot paths use this to initialise: `= {0}` would clear all 5 KB. */
void bkt_err_clear(struct bkt_err *err);

/** Put @p name and a colon before the root cause's message, the only one that programs like h5py show.  If
 *  there is no frame yet, one with @p name as its message is added. */
void bkt_err_name(struct bkt_err *err, int code, const char *name);

/** A heap copy for handing an error between threads, released with free().  NULL: memory is short, or @p err
 *  is NULL. */
struct bkt_err *bkt_err_dup(const struct bkt_err *err);

/** Copy the frames of @p from to @p to (both may be NULL), and return @p code.  If neither has a frame, the
 *  failure is reported by its code.  A NULL @p from means that there was no memory for its frames
 *  (bkt_err_dup(), requests). */
int bkt_err_copy(struct bkt_err *to, int code, const struct bkt_err *from);

/** Keep the first of several failures.  If *first is BKT_OK and @p rc is a failure, *first becomes @p rc, and
 *  the frames of @p why move to @p to (may be NULL).  @p why is empty afterwards. */
void bkt_err_keep_first(int *first, struct bkt_err *to, int rc, struct bkt_err *why);

#define BKT_HERE               __FILE__, __func__, __LINE__
/* With this the compiler and analysers see that the caller returns @p code, a failure.  From bkt_err_push()
 * alone they cannot see it. */
static inline int bkt_err_given(int pushed, int code)
{
    (void)pushed;
    return code;
}
#define BKT_ERR(err, code, ...)                                                                              \
    bkt_err_given(bkt_err_push((err), (code), BKT_HERE, __VA_ARGS__), (code)) /* evaluates code twice */
#define BKT_FAIL(err, code, ...) return BKT_ERR((err), (code), __VA_ARGS__)

/** Fail, as BKT_FAIL(), if @p bad. */
#define BKT_FAIL_IF(err, bad, ...)                                                                           \
    do {                                                                                                     \
        if (bad)                                                                                             \
            BKT_FAIL(err, __VA_ARGS__);                                                                      \
    } while (0)

/** Return on failure, adding a frame. */
#define BKT_TRY(err, call, ...)                                                                              \
    do {                                                                                                     \
        int rc_ = (call);                                                                                    \
        if (rc_ < 0)                                                                                         \
            BKT_FAIL((err), rc_, __VA_ARGS__);                                                               \
    } while (0)

/** Return on failure, if the callee's frames are enough. */
#define BKT_PASS(call)                                                                                       \
    do {                                                                                                     \
        int rc_ = (call);                                                                                    \
        if (rc_ < 0)                                                                                         \
            return rc_;                                                                                      \
    } while (0)

#define BKT_NOMEM(err)   BKT_FAIL((err), BKT_ENOMEM, "out of memory")

/** Return if memory ran out: @p made, a pointer or several joined by &&, is NULL. */
#define BKT_NEED(err, made)                                                                                  \
    do {                                                                                                     \
        if (!(made))                                                                                         \
            BKT_NOMEM(err);                                                                                  \
    } while (0)
/** BKT_OK if @p made, as for BKT_NEED(); else the failure. */
#define BKT_MADE(err, made) ((made) ? BKT_OK : BKT_ERR((err), BKT_ENOMEM, "out of memory"))
/** Return on failure, if the callee can only run out of memory, and adds no frame. */
#define BKT_PASS_MEM(err, call)                                                                              \
    do {                                                                                                     \
        if ((call) < 0)                                                                                      \
            BKT_NOMEM(err);                                                                                  \
    } while (0)

/** The pointer in the variable @p p, which is NULL then: its owner changes. */
#define BKT_TAKE(p)                                                                                          \
    __extension__({                                                                                          \
        __auto_type taken_ = (p);                                                                            \
        (p) = NULL;                                                                                          \
        taken_;                                                                                              \
    })

#define BKT_CLEANUP(fn)  __attribute__((cleanup(fn)))
#define BKT_NODISCARD    __attribute__((warn_unused_result))
#define BKT_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/** The struct of @p type whose @p member is at @p p. */
#define BKT_OWNER(type, member, p) ((type *)(void *)((char *)(p) - offsetof(type, member)))

/* ---- messages for another process: each with its NUL, the root cause first ---- */

struct bkt_buf; /* bytes.h */
/** Append the messages of @p err (may be NULL).  BKT_ENOMEM */
BKT_NODISCARD int bkt_err_pack(const struct bkt_err *err, struct bkt_buf *out);
/** Add a frame to @p err (may be NULL) for each message in @p n bytes.  None, if @p text is NULL or the last
 *  byte is not a NUL. */
void bkt_err_unpack(struct bkt_err *err, int code, const char *text, size_t n);
