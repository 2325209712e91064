#include "storage/s3/address.h"

#include <stdlib.h>
#include <string.h>

#include "base/url.h"
#include "storage/aws/partition.h"
#include "storage/web/web_url.h"

/* Bucket names are 3 to 63 of a-z 0-9 . - by AWS's present rules; older ones and other servers also have
 * capitals and '_' and up to 255 characters. */
static bool bucket_ok(const char *b)
{
    size_t n = strlen(b);
    return n >= 1 && n <= 255 && b[0] != '.' && b[0] != '-' &&
           strspn(b, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") == n &&
           !strstr(b, "..");
}

/* Whether the bucket can be part of a host name that the certificate *.s3.REGION.amazonaws.com covers. */
static bool bucket_is_label(const char *b)
{
    size_t n = strlen(b);
    return n >= 3 && n <= 63 && strspn(b, "abcdefghijklmnopqrstuvwxyz0123456789-") == n && b[0] != '-' &&
           b[n - 1] != '-';
}

bool bkt_s3_region_ok(const char *r)
{
    size_t n = strlen(r);
    return n >= 1 && n < 40 && strspn(r, "abcdefghijklmnopqrstuvwxyz0123456789-") == n && r[0] != '-';
}

/* Default ports are not part of the Host header that is signed. */
static int set_endpoint(struct bkt_s3_place *p, const char *url, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf         whole = {0};
    BKT_CLEANUP(bkt_web_url_fini) struct bkt_web_url u     = {.port = 0};
    BKT_PASS_MEM(err, bkt_buf_addf(&whole, "%s%s", strstr(url, "://") ? "" : "https://", url));
    int rc = strpbrk(url, "?# \\\r\n\t\"") ? BKT_EINVAL : bkt_web_url_parse(bkt_buf_str(&whole), &u, NULL);
    BKT_FAIL_IF(
        err, rc == BKT_EINVAL, BKT_EINVAL,
        "endpoint '%.200s': https://host[:port][/path] or http://... is expected, without user or query",
        BKT_SHOWN(url));
    BKT_PASS_MEM(err, rc);
    const char *path = strchr(strstr(bkt_buf_str(&whole), "://") + 3, '/');
    size_t      n    = path ? strlen(path) : 0;
    while (n && path[n - 1] == '/')
        n--;
    p->scheme = strdup(u.https ? "https" : "http");
    /* only the whole URL has the zone's name of an IPv6 address */
    const char *host = strchr(u.origin, '[') && strchr(url, '%') ? bkt_buf_str(&whole) : u.origin;
    host = strstr(host, "://") + 3;
    p->host = strndup(host, strcspn(host, "/"));
    p->base   = strndup(path ? path : "", n);
    BKT_NEED(err, p->scheme && p->host && p->base);
    return BKT_OK;
}

/* Kinds of buckets that need another way of access. */
static int check_kind(const char *bucket, bool aws, struct bkt_err *err)
{
    size_t n = strlen(bucket);
    BKT_FAIL_IF(err, strncmp(bucket, "arn:", 4) == 0, BKT_EINVAL,
                "'%.200s' is not a bucket name; an access point is reached by its alias (NAME-...-s3alias)",
                bucket);
    BKT_FAIL_IF(err, aws && n > 6 && strcmp(bucket + n - 6, "--x-s3") == 0, BKT_EUNSUP,
                "bucket %.200s: directory buckets (S3 Express One Zone) are not supported; use a general "
                "purpose bucket",
                bucket);
    return BKT_OK;
}

int bkt_s3_place_init(struct bkt_s3_place *p, const char *bucket, const char *endpoint,
                      const char *addressing, struct bkt_err *err)
{
    *p = (struct bkt_s3_place){0};
    BKT_PASS(check_kind(bucket, !endpoint || !*endpoint, err));
    BKT_FAIL_IF(err, !bucket_ok(bucket), BKT_EINVAL, "'%.200s' is not a bucket name", BKT_SHOWN(bucket));
    int rc = BKT_OK;
    if (endpoint && *endpoint)
        rc = set_endpoint(p, endpoint, err);
    else if (!(p->scheme = strdup("https")) || !(p->base = strdup("")))
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc == BKT_OK && !(p->bucket = strdup(bucket)))
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    if (rc < 0) {
        bkt_s3_place_fini(p);
        return rc;
    }
    const char *style = addressing ? addressing : "auto";
    p->path_style =
        strcmp(style, "path") == 0 || (strcmp(style, "auto") == 0 && (p->host || !bucket_is_label(bucket)));
    return BKT_OK;
}

void bkt_s3_place_fini(struct bkt_s3_place *p)
{
    free(p->bucket);
    free(p->scheme);
    free(p->host);
    free(p->base);
    *p = (struct bkt_s3_place){0};
}

int bkt_s3_place_host(const struct bkt_s3_place *p, const char *region, struct bkt_buf *out)
{
    if (!p->path_style)
        BKT_PASS(bkt_buf_addf(out, "%s.", p->bucket));
    if (p->host)
        return bkt_buf_add_str(out, p->host);
    return bkt_buf_addf(out, "s3%s%s.%s.%s", p->fips ? "-fips" : "", p->dualstack ? ".dualstack" : "", region,
                        bkt_aws_domain(region));
}

int bkt_s3_place_path(const struct bkt_s3_place *p, const char *key, struct bkt_buf *out)
{
    BKT_PASS(bkt_buf_add_str(out, p->base));
    if (p->path_style)
        BKT_PASS(bkt_buf_addf(out, "/%s", p->bucket));
    if (!key && out->len)
        return BKT_OK;
    BKT_PASS(bkt_buf_add_str(out, "/"));
    return key ? bkt_percent_encode(out, key, strlen(key), "/") : BKT_OK;
}
