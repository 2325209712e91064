/* The files of a reference layout, in keys of ours: their ETags, and pieces of several files that make up the
 * data.
 *
 * HSDS looks for file_uri and fails without it.  That is right, since it could not read such a dataset. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/json/schema_json.h"

#define MAX_SEGMENTS 1000000u /* 32 MB of pieces: a limit against malicious documents */
#define STAMP        "stamp:"
#define STAMP_MAX    96 /* BKT_ETAG_MAX */

void bkt_stamp(uint64_t size, double mtime, char *out)
{
    (void)snprintf(out, STAMP_MAX, STAMP "%llu-%.6f", (unsigned long long)size, mtime);
}

bool bkt_is_stamp(const char *etag) { return strncmp(etag, STAMP, strlen(STAMP)) == 0; }

static int parse_etag(const json_t *j, char **out, struct bkt_err *err)
{
    return json_is_string(j) ? bkt_json_dup(j, "file_etag", out, err) : BKT_OK;
}

static int parse_segment(const json_t *j, struct bkt_segment *s, struct bkt_err *err)
{
    const json_t *uri = json_array_get(j, 0);
    BKT_FAIL_IF(err, json_array_size(j) < 3 || (!json_is_null(uri) && !json_is_string(uri)), BKT_EFORMAT,
                "layout.segments: an entry is not [file_uri, offset, size]");
    if (json_is_string(uri))
        BKT_PASS(bkt_json_dup(uri, "layout.segments", &s->file_uri, err));
    BKT_PASS(bkt_json_u64(json_array_get(j, 1), "segment offset", INT64_MAX, &s->offset, err));
    BKT_PASS(bkt_json_u64(json_array_get(j, 2), "segment size", INT64_MAX, &s->size, err));
    return parse_etag(json_array_get(j, 3), &s->etag, err);
}

int bkt_layout_files_parse(const json_t *j, struct bkt_layout *l, struct bkt_err *err)
{
    const json_t *list = bkt_json_get(j, "segments");
    size_t        n    = json_array_size(list);
    BKT_PASS(parse_etag(bkt_json_get(j, "file_etag"), &l->file_etag, err));
    if (!list)
        return BKT_OK;
    BKT_FAIL_IF(err, !json_is_array(list) || n == 0 || n > MAX_SEGMENTS, BKT_EFORMAT,
                "layout.segments is not a list of file segments");
    l->segments = calloc(n, sizeof *l->segments);
    BKT_NEED(err, l->segments);
    for (size_t i = 0; i < n; i++) {
        l->n_segments = i + 1;
        BKT_PASS(parse_segment(json_array_get(list, i), &l->segments[i], err));
    }
    return BKT_OK;
}

static int emit_segment(const struct bkt_segment *s, json_t *list)
{
    json_t *one = json_array();
    BKT_PASS(bkt_json_push(list, one));
    BKT_PASS(bkt_json_push(one, s->file_uri ? bkt_json_new_str(s->file_uri) : json_null()));
    BKT_PASS(bkt_json_push(one, bkt_json_new_u64(s->offset)));
    BKT_PASS(bkt_json_push(one, bkt_json_new_u64(s->size)));
    return s->etag ? bkt_json_push(one, bkt_json_new_str(s->etag)) : BKT_OK;
}

int bkt_layout_files_emit(const struct bkt_layout *l, json_t *j)
{
    if (l->file_etag)
        BKT_PASS(bkt_json_set(j, "file_etag", bkt_json_new_str(l->file_etag)));
    if (!l->n_segments)
        return BKT_OK;
    json_t *list = json_array();
    BKT_PASS(bkt_json_set(j, "segments", list));
    for (size_t i = 0; i < l->n_segments; i++)
        BKT_PASS(emit_segment(&l->segments[i], list));
    return BKT_OK;
}
