/* h5bucket sample put REPOSITORY FILE...: samples from .npy or raw files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "samples/numpy_type.h"
#include "tools/cli/interrupt.h"
#include "tools/samples/npy.h"
#include "tools/samples/sample.h"
#include "tools/samples/sample_choice.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"

struct put {
    struct sample_tool            *s;
    struct h5bucket_samples_schema schema;   /* type: native, H5I_INVALID_HID at first */
    bool                           rows, has_shape;
    int                            rank;     /* of --shape */
    hsize_t                        shape[H5S_MAX_RANK];
    hid_t                          raw;      /* --type; < 0: .npy files */
    h5bucket_samples              *samples;
};
/* A FILE: `n` samples of the same shape. */
struct input {
    struct bkt_buf bytes;
    struct npy     a;
    size_t         n, size; /* bytes of a sample */
    int            rank;
    const hsize_t *shape;
};

static void input_fini(struct input *in)
{
    bkt_buf_fini(&in->bytes);
    bkt_hid_closep(&in->a.type);
}

/* ---- options ---- */

static bool parse_shape(struct put *p, const char *text)
{
    for (char *end; *text; text = end) {
        p->shape[p->rank] = strtoull(text, &end, 10);
        if (end == text || *text < '0' || *text > '9' || p->shape[p->rank] > INT64_MAX ||
            ++p->rank == H5S_MAX_RANK)
            return false;
        if (*end && !strchr(",x", *end++))
            return false;
    }
    return true;
}

static bool read_options(struct put *p)
{
    struct bkt_tool *t = p->s->t;
    const char *type = bkt_tool_opt(t, "type"), *shape = bkt_tool_opt(t, "shape"),
               *backend = bkt_tool_opt(t, "backend");
    uint64_t    level = 5;
    p->rows              = bkt_tool_has(t, "rows") > 0;
    p->has_shape         = shape != NULL;
    p->schema.variable   = bkt_tool_has(t, "variable") > 0;
    p->schema.backend    = backend && strcmp(backend, "01") == 0;
    p->schema.complib    = bkt_tool_opt(t, "complib");
    p->schema.shuffle    = bkt_tool_opt(t, "shuffle");
    if (!bkt_tool_number(t, "complevel", 0, 9, &level))
        return false;
    p->schema.complevel = (int)level;
    if ((shape && !parse_shape(p, shape)) || (type && (p->raw = npy_type(type)) < 0)) {
        (void)bkt_tool_usage(
            t, "put: --shape takes numbers, as in 28,28, and --type a number's type, as in u1 or f4");
        return false;
    }
    if (type && !shape) {
        (void)bkt_tool_usage(t, "put: raw files need --type and --shape");
        return false;
    }
    return true;
}

/* ---- files ---- */

static int take_raw(const struct put *p, struct input *in, struct bkt_err *err)
{
    size_t size = H5Tget_size(p->raw);
    for (int i = 0; i < p->rank; i++)
        BKT_FAIL_IF(err, !bkt_mul_size(size, p->shape[i], &size), BKT_EINVAL, "the shape is too large");
    in->n    = p->rows && size ? in->bytes.len / size : 1;
    in->size = size;
    BKT_FAIL_IF(err, in->n * size != in->bytes.len, BKT_EINVAL, "%zu bytes; %s of the shape has %zu",
                in->bytes.len, p->rows ? "each row" : "a sample", size);
    in->a.type = H5Tcopy(p->raw);
    in->rank   = p->rank;
    in->shape  = p->shape;
    return BKT_OK;
}

static int take_npy(const struct put *p, struct input *in, struct bkt_err *err)
{
    int skip = p->rows ? 1 : 0;
    BKT_PASS(npy_parse(&in->bytes, &in->a, err));
    BKT_FAIL_IF(err, in->a.rank < skip, BKT_EINVAL, "a scalar has no rows");
    in->rank  = in->a.rank - skip;
    in->shape = in->a.shape + skip;
    in->size  = in->a.elem;
    for (int i = 0; i < in->rank; i++)
        BKT_FAIL_IF(err, !bkt_mul_size(in->size, in->shape[i], &in->size), BKT_EINVAL,
                    "the shape is too large");
    in->n = skip ? in->a.shape[0] : 1;
    return BKT_OK;
}

/* To the order of bytes of this machine. */
static int to_native(struct input *in, hid_t native, struct bkt_err *err)
{
    size_t n = in->a.elem ? in->a.bytes / in->a.elem : 0;
    if (n && H5Tequal(in->a.type, native) <= 0 &&
        H5Tconvert(in->a.type, native, n, in->bytes.ptr + in->a.at, NULL, H5P_DEFAULT) < 0)
        return h5_fail(err, "converting elements");
    return BKT_OK;
}

