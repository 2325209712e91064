/* Requests to an HTTP server: the parts that S3 and plain HTTP share.
 *
 * A struct bkt_http_op is one request with all its attempts.  It is sent, its answer is checked and put into
 * the caller's place, and it is sent again as retry_policy.h requires.  If the object has a strong ETag, a
 * body that broke off continues where it broke (If-Match guards it).  Otherwise it starts over. */
#pragma once

#include "storage/http/engine.h"
#include "storage/http/retry_policy.h"
#include "storage/store_impl.h"

#define BKT_HTTP_AGAIN 1 /* from judge(): send it again at once */
#define BKT_HTTP_LATER 2 /* from prepare(): the kind of store keeps the op, and submits op->x later */

/** A PUT stores its random id with the object, so that a writer whose answer was lost can see whether its PUT
 *  arrived. */
#define BKT_PUT_ID        20
#define BKT_HTTP_FIRST    96 /* bytes; enough to distinguish a document, a page and elements */
#define BKT_PUT_ID_HEADER "x-amz-meta-h5bucket-put"

/** A PUT also stores its bytes' CRC-32C with the object, as eight hexadecimal digits
 * (answer.c). */
#define BKT_SUM_TEXT   9
#define BKT_SUM_HEADER "x-amz-meta-h5bucket-crc32c"

struct bkt_http;

/** A request that the store itself makes: it ends by its batch or its done(), and the caller does not see
 *  it. */
struct bkt_http_call {
    const char *method; /* NULL: the operation's own */
    const char *query;  /* NULL: the object itself */
    bool        bucket; /* the request is for the bucket itself, whatever the key is (lists) */
    const char *put_id; /* sent with the begin of an upload, or with a PUT, which is then judged like a
                           caller's PUT (change_outcome.c); NULL: not sent */
    const char *sum;    /* the sum of the upload's bytes, in BKT_SUM_HEADER's form, sent with its begin; NULL:
                           not sent */
    char       *seen_id; /* gets the id of the PUT named in the answer, BKT_PUT_ID bytes; may be NULL */
    const char *md5;    /* S3: the body's Content-MD5; NULL: not sent */
    const void *body;   /* the body of a POST; its answer arrives like a GET's */
    size_t      len;
};

struct bkt_http_reply {
    uint64_t length;             /* Content-Length; UINT64_MAX: none */
    uint64_t first, last, total; /* Content-Range; total UINT64_MAX: unknown */
    bool     has_range, bad_range;
    bool     is_page; /* HTML */
    bool     is_s3; /* it has a mark of S3: a request's id, or the type of an XML document, also without a
                       body (HEAD) */
    char     etag[BKT_ETAG_MAX], region[40], request_id[80], request_id2[120];
    char     put_id[BKT_PUT_ID]; /* the PUT that stored the object; "": unknown */
    bool     has_sum;
    uint32_t sum; /* the stored bytes' CRC-32C */
    double   mtime;
    long     date; /* Date, Unix seconds; 0: none */
};

struct bkt_http_op {
    struct bkt_xfer  x; /* first */
    struct bkt_http *http;
    struct bkt_req  *req;
    bool             own; /* a request of the store itself */
    struct bkt_http_call call; /* zeroed for a request of a caller */

    struct bkt_retry      retry;
    struct bkt_http_reply reply;
    struct bkt_buf        url;
    struct bkt_buf        trouble; /* the body of an answer that does not carry the object's bytes, cut at
                                      some KiB */
    uint64_t              pos;     /* position of the next body byte in the object */
    uint64_t              got;     /* bytes of the answer that are in place, from its start */
    char                  etag[BKT_ETAG_MAX]; /* ETag of the object that these bytes belong to; "": unknown */
    bool                  body_begun, complete;
    struct bkt_refusal {
        int         code; /* BKT_OK: this side did not stop it */
        const char *text;
    } refused;                     /* the reason why this side stopped the transfer */
    bool                  odd;     /* the reason is that the answer is malformed (answer.c) */
    bool                  doubt;   /* a GET is examining a HEAD's 404 */
    unsigned char         first[BKT_HTTP_FIRST]; /* first bytes of the answer's body, for messages */
    size_t                n_first;
    unsigned              detours; /* redirects, changes of region */
    bool                  clock_set; /* the clock was set to the server's, once */
    char                 *location; /* target of a redirect on the same server */
    const char           *if_match, *if_none_match; /* the conditions that are sent; the kind of store may
                                                       change those of the request */
    bool                  unquoted; /* If-Match is sent without quotes */
    bool quoted;   /* If-Match of this attempt got the quotes that the request's ETag lacks */
    bool as_given; /* the server refused it so: none are added */
    struct { /* owned by change_outcome.c; a DELETE uses `looking` and `failed` */
        char id[BKT_PUT_ID];        /* "": not sent */
        char sum[BKT_SUM_TEXT];     /* of the object's bytes; "": not sent */
        bool sum_said;              /* this attempt sends it in S3's own header as well */
        bool looking;               /* a HEAD is finding out the result */
        bool no_etag;               /* the answer had S3's form, except for an ETag */
        bool unsure;                /* an attempt may have been carried out, although its answer is unclear or
                                       never came */
        bool refused;               /* the last attempt was not carried out */
        int  failed;                /* the code to report if the PUT did not arrive; its error is in the
                                       request */
    } put;
    struct {                        /* owned by answer.c */
        bool     on;                /* the answer is a whole object whose sum is known */
        uint32_t want, have;        /* have: of the first n bytes */
        uint64_t n;
    } sum;
    char                  region[40], payload_hash[65]; /* S3: region and payload that this attempt was signed
                                                           for */
    struct {                        /* owned by s3.c */
        uint64_t fetch, same_as;    /* of the credentials that signed this attempt, as in struct bkt_creds; 0:
                                       not signed */
        int      refused;           /* the code to report if there are no other credentials; its error is in
                                       the request */
        bool     renewed;           /* other credentials were tried */
    } auth;
    struct {                        /* owned by url_store.c */
        struct bkt_web_address *at; /* the address of this attempt; NULL: none yet */
        struct bkt_http_op *next;   /* of the requests that wait */
        bool asks;                  /* it finds out the address for all */
        bool renewed;               /* the address was asked for again */
    } route;
};

