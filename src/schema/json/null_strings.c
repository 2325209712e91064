/* Strings that are NULL.  In memory their count is BKT_VAR_NULL.  Stored it is 0, like that of "", since HSDS
 * knows nothing else.  A mark beside shows which of the empty strings are NULL.  An attribute or fill value
 * has key "h5null": true (all), or a list of places among the empty strings.  Behind a chunk's last element,
 * where HSDS doesn't look, are 8 bytes of magic, the number of empty strings (2^32-1: all are NULL, nothing
 * follows), and a bit for each, lowest first. */
#include "schema/json/reference_text.h"

#include <string.h>

#include "base/num.h"
#include "schema/json/schema_json.h"

static const unsigned char magic[8] = {0x89, 'B', 'K', 'T', 'n', '\r', '\n', 0x1a};
#define HEAD 12

bool bkt_type_has_strings(const struct bkt_type *t)
{
    if (!t->is_var)
        return false;
    if (t->cls == BKT_T_COMPOUND) {
        for (size_t i = 0; i < t->n_fields; i++)
            if (bkt_type_has_strings(t->fields[i].type))
                return true;
        return false;
    }
    return t->cls == BKT_T_STRING ||
           ((t->cls == BKT_T_VLEN || t->cls == BKT_T_ARRAY) && t->base && bkt_type_has_strings(t->base));
}

/* ---- a walk through all empty strings of some elements, in the order in which they are stored ---- */

struct walk {
    int (*meet)(struct walk *w, unsigned char *count); /* < 0 ends it */
    struct bkt_nulls *nulls;
    uint64_t          i;
    int               rc;
};
struct span {
    unsigned char *p, *end;
};

static void through(struct walk *w, const struct bkt_type *t, struct span *s);

/* A malformed sequence is found when its elements are read. */
static void inside(struct walk *w, const struct bkt_type *base, struct span s)
{
    for (unsigned char *before = NULL; w->rc == BKT_OK && s.p < s.end && s.p != before;) {
        before = s.p;
        through(w, base, &s);
    }
}

static void variable(struct walk *w, const struct bkt_type *t, struct span *s)
{
    uint64_t       n     = s->end - s->p >= 4 ? bkt_get_le(s->p, 4) : UINT64_MAX;
    unsigned char *count = s->p;
    bool           null  = n == BKT_VAR_NULL && t->cls == BKT_T_STRING;
    if (!null && (s->end - s->p < 4 || n > (uint64_t)(s->end - s->p - 4))) {
        s->p = s->end;
        return;
    }
    s->p += 4 + (null ? 0 : n);
    if (t->cls == BKT_T_STRING && (null || n == 0))
        w->rc = w->meet(w, count);
    else if (t->cls == BKT_T_VLEN && bkt_type_has_strings(t->base))
        inside(w, t->base, (struct span){count + 4, s->p});
}

static void through(struct walk *w, const struct bkt_type *t, struct span *s)
{
    if (!t->is_var) {
        s->p = t->size <= (size_t)(s->end - s->p) ? s->p + t->size : s->end;
    } else if (t->cls == BKT_T_COMPOUND) {
        for (size_t i = 0; w->rc == BKT_OK && i < t->n_fields; i++)
            through(w, t->fields[i].type, s);
    } else if (t->cls == BKT_T_ARRAY) { /* a sequence may end within it, and it may claim 2^64 elements */
        for (uint64_t i = 0; w->rc == BKT_OK && i < t->n_elems && s->p < s->end; i++)
            through(w, t->base, s);
    } else {
        variable(w, t, s);
    }
}

static int go(const struct bkt_type *t, void *p, size_t n, struct walk *w)
{
    if (n)
        inside(w, t, (struct span){p, (unsigned char *)p + n});
    return w->rc;
}

#define FOUND 1
static int look(struct walk *w, unsigned char *count)
{
    return (void)w, bkt_get_le(count, 4) ? FOUND : BKT_OK;
}

bool bkt_value_has_null(const struct bkt_type *t, const void *p, size_t n)
{
    struct walk w = {.meet = look};
    return bkt_type_has_strings(t) && go(t, (void *)(uintptr_t)p, n, &w) == FOUND;
}

static int take(struct walk *w, unsigned char *count)
{
    struct bkt_nulls *x = w->nulls;
    if (x->n_empty % 8 == 0)
        BKT_PASS(bkt_buf_add(&x->bits, "", 1));
    if (bkt_get_le(count, 4)) {
        x->bits.ptr[x->n_empty / 8] |= (unsigned char)(1u << (x->n_empty % 8));
        x->n_null++;
        bkt_put_le(count, 4, 0);
    }
    x->n_empty++;
    return BKT_OK;
}

