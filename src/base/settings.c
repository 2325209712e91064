#include "base/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "base/files.h"
#include "base/url.h"

enum kind { TEXT, BOOL, UINT };

static const struct setting {
    const char *name, *env, *def, *help;
    enum kind   kind;
    size_t      at;
    uint64_t    lo, hi;
} table[] = {
#define X(kind, name, file, env, def, lo, hi, help)                                                          \
    {#name, env, def, help, kind, offsetof(struct bkt_settings, name), lo, hi},
    BKT_SETTINGS(X)
#undef X
#define X(kind, name, file, def, lo, hi, help)                                                               \
    {"test." #name, "", def, help, kind, offsetof(struct bkt_settings, name), lo, hi},
        BKT_TEST_SETTINGS(X)
#undef X
};

/* The rows before the first knob of tests. */
#define X(...) +1
enum { N_PUBLIC = 0 BKT_SETTINGS(X) };
#undef X

/* TEXT settings that accept only some words */
static const struct {
    const char *name, *words[4];
} choices[] = {
    {"addressing", {"auto", "path", "virtual", NULL}},
    {"links", {"refuse", "follow", NULL, NULL}},
    {"snapshot", {"check", "trust", "no", NULL}},
    {"schema", {"v1", "v2", NULL, NULL}},
    {"writers", {"many", "one", NULL, NULL}},
    {"test.conditional", {"quoted", "bare", NULL, NULL}},
    {"test.sign_payload", {"yes", "no", NULL, NULL}},
};

/* Settings of earlier versions, and their replacements. */
static const struct {
    const char *name, *now;
} removed[] = {
    {"hedge", "at most 5 per cent of GETs are sent a second time"},
    {"io_threads", "one thread for every four processors talks to servers"},
    {"connect_ms", "one try connects for a twelfth of 'deadline_ms'"},
    {"stall_ms", "one try waits for data for a sixth of 'deadline_ms'"},
    {"backoff_ms", "the first back-off is 50 ms"},
    {"write_cache", "'chunk_cache' bounds written chunks, too"},
    {"in_flight", "'chunk_cache' bounds data in transfer, too"},
    {"part_size", "longer ranges are fetched in parts of 8 MiB"},
    {"merge_gap", "the gap follows from the server's speed"},
    {"huge_pages", "huge pages are used while the system provides them quickly"},
    {"near", "the bytes around a small read follow from the program's reads"},
    {"max_object", "objects of more than 256 MiB may have 4 times 'meta_cache' bytes"},
    {"conditional", "a test of the server finds out the form"},
    {"sign_payload", "a signature covers the bytes over http, and https protects them"},
    {"upload_part", "longer objects are uploaded in parts of 32 MiB or more"},
    {"link_count", "hard links are counted in all groups"},
    {"shuffle_only", "such chunks are stored raw, as HSDS does"},
    {"prefetch", "'read_ahead=0' fetches nothing ahead"},
    {"native_calls", "they are served with HDF5 1.14 to 2.2"},
};

static const struct setting *find(const char *name)
{
    for (size_t i = 0; i < BKT_COUNT(table); i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

static void *field(const struct setting *t, const struct bkt_settings *s)
{
    return (char *)(uintptr_t)s + t->at;
}

static int unknown(const char *name, const char *where, struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(removed); i++)
        BKT_FAIL_IF(err, strcmp(removed[i].name, name) == 0, BKT_EINVAL,
                    "setting '%s' in %.100s was removed: %s; remove it there", name, where, removed[i].now);
    char   list[BKT_ERR_MSG] = "";
    size_t n                 = 0;
    for (size_t i = 0; i < N_PUBLIC; i++) {
        int k = snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", table[i].name);
        if (k < 0 || (size_t)k >= sizeof list - n)
            break;
        n += (size_t)k;
    }
    BKT_FAIL(err, BKT_EINVAL, "unknown setting '%.40s' in %.100s; known settings: %s", name, where, list);
}

static int set_bool(const struct setting *t, bool *to, const char *value, const char *where,
                    struct bkt_err *err)
{
    /* in turns no and yes */
    static const char *const words[] = {"0", "1", "no", "yes", "false", "true", "off", "on", ""};
    for (size_t i = 0; i < BKT_COUNT(words); i++)
        if (strcasecmp(value, words[i]) == 0)
            return *to = i % 2, BKT_OK;
    BKT_FAIL(err, BKT_EINVAL, "%s in %s must be yes or no, not '%.80s'", t->name, where, BKT_SHOWN(value));
}

static int set_uint(const struct setting *t, uint64_t *to, const char *value, const char *where,
                    struct bkt_err *err)
{
    static const char suffix[] = "KMGT";
    char             *end      = NULL;
    errno                      = 0;
    unsigned long long v       = strtoull(value, &end, 10);
    bool              ok       = isdigit((unsigned char)value[0]) && errno == 0;
    const char       *s        = *end ? strchr(suffix, toupper((unsigned char)*end)) : NULL;
    if (ok && s) {
        unsigned shift = 10U * (unsigned)(s - suffix + 1);
        ok             = v <= UINT64_MAX >> shift;
        v <<= shift;
        end++;
    }
    BKT_FAIL_IF(err, !ok || *end || v < t->lo || v > t->hi, BKT_EINVAL,
                "%s in %s must be a number from %llu to %llu (K, M, G may follow), not "
                "'%.80s'",
                t->name, where, (unsigned long long)t->lo, (unsigned long long)t->hi, BKT_SHOWN(value));
    *to = v;
    return BKT_OK;
}

static int set_text(const struct setting *t, char **to, const char *value, const char *where,
                    struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(choices); i++) {
        if (strcmp(choices[i].name, t->name) != 0)
            continue;
        const char *const *w = choices[i].words;
        while (*w && strcmp(*w, value) != 0)
            w++;
        BKT_FAIL_IF(err, !*w, BKT_EINVAL, "%s in %s can't be '%.80s': %s", t->name, where, BKT_SHOWN(value),
                    t->help);
    }
    char *copy = NULL;
    if (*value && !(copy = strdup(value)))
        BKT_NOMEM(err);
    free(*to);
    *to = copy;
    return BKT_OK;
}

static int set(const struct setting *t, struct bkt_settings *s, const char *value, const char *where,
               struct bkt_err *err)
{
    switch (t->kind) {
        case BOOL:
            return set_bool(t, field(t, s), value, where, err);
        case UINT:
            return set_uint(t, field(t, s), value, where, err);
        case TEXT:
        default:
            return set_text(t, field(t, s), value, where, err);
    }
}

int bkt_settings_set(struct bkt_settings *s, const char *name, const char *value, const char *where,
                     struct bkt_err *err)
{
    const struct setting *t = find(name);
    return t ? set(t, s, value, where, err) : unknown(name, where, err);
}

/* Parse "key = value" and set it; white space around both is dropped.  The line is changed. */
static int set_pair(struct bkt_settings *s, char *pair, const char *where, struct bkt_err *err)
{
    while (isspace((unsigned char)*pair))
        pair++;
    if (!*pair)
        return BKT_OK;
    char *eq = strchr(pair, '=');
    if (!eq && strncmp(pair, "token", 5) == 0) /* the rest may be one */
        BKT_FAIL(err, BKT_EINVAL, "'token' in %s is not key=value", where);
    BKT_FAIL_IF(err, !eq, BKT_EINVAL, "'%.80s' in %s is not key=value", BKT_SHOWN(pair), where);
    char *end = eq;
    while (end > pair && isspace((unsigned char)end[-1]))
        end--;
    *end        = 0;
    char *value = eq + 1;
    while (isspace((unsigned char)*value))
        value++;
    for (end = value + strlen(value); end > value && isspace((unsigned char)end[-1]);)
        *--end = 0;
    return bkt_settings_set(s, pair, value, where, err);
}

static int from_info(struct bkt_settings *s, const char *info, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *copy = strdup(info ? info : "");
    BKT_NEED(err, copy);
    char *save = NULL;
    for (char *p = strtok_r(copy, ";", &save); p; p = strtok_r(NULL, ";", &save))
        BKT_PASS(set_pair(s, p, "the connector's info string", err));
    return BKT_OK;
}

/* H5BUCKET_TEST="near=0,backoff_ms=1" */
static int from_test(struct bkt_settings *s, struct bkt_err *err)
{
    const char *list = getenv("H5BUCKET_TEST");
    while (list && *list) {
        char   pair[128];
        size_t n = strcspn(list, ",");
        (void)snprintf(pair, sizeof pair, "test.%.*s", (int)bkt_min_u64(n, 100), list);
        BKT_PASS(set_pair(s, pair, "H5BUCKET_TEST", err));
        list += n + (list[n] == ',');
    }
    return BKT_OK;
}

/* A variable of a setting that was removed. */
static int from_past(struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(removed); i++) {
        char  variable[64] = "H5BUCKET_";
        char *to           = variable + strlen(variable);
        for (const char *p = removed[i].name; *p; p++)
            *to++ = (char)toupper((unsigned char)*p);
        const char *value = getenv(variable);
        if (value && *value)
            return unknown(removed[i].name, variable, err);
    }
    return BKT_OK;
}

static int from_env(struct bkt_settings *s, struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(table); i++) {
        char names[128];
        (void)snprintf(names, sizeof names, "%s", table[i].env);
        char *save = NULL;
        for (char *p = strtok_r(names, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
            const char *value = getenv(p);
            if (!value || !*value)
                continue;
            BKT_PASS(set(&table[i], s, value, p, err));
            break;
        }
    }
    BKT_PASS(from_past(err));
    return from_test(s, err);
}

static int set_lines(struct bkt_settings *s, char *text, const char *path, struct bkt_err *err)
{
    char where[330];
    for (unsigned n = 1; *text; n++) {
        char  *line = text;
        size_t len  = strcspn(text, "\n");
        text += len + (text[len] == '\n');
        line[len] = 0;
        (void)snprintf(where, sizeof where, "line %u of %.300s", n, path);
        if (line[strspn(line, " \t")] != '#')
            BKT_PASS(set_pair(s, line, where, err));
    }
    return BKT_OK;
}

static int from_file(struct bkt_settings *s, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf path = {0}, text = {0};
    const char *own = getenv("H5BUCKET_CONFIG"), *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int         rc  = own && *own ? bkt_buf_add_str(&path, own)
                      : xdg && *xdg ? bkt_buf_addf(&path, "%s/h5bucket/config", xdg)
                                    : bkt_buf_addf(&path, "%s/.config/h5bucket/config", home ? home : "");
    BKT_PASS_MEM(err, rc);
    rc = bkt_file_read_whole(bkt_buf_str(&path), &text);
    BKT_FAIL_IF(err, rc == BKT_ENOENT && errno == EMEDIUMTYPE, BKT_EINVAL,
                "%.300s: not a file, so no settings are read from it; name a file in "
                "H5BUCKET_CONFIG",
                bkt_buf_str(&path));
    BKT_FAIL_IF(err, rc == BKT_ENOENT && own && *own, BKT_EINVAL, "H5BUCKET_CONFIG=%.300s: %s", own,
                strerrordesc_np(errno));
    if (rc == BKT_ENOENT)
        return BKT_OK;
    BKT_FAIL_IF(err, rc == BKT_ERANGE, BKT_EINVAL,
                "%.300s is longer than %u bytes; it is not a settings file", bkt_buf_str(&path),
                BKT_CONFIG_FILE_MAX);
    BKT_FAIL_IF(err, rc == BKT_EIO, BKT_EINVAL, "%.300s: %s", bkt_buf_str(&path), strerrordesc_np(errno));
    BKT_NEED(err, rc >= 0 && bkt_buf_reserve(&text, 0) >= 0);
    return set_lines(s, (char *)text.ptr, bkt_buf_str(&path), err);
}

static int fill_defaults(struct bkt_settings *s, struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(table); i++)
        if (table[i].def)
            BKT_PASS(set(&table[i], s, table[i].def, "the defaults", err));
    return BKT_OK;
}