struct bkt_http_ops {
    /** Work that needs no connection.  Runs on the thread that starts the request.  May be NULL. */
    void (*init)(struct bkt_http *h, struct bkt_http_op *op);
    /** As init(), which comes first, for requests other than GET and HEAD. */
    void (*init_change)(struct bkt_http *h, struct bkt_http_op *op);
    /** Fill in op->url and op->x.headers (bkt_http_header()).  Returns BKT_OK, BKT_HTTP_LATER, or a failure
     *  recorded in the request. */
    int (*prepare)(struct bkt_http *h, struct bkt_http_op *op);
    /** Judge an answer other than 2xx, 304, 412 and 416.  Returns BKT_HTTP_AGAIN, or the code that the answer
     *  means, with its error recorded in the request.  Statuses to be retried arrive here only when retrying
     *  is over. */
    int (*judge)(struct bkt_http *h, struct bkt_http_op *op);
    /** Describe an error in the form of an answer whose status may be right: 2xx, or a 404, 410 or 416 that
     *  would mean that something is missing.  NULL: the form is right.  May be NULL: the store's answers have
     *  no fixed form. */
    const char *(*misfit)(struct bkt_http *h, struct bkt_http_op *op);
    /** An answer has the form that the request requires, and is not one for judge().  Runs before its body
     *  arrives, and again at its end.  May be NULL. */
    void (*fits)(struct bkt_http *h, struct bkt_http_op *op);
    /** The request ends; its outputs are set, and may be changed.  May be NULL. */
    void (*end)(struct bkt_http *h, struct bkt_http_op *op);
    bool must_range; /* a server without ranges is a failure, and so is a web page instead of the object */
};

/** First member of the S3 store and of the plain web store. */
struct bkt_http {
    struct bkt_store           base;
    const struct bkt_http_ops *ops;
    struct bkt_net             net;
    struct bkt_retry_policy    policy;
    uint64_t                   max_body;
    _Atomic int64_t            ahead; /* as bkt_store_ahead() */
    atomic_bool ranges;               /* an answer had the range that was requested */
    atomic_bool spoke; /* an answer has come: a server without connections will be back, mostly */
    atomic_bool no_quotes;            /* the last ETag of an answer had no quotes */
};

/** The part that S3 and plain servers share.  bkt_net_fini(&h->net) and bkt_store_close() free it.
 * BKT_ENOMEM. */
BKT_NODISCARD int bkt_http_init(struct bkt_http *h, const struct bkt_store_ops *ops,
                                const struct bkt_http_ops *hops, const char *uri, const char *origin,
                                const struct bkt_settings *set, struct bkt_err *err);
/** Begin @p req.
 *  @param call  NULL: a caller's request, whose end bkt_store_finish() reports.  Else a request of the store
 *      itself; texts and bytes of @p call are borrowed until its end */
void bkt_http_start(struct bkt_http *h, struct bkt_req *req, const struct bkt_http_call *call);
/** As bkt_store_ops.pace. */
void bkt_http_pace(struct bkt_store *st, double *first_byte_s, double *bytes_per_s);
/** As bkt_store_ops.facts: the endpoint. */
void bkt_http_facts(struct bkt_store *st, struct bkt_store_facts *out);
/** As bkt_store_ops.ahead. */
int64_t bkt_http_ahead(struct bkt_store *st);
/** As bkt_store_ops.start. */
void bkt_http_start_object(struct bkt_store *st, struct bkt_req *req);
/** End an op whose prepare() returned BKT_HTTP_LATER, when there is nothing to wait for any more, with @p
 * code and the frames of @p err. */
