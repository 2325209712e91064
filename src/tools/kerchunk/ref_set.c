/* A reference set: its keys, URLs and inline bytes (ref_set.h). */
#include "tools/kerchunk/ref_set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "tools/kerchunk/format/json_doc.h"
#include "tools/kerchunk/format/parquet.h"
#include "tools/kerchunk/zarray.h"
#include "tools/source/hdf5_source.h"
#include "vol/vfd/store_driver.h"

void kerchunk_set_fini(struct kerchunk_set *s)
{
    bkt_buf_fini(&s->bytes);
    free(s->refs);
    bkt_strs_fini(&s->urls);
    bkt_map_free(s->by_url, NULL);
    memset(s, 0, sizeof *s);
}

static int add_bytes(struct kerchunk_set *s, const void *p, size_t n, size_t *at, struct bkt_err *err)
{
    *at = s->bytes.len;
    BKT_FAIL_IF(err, n > KERCHUNK_SET_BYTES - bkt_min_u64(s->bytes.len, KERCHUNK_SET_BYTES), BKT_EFORMAT,
                "its keys and inline data are more than %llu bytes", (unsigned long long)KERCHUNK_SET_BYTES);
    BKT_PASS_MEM(err, bkt_buf_add(&s->bytes, p, n));
    return BKT_OK;
}

static int add(struct kerchunk_set *s, const char *key, size_t key_n, struct kerchunk_ref r,
               struct bkt_err *err)
{
    BKT_FAIL_IF(err, key_n == 0 || key_n > UINT16_MAX || memchr(key, 0, key_n), BKT_EFORMAT,
                "key: it is empty, has a NUL or more than %d bytes", UINT16_MAX);
    BKT_FAIL_IF(err, s->n >= KERCHUNK_SET_REFS, BKT_EFORMAT, "more than %zu references", KERCHUNK_SET_REFS);
    BKT_PASS_MEM(err, bkt_list_room(&s->refs, s->n, &s->cap, sizeof *s->refs));
    r.key_n = (uint32_t)key_n;
    r.order = s->n;
    BKT_PASS(add_bytes(s, key, key_n, &r.key, err));
    s->refs[s->n++] = r;
    return BKT_OK;
}

/* The index of a URL, which is kept once. */
static int url_index(struct kerchunk_set *s, const char *url, size_t n, uint32_t *out, struct bkt_err *err)
{
    BKT_FAIL_IF(err, n == 0 || n > UINT16_MAX || memchr(url, 0, n) || s->urls.n >= KERCHUNK_INLINE - 1,
                BKT_EFORMAT, "a URL that is empty, has a NUL or more than %d bytes", UINT16_MAX);
    size_t place;
    BKT_PASS_MEM(err, bkt_map_place(&s->by_url, &s->urls, url, n, &place));
    *out = (uint32_t)place;
    return BKT_OK;
}

int kerchunk_set_add_url(struct kerchunk_set *s, const char *key, size_t key_n,
                         const struct kerchunk_range *range, struct bkt_err *err)
{
    const uint64_t off = range->off, len = range->len;
    struct kerchunk_ref r = {.off = off, .len = len};
    BKT_FAIL_IF(err,
                off > INT64_MAX || (len == KERCHUNK_WHOLE ? off != 0 : len > INT64_MAX - off || len == 0),
                BKT_EFORMAT, "%.*s: an impossible offset or length", (int)bkt_min_u64(key_n, 200), key);
    BKT_PASS(url_index(s, range->url, range->url_n, &r.url, err));
    return add(s, key, key_n, r, err);
}

int kerchunk_set_add_inline(struct kerchunk_set *s, const char *key, size_t key_n, const void *p, size_t n,
                            struct bkt_err *err)
{
    struct kerchunk_ref r = {.url = KERCHUNK_INLINE, .len = n};
    size_t at;
    BKT_PASS(add_bytes(s, p, n, &at, err));
    r.off = at;
    return add(s, key, key_n, r, err);
}

