/* Attributes: JSON <-> model.  A value that doesn't fit its type makes only this attribute unusable; `bad`
 * has the reason. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/json/schema_json.h"
#include "schema/json/reference_text.h"

static int parse_value(const json_t *j, struct bkt_attr *a, struct bkt_err *err)
{
    const json_t  *value = bkt_json_get(j, "value");
    struct bkt_err why   = {0};
    if (!value || a->space.cls == BKT_S_NULL)
        return BKT_OK;
    int rc = bkt_value_parse(a->type, &a->space, value, bkt_json_word(j, "encoding"), &a->value, &why);
    if (rc == BKT_ENOMEM)
        return bkt_err_copy(err, rc, &why);
    if (rc == BKT_OK) {
        a->has_value = true;
        return bkt_nulls_parse(j, a->type, &a->value, err);
    }
    bkt_buf_fini(&a->value);
    if (asprintf(&a->bad, "attribute \"%s\": %s", a->name, why.n ? why.frame[0].msg : bkt_err_text(rc)) < 0) {
        a->bad = NULL;
        BKT_NOMEM(err);
    }
    return BKT_OK;
}

static int parse_attr(const char *key, const json_t *j, struct bkt_attr *a, struct bkt_err *err)
{
    BKT_PASS(bkt_json_dup_key(key, &a->name, err));
    a->created   = bkt_json_seconds(j, "created");
    a->seq       = bkt_order_said(j);
    a->name_utf8 = bkt_json_says_utf8(j, a->name);
    BKT_TRY(err, bkt_type_parse(json_object_get(j, "type"), &a->type, err), "attribute \"%s\"", a->name);
    BKT_TRY(err, bkt_space_parse(json_object_get(j, "shape"), &a->space, err), "attribute \"%s\"", a->name);
    return parse_value(j, a, err);
}

int bkt_attrs_parse(const json_t *j, struct bkt_attrs *out, struct bkt_err *err)
{
    json_t *obj = (json_t *)(uintptr_t)j; /* jansson's iterators lack const */
    if (!json_object_size(j))
        out->next = 0;
    if (!j || json_is_null(j))
        return BKT_OK;
    if (!json_is_object(j))
        BKT_FAIL(err, BKT_EFORMAT, "attributes is not an object");
    out->v = calloc(json_object_size(j) + 1, sizeof *out->v);
    if (!out->v)
        BKT_NOMEM(err);
    for (void *it = json_object_iter(obj); it; it = json_object_iter_next(obj, it)) {
        struct bkt_attr *a = &out->v[out->n++];
        BKT_PASS(parse_attr(json_object_iter_key(it), json_object_iter_value(it), a, err));
    }
    if (bkt_named_sort(out->v, out->n, sizeof *out->v, &out->order, &out->next) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

/* ---- model -> JSON ---- */

bool bkt_name_is_ascii(const char *name)
{
    while (*name && (unsigned char)*name < 0x80)
        name++;
    return !*name;
}

bool bkt_json_says_utf8(const json_t *j, const char *name)
{
    const char *set = bkt_json_word(j, "charSet");
    if (set && strcmp(set, "H5T_CSET_ASCII") == 0)
        return false;
    return (set && strcmp(set, "H5T_CSET_UTF8") == 0) || !bkt_name_is_ascii(name);
}

int bkt_json_say_utf8(json_t *j, const char *name, bool utf8)
{
    if (utf8 != bkt_name_is_ascii(name))
        return BKT_OK;
    return bkt_json_set(j, "charSet", json_string(utf8 ? "H5T_CSET_UTF8" : "H5T_CSET_ASCII"));
}

/* All keys are there, as HSDS needs them: "value" is null if there is none. */
static int emit_attr(const struct bkt_attr *a, json_t *j, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_nulls_fini) struct bkt_nulls nulls = {.n_empty = 0};
    json_t *part   = NULL;
    bool    base64 = false;
    if (a->bad)
        BKT_FAIL(err, BKT_EFORMAT, "%s", a->bad);
    BKT_PASS(bkt_type_emit(a->type, &part, err));
    BKT_PASS(bkt_json_set(j, "type", part));
    BKT_PASS(bkt_space_emit(&a->space, &part, err));
    BKT_PASS(bkt_json_set(j, "shape", part));
    part = json_null();
    if (a->has_value && a->space.cls != BKT_S_NULL)
        BKT_PASS(bkt_value_emit(a->type, &a->space, &a->value, &part, &base64, &nulls, err));
    BKT_PASS(bkt_json_set(j, "value", part));
    BKT_PASS(bkt_nulls_emit(&nulls, j));
    if (base64)
        BKT_PASS(bkt_json_set(j, "encoding", json_string("base64")));
    BKT_PASS(bkt_json_say_utf8(j, a->name, a->name_utf8));
    return bkt_json_set(j, "created", bkt_json_new_real(a->created));
}

