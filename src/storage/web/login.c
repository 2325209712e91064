#include "storage/web/login.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/files.h"
#include "base/bytes.h"

#define BETWEEN  " \t,"

/* ---- setting token ---- */

/* One HOST:TOKEN or HOST:PORT:TOKEN of @p n bytes.  A token has no colon (RFC 6750, 2.1). */
static const char *token_in(const char *entry, size_t n)
{
    const char *colon = memrchr(entry, ':', n);
    size_t      host  = colon ? (size_t)(colon - entry) : 0;
    if (!host || host + 1 == n || memchr(entry, '/', host) || colon[1] == '/')
        return NULL;
    for (const char *p = entry; p < entry + n; p++)
        if (*p <= ' ' || *p > '~')
            return NULL;
    return colon + 1;
}

static bool is_for(const struct bkt_login *l, const char *entry, size_t host)
{
    const char *server = strstr(l->origin, "://");
    server             = server ? server + 3 : "";
    bool whole = strlen(server) == host &&
                 strncasecmp(server, entry, host) == 0; /* without a port if it is the scheme's own */
    char port[300];
    (void)snprintf(port, sizeof port, "%s:%d", l->host, l->https ? 443 : 80);
    return whole || (l->own_port && strlen(port) == host && strncasecmp(port, entry, host) == 0);
}

static int take_token(struct bkt_login *l, const char *setting, struct bkt_err *err)
{
    for (const char *p = setting + strspn(setting, BETWEEN), *next; *p; p = next) {
        size_t      n     = strcspn(p, BETWEEN);
        const char *token = token_in(p, n);
        next              = p + n + strspn(p + n, BETWEEN);
        if (!token) /* its value is a secret */
            BKT_FAIL(err, BKT_EINVAL,
                     "setting token: HOST:TOKEN is expected, several separated by spaces or commas");
        if (l->token || !is_for(l, p, (size_t)(token - 1 - p)))
            continue;
        BKT_NEED(err, (l->token = strndup(token, (size_t)(p + n - token))));
    }
    return BKT_OK;
}

/* ---- the file ---- */

/* Without a file that can be read, no address has a login, as in other programs. */
static int read_netrc(struct bkt_login *l)
{
    const char *named = getenv("NETRC"), *home = getenv("HOME");
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0};
    BKT_PASS(named && *named ? bkt_buf_add_str(&path, named)
                             : bkt_buf_addf(&path, "%s/.netrc", home ? home : ""));
    return bkt_file_read_whole(bkt_buf_str(&path), &l->netrc) == BKT_ENOMEM ? BKT_ENOMEM : BKT_OK;
}

int bkt_login_init(struct bkt_login *l, const struct bkt_web_url *own, const struct bkt_settings *set,
                   struct bkt_err *err)
{
    *l = (struct bkt_login){.https = own->https, .own_port = own->port == (own->https ? 443 : 80)};
    if (strlen(own->origin) >= sizeof l->origin || strlen(own->host) >= sizeof l->host)
        return BKT_OK;
    (void)snprintf(l->origin, sizeof l->origin, "%s", own->origin);
    (void)snprintf(l->host, sizeof l->host, "%s", own->host);
    BKT_PASS(set->token ? take_token(l, set->token, err) : BKT_OK);
    BKT_PASS_MEM(err, read_netrc(l));
    return BKT_OK;
}

void bkt_login_fini(struct bkt_login *l)
{
    bkt_secret_free(l->token);
    bkt_secret_fini(&l->netrc);
    *l = (struct bkt_login){.token = NULL};
}

/* ---- the words of the file ---- */

#define WHITE " \t\r\n"

/* Each word may be a secret. */
struct reader {
    const char    *p;
    struct bkt_buf word;
};

static int put(struct reader *r, const char *p, size_t n) { return bkt_secret_add(&r->word, p, n); }

static char escaped(char c) { return c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c; }

/* After the opening quote. */
static int quoted(struct reader *r)
{
    for (; *r->p && *r->p != '"'; r->p++) {
        char c = *r->p;
        if (c == '\\' && r->p[1])
            c = escaped(*++r->p);
        BKT_PASS(put(r, &c, 1));
    }
    r->p += *r->p == '"';
    return BKT_OK;
}

/* Read the next word.  BKT_ENOENT: the text has ended. */
static int next(struct reader *r)
{
    r->p += strspn(r->p, WHITE);
    bkt_buf_clear(&r->word);
    if (!*r->p)
        return BKT_ENOENT;
    if (*r->p == '"') {
        r->p++;
        return quoted(r);
    }
    size_t n = strcspn(r->p, WHITE);
    r->p += n;
    return put(r, r->p - n, n);
}

