/* Fuzz target for all that credential files, servers and programs hand us, and for signing.  The first byte
 * chooses the reader, the rest is its input. */
#include <stdlib.h>
#include <string.h>

#include "storage/aws/cred/cred_impl.h"
#include "storage/aws/sigv4.h"
#include "storage/web/login.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
    if (!ok)
        abort();
}

static void config(const void *p, size_t n, bool credentials)
{
    struct bkt_aws_config c = {0};
    must(bkt_aws_config_parse(&c, p, n, credentials, NULL) == BKT_OK);
    for (size_t i = 0; i < c.n; i++)
        must(c.v[i].section && !c.v[i].key == !c.v[i].value);
    (void)bkt_aws_config_endpoint(&c, "default", "s3");
    (void)bkt_aws_config_has_prefix(&c, "default", "sso_");
    bkt_aws_config_fini(&c);
}

/* For any input, a result is whole and can go into a header, and a failure has a message. */
static void is_sound(int rc, const struct bkt_creds *c, const struct bkt_err *err)
{
    must((rc == BKT_OK) == (c != NULL) && (rc == BKT_OK || err->n > 0));
    if (c)
        must(*c->access_key && *c->secret_key && !strpbrk(c->access_key, "\r\n") &&
             (!c->session_token || !strpbrk(c->session_token, "\r\n ")));
    bkt_creds_unref(c);
}

static void json(const void *p, size_t n, const char *token)
{
    struct bkt_creds *c   = NULL;
    struct bkt_err    err = {0};
    int               rc  = bkt_creds_from_json(p, n, token, "source", &c, &err);
    is_sound(rc, c, &err);
}

static void sts(const void *p, size_t n)
{
    struct bkt_creds *c   = NULL;
    struct bkt_err    err = {0};
    int               rc  = bkt_creds_from_sts(p, n, "source", &c, &err);
    is_sound(rc, c, &err);
}

static void command(const char *text)
{
    char **argv = NULL;
    int    rc   = bkt_cred_split(text, &argv, NULL);
    must(rc == BKT_OK ? argv && argv[0] : rc == BKT_EINVAL && !argv);
    free(argv);
}

/* The same text everywhere a user's or a server's could get. */
static void sign(char *text)
{
    char                         id[] = "A", secret[] = "S";
    const struct bkt_sign_pair   pair  = {"x", text};
    const struct bkt_creds       creds = {.access_key = id, .secret_key = secret, .session_token = text};
    struct bkt_sign_output       out   = {0};
    const struct bkt_sign_input  in    = {.method = "GET", .host = "h", .path = text, .query = text,
                                          .headers = &pair, .n_headers = 1,
                                          .payload_hash = BKT_UNSIGNED_PAYLOAD, .now = 1, .region = "r", .service = "s3",
                                          .creds = &creds, .no_sha256 = strlen(text) % 2};
    int                          rc    = bkt_sign(&in, NULL, &out, NULL);
    must(rc == BKT_OK || rc == BKT_EINVAL);
    must(rc != BKT_OK || !strpbrk(bkt_buf_str(&out.authorization), "\r\n"));
    bkt_sign_output_fini(&out);
}

static void netrc(const char *text)
{
    struct bkt_buf user = {0}, password = {0};
    int            rc   = bkt_netrc_find(text, "h", &user, &password);
    must(rc == BKT_OK || rc == BKT_ENOENT);
    must(rc != BKT_OK || user.len || password.len);
    bkt_buf_fini(&user);
    bkt_buf_fini(&password);
}

static void texts(unsigned kind, const void *p, size_t n)
{
    int64_t at;
    char   *text = strndup(p, n);
    must(text != NULL);
    if (kind == 5)
        command(text);
    else if (kind == 6)
        (void)bkt_cred_time(text, &at);
    else if (kind == 7)
        (void)bkt_cred_full_uri_ok(text);
    else if (kind == 9)
        netrc(text);
    else
        sign(text);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    unsigned       kind = data[0] % 10;
    const uint8_t *p    = data + 1;
    size_t         n    = size - 1;
    if (kind <= 1)
        config(p, n, kind == 1);
    else if (kind <= 3)
        json(p, n, kind == 2 ? "Token" : "SessionToken");
    else if (kind == 4)
        sts(p, n);
    else
        texts(kind, p, n);
    return 0;
}
