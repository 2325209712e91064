/* Groups, datasets and committed types: JSON <-> model. */
#include <stdlib.h>
#include <string.h>

#include "schema/jansson/json.h"
#include "schema/json/documents.h"
#include "schema/json/schema_json.h"

/* "H5P_CRT_ORDER_TRACKED", "H5P_CRT_ORDER_INDEXED", or both; indexed implies tracked in HDF5. */
static int order_bits(const char *words)
{
    if (!words)
        return 0;
    return (strstr(words, "TRACKED") ? 1 : 0) | (strstr(words, "INDEXED") ? 3 : 0);
}

/* The two shapes of creationProperties: the REST VOL stores base64 of H5Pencode2 bytes, h5pyd an object. */
static int parse_cpl(const json_t *j, struct bkt_object *o, struct bkt_err *err)
{
    if (json_is_string(j))
        return bkt_json_base64(j, "creationProperties is a string that", &o->cpl, err);
    BKT_FAIL_IF(err, j && !json_is_object(j), BKT_EFORMAT,
                "creationProperties is neither an object nor a string");

    BKT_PASS(bkt_json_base64(bkt_json_word(j, "h5plist") ? bkt_json_get(j, "h5plist") : NULL,
                             "creationProperties.h5plist", &o->cpl, err));
    const json_t *order = bkt_json_get(j, "CreateOrder"), *times = bkt_json_get(j, "trackTimes");
    const json_t *phase = bkt_json_get(j, "attributePhaseChange");
    const char   *word  = bkt_json_word(j, "trackTimes");
    bool          on    = json_is_true(order) || (json_is_number(order) && json_number_value(order) != 0);
    o->track_order      = on ? 3 : order_bits(bkt_json_word(j, "linkCreationOrder"));
    o->attr_track_order = on ? 3 : order_bits(bkt_json_word(j, "attributeCreationOrder"));
    if (json_is_boolean(times))
        o->track_times = json_is_true(times);
    else if (word)
        o->track_times = strcmp(word, "true") == 0;
    if (phase) {
        uint64_t compact, dense;
        BKT_PASS(bkt_json_u64(bkt_json_get(phase, "maxCompact"), "attributePhaseChange.maxCompact", 65535,
                              &compact, err));
        BKT_PASS(bkt_json_u64(bkt_json_get(phase, "minDense"), "attributePhaseChange.minDense", 65535, &dense,
                              err));
        o->attr_max_compact = (int)compact;
        o->attr_min_dense   = (int)dense;
    }
    return BKT_OK;
}

static int parse_dataset(const json_t *j, struct bkt_dset *d, struct bkt_err *err)
{
    const json_t *cpl = bkt_json_get(j, "creationProperties");
    BKT_PASS(bkt_type_parse(json_object_get(j, "type"), &d->type, err));
    BKT_PASS(bkt_space_parse(json_object_get(j, "shape"), &d->space, err));
    BKT_PASS(bkt_trim_parse(j, d, err));
    BKT_PASS(bkt_dcpl_parse(cpl, d, err));
    return bkt_layout_parse(bkt_json_get(j, "layout"), cpl, d, err);
}

static int parse_body(const json_t *j, struct bkt_links *links, struct bkt_object *o, struct bkt_err *err)
{
    switch (o->kind) {
    case BKT_GROUP:
        o->group.links = *links;
        memset(links, 0, sizeof *links);
        o->group.links.next = bkt_order_next(j, "h5nextlink");
        return bkt_links_parse(json_object_get(j, "links"), bkt_json_get(j, "h5links"), &o->group.links, err);
    case BKT_DATASET: return parse_dataset(j, &o->dset, err);
    default: break;
    }
    BKT_PASS(bkt_type_parse(json_object_get(j, "type"), &o->type, err));
    o->type->committed = o->id;
    return BKT_OK;
}

static int parse_ids(const json_t *j, const struct bkt_id *expect, struct bkt_object *o, struct bkt_err *err)
{
    const char *id = bkt_json_word(j, "id"), *root = bkt_json_word(j, "root");
    BKT_FAIL_IF(err, !id || !bkt_id_set(&o->id, id), BKT_EFORMAT, "id is %s", id ? "malformed" : "missing");
    BKT_FAIL_IF(err, expect && strcmp(expect->text, o->id.text) != 0, BKT_EFORMAT,
                "id is %s, but %s was expected", o->id.text, expect->text);
    if (!root || !bkt_id_set(&o->root, root))
        (void)bkt_id_root(&o->id, &o->root);
    o->kind = bkt_id_kind(&o->id);
    return BKT_OK;
}