static int fill(struct bkt_settings *s, const char *info, struct bkt_err *err)
{
    BKT_PASS(fill_defaults(s, err));
    BKT_PASS(from_file(s, err));
    BKT_PASS(from_env(s, err));
    return from_info(s, info, err);
}

int bkt_settings_init(struct bkt_settings *s, const char *info, struct bkt_err *err)
{
    memset(s, 0, sizeof *s);
    int rc = fill(s, info, err);
    if (rc < 0)
        bkt_settings_fini(s);
    return rc;
}

int bkt_settings_copy(struct bkt_settings *to, const struct bkt_settings *from, struct bkt_err *err)
{
    *to = *from;
    for (size_t i = 0; i < BKT_COUNT(table); i++)
        if (table[i].kind == TEXT)
            *(char **)field(&table[i], to) = NULL;
    for (size_t i = 0; i < BKT_COUNT(table); i++) {
        char *const *text = field(&table[i], from);
        if (table[i].kind != TEXT || !*text)
            continue;
        char *copy = strdup(*text);
        if (!copy) {
            bkt_settings_fini(to);
            BKT_NOMEM(err);
        }
        *(char **)field(&table[i], to) = copy;
    }
    return BKT_OK;
}

bool bkt_settings_equal(const struct bkt_settings *a, const struct bkt_settings *b)
{
    for (size_t i = 0; i < BKT_COUNT(table); i++) {
        const void *x = field(&table[i], a), *y = field(&table[i], b);
        const char *const *s = x, *const *t = y;
        bool same = table[i].kind == BOOL   ? *(const bool *)x == *(const bool *)y
                    : table[i].kind == UINT ? *(const uint64_t *)x == *(const uint64_t *)y
                                            : *s == *t || (*s && *t && strcmp(*s, *t) == 0);
        if (!same)
            return false;
    }
    return true;
}

