/* Odd, missing or wrong data: variable-size elements, initializers, broken layouts and chunks; several
 * datasets at once; single chunks. */
#include <blosc.h>

#include "unit/chunk/read/bucket_in_memory.h"

#define VSTR \
    "{\"class\":\"H5T_STRING\",\"charSet\":\"H5T_CSET_UTF8\",\"length\":\"H5T_VARIABLE\",\"strPad\":\"H5T_STR_NULLTERM\"}"
#define GZIP "\"filters\":[{\"class\":\"H5Z_FILTER_DEFLATE\",\"id\":1,\"name\":\"gzip\"}]"
#define CHUNK0(place) REF("CHUNKED_REF", "edge/small", "\"dims\":[4],\"chunks\":{\"0\":[" place "]}")
#define TABLE_OF(six) \
    REF("CHUNKED_REF_INDIRECT", "edge/small", "\"dims\":[4],\"chunk_table\":\"d-00000001-00000002-0000-" six "-abcdef\"")

/* All frames of an error, for looking into. */
static bool says(const struct bkt_err *err, const char *what)
{
    for (unsigned i = 0; i < err->n; i++)
        if (strstr(err->frame[i].msg, what))
            return true;
    return false;
}

static void report(const struct bkt_err *err)
{
    for (unsigned i = 0; i < err->n; i++)
        fprintf(stderr, "    %s\n", err->frame[i].msg);
}

/* ---- errors ---- */

