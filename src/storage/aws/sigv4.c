#include "storage/aws/sigv4.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/list.h"

#define ALGORITHM  "AWS4-HMAC-SHA256"
#define MAX_SECRET 1024U

/* Names and values to be sorted; own memory.  seq keeps equal names in their order (qsort is not stable). */
struct pair {
    char *name, *value;
    size_t seq;
};
struct pairs {
    struct pair *v;
    size_t n, room;
};

static void pairs_fini(struct pairs *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].name);
        free(l->v[i].value);
    }
    free(l->v);
}

/* Takes both buffers' contents. */
static int pairs_add(struct pairs *l, struct bkt_buf *name, struct bkt_buf *value)
{
    BKT_PASS(bkt_list_room(&l->v, l->n, &l->room, sizeof *l->v));
    BKT_PASS(bkt_buf_add_str(name, "")); /* allocates memory with a NUL, also for an empty text */
    BKT_PASS(bkt_buf_add_str(value, ""));
    l->v[l->n] = (struct pair){bkt_buf_steal(name), bkt_buf_steal(value), l->n};
    l->n++;
    return BKT_OK;
}

static int by_name_value(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : strcmp(x->value, y->value);
}

static int by_name_seq(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : (x->seq > y->seq) - (x->seq < y->seq);
}

static void sort(struct pairs *l, int (*by)(const void *, const void *))
{
    if (l->n > 1)
        qsort(l->v, l->n, sizeof *l->v, by);
}

/* ---- encoding ---- */

/* %2f, %2F and %7E, ~ mean the same to the server: decode, then encode in the one canonical way. */
static int recode(const char *p, size_t n, struct bkt_buf *out)
{
    for (size_t i = 0; i < n; i++) {
        int hi = p[i] == '%' && i + 2 < n ? bkt_hex_digit(p[i + 1]) : -1;
        int lo = hi >= 0 ? bkt_hex_digit(p[i + 2]) : -1;
        if (lo >= 0) {
            char c = (char)(hi << 4 | lo);
            BKT_PASS(bkt_percent_encode(out, &c, 1, ""));
            i += 2;
        } else {
            BKT_PASS(bkt_percent_encode(out, p + i, 1, ""));
        }
    }
    return BKT_OK;
}

/* ---- canonical request ---- */

static int add_query_part(struct pairs *l, const char *p, size_t n)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0}, value = {0};
    const char *eq = memchr(p, '=', n);
    size_t k = eq ? (size_t)(eq - p) : n;
    BKT_PASS(recode(p, k, &name));
    if (eq)
        BKT_PASS(recode(eq + 1, n - k - 1, &value));
    return pairs_add(l, &name, &value);
}

static int canonical_query(const struct bkt_sign_input *in, struct bkt_buf *out)
{
    BKT_CLEANUP(pairs_fini) struct pairs l = {0};
    for (const char *p = in->query ? in->query : ""; *p;) {
        size_t n = strcspn(p, "&");
        if (n)
            BKT_PASS(add_query_part(&l, p, n));
        p += n + (p[n] == '&');
    }
    sort(&l, by_name_value);
    for (size_t i = 0; i < l.n; i++)
        BKT_PASS(bkt_buf_addf(out, "%s%s=%s", i ? "&" : "", l.v[i].name, l.v[i].value));
    return BKT_OK;
}

/* Lower-case name; value without blanks around it and with single ones within. */
static int add_header(struct pairs *l, const char *name, const char *value)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf low = {0}, text = {0};
    for (const char *p = name; *p; p++) {
        char c = (char)(*p >= 'A' && *p <= 'Z' ? *p + ('a' - 'A') : *p);
        BKT_PASS(bkt_buf_add(&low, &c, 1));
    }
    for (const char *p = value + strspn(value, " \t"); *p;) {
        size_t word = strcspn(p, " \t"), gap = strspn(p + word, " \t");
        BKT_PASS(bkt_buf_add(&text, p, word));
        p += word + gap;
        if (*p)
            BKT_PASS(bkt_buf_add(&text, " ", 1));
    }
    return pairs_add(l, &low, &text);
}

static int collect_headers(const struct bkt_sign_input *in, const char *date, struct pairs *l)
{
    BKT_PASS(add_header(l, "host", in->host));
    BKT_PASS(add_header(l, "x-amz-date", date));
    if (!in->no_sha256)
        BKT_PASS(add_header(l, "x-amz-content-sha256", in->payload_hash));
    if (in->creds->session_token)
        BKT_PASS(add_header(l, "x-amz-security-token", in->creds->session_token));
    for (size_t i = 0; i < in->n_headers; i++)
        BKT_PASS(add_header(l, in->headers[i].name, in->headers[i].value));
    sort(l, by_name_seq);
    return BKT_OK;
}

static bool same_as_before(const struct pairs *l, size_t i)
{
    return i && strcmp(l->v[i - 1].name, l->v[i].name) == 0;
}

static int print_headers(const struct pairs *l, struct bkt_buf *out)
{
    for (size_t i = 0; i < l->n; i++) {
        if (same_as_before(l, i))
            BKT_PASS(bkt_buf_addf(out, ",%s", l->v[i].value));
        else
            BKT_PASS(bkt_buf_addf(out, "%s%s:%s", i ? "\n" : "", l->v[i].name, l->v[i].value));
    }
    return bkt_buf_add(out, "\n", 1);
}

