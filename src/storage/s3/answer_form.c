/* The form of S3's answers.  An answer with another form comes from somewhere else (odd_answers.c).
 *
 *      PUT of an object, of a part   200, an ETag, no body
 *      DELETE                        204; or 200 without a body
 *      GET, HEAD of an object        an ETag, once the server has sent any
 *      lists, the begin of an upload the document of that name, whole
 *      a missing object              404 with the document NoSuchKey; to a HEAD, without a body, with a mark
 * of S3 a range past the object's end 416 with the object's length, or with the document InvalidRange AWS,
 * Google's XML API, R2, MinIO, radosgw and Swift's S3 use this form.  multipart.c judges the answer to the
 * end of an upload, delete_objects.c the answer to DeleteObjects. */
#include <string.h>

#include "storage/s3/s3_impl.h"
#include "storage/aws/xml.h"

/* The document that answers a request with this query; NULL: no document is checked here. */
static const char *wanted(const struct bkt_http_op *op)
{
    static const struct {
        const char *method, *query, *root;
    } documents[] = {{"GET", "list-type=", "ListBucketResult"},
                     {"GET", "uploads=", "ListMultipartUploadsResult"},
                     {"POST", "uploads=", "InitiateMultipartUploadResult"}};
    for (size_t i = 0; op->query && i < BKT_COUNT(documents); i++)
        if (strcmp(op->x.method, documents[i].method) == 0 && strstr(op->query, documents[i].query))
            return documents[i].root;
    return NULL;
}

/* Whether an ETag is missing.  The server's answers show whether it sends ETags at all. */
static bool lacks_etag(struct bkt_s3 *s, const struct bkt_http_op *op)
{
    if (op->reply.etag[0])
        atomic_store_explicit(&s->etags, true, memory_order_relaxed);
    return !op->reply.etag[0] && atomic_load_explicit(&s->etags, memory_order_relaxed);
}

static const char *misfit_success(struct bkt_s3 *s, struct bkt_http_op *op)
{
    bool        reads = strcmp(op->x.method, "GET") == 0 || strcmp(op->x.method, "HEAD") == 0;
    bool        bare  = lacks_etag(s, op);
    const char *root  = wanted(op);
    if (strcmp(op->x.method, "PUT") == 0 && (op->x.status != 200 || !op->reply.etag[0] || op->trouble.len))
        return "S3 answers a PUT with 200, an ETag and no body";
    if (strcmp(op->x.method, "DELETE") == 0 && (op->x.status > 204 || op->trouble.len))
        return "S3 answers a DELETE with 204 and no body";
    if (root && !bkt_s3_is_document(op->req->body.ptr, op->req->body.len, root))
        return "not a document of the requested kind";
    return bare && reads && !op->query ? "no ETag, unlike this server's other answers" : NULL;
}

static bool has_code(const struct bkt_http_op *op, const char *const *codes, size_t n)
{
    struct bkt_s3_error e;
    (void)bkt_s3_parse_error(op->trouble.ptr, op->trouble.len, &e);
    for (size_t i = 0; i < n; i++)
        if (strcmp(e.code, codes[i]) == 0)
            return true;
    return false;
}

const char *bkt_s3_misfit(struct bkt_http *h, struct bkt_http_op *op)
{
    static const char *const absent[] = {"NoSuchKey", "NoSuchBucket", "NoSuchUpload"}, *const past[] = {
                                                                                           "InvalidRange"};
    long                     status   = op->x.status;
    bool                     head     = strcmp(op->x.method, "HEAD") == 0;
    if (status >= 200 && status < 300)
        return misfit_success((struct bkt_s3 *)h, op);
    if (status == 404 && !(head ? op->reply.is_s3 : has_code(op, absent, BKT_COUNT(absent))))
        return "S3 answers NoSuchKey if the object does not exist";
    if (status == 410)
        return "S3 answers NoSuchKey if the object does not exist";
    bool tells = op->reply.has_range && !op->reply.bad_range;
    if (status == 416 && !head && !tells && !has_code(op, past, BKT_COUNT(past)))
        return "S3 answers InvalidRange if the object is shorter";
    return NULL;
}