static const struct {
    const char *what, *type, *layout, *cpl;
    uint64_t    dim;
    const char *chunk;       /* bytes of chunk object 0; NULL: none */
    size_t      n_chunk;
    int         want;
    const char *msg;         /* in one of the frames */
} wrong[] = {
    {"short chunk object", I32, CHUNKED("[4]"), "", 4, "0123456789ab", 12, BKT_EFORMAT, "has 12 bytes instead of 16"},
    {"long chunk object", I32, CHUNKED("[4]"), "", 4, "0123456789abcdef0123456", 23, BKT_EFORMAT, "has 23 bytes instead of 16"},
    {"empty chunk object", I32, CHUNKED("[4]"), "", 4, "", 0, BKT_EFORMAT, "instead of 16"},
    {"names dataset, chunk and key", I32, CHUNKED("[4]"), "", 4, "x", 1, BKT_EFORMAT, "/d/"},
    {"no blosc frame", I32, CHUNKED("[4]"), GZIP, 4,
     "junk", 4, BKT_EFORMAT, "chunk 0"},
    {"blosc frame of a gigabyte", I32, CHUNKED("[4]"), GZIP,
     4, "\x02\x01\x60\x01\0\0\0\x40\0\0\0\x40\x20\0\0\0\1\2\3\4\5\6\7\x08\1\2\3\4\5\6\7\x08", 32, BKT_EFORMAT, "chunk 0"},
    {"variable-size chunk cut off", VSTR, CHUNKED("[2]"), "", 2, "\3\0\0\0abc\5\0\0\0a", 12, BKT_EFORMAT, "element 1"},
    {"variable-size chunk with too few", VSTR, CHUNKED("[1000000]"), "", 2, "\3\0\0\0abc\1\0\0\0a", 12, BKT_EFORMAT, "too few"},
    {"chunks of more than 2^64", I32, CHUNKED("[4611686018427387905]"), "", 4, NULL, 0, BKT_EFORMAT, "4611686018427387905"},
    {"contiguous reference past the end", I32, CHUNKED("[4]"),
     REF("CONTIGUOUS_REF", "edge/small", "\"offset\":90,\"size\":16"), 4, NULL, 0, BKT_EFORMAT,
     "the file has 100 bytes, the reference needs 90..105"},
    {"contiguous reference behind the end", I32, CHUNKED("[4]"),
     REF("CONTIGUOUS_REF", "edge/small", "\"offset\":200,\"size\":16"), 4, NULL, 0, BKT_EFORMAT,
     "200"},
    {"contiguous reference of another size", I32, CHUNKED("[4]"),
     REF("CONTIGUOUS_REF", "edge/small", "\"offset\":0,\"size\":32"), 4, NULL, 0, BKT_EFORMAT,
     "32"},
    {"file that is another by now", I32, CHUNKED("[4]"),
     REF("CONTIGUOUS_REF", "edge/small", "\"offset\":0,\"size\":16,\"file_etag\":\"\\\"old\\\"\""), 4, NULL, 0, BKT_EPRECOND,
     "small"},
    {"file that isn't there", I32, CHUNKED("[4]"),
     REF("CONTIGUOUS_REF", "edge/none", "\"offset\":0,\"size\":16"), 4, NULL, 0, BKT_ENOENT,
     "edge/none"},
    {"file that isn't allowed", I32, CHUNKED("[4]"),
     REF("CONTIGUOUS_REF", "elsewhere/small", "\"offset\":0,\"size\":16"), 4, NULL, 0, BKT_EACCES,
     "allow"},
    {"unfiltered chunk of another size", I32, CHUNKED("[4]"),
     CHUNK0("0,15"), 4, NULL, 0, BKT_EFORMAT,
     "15 bytes"},
    {"filtered chunk of absurd size", I32, CHUNKED("[4]"),
     "\"filters\":[1]," CHUNK0("0,1099511627776"), 4,
     NULL, 0, BKT_EFORMAT, "1099511627776"},
    {"offset that wraps", I32, CHUNKED("[4]"),
     CHUNK0("9223372036854775807,16"), 4,
     NULL, 0, BKT_EFORMAT, "9223372036854775807"},
    {"corrupt deflate stream in a file", I32, CHUNKED("[4]"),
     "\"filters\":[1]," CHUNK0("0,20"), 4,
     NULL, 0, BKT_EFORMAT, "bytes 0+20"},
    {"filter that nobody has", I32, CHUNKED("[4]"),
     "\"filters\":[{\"id\":31999,\"name\":\"magic\"}]," CHUNK0("0,20"),
     4, NULL, 0, BKT_EUNSUP, "magic"},
    {"unknown initializer", I32, CHUNKED("[4]"), "\"initializer\":[\"oracle\"]", 4, NULL, 0, BKT_EUNSUP, "oracle"},
    {"chunk table that is a chunk table's user", I32, CHUNKED("[4]"),
     TABLE_OF("000002"),
     4, NULL, 0, BKT_EFORMAT, "chunk table"},
    {"chunk table that isn't there", I32, CHUNKED("[4]"),
     TABLE_OF("00ffff"),
     4, NULL, 0, BKT_ENOENT, "00ffff"},
    {"chunk table of plain numbers", I32, CHUNKED("[4]"),
     TABLE_OF("000001"),
     4, NULL, 0, BKT_EFORMAT, "offset, size"},
    {"chunk table with a negative size", I32, CHUNKED("[4]"),
     TABLE_OF("000003"),
     4, NULL, 0, BKT_EFORMAT, "negative"},
    {"chunk table whose locations were never found", I32, CHUNKED("[4]"),
     TABLE_OF("000004"),
     4, NULL, 0, BKT_EUNSUP, "locations unknown"},
    {"chunk table with an ETag that nobody has", I32, CHUNKED("[4]"),
     TABLE_OF("000005"),
     4, NULL, 0, BKT_EFORMAT, "ETag of 100 bytes"},
};

#define LOC \
    "{\"class\":\"H5T_COMPOUND\",\"fields\":[{\"name\":\"offset\",\"type\":\"H5T_STD_I64LE\"},{\"name\":\"size\",\"type\":\"H5T_STD_I32LE\"}]}"

#define TEXT(name, n) "{\"name\":\"" name "\",\"type\":{\"class\":\"H5T_STRING\",\"strPad\":\"H5T_STR_NULLPAD\",\"length\":" n "}}"
#define LOC_ETAG                                                                                                       \
    "{\"class\":\"H5T_COMPOUND\",\"fields\":[{\"name\":\"offset\",\"type\":\"H5T_STD_I64LE\"},"                       \
    "{\"name\":\"size\",\"type\":\"H5T_STD_I32LE\"}," TEXT("file_uri", "12") "," TEXT("file_etag", "100") "]}"

