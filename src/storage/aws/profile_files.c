#include "storage/aws/profile_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/list.h"

#define BLANKS " \t\r\f\v"

struct span {
    const char *p;
    size_t n;
};

static struct span trim(struct span s)
{
    while (s.n && strchr(BLANKS, s.p[0])) {
        s.p++;
        s.n--;
    }
    while (s.n && strchr(BLANKS, s.p[s.n - 1]))
        s.n--;
    return s;
}

static char *copy(struct span s)
{
    return strndup(s.p ? s.p : "", s.n);
}

static bool is_word(struct span s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

/* A comment within a line begins with a blank and # or ;. */
static struct span cut_comment(struct span s)
{
    for (size_t i = 1; i < s.n; i++)
        if ((s.p[i] == '#' || s.p[i] == ';') && (s.p[i - 1] == ' ' || s.p[i - 1] == '\t'))
            s.n = i;
    return trim(s);
}

struct reader {
    struct bkt_aws_config *c;
    char *section; /* NULL: outside of the sections that are used */
    char *parent;  /* key of a nested block, NULL outside */
    bool credentials, weak;
    bool can_continue; /* an indented line may continue the last entry */
};

static struct bkt_aws_entry *add(struct reader *r)
{
    struct bkt_aws_config *c = r->c;
    if (bkt_list_room(&c->v, c->n, &c->room, sizeof *c->v) < 0) /* holds pointers, no secrets */
        return NULL;
    struct bkt_aws_entry *e = &c->v[c->n];
    *e = (struct bkt_aws_entry){
        .section = strdup(r->section), .from_credentials = r->credentials, .weak = r->weak};
    if (!e->section)
        return NULL;
    c->n++;
    return e;
}

/* "profile x", "profile \"x y\"", "default", "services s" → the name that the section is kept by. */
static int section_name(struct reader *r, struct span s, char **out)
{
    struct span kind = s, name = {s.p + s.n, 0};
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == ' ' || s.p[i] == '\t') {
            kind.n = i;
            name = trim((struct span){s.p + i, s.n - i});
            break;
        }
    r->weak = false;
    if (r->credentials && !is_word(kind, "profile")) {
        kind = (struct span){"profile", 7};
        name = s;
    } else if (is_word(s, "default")) {
        kind = (struct span){"profile", 7};
        name = s;
        r->weak = true;
    }
    if (name.n >= 2 && (name.p[0] == '"' || name.p[0] == '\'') && name.p[name.n - 1] == name.p[0])
        name = (struct span){name.p + 1, name.n - 2};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    BKT_PASS(bkt_buf_add(&b, kind.p, kind.n));
    if (name.n) {
        BKT_PASS(bkt_buf_add(&b, " ", 1));
        BKT_PASS(bkt_buf_add(&b, name.p, name.n));
    }
    *out = bkt_buf_steal(&b);
    return BKT_OK;
}

static int read_section(struct reader *r, struct span line)
{
    free(r->section);
    free(r->parent);
    r->section = r->parent = NULL;
    r->can_continue = false;
    const char *end = memchr(line.p, ']', line.n);
    if (!end)
        return BKT_OK; /* lines below belong to no section */
    BKT_PASS(section_name(r, trim((struct span){line.p + 1, (size_t)(end - line.p) - 1}), &r->section));
    return add(r) ? BKT_OK : BKT_ENOMEM;
}

static char *full_key(const char *parent, struct span key)
{
    size_t n = parent ? strlen(parent) + 1 : 0;
    char *k = malloc(n + key.n + 1);
    if (!k)
        return NULL;
    if (parent) {
        memcpy(k, parent, n - 1);
        k[n - 1] = '.';
    }
    for (size_t i = 0; i < key.n; i++)
        k[n + i] = (char)(key.p[i] >= 'A' && key.p[i] <= 'Z' ? key.p[i] + ('a' - 'A') : key.p[i]);
    k[n + key.n] = 0;
    return k;
}

static int read_property(struct reader *r, struct span line, const char *parent)
{
    const char *eq = memchr(line.p, '=', line.n);
    if (!eq)
        return BKT_OK;
    size_t k = (size_t)(eq - line.p);
    struct span key = trim((struct span){line.p, k});
    struct span value = cut_comment((struct span){eq + 1, line.n - k - 1});
    if (!key.n)
        return BKT_OK;
    struct bkt_aws_entry *e = add(r);
    if (!e)
        return BKT_ENOMEM;
    e->key = full_key(parent, key);
    e->value = copy(value);
    if (!e->key || !e->value)
        return BKT_ENOMEM;
    if (!parent) {
        free(r->parent);
        r->parent = value.n ? NULL : strdup(e->key);
        r->can_continue = value.n > 0;
        if (!value.n && !r->parent)
            return BKT_ENOMEM;
    }
    return BKT_OK;
}