static int load(const struct put *p, const char *name, struct input *in, struct bkt_err *err)
{
    memset(in, 0, sizeof *in);
    in->a.type = H5I_INVALID_HID;
    BKT_PASS(sample_file(name, &in->bytes, err));
    BKT_TRY(err, p->raw >= 0 ? take_raw(p, in, err) : take_npy(p, in, err), "%s", name);
    return BKT_OK;
}

/* ---- the schema ---- */

static int first_type(struct put *p, const struct input *in, struct bkt_err *err)
{
    p->schema.type = bkt_numpy_type(bkt_numpy_number(in->a.type));
    p->schema.rank = p->has_shape ? p->rank : in->rank;
    memcpy(p->schema.shape, p->has_shape ? p->shape : in->shape, (size_t)p->schema.rank * sizeof(hsize_t));
    return p->schema.type < 0 ? h5_fail(err, "making a type") : BKT_OK;
}

static int add_to_schema(struct put *p, const struct input *in, struct bkt_err *err)
{
    if (p->schema.type < 0)
        BKT_PASS(first_type(p, in, err));
    BKT_FAIL_IF(err, bkt_numpy_number(in->a.type) != bkt_numpy_number(p->schema.type), BKT_EINVAL,
                "its elements have another type than those of the first file");
    bool fits = in->rank == p->schema.rank;
    for (int i = 0; fits && i < in->rank; i++) {
        if (p->schema.variable && !p->has_shape)
            p->schema.shape[i] = bkt_max_u64(p->schema.shape[i], in->shape[i]);
        fits = p->schema.variable ? in->shape[i] <= p->schema.shape[i] : in->shape[i] == p->schema.shape[i];
    }
    BKT_FAIL_IF(err, !fits, BKT_EINVAL,
                "its samples have another shape than %s; --variable allows smaller ones",
                p->has_shape ? "--shape" : "those of the first file");
    return BKT_OK;
}

static int find_schema(struct put *p, struct bkt_err *err)
{
    for (int i = 0; i < p->s->n_args; i++) {
        BKT_CLEANUP(input_fini) struct input in;
        BKT_PASS(load(p, p->s->args[i], &in, err));
        BKT_TRY(err, add_to_schema(p, &in, err), "%s", p->s->args[i]);
    }
    return BKT_OK;
}

/* ---- writing ---- */

static int append(struct put *p, const struct input *in, char (*records)[H5BUCKET_RECORD_MAX],
                  struct bkt_err *err)
{
    const unsigned char *at = in->bytes.ptr ? in->bytes.ptr + in->a.at : (const unsigned char *)"";
    for (size_t i = 0; i < in->n; i++) {
        BKT_PASS(interrupt_check(err));
        if (h5bucket_samples_append(p->samples, at + i * in->size, in->shape, records[i]) < 0)
            return h5_fail(err, "appending a sample");
    }
    return h5bucket_samples_flush(p->samples) < 0 ? h5_fail(err, "storing samples") : BKT_OK;
}

/* Records are printed once their samples are stored. */
static int put_file(struct put *p, const char *name, struct bkt_err *err)
{
    BKT_CLEANUP(input_fini) struct input in;
    BKT_PASS(load(p, name, &in, err));
    BKT_PASS(to_native(&in, p->schema.type, err));
    BKT_CLEANUP(bkt_freep) char(*records)[H5BUCKET_RECORD_MAX] = calloc(in.n + 1, sizeof *records);
    BKT_NEED(err, records);
    BKT_TRY(err, append(p, &in, records, err), "%s", name);
    for (size_t i = 0; i < in.n; i++)
        printf("%s\n", records[i]);
    (void)fflush(stdout);
    return BKT_OK;
}

static int put_all(struct put *p, struct bkt_err *err)
{
    BKT_PASS(find_schema(p, err));
    p->samples = h5bucket_samples_open(p->s->repo, &p->schema);
    if (!p->samples)
        return h5_fail(err, "beginning to write samples");
    int rc = BKT_OK;
    for (int i = 0; i < p->s->n_args && rc == BKT_OK; i++)
        rc = put_file(p, p->s->args[i], err);
    if (h5bucket_samples_close(p->samples) < 0 && rc == BKT_OK)
        rc = h5_fail(err, "storing the last file");
    return rc;
}

int sample_put(struct sample_tool *s)
{
    struct put p = {.s = s, .raw = H5I_INVALID_HID, .schema = {.type = H5I_INVALID_HID}};
    if (!s->n_args)
        return bkt_tool_usage(s->t, "put: no file is named");
    int rc = read_options(&p) ? put_all(&p, &s->t->err) : BKT_EXIT_USAGE;
    bkt_hid_closep(&p.schema.type);
    bkt_hid_closep(&p.raw);
    return rc;
}
