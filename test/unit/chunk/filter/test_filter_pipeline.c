/* The pipeline around the decoders: order, masks, lengths, plugins, messages. */
#include <zlib.h>

#include "chunk/filter/filters_impl.h"
#include "unit/chunk/filter/filter_testing.h"

#define N 4000

static unsigned char raw[N], chunk[2 * N + 100], got[N];
static size_t        n_chunk;

static void add(struct bkt_pipeline *p, int id, const unsigned *cd, size_t n_cd)
{
    int rc = bkt_pipeline_add(p, id, 0, cd, n_cd, NULL, NULL);
    CHECK(rc == BKT_OK, "adding %d: %d", id, rc);
}

/* The filters that writing applies, in order: s shuffle of 4, d deflate, f fletcher32. */
static void encode(const char *steps)
{
    static unsigned char tmp[sizeof chunk];
    memcpy(chunk, raw, N);
    n_chunk = N;
    for (; *steps; steps++) {
        memcpy(tmp, chunk, n_chunk);
        if (*steps == 's') {
            size_t n = n_chunk / 4;
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < 4; k++)
                    chunk[k * n + i] = tmp[4 * i + k];
        } else if (*steps == 'd') {
            uLongf n = sizeof chunk;
            CHECK(compress2(chunk, &n, tmp, n_chunk, 6) == Z_OK, "compress2");
            n_chunk = n;
        } else {
            bkt_put_le(chunk + n_chunk, 4, bkt_fletcher32_sum(chunk, n_chunk));
            n_chunk += 4;
        }
    }
}

static const struct {
    const char *what, *stored, *listed;
    uint32_t    mask;
    int         want;
} cases[] = {
    {"nothing", "", "", 0, BKT_OK},
    {"one", "d", "d", 0, BKT_OK},
    {"usual", "sd", "sd", 0, BKT_OK},
    {"h5py's order", "sdf", "sdf", 0, BKT_OK},
    {"netCDF's order", "sfd", "sfd", 0, BKT_OK},
    {"checksum alone", "f", "f", 0, BKT_OK},
    {"checksum first", "fsd", "fsd", 0, BKT_OK},
    {"two checksums", "fdf", "fdf", 0, BKT_OK},
    {"twice compressed", "dd", "dd", 0, BKT_OK},
    {"deflate skipped", "s", "sd", 2, BKT_OK},
    {"shuffle skipped", "d", "sd", 1, BKT_OK},
    {"all skipped", "", "sdf", 7, BKT_OK},
    {"bits of filters that are not there", "sd", "sd", 0xfffffffc, BKT_OK},
    {"not skipped", "s", "sd", 0, BKT_EFORMAT},
    {"checksum not listed, last", "sdf", "sd", 0, BKT_OK},
    {"checksum not listed, in the middle", "sfd", "sd", 0, BKT_OK},
    {"checksum not listed, only shuffle", "sf", "s", 0, BKT_OK},
    {"checksum not listed, nothing else", "f", "", 0, BKT_OK},
    {"checksum listed but not there", "sd", "sdf", 0, BKT_EFORMAT},
};

static void run_case(size_t i)
{
    struct bkt_pipeline   p    = {.elem_size = 4};
    struct bkt_err        err  = {0};
    static const unsigned four = 4;
    encode(cases[i].stored);
    for (const char *s = cases[i].listed; *s; s++)
        add(&p, *s == 's' ? BKT_FILTER_SHUFFLE : *s == 'd' ? BKT_FILTER_DEFLATE : BKT_FILTER_FLETCHER32, &four, *s == 's');
    memset(got, 0xee, N);
    int rc = decode_copy(&p, cases[i].mask, chunk, n_chunk, got, N, &err);
    CHECK(rc == cases[i].want, "%s: %d %s", cases[i].what, rc, story(&err));
    CHECK(rc != BKT_OK || memcmp(raw, got, N) == 0, "%s: other bytes", cases[i].what);
    CHECK(rc == BKT_OK || err.n > 0, "%s: no message", cases[i].what);
    bkt_pipeline_fini(&p);
}

/* A plugin in the shape of H5Z_func_t: exclusive or with cd[0], and one byte less. */
static unsigned plugin_flags, plugin_calls;
static size_t   plugin(unsigned flags, size_t n_cd, const unsigned cd[], size_t n_bytes, size_t *buf_size, void **buf)
{
    plugin_flags = flags;
    plugin_calls++;
    if (n_cd != 1 || cd[0] == 99)
        return 0;
    unsigned char *out = malloc(n_bytes), *in = *buf;
    if (!out)
        return 0;
    for (size_t i = 0; i + 1 < n_bytes; i++)
        out[i] = (unsigned char)(in[i] ^ cd[0]);
    free(*buf);
    *buf      = out;
    *buf_size = n_bytes;
    return n_bytes - 1;
}