/* The connector's keys. */
static int parse_own(const json_t *j, struct bkt_object *o, struct bkt_err *err)
{
    const json_t *comment = bkt_json_get(j, "h5comment"), *refs = bkt_json_get(j, "h5refcount");
    uint64_t      n       = 0;
    if (comment)
        BKT_PASS(bkt_json_dup(comment, "h5comment", &o->comment, err));
    if (refs)
        BKT_PASS(bkt_json_u64(refs, "h5refcount", UINT32_MAX, &n, err));
    o->extra_refs = (uint32_t)n;
    const json_t *uses = o->kind == BKT_DATATYPE ? bkt_json_get(j, "h5uses") : NULL;
    if (uses) {
        BKT_PASS(bkt_json_u64(uses, "h5uses", INT32_MAX, &n, err));
        o->uses = (int64_t)n;
    }
    return BKT_OK;
}

static int fill_object(const json_t *j, const struct bkt_id *expect, struct bkt_links *links,
                       struct bkt_object *o, struct bkt_err *err)
{
    BKT_PASS(parse_ids(j, expect, o, err));
    o->created  = bkt_json_seconds(j, "created");
    o->modified = bkt_json_seconds(j, "lastModified");
    BKT_PASS(parse_own(j, o, err));
    BKT_PASS(parse_cpl(bkt_json_get(j, "creationProperties"), o, err));
    o->attrs.next = bkt_order_next(j, "h5nextattr");
    BKT_PASS(bkt_attrs_parse(json_object_get(j, "attributes"), &o->attrs, err));
    return parse_body(j, links, o, err);
}

/* @param links  those of a group that aren't in the tree, else none; taken.  BKT_EEXIST: they must be in the
 * tree */
static int from_json(const json_t *j, size_t bytes, const struct bkt_id *expect, struct bkt_links *links,
                     struct bkt_object **out, struct bkt_err *err)
{
    struct bkt_object *o = bkt_object_make(BKT_GROUP); /* the id shows the kind */
    BKT_NEED(err, o);
    o->json_bytes = bytes;
    int rc        = fill_object(j, expect, links, o, err);
    if (rc < 0)
        bkt_object_free(o);
    else
        *out = o;
    return rc;
}

/* @param fast   the links of a group are read from the text
 * @param again  set if they have to be read as a tree */
static int parse(const void *json, size_t n, const struct bkt_id *expect, bool fast, struct bkt_object **out,
                 bool *whole, bool *again, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    BKT_CLEANUP(bkt_links_fini) struct bkt_links links = {.n = 0};
    struct bkt_aside aside = {"links", bkt_links_scan, &links, false};
    int rc = bkt_json_document(json, n, fast ? &aside : NULL, &j, err);
    *again = fast && rc == BKT_EUNSUP;
    *whole                 = rc == BKT_OK;
    if (rc < 0)
        return rc;
    rc     = from_json(j, n, expect, &links, out, err);
    *again = fast && rc == BKT_EEXIST;
    return rc;
}

int bkt_object_load(const void *json, size_t n, const struct bkt_id *expect, struct bkt_object **out,
                    bool *whole, struct bkt_err *err)
{
    bool again;
    int rc = parse(json, n, expect, true, out, whole, &again, err);
    return again ? parse(json, n, expect, false, out, whole, &again, err) : rc;
}

int bkt_object_parse(const void *json, size_t n, const struct bkt_id *expect, struct bkt_object **out,
                     struct bkt_err *err)
{
    bool whole;
    return bkt_object_load(json, n, expect, out, &whole, err);
}

int bkt_object_parse_tree(const void *json, size_t n, const struct bkt_id *expect, struct bkt_object **out,
                          struct bkt_err *err)
{
    bool whole, again;
    return parse(json, n, expect, false, out, &whole, &again, err);
}

/* ---- model -> JSON; the keys in HSDS's own order ---- */

static int set_part(json_t *j, const char *key, json_t **part)
{
    json_t *taken = *part;
    *part         = NULL;
    return json_object_size(taken) ? bkt_json_set(j, key, taken) : (json_decref(taken), BKT_OK);
}

static int emit_order(const struct bkt_object *o, json_t *cpl)
{
    static const char *const words[] = {NULL, "H5P_CRT_ORDER_TRACKED", "H5P_CRT_ORDER_INDEXED",
                                        "H5P_CRT_ORDER_INDEXED"};
    if (o->track_order == 3 && o->attr_track_order == 3)
        return bkt_json_set(cpl, "CreateOrder", json_integer(1));
    if (o->track_order)
        BKT_PASS(bkt_json_set(cpl, "linkCreationOrder", json_string(words[o->track_order & 3])));
    if (o->attr_track_order)
        BKT_PASS(bkt_json_set(cpl, "attributeCreationOrder", json_string(words[o->attr_track_order & 3])));
    return BKT_OK;
}