static void put_helpers(struct world *w)
{
    char           small[100], row[8 + 4 + 12 + 100] = {0};
    const uint64_t one[] = {1}, four[] = {4};
    char          *key;
    memset(small, 0x42, sizeof small);
    put_object(w, "small", small, sizeof small);
    put_dataset(w, 1, I32, 1, four, CHUNKED("[4]"), "");
    put_dataset(w, 2, LOC, 1, four, CHUNKED("[4]"),
                TABLE_OF("000002"));
    put_dataset(w, 3, LOC, 1, one, CHUNKED("[1]"), "");
    key = chunk_key(3, "0");
    put_object(w, key, "\0\0\0\0\0\0\0\0\xff\xff\xff\xff", 12);
    free(key);
    put_dataset(w, 4, LOC, 1, one, CHUNKED("[1]"), "\"initializer\":[\"chunklocator\",\"--h5path=/x\"]");
    put_dataset(w, 5, LOC_ETAG, 1, one, CHUNKED("[1]"), "");
    row[8] = 16;
    memcpy(row + 12, "edge/small", sizeof "edge/small");
    memset(row + 24, 'e', 100);
    key = chunk_key(5, "0");
    put_object(w, key, row, sizeof row);
    free(key);
}

static void test_wrong(struct world *w)
{
    for (size_t i = 0; i < BKT_COUNT(wrong); i++) {
        unsigned       n   = 100 + (unsigned)i;
        struct bkt_err err = {0};
        int32_t        dst[16];
        put_dataset(w, n, wrong[i].type, 1, &wrong[i].dim, wrong[i].layout, wrong[i].cpl);
        if (wrong[i].chunk) {
            char *key = chunk_key(n, "0");
            put_object(w, key, wrong[i].chunk, wrong[i].n_chunk);
            free(key);
        }
        struct bkt_dsetio *io  = open_io(w, n);
        struct bkt_sel     sel = all_of(1, &wrong[i].dim), none = sel;
        struct bkt_read    r   = {.io = io, .file = &sel, .dst = dst};
        int                rc  = bkt_read_datasets(&r, 1, &err);
        CHECK(rc == wrong[i].want && says(&err, wrong[i].msg), "%s: gave %d (%s), without \"%s\"", wrong[i].what, rc,
              bkt_err_text(rc), wrong[i].msg);
        if (rc != wrong[i].want || !says(&err, wrong[i].msg))
            report(&err);
        bkt_read_fini(&r);
        none.kind = BKT_SEL_NONE, none.n_elems = 0;
        r.file    = &none;
        CHECK(bkt_read_datasets(&r, 1, NULL) == BKT_OK, "%s: nothing selected is no error", wrong[i].what);
        bkt_dsetio_close(io);
    }
}

/* One bad chunk of many fails the read, and the error names it. */
static void test_one_bad_of_many(struct world *w)
{
    const uint64_t dims[] = {400};
    char          *key;
    put_dataset(w, 50, I32, 1, dims, CHUNKED("[2]"), "");
    for (unsigned c = 0; c < 200; c++) {
        char *at = text("%u", c);
        key      = chunk_key(50, at);
        put_object(w, key, "01234567", c == 137 ? 7 : 8);
        free(at);
        free(key);
    }
    struct bkt_dsetio *io  = open_io(w, 50);
    struct bkt_sel     sel = all_of(1, dims);
    int32_t            dst[400];
    struct bkt_err     err = {0};
    struct bkt_read    r   = {.io = io, .file = &sel, .dst = dst};
    CHECK(bkt_read_datasets(&r, 1, &err) == BKT_EFORMAT && says(&err, "chunk 137"), "the bad chunk is named");
    bkt_dsetio_close(io);
}

/* ---- variable-size elements ---- */

static bool slice_is(const struct bkt_slice *s, const char *bytes, size_t n)
{
    return s->n == n && memcmp(s->p, bytes, n) == 0;
}
#define SLICE_IS(s, text) slice_is(&(s), text, sizeof text - 1)