static int continue_value(struct reader *r, struct span line)
{
    struct bkt_aws_entry *e = &r->c->v[r->c->n - 1];
    BKT_CLEANUP(bkt_secret_fini) struct bkt_buf b = {0};
    BKT_PASS(bkt_secret_addf(&b, "%s\n%.*s", e->value, (int)line.n, line.p));
    bkt_secret_free(e->value);
    e->value = bkt_buf_steal(&b);
    return BKT_OK;
}

static int read_line(struct reader *r, struct span raw)
{
    struct span line = trim(raw);
    if (!line.n || line.p[0] == '#' || line.p[0] == ';')
        return BKT_OK;
    bool indented = raw.p[0] == ' ' || raw.p[0] == '\t';
    if (line.p[0] == '[' && !indented)
        return read_section(r, line);
    if (!r->section)
        return BKT_OK;
    if (indented && r->parent)
        return read_property(r, line, r->parent);
    if (indented && r->can_continue)
        return continue_value(r, line);
    return read_property(r, line, NULL);
}

int bkt_aws_config_parse(struct bkt_aws_config *c, const char *text, size_t n, bool credentials,
                         struct bkt_err *err)
{
    struct reader r = {.c = c, .credentials = credentials};
    int rc = BKT_OK;
    const char *p = text, *end = text + n;
    if (n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end && rc == BKT_OK) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t k = (size_t)((nl ? nl : end) - p);
        const char *z = memchr(p, 0, k);
        if (k && !z) /* a line with a NUL is not text */
            rc = read_line(&r, (struct span){p, k});
        p += k + (nl != NULL);
    }
    free(r.section);
    free(r.parent);
    BKT_PASS_MEM(err, rc);
    return BKT_OK;
}

void bkt_aws_config_fini(struct bkt_aws_config *c)
{
    for (size_t i = 0; i < c->n; i++) {
        free(c->v[i].section);
        free(c->v[i].key);
        bkt_secret_free(c->v[i].value);
    }
    free(c->v);
    free(c->config_path);
    free(c->credentials_path);
    *c = (struct bkt_aws_config){0};
}

static bool is_section(const struct bkt_aws_entry *e, const char *kind, const char *name)
{
    size_t k = strlen(kind);
    return strncmp(e->section, kind, k) == 0 && e->section[k] == ' ' && strcmp(e->section + k + 1, name) == 0;
}

/* [profile default] hides [default]. */
static bool hides_weak(const struct bkt_aws_config *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!c->v[i].from_credentials && !c->v[i].weak && strcmp(c->v[i].section, "profile default") == 0)
            return true;
    return false;
}

const struct bkt_aws_entry *bkt_aws_config_find(const struct bkt_aws_config *c, const char *kind,
                                                const char *name, const char *key)
{
    bool hide = hides_weak(c);
    for (int credentials = 1; credentials >= 0; credentials--)
        for (size_t i = c->n; i > 0; i--) {
            const struct bkt_aws_entry *e = &c->v[i - 1];
            if (e->from_credentials == (credentials == 1) && !(e->weak && hide) &&
                is_section(e, kind, name) && (key ? e->key && strcmp(e->key, key) == 0 && *e->value : true))
                return e;
        }
    return NULL;
}

const char *bkt_aws_config_profile(const struct bkt_aws_config *c, const char *profile, const char *key)
{
    const struct bkt_aws_entry *e = bkt_aws_config_find(c, "profile", profile, key);
    return e ? e->value : NULL;
}

bool bkt_aws_config_has_prefix(const struct bkt_aws_config *c, const char *profile, const char *prefix)
{
    for (size_t i = 0; i < c->n; i++)
        if (c->v[i].key && is_section(&c->v[i], "profile", profile) &&
            strncmp(c->v[i].key, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

const char *bkt_aws_config_endpoint(const struct bkt_aws_config *c, const char *profile, const char *service)
{
    const char *services = bkt_aws_config_profile(c, profile, "services");
    const char *url = NULL;
    if (services) {
        char key[64];
        int n = snprintf(key, sizeof key, "%s.endpoint_url", service);
        const struct bkt_aws_entry *e =
            n > 0 && (size_t)n < sizeof key ? bkt_aws_config_find(c, "services", services, key) : NULL;
        url = e ? e->value : NULL;
    }
    return url ? url : bkt_aws_config_profile(c, profile, "endpoint_url");
}
