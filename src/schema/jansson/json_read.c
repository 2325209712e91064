/* Texts -> jansson's trees, and what is in the trees.  jansson only makes the trees.  Its parser is slower,
 * and refuses some JSON that Python writes.  If memory runs out, it may succeed with another text than the
 * stored text. */
#include "schema/jansson/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char raw_mark[] = BKT_JSON_RAW_MARK;

void bkt_json_decrefp(json_t **j) { json_decref(*j); }

/* ---- texts -> trees ---- */

static int made(json_t *j, json_t **out)
{
    *out = j;
    return j ? BKT_OK : BKT_ENOMEM;
}

static int number_value(struct bkt_json_scan *s, json_t **out)
{
    struct bkt_json_scan_number v;
    BKT_PASS(bkt_json_scan_number(s, &v));
    if (v.kind == BKT_JSON_INT)
        return made(json_integer(v.i), out);
    if (v.kind == BKT_JSON_REAL)
        return made(json_real(v.real), out);
    bkt_buf_clear(&s->text);
    BKT_PASS(bkt_buf_add_str(&s->text, BKT_NUMBER_TAG));
    BKT_PASS(bkt_buf_add(&s->text, v.p, v.n));
    return made(json_stringn_nocheck(bkt_buf_str(&s->text), s->text.len), out);
}

static int text_value(struct bkt_json_scan *s, json_t **out)
{
    struct bkt_json_scan_text text;
    BKT_PASS(bkt_json_scan_string(s, &text));
    return made(json_stringn_nocheck(text.p, text.n), out);
}

static int word_value(struct bkt_json_scan *s, const char *word, json_t *j, json_t **out)
{
    BKT_PASS(bkt_json_scan_word(s, word));
    return made(j, out);
}

static int aside_value(struct bkt_json_scan *s, struct bkt_aside *aside, json_t **out)
{
    if (aside->found)
        return BKT_EUNSUP;
    aside->found = true;
    BKT_PASS(aside->scan(s, aside->arg));
    return made(json_object(), out);
}

static int object_members(struct bkt_json_scan *s, struct bkt_aside *aside, json_t *obj)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    struct bkt_json_scan_text key;
    bool                 more = false;
    for (bool first = true;; first = false) {
        json_t *value = NULL;
        BKT_PASS(bkt_json_scan_member(s, first, &key, &more));
        if (!more)
            return BKT_OK;
        bkt_buf_clear(&name);
        BKT_PASS(bkt_buf_add(&name, key.p, key.n));
        bool other = aside && strcmp(bkt_buf_str(&name), aside->key) == 0;
        BKT_PASS(other ? aside_value(s, aside, &value) : bkt_json_value(s, &value));
        if (json_object_set_new_nocheck(obj, bkt_buf_str(&name), value) < 0)
            return BKT_ENOMEM;
    }
}

static int list_entries(struct bkt_json_scan *s, json_t *list)
{
    bool more = false;
    for (bool first = true;; first = false) {
        json_t *value = NULL;
        BKT_PASS(bkt_json_scan_entry(s, first, &more));
        if (!more)
            return BKT_OK;
        BKT_PASS(bkt_json_value(s, &value));
        if (json_array_append_new(list, value) < 0)
            return BKT_ENOMEM;
    }
}

static int nested_value(struct bkt_json_scan *s, char bracket, struct bkt_aside *aside, json_t **out)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    BKT_PASS(bkt_json_scan_enter(s, bracket));
    BKT_PASS(made(bracket == '{' ? json_object() : json_array(), &j));
    BKT_PASS(bracket == '{' ? object_members(s, aside, j) : list_entries(s, j));
    bkt_json_scan_leave(s);
    *out = j;
    j    = NULL;
    return BKT_OK;
}

