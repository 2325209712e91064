/* JSON trees made and written: the inverse of base/text/json_scan.c and json_read.c, in the form of Python's
 * json.dumps(). */
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/text/utf8.h"
#include "schema/jansson/json.h"

/* ---- bytes -> the text that json.h describes ---- */

static int mark_text(const unsigned char *p, size_t n, struct bkt_buf *out)
{
    uint32_t cp;
    BKT_PASS(bkt_buf_reserve(out, n + 1));
    if (n && p[0] == BKT_NUMBER_TAG[0])
        BKT_PASS(bkt_buf_add(out, p, 1));
    while (n) {
        size_t k = bkt_utf8_at(p, n, &cp);
        BKT_PASS(
            bkt_json_add_unit(out, k ? cp : 0xdc00u + p[0])); /* a byte that is not UTF-8: a lone surrogate */
        k += !k;
        p += k, n -= k;
    }
    return BKT_OK;
}

json_t *bkt_json_new_text(const void *p, size_t n)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    if (mark_text(p, n, &text) < 0)
        return NULL;
    return json_stringn(bkt_buf_str(&text), text.len);
}

json_t *bkt_json_new_str(const char *s) { return bkt_json_new_text(s, strlen(s)); }

/* A number that jansson can't hold. */
static json_t *new_tagged(const char *token)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%c%s", BKT_NUMBER_TAG[0], token);
    return json_string(text);
}

json_t *bkt_json_new_u64(uint64_t v)
{
    char text[24];
    if (v <= INT64_MAX)
        return json_integer((json_int_t)v);
    (void)snprintf(text, sizeof text, "%" PRIu64, v);
    return new_tagged(text);
}

json_t *bkt_json_new_real(double v)
{
    if (isnan(v))
        return new_tagged("NaN");
    if (isinf(v))
        return new_tagged(v < 0 ? "-Infinity" : "Infinity");
    return json_real(v);
}

json_t *bkt_json_new_base64(const struct bkt_buf *b)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    if (bkt_buf_reserve(&text, 1) < 0 || bkt_base64_encode(b->ptr, b->len, &text) < 0)
        return NULL;
    return json_stringn(bkt_buf_str(&text), text.len);
}

int bkt_json_set(json_t *obj, const char *key, json_t *value)
{
    return value && json_object_set_new(obj, key, value) == 0 ? BKT_OK : BKT_ENOMEM;
}

/* A name, as the tree spells it in keys. */
static int mark_key(const char *name, struct bkt_buf *key)
{
    return mark_text((const unsigned char *)name, strlen(name), key);
}

int bkt_json_set_named(json_t *obj, const char *name, json_t *value)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    if (mark_key(name, &key) < 0) {
        json_decref(value);
        return BKT_ENOMEM;
    }
    return bkt_json_set(obj, bkt_buf_str(&key), value);
}

int bkt_json_get_named(const json_t *obj, const char *name, json_t **out)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS(mark_key(name, &key));
    *out = json_object_get(obj, bkt_buf_str(&key));
    return BKT_OK;
}

int bkt_json_del_named(json_t *obj, const char *name)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS(mark_key(name, &key));
    (void)json_object_del(obj, bkt_buf_str(&key));
    return BKT_OK;
}

int bkt_json_push(json_t *list, json_t *value)
{
    return value && json_array_append_new(list, value) == 0 ? BKT_OK : BKT_ENOMEM;
}

static int push_all(json_t *list, const uint64_t *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        BKT_PASS(bkt_json_push(list, bkt_json_new_u64(v[i])));
    return BKT_OK;
}

int bkt_json_set_dims(json_t *obj, const char *key, const uint64_t *dims, unsigned rank)
{
    json_t *list = json_array();
    BKT_PASS(bkt_json_set(obj, key, list));
    return push_all(list, dims, rank);
}

int bkt_json_push_dims(json_t *list, const uint64_t *dims, unsigned rank)
{
    json_t *one = json_array();
    BKT_PASS(bkt_json_push(list, one));
    return push_all(one, dims, rank);
}

int bkt_json_give(json_t *j, int rc, json_t **out)
{
    if (rc < 0)
        json_decref(j);
    else
        *out = j;
    return rc == BKT_OK && !j ? BKT_ENOMEM : rc;
}

/* ---- the tree -> text ---- */

