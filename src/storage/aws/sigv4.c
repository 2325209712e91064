#include "storage/aws/sigv4.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#define ALGORITHM  "AWS4-HMAC-SHA256"
#define MAX_SECRET 1024U

#define MAX_HEADERS 16U

/* ---- canonical request ---- */

struct headers {
    struct bkt_sign_pair v[MAX_HEADERS]; /* by name */
    size_t n;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct bkt_sign_pair *)a)->name, ((const struct bkt_sign_pair *)b)->name);
}

/* check() has checked their number. */
static void collect_headers(const struct bkt_sign_input *in, const char *date, struct headers *h)
{
    h->v[h->n++] = (struct bkt_sign_pair){"host", in->host};
    h->v[h->n++] = (struct bkt_sign_pair){"x-amz-date", date};
    if (!in->no_sha256)
        h->v[h->n++] = (struct bkt_sign_pair){"x-amz-content-sha256", in->payload_hash};
    if (in->creds->session_token)
        h->v[h->n++] = (struct bkt_sign_pair){"x-amz-security-token", in->creds->session_token};
    for (size_t i = 0; i < in->n_headers; i++)
        h->v[h->n++] = in->headers[i];
    qsort(h->v, h->n, sizeof *h->v, by_name);
}

static int print_names(const struct headers *h, struct bkt_buf *out)
{
    for (size_t i = 0; i < h->n; i++)
        BKT_PASS(bkt_buf_addf(out, "%s%s", i ? ";" : "", h->v[i].name));
    return BKT_OK;
}

static bool is_clean(const char *s)
{
    for (; *s; s++)
        if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
            return false;
    return true;
}

/* Refuse line breaks in values of headers: with them data could add further headers. */
static int check(const struct bkt_sign_input *in, struct bkt_err *err)
{
    const struct bkt_creds *c = in->creds;
    BKT_FAIL_IF(err, !c || !c->access_key || !c->secret_key || !*c->access_key || !*c->secret_key, BKT_EINVAL,
                "no access key to sign with");
    BKT_FAIL_IF(err, strlen(c->secret_key) > MAX_SECRET, BKT_EINVAL,
                "the secret key of %.40s is longer than %u characters", c->access_key, MAX_SECRET);
    BKT_FAIL_IF(err, !is_clean(c->access_key) || strpbrk(c->access_key, " ,/="), BKT_EINVAL,
                "the access key from %.100s has invalid characters", c->source ? c->source : "?");
    BKT_FAIL_IF(err, c->session_token && !is_clean(c->session_token), BKT_EINVAL,
                "the session token of %.40s has control characters", c->access_key);
    BKT_FAIL_IF(err,
                !is_clean(in->host) || !is_clean(in->region) || strpbrk(in->region, " ,/=") ||
                    !is_clean(in->payload_hash),
                BKT_EINVAL, "host or region has invalid characters");
    BKT_FAIL_IF(err, in->n_headers > MAX_HEADERS - 4, BKT_EINVAL,
                "%zu headers to be signed; at most %u are possible", in->n_headers, MAX_HEADERS - 4);
    for (size_t i = 0; i < in->n_headers; i++)
        BKT_FAIL_IF(err, !is_clean(in->headers[i].name) || !is_clean(in->headers[i].value), BKT_EINVAL,
                    "header %zu to be signed has control characters", i);
    return BKT_OK;
}

static int amz_date(time_t now, char out[17], struct bkt_err *err)
{
    struct tm tm;
    BKT_FAIL_IF(err,
                !gmtime_r(&now, &tm) || tm.tm_year < 70 || tm.tm_year > 8099 ||
                    strftime(out, 17, "%Y%m%dT%H%M%SZ", &tm) != 16,
                BKT_EINVAL, "the clock cannot be used for signing");
    return BKT_OK;
}

static int print_canonical(const struct bkt_sign_input *in, const struct headers *h, struct bkt_buf *out)
{
    BKT_PASS(bkt_buf_addf(out, "%s\n%s\n%s\n", in->method, *in->path ? in->path : "/",
                          in->query ? in->query : ""));
    for (size_t i = 0; i < h->n; i++)
        BKT_PASS(bkt_buf_addf(out, "%s:%s\n", h->v[i].name, h->v[i].value));
    BKT_PASS(bkt_buf_add(out, "\n", 1));
    BKT_PASS(print_names(h, out));
    return bkt_buf_addf(out, "\n%s", in->payload_hash);
}

/* @p h: gets the headers that are signed; they borrow @p date */
static int canonical_request(const struct bkt_sign_input *in, char date[17], struct headers *h,
                             struct bkt_buf *out, struct bkt_err *err)
{
    BKT_PASS(check(in, err));
    BKT_PASS(amz_date(in->now, date, err));
    collect_headers(in, date, h);
    BKT_PASS_MEM(err, print_canonical(in, h, out));
    return BKT_OK;
}

