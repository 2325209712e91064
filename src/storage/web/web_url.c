#include "storage/web/web_url.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "base/url.h"

#define EXPECTED "https://host[:port]/path is expected, without user and password"

/* Bytes that end an authority. */
#define AUTHORITY_ENDS "/?#\\"

void bkt_web_url_fini(struct bkt_web_url *u)
{
    bkt_buf_fini(&u->text);
    free(u->host);
    free(u->origin);
    *u = (struct bkt_web_url){0};
}

/* Copy the address, as it can be sent. */
static int put_text(struct bkt_web_url *u, const char *text, size_t authority)
{
    size_t n = strcspn(text, "#");
    for (size_t i = 0; i < n; i++) {
        unsigned char c     = (unsigned char)text[i];
        bool literal = i < authority || (c > ' ' && c < 0x7f && !strchr("\"<>\\^`{|}", c));
        BKT_PASS(literal ? bkt_buf_add(&u->text, text + i, 1) : bkt_buf_addf(&u->text, "%%%02X", c));
    }
    return BKT_OK;
}

static char *part_of(CURLU *h, CURLUPart part, unsigned flags)
{
    char *curls = NULL, *own = NULL;
    if (curl_url_get(h, part, &curls, flags) == CURLUE_OK)
        own = strdup(curls);
    curl_free(curls);
    return own;
}

static bool has_part(CURLU *h, CURLUPart part)
{
    char *text  = NULL;
    bool  known = curl_url_get(h, part, &text, 0) == CURLUE_OK;
    curl_free(text);
    return known;
}

static int put_parts(struct bkt_web_url *u, CURLU *h)
{
    BKT_CLEANUP(bkt_freep) char *port = part_of(h, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    u->host                           = part_of(h, CURLUPART_HOST, 0);
    if (!port || !u->host)
        return BKT_ENOMEM;
    for (char *p = u->host; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    u->port                                       = (unsigned)strtoul(port, NULL, 10);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    BKT_PASS(bkt_buf_addf(&name, "%s://%s", u->https ? "https" : "http", u->host));
    if (u->port != (u->https ? 443 : 80))
        BKT_PASS(bkt_buf_addf(&name, ":%u", u->port));
    u->origin = bkt_buf_steal(&name);
    return BKT_OK;
}

static int parse(struct bkt_web_url *u, const char *text, CURLU *h, struct bkt_err *err)
{
    size_t scheme = strncasecmp(text, "https://", 8) == 0 ? 8 : strncasecmp(text, "http://", 7) == 0 ? 7 : 0;
    size_t host   = scheme + strcspn(text + scheme, AUTHORITY_ENDS);
    u->https      = scheme == 8;
    BKT_FAIL_IF(err, !scheme || host == scheme || strpbrk(text, "\r\n"), BKT_EINVAL, "'%.200s': " EXPECTED,
                BKT_SHOWN(text));
    BKT_NEED(err, h && put_text(u, text, host) >= 0);
    BKT_FAIL_IF(err, curl_url_set(h, CURLUPART_URL, bkt_buf_str(&u->text), CURLU_PATH_AS_IS) != CURLUE_OK,
                BKT_EINVAL, "'%.200s': " EXPECTED, BKT_SHOWN(text));
    BKT_FAIL_IF(err, has_part(h, CURLUPART_USER) || has_part(h, CURLUPART_PASSWORD), BKT_EINVAL,
                "'%.200s': " EXPECTED "; they belong in ~/.netrc", BKT_SHOWN(text));
    BKT_PASS_MEM(err, put_parts(u, h));
    return BKT_OK;
}

int bkt_web_url_parse(const char *text, struct bkt_web_url *out, struct bkt_err *err)
{
    *out     = (struct bkt_web_url){0};
    CURLU *h = curl_url();
    int rc   = parse(out, text, h, err);
    curl_url_cleanup(h);
    if (rc < 0)
        bkt_web_url_fini(out);
    return rc;
}

int bkt_web_url_name(const struct bkt_web_url *u, char **folder, char **file, struct bkt_err *err)
{
    const char *text  = bkt_buf_str(&u->text);
    const char *path  = strstr(text, "://") + 3;
    path += strcspn(path, AUTHORITY_ENDS);
    size_t n = strcspn(path, "?"), cut = n;
    bool query = path[n] == '?';
    while (cut > 1 && path[cut - 1] == '/') /* a name that ends in slashes keeps these */
        cut--;
    while (cut > 0 && path[cut - 1] != '/')
        cut--;
    BKT_FAIL_IF(err, cut == n && !query, BKT_EINVAL, "%.200s: the file's name is missing", BKT_SHOWN(text));
    struct bkt_buf name = {0};
    *folder = strndup(text, (size_t)(path - text) + (cut ? cut - 1 : 0));
    if (!*folder || bkt_buf_addf(&name, "%.*s%s", (int)(n - cut), path + cut, query ? "?***" : "") < 0) {
        free(*folder);
        bkt_buf_fini(&name);
        *folder = NULL;
        BKT_NOMEM(err);
    }
    *file = bkt_buf_steal(&name);
    return BKT_OK;
}