int bkt_json_value(struct bkt_json_scan *s, json_t **out)
{
    int c = bkt_json_scan_peek(s);
    switch (c) {
    case '{':
    case '[': return nested_value(s, (char)c, NULL, out);
    case '"': return text_value(s, out);
    case 't': return word_value(s, "true", json_true(), out);
    case 'f': return word_value(s, "false", json_false(), out);
    case 'n': return word_value(s, "null", json_null(), out);
    default: return number_value(s, out);
    }
}

static int document(struct bkt_json_scan *s, struct bkt_aside *aside, json_t **out)
{
    BKT_PASS(bkt_json_scan_peek(s) == '[' ? bkt_json_scan_skip(s) : nested_value(s, '{', aside, out));
    return bkt_json_scan_end(s);
}

int bkt_json_document(const void *p, size_t n, struct bkt_aside *aside, json_t **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    struct bkt_json_scan s;
    BKT_FAIL_IF(err, n == 0, BKT_EFORMAT, "the object is empty");
    bkt_json_scan_init(&s, p, n);
    int rc = document(&s, aside, &j);
    bkt_buf_fini(&s.text);
    if (rc == BKT_EUNSUP)
        return rc;
    if (rc < 0)
        return bkt_json_scan_fail(&s, rc, err);
    BKT_FAIL_IF(err, !j, BKT_EFORMAT, "not a JSON object");
    *out = j;
    j    = NULL;
    return BKT_OK;
}

int bkt_json_load(const void *p, size_t n, json_t **out, struct bkt_err *err)
{
    return bkt_json_document(p, n, NULL, out, err);
}

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
    BKT_FAIL_IF(err, !j || !bkt_json_num(j, &v), BKT_EFORMAT, "%s is %s", what,
                j ? "not a number" : "missing");
    if (v.kind == BKT_NUM_REAL && v.real >= 0 && v.real < 9007199254740992.0 && v.real == floor(v.real))
        v = (struct bkt_num){.kind = BKT_NUM_INT, .mag = (uint64_t)v.real};
    BKT_FAIL_IF(err, v.kind != BKT_NUM_INT || (v.neg && v.mag) || v.huge || v.mag > max, BKT_EFORMAT,
                "%s is not an integer in 0..%" PRIu64, what, max);
    *out = v.mag;
    return BKT_OK;
}

/* ---- text ---- */

bool bkt_json_is_text(const json_t *j)
{
    const char *s = json_string_value(j);
    return s && !(s[0] == BKT_NUMBER_TAG[0] && json_string_length(j) > 1 && s[1] != BKT_NUMBER_TAG[0]);
}

static int add_text(const char *s, size_t n, struct bkt_buf *out)
{
    if (n >= 2 && s[0] == BKT_NUMBER_TAG[0])
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

int bkt_json_dup(const json_t *j, const char *what, char **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    BKT_FAIL_IF(err, !j || !bkt_json_is_text(j), BKT_EFORMAT, "%s is %s", what,
                j ? "not a string" : "missing");
    BKT_NEED(err, bkt_buf_reserve(&text, json_string_length(j)) >= 0 && bkt_json_text(j, &text) >= 0);
    BKT_FAIL_IF(err, memchr(text.ptr, 0, text.len), BKT_EFORMAT, "%s has a NUL character", what);
    *out = bkt_buf_steal(&text);
    return BKT_OK;
}

int bkt_json_dup_key(const char *key, char **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    BKT_NEED(err, bkt_buf_reserve(&text, strlen(key)) >= 0 && add_text(key, strlen(key), &text) >= 0);
    *out = bkt_buf_steal(&text);
    return BKT_OK;
}

int bkt_json_base64(const json_t *j, const char *what, struct bkt_buf *out, struct bkt_err *err)
{
    int rc = !j ? BKT_OK
             : !json_is_string(j) || !bkt_json_is_text(j)
                 ? BKT_EFORMAT
                 : bkt_base64_decode(json_string_value(j), json_string_length(j), out);
    BKT_FAIL_IF(err, rc < 0, rc == BKT_ENOMEM ? rc : BKT_EFORMAT, "%s is not base64", what);
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