static void test_plugin(void)
{
    struct bkt_pipeline p   = {.elem_size = 1};
    struct bkt_err      err = {0};
    unsigned            key = 0x5a;
    unsigned char       in[] = {'a' ^ 0x5a, 'b' ^ 0x5a, 0}, out[2];
    int                 rc   = bkt_pipeline_add(&p, 4711, 1, &key, 1, "secret", NULL);
    CHECK(rc == BKT_OK, "%d", rc);
    rc = decode_copy(&p, 0, in, 3, out, 2, &err);
    CHECK(rc == BKT_EUNSUP && strstr(story(&err), "4711") && strstr(story(&err), "secret"), "no plugin: %d %s", rc,
          story(&err));
    bkt_err_clear(&err);
    rc = decode_copy(&p, 1, in, 2, out, 2, &err);
    CHECK(rc == BKT_OK, "not needed when skipped: %d", rc);
    p.f[0].fn = plugin;
    rc        = decode_copy(&p, 0, in, 3, out, 2, &err);
    CHECK(rc == BKT_OK && memcmp(out, "ab", 2) == 0 && plugin_flags == 0x101, "plugin: %d %s, flags %x", rc, story(&err),
          plugin_flags);
    rc = decode_copy(&p, 0, in, 3, out, 1, &err);
    CHECK(rc == BKT_EFORMAT, "plugin gives too much: %d", rc);
    p.f[0].cd[0] = 99;
    bkt_err_clear(&err);
    rc = decode_copy(&p, 0, in, 3, out, 2, &err);
    CHECK(rc == BKT_EFORMAT && strstr(story(&err), "plugin"), "plugin fails: %d %s", rc, story(&err));
    bkt_pipeline_fini(&p);
}

static void test_table(void)
{
    CHECK(bkt_filter_builtin(1) && bkt_filter_builtin(32015) && !bkt_filter_builtin(32013), "builtin");
    CHECK(strcmp(bkt_filter_name(3), "fletcher32") == 0 && !bkt_filter_name(32013), "names");
    struct bkt_pipeline p = {.elem_size = 1};
    int                 rc = BKT_OK;
    for (int i = 0; i < BKT_PIPELINE_MAX; i++)
        add(&p, BKT_FILTER_SHUFFLE, NULL, 0);
    rc = bkt_pipeline_add(&p, 1, 0, NULL, 0, NULL, NULL);
    CHECK(rc == BKT_EFORMAT, "33rd filter: %d", rc);
    bkt_pipeline_fini(&p);
    bkt_pipeline_fini(NULL);
}

static void test_bounds(void)
{
    struct bkt_pipeline p = {.elem_size = 4};
    add(&p, BKT_FILTER_DEFLATE, NULL, 0);
    int rc = bkt_pipeline_decode(&p, 0, NULL, 0, got, N, NULL);
    CHECK(rc == BKT_EFORMAT, "empty chunk: %d", rc);
    encode("sd");
    torture("deflate", &p, chunk, n_chunk, N, 500);
    bkt_pipeline_fini(&p);
    /* a chunk of 64 MiB of zeros where 4000 bytes are wanted */
    size_t         n    = 64 << 20;
    unsigned char *zero = calloc(1, n), *bomb = need(n / 500);
    uLongf         n_bomb = n / 500;
    CHECK(zero && compress2(bomb, &n_bomb, zero, n, 9) == Z_OK, "compress2");
    struct bkt_pipeline q = {.elem_size = 4};
    add(&q, BKT_FILTER_SHUFFLE, NULL, 0);
    add(&q, BKT_FILTER_DEFLATE, NULL, 0);
    struct bkt_err err = {0};
    rc                 = bkt_pipeline_decode(&q, 0, bomb, n_bomb, got, N, &err);
    CHECK(rc == BKT_EFORMAT && strstr(story(&err), "expected"), "bomb: %d %s", rc, story(&err));
    bkt_pipeline_fini(&q);
    free(zero);
    free(bomb);
}

int main(void)
{
    unsigned char *s = sample(N, 4, 3);
    memcpy(raw, s, N);
    free(s);
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        run_case(i);
    test_plugin();
    test_table();
    test_bounds();
    return failures != 0;
}