static void test_var(struct world *w, bool compressed)
{
    static const char stored[] = "\2\0\0\0ab\0\0\0\0\3\0\0\0c\0d\0\0\0\0"; /* 3 elements, 4 bytes behind them */
    const uint64_t    dims[]   = {7};
    unsigned          n        = compressed ? 61 : 60;
    unsigned char     frame[200];
    char             *key = chunk_key(n, "1");
    put_dataset(w, n, VSTR, 1, dims, CHUNKED("[3]"),
                compressed ? "\"filters\":[{\"class\":\"H5Z_FILTER_ZSTD\",\"id\":32015,\"name\":\"zstd\"}],\"fillValue\":\"fill\"" : "");
    int len = blosc_compress_ctx(5, 1, 1, sizeof stored - 1, stored, frame, sizeof frame, "zstd", 0, 1);
    put_object(w, key, compressed ? (const void *)frame : stored, compressed ? (size_t)len : sizeof stored - 1);
    free(key);
    struct bkt_dsetio *io = open_io(w, n);
    struct bkt_run     runs[] = {{5, 1}, {3, 2}, {0, 1}, {5, 1}};
    struct bkt_sel     sel = {.kind = BKT_SEL_RUNS, .rank = 1, .dims = {7}, .runs = runs, .n_runs = 4, .n_elems = 5};
    for (int round = 0; round < 3; round++) {
        struct bkt_read r   = {.io = io, .file = &sel};
        struct bkt_err  err = {0};
        uint64_t        before = gets();
        CHECK(bkt_read_datasets(&r, 1, &err) == BKT_OK, "variable-size: %s", story(&err));
        CHECK(gets() - before == (round == 1 ? 0 : 2), "variable-size round %d: %llu GETs", round, (unsigned long long)(gets() - before));
        if (!r.slices)
            break;
        CHECK(SLICE_IS(r.slices[0], "\3\0\0\0c\0d") && SLICE_IS(r.slices[1], "\2\0\0\0ab") &&
                  SLICE_IS(r.slices[2], "\0\0\0\0") &&
                  SLICE_IS(r.slices[4], "\3\0\0\0c\0d"), "round %d: elements", round);
        CHECK(compressed ? SLICE_IS(r.slices[3], "\4\0\0\0fill") : SLICE_IS(r.slices[3], "\0\0\0\0"), "round %d: missing", round);
        if (round == 1) /* a held chunk outlives the cache */
            bkt_chunks_forget_stored(w->dom);
        CHECK(SLICE_IS(r.slices[1], "\2\0\0\0ab"), "slices stay");
        bkt_read_fini(&r);
    }
    CHECK(bkt_dsetio_is_var(io), "is_var");
    bkt_dsetio_close(io);
}

/* A compound with fixed and variable parts, missing: zeros and counts of 0. */
static void test_var_zero(struct world *w)
{
    const uint64_t dims[] = {2};
    put_dataset(w, 62, "{\"class\":\"H5T_COMPOUND\",\"fields\":[{\"name\":\"a\",\"type\":\"H5T_STD_I32LE\"},"
                       "{\"name\":\"s\",\"type\":" VSTR "},{\"name\":\"v\",\"type\":"
                       "{\"class\":\"H5T_VLEN\",\"base\":\"H5T_STD_I32LE\"}}]}", 1, dims, CHUNKED("[2]"), "");
    struct bkt_dsetio *io  = open_io(w, 62);
    struct bkt_sel     sel = all_of(1, dims);
    struct bkt_read    r   = {.io = io, .file = &sel};
    CHECK(bkt_read_datasets(&r, 1, NULL) == BKT_OK && r.slices && SLICE_IS(r.slices[1], "\0\0\0\0\0\0\0\0\0\0\0\0"), "12 zeros");
    bkt_read_fini(&r);
    bkt_dsetio_close(io);
}

/* ---- initializers, scalars, null ---- */

