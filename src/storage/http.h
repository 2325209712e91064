/* Requests to an HTTP server: what S3 and plain HTTP have in common.
 *
 * A struct bkt_http_op is one request with all its attempts: it is sent, its answer checked and put where the
 * caller wants it, and it is sent again as retry.h says.  A body that broke off goes on from where it broke when the
 * object has a strong ETag (If-Match guards it), else it starts over. */
#ifndef BKT_HTTP_H
#define BKT_HTTP_H

#include "engine.h"
#include "retry.h"
#include "store_impl.h"

#define BKT_HTTP_AGAIN 1 /* from judge(): send it again at once */
#define BKT_HTTP_LATER 2 /* from prepare(): the site keeps the op and calls bkt_http_submit() later */

/** A PUT leaves its random id with the object, so that a writer whose answer was lost can tell whether it arrived. */
#define BKT_PUT_ID        20
#define BKT_HTTP_FIRST    96 /* bytes: enough to tell a document, a page and elements from each other */
#define BKT_PUT_ID_HEADER "x-amz-meta-h5bucket-put"

/** And its bytes' CRC-32C, as eight hexadecimal digits (http_sum.c). */
#define BKT_SUM_TEXT   9
#define BKT_SUM_HEADER "x-amz-meta-h5bucket-crc32c"

struct bkt_http;

/** A request of the store's own: it ends by its batch or its done(), and is not the caller's to see. */
struct bkt_http_call {
    const char *method; /* NULL: the operation's own */
    const char *query;  /* NULL: the object itself */
    bool        bucket; /* the bucket itself, whatever the key says (lists) */
    const char *put_id; /* sent with a PUT, which is judged as a caller's is (http_put.c), or the begin of an upload; NULL: none */
    const char *sum;    /* of the bytes that the begin of an upload is for, as BKT_SUM_HEADER has it; NULL: none */
    char       *seen_id; /* gets the id of the PUT that the answer names, BKT_PUT_ID bytes; may be NULL */
    const char *md5;    /* S3: the body's, as Content-MD5 says it; NULL: not said */
    const void *body;   /* what a POST sends; its answer comes as a GET's does */
    size_t      len;
};

struct bkt_http_reply {
    uint64_t length;             /* Content-Length; UINT64_MAX: none */
    uint64_t first, last, total; /* Content-Range; total UINT64_MAX: not said */
    bool     has_range, bad_range;
    bool     is_s3; /* it bears a mark of S3's: a request's id, or an XML document announced, also where no body comes (HEAD) */
    char     etag[BKT_ETAG_MAX], region[40], request_id[80], request_id2[120];
    char     put_id[BKT_PUT_ID]; /* which PUT stored the object; "" unknown */
    bool     has_sum;
    uint32_t sum; /* the stored bytes' CRC-32C */
    double   mtime;
    long     date; /* Date, Unix seconds; 0: none */
};

struct bkt_http_op {
    struct bkt_xfer  x; /* first */
    struct bkt_http *http;
    struct bkt_req  *req;
    const char      *query; /* a list's page, a part of an upload; NULL: an object */
    bool             own, bucket; /* the store's own request, see struct bkt_http_call */

    struct bkt_retry      retry;
    struct bkt_http_reply reply;
    struct bkt_buf        url;
    struct bkt_buf        trouble; /* the body of an answer that is none of ours, cut at some KiB */
    uint64_t              pos;     /* where in the object the next body byte lies */
    uint64_t              got;     /* bytes of the answer in place, from its start */
    char                  etag[BKT_ETAG_MAX]; /* of the object that they are part of; "" unknown */
    bool                  body_begun, complete;
    const char           *refused; /* why we stopped the transfer ourselves */
    bool                  odd;     /* and that as the answer is malformed (http_odd.c) */
    bool                  doubt;   /* a HEAD's 404 is looked into by a GET */
    unsigned char         first[BKT_HTTP_FIRST]; /* of the answer's body, for messages */
    size_t                n_first;
    unsigned              detours; /* redirects, changes of region */
    bool                  clock_set; /* by the server's, once */
    char                 *location; /* where a redirect leads */
    const char           *if_match, *if_none_match; /* what is sent: the site may want something else than the request says */
    bool                  bare;     /* If-Match without quotes */
    char                 *seen_id;  /* the call's */
    const char           *md5;      /* the call's */
    struct {                        /* http_put.c's; of a DELETE `looking` and `failed` (http_odd.c) */
        char id[BKT_PUT_ID];        /* "": none is sent */
        char sum[BKT_SUM_TEXT];     /* of the object's bytes; "": none is sent */
        bool sum_said;              /* this attempt has it in S3's own header as well */
        bool looking;               /* asking by HEAD what became of it */
        bool bare;                  /* the answer was as S3's, but for an ETag */
        bool unsure;                /* an attempt may have been carried out though its answer says nothing, or never came */
        bool refused;               /* the last one was not */
        int  failed;                /* what to report unless it arrived; its story is in the request */
    } put;
    struct {                        /* http_sum.c's */
        bool     on;                /* the answer is a whole object whose sum is known */
        uint32_t want, have;        /* have: of the first n bytes */
        uint64_t n;
    } sum;
    char                  region[40], payload_hash[65]; /* S3: what this attempt was signed for */
    struct {                        /* s3_auth.c's */
        uint64_t fetch, same_as;    /* of the credentials that this attempt was signed with, as in struct bkt_creds; 0: none */
        int      refused;           /* what to report if there are no others; its story is in the request */
        bool     renewed;           /* others were tried */
    } auth;
};

