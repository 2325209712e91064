#include "samples/records.h"

#include <inttypes.h>
#include <string.h>

#include "base/num.h"
#include "samples/repository.h"

#define DIGEST 16 /* digits */

/* A parser's place.  `want` is set once, where parsing ended. */
struct cursor {
    const char *text;
    size_t n, at;
    const char *want;
};

bool bkt_uid_ok(const char *uid, size_t n)
{
    size_t ok = 0;
    while (ok < n && (strchr("_-", uid[ok])
                          ? uid[ok] != 0
                          : (uid[ok] >= '0' && uid[ok] <= '9') || (uid[ok] >= 'a' && uid[ok] <= 'z') ||
                                (uid[ok] >= 'A' && uid[ok] <= 'Z')))
        ok++;
    return n > 0 && n < H5BUCKET_UID_MAX && ok == n;
}

const char *bkt_sample_record_show(const char *text, size_t n, char out[BKT_SAMPLE_RECORD_SHOWN])
{
    size_t i;
    for (i = 0; i < n && i < BKT_SAMPLE_RECORD_SHOWN - 1; i++)
        out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    out[i] = 0;
    return out;
}

static bool stop(struct cursor *c, const char *want)
{
    if (!c->want)
        c->want = want;
    return false;
}

static char peek(const struct cursor *c)
{
    return c->at < c->n ? c->text[c->at] : 0;
}

static bool is_digit(char ch)
{
    return ch >= '0' && ch <= '9';
}

static bool take(struct cursor *c, char ch, const char *want)
{
    if (c->at == c->n || c->text[c->at] != ch)
        return stop(c, want);
    c->at++;
    return true;
}

/* A decimal number without sign and leading zeros, at most @p most. */
static bool number(struct cursor *c, uint64_t most, uint64_t *out)
{
    size_t first = c->at;
    *out = 0;
    if (!is_digit(peek(c)))
        return stop(c, "a number is expected");
    if (peek(c) == '0' && c->at + 1 < c->n && is_digit(c->text[c->at + 1]))
        return stop(c, "a number has no leading zeros");
    for (; is_digit(peek(c)); c->at++)
        if (!bkt_mul_u64(*out, 10, out) || !bkt_add_u64(*out, (uint64_t)(peek(c) - '0'), out) ||
            *out > most) {
            c->at = first;
            return stop(c, "the number is too large");
        }
    return true;
}

static bool number32(struct cursor *c, uint32_t *out)
{
    uint64_t v;
    bool ok = number(c, UINT32_MAX, &v);
    *out = ok ? (uint32_t)v : 0;
    return ok;
}

static bool format_code(struct cursor *c, struct h5bucket_record *r)
{
    bool known = c->n >= 2 && c->text[0] == '0' && (c->text[1] == '0' || c->text[1] == '1');
    if (!known)
        return stop(c, "the format code 00 or 01 is expected");
    r->format = c->text[1] - '0';
    c->at = 2;
    return take(c, ':', "':' is expected");
}

static bool uid(struct cursor *c, struct h5bucket_record *r)
{
    size_t first = c->at;
    while (c->at < c->n && c->at - first < H5BUCKET_UID_MAX && bkt_uid_ok(c->text + c->at, 1))
        c->at++;
    if (!bkt_uid_ok(c->text + first, c->at - first))
        return stop(c, "a file's uid of 1 to 63 letters, digits, '_' and '-' is expected");
    memcpy(r->uid, c->text + first, c->at - first);
    return true;
}

static int hex(char ch)
{
    return is_digit(ch) ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : -1;
}

static bool digest(struct cursor *c, struct h5bucket_record *r)
{
    for (unsigned i = 0; i < DIGEST; i++, c->at++) {
        int digit = hex(peek(c));
        if (digit < 0)
            return stop(c, "a digest of 16 digits 0-9 and a-f is expected");
        r->digest = r->digest << 4 | (unsigned)digit;
    }
    if (hex(peek(c)) >= 0)
        return stop(c, "the digest has more than 16 digits");
    r->has_digest = true;
    return true;
}

static bool shape(struct cursor *c, struct h5bucket_record *r)
{
    uint64_t elements;
    if (c->at == c->n)
        return true;
    do {
        if (r->rank == H5S_MAX_RANK)
            return stop(c, "there are too many dimensions");
        uint64_t dim;
        if (!number(c, INT64_MAX, &dim))
            return false;
        r->shape[r->rank++] = dim;
    } while (peek(c) == ' ' && c->at++ < c->n);
    if (c->at < c->n)
        return stop(c, "a blank or the record's end is expected");
    return bkt_sample_record_elements(r, &elements) || stop(c, "the shape has too many elements");
}

/* The two older grammars: [digest$]dataset row*shape. */
static bool rest_of_v4(struct cursor *c, struct h5bucket_record *r)
{
    const char *next = memchr(c->text + c->at, '$', c->n - c->at);
    if (next && !(digest(c, r) && take(c, '$', "'$' is expected")))
        return false;
    return number32(c, &r->dataset) && take(c, ' ', "a blank is expected") && number32(c, &r->row) &&
           take(c, '*', "'*' is expected") && shape(c, r);
}