static bool is(const struct reader *r, const char *word) { return strcmp(bkt_buf_str(&r->word), word) == 0; }

/* A macro ends at an empty line. */
static void skip_macro(struct reader *r)
{
    const char *a = strstr(r->p, "\n\n"), *b = strstr(r->p, "\n\r\n");
    const char *end = a && (!b || a < b) ? a : b;
    r->p            = end ? end : r->p + strlen(r->p);
}

/* The value of a keyword; an empty @p to, or one that is NULL, takes it. */
static int value(struct reader *r, struct bkt_buf *to)
{
    BKT_PASS(next(r));
    return to && !to->len ? bkt_secret_add(to, r->word.ptr, r->word.len) : BKT_OK;
}

/* One keyword and its value.  @p ours: the entry is the host's. */
static int keyword(struct reader *r, const char *host, bool *ours, struct bkt_buf *user,
                   struct bkt_buf *password)
{
    if (is(r, "machine") || is(r, "default")) {
        if (*ours) /* its entry is over */
            return BKT_ENOENT;
        bool named = is(r, "machine");
        if (named)
            BKT_PASS(next(r));
        *ours = named && strcasecmp(bkt_buf_str(&r->word), host) == 0;
        return BKT_OK;
    }
    if (is(r, "login") || is(r, "password"))
        return value(r, !*ours ? NULL : is(r, "login") ? user : password);
    if (is(r, "account"))
        return value(r, NULL);
    if (is(r, "macdef"))
        skip_macro(r);
    else if (bkt_buf_str(&r->word)[0] == '#')
        r->p += strcspn(r->p, "\n");
    return BKT_OK;
}

int bkt_netrc_find(const char *text, const char *host, struct bkt_buf *user, struct bkt_buf *password)
{
    struct reader r    = {.p = text};
    bool          ours = false;
    int           rc   = BKT_OK;
    while (rc == BKT_OK && (rc = next(&r)) == BKT_OK)
        rc = keyword(&r, host, &ours, user, password);
    bkt_secret_fini(&r.word);
    if (rc != BKT_ENOENT)
        return rc;
    return ours && (user->len || password->len) ? BKT_OK : BKT_ENOENT;
}

/* ---- requests ---- */

/* The user's own server, also where it redirects from http to its https. */
static bool is_own(const struct bkt_login *l, const struct bkt_web_url *to)
{
    bool upgrade = !l->https && l->own_port && to->https && to->port == 443;
    return strcmp(l->origin, to->origin) == 0 || (upgrade && strcmp(l->host, to->host) == 0);
}

/* RFC 7617: the user's name can't have a colon. */
static int basic(const struct bkt_buf *user, const struct bkt_buf *password, struct bkt_buf *out)
{
    BKT_CLEANUP(bkt_secret_fini) struct bkt_buf both = {0}, text = {0};
    if (user->len && memchr(user->ptr, ':', user->len))
        return BKT_OK;
    BKT_PASS(bkt_secret_add(&both, bkt_buf_str(user), user->len));
    BKT_PASS(bkt_secret_add(&both, ":", 1));
    BKT_PASS(bkt_secret_add(&both, bkt_buf_str(password), password->len));
    BKT_PASS(bkt_buf_reserve(&text, 2 * both.len + 8)); /* so that it does not move */
    BKT_PASS(bkt_base64_encode(both.ptr, both.len, &text));
    return bkt_secret_addf(out, "Basic %s", bkt_buf_str(&text));
}

static int from_netrc(const struct bkt_login *l, const char *host, struct bkt_buf *out)
{
    BKT_CLEANUP(bkt_secret_fini) struct bkt_buf user = {0}, password = {0};
    int rc = l->netrc.len ? bkt_netrc_find(bkt_buf_str(&l->netrc), host, &user, &password) : BKT_ENOENT;
    return rc == BKT_ENOENT ? BKT_OK : rc < 0 ? rc : basic(&user, &password, out);
}

int bkt_login_for(const struct bkt_login *l, const struct bkt_web_url *to, char **out)
{
    BKT_CLEANUP(bkt_secret_fini) struct bkt_buf value = {0};
    bool                                        own   = is_own(l, to);
    *out                                              = NULL;
    if (own && l->token)
        BKT_PASS(bkt_secret_addf(&value, "Bearer %s", l->token));
    else if (own || to->https)
        BKT_PASS(from_netrc(l, to->host, &value));
    if (value.len)
        *out = bkt_buf_steal(&value);
    return BKT_OK;
}
