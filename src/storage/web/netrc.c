#include "storage/web/netrc.h"

#include <string.h>
#include <strings.h>

#include "storage/aws/secret.h"

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
