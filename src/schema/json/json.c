#include "schema/json/json.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/fork.h"
#include "schema/json/json_scan.h"

#define NUMBER_TAG "\x01"
static const char raw_mark[] = "\xf4\x8f\xbf\xbf"; /* U+10FFFF */

static locale_t       c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;
static void           make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

bool bkt_json_strtod(const char *text, double *out)
{
    char *end;
    (void)pthread_once(&c_locale_once, make_c_locale);
    *out = c_locale ? strtod_l(text, &end, c_locale) : strtod(text, &end);
    return end != text && *end == 0 && !isspace((unsigned char)*text);
}

bool bkt_json_real_at(const char *p, const char *end, double *out)
{
    char *stop;
    (void)pthread_once(&c_locale_once, make_c_locale);
    *out = c_locale ? strtod_l(p, &stop, c_locale) : strtod(p, &stop);
    return stop == end && isfinite(*out);
}

/* ---- the pass before jansson ---- */

/* Copies lazily: out stays empty until something is changed. */
struct pass {
    const char    *text, *end, *copied; /* copied: the text before it is in out already */
    struct bkt_buf out;
};

static int pass_replace(struct pass *ps, const char *from, const char *to, const void *with, size_t n)
{
    BKT_PASS(bkt_buf_add(&ps->out, ps->copied, (size_t)(from - ps->copied)));
    ps->copied = to;
    return bkt_buf_add(&ps->out, with, n);
}

