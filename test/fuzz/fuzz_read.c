/* Fuzz target for reading a dataset with foreign JSON and bytes: layouts, chunk tables, chunks of every kind,
 * through a domain in memory.
 *
 * Input: the dataset's JSON, a zero byte, then the bytes that serve as its chunk object 0, as the only chunk
 * of the chunk table d-…-000006-… ({i64, i32} x 4), and as the file "fuzz/f". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "chunk/chunk.h"
#include "schema/json/documents.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DB "db/00000001-00000002"
#define ROOT "g-00000001-00000002-8888-888988-88888a"
#define DSET "d-00000001-00000002-0000-000005-abcdef"
#define MAX_BYTES (1u << 20)

static const char domain_json[] = "{\"root\":\"" ROOT "\",\"owner\":\"me\",\"acls\":{},\"created\":1,\"lastModified\":1}";
static const char group_json[]  = "{\"id\":\"" ROOT "\",\"root\":\"" ROOT "\",\"created\":1,\"lastModified\":1,\"links\":{},"
                                  "\"attributes\":{}}";
static const char table_json[]  =
    "{\"id\":\"d-00000001-00000002-0000-000006-abcdef\",\"root\":\"" ROOT "\",\"created\":1,\"lastModified\":1,\"attributes\":{},"
    "\"type\":{\"class\":\"H5T_COMPOUND\",\"fields\":[{\"name\":\"o\",\"type\":\"H5T_STD_I64LE\"},"
    "{\"name\":\"s\",\"type\":\"H5T_STD_I32LE\"}]},\"shape\":{\"class\":\"H5S_SIMPLE\",\"dims\":[4],\"maxdims\":[4]},"
    "\"layout\":{\"class\":\"H5D_CHUNKED\",\"dims\":[4]}}";

static void put_object(struct bkt_store *st, const char *key, const void *p, size_t n)
{
    struct bkt_req q = {.op = BKT_PUT, .key = key, .put = p, .put_len = n};
    (void)bkt_store_perform(st, &q, 1, NULL);
    bkt_req_fini(&q);
}

/* All elements where they are few, else the first and the last of each dimension. */
static void select_some(const struct bkt_space *s, size_t es, struct bkt_sel *sel)
{
    uint64_t n;
    memset(sel, 0, sizeof *sel);
    if (bkt_space_count(s, &n, NULL) < 0 || n == 0)
        return;
    sel->kind    = BKT_SEL_ALL;
    sel->rank    = s->cls == BKT_S_SIMPLE ? s->rank : 0;
    sel->n_elems = n;
    memcpy(sel->dims, s->dims, sizeof sel->dims);
    if (n <= MAX_BYTES / (es + 16))
        return;
    sel->kind    = BKT_SEL_HYPER;
    sel->n_elems = 1;
    for (unsigned d = 0; d < sel->rank; d++) {
        bool two        = d < 4 && sel->dims[d] > 1;
        sel->stride[d]  = two ? sel->dims[d] - 1 : 1;
        sel->count[d]   = two ? 2 : 1;
        sel->block[d]   = 1;
        sel->n_elems *= sel->count[d];
    }
    if (es > MAX_BYTES)
        sel->kind = BKT_SEL_NONE;
}

static void read_some(struct bkt_domain *dom, const struct bkt_object *o)
{
    struct bkt_dsetio *io = NULL;
    struct bkt_sel     sel;
    uint64_t           zero[BKT_MAX_RANK] = {0}, bytes;
    if (bkt_dsetio_open(dom, o, NULL, &io, NULL) < 0)
        return;
    size_t es = bkt_dsetio_elem_size(io);
    select_some(&o->dset.space, es, &sel);
    struct bkt_err        err = {0};
    struct bkt_chunk_info info;
    struct bkt_read       r = {.io = io, .file = &sel, .dst = malloc(es * (size_t)sel.n_elems + 1)};
    if (r.dst && bkt_read_datasets(&r, 1, &err) < 0 && err.n == 0)
        abort(); /* an error without a story */
    bkt_read_fini(&r);
    (void)!bkt_chunk_locate(io, zero, &info, NULL);
    if (sel.n_elems < 1000)
        (void)!bkt_dsetio_storage_size(io, &bytes, NULL, NULL);
    free(r.dst);
    bkt_dsetio_close(io);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t           *cut = memchr(data, 0, size);
    size_t                   n   = cut ? (size_t)(cut - data) : size, n_rest = cut ? size - n - 1 : 0;
    const void              *rest = cut ? cut + 1 : data;
    struct bkt_settings      set;
    struct bkt_store        *st;
    struct bkt_domain       *dom;
    const struct bkt_object *o;
    struct bkt_id            id;
    struct bkt_object       *parsed = NULL;
    if (!bkt_id_set(&id, DSET) || bkt_object_parse(data, n, &id, &parsed, NULL) < 0)
        return 0; /* an open domain would wait and read it again */
    bkt_object_free(parsed);
    if (bkt_settings_init(&set, NULL, NULL) < 0)
        return 0;
    if (bkt_store_open("mem:fuzz", &set, &st, NULL) == BKT_OK) {
        put_object(st, "d.h5/.domain.json", domain_json, sizeof domain_json - 1);
        put_object(st, DB "/.group.json", group_json, sizeof group_json - 1);
        put_object(st, DB "/d/0000-000006-abcdef/.dataset.json", table_json, sizeof table_json - 1);
        put_object(st, DB "/d/0000-000006-abcdef/0", rest, n_rest);
        put_object(st, DB "/d/0000-000005-abcdef/.dataset.json", data, n);
        put_object(st, DB "/d/0000-000005-abcdef/0", rest, n_rest);
        put_object(st, "f", rest, n_rest);
        if (bkt_domain_open("mem:fuzz/d.h5", &set, &dom, NULL) == BKT_OK) {
            if (bkt_domain_get(dom, &id, &o, NULL) == BKT_OK) {
                if (o->kind == BKT_DATASET)
                    read_some(dom, o);
                bkt_object_release(o);
            }
            bkt_domain_close(dom);
        }
        bkt_store_close(st);
    }
    bkt_settings_fini(&set);
    return 0;
}