int kerchunk_set_add_data(struct kerchunk_set *s, const char *key, size_t key_n, const char *text, size_t n,
                          struct bkt_err *err)
{
    static const char mark[] = "base64:";
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf bytes = {0};
    if (n < sizeof mark - 1 || memcmp(text, mark, sizeof mark - 1) != 0)
        return kerchunk_set_add_inline(s, key, key_n, text, n, err);
    int rc = bkt_base64_decode(text + sizeof mark - 1, n - (sizeof mark - 1), &bytes);
    if (rc == BKT_ENOMEM)
        BKT_NOMEM(err);
    BKT_FAIL_IF(err, rc < 0, BKT_EFORMAT, "%.*s: its inline data are not base64",
                (int)bkt_min_u64(key_n, 200), key);
    return kerchunk_set_add_inline(s, key, key_n, bytes.ptr, bytes.len, err);
}

/* ---- by key ---- */

static int compare(const char *a, size_t na, const char *b, size_t nb)
{
    int c = memcmp(a, b, na < nb ? na : nb);
    return c ? c : na < nb ? -1 : na > nb;
}

static int by_key(const void *x, const void *y, void *set)
{
    const struct kerchunk_ref *a = x, *b = y;
    int c = compare(kerchunk_ref_key(set, a), a->key_n, kerchunk_ref_key(set, b), b->key_n);
    return c ? c : a->order < b->order ? -1 : 1;
}

void kerchunk_set_sort(struct kerchunk_set *s)
{
    size_t n = 0;
    if (s->n)
        qsort_r(s->refs, s->n, sizeof *s->refs, by_key, s);
    for (size_t i = 0; i < s->n; i++) {
        const struct kerchunk_ref *r = &s->refs[i], *next = r + 1;
        if (i + 1 == s->n ||
            compare(kerchunk_ref_key(s, r), r->key_n, kerchunk_ref_key(s, next), next->key_n) != 0)
            s->refs[n++] = *r;
    }
    s->n = n;
}

