#include "base/url.h"

#include <string.h>
#include <strings.h>

#define BLANKS " \t\r\n"

struct copy {
    const char *from; /* the next byte to read */
    char       *to;
    size_t      room, n;
};

static void add(struct copy *c, const char *s, size_t n)
{
    size_t left = c->room - 1 - c->n;
    n           = n < left ? n : left;
    memmove(c->to + c->n, s, n);
    c->n += n;
}

static void take(struct copy *c, size_t n)
{
    add(c, c->from, n);
    c->from += n;
}

/* The replacement is not longer than the secret: the text may be changed in place. */
static void hide(struct copy *c, size_t n)
{
    add(c, "***", n < 3 ? n : 3);
    c->from += n;
}

/* Hide up to the URL's end.  Punctuation that ends the sentence, or the quotation, is kept. */
static void hide_value(struct copy *c, const char *ends)
{
    size_t n = strcspn(c->from, ends);
    while (n && strchr(":,;.)", c->from[n - 1]))
        n--;
    hide(c, n);
}

/* Whether a port follows, as in "host:8080" or "host:".  Afterwards a message may go on, but not a
 * password. */
static bool is_port(const char *colon, size_t n)
{
    size_t digits = strspn(colon + 1, "0123456789");
    return digits <= 5 && (digits + 1 >= n || strchr("'\"),;:]}>", colon[1 + digits]));
}

/* The number of bytes at the beginning of an authority of @p n bytes that are secret.  The end of a password
 * with a slash in it is not known.  Then all is secret up to the next blank, which is at @p word. */
static size_t secret_of(const char *p, size_t n, size_t word)
{
    const char *at = memrchr(p, '@', n);
    if (at)
        return (size_t)(at - p);
    const char *colon = *p == '[' ? NULL : memchr(p, ':', n); /* '[': an IPv6 address */
    if (!colon || (colon > p && colon[-1] == '[') /* "host[:port]", as help has it */ ||
        is_port(colon, n - (size_t)(colon - p)))
        return 0;
    return word;
}

static void take_authority(struct copy *c)
{
    size_t secret = secret_of(c->from, strcspn(c->from, BLANKS "/?#"), strcspn(c->from, BLANKS));
    if (secret)
        hide(c, secret);
}

/* Hide query and fragment of a web address as a whole: only the server knows which parts of them are
 * secret. */
static void take_web(struct copy *c)
{
    take(c, strcspn(c->from, BLANKS "?#\"<>"));
    if (*c->from != '?' && *c->from != '#')
        return;
    take(c, 1);
    hide_value(c, BLANKS "'\"<>");
}

static bool ends_with(const char *text, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - text) >= n && strncasecmp(end - n, word, n) == 0;
}

static bool has_word(const char *p, size_t n, const char *word)
{
    size_t k = strlen(word);
    for (size_t i = 0; i + k <= n; i++)
        if (strncasecmp(p + i, word, k) == 0)
            return true;
    return false;
}

/* AWS: X-Amz-Signature, X-Amz-Credential, X-Amz-Security-Token, AWSAccessKeyId, Signature, Key-Pair-Id,
 * Policy.  Google: X-Goog-Signature, GoogleAccessId.  Azure: sig, skoid.  Others: token, api_key,
 * password. */
static bool is_secret(const char *name, size_t n)
{
    static const char *const words[] = {"sig",  "credential", "token", "key",  "secret", "pass",
                                        "pwd", "auth",       "policy", "jwt", "accessid", "skoid"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(name, n, words[i]))
            return true;
    return false;
}

/* After '?', '&' or ';': name=value */
static void take_parameter(struct copy *c)
{
    const char *p = c->from;
    size_t      n = strcspn(p, BLANKS "=&?;#'\"/");
    if (p[n] != '=' || !is_secret(p, n))
        return;
    take(c, n + 1);
    hide_value(c, BLANKS "&#'\"<>");
}

char *bkt_url_shown(char *to, size_t room, const char *text, bool bare)
{
    struct copy c = {text, to, room, 0};
    while (*c.from) {
        bool begins = c.from == text || strchr(BLANKS ",", c.from[-1]);
        if (bare && begins && !memmem(c.from, strcspn(c.from, BLANKS ","), "://", 3))
            take_authority(&c);
        if (strncmp(c.from, "://", 3) == 0) {
            bool web = ends_with(text, c.from, "http") || ends_with(text, c.from, "https");
            take(&c, 3);
            take_authority(&c);
            if (web)
                take_web(&c);
        } else if (*c.from && strchr("?&;", *c.from)) {
            take(&c, 1);
            take_parameter(&c);
        } else if (*c.from) {
            take(&c, 1);
        }
    }
    c.to[c.n] = 0;
    return to;
}