/* Bounds of the values that follow from settings.  WAIT_MIN has room for a lost SYN, which Linux sends again.
 * Figures: bench/tuning.md. */
#define WAIT_MIN      3000U   /* ms */
#define WAIT_MAX      600000U /* ms */
#define MOVING_MIN    (16U << 20)
#define IN_FLIGHT_MAX (1U << 30)
#define OBJECT_MIN    (256U << 20)

static uint64_t wait_ms(uint64_t ms) { return bkt_min_u64(bkt_max_u64(ms, WAIT_MIN), WAIT_MAX); }

/* The default has room for several SYNs (bench/tuning.md, connect_ms). */
uint64_t bkt_settings_connect_ms(const struct bkt_settings *s)
{
    return s->connect_ms ? s->connect_ms : wait_ms(s->deadline_ms / 12);
}

/* By default longer than TCP's own retransmissions. */
uint64_t bkt_settings_stall_ms(const struct bkt_settings *s)
{
    return s->stall_ms ? s->stall_ms : wait_ms(s->deadline_ms / 6);
}

uint64_t bkt_settings_write_cache(const struct bkt_settings *s)
{
    return s->write_cache ? s->write_cache : bkt_max_u64(s->chunk_cache, MOVING_MIN);
}

uint64_t bkt_settings_in_flight(const struct bkt_settings *s)
{
    return s->in_flight ? s->in_flight : bkt_min_u64(bkt_max_u64(s->chunk_cache, MOVING_MIN), IN_FLIGHT_MAX);
}

