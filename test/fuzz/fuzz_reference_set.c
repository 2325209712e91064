/* kerchunk's reference sets: the first byte chooses a set's JSON ('j'), an array's .zarray ('z'), a Parquet
 * table ('p'), or a chunk of lz4 ('l'). */
#include <stdlib.h>
#include <string.h>

#include "tools/kerchunk/format/parquet.h"
#include "tools/kerchunk/zarray.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set(const uint8_t *p, size_t n)
{
    struct kerchunk_set s = {.n = 0};
    if (kerchunk_set_parse(p, n, &s, NULL) == BKT_OK)
        for (size_t i = 0; i < s.n; i++) {
            const struct kerchunk_ref *r = &s.refs[i];
            if (kerchunk_set_find(&s, kerchunk_ref_key(&s, r), r->key_n) != r)
                abort();
            if (r->url == KERCHUNK_INLINE ? r->len > s.bytes.len - r->off : r->url >= s.urls.n)
                abort();
        }
    kerchunk_set_fini(&s);
}

static void array(const uint8_t *p, size_t n)
{
    struct kerchunk_array a;
    struct kerchunk_set none = {.n = 0};
    if (kerchunk_array_parse("a", p, n, &a, NULL) == BKT_OK) {
        if (a.rank > BKT_MAX_RANK || a.type.h5 < 0 || (a.fill.len && a.fill.len != H5Tget_size(a.type.h5)))
            abort();
        if (kerchunk_array_find_chunks(&a, &none, NULL) != BKT_OK || a.n_chunks)
            abort();
    }
    kerchunk_array_fini(&a);
}

static void table(const uint8_t *p, size_t n)
{
    static const char *const names[] = {"path", "offset", "size", "raw"};
    struct parquet_table t;
    unsigned sum = 0;
    if (parquet_read(p, n, names, BKT_COUNT(names), &t, NULL) == BKT_OK)
        for (size_t c = 0; c < BKT_COUNT(names); c++)
            for (uint64_t i = 0; t.columns[c] && i < t.n_rows; i++)
                for (size_t k = 0; !t.columns[c][i].null && t.columns[c][i].p && k < t.columns[c][i].n; k++)
                    sum += t.columns[c][i].p[k]; /* all of it can be read */
    if (sum == 1)
        (void)setenv("BKT_FUZZ_SEEN", "1", 1);
    parquet_table_fini(&t);
}

static void chunk(const uint8_t *p, size_t n)
{
    static const char doc[] = "{\"id\": \"lz4\"}";
    struct kerchunk_doc *d = NULL;
    struct kerchunk_codecs c;
    struct bkt_buf out = {0};
    if (kerchunk_doc_parse(doc, strlen(doc), &d, NULL) != BKT_OK ||
        kerchunk_codecs_parse(NULL, d, &c, NULL) != BKT_OK)
        abort();
    if (kerchunk_codecs_decode(&c, p, n, 4096, &out, NULL) == BKT_OK && out.len > 4096 + 64)
        abort();
    bkt_buf_fini(&out);
    kerchunk_doc_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        uint8_t kind;
        void (*run)(const uint8_t *p, size_t n);
    } kinds[] = {{'j', set}, {'z', array}, {'p', table}, {'l', chunk}};
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (size_t i = 0; size && i < BKT_COUNT(kinds); i++)
        if (kinds[i].kind == data[0])
            kinds[i].run(data + 1, size - 1);
    return 0;
}
