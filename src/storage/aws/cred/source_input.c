/* Small parts that the credential sources share: credentials, their JSON, times, files. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/files.h"
#include "storage/aws/cred/cred_impl.h"

/* ---- credentials ---- */

static void creds_free(struct bkt_creds *c)
{
    bkt_secret_free(c->access_key);
    bkt_secret_free(c->secret_key);
    bkt_secret_free(c->session_token);
    free(c->source);
    free(c);
}

void bkt_creds_unref(const struct bkt_creds *c)
{
    if (c && atomic_fetch_sub(&((struct bkt_creds *)c)->refs, 1) == 1)
        creds_free((struct bkt_creds *)c);
}

/* Credentials are sent in headers. */
static bool is_printable(const char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s <= 0x20 || (unsigned char)*s >= 0x7f)
            return false;
    return true;
}

int bkt_creds_make(const char *id, const char *secret, const char *token, int64_t expires, const char *source,
                   struct bkt_creds **out, struct bkt_err *err)
{
    if (token && !*token)
        token = NULL;
    BKT_FAIL_IF(err, !id || !secret || !*id || !*secret, BKT_EFORMAT,
                "%.200s: access key or secret key is missing", source);
    BKT_FAIL_IF(err, !is_printable(id) || !is_printable(secret) || (token && !is_printable(token)),
                BKT_EFORMAT, "%.200s: blanks or invalid characters in a key or token", source);
    BKT_FAIL_IF(err, expires && expires <= bkt_cred_now(), BKT_EACCES,
                "%.200s: the credentials ended %lld s ago; renew them (or set the clock)", source,
                (long long)(bkt_cred_now() - expires));
    struct bkt_creds *c = calloc(1, sizeof *c);
    BKT_NEED(err, c);
    atomic_init(&c->refs, 1);
    c->access_key = strdup(id);
    c->secret_key = strdup(secret);
    c->session_token = token ? strdup(token) : NULL;
    c->source = strdup(source);
    c->expires = expires;
    if (!c->access_key || !c->secret_key || !c->source || (token && !c->session_token)) {
        creds_free(c);
        BKT_NOMEM(err);
    }
    *out = c;
    return BKT_OK;
}

/* ---- JSON ---- */

enum { ID, SECRET, TOKEN, EXPIRES, CODE, MESSAGE, VERSION, FIELDS };

/* Report a server's refusal.  Its code is one word; its message may be any text, and is shortened. */
static int refused(const struct bkt_cred_json_field *f, const char *source, struct bkt_err *err)
{
    BKT_FAIL(err, BKT_EACCES, "%.150s: credentials refused: %.60s %.120s", source,
             bkt_buf_str(&f[CODE].value), f[MESSAGE].text ? bkt_buf_str(&f[MESSAGE].value) : "");
}

static int from_fields(const struct bkt_cred_json_field *f, bool process, const char *source,
                       struct bkt_creds **out, struct bkt_err *err)
{
    int64_t expires = 0;
    BKT_FAIL_IF(err, process && (!f[VERSION].present || strcmp(bkt_buf_str(&f[VERSION].value), "1") != 0),
                BKT_EFORMAT, "%.200s: \"Version\" is not 1", source);
    if (f[CODE].text && strcasecmp(bkt_buf_str(&f[CODE].value), "Success") != 0)
        return refused(f, source, err);
    BKT_FAIL_IF(err, !f[ID].text || !f[SECRET].text, BKT_EFORMAT,
                "%.200s: the answer lacks \"AccessKeyId\" or \"SecretAccessKey\"", source);
    BKT_FAIL_IF(err,
                f[EXPIRES].present &&
                    (!f[EXPIRES].text || !bkt_cred_time(bkt_buf_str(&f[EXPIRES].value), &expires)),
                BKT_EFORMAT, "%.200s: \"Expiration\" is not an ISO 8601 time", source);
    return bkt_creds_make(bkt_buf_str(&f[ID].value), bkt_buf_str(&f[SECRET].value),
                          f[TOKEN].text ? bkt_buf_str(&f[TOKEN].value) : NULL, expires, source, out, err);
}

