/* See zarray.h. */
#include "tools/kerchunk/zarray.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/num.h"

void kerchunk_array_fini(struct kerchunk_array *a)
{
    free(a->path);
    kerchunk_type_fini(&a->type);
    bkt_buf_fini(&a->fill);
    free(a->chunks);
    memset(a, 0, sizeof *a);
    a->type.h5 = H5I_INVALID_HID;
}

int kerchunk_array_sizes(const struct kerchunk_doc *zarray, const char *what, uint64_t out[BKT_MAX_RANK],
                         unsigned *n, struct bkt_err *err)
{
    const struct kerchunk_doc *d = kerchunk_doc_get(zarray, what);
    *n = 0;
    BKT_FAIL_IF(err, !d || d->kind != KERCHUNK_LIST, BKT_EFORMAT, "%s: missing, or not a list", what);
    BKT_FAIL_IF(err, d->n > BKT_MAX_RANK, BKT_EUNSUP, "%s: %zu dimensions; HDF5 has at most %d", what, d->n,
                BKT_MAX_RANK);
    for (const struct kerchunk_doc *v = d->first; v; v = v->next, (*n)++)
        BKT_FAIL_IF(err, !kerchunk_doc_size(v, &out[*n]) || out[*n] > INT64_MAX, BKT_EFORMAT,
                    "%s: a size that is not a whole number", what);
    return BKT_OK;
}

static int parse_shape(struct kerchunk_array *a, const struct kerchunk_doc *d, struct bkt_err *err)
{
    unsigned n;
    uint64_t all = 1;
    BKT_PASS(kerchunk_array_sizes(d, "shape", a->dims, &a->rank, err));
    BKT_PASS(kerchunk_array_sizes(d, "chunks", a->chunk, &n, err));
    BKT_FAIL_IF(err, n != a->rank, BKT_EFORMAT, "chunks: %u dimensions, shape has %u", n, a->rank);
    a->chunk_elements = 1;
    for (unsigned i = 0; i < n; i++) {
        if (a->chunk[i] == 0 && a->dims[i] == 0)
            a->chunk[i] = 1;
        BKT_FAIL_IF(err, a->chunk[i] == 0, BKT_EFORMAT, "chunks: a size of 0");
        a->grid[i] = bkt_ceil_div(a->dims[i], a->chunk[i]);
        BKT_FAIL_IF(err,
                    !bkt_mul_u64(all, a->grid[i] ? a->grid[i] : 1, &all) || all > INT64_MAX ||
                        !bkt_mul_u64(a->chunk_elements, a->chunk[i], &a->chunk_elements),
                    BKT_EFORMAT, "shape and chunks: more than 2^63 chunks or elements");
    }
    return BKT_OK;
}

static int parse_order(struct kerchunk_array *a, const struct kerchunk_doc *d, struct bkt_err *err)
{
    const char *order = kerchunk_doc_text(d, "order"), *sep = kerchunk_doc_text(d, "dimension_separator");
    unsigned wide = 0;
    BKT_FAIL_IF(err, !order || (strcmp(order, "C") != 0 && strcmp(order, "F") != 0), BKT_EFORMAT,
                "order: neither C nor F");
    BKT_FAIL_IF(err, sep && strcmp(sep, ".") != 0 && strcmp(sep, "/") != 0, BKT_EFORMAT,
                "dimension_separator: neither . nor /");
    a->separator = sep ? *sep : '.';
    for (unsigned i = 0; i < a->rank; i++)
        wide += a->chunk[i] > 1;
    a->column_order = *order == 'F' && wide > 1;
    return BKT_OK;
}

static int parse_all(struct kerchunk_array *a, const struct kerchunk_doc *d, struct bkt_err *err)
{
    uint64_t format, bytes;
    BKT_FAIL_IF(err,
                d->kind != KERCHUNK_OBJECT || !kerchunk_doc_size(kerchunk_doc_get(d, "zarr_format"), &format),
                BKT_EFORMAT, "zarr_format: missing");
    BKT_FAIL_IF(err, format != 2, BKT_EUNSUP, "zarr_format %llu; reference sets have version 2",
                (unsigned long long)format);
    BKT_PASS(parse_shape(a, d, err));
    BKT_PASS(parse_order(a, d, err));
    BKT_PASS(kerchunk_type_parse(kerchunk_doc_get(d, "dtype"), &a->type, err));
    BKT_PASS(kerchunk_codecs_parse(kerchunk_doc_get(d, "filters"), kerchunk_doc_get(d, "compressor"),
                                   &a->codecs, err));
    BKT_FAIL_IF(err, a->codecs.vlen_utf8 != (a->type.form == KERCHUNK_VLEN_UTF8), BKT_EUNSUP,
                "dtype |O needs the codec vlen-utf8, and no other dtype has it");
    a->whole = a->codecs.n == 0;
    for (unsigned i = 0; i < a->rank; i++)
        a->whole = a->whole && a->chunk[i] == a->dims[i];
    BKT_FAIL_IF(err,
                !bkt_mul_u64(a->chunk_elements, bkt_max_u64(a->type.size, 4), &bytes) ||
                    (bytes > UINT32_MAX && !a->whole),
                BKT_EUNSUP, "chunks: a chunk of more than 4 GiB, which HDF5 doesn't have");
    return kerchunk_type_fill(&a->type, kerchunk_doc_get(d, "fill_value"), &a->fill, err);
}