static int emit_cpl(const struct bkt_object *o, json_t *cpl)
{
    BKT_PASS(emit_order(o, cpl));
    if (o->track_times >= 0)
        BKT_PASS(bkt_json_set(cpl, "trackTimes", json_string(o->track_times ? "true" : "false")));
    if (o->attr_max_compact >= 0) {
        json_t *phase = json_object();
        BKT_PASS(bkt_json_set(cpl, "attributePhaseChange", phase));
        BKT_PASS(bkt_json_set(phase, "maxCompact", json_integer(o->attr_max_compact)));
        BKT_PASS(bkt_json_set(phase, "minDense", json_integer(o->attr_min_dense)));
    }
    return o->cpl.len ? bkt_json_set(cpl, "h5plist", bkt_json_new_base64(&o->cpl)) : BKT_OK;
}

static int emit_type(const struct bkt_type *t, bool committed_itself, json_t *j, struct bkt_err *err)
{
    json_t *type = NULL;
    BKT_PASS(bkt_type_emit(t, &type, err));
    if (committed_itself)
        (void)json_object_del(type, "id");
    return bkt_json_set(j, "type", type);
}

static int emit_body(const struct bkt_object *o, json_t *j, json_t *user_links, struct bkt_err *err)
{
    json_t *part = NULL;
    switch (o->kind) {
    case BKT_GROUP:
        BKT_PASS(bkt_json_set(j, "links", part = json_object()));
        return bkt_links_emit(&o->group.links, o->track_order & 1, part, user_links, err);
    case BKT_DATASET:
        BKT_PASS(emit_type(o->dset.type, false, j, err));
        BKT_PASS(bkt_space_emit(&o->dset.space, &part, err));
        return bkt_json_set(j, "shape", part);
    default: return emit_type(o->type, true, j, err);
    }
}

/* Call after settled lists were emitted. */
static int emit_next(const struct bkt_object *o, json_t *j)
{
    const struct bkt_attrs *a = &o->attrs;
    const struct bkt_links *l = &o->group.links;
    if ((o->attr_track_order & 1) && a->n && a->next > a->v[a->order[a->n - 1]].seq + 1)
        BKT_PASS(bkt_json_set(j, "h5nextattr", json_integer(a->next)));
    if (o->kind == BKT_GROUP && (o->track_order & 1) && l->n && l->next > l->v[l->order[l->n - 1]].seq + 1)
        BKT_PASS(bkt_json_set(j, "h5nextlink", json_integer(l->next)));
    return BKT_OK;
}

static int emit_own(const struct bkt_object *o, json_t *j)
{
    BKT_PASS(emit_next(o, j));
    if (o->comment && *o->comment)
        BKT_PASS(bkt_json_set(j, "h5comment", bkt_json_new_str(o->comment)));
    if (o->kind == BKT_DATASET)
        BKT_PASS(bkt_trim_emit(o->dset.trim, o->dset.space.rank, j));
    if (o->kind == BKT_DATASET && o->dset.written)
        BKT_PASS(bkt_json_set(j, "h5written", json_true()));
    if (o->kind == BKT_DATATYPE && o->uses >= 0)
        BKT_PASS(bkt_json_set(j, "h5uses", json_integer(o->uses)));
    return o->extra_refs ? bkt_json_set(j, "h5refcount", json_integer(o->extra_refs)) : BKT_OK;
}

/* cpl, top: made here; the caller frees what is left of them */
static int emit_object(const struct bkt_object *o, json_t *j, json_t **cpl, json_t **top, json_t **user,
                       struct bkt_err *err)
{
    json_t *attrs;
    BKT_PASS(bkt_json_set(j, "id", json_string(o->id.text)));
    BKT_PASS(bkt_json_set(j, "root", json_string(o->root.text)));
    BKT_PASS(bkt_json_set(j, "created", bkt_json_new_real(o->created)));
    BKT_PASS(bkt_json_set(j, "lastModified", bkt_json_new_real(o->modified)));
    BKT_PASS(emit_body(o, j, *user, err));
    BKT_PASS(bkt_json_set(j, "attributes", attrs = json_object()));
    BKT_PASS(bkt_attrs_emit(&o->attrs, o->attr_track_order & 1, attrs, err));
    BKT_PASS(emit_cpl(o, *cpl));
    if (o->kind == BKT_DATASET) {
        BKT_PASS(bkt_dcpl_emit(&o->dset, *cpl, err));
        BKT_PASS(bkt_layout_emit(&o->dset, top, *cpl, err));
    }
    BKT_PASS(set_part(j, "creationProperties", cpl));
    BKT_PASS(set_part(j, "layout", top));
    BKT_PASS(set_part(j, "h5links", user));
    return emit_own(o, j);
}

int bkt_object_emit(const struct bkt_object *o, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp)
    json_t *j = json_object(),
           *cpl = json_object(), *top = NULL, *user = json_object();
    int     rc = j && cpl && user ? emit_object(o, j, &cpl, &top, &user, err) : BKT_ENOMEM;
    BKT_TRY(err, rc, "object %s can't be put into JSON", o->id.text);
    return bkt_json_dump(j, out, err);
}