static bool rest_of_v5(struct cursor *c, struct h5bucket_record *r)
{
    return take(c, ':', "':' or '$' is expected") && digest(c, r) && take(c, ':', "':' is expected") &&
           number32(c, &r->dataset) && take(c, ':', "':' is expected") && number32(c, &r->row) &&
           take(c, ':', "':' is expected") && shape(c, r);
}

static bool record(struct cursor *c, struct h5bucket_record *r)
{
    if (c->n >= H5BUCKET_RECORD_MAX) {
        c->at = H5BUCKET_RECORD_MAX - 1;
        return stop(c, "a record has at most 255 bytes");
    }
    if (!format_code(c, r) || !uid(c, r))
        return false;
    if (peek(c) != '$')
        return rest_of_v5(c, r);
    c->at++;
    return rest_of_v4(c, r);
}

int bkt_sample_record_parse(const char *text, size_t n, struct h5bucket_record *out, struct bkt_err *err)
{
    struct cursor c = {.text = text, .n = n};
    char shown[BKT_SAMPLE_RECORD_SHOWN];
    memset(out, 0, sizeof *out);
    BKT_FAIL_IF(err, !text, BKT_EINVAL, "no record given");
    BKT_FAIL_IF(err, !record(&c, out), BKT_EINVAL, "record '%s': byte %zu: %s",
                bkt_sample_record_show(text, n, shown), c.at, c.want);
    return BKT_OK;
}

bool bkt_sample_record_elements(const struct h5bucket_record *r, uint64_t *out)
{
    uint64_t n = 1, known = 1; /* dimensions of 0 don't hide others that are too long */
    for (int i = 0; i < r->rank; i++) {
        if (!bkt_mul_u64(n, r->shape[i], &n) || !bkt_mul_u64(known, r->shape[i] ? r->shape[i] : 1, &known))
            return false;
    }
    *out = n;
    return known <= INT64_MAX;
}

/* ---- text ---- */

static int check(const struct h5bucket_record *r, int grammar, struct bkt_err *err)
{
    uint64_t elements;
    BKT_FAIL_IF(err, grammar != 5 && grammar != 4 && grammar != 2, BKT_EINVAL,
                "records have no grammar %d; use 5, 4 or 2", grammar);
    BKT_FAIL_IF(err, r->format != 0 && r->format != 1, BKT_EINVAL, "samples have no format %d; use 0 or 1",
                r->format);
    BKT_FAIL_IF(err, !bkt_uid_ok(r->uid, strnlen(r->uid, H5BUCKET_UID_MAX)), BKT_EINVAL,
                "a record's uid has 1 to 63 letters, digits, '_' and '-'");
    BKT_FAIL_IF(err, r->rank < 0 || r->rank > H5S_MAX_RANK || !bkt_sample_record_elements(r, &elements),
                BKT_EINVAL, "record of %s: the shape has too many dimensions or elements", r->uid);
    BKT_FAIL_IF(err, grammar != 2 && !r->has_digest, BKT_EINVAL,
                "record of %s: grammar %d has a digest; use grammar 2", r->uid, grammar);
    return BKT_OK;
}

int bkt_sample_record_emit(const struct h5bucket_record *r, int grammar, char text[H5BUCKET_RECORD_MAX],
                           struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf t = {0};
    BKT_PASS(check(r, grammar, err));
    int rc = bkt_buf_addf(&t, "0%d:%s", r->format, r->uid);
    if (rc == BKT_OK && grammar == 5)
        rc = bkt_buf_addf(&t, ":%016" PRIx64 ":%" PRIu32 ":%" PRIu32 ":", r->digest, r->dataset, r->row);
    else if (rc == BKT_OK && grammar == 4)
        rc = bkt_buf_addf(&t, "$%016" PRIx64 "$%" PRIu32 " %" PRIu32 "*", r->digest, r->dataset, r->row);
    else if (rc == BKT_OK)
        rc = bkt_buf_addf(&t, "$%" PRIu32 " %" PRIu32 "*", r->dataset, r->row);
    for (int i = 0; rc == BKT_OK && i < r->rank; i++)
        rc = bkt_buf_addf(&t, "%s%" PRIuHSIZE, i ? " " : "", r->shape[i]);
    BKT_PASS_MEM(err, rc);
    BKT_FAIL_IF(err, t.len >= H5BUCKET_RECORD_MAX, BKT_EINVAL,
                "record of %s: the shape's text is too long; a record has at most 255 bytes", r->uid);
    memcpy(text, t.ptr, t.len + 1);
    return BKT_OK;
}

/* ---- public ---- */

herr_t h5bucket_record_parse(const char *text, size_t n, struct h5bucket_record *out)
{
    struct bkt_err err = {.n = 0};
    return bkt_samples_done(bkt_sample_record_parse(text, n, out, &err), &err);
}

herr_t h5bucket_record_emit(const struct h5bucket_record *r, int grammar, char text[H5BUCKET_RECORD_MAX])
{
    struct bkt_err err = {.n = 0};
    return bkt_samples_done(bkt_sample_record_emit(r, grammar, text, &err), &err);
}