uint64_t bkt_settings_max_object(const struct bkt_settings *s)
{
    uint64_t most = s->meta_cache > UINT64_MAX / 4 ? UINT64_MAX : 4 * s->meta_cache;
    return s->max_object ? s->max_object : bkt_max_u64(most, OBJECT_MIN);
}

void bkt_settings_fini(struct bkt_settings *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < BKT_COUNT(table); i++) {
        char *text = table[i].kind == TEXT ? *(char **)field(&table[i], s) : NULL;
        if (text) /* it may be a secret */
            explicit_bzero(text, strlen(text));
        free(text);
    }
    memset(s, 0, sizeof *s);
}

/* @p bare: the value may be a URL without its scheme. */
static int add_text(struct bkt_buf *to, const char *value, bool bare)
{
    size_t                       room  = value ? strlen(value) + 1 : 0;
    BKT_CLEANUP(bkt_freep) char *shown = room ? malloc(room) : NULL;
    if (room && !shown)
        return BKT_ENOMEM;
    return bkt_buf_add_str(to, shown ? bkt_url_shown(shown, room, value, bare) : "");
}

/* HOST:TOKEN, several of them: the hosts remain. */
static int add_tokens(struct bkt_buf *to, const char *value)
{
    for (const char *p = value ? value : ""; *p;) {
        size_t      n     = strcspn(p, " \t,"), gap = strspn(p + n, " \t,");
        const char *colon = memrchr(p, ':', n);
        BKT_PASS(bkt_buf_addf(to, "%.*s***%.*s", colon ? (int)(colon + 1 - p) : 0, p, (int)gap, p + n));
        p += n + gap;
    }
    return BKT_OK;
}