static void test_arange(struct world *w)
{
    const uint64_t  dims[] = {10};
    int64_t         i64[4];
    unsigned char   be[4][4];
    uint16_t        half[3];
    struct bkt_sel  sel = {BKT_SEL_HYPER, 1, {10}, {2}, {2}, {4}, {1}, NULL, 0, 4};
    put_dataset(w, 70, "{\"class\":\"H5T_INTEGER\",\"base\":\"H5T_STD_I64LE\"}", 1, dims, CHUNKED("[3]"),
                "\"initializer\":[\"arange\",\"--start=10\",\"--step=-3\"]");
    struct bkt_dsetio *io = open_io(w, 70);
    struct bkt_read    r  = {.io = io, .file = &sel, .dst = i64};
    CHECK(bkt_read_datasets(&r, 1, NULL) == BKT_OK && i64[0] == 4 && i64[1] == -2 && i64[2] == -8 && i64[3] == -14, "arange of integers");
    bkt_dsetio_close(io);
    put_dataset(w, 71, "{\"class\":\"H5T_FLOAT\",\"base\":\"H5T_IEEE_F32BE\"}", 1, dims, CHUNKED("[3]"),
                "\"initializer\":[\"arange\",\"--start=0.5\",\"--step=0.25\"]");
    io = open_io(w, 71);
    r  = (struct bkt_read){.io = io, .file = &sel, .dst = be};
    CHECK(bkt_read_datasets(&r, 1, NULL) == BKT_OK && !memcmp(be[0], "\x3f\x80\0\0", 4) && !memcmp(be[2], "\x40\0\0\0", 4),
          "arange of big-endian floats");
    bkt_dsetio_close(io);
    put_dataset(w, 72, "{\"class\":\"H5T_FLOAT\",\"base\":\"H5T_IEEE_F16LE\"}", 1, dims, CHUNKED("[3]"),
                "\"initializer\":[\"arange\",\"--start=1\",\"--step=1\"]");
    io          = open_io(w, 72);
    sel.count[0] = 3, sel.n_elems = 3;
    r           = (struct bkt_read){.io = io, .file = &sel, .dst = half};
    struct bkt_err err = {0};
    int rc = bkt_read_datasets(&r, 1, &err);
    CHECK(rc == BKT_OK && half[0] == 0x4200 && half[1] == 0x4500 && half[2] == 0x4700, "arange of halves: %s", story(&err));
    bkt_dsetio_close(io);
}

static void test_scalar(struct world *w)
{
    int32_t v = 0;
    char   *key = chunk_key(75, "0");
    put_dataset(w, 75, I32, 0, NULL, CHUNKED("[1]"), "");
    put_object(w, key, "\x2a\0\0\0", 4);
    free(key);
    struct bkt_dsetio *io  = open_io(w, 75);
    struct bkt_sel     sel = {.kind = BKT_SEL_ALL, .n_elems = 1};
    struct bkt_read    r   = {.io = io, .file = &sel, .dst = &v};
    CHECK(bkt_read_datasets(&r, 1, NULL) == BKT_OK && v == 42, "scalar: %d", v);
    CHECK(bkt_dsetio_elem_size(io) == 4, "element size");
    bkt_dsetio_close(io);
}

static int take_mask(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    (void)coord;
    *(uint32_t *)arg = info->filter_mask;
    return BKT_OK;
}

/* fletcher32 in the list, but the reference leaves the checksum out (or has it, and the list doesn't): both
 * are read.  And a chunk that a filter was left out of. */