struct bkt_http_ops {
    /** Work that needs no connection, on the thread that starts the request; may be NULL. */
    void (*init)(struct bkt_http *h, struct bkt_http_op *op);
    /** Fill in op->url and op->x.headers (bkt_http_header()).  BKT_OK, BKT_HTTP_LATER, or a failure recorded in the
     *  request. */
    int (*prepare)(struct bkt_http *h, struct bkt_http_op *op);
    /** An answer that is neither 2xx nor 304, 412 or 416: BKT_HTTP_AGAIN, or the code that it means, with its story
     *  recorded in the request.  Statuses to be retried come here only when retrying is over. */
    int (*judge)(struct bkt_http *h, struct bkt_http_op *op);
    /** What is wrong with the form of an answer whose status may be right: 2xx, or a 404, 410 or 416 that would mean that something
     *  isn't there.  NULL: nothing is.  May be NULL: there is no form to go by. */
    const char *(*misfit)(struct bkt_http *h, struct bkt_http_op *op);
};

/** First member of both stores. */
struct bkt_http {
    struct bkt_store           base;
    const struct bkt_http_ops *ops;
    struct bkt_net             net;
    struct bkt_retry_policy    policy;
    uint64_t                   max_body;
    _Atomic int64_t            ahead; /* as bkt_store_ahead() */
};

/** The part that S3 and plain servers share; bkt_http_fini().  BKT_ENOMEM. */
BKT_NODISCARD int bkt_http_init(struct bkt_http *h, const struct bkt_store_ops *ops, const struct bkt_http_ops *hops,
                                const char *uri, const char *origin, const struct bkt_settings *set,
                                struct bkt_err *err);
/** Free what bkt_http_init() made; the uri is bkt_store_close()'s. */
void bkt_http_fini(struct bkt_http *h);

/** Begin @p req; @p call NULL: a caller's, whose end is reported by bkt_store_finish().  @p call's texts and bytes are
 *  borrowed until the end. */
void bkt_http_start(struct bkt_http *h, struct bkt_req *req, const struct bkt_http_call *call);
/** As bkt_store_ops.pace. */
void bkt_http_pace(struct bkt_store *st, double *first_byte_s, double *bytes_per_s);
/** As bkt_store_ops.ahead. */
int64_t bkt_http_ahead(struct bkt_store *st);
/** As bkt_store_ops.start. */
void bkt_http_start_object(struct bkt_store *st, struct bkt_req *req);
/** For prepare() that answered BKT_HTTP_LATER. */
void bkt_http_submit(struct bkt_http_op *op);
/** The same, when there is nothing to wait for any more: ends with @p err's story. */
void bkt_http_give_up(struct bkt_http_op *op, int code, const struct bkt_err *err);

/** Add a header to the attempt. */
BKT_NODISCARD int bkt_http_header(struct bkt_http_op *op, const char *name, const char *value);

/** Status → code, when there is nothing else to go by. */
int bkt_http_code(long status);

/** Percent-encode all but RFC 3986's unreserved characters and those in @p also. */
BKT_NODISCARD int bkt_http_encode(struct bkt_buf *to, const char *text, const char *also);

/** Record the failure as one line: "GET uri/key: HTTP 403 AccessDenied (message), request id X; hint".
 *  @p code_text, @p message, @p hint may be "" or NULL. */
int bkt_http_say(struct bkt_http_op *op, int code, const char *code_text, const char *message, const char *hint);

/** Parts of judging an answer.  BKT_HTTP_AGAIN: under way again. */
int bkt_http_send_again(struct bkt_http_op *op, uint64_t wait_ms);
int bkt_http_retry(struct bkt_http_op *op, enum bkt_wire wire); /* BKT_OK: not any more */
int bkt_http_wire_failure(struct bkt_http_op *op, enum bkt_wire wire);
/** Take ETag, time and size over from the answer's headers. */
int bkt_http_take(struct bkt_http_op *op);

/** The body that has come is void. */
void bkt_http_start_over(struct bkt_http_op *op);

/* http_odd.c: answers that aren't of the form that the request wants. */

/** What is wrong with it, before its body is looked at further; NULL: nothing. */
const char *bkt_http_misfit(struct bkt_http_op *op);
/** Again, and when that is over a failure that says what came. */
int bkt_http_odd(struct bkt_http_op *op, const char *what);
/** The same for another object's answer, though this one's ETag was asked for; false: not any more. */
bool bkt_http_another(struct bkt_http_op *op);
/** 304, 412 and 416, which answer our own headers. */
int bkt_http_end_condition(struct bkt_http_op *op);
/** The failure alone. */
int bkt_http_say_odd(struct bkt_http_op *op, const char *what);
/** A HEAD's 404 has no body: where no mark of S3's is on it, a GET is sent, whose 404 has.  True: it is under way. */
bool bkt_http_doubts(struct bkt_http_op *op);
/** A DELETE whose answer says nothing, and what is looked at then.  @p what NULL: a conflict (409) */
int bkt_http_delete_judge(struct bkt_http_op *op, const char *what);

/* http_sum.c: the sum of an object's bytes. */

/** For a PUT. */
void bkt_http_sum_text(const void *p, size_t n, char text[BKT_SUM_TEXT]);
/** A GET's answer begins; n bytes of the object have come, in order; all have: BKT_OK, BKT_HTTP_AGAIN or a failure. */
void bkt_http_sum_begin(struct bkt_http_op *op);
void bkt_http_sum_add(struct bkt_http_op *op, uint64_t at, const void *p, size_t n);
int  bkt_http_sum_check(struct bkt_http_op *op);

/** http_put.c: a PUT with an id, from its start, and after each answer. */
void bkt_http_put_init(struct bkt_http_op *op);
int  bkt_http_put_judge(struct bkt_http_op *op);

#endif
