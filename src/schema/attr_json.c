/* Attributes: JSON -> model.  A value that doesn't fit its type spoils this attribute only: `bad` says why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parse.h"

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
        return BKT_OK;
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
    a->created = bkt_json_seconds(j, "created");
    BKT_TRY(err, bkt_type_parse(json_object_get(j, "type"), &a->type, err), "attribute \"%s\"", a->name);
    BKT_TRY(err, bkt_space_parse(json_object_get(j, "shape"), &a->space, err), "attribute \"%s\"", a->name);
    return parse_value(j, a, err);
}

static int sort_attrs(struct bkt_attrs *a)
{
    BKT_CLEANUP(bkt_freep) double *created = calloc(a->n + 1, sizeof *created);
    if (!created)
        return BKT_ENOMEM;
    for (size_t i = 0; i < a->n; i++)
        created[i] = a->v[i].created;
    return bkt_named_sort(a->v, a->n, sizeof *a->v, created, &a->order);
}

int bkt_attrs_parse(const json_t *j, struct bkt_attrs *out, struct bkt_err *err)
{
    json_t *obj = (json_t *)(uintptr_t)j; /* jansson's iterators lack const */
    if (!j || json_is_null(j))
        return BKT_OK;
    if (!json_is_object(j))
        BKT_FAIL(err, BKT_EFORMAT, "attributes is no object");
    out->v = calloc(json_object_size(j) + 1, sizeof *out->v);
    if (!out->v)
        BKT_NOMEM(err);
    for (void *it = json_object_iter(obj); it; it = json_object_iter_next(obj, it)) {
        struct bkt_attr *a = &out->v[out->n++];
        BKT_PASS(parse_attr(json_object_iter_key(it), json_object_iter_value(it), a, err));
    }
    if (sort_attrs(out) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

void bkt_attrs_fini(struct bkt_attrs *a)
{
    for (size_t i = 0; i < a->n; i++) {
        free(a->v[i].name);
        free(a->v[i].bad);
        bkt_type_free(a->v[i].type);
        bkt_buf_fini(&a->v[i].value);
    }
    free(a->v);
    free(a->order);
    memset(a, 0, sizeof *a);
}

const struct bkt_attr *bkt_attrs_find(const struct bkt_attrs *a, const char *name)
{
    return bkt_named_find(a->v, a->n, sizeof *a->v, name);
}