void bkt_http_give_up(struct bkt_http_op *op, int code, const struct bkt_err *err);

/** Add a header to the attempt. */
BKT_NODISCARD int bkt_http_header(struct bkt_http_op *op, const char *name, const char *value);

/** The ETag that the attempt sends as If-Match, or NULL.  A weak ETag is not sent, since no object matches
 * it. The ETag of the answer is compared instead. */
const char *bkt_http_match(const struct bkt_http_op *op);

/** The error code of an HTTP status, if nothing else is known. */
int bkt_http_code(long status);

/** Record the failure as one line: "GET uri/key: HTTP 403 AccessDenied (message), request id X; hint".
 * @param code_text, message, hint  may be "" or NULL */
int bkt_http_say(struct bkt_http_op *op, int code, const char *code_text, const char *message,
                 const char *hint);

/** Send the request again after @p wait_ms, 0: at once.  Always returns BKT_HTTP_AGAIN: the op may be under
 * way on another thread, or over, by then. */
int bkt_http_send_again(struct bkt_http_op *op, uint64_t wait_ms);
/** As bkt_retry_classify(); but a server that has answered before is waited for as often as the settings
 * allow. */
enum bkt_retry_class bkt_http_class(const struct bkt_http_op *op, enum bkt_wire wire, long status);
/** As bkt_retry_next(), for this request now. */
bool bkt_http_may_retry(struct bkt_http_op *op, enum bkt_retry_class class, uint64_t *wait);
/** Send the request again if policy and time allow it.  BKT_HTTP_AGAIN: it has been sent; BKT_OK: retrying is
 * over. */
int bkt_http_retry(struct bkt_http_op *op, enum bkt_wire wire);
/** Record that no usable answer came.  Returns the failure's code: BKT_ETIME if the time was over, else
 * BKT_ENET. */
int bkt_http_wire_failure(struct bkt_http_op *op, enum bkt_wire wire);
/** Time since the request first began; 0: it never began. */
uint64_t bkt_http_spent_ms(const struct bkt_http_op *op);
/** Copy ETag, time and size from the answer's headers to the request. */
int bkt_http_take(struct bkt_http_op *op);

/** Discard the body received so far. */
void bkt_http_start_over(struct bkt_http_op *op);

/* ---- answer.c ---- */

/** Copy the value of one header to @p r, if it is needed.  Pure, as the next function. */
void bkt_http_reply_header(struct bkt_http_reply *r, const char *name, const char *value);
/** Parse "bytes 0-99/1234", "bytes 0-99/" followed by an asterisk, or, with status 416, an asterisk for the
 *  range.  False: malformed. */
bool bkt_http_parse_range(const char *value, uint64_t *first, uint64_t *last, uint64_t *total);

/** Describe an error in the answer's form, before its body is examined further; NULL: the form is right. */
const char *bkt_http_misfit(struct bkt_http_op *op);
/** Send the request again.  When retrying is over, record a failure that describes the answer. */
int bkt_http_odd(struct bkt_http_op *op, const char *what);
/** Send the request again after an answer with another object, although If-Match named this one's ETag.
 *  False: retrying is over. */
bool bkt_http_another(struct bkt_http_op *op);
/** Judge 304, 412 and 416, which answer headers that this side sent. */
int bkt_http_end_condition(struct bkt_http_op *op);
/** Record the failure only. */
int bkt_http_say_odd(struct bkt_http_op *op, const char *what);
/** A HEAD's 404 has no body.  If it has no mark of S3, a GET is sent, whose 404 has a body.  True: the GET is
 *  under way. */
bool bkt_http_doubts(struct bkt_http_op *op);

/** The sum of a PUT's bytes as text. */
void bkt_http_sum_text(const void *p, size_t n, char text[BKT_SUM_TEXT]);
/** A GET's answer begins.  Its bytes are summed only if it is the whole object, and its sum is known. */
void bkt_http_sum_begin(struct bkt_http_op *op);
/** Add @p n bytes that have arrived, at @p at in the object.  Bytes out of order are not summed. */
void bkt_http_sum_add(struct bkt_http_op *op, uint64_t at, const void *p, size_t n);
/** All bytes have arrived.  BKT_OK: the sum is right or not known; BKT_HTTP_AGAIN; BKT_EFORMAT: they are
 * damaged, recorded in the request. */
int  bkt_http_sum_check(struct bkt_http_op *op);

/* ---- change_outcome.c ---- */

/** Judge each answer to a PUT. */
int  bkt_http_put_judge(struct bkt_http_op *op);
/** Judge a DELETE whose answer is unclear, and the look at the object that follows.  @p what NULL: a conflict
 *  (409) */
int bkt_http_delete_judge(struct bkt_http_op *op, const char *what);