static void test_checksum(struct world *w)
{
    static const struct {
        const char *filters, *more;
        unsigned    size;
        int         want;
        uint32_t    mask;
    } cases[] = {{"3", "", 16, BKT_OK, 1}, {"2,3", "", 16, BKT_OK, 2}, {"3", "", 20, BKT_EFORMAT, 0}, {"", "", 20, BKT_OK, 0},
                 {"1", ",1", 16, BKT_OK, 1}, {"2,1", ",2", 16, BKT_OK, 2}};
    const uint64_t dims[] = {4};
    for (unsigned i = 0; i < BKT_COUNT(cases); i++) {
        char   *cpl = text("\"filters\":[%s],\"layout\":{\"class\":\"H5D_CHUNKED_REF\",\"file_uri\":\"edge/small\",\"dims\":[4],"
                           "\"chunks\":{\"0\":[0,%u%s]}}", cases[i].filters, cases[i].size, cases[i].more);
        int32_t dst[4] = {0};
        put_dataset(w, 80 + i, I32, 1, dims, CHUNKED("[4]"), cpl);
        struct bkt_dsetio *io  = open_io(w, 80 + i);
        struct bkt_sel     sel = all_of(1, dims);
        struct bkt_read    r   = {.io = io, .file = &sel, .dst = dst};
        int                rc  = bkt_read_datasets(&r, 1, NULL);
        CHECK(rc == cases[i].want && (rc < 0 || dst[3] == 0x42424242), "filters [%s], %u bytes: %d", cases[i].filters, cases[i].size, rc);
        const uint64_t        zero[1] = {0};
        uint32_t              mask    = 99;
        struct bkt_chunk_info info;
        CHECK(bkt_chunk_locate(io, zero, &info, NULL) == BKT_OK && info.filter_mask == cases[i].mask, "filters [%s]: located with mask %u",
              cases[i].filters, (unsigned)info.filter_mask);
        CHECK(bkt_chunk_iter(io, take_mask, &mask, NULL) == BKT_OK && mask == cases[i].mask, "filters [%s]: listed with mask %u",
              cases[i].filters, (unsigned)mask);
        bkt_dsetio_close(io);
        free(cpl);
    }
}

/* Several datasets in one plan. */
static void test_multi(struct world *w)
{
    enum { N = 5 };
    struct array     a[N];
    struct bkt_read  r[N];
    struct bkt_sel   sel[N];
    uint32_t         seed = 9;
    int32_t          dst[N][600];
    memset(r, 0, sizeof r);
    for (unsigned i = 0; i < N; i++) {
        a[i] = (struct array){.n = 300 + 2 * i, .way = (enum way[]){OBJECTS, TABLE, CHUNKS_ZLIB, TABLE_URI, CONTIGUOUS}[i], .rank = 2,
                              .dims = {20, 30}, .cdims = {7, 11}};
        array_put(w, &a[i], "edge", 3, &seed);
        r[i].io  = open_io(w, a[i].n);
        sel[i]   = all_of(2, a[i].dims);
        r[i].file = &sel[i];
        r[i].dst  = dst[i];
    }
    struct bkt_err err = {0};
    CHECK(bkt_read_datasets(r, N, &err) == BKT_OK, "several at once: %s", story(&err));
    for (unsigned i = 0; i < N; i++) {
        CHECK(!memcmp(dst[i], a[i].v, sizeof dst[i]), "dataset %u of several", i);
        bkt_read_fini(&r[i]);
        bkt_dsetio_close(r[i].io);
        array_free(&a[i]);
    }
}

/* ---- single chunks ---- */

struct seen {
    const struct array *a;
    uint64_t            n, bytes, last;
};

static int on_chunk(const uint64_t *coord, const struct bkt_chunk_info *info, void *arg)
{
    struct seen *s = arg;
    uint64_t     c = 0;
    for (unsigned d = 0; d < s->a->rank; d++)
        c = c * s->a->grid[d] + coord[d];
    CHECK(s->a->stored[c] && info->exists, "chunk %llu", (unsigned long long)c);
    CHECK(s->n == 0 || c > s->last, "in grid order");
    s->last = c;
    s->bytes += info->size;
    s->n++;
    return BKT_OK;
}