static int add_value(struct bkt_buf *to, const struct setting *t, const struct bkt_settings *s)
{
    if (strcmp(t->name, "token") == 0)
        return add_tokens(to, *(char *const *)field(t, s));
    if (t->kind == TEXT)
        return add_text(to, *(char *const *)field(t, s), strcmp(t->name, "user") != 0);
    if (t->kind == BOOL)
        return bkt_buf_add_str(to, *(const bool *)field(t, s) ? "yes" : "no");
    return bkt_buf_addf(to, "%llu", (unsigned long long)*(const uint64_t *)field(t, s));
}

static int each_row(const struct setting *t, const struct bkt_settings *s,
                    const struct bkt_settings *defaults,
                    int (*each)(const struct bkt_setting_row *row, void *arg), void *arg)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf value = {0}, usual = {0};
    if (add_value(&value, t, s) < 0 || add_value(&usual, t, defaults) < 0)
        return BKT_ENOMEM;
    const char            *v   = bkt_buf_str(&value);
    struct bkt_setting_row row = {t->name, t->env, t->def ? t->def : "",
                                  t->help, v,      strcmp(v, bkt_buf_str(&usual)) == 0};
    return each(&row, arg);
}

int bkt_settings_each(const struct bkt_settings *s, int (*each)(const struct bkt_setting_row *row, void *arg),
                      void *arg)
{
    BKT_CLEANUP(bkt_settings_fini) struct bkt_settings defaults = {0};
    int                                                rc       = fill_defaults(&defaults, NULL);
    for (size_t i = 0; rc == BKT_OK && i < N_PUBLIC; i++)
        rc = each_row(&table[i], s, &defaults, each, arg);
    return rc;
}

void bkt_settings_print(FILE *to, const struct bkt_settings *s, bool markdown)
{
    if (markdown)
        (void)fprintf(to, "| setting | environment | default | what it does |\n|---|---|---|---|\n");
    for (size_t i = 0; i < N_PUBLIC; i++) {
        const struct setting *t = &table[i];
        if (markdown) {
            (void)fprintf(to, "| `%s` | ", t->name);
            for (const char *p = t->env; *p; p += strcspn(p, ","), p += *p == ',')
                (void)fprintf(to, "%s`%.*s`", p == t->env ? "" : ", ", (int)strcspn(p, ","), p);
            (void)fprintf(to, " | %s | %s |\n", t->def ? t->def : "", t->help);
            continue;
        }
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf value = {0};
        (void)(s ? add_value(&value, t, s) : bkt_buf_add_str(&value, t->def ? t->def : ""));
        (void)fprintf(to, "%s = %s\n    %s (%s)\n", t->name, bkt_buf_str(&value), t->help, t->env);
    }
}