int bkt_attr_emit(const struct bkt_attr *a, json_t **out, struct bkt_err *err)
{
    json_t *j  = json_object();
    int     rc = j ? emit_attr(a, j, err) : BKT_ENOMEM;
    if (rc < 0) {
        json_decref(j);
        BKT_FAIL(err, rc, "attribute \"%s\"", a->name);
    }
    *out = j;
    return BKT_OK;
}

int bkt_attrs_emit(const struct bkt_attrs *a, bool numbered, json_t *j, struct bkt_err *err)
{
    uint32_t number = 0;
    (void)bkt_attrs_settle(a);
    for (size_t i = 0; i < a->n; i++) {
        const struct bkt_attr *one  = &a->v[a->order[i]];
        json_t                *part = NULL;
        BKT_PASS(bkt_attr_emit(one, &part, err));
        if (numbered && bkt_order_follow(part, one->seq, &number) < 0) {
            json_decref(part);
            BKT_NOMEM(err);
        }
        if (bkt_json_set_named(j, one->name, part) < 0)
            BKT_NOMEM(err);
    }
    return BKT_OK;
}

/* ---- lists of them ---- */

void bkt_attr_fini(struct bkt_attr *a)
{
    free(a->name);
    free(a->bad);
    bkt_type_free(a->type);
    bkt_buf_fini(&a->value);
    memset(a, 0, sizeof *a);
}

const struct bkt_attr *bkt_attrs_find(const struct bkt_attrs *a, const char *name)
{
    return bkt_named_find(a->v, a->n, sizeof *a->v, a->edit, name);
}

const struct bkt_attrs *bkt_attrs_settle(const struct bkt_attrs *a)
{
    if (a->edit) /* the contents stay the same: constant for readers */
        ((struct bkt_attrs *)(uintptr_t)a)->n = bkt_named_settle(a->v, sizeof *a->v, a->order, a->n, a->edit);
    return a;
}

size_t bkt_attrs_place(const struct bkt_attrs *a, const struct bkt_attr *one)
{
    return bkt_named_place(a->v, a->n, sizeof *a->v, a->order, one->seq);
}

static struct bkt_named_list list_of(const struct bkt_attrs *l)
{
    return (struct bkt_named_list){l->v, l->n, l->order, l->edit, l->next};
}

static void list_back(struct bkt_attrs *l, const struct bkt_named_list *from)
{
    l->v = from->v, l->n = from->n, l->order = from->order, l->edit = from->edit, l->next = from->next;
}

int bkt_attrs_add(struct bkt_attrs *l, struct bkt_attr *one)
{
    struct bkt_named_list list = list_of(l);
    int                   rc   = bkt_named_add(&list, sizeof *one, one);
    list_back(l, &list);
    if (rc == BKT_OK)
        memset(one, 0, sizeof *one);
    return rc;
}

int bkt_attrs_remove(struct bkt_attrs *l, const char *name, struct bkt_attr *out)
{
    struct bkt_named_list list = list_of(l);
    int                   rc   = bkt_named_remove(&list, sizeof *out, name, out);
    list_back(l, &list);
    return rc;
}

int bkt_attrs_rename(struct bkt_attrs *l, const char *from, char *to, char **was)
{
    struct bkt_named_list list = list_of(l);
    int                   rc   = bkt_named_rename(&list, sizeof *l->v, from, to, was);
    list_back(l, &list);
    return rc;
}