int bkt_nulls_take(const struct bkt_type *t, void *p, size_t n, struct bkt_nulls *out, struct bkt_err *err)
{
    struct walk w = {.meet = take, .nulls = out};
    if (bkt_type_has_strings(t) && go(t, p, n, &w) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

static bool is_null(const struct bkt_nulls *x, uint64_t i)
{
    return x->all || (i < x->n_empty && (x->bits.ptr[i / 8] >> (i % 8) & 1));
}

static int put(struct walk *w, unsigned char *count)
{
    if (is_null(w->nulls, w->i++))
        bkt_put_le(count, 4, BKT_VAR_NULL);
    return BKT_OK;
}

uint64_t bkt_nulls_put(const struct bkt_type *t, void *p, size_t n, const struct bkt_nulls *nulls)
{
    struct walk w = {.meet = put, .nulls = (struct bkt_nulls *)(uintptr_t)nulls};
    if (bkt_type_has_strings(t))
        (void)go(t, p, n, &w);
    return w.i;
}

/* ---- behind a chunk ---- */

int bkt_nulls_append(const struct bkt_nulls *x, struct bkt_buf *out, struct bkt_err *err)
{
    unsigned char head[HEAD];
    bool all = x->n_null == x->n_empty || x->n_empty >= UINT32_MAX; /* a chunk has no room for more strings */
    memcpy(head, magic, sizeof magic);
    bkt_put_le(head + sizeof magic, 4, all ? UINT32_MAX : x->n_empty);
    if (bkt_buf_add(out, head, sizeof head) < 0 || (!all && bkt_buf_add(out, x->bits.ptr, x->bits.len) < 0))
        BKT_NOMEM(err);
    return BKT_OK;
}

int bkt_nulls_read(const struct bkt_type *t, void *p, size_t n, size_t elements, struct bkt_err *err)
{
    unsigned char   *tail = (unsigned char *)p + elements;
    struct bkt_nulls x    = {.n_empty = 0};
    if (n - elements < HEAD || memcmp(tail, magic, sizeof magic) != 0) /* HSDS leaves zeros there */
        return BKT_OK;
    x.n_empty = bkt_get_le(tail + sizeof magic, 4);
    x.all     = x.n_empty == UINT32_MAX;
    x.bits    = (struct bkt_buf){.ptr = tail + HEAD, .len = n - elements - HEAD}; /* borrowed */
    BKT_FAIL_IF(err, !x.all && bkt_ceil_div(x.n_empty, 8) != x.bits.len, BKT_EFORMAT,
                "%zu bytes describe %llu empty strings behind a chunk", x.bits.len,
                (unsigned long long)x.n_empty);
    uint64_t met = bkt_nulls_put(t, p, elements, &x);
    BKT_FAIL_IF(err, !x.all && met != x.n_empty, BKT_EFORMAT,
                "a chunk has %llu empty strings, but %llu are described behind it", (unsigned long long)met,
                (unsigned long long)x.n_empty);
    return BKT_OK;
}

/* ---- beside a JSON value ---- */

int bkt_nulls_emit(const struct bkt_nulls *x, json_t *beside)
{
    if (x->n_null == x->n_empty)
        return bkt_json_set(beside, "h5null", json_true());
    json_t *list = json_array();
    BKT_PASS(bkt_json_set(beside, "h5null", list));
    for (uint64_t i = 0; i < x->n_empty; i++)
        if (is_null(x, i))
            BKT_PASS(bkt_json_push(list, json_integer((json_int_t)i)));
    return BKT_OK;
}

static void list_of(const json_t *j, struct bkt_nulls *x)
{
    for (size_t i = 0; i < json_array_size(j); i++) {
        const json_t *one = json_array_get(j, i);
        json_int_t    at  = json_is_integer(one) ? json_integer_value(one) : -1;
        if (at >= 0 && (uint64_t)at < x->n_empty) /* else another writer changed the value and left the key */
            x->bits.ptr[at / 8] |= (unsigned char)(1u << (at % 8));
    }
}

int bkt_nulls_parse(const json_t *beside, const struct bkt_type *t, struct bkt_buf *value,
                    struct bkt_err *err)
{
    BKT_CLEANUP(bkt_nulls_fini) struct bkt_nulls x = {.n_empty = 0};
    const json_t *j = bkt_json_get(beside, "h5null");
    if (!j || !bkt_type_has_strings(t))
        return BKT_OK;
    BKT_PASS(bkt_nulls_take(t, value->ptr, value->len, &x, err)); /* counts empty strings; none is NULL yet */
    x.all = json_is_true(j);
    list_of(j, &x);
    (void)bkt_nulls_put(t, value->ptr, value->len, &x);
    return BKT_OK;
}
