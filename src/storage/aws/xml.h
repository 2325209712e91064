/* XML answers of S3 and STS; pure, safe on hostile input: no document type, so no entities; bounded depth and
 * text. */
#pragma once

#include "base/bytes.h"
#include "storage/store.h"

struct bkt_s3_error {
    char code[64], message[256], region[40], request_id[80];
};
/** Parse an <Error> document, also one that is cut.  Fields that are absent or too long become "".  False:
 *  not such a document. */
bool bkt_s3_parse_error(const void *xml, size_t n, struct bkt_s3_error *out);

/** Whether this is a whole <CompleteMultipartUploadResult>.  S3 answers 200 before it knows the result.  If
 *  the document is an <Error>, @p out gets its fields, as far as there are any. */
bool bkt_s3_parse_complete(const void *xml, size_t n, struct bkt_s3_error *out);

struct bkt_s3_page {
    bool           truncated;
    struct bkt_buf token; /* NextContinuationToken */
};
/** Parse a ListBucketResult (version 2, encoding-type=url), calling @p each for every key and common prefix
 *  in the order of the document.
 *  @return BKT_OK; the negative return of @p each; BKT_EFORMAT; BKT_ENOMEM */
BKT_NODISCARD int bkt_s3_parse_list(const void *xml, size_t n, bkt_list_each_fn *each, void *arg,
                                    struct bkt_s3_page *page, struct bkt_err *err);

struct bkt_s3_uploads_page {
    bool           truncated;
    struct bkt_buf key, upload; /* NextKeyMarker, NextUploadIdMarker */
};
/** Parse a ListMultipartUploadsResult (encoding-type=url), calling @p each for every upload.  As
 *  bkt_s3_parse_list(). */
BKT_NODISCARD int bkt_s3_parse_uploads(const void *xml, size_t n, bkt_upload_each_fn *each, void *arg,
                                       struct bkt_s3_uploads_page *page, struct bkt_err *err);

/** Parse a DeleteResult, calling @p each for every key that was not deleted, with the reason.  Otherwise as
 *  bkt_s3_parse_list(). */
BKT_NODISCARD int bkt_s3_parse_deleted(const void *xml, size_t n,
                                       int (*each)(const char *key, const struct bkt_s3_error *why,
                                                   void *arg),
                                       void *arg, struct bkt_err *err);

/** Get the UploadId of an InitiateMultipartUploadResult.
 * @return BKT_OK; BKT_EFORMAT; BKT_ENOMEM */
BKT_NODISCARD int bkt_s3_parse_upload(const void *xml, size_t n, struct bkt_buf *id, struct bkt_err *err);

/** Secrets: each is to be freed with bkt_secret_fini(), also after a failure. */
struct bkt_sts_answer {
    struct bkt_buf id, secret, token, expiration;
};
/** Get the credentials of a zeroed struct from an answer of AssumeRole; absent fields are empty. BKT_EFORMAT;
 *  BKT_ENOMEM. */
BKT_NODISCARD int bkt_sts_parse(const void *xml, size_t n, struct bkt_sts_answer *out);

/** Whether begin and end are those of a whole document with this root element; the name may have a
 *  namespace's prefix.  The part in between is not parsed. */
bool bkt_s3_is_document(const void *xml, size_t n, const char *root);
