/* Links: JSON <-> model.  A senseless entry stays visible as a link of class OTHER, which can be listed but
 * not followed: one bad link must not hide the others of its group. */
#include <stdlib.h>
#include <string.h>

#include "schema/json/schema_json.h"

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

/* BKT_EFORMAT: the entry doesn't fit its class. */
static int parse_target(const json_t *j, struct bkt_link *l)
{
    const char   *id   = bkt_json_word(j, "id");
    const json_t *file = NULL;
    if (l->cls == BKT_L_OTHER)
        return BKT_OK;
    if (l->cls == BKT_L_HARD)
        return id && bkt_ref_parse(id, strlen(id), &l->id, NULL) == BKT_OK && l->id.text[0] ? BKT_OK
                                                                                            : BKT_EFORMAT;
    BKT_PASS(bkt_json_dup(bkt_json_get(j, "h5path"), "h5path", &l->path, NULL));
    if (l->cls == BKT_L_SOFT)
        return BKT_OK;
    for (size_t i = 0; !file && i < BKT_COUNT(file_keys); i++)
        file = bkt_json_get(j, file_keys[i]);
    return bkt_json_dup(file, "file", &l->file, NULL);
}

int bkt_link_parse(const json_t *j, struct bkt_link *l)
{
    bkt_entry_read(j, (struct bkt_named *)l);
    l->cls = class_of(j);
    int rc = parse_target(j, l);
    if (rc == BKT_ENOMEM)
        return rc;
    if (rc < 0)
        l->cls = BKT_L_OTHER;
    return BKT_OK;
}

static int parse_link(const char *key, const json_t *j, struct bkt_link *l, struct bkt_err *err)
{
    BKT_PASS(bkt_json_dup_key(key, &l->name, err));
    if (bkt_link_parse(j, l) < 0)
        BKT_NOMEM(err);
    return BKT_OK;
}

/* H5L_TYPE_UD_MIN: numbers below are HDF5's own kinds, whose values programs read as text. */
#define USER_TYPE_MIN 64

/* User-defined links: HSDS has no such class, so they have a list of their own. */
static int parse_user(const char *key, const json_t *j, struct bkt_link *l, struct bkt_err *err)
{
    const char *data = bkt_json_word(j, "data");
    uint64_t    type = 0;
    BKT_PASS(bkt_json_dup_key(key, &l->name, err));
    bkt_entry_read(j, (struct bkt_named *)l);
    l->cls = BKT_L_OTHER;
    if (bkt_json_u64(bkt_json_get(j, "type"), "type", 255, &type, NULL) < 0 || type < USER_TYPE_MIN)
        return BKT_OK;
    int rc = data ? bkt_base64_decode(data, strlen(data), &l->ud) : BKT_OK;
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    if (rc == BKT_OK) {
        l->cls     = BKT_L_USER;
        l->ud_type = (int)type;
    }
    return BKT_OK;
}

typedef int parse_link_fn(const char *key, const json_t *j, struct bkt_link *l, struct bkt_err *err);
static int parse_all(const json_t *j, parse_link_fn *parse, struct bkt_links *out, struct bkt_err *err)
{
    json_t *obj = (json_t *)(uintptr_t)j; /* jansson's iterators lack const */
    for (void *it = j ? json_object_iter(obj) : NULL; it; it = json_object_iter_next(obj, it)) {
        struct bkt_link *l = &out->v[out->n++];
        BKT_PASS(parse(json_object_iter_key(it), json_object_iter_value(it), l, err));
    }
    return BKT_OK;
}

/* Make room behind the links that were read from the text. */
static int make_room(struct bkt_links *l, size_t more)
{
    struct bkt_link *v = realloc(l->v, (l->n + more + 1) * sizeof *v);
    if (!v)
        return BKT_ENOMEM;
    memset(v + l->n, 0, (more + 1) * sizeof *v);
    l->v = v;
    return BKT_OK;
}