static void test_single(struct world *w)
{
    for (int way = 0; way < N_WAYS; way++) {
        uint32_t     seed = 77;
        struct array a    = {.n = 400 + 2 * (unsigned)way, .way = (enum way)way, .rank = 2, .dims = {30, 40}, .cdims = {7, 9}};
        array_put(w, &a, "edge", way == CONTIGUOUS ? 0 : 3, &seed);
        struct bkt_dsetio *io = open_io(w, a.n);
        struct seen        s  = {.a = &a};
        struct bkt_err     err = {0};
        uint64_t           stored = 0, bytes = 0, n = 0;
        for (uint64_t c = 0; c < a.n_chunks; c++)
            stored += a.stored[c];
        CHECK(bkt_chunk_iter(io, on_chunk, &s, &err) == BKT_OK && s.n == stored, "way %d: %llu of %llu chunks: %s", way,
              (unsigned long long)s.n, (unsigned long long)stored, story(&err));
        CHECK(bkt_dsetio_storage_size(io, &bytes, &n, NULL) == BKT_OK && bytes == s.bytes && n == stored, "way %d: size", way);
        for (uint64_t c = 0; c < a.n_chunks; c++) {
            uint64_t              coord[2] = {c / a.grid[1], c % a.grid[1]};
            struct bkt_chunk_info info;
            struct bkt_buf        raw = {0};
            uint32_t              mask;
            CHECK(bkt_chunk_locate(io, coord, &info, NULL) == BKT_OK && info.exists == (a.stored[c] != 0), "way %d: locate", way);
            int rc = bkt_chunk_read_raw(io, coord, &raw, &mask, NULL);
            CHECK(rc == (a.stored[c] ? BKT_OK : BKT_ENOENT) && (rc < 0 || raw.len == info.size), "way %d: raw gives %d", way, rc);
            bkt_buf_fini(&raw);
        }
        const uint64_t outside[2] = {99, 0};
        struct bkt_chunk_info info;
        CHECK(bkt_chunk_locate(io, outside, &info, NULL) == BKT_EINVAL, "way %d: outside", way);
        bkt_dsetio_close(io);
        array_free(&a);
    }
}

/* A piece that exceeds the cache keeps nothing there, but uses the entries that it finds. */
static void test_piece(struct world *w)
{
    static const struct {
        const char *what;
        uint64_t    of;
        bool        asks;
    } reads[] = {{"the first", 0, true}, {"what is cached", 0, false}, {"a piece of what fits", 900, false},
                 {"a piece of more", UINT64_C(1) << 40, false}, {"the same piece", UINT64_C(1) << 40, true}, {"the last", 0, true}};
    for (int way = 0; way < N_WAYS; way++) {
        uint32_t     seed = 78;
        struct array a    = {.n = 340 + 2 * (unsigned)way, .way = (enum way)way, .rank = 2, .dims = {30, 30}, .cdims = {10, 30}};
        int32_t      dst[900];
        array_put(w, &a, "edge", 4, &seed);
        struct bkt_dsetio *io = open_io(w, a.n);
        for (size_t i = 0; i < BKT_COUNT(reads); i++) {
            struct bkt_err  err    = {0};
            struct bkt_sel  sel    = {.kind = BKT_SEL_ALL, .rank = 2, .dims = {30, 30}, .n_elems = 900};
            struct bkt_read r      = {.io = io, .file = &sel, .dst = dst, .of = reads[i].of};
            uint64_t        before = gets();
            memset(dst, 0x11, sizeof dst);
            int rc = bkt_read_datasets(&r, 1, &err);
            CHECK(rc == BKT_OK && !memcmp(dst, a.v, sizeof dst), "way %d, %s: %d %s", way, reads[i].what, rc, story(&err));
            CHECK((gets() > before) == reads[i].asks, "way %d, %s: %llu GETs", way, reads[i].what,
                  (unsigned long long)(gets() - before));
        }
        bkt_dsetio_close(io);
        array_free(&a);
    }
}

int main(void)
{
    struct world w;
    world_open(&w, "edge", "test.part_size=1M;test.merge_gap=1K");
    put_helpers(&w);
    test_wrong(&w);
    test_one_bad_of_many(&w);
    test_var(&w, false);
    test_var(&w, true);
    test_var_zero(&w);
    test_arange(&w);
    test_scalar(&w);
    test_checksum(&w);
    test_multi(&w);
    test_single(&w);
    test_piece(&w);
    world_close(&w);
    return failures != 0;
}