int bkt_json_unit_at(const unsigned char *p, const unsigned char *end)
{
    int v = 0;
    if (end - p < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (unsigned i = 2; i < 6; i++) {
        if (!isxdigit(p[i]))
            return -1;
        v = v * 16 + (isdigit(p[i]) ? p[i] - '0' : (p[i] | 32) - 'a' + 10);
    }
    return v;
}

static int unit_at(const struct pass *ps, const char *s)
{
    return bkt_json_unit_at((const unsigned char *)s, (const unsigned char *)ps->end);
}

static int add_raw(struct bkt_buf *out, unsigned byte)
{
    unsigned char two[2] = {(unsigned char)(0xc0 | byte >> 6), (unsigned char)(0x80 | (byte & 0x3f))};
    BKT_PASS(bkt_buf_add_str(out, raw_mark));
    return bkt_buf_add(out, two, 2);
}

/* A surrogate without its other half. */
static int add_lone(struct bkt_buf *out, unsigned unit)
{
    if (unit >= 0xdc80 && unit <= 0xdcff)
        return add_raw(out, unit & 0xff);
    BKT_PASS(add_raw(out, 0xe0 | unit >> 12));
    BKT_PASS(add_raw(out, 0x80 | (unit >> 6 & 0x3f)));
    return add_raw(out, 0x80 | (unit & 0x3f));
}

int bkt_json_add_unit(struct bkt_buf *out, uint32_t unit)
{
    unsigned char c[4] = {(unsigned char)unit};
    if (unit >= 0xd800 && unit <= 0xdfff)
        return add_lone(out, unit);
    if (unit == 0x10ffff)
        BKT_PASS(bkt_buf_add_str(out, raw_mark));
    if (unit < 0x80)
        return bkt_buf_add(out, c, 1);
    size_t n = unit < 0x800 ? 2 : unit < 0x10000 ? 3 : 4;
    for (size_t i = n; --i > 0; unit >>= 6)
        c[i] = (unsigned char)(0x80 | (unit & 0x3f));
    c[0] = (unsigned char)((0xf00 >> n & 0xff) | unit);
    return bkt_buf_add(out, c, n);
}

/* Handle one escape at *s, and move *s behind it. */
static int pass_escape(struct pass *ps, const char **s)
{
    int unit = unit_at(ps, *s), low;
    if (unit < 0xd800 || unit > 0xdfff) {
        *s += unit < 0 ? (ps->end - *s < 2 ? 1 : 2) : 6;
        return BKT_OK;
    }
    low = unit < 0xdc00 ? unit_at(ps, *s + 6) : -1;
    if (low >= 0xdc00 && low <= 0xdfff) {
        if (unit == 0xdbff && low == 0xdfff)
            BKT_PASS(pass_replace(ps, *s, *s, raw_mark, 4));
        *s += 12;
        return BKT_OK;
    }
    BKT_PASS(pass_replace(ps, *s, *s + 6, "", 0));
    BKT_PASS(add_lone(&ps->out, (unsigned)unit));
    *s += 6;
    return BKT_OK;
}

/* Handle a string whose opening quote is at *at, and move *at behind the closing one. */
static int pass_string(struct pass *ps, const char **at)
{
    const char *s = *at + 1;
    if (unit_at(ps, s) == 1)
        BKT_PASS(pass_replace(ps, s, s, "\\u0001", 6));
    while (s < ps->end && *s != '"') {
        if (*s == '\\') {
            BKT_PASS(pass_escape(ps, &s));
        } else if ((unsigned char)*s == 0xf4 && ps->end - s >= 4 && memcmp(s, raw_mark, 4) == 0) {
            BKT_PASS(pass_replace(ps, s, s, raw_mark, 4));
            s += 4;
        } else {
            s++;
        }
    }
    *at = s < ps->end ? s + 1 : s;
    return BKT_OK;
}

static bool needs_tag(const char *token, size_t n)
{
    static const char *const names[] = {"NaN", "Infinity", "-Infinity"};
    for (size_t i = 0; i < BKT_COUNT(names); i++)
        if (strlen(names[i]) == n && memcmp(token, names[i], n) == 0)
            return true;
    size_t digits = 0;
    while (digits < n && (isdigit((unsigned char)token[digits]) || token[digits] == '-'))
        digits++;
    if (digits == n)
        return n >= 19;
    if (!memchr(token, 'e', n) && !memchr(token, 'E', n) && n < 300)
        return false;
    double d;
    char  *text = strndup(token, n); /* rare; a token that can't be copied is left to jansson */
    bool   over = text && bkt_json_strtod(text, &d) && isinf(d);
    free(text);
    return over;
}

/* Handle a number or bare word at *at. */
static int pass_token(struct pass *ps, const char **at)
{
    const char *from = *at, *to = from;
    while (to < ps->end && (isalnum((unsigned char)*to) || *to == '-' || *to == '+' || *to == '.'))
        to++;
    *at = to;
    if (!needs_tag(from, (size_t)(to - from)))
        return BKT_OK;
    BKT_PASS(pass_replace(ps, from, from, "\"\\u0001", 7));
    return pass_replace(ps, to, to, "\"", 1);
}

static int pass_all(struct pass *ps)
{
    const char *at = ps->text;
    while (at < ps->end) {
        if (*at == '"')
            BKT_PASS(pass_string(ps, &at));
        else if (isalnum((unsigned char)*at) || *at == '-')
            BKT_PASS(pass_token(ps, &at));
        else
            at++;
    }
    if (ps->out.len)
        return bkt_buf_add(&ps->out, ps->copied, (size_t)(ps->end - ps->copied));
    return BKT_OK;
}

/* ---- jansson's parser ----
 *
 * If jansson runs out of memory in the middle of a token, it forgets that token's bytes and goes on.  Then it
 * may succeed with another text than was stored (2.14, lex_save() in load_domain.c).  So its allocations are watched
 * while it works for us.  Its allocator is one for the process, and may be the program's own.  It is put back
 * at once, since this library may be unloaded. */

static pthread_mutex_t             parser = PTHREAD_MUTEX_INITIALIZER; /* one of our threads at a time */
static struct bkt_forkguard        parser_guard;
static pthread_once_t              parser_once = PTHREAD_ONCE_INIT;
static _Atomic(json_malloc_t)      their_malloc; /* read by any thread that allocates meanwhile */
static _Thread_local bool          ran_out;

struct allocator {
    json_malloc_t get;
#if JANSSON_VERSION_HEX >= 0x020f00
    json_realloc_t again; /* may be NULL */
#endif
    json_free_t release;
};

static void guard_parser(void) { bkt_forkguard_add(&parser_guard, &parser, NULL); }

static void *noting_malloc(size_t n)
{
    void *p = atomic_load(&their_malloc)(n);
    ran_out |= !p;
    return p;
}

#if JANSSON_VERSION_HEX >= 0x020f00
static _Atomic(json_realloc_t) their_realloc;

static void *noting_realloc(void *old, size_t n)
{
    void *p = atomic_load(&their_realloc)(old, n);
    ran_out |= !p && n;
    return p;
}

static void look_on(struct allocator *a)
{
    json_get_alloc_funcs2(&a->get, &a->again, &a->release);
    atomic_store(&their_malloc, a->get);
    atomic_store(&their_realloc, a->again);
    json_set_alloc_funcs2(noting_malloc, a->again ? noting_realloc : NULL, a->release);
}
static void look_away(const struct allocator *a) { json_set_alloc_funcs2(a->get, a->again, a->release); }
#else
static void look_on(struct allocator *a)
{
    json_get_alloc_funcs(&a->get, &a->release);
    atomic_store(&their_malloc, a->get);
    json_set_alloc_funcs(noting_malloc, a->release);
}
static void look_away(const struct allocator *a) { json_set_alloc_funcs(a->get, a->release); }
#endif

/* NULL with no error text: out of memory. */
static json_t *parse(const void *p, size_t n, json_error_t *je)
{
    struct allocator a;
    (void)pthread_once(&parser_once, guard_parser);
    (void)pthread_mutex_lock(&parser);
    look_on(&a);
    ran_out   = false;
    json_t *j = json_loadb(p, n, JSON_ALLOW_NUL, je);
    look_away(&a);
    (void)pthread_mutex_unlock(&parser);
    if (!ran_out)
        return j;
    je->text[0] = 0;
    json_decref(j);
    return NULL;
}

int bkt_json_load_strict(const void *p, size_t n, json_t **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf own = {0};
    json_error_t je;

    if (n == 0)
        BKT_FAIL(err, BKT_EFORMAT, "the object is empty");
    struct pass ps = {.text = p, .end = (const char *)p + n, .copied = p};
    int         rc = pass_all(&ps);
    bkt_buf_move(&own, &ps.out);
    if (rc < 0)
        BKT_NOMEM(err);
    json_t *j = own.len ? parse(own.ptr, own.len, &je) : parse(p, n, &je);
    if (!j && !je.text[0])
        BKT_NOMEM(err);
    if (!j)
        BKT_FAIL(err, BKT_EFORMAT, "not JSON at byte %d of %zu: %s", je.position, n, je.text);
    if (!json_is_object(j)) {
        json_decref(j);
        BKT_FAIL(err, BKT_EFORMAT, "not a JSON object");
    }
    *out = j;
    return BKT_OK;
}

int bkt_json_load(const void *p, size_t n, json_t **out, struct bkt_err *err)
{
    int rc = bkt_scan_document(p, n, NULL, out);
    if (rc == BKT_EUNSUP)
        return bkt_json_load_strict(p, n, out, err);
    if (rc < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

void bkt_json_decrefp(json_t **j) { json_decref(*j); }

/* ---- numbers ---- */

static bool num_of_digits(const char *digits, struct bkt_num *out)
{
    char *end;
    out->kind = BKT_NUM_INT;
    out->neg  = *digits == '-';
    if (strspn(digits + out->neg, "0123456789") != strlen(digits + out->neg) || !digits[out->neg])
        return false;
    errno     = 0;
    out->mag  = strtoull(digits + out->neg, &end, 10);
    out->huge = errno == ERANGE;
    return bkt_json_strtod(digits, &out->real);
}

bool bkt_json_num(const json_t *j, struct bkt_num *out)
{
    memset(out, 0, sizeof *out);
    if (json_is_integer(j)) {
        json_int_t v = json_integer_value(j);
        out->kind    = BKT_NUM_INT;
        out->neg     = v < 0;
        out->mag     = v < 0 ? -(uint64_t)v : (uint64_t)v;
        out->real    = (double)v;
        return true;
    }
    out->kind = BKT_NUM_REAL;
    if (json_is_real(j)) {
        out->real = json_real_value(j);
        return true;
    }
    if (!json_is_string(j) || bkt_json_is_text(j))
        return false;
    const char *token = json_string_value(j) + 1;
    /* strtod knows NaN and Infinity by these very names; the sign of a NaN is not kept */
    return num_of_digits(token, out) || (out->kind = BKT_NUM_REAL, bkt_json_strtod(token, &out->real));
}

int bkt_json_u64(const json_t *j, const char *what, uint64_t max, uint64_t *out, struct bkt_err *err)
{
    struct bkt_num v;
    if (!j || !bkt_json_num(j, &v))
        BKT_FAIL(err, BKT_EFORMAT, "%s is %s", what, j ? "not a number" : "missing");
    if (v.kind == BKT_NUM_REAL && v.real >= 0 && v.real < 9007199254740992.0 && v.real == floor(v.real))
        v = (struct bkt_num){.kind = BKT_NUM_INT, .mag = (uint64_t)v.real};
    if (v.kind != BKT_NUM_INT || (v.neg && v.mag) || v.huge || v.mag > max)
        BKT_FAIL(err, BKT_EFORMAT, "%s is not an integer in 0..%" PRIu64, what, max);
    *out = v.mag;
    return BKT_OK;
}

int bkt_json_u64_list(const json_t *j, const char *what, uint64_t max, unsigned max_n, uint64_t *v, unsigned *n,
                      struct bkt_err *err)
{
    if (!json_is_array(j)) {
        *n = 1;
        return bkt_json_u64(j, what, max, v, err);
    }
    size_t count = json_array_size(j);
    if (count > max_n)
        BKT_FAIL(err, BKT_EFORMAT, "%s has %zu entries, more than %u", what, count, max_n);
    for (size_t i = 0; i < count; i++)
        BKT_PASS(bkt_json_u64(json_array_get(j, i), what, max, &v[i], err));
    *n = (unsigned)count;
    return BKT_OK;
}

/* ---- text ---- */

bool bkt_json_is_text(const json_t *j)
{
    const char *s = json_string_value(j);
    return s && !(s[0] == NUMBER_TAG[0] && json_string_length(j) > 1 && s[1] != NUMBER_TAG[0]);
}

static int add_text(const char *s, size_t n, struct bkt_buf *out)
{
    if (n >= 2 && s[0] == NUMBER_TAG[0])
        s++, n--;
    while (n) {
        const char *mark = memmem(s, n, raw_mark, 4);
        size_t      run  = mark ? (size_t)(mark - s) : n;
        BKT_PASS(bkt_buf_add(out, s, run));
        s += run, n -= run;
        if (n >= 6 && ((unsigned char)s[4] & 0xfc) == 0xc0) {
            unsigned char byte = (unsigned char)((s[4] & 3) << 6 | (s[5] & 0x3f));
            BKT_PASS(bkt_buf_add(out, &byte, 1));
            s += 6, n -= 6;
        } else if (n) {
            size_t skip = n >= 8 ? 8 : n;
            BKT_PASS(bkt_buf_add(out, raw_mark, 4));
            s += skip, n -= skip;
        }
    }
    return BKT_OK;
}

int bkt_json_text(const json_t *j, struct bkt_buf *out)
{
    return add_text(json_string_value(j), json_string_length(j), out);
}

int bkt_json_key(const char *key, struct bkt_buf *out) { return add_text(key, strlen(key), out); }

int bkt_json_dup(const json_t *j, const char *what, char **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    if (!j || !bkt_json_is_text(j))
        BKT_FAIL(err, BKT_EFORMAT, "%s is %s", what, j ? "not a string" : "missing");
    if (bkt_buf_reserve(&text, json_string_length(j)) < 0 || bkt_json_text(j, &text) < 0)
        BKT_NOMEM(err);
    if (memchr(text.ptr, 0, text.len))
        BKT_FAIL(err, BKT_EFORMAT, "%s has a NUL character", what);
    *out = bkt_buf_steal(&text);
    return BKT_OK;
}

int bkt_json_dup_key(const char *key, char **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    if (bkt_buf_reserve(&text, strlen(key)) < 0 || bkt_json_key(key, &text) < 0)
        BKT_NOMEM(err);
    *out = bkt_buf_steal(&text);
    return BKT_OK;
}

/* ---- members ---- */

const json_t *bkt_json_get(const json_t *obj, const char *key)
{
    const json_t *j = json_object_get(obj, key);
    return json_is_null(j) ? NULL : j;
}

const char *bkt_json_word(const json_t *obj, const char *key)
{
    const json_t *j = bkt_json_get(obj, key);
    return j && bkt_json_is_text(j) ? json_string_value(j) : NULL;
}

double bkt_json_seconds(const json_t *obj, const char *key)
{
    struct bkt_num v;
    const json_t  *j = bkt_json_get(obj, key);
    return j && bkt_json_num(j, &v) && isfinite(v.real) ? v.real : 0;
}

int bkt_word_find(const struct bkt_word *table, size_t n, const char *text, int missing)
{
    for (size_t i = 0; text && i < n; i++)
        if (strcmp(table[i].text, text) == 0)
            return table[i].value;
    return missing;
}

const char *bkt_word_of(const struct bkt_word *table, size_t n, int value)
{
    for (size_t i = 0; i < n; i++)
        if (table[i].value == value)
            return table[i].text;
    return NULL;
}
