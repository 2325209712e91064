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
    bkt_entry_read(j, (struct bkt_named *)a);
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
    if (bkt_named_sort(&out->list, sizeof *out->v) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

/* ---- model -> JSON ---- */

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
    return bkt_entry_say(j, (const struct bkt_named *)a);
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
        BKT_PASS(bkt_entry_put(j, (const struct bkt_named *)one, part, numbered ? &number : NULL, err));
    }
    return BKT_OK;
}

void bkt_attr_fini(struct bkt_attr *a)
{
    free(a->name);
    free(a->bad);
    bkt_type_free(a->type);
    bkt_buf_fini(&a->value);
    memset(a, 0, sizeof *a);
}
