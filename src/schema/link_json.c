/* Links: JSON -> model.  An entry that makes no sense stays visible as a link of class OTHER, which can be
 * listed and not followed: one bad link must not hide the others of its group. */
#include <stdlib.h>
#include <string.h>

#include "parse.h"

static const char *const file_keys[] = {"file", "h5domain", "domain"}; /* 1.0, 0.9, the specification */

static enum bkt_link_class class_of(const json_t *j)
{
    static const struct bkt_word classes[] = {
        {"H5L_TYPE_HARD", BKT_L_HARD}, {"H5L_TYPE_SOFT", BKT_L_SOFT}, {"H5L_TYPE_EXTERNAL", BKT_L_EXTERNAL}};
    const char *cls = bkt_json_word(j, "class");
    if (cls)
        return (enum bkt_link_class)bkt_word_find(classes, BKT_COUNT(classes), cls, BKT_L_OTHER);
    if (bkt_json_get(j, "id"))
        return BKT_L_HARD;
    if (!bkt_json_get(j, "h5path"))
        return BKT_L_OTHER;
    for (size_t i = 0; i < BKT_COUNT(file_keys); i++)
        if (bkt_json_get(j, file_keys[i]))
            return BKT_L_EXTERNAL;
    return BKT_L_SOFT;
}

/* BKT_EFORMAT: the entry is no link of its class. */
static int parse_target(const json_t *j, struct bkt_link *l)
{
    const char   *id   = bkt_json_word(j, "id");
    const json_t *file = NULL;
    if (l->cls == BKT_L_OTHER)
        return BKT_OK;
    if (l->cls == BKT_L_HARD)
        return id && bkt_ref_parse(id, strlen(id), &l->id, NULL) == BKT_OK && l->id.text[0] ? BKT_OK : BKT_EFORMAT;
    BKT_PASS(bkt_json_dup(bkt_json_get(j, "h5path"), "h5path", &l->path, NULL));
    if (l->cls == BKT_L_SOFT)
        return BKT_OK;
    for (size_t i = 0; !file && i < BKT_COUNT(file_keys); i++)
        file = bkt_json_get(j, file_keys[i]);
    return bkt_json_dup(file, "file", &l->file, NULL);
}

static int parse_link(const char *key, const json_t *j, struct bkt_link *l, struct bkt_err *err)
{
    BKT_PASS(bkt_json_dup_key(key, &l->name, err));
    l->created = bkt_json_seconds(j, "created");
    l->cls     = class_of(j);
    int rc     = parse_target(j, l);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    if (rc < 0)
        l->cls = BKT_L_OTHER;
    return BKT_OK;
}

static int sort_links(struct bkt_links *l)
{
    BKT_CLEANUP(bkt_freep) double *created = calloc(l->n + 1, sizeof *created);
    if (!created)
        return BKT_ENOMEM;
    for (size_t i = 0; i < l->n; i++)
        created[i] = l->v[i].created;
    return bkt_named_sort(l->v, l->n, sizeof *l->v, created, &l->order);
}

int bkt_links_parse(const json_t *j, struct bkt_links *out, struct bkt_err *err)
{
    json_t *obj = (json_t *)(uintptr_t)j; /* jansson's iterators lack const */
    if (!j || json_is_null(j))
        return BKT_OK;
    if (!json_is_object(j))
        BKT_FAIL(err, BKT_EFORMAT, "links is no object");
    out->v = calloc(json_object_size(j) + 1, sizeof *out->v);
    if (!out->v)
        BKT_NOMEM(err);
    for (void *it = json_object_iter(obj); it; it = json_object_iter_next(obj, it)) {
        struct bkt_link *l = &out->v[out->n++];
        BKT_PASS(parse_link(json_object_iter_key(it), json_object_iter_value(it), l, err));
    }
    if (sort_links(out) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

void bkt_links_fini(struct bkt_links *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].name);
        free(l->v[i].path);
        free(l->v[i].file);
    }
    free(l->v);
    free(l->order);
    memset(l, 0, sizeof *l);
}

const struct bkt_link *bkt_links_find(const struct bkt_links *l, const char *name)
{
    return bkt_named_find(l->v, l->n, sizeof *l->v, name);
}