static int print_names(const struct pairs *l, struct bkt_buf *out)
{
    for (size_t i = 0; i < l->n; i++)
        if (!same_as_before(l, i))
            BKT_PASS(bkt_buf_addf(out, "%s%s", i ? ";" : "", l->v[i].name));
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
    if (!c || !c->access_key || !c->secret_key || !*c->access_key || !*c->secret_key)
        BKT_FAIL(err, BKT_EINVAL, "no access key to sign with");
    if (strlen(c->secret_key) > MAX_SECRET)
        BKT_FAIL(err, BKT_EINVAL, "the secret key of %.40s is longer than %u characters", c->access_key,
                 MAX_SECRET);
    if (!is_clean(c->access_key) || strpbrk(c->access_key, " ,/="))
        BKT_FAIL(err, BKT_EINVAL, "the access key from %.100s has invalid characters",
                 c->source ? c->source : "?");
    if (c->session_token && !is_clean(c->session_token))
        BKT_FAIL(err, BKT_EINVAL, "the session token of %.40s has control characters", c->access_key);
    if (!is_clean(in->host) || !is_clean(in->region) || strpbrk(in->region, " ,/=") ||
        !is_clean(in->payload_hash))
        BKT_FAIL(err, BKT_EINVAL, "host or region has invalid characters");
    for (size_t i = 0; i < in->n_headers; i++)
        if (!is_clean(in->headers[i].name) || !is_clean(in->headers[i].value))
            BKT_FAIL(err, BKT_EINVAL, "header %zu to be signed has control characters", i);
    return BKT_OK;
}

static int amz_date(time_t now, char out[17], struct bkt_err *err)
{
    struct tm tm;
    if (!gmtime_r(&now, &tm) || tm.tm_year < 70 || tm.tm_year > 8099 ||
        strftime(out, 17, "%Y%m%dT%H%M%SZ", &tm) != 16)
        BKT_FAIL(err, BKT_EINVAL, "the clock cannot be used for signing");
    return BKT_OK;
}

static int print_canonical(const struct bkt_sign_input *in, const struct pairs *headers, struct bkt_buf *out)
{
    BKT_PASS(bkt_buf_addf(out, "%s\n%s\n", in->method, *in->path ? in->path : "/"));
    BKT_PASS(canonical_query(in, out));
    BKT_PASS(bkt_buf_add(out, "\n", 1));
    BKT_PASS(print_headers(headers, out));
    BKT_PASS(bkt_buf_add(out, "\n", 1));
    BKT_PASS(print_names(headers, out));
    return bkt_buf_addf(out, "\n%s", in->payload_hash);
}

int bkt_sign_canonical(const struct bkt_sign_input *in, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(pairs_fini) struct pairs headers = {0};
    char date[17];
    BKT_PASS(check(in, err));
    BKT_PASS(amz_date(in->now, date, err));
    if (collect_headers(in, date, &headers) < 0 || print_canonical(in, &headers, out) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
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
    if (bkt_buf_addf(out, ALGORITHM "\n%s\n%.8s/%s/%s/aws4_request\n%s", date, date, in->region, in->service,
                     hash) < 0)
        BKT_NOMEM(err);
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
    if (bkt_buf_addf(&of, "%.8s\n%s\n%s\n%s", date, in->region, in->service, in->creds->secret_key) < 0)
        BKT_NOMEM(err);
    bool ok = sha256(of.ptr, of.len, id);
    explicit_bzero(of.ptr, of.len);
    if (ok && key->set && memcmp(id, key->of, sizeof id) == 0)
        return BKT_OK;
    key->set = ok && derive(in->creds->secret_key, date, in->region, in->service, key->key);
    if (!key->set)
        BKT_FAIL(err, BKT_EIO, "HMAC-SHA256 failed");
    memcpy(key->of, id, sizeof id);
    return BKT_OK;
}

void bkt_sign_key_wipe(struct bkt_sign_key *key)
{
    explicit_bzero(key, sizeof *key);
}

/* ---- signing ---- */

static int print_authorization(const struct bkt_sign_input *in, const char *date, const struct pairs *headers,
                               const char *signature, struct bkt_buf *out)
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
    BKT_CLEANUP(pairs_fini) struct pairs headers = {0};
    BKT_CLEANUP(bkt_sign_key_wipe) struct bkt_sign_key own = {0};
    struct bkt_sign_key *key = cache ? cache : &own;
    unsigned char mac[32];
    char signature[65];

    BKT_PASS(check(in, err));
    BKT_PASS(amz_date(in->now, out->amz_date, err));
    if (collect_headers(in, out->amz_date, &headers) < 0 || print_canonical(in, &headers, &canonical) < 0)
        BKT_NOMEM(err);
    BKT_PASS(bkt_sign_string(in, &canonical, &string, err));
    BKT_PASS(signing_key(in, out->amz_date, key, err));
    if (!hmac(key->key, sizeof key->key, string.ptr, string.len, mac))
        BKT_FAIL(err, BKT_EIO, "HMAC-SHA256 failed");
    bkt_hex(mac, sizeof mac, signature);
    out->content_sha256[0] = 0;
    if (!in->no_sha256) {
        size_t n = strnlen(in->payload_hash, sizeof out->content_sha256 - 1);
        memcpy(out->content_sha256, in->payload_hash, n);
        out->content_sha256[n] = 0;
    }
    if (print_authorization(in, out->amz_date, &headers, signature, &out->authorization) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

void bkt_sign_output_fini(struct bkt_sign_output *out)
{
    bkt_buf_fini(&out->authorization);
}