int bkt_sign_canonical(const struct bkt_sign_input *in, struct bkt_buf *out, struct bkt_err *err)
{
    struct headers headers = {.n = 0};
    char date[17];
    return canonical_request(in, date, &headers, out, err);
}

/* ---- hashes ---- */

static bool sha256(const void *p, size_t n, unsigned char out[32])
{
    return EVP_Digest(p ? p : "", n, out, NULL, EVP_sha256(), NULL) == 1;
}

int bkt_sha256_hex(const void *p, size_t n, char out[BKT_SHA256_HEX])
{
    unsigned char md[32];
    if (!sha256(p, n, md))
        return BKT_EIO;
    bkt_hex(md, sizeof md, out);
    return BKT_OK;
}

static bool hmac(const void *key, size_t key_len, const void *p, size_t n, unsigned char out[32])
{
    return HMAC(EVP_sha256(), key, (int)key_len, p, n, out, NULL) != NULL;
}

int bkt_sign_string(const struct bkt_sign_input *in, const struct bkt_buf *canonical, struct bkt_buf *out,
                    struct bkt_err *err)
{
    char date[17], hash[BKT_SHA256_HEX];
    BKT_PASS(amz_date(in->now, date, err));
    BKT_TRY(err, bkt_sha256_hex(canonical->ptr, canonical->len, hash), "SHA-256 failed");
    BKT_PASS_MEM(err, bkt_buf_addf(out, ALGORITHM "\n%s\n%.8s/%s/%s/aws4_request\n%s", date, date, in->region,
                                   in->service, hash));
    return BKT_OK;
}

/* Four HMACs in a row, see "Calculate a signature" in AWS's SigV4 reference. */
static bool derive(const char *secret, const char *day, const char *region, const char *service,
                   unsigned char key[32])
{
    char start[4 + MAX_SECRET + 1];
    int n = snprintf(start, sizeof start, "AWS4%s", secret); /* check() has checked its length */
    bool ok = n > 0 && hmac(start, (size_t)n, day, 8, key) && hmac(key, 32, region, strlen(region), key) &&
              hmac(key, 32, service, strlen(service), key) && hmac(key, 32, "aws4_request", 12, key);
    explicit_bzero(start, sizeof start);
    return ok;
}

static int signing_key(const struct bkt_sign_input *in, const char *date, struct bkt_sign_key *key,
                       struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf of = {0};
    unsigned char id[32];
    BKT_PASS_MEM(err,
                 bkt_buf_addf(&of, "%.8s\n%s\n%s\n%s", date, in->region, in->service, in->creds->secret_key));
    bool ok = sha256(of.ptr, of.len, id);
    explicit_bzero(of.ptr, of.len);
    if (ok && key->set && memcmp(id, key->of, sizeof id) == 0)
        return BKT_OK;
    key->set = ok && derive(in->creds->secret_key, date, in->region, in->service, key->key);
    BKT_FAIL_IF(err, !key->set, BKT_EIO, "HMAC-SHA256 failed");
    memcpy(key->of, id, sizeof id);
    return BKT_OK;
}

void bkt_sign_key_wipe(struct bkt_sign_key *key)
{
    explicit_bzero(key, sizeof *key);
}

/* ---- signing ---- */

static int print_authorization(const struct bkt_sign_input *in, const char *date,
                               const struct headers *headers, const char *signature, struct bkt_buf *out)
{
    bkt_buf_clear(out);
    BKT_PASS(bkt_buf_addf(out, ALGORITHM " Credential=%s/%.8s/%s/%s/aws4_request, SignedHeaders=",
                          in->creds->access_key, date, in->region, in->service));
    BKT_PASS(print_names(headers, out));
    return bkt_buf_addf(out, ", Signature=%s", signature);
}

int bkt_sign(const struct bkt_sign_input *in, struct bkt_sign_key *cache, struct bkt_sign_output *out,
             struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf canonical = {0}, string = {0};
    struct headers headers = {.n = 0};
    BKT_CLEANUP(bkt_sign_key_wipe) struct bkt_sign_key own = {0};
    struct bkt_sign_key *key = cache ? cache : &own;
    unsigned char mac[32];
    char signature[65];

    BKT_PASS(canonical_request(in, out->amz_date, &headers, &canonical, err));
    BKT_PASS(bkt_sign_string(in, &canonical, &string, err));
    BKT_PASS(signing_key(in, out->amz_date, key, err));
    BKT_FAIL_IF(err, !hmac(key->key, sizeof key->key, string.ptr, string.len, mac), BKT_EIO,
                "HMAC-SHA256 failed");
    bkt_hex(mac, sizeof mac, signature);
    BKT_PASS_MEM(err, print_authorization(in, out->amz_date, &headers, signature, &out->authorization));
    return BKT_OK;
}

void bkt_sign_output_fini(struct bkt_sign_output *out)
{
    bkt_buf_fini(&out->authorization);
}