/* If two links have one name, the last one counts, at the place of the first, as in jansson's trees. */
static bool has_twins(const struct bkt_links *l)
{
    for (size_t i = 1; i < l->n; i++)
        if (strcmp(l->v[i - 1].name, l->v[i].name) == 0)
            return true;
    return false;
}

int bkt_links_parse(const json_t *j, const json_t *user, struct bkt_links *out, struct bkt_err *err)
{
    bool scanned = out->n > 0;
    if (j && !json_is_object(j) && !json_is_null(j))
        BKT_FAIL(err, BKT_EFORMAT, "links is not an object");
    if (!scanned && !json_object_size(j) && !json_object_size(user)) {
        out->next = 0;
        return BKT_OK;
    }
    if (make_room(out, json_object_size(j) + json_object_size(user)) < 0)
        BKT_NOMEM(err);
    BKT_PASS(parse_all(j, parse_link, out, err));
    BKT_PASS(parse_all(user, parse_user, out, err));
    if (bkt_named_sort(&out->list, sizeof *out->v) < 0)
        BKT_NOMEM(err);
    return scanned && has_twins(out) ? BKT_EEXIST : BKT_OK;
}

/* ---- model -> JSON ---- */

static int emit_target(const struct bkt_link *l, json_t *j)
{
    static const char *const names[] = {[BKT_L_HARD]     = "H5L_TYPE_HARD",
                                        [BKT_L_SOFT]     = "H5L_TYPE_SOFT",
                                        [BKT_L_EXTERNAL] = "H5L_TYPE_EXTERNAL"};
    if (l->cls == BKT_L_USER) {
        BKT_PASS(bkt_json_set(j, "type", json_integer(l->ud_type)));
        return bkt_json_set(j, "data", bkt_json_new_base64(&l->ud));
    }
    if (l->cls == BKT_L_HARD)
        BKT_PASS(bkt_json_set(j, "id", json_string(l->id.text)));
    else
        BKT_PASS(bkt_json_set(j, "h5path", bkt_json_new_str(l->path)));
    for (size_t i = 0; l->cls == BKT_L_EXTERNAL && i < 2; i++)
        BKT_PASS(bkt_json_set(j, file_keys[i], bkt_json_new_str(l->file)));
    return bkt_json_set(j, "class", json_string(names[l->cls]));
}

int bkt_link_emit(const struct bkt_link *l, json_t **out, struct bkt_err *err)
{
    json_t *j;
    if (l->cls == BKT_L_OTHER)
        BKT_FAIL(err, BKT_EUNSUP, "link \"%s\" has an unknown class", l->name);
    j      = json_object();
    int rc = j ? emit_target(l, j) : BKT_ENOMEM;
    if (rc == BKT_OK)
        rc = bkt_entry_say(j, (const struct bkt_named *)l);
    if (rc < 0) {
        json_decref(j);
        BKT_NOMEM(err);
    }
    *out = j;
    return BKT_OK;
}

int bkt_links_emit(const struct bkt_links *l, bool numbered, json_t *j, json_t *user, struct bkt_err *err)
{
    uint32_t number = 0;
    (void)bkt_links_settle(l);
    for (size_t i = 0; i < l->n; i++) {
        const struct bkt_link *one  = &l->v[l->order[i]];
        json_t                *part = NULL;
        BKT_PASS(bkt_link_emit(one, &part, err));
        BKT_PASS(bkt_entry_put(one->cls == BKT_L_USER ? user : j, (const struct bkt_named *)one, part,
                               numbered ? &number : NULL, err));
    }
    return BKT_OK;
}

void bkt_link_fini(struct bkt_link *l)
{
    free(l->name);
    free(l->path);
    free(l->file);
    bkt_buf_fini(&l->ud);
    memset(l, 0, sizeof *l);
}

int bkt_link_path(const char *group, const char *name, struct bkt_buf *out)
{
    return bkt_buf_addf(out, "%s/%s", strcmp(group, "/") == 0 ? "" : group, name);
}