size_t kerchunk_set_lower(const struct kerchunk_set *s, const char *key, size_t n)
{
    size_t low = 0, high = s->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare(kerchunk_ref_key(s, &s->refs[mid]), s->refs[mid].key_n, key, n) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct kerchunk_ref *kerchunk_set_find(const struct kerchunk_set *s, const char *key, size_t n)
{
    size_t i = kerchunk_set_lower(s, key, n);
    return i < s->n && compare(kerchunk_ref_key(s, &s->refs[i]), s->refs[i].key_n, key, n) == 0 ? &s->refs[i]
                                                                                                : NULL;
}

int kerchunk_path_check(const char *path, struct bkt_err *err)
{
    unsigned depth = 0;
    for (const char *p = path; *p; depth++) {
        size_t n = strcspn(p, "/");
        BKT_FAIL_IF(err,
                    n == 0 || (n <= 2 && strncmp(p, "..", n) == 0) || depth >= KERCHUNK_PATH_DEPTH ||
                        (p[n] && !p[n + 1]),
                    BKT_EFORMAT, "\"%.200s\": a path with empty, \".\" or \"..\" components, or more than %d",
                    path, KERCHUNK_PATH_DEPTH);
        p += n + (p[n] == '/');
    }
    return BKT_OK;
}

#define RECORDS_MAX ((uint64_t)1 << 20) /* tables of one array */

enum { COL_PATH, COL_OFFSET, COL_SIZE, COL_RAW, N_COLS };
static const char *const columns[N_COLS] = {"path", "offset", "size", "raw"};

struct table {
    struct kerchunk_set *set;
    const char *folder;
    const struct bkt_settings *settings;
    struct bkt_err *err;
    uint64_t record_size;
    char path[1024]; /* of the array */
    uint64_t grid[BKT_MAX_RANK], n_chunks;
    unsigned rank;
    char separator;
};

/* All bytes of a file by its name with a scheme, at most KERCHUNK_SET_BYTES.  BKT_ENOENT. */
static int read_file(const char *uri, const struct bkt_settings *set, struct bkt_buf *out,
                     struct bkt_err *err)
{
    struct bkt_store *st = NULL;
    BKT_CLEANUP(bkt_freep) char *key = NULL;
    uint64_t size = 0;
    BKT_PASS(bkt_vfd_open_store(uri, set, &st, &key, err));
    int rc = bkt_store_head(st, key, &size, err);
    if (rc == BKT_OK && size > KERCHUNK_SET_BYTES)
        rc = BKT_ERR(err, BKT_EFORMAT, "reference set of %llu bytes: at most %llu are read",
                     (unsigned long long)size, (unsigned long long)KERCHUNK_SET_BYTES);
    if (rc == BKT_OK && size) /* by a range, since the size of objects that others wrote is limited */
        rc = bkt_store_get(st, key, 0, size, out, err);
    bkt_store_close(st);
    return rc;
}

/* ---- one table ---- */

static int key_of(const struct table *t, uint64_t index, struct bkt_buf *out)
{
    bkt_buf_clear(out);
    BKT_PASS(bkt_buf_addf(out, "%s%s", t->path, *t->path ? "/" : ""));
    return kerchunk_chunk_key(t->grid, t->rank, t->separator, index, out);
}

static int take_row(const struct table *t, const struct parquet_table *pq, uint64_t row, uint64_t index,
                    struct bkt_buf *key)
{
    const struct parquet_value *path = &pq->columns[COL_PATH][row];
    const struct parquet_value *raw = pq->columns[COL_RAW] ? &pq->columns[COL_RAW][row] : NULL;
    int64_t off = pq->columns[COL_OFFSET][row].i, len = pq->columns[COL_SIZE][row].i;
    bool inside = raw && !raw->null && raw->n, elsewhere = !path->null && path->n;
    if (!inside && !elsewhere)
        return BKT_OK;
    BKT_PASS_MEM(t->err, key_of(t, index, key));
    if (inside)
        return kerchunk_set_add_inline(t->set, bkt_buf_str(key), key->len, raw->p, raw->n, t->err);
    BKT_FAIL_IF(t->err, off < 0 || len < 0 || (len == 0 && off > 0), BKT_EFORMAT,
                "%s: an impossible offset or length", bkt_buf_str(key));
    struct kerchunk_range range = {(const char *)path->p, path->n, (uint64_t)off,
                                   len ? (uint64_t)len : KERCHUNK_WHOLE};
    return kerchunk_set_add_url(t->set, bkt_buf_str(key), key->len, &range, t->err);
}

static int take_table(const struct table *t, const struct bkt_buf *file, uint64_t first)
{
    BKT_CLEANUP(parquet_table_fini) struct parquet_table pq = {0};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    BKT_PASS(parquet_read(file->ptr, file->len, columns, N_COLS, &pq, t->err));
    for (int i = 0; i < COL_RAW; i++)
        BKT_FAIL_IF(t->err, !pq.columns[i], BKT_EFORMAT, "no column %s", columns[i]);
    for (uint64_t i = 0; i < pq.n_rows && i < t->record_size && first + i < t->n_chunks; i++)
        BKT_PASS(take_row(t, &pq, i, first + i, &key));
    return BKT_OK;
}

static int read_tables(struct table *t)
{
    uint64_t n = bkt_ceil_div(t->n_chunks, t->record_size);
    BKT_FAIL_IF(t->err, n > RECORDS_MAX, BKT_EUNSUP, "%s: more than %" PRIu64 " tables of references",
                t->path, RECORDS_MAX);
    for (uint64_t i = 0; i < n; i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0}, file = {0};
        BKT_PASS_MEM(t->err, bkt_buf_addf(&name, "%s%s%s/refs.%" PRIu64 ".parq", t->folder,
                                          *t->path ? "/" : "", t->path, i));
        int rc = read_file(bkt_buf_str(&name), t->settings, &file, t->err);
        if (rc == BKT_ENOENT) { /* the table has no stored chunk */
            bkt_err_clear(t->err);
            continue;
        }
        rc = rc ? rc : take_table(t, &file, i * t->record_size);
        BKT_FAIL_IF(t->err, rc < 0, rc, "%s", bkt_buf_str(&name));
    }
    return BKT_OK;
}

/* ---- .zmetadata ---- */

