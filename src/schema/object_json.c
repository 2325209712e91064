/* Groups, datasets and committed types: JSON -> model. */
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "parse.h"

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
    if (json_is_string(j)) {
        int rc = bkt_base64_decode(json_string_value(j), json_string_length(j), &o->cpl);
        if (rc < 0)
            BKT_FAIL(err, rc == BKT_ENOMEM ? rc : BKT_EFORMAT, "creationProperties is a string that is not base64");
        return BKT_OK;
    }
    if (j && !json_is_object(j))
        BKT_FAIL(err, BKT_EFORMAT, "creationProperties is neither an object nor a string");

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
        BKT_PASS(bkt_json_u64(bkt_json_get(phase, "maxCompact"), "attributePhaseChange.maxCompact", 65535, &compact, err));
        BKT_PASS(bkt_json_u64(bkt_json_get(phase, "minDense"), "attributePhaseChange.minDense", 65535, &dense, err));
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
    BKT_PASS(bkt_dcpl_parse(cpl, d, err));
    return bkt_layout_parse(bkt_json_get(j, "layout"), cpl, d, err);
}

static int parse_body(const json_t *j, struct bkt_object *o, struct bkt_err *err)
{
    switch (o->kind) {
    case BKT_GROUP: return bkt_links_parse(json_object_get(j, "links"), &o->group.links, err);
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
    if (!id || !bkt_id_set(&o->id, id))
        BKT_FAIL(err, BKT_EFORMAT, "id is %s", id ? "malformed" : "missing");
    if (expect && strcmp(expect->text, o->id.text) != 0)
        BKT_FAIL(err, BKT_EFORMAT, "id is %s where %s was expected", o->id.text, expect->text);
    if (!root || !bkt_id_set(&o->root, root))
        (void)bkt_id_root(&o->id, &o->root);
    o->kind = bkt_id_kind(&o->id);
    return BKT_OK;
}

static int fill_object(const json_t *j, const struct bkt_id *expect, struct bkt_object *o, struct bkt_err *err)
{
    o->attr_max_compact = o->attr_min_dense = o->track_times = -1;
    BKT_PASS(parse_ids(j, expect, o, err));
    o->created  = bkt_json_seconds(j, "created");
    o->modified = bkt_json_seconds(j, "lastModified");
    BKT_PASS(parse_cpl(bkt_json_get(j, "creationProperties"), o, err));
    BKT_PASS(bkt_attrs_parse(json_object_get(j, "attributes"), &o->attrs, err));
    return parse_body(j, o, err);
}

int bkt_object_from_json(const json_t *j, size_t bytes, const struct bkt_id *expect, struct bkt_object **out,
                         struct bkt_err *err)
{
    struct bkt_object *o = bkt_object_new();
    if (!o)
        BKT_NOMEM(err);
    o->json_bytes = bytes;
    int rc        = fill_object(j, expect, o, err);
    if (rc < 0) {
        bkt_object_free(o);
        return rc;
    }
    *out = o;
    return BKT_OK;
}

int bkt_object_parse(const void *json, size_t n, const struct bkt_id *expect, struct bkt_object **out,
                     struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    BKT_PASS(bkt_json_load(json, n, &j, err));
    return bkt_object_from_json(j, n, expect, out, err);
}
