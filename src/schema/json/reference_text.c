#include "schema/json/reference_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/h5enc/h5enc.h"
#include "base/num.h"
#include "schema/json/schema_json.h"

/* Coordinates of one point, or of one corner. */
static int take_corner(const json_t *j, struct bkt_regref *r, size_t *at, struct bkt_err *err)
{
    uint64_t v[BKT_MAX_RANK];
    unsigned n;
    BKT_PASS(bkt_json_u64_list(j, "region coordinate", INT64_MAX, BKT_MAX_RANK, v, &n, err));
    if (n != r->rank)
        BKT_FAIL(err, BKT_EFORMAT, "region reference: coordinates of rank %u and of rank %u", n, r->rank);
    memcpy(r->coords + *at, v, n * sizeof *v);
    *at += n;
    return BKT_OK;
}

static int parse_selection(const json_t *list, struct bkt_regref *r, struct bkt_err *err)
{
    bool          blocks = r->kind == BKT_REGION_BLOCKS;
    const json_t *first  = json_array_get(list, 0);
    size_t        n      = json_array_size(list), at = 0;
    uint64_t      spare  = BKT_H5_BLOCKS_SPARE;
    if (n == 0)
        BKT_FAIL(err, BKT_EFORMAT, "region reference: the selection is not a list");
    const json_t *corner = blocks ? json_array_get(first, 0) : first;
    r->rank              = json_is_array(corner) ? (unsigned)json_array_size(corner) : 1;
    if (r->rank == 0 || r->rank > BKT_MAX_RANK)
        BKT_FAIL(err, BKT_EFORMAT, "region reference: rank %u", r->rank);
    r->coords = calloc(n, sizeof *r->coords * r->rank * 2);
    if (!r->coords)
        BKT_NOMEM(err);
    for (r->n = 0; r->n < n; r->n++) {
        const json_t *one = json_array_get(list, r->n);
        if (blocks && json_array_size(one) != 2)
            BKT_FAIL(err, BKT_EFORMAT, "region reference: a block is not two corners");
        BKT_PASS(take_corner(blocks ? json_array_get(one, 0) : one, r, &at, err));
        if (blocks)
            BKT_PASS(take_corner(json_array_get(one, 1), r, &at, err));
    }
    return blocks ? bkt_h5blocks_check(r->rank, r->n, r->coords, &spare, err) : BKT_OK;
}

/* Find the object: by id, or by name in another file.  A missing one isn't an error here. */
static int parse_object(const json_t *j, struct bkt_regref *r, struct bkt_err *err)
{
    const char   *id   = bkt_json_word(j, "id");
    const json_t *file = bkt_json_get(j, "file");
    if (id && bkt_ref_parse(id, strlen(id), &r->dset, NULL) < 0)
        memset(&r->dset, 0, sizeof r->dset);
    if (id || !file)
        return BKT_OK;
    BKT_PASS(bkt_json_dup(file, "file of a reference", &r->file, err));
    return bkt_json_dup(bkt_json_get(j, "name"), "name in the file of a reference", &r->name, err);
}

static int parse_region(const json_t *j, struct bkt_regref *r, struct bkt_err *err)
{
    static const struct bkt_word kinds[] = {{"H5S_SEL_NONE", BKT_REGION_NONE},
                                            {"H5S_SEL_ALL", BKT_REGION_ALL},
                                            {"H5S_SEL_POINTS", BKT_REGION_POINTS},
                                            {"H5S_SEL_HYPERSLABS", BKT_REGION_BLOCKS}};
    const json_t *attr = bkt_json_get(j, "attr");
    int           kind = bkt_word_find(kinds, BKT_COUNT(kinds), bkt_json_word(j, "select_type"), -1);
    BKT_PASS(parse_object(j, r, err));
    if (attr && (r->file || r->dset.text[0])) {
        r->kind = BKT_REGION_ATTR;
        return bkt_json_dup(attr, "attribute of a reference", &r->attr, err);
    }
    if (r->file && !bkt_json_get(j, "select_type")) {
        r->kind = BKT_REGION_OBJECT;
        return BKT_OK;
    }
    const json_t *space = bkt_json_get(j, "h5space");
    if ((!r->file && (!r->dset.text[0] || bkt_id_kind(&r->dset) != BKT_DATASET)) || kind < 0)
        BKT_FAIL(err, BKT_EFORMAT, "region reference without dataset id or select_type");
    if (r->file)
        BKT_PASS(bkt_json_u64_list(bkt_json_get(j, "shape"), "shape of a region's dataset", INT64_MAX,
                                   BKT_MAX_RANK, r->dims, &r->n_dims, err));
    r->kind = (enum bkt_region)kind;
    if (json_is_string(space)) {
        r->kind = BKT_REGION_ENCODED;
        return bkt_json_base64(space, "region reference: h5space", &r->space, err);
    }
    if (r->kind == BKT_REGION_POINTS || r->kind == BKT_REGION_BLOCKS)
        return parse_selection(bkt_json_get(j, "selection"), r, err);
    return BKT_OK;
}