/* The array's grid.  A malformed .zarray has no chunks here; zarray.c reports the fault. */
static void take_grid(struct table *t, const struct kerchunk_doc *zarray)
{
    uint64_t dims[BKT_MAX_RANK], chunk[BKT_MAX_RANK];
    unsigned n;
    const char *sep = kerchunk_doc_text(zarray, "dimension_separator");
    t->n_chunks = 0;
    t->separator = sep && *sep == '/' ? '/' : '.';
    if (kerchunk_array_sizes(zarray, "shape", dims, &t->rank, NULL) < 0 ||
        kerchunk_array_sizes(zarray, "chunks", chunk, &n, NULL) < 0 || n != t->rank)
        return;
    uint64_t all = 1;
    for (unsigned d = 0; d < n; d++) {
        t->grid[d] = chunk[d] ? bkt_ceil_div(dims[d], chunk[d]) : 0;
        if (!bkt_mul_u64(all, t->grid[d], &all))
            return;
    }
    t->n_chunks = all;
}

static int take_metadata(struct table *t, const struct kerchunk_doc *d)
{
    static const char zarray[] = ".zarray";
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    size_t n = strlen(d->key), end = sizeof zarray - 1;
    BKT_PASS_MEM(t->err, kerchunk_doc_write(d, &text));
    BKT_PASS(kerchunk_set_add_inline(t->set, d->key, n, text.ptr, text.len, t->err));
    if (n < end || strcmp(d->key + n - end, zarray) != 0 || (n > end && d->key[n - end - 1] != '/'))
        return BKT_OK;
    n -= end + (n > end);
    BKT_FAIL_IF(t->err, n >= sizeof t->path, BKT_EUNSUP, "%.200s: a path of more than %zu bytes", d->key,
                sizeof t->path);
    memcpy(t->path, d->key, n);
    t->path[n] = 0;
    BKT_PASS(kerchunk_path_check(t->path, t->err)); /* it becomes part of a file's name */
    take_grid(t, d);
    return read_tables(t);
}

/* Read the Parquet layout. @p folder: its name with a scheme, without a '/' at the end.  The set is sorted
 * then. */
static int read_parquet(const char *folder, const struct bkt_settings *set, struct kerchunk_set *out,
                        struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0}, json = {0};
    BKT_CLEANUP(kerchunk_doc_freep) struct kerchunk_doc *doc = NULL;
    struct table t = {.set = out, .folder = folder, .settings = set, .err = err};
    BKT_PASS_MEM(err, bkt_buf_addf(&name, "%s/.zmetadata", folder));
    BKT_PASS(read_file(bkt_buf_str(&name), set, &json, err));
    BKT_TRY(err, kerchunk_doc_parse(json.ptr, json.len, &doc, err), ".zmetadata");
    const struct kerchunk_doc *metadata = kerchunk_doc_get(doc, "metadata");
    BKT_FAIL_IF(err, !metadata || metadata->kind != KERCHUNK_OBJECT, BKT_EFORMAT, ".zmetadata: no metadata");
    BKT_FAIL_IF(err,
                !kerchunk_doc_size(kerchunk_doc_get(doc, "record_size"), &t.record_size) ||
                    t.record_size == 0 || t.record_size > PARQUET_ROWS_MAX,
                BKT_EFORMAT, ".zmetadata: record_size is missing or impossible");
    for (const struct kerchunk_doc *d = metadata->first; d; d = d->next)
        BKT_PASS(take_metadata(&t, d));
    kerchunk_set_sort(out);
    return BKT_OK;
}

/* ---- by name ---- */

/* A folder on this machine, or a name with such a folder's ending. */
static bool is_parquet(const char *uri)
{
    static const char *const ends[] = {".parq", ".parquet", "/"};
    struct stat there;
    size_t n = strlen(uri);
    if (strncmp(uri, "file://", 7) == 0)
        return stat(uri + 7, &there) == 0 && S_ISDIR(there.st_mode);
    for (size_t i = 0; i < BKT_COUNT(ends); i++)
        if (n > strlen(ends[i]) && strcmp(uri + n - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

int kerchunk_set_read(const char *name, const struct bkt_settings *set, struct kerchunk_set *out,
                      struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *uri = source_uri(name);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json = {0};
    BKT_NEED(err, uri);
    if (is_parquet(uri)) {
        for (size_t n = strlen(uri); n && uri[n - 1] == '/'; n--)
            uri[n - 1] = 0;
        return read_parquet(uri, set, out, err);
    }
    BKT_PASS(read_file(uri, set, &json, err));
    return kerchunk_set_parse(json.ptr, json.len, out, err);
}