int kerchunk_array_parse(const char *path, const void *json, size_t n, struct kerchunk_array *out,
                         struct bkt_err *err)
{
    BKT_CLEANUP(kerchunk_doc_freep) struct kerchunk_doc *d = NULL;
    *out = (struct kerchunk_array){.type.h5 = H5I_INVALID_HID};
    out->path = strdup(path);
    BKT_NEED(err, out->path);
    BKT_TRY(err, kerchunk_doc_parse(json, n, &d, err), ".zarray");
    BKT_PASS(parse_all(out, d, err));
    return BKT_OK;
}

/* ---- chunks ---- */

int kerchunk_chunk_key(const uint64_t *grid, unsigned rank, char separator, uint64_t index,
                       struct bkt_buf *out)
{
    uint64_t at[BKT_MAX_RANK];
    for (unsigned d = rank; d-- > 0; index /= grid[d])
        at[d] = index % grid[d];
    for (unsigned d = 0; d < rank; d++)
        BKT_PASS(d ? bkt_buf_addf(out, "%c%" PRIu64, separator, at[d])
                   : bkt_buf_addf(out, "%" PRIu64, at[d]));
    return rank ? BKT_OK : bkt_buf_add_str(out, "0");
}

/* The index that a key's end names; false: not a chunk of this grid. */
static bool index_of(const struct kerchunk_array *a, const char *p, size_t n, uint64_t *out)
{
    const char *end = p + n;
    *out = 0;
    if (a->rank == 0)
        return n == 1 && *p == '0';
    for (unsigned i = 0; i < a->rank; i++) {
        uint64_t v = 0;
        const char *start = p;
        for (; p < end && isdigit((unsigned char)*p); p++)
            if (!bkt_mul_u64(v, 10, &v) || !bkt_add_u64(v, (uint64_t)(*p - '0'), &v))
                return false;
        if (p == start || (*start == '0' && p - start > 1) || v >= a->grid[i])
            return false;
        *out = *out * a->grid[i] + v;
        if (i + 1 < a->rank && (p >= end || *p++ != a->separator))
            return false;
    }
    return p == end;
}

int kerchunk_array_find_chunks(struct kerchunk_array *a, const struct kerchunk_set *set, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf prefix = {0};
    size_t cap = 0;
    BKT_PASS_MEM(err, bkt_buf_addf(&prefix, "%s%s", a->path, *a->path ? "/" : ""));
    for (size_t i = kerchunk_set_lower(set, bkt_buf_str(&prefix), prefix.len); i < set->n; i++) {
        const struct kerchunk_ref *r = &set->refs[i];
        const char *key = kerchunk_ref_key(set, r);
        struct kerchunk_chunk c = {.ref = i};
        if (r->key_n < prefix.len || memcmp(key, bkt_buf_str(&prefix), prefix.len) != 0)
            break;
        if (r->key_n > prefix.len && key[prefix.len] == '.')
            continue; /* .zarray, .zattrs */
        BKT_FAIL_IF(err, !index_of(a, key + prefix.len, r->key_n - prefix.len, &c.index), BKT_EFORMAT,
                    "%.*s is not a chunk of its grid", (int)bkt_min_u64(r->key_n, 200), key);
        BKT_PASS_MEM(err, bkt_list_room(&a->chunks, a->n_chunks, &cap, sizeof *a->chunks));
        a->chunks[a->n_chunks++] = c;
    }
    if (a->n_chunks)
        qsort(a->chunks, a->n_chunks, sizeof *a->chunks, bkt_by_u64);
    return BKT_OK;
}

const char *kerchunk_array_differs(const struct kerchunk_array *a)
{
    static const char *const forms[] = {[KERCHUNK_AS_IS] = NULL,
                                        [KERCHUNK_UTF32] = "text of 4 bytes a character",
                                        [KERCHUNK_VLEN_UTF8] = "codec vlen-utf8"};
    if (forms[a->type.form])
        return forms[a->type.form];
    if (a->column_order)
        return "order F";
    return kerchunk_codecs_differ(&a->codecs, a->type.size);
}