int bkt_creds_from_json(const void *text, size_t n, const char *token_name, const char *source,
                        struct bkt_creds **out, struct bkt_err *err)
{
    struct bkt_cred_json_field f[FIELDS] = {
        [ID] = {.name = "AccessKeyId"},  [SECRET] = {.name = "SecretAccessKey"},
        [TOKEN] = {.name = token_name},  [EXPIRES] = {.name = "Expiration"},
        [CODE] = {.name = "Code"},       [MESSAGE] = {.name = "Message"},
        [VERSION] = {.name = "Version"},
    };
    BKT_TRY(err, bkt_cred_json_fields(text, n, f, FIELDS, err), "%.200s", source);
    int rc = from_fields(f, strcmp(token_name, "SessionToken") == 0, source, out, err);
    bkt_cred_json_fields_fini(f, FIELDS);
    return rc;
}

/* ---- times ---- */

_Atomic int64_t bkt_cred_clock_shift;

int64_t bkt_cred_now(void)
{
    return (int64_t)time(NULL) + atomic_load(&bkt_cred_clock_shift);
}

/* Whether the text begins in the form of @p form, where 0 is any digit, and T a T or a blank. */
static bool has_form(const char *p, const char *form)
{
    for (; *form; form++, p++)
        if (*form == '0' ? *p < '0' || *p > '9' : *form == 'T' ? !*p || !strchr("Tt ", *p) : *p != *form)
            return false;
    return true;
}

static int two_digits(const char *p) { return (p[0] - '0') * 10 + (p[1] - '0'); }

/* "Z", "+01:00", "+0100", "+01" or nothing. */
static bool offset(const char *p, int *seconds)
{
    static const char *const forms[] = {"00", "0000", "00:00"};
    size_t                   n = strlen(p), i = 0;
    *seconds = 0;
    if (!n || (n == 1 && (*p == 'Z' || *p == 'z')))
        return true;
    while (i < BKT_COUNT(forms) && !(strlen(forms[i]) == n - 1 && has_form(p + 1, forms[i])))
        i++;
    if (i == BKT_COUNT(forms) || !strchr("+-", *p))
        return false;
    int h = two_digits(p + 1), m = i ? two_digits(p + n - 2) : 0;
    *seconds = (*p == '-' ? -1 : 1) * (h * 3600 + m * 60);
    return h < 24 && m < 60;
}

bool bkt_cred_time(const char *p, int64_t *out)
{
    struct tm tm  = {0};
    int       off = 0;
    if (!has_form(p, "0000-00-00T00:00:00") || !strptime(p, "%Y-%m-%d", &tm) ||
        !strptime(p + 11, "%H:%M:%S", &tm))
        return false;
    p += strlen("0000-00-00T00:00:00");
    if (*p == '.' || *p == ',')
        p += 1 + strspn(p + 1, "0123456789");
    if (!offset(p, &off) || tm.tm_year < 70 || tm.tm_sec > 60)
        return false;
    *out = (int64_t)timegm(&tm) - off;
    return true;
}

/* ---- files ---- */

static int open_error(const char *path, struct bkt_err *err)
{
    int e = errno;
    int code = e == ENOENT || e == ENOTDIR ? BKT_ENOENT : e == EACCES || e == EPERM ? BKT_EACCES : BKT_EIO;
    if (code == BKT_ENOENT)
        return code;
    BKT_FAIL_IF(err, e == EMEDIUMTYPE, code, "%.300s: not a file, so nothing is read from it; name a file",
                path);
    BKT_FAIL(err, code, "%.300s: %s", path, strerrordesc_np(e));
}

int bkt_cred_read_file(const char *path, struct bkt_buf *out, struct bkt_err *err)
{
    int rc = bkt_file_read_whole(path, out);
    if (rc == BKT_ENOENT)
        return open_error(path, err);
    BKT_FAIL_IF(err, rc == BKT_ERANGE, BKT_EFORMAT, "%.300s is longer than %u bytes", path,
                BKT_CONFIG_FILE_MAX);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    BKT_FAIL_IF(err, rc < 0, rc, "%.300s: %s", path, strerrordesc_np(errno));
    return BKT_OK;
}