int bkt_regref_parse(const void *p, size_t n, struct bkt_regref *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    memset(out, 0, sizeof *out);
    n = n ? strnlen(p, n) : 0;
    if (n == 0)
        return BKT_OK;
    if (*(const char *)p != '{') {
        out->kind = BKT_REGION_OBJECT;
        return bkt_ref_parse(p, n, &out->dset, err);
    }
    BKT_TRY(err, bkt_json_load(p, n, &j, err), "region reference");
    int rc = parse_region(j, out, err);
    if (rc < 0)
        bkt_regref_fini(out);
    return rc;
}

void bkt_regref_fini(struct bkt_regref *r)
{
    free(r->coords);
    free(r->attr);
    free(r->file);
    free(r->name);
    bkt_buf_fini(&r->space);
    memset(r, 0, sizeof *r);
}

/* ---- model -> text ---- */

void bkt_ref_emit(const struct bkt_id *id, char out[48])
{
    static const char *const folders[] = {
        [BKT_GROUP] = "groups", [BKT_DATASET] = "datasets", [BKT_DATATYPE] = "datatypes"};
    char text[64] = {0};
    if (id->text[0])
        (void)snprintf(text, sizeof text, "%s/%s", folders[bkt_id_kind(id)], id->text);
    memcpy(out, text, 48); /* exactly as long as "datatypes/" and an id */
}

static int emit_corner(const uint64_t *v, unsigned rank, struct bkt_buf *out)
{
    BKT_PASS(bkt_buf_add_str(out, "["));
    for (unsigned i = 0; i < rank; i++)
        BKT_PASS(bkt_buf_addf(out, "%s%" PRIu64, i ? "," : "", v[i]));
    return bkt_buf_add_str(out, "]");
}

static int emit_selection(const struct bkt_regref *r, struct bkt_buf *out)
{
    unsigned        per = r->kind == BKT_REGION_BLOCKS ? 2 : 1;
    const uint64_t *at  = r->coords;
    for (size_t i = 0; i < r->n; i++, at += (size_t)per * r->rank) {
        BKT_PASS(bkt_buf_add_str(out, i ? "," : ",\"selection\":["));
        if (per == 2)
            BKT_PASS(bkt_buf_add_str(out, "["));
        BKT_PASS(emit_corner(at, r->rank, out));
        if (per == 1)
            continue;
        BKT_PASS(bkt_buf_add_str(out, ","));
        BKT_PASS(emit_corner(at + r->rank, r->rank, out));
        BKT_PASS(bkt_buf_add_str(out, "]"));
    }
    return r->n ? bkt_buf_add_str(out, "]") : BKT_OK;
}

/* Text of any bytes, as a JSON string. */
static int emit_text(const char *text, struct bkt_buf *out)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = bkt_json_new_str(text);
    return j ? bkt_json_dump(j, out, NULL) : BKT_ENOMEM;
}

static int emit_object(const struct bkt_regref *r, struct bkt_buf *out)
{
    if (!r->file)
        return bkt_buf_addf(out, "{\"id\":\"%s\"", r->dset.text);
    BKT_PASS(bkt_buf_add_str(out, "{\"file\":"));
    BKT_PASS(emit_text(r->file, out));
    BKT_PASS(bkt_buf_add_str(out, ",\"name\":"));
    return emit_text(r->name, out);
}

static int emit_attr(const struct bkt_regref *r, struct bkt_buf *out)
{
    BKT_PASS(emit_object(r, out));
    BKT_PASS(bkt_buf_add_str(out, ",\"attr\":"));
    BKT_PASS(emit_text(r->attr, out));
    return bkt_buf_add_str(out, "}");
}

static int emit(const struct bkt_regref *r, struct bkt_buf *out)
{
    static const char *const kinds[] = {[BKT_REGION_NONE] = "NONE",
                                        [BKT_REGION_ALL] = "ALL",
                                        [BKT_REGION_POINTS] = "POINTS",
                                        [BKT_REGION_BLOCKS] = "HYPERSLABS",
                                        [BKT_REGION_ENCODED] = "HYPERSLABS"};
    char                     object[49] = {0};
    switch (r->kind) {
    case BKT_REGION_NULL: return BKT_OK;
    case BKT_REGION_ATTR: return emit_attr(r, out);
    case BKT_REGION_OBJECT:
        if (r->file) {
            BKT_PASS(emit_object(r, out));
            return bkt_buf_add_str(out, "}");
        }
        bkt_ref_emit(&r->dset, object);
        return bkt_buf_add_str(out, object);
    default: break;
    }
    BKT_PASS(emit_object(r, out));
    if (r->file) {
        BKT_PASS(bkt_buf_add_str(out, ",\"shape\":"));
        BKT_PASS(emit_corner(r->dims, r->n_dims, out));
    }
    BKT_PASS(bkt_buf_addf(out, ",\"select_type\":\"H5S_SEL_%s\"", kinds[r->kind]));
    if (r->kind == BKT_REGION_POINTS || r->kind == BKT_REGION_BLOCKS)
        BKT_PASS(emit_selection(r, out));
    if (r->kind == BKT_REGION_ENCODED) {
        BKT_PASS(bkt_buf_add_str(out, ",\"h5space\":\""));
        BKT_PASS(bkt_base64_encode(r->space.ptr, r->space.len, out));
        BKT_PASS(bkt_buf_add_str(out, "\""));
    }
    return bkt_buf_add_str(out, "}");
}

int bkt_regref_emit(const struct bkt_regref *r, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_PASS_MEM(err, emit(r, out));
    return BKT_OK;
}
