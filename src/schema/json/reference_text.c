#include "schema/json/reference_text.h"

#include <inttypes.h>
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
    BKT_PASS(bkt_dims_parse(j, "region coordinate", INT64_MAX, v, &n, err));
    BKT_FAIL_IF(err, n != r->rank, BKT_EFORMAT, "region reference: coordinates of rank %u and of rank %u", n,
                r->rank);
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
    BKT_FAIL_IF(err, n == 0, BKT_EFORMAT, "region reference: the selection is not a list");
    const json_t *corner = blocks ? json_array_get(first, 0) : first;
    r->rank              = json_is_array(corner) ? (unsigned)json_array_size(corner) : 1;
    BKT_FAIL_IF(err, r->rank == 0 || r->rank > BKT_MAX_RANK, BKT_EFORMAT, "region reference: rank %u",
                r->rank);
    r->coords = calloc(n, sizeof *r->coords * r->rank * 2);
    BKT_NEED(err, r->coords);
    for (r->n = 0; r->n < n; r->n++) {
        const json_t *one = json_array_get(list, r->n);
        BKT_FAIL_IF(err, blocks && json_array_size(one) != 2, BKT_EFORMAT,
                    "region reference: a block is not two corners");
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

static const struct bkt_word kinds[] = {{"H5S_SEL_NONE", BKT_REGION_NONE},
                                        {"H5S_SEL_ALL", BKT_REGION_ALL},
                                        {"H5S_SEL_POINTS", BKT_REGION_POINTS},
                                        {"H5S_SEL_HYPERSLABS", BKT_REGION_BLOCKS},
                                        {"H5S_SEL_HYPERSLABS", BKT_REGION_ENCODED}};

static int parse_region(const json_t *j, struct bkt_regref *r, struct bkt_err *err)
{
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
    BKT_FAIL_IF(err, (!r->file && (!r->dset.text[0] || bkt_id_kind(&r->dset) != BKT_DATASET)) || kind < 0,
                BKT_EFORMAT, "region reference without dataset id or select_type");
    if (r->file)
        BKT_PASS(bkt_dims_parse(bkt_json_get(j, "shape"), "shape of a region's dataset", INT64_MAX, r->dims,
                                &r->n_dims, err));
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

static int emit_selection(const struct bkt_regref *r, json_t *j)
{
    json_t *list = json_array();
    const uint64_t *at = r->coords;
    BKT_PASS(bkt_json_set(j, "selection", list));
    for (size_t i = 0; i < r->n; i++, at += r->rank) {
        json_t *pair = r->kind == BKT_REGION_BLOCKS ? json_array() : NULL;
        if (r->kind == BKT_REGION_BLOCKS) {
            BKT_PASS(bkt_json_push(list, pair));
            BKT_PASS(bkt_json_push_dims(pair, at, r->rank));
            at += r->rank;
        }
        BKT_PASS(bkt_json_push_dims(pair ? pair : list, at, r->rank));
    }
    return BKT_OK;
}

static int emit(const struct bkt_regref *r, json_t *j)
{
    BKT_PASS(bkt_json_set(j, r->file ? "file" : "id", bkt_json_new_str(r->file ? r->file : r->dset.text)));
    if (r->file)
        BKT_PASS(bkt_json_set(j, "name", bkt_json_new_str(r->name)));
    if (r->kind == BKT_REGION_ATTR)
        return bkt_json_set(j, "attr", bkt_json_new_str(r->attr));
    if (r->kind == BKT_REGION_OBJECT)
        return BKT_OK;
    if (r->file)
        BKT_PASS(bkt_json_set_dims(j, "shape", r->dims, r->n_dims));
    BKT_PASS(bkt_json_set(j, "select_type", json_string(bkt_word_of(kinds, BKT_COUNT(kinds), (int)r->kind))));
    if (r->kind == BKT_REGION_ENCODED)
        return bkt_json_set(j, "h5space", bkt_json_new_base64(&r->space));
    bool listed = (r->kind == BKT_REGION_POINTS || r->kind == BKT_REGION_BLOCKS) && r->n;
    return listed ? emit_selection(r, j) : BKT_OK;
}

int bkt_regref_emit(const struct bkt_regref *r, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_json_decrefp) json_t *j = NULL;
    char object[49] = {0};
    if (r->kind == BKT_REGION_NULL)
        return BKT_OK;
    if (r->kind == BKT_REGION_OBJECT && !r->file) {
        bkt_ref_emit(&r->dset, object);
        BKT_PASS_MEM(err, bkt_buf_add_str(out, object));
        return BKT_OK;
    }
    j = json_object();
    BKT_PASS_MEM(err, emit(r, j));
    return bkt_json_dump_compact(j, out, err);
}