/* Text without its marks; marked parts come out as Python would have written them. */
static int dump_text(const char *s, size_t len, struct bkt_buf *out)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t               n = len;
    uint32_t             cp, next = 0;
    BKT_PASS(bkt_buf_reserve(out, n + 2));
    BKT_PASS(bkt_buf_add(out, "\"", 1));
    if (n >= 2 && p[0] == BKT_NUMBER_TAG[0])
        p++, n--;
    while (n) {
        char   one[BKT_UTF8_ESCAPED];
        size_t run = bkt_utf8_plain(p, n), k;
        if (run) {
            BKT_PASS(bkt_buf_add(out, p, run));
            p += run, n -= run;
            continue;
        }
        if ((k = bkt_utf8_at(p, n, &cp)) == 0) /* jansson admits none */
            return BKT_EFORMAT;
        p += k, n -= k;
        if (cp == 0x10ffff && n) {
            k = bkt_utf8_at(p, n, &next);
            p += k, n -= k;
            if (next != 0x10ffff)
                cp = 0xdc00 + next;
        }
        bkt_utf8_escape(cp, one);
        BKT_PASS(bkt_buf_add_str(out, one));
    }
    return bkt_buf_add(out, "\"", 1);
}

/* Never in an integer's form. */
static int dump_real(double v, struct bkt_buf *out)
{
    const size_t at = out->len;
    BKT_PASS(bkt_buf_add_real(out, v));
    return strpbrk(bkt_buf_str(out) + at, ".en") ? BKT_OK : bkt_buf_add(out, ".0", 2);
}

/* The characters between entries, and behind a key. */
struct style {
    const char *comma, *colon;
};

static int dump(const json_t *j, const struct style *s, struct bkt_buf *out);

static int dump_list(const json_t *j, const struct style *s, struct bkt_buf *out)
{
    BKT_PASS(bkt_buf_add_str(out, "["));
    for (size_t i = 0; i < json_array_size(j); i++) {
        if (i)
            BKT_PASS(bkt_buf_add_str(out, s->comma));
        BKT_PASS(dump(json_array_get(j, i), s, out));
    }
    return bkt_buf_add_str(out, "]");
}

static int dump_object(const json_t *j, const struct style *s, struct bkt_buf *out)
{
    json_t *obj = (json_t *)(uintptr_t)j; /* jansson's iterators lack const */
    bool    any = false;
    BKT_PASS(bkt_buf_add_str(out, "{"));
    for (void *it = json_object_iter(obj); it; it = json_object_iter_next(obj, it)) {
        const char *key = json_object_iter_key(it);
        if (any)
            BKT_PASS(bkt_buf_add_str(out, s->comma));
        any = true;
        BKT_PASS(dump_text(key, strlen(key), out));
        BKT_PASS(bkt_buf_add_str(out, s->colon));
        BKT_PASS(dump(json_object_iter_value(it), s, out));
    }
    return bkt_buf_add_str(out, "}");
}

static int dump(const json_t *j, const struct style *s, struct bkt_buf *out)
{
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        return dump_object(j, s, out);
    case JSON_ARRAY:
        return dump_list(j, s, out);
    case JSON_INTEGER: return bkt_buf_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(j));
    case JSON_REAL: return dump_real(json_real_value(j), out);
    case JSON_TRUE: return bkt_buf_add_str(out, "true");
    case JSON_FALSE: return bkt_buf_add_str(out, "false");
    case JSON_STRING:
        return bkt_json_is_text(j) ? dump_text(json_string_value(j), json_string_length(j), out)
                                   : bkt_buf_add_str(out, json_string_value(j) + 1);
    default: return bkt_buf_add_str(out, "null");
    }
}

static int dump_styled(const json_t *j, const struct style *s, struct bkt_buf *out, struct bkt_err *err)
{
    locale_t numbers = bkt_c_locale();
    BKT_NEED(err, numbers);
    locale_t was = uselocale(numbers); /* a program's decimal comma must not appear */
    int rc = dump(j, s, out);
    (void)uselocale(was);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    BKT_FAIL_IF(err, rc < 0, rc, "the JSON has text that is not UTF-8");
    return BKT_OK;
}

int bkt_json_dump(const json_t *j, struct bkt_buf *out, struct bkt_err *err)
{
    return dump_styled(j, &(struct style){", ", ": "}, out, err);
}

int bkt_json_dump_compact(const json_t *j, struct bkt_buf *out, struct bkt_err *err)
{
    return dump_styled(j, &(struct style){",", ":"}, out, err);
}
