#include "schema/jansson/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char raw_mark[] = BKT_JSON_RAW_MARK;

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
    BKT_FAIL_IF(err, !j || !bkt_json_num(j, &v), BKT_EFORMAT, "%s is %s", what,
                j ? "not a number" : "missing");
    if (v.kind == BKT_NUM_REAL && v.real >= 0 && v.real < 9007199254740992.0 && v.real == floor(v.real))
        v = (struct bkt_num){.kind = BKT_NUM_INT, .mag = (uint64_t)v.real};
    BKT_FAIL_IF(err, v.kind != BKT_NUM_INT || (v.neg && v.mag) || v.huge || v.mag > max, BKT_EFORMAT,
                "%s is not an integer in 0..%" PRIu64, what, max);
    *out = v.mag;
    return BKT_OK;
}

int bkt_json_u64_list(const json_t *j, const char *what, uint64_t max, unsigned max_n, uint64_t *v,
                      unsigned *n, struct bkt_err *err)
{
    if (!json_is_array(j)) {
        *n = 1;
        return bkt_json_u64(j, what, max, v, err);
    }
    size_t count = json_array_size(j);
    BKT_FAIL_IF(err, count > max_n, BKT_EFORMAT, "%s has %zu entries, more than %u", what, count, max_n);
    for (size_t i = 0; i < count; i++)
        BKT_PASS(bkt_json_u64(json_array_get(j, i), what, max, &v[i], err));
    *n = (unsigned)count;
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
