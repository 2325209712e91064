/* Creation properties of datasets: JSON -> model.  Filters in every spelling that HSDS, h5pyd and the REST VOL store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "parse.h"

/* id, class, names; the first name is the usual one.  Ids as HDF5 registered them, and HSDS's own two. */
static const struct filter_row {
    int         id;
    const char *cls;
    const char *names[3];
} filters[] = {
    {1, "H5Z_FILTER_DEFLATE", {"gzip", "deflate", "zlib"}},
    {2, "H5Z_FILTER_SHUFFLE", {"shuffle"}},
    {3, "H5Z_FILTER_FLETCHER32", {"fletcher32"}},
    {4, "H5Z_FILTER_SZIP", {"szip"}},
    {5, "H5Z_FILTER_NBIT", {"nbit"}},
    {6, "H5Z_FILTER_SCALEOFFSET", {"scaleoffset"}},
    {307, "H5Z_FILTER_BZIP2", {"bzip2"}},
    {32000, "H5Z_FILTER_LZF", {"lzf"}},
    {32001, "H5Z_FILTER_BLOSC", {"blosc", "blosclz"}},
    {32003, "H5Z_FILTER_SNAPPY", {"snappy"}},
    {32004, "H5Z_FILTER_LZ4", {"lz4"}},
    {32005, "H5Z_FILTER_LZ4HC", {"lz4hc"}},
    {32008, "H5Z_FILTER_BITSHUFFLE", {"bitshuffle"}},
    {32015, "H5Z_FILTER_ZSTD", {"zstd"}},
};

static const struct filter_row *find_filter(int64_t id, const char *word)
{
    for (size_t i = 0; i < BKT_COUNT(filters); i++) {
        if (word ? strcmp(filters[i].cls, word) == 0 : filters[i].id == id)
            return &filters[i];
        for (size_t k = 0; word && k < BKT_COUNT(filters[i].names); k++)
            if (filters[i].names[k] && strcasecmp(filters[i].names[k], word) == 0)
                return &filters[i];
    }
    return NULL;
}

static void set_name(struct bkt_filter_desc *f, const char *name)
{
    strncpy(f->name, name, sizeof f->name - 1);
}

static int64_t small_int(const json_t *j)
{
    struct bkt_num v;
    if (!j || !bkt_json_num(j, &v) || v.kind != BKT_NUM_INT || v.huge || v.mag > INT32_MAX)
        return -1;
    return v.neg ? -(int64_t)v.mag : (int64_t)v.mag;
}

/* szip's coding and scaleoffset's type may be words. */
static int64_t coded(const json_t *j)
{
    static const struct bkt_word words[] = {
        {"H5_SZIP_EC_OPTION_MASK", 4}, {"H5_SZIP_NN_OPTION_MASK", 32}, {"H5Z_SO_FLOAT_DSCALE", 0},
        {"H5Z_SO_FLOAT_ESCALE", 1},    {"H5Z_SO_INT", 2},
    };
    return json_is_string(j) && bkt_json_is_text(j) ? bkt_word_find(words, BKT_COUNT(words), json_string_value(j), -1)
                                                    : small_int(j);
}

static int parse_parameters(const json_t *j, struct bkt_filter_desc *f, struct bkt_err *err)
{
    uint64_t v = 0;
    if (!json_is_array(j) || json_array_size(j) == 0)
        return BKT_OK;
    f->cd = calloc(json_array_size(j), sizeof *f->cd);
    if (!f->cd)
        BKT_NOMEM(err);
    for (size_t i = 0; i < json_array_size(j); i++) {
        BKT_PASS(bkt_json_u64(json_array_get(j, i), "filter parameter", UINT32_MAX, &v, err));
        f->cd[f->n_cd++] = (unsigned)v;
    }
    return BKT_OK;
}

static int parse_filter_object(const json_t *j, struct bkt_filter_desc *f, struct bkt_err *err)
{
    const char   *cls = bkt_json_word(j, "class"), *name = bkt_json_word(j, "name");
    const json_t *options = bkt_json_get(j, "options");
    int64_t       level   = small_int(bkt_json_get(j, "level"));
    const struct filter_row *row;

    f->id = (int)small_int(bkt_json_get(j, "id"));
    row   = f->id >= 0 ? find_filter(f->id, NULL) : cls ? find_filter(0, cls) : NULL;
    if (!row && f->id < 0 && name)
        row = find_filter(0, name);
    if (row)
        f->id = row->id;
    if (name || row)
        set_name(f, name ? name : row->names[0]);
    if (level < 0)
        level = small_int(options);
    f->has_level           = level >= 0;
    f->level               = level >= 0 ? (unsigned)level : 0;
    f->bits_per_pixel      = small_int(bkt_json_get(j, "bitsPerPixel"));
    f->coding              = coded(bkt_json_get(j, "coding"));
    f->pixels_per_block    = small_int(bkt_json_get(j, "pixelsPerBlock"));
    f->pixels_per_scanline = small_int(bkt_json_get(j, "pixelsPerScanline"));
    f->scale_type          = coded(bkt_json_get(j, "scaleType"));
    f->scale_offset        = small_int(bkt_json_get(j, "scaleOffset"));
    f->optional            = json_is_true(bkt_json_get(j, "optional"));
    return parse_parameters(bkt_json_get(j, "parameters"), f, err);
}

/* An object, a number, or a word: a class or a name. */
static int parse_filter(const json_t *j, struct bkt_filter_desc *f, struct bkt_err *err)
{
    const struct filter_row *row = NULL;
    f->id                        = -1;
    f->bits_per_pixel = f->coding = f->pixels_per_block = f->pixels_per_scanline = f->scale_type = f->scale_offset = -1;
    if (json_is_object(j))
        return parse_filter_object(j, f, err);
    if (json_is_string(j) && bkt_json_is_text(j)) {
        row = find_filter(0, json_string_value(j));
        set_name(f, json_string_value(j));
    } else {
        f->id = (int)small_int(j);
        row   = f->id >= 0 ? find_filter(f->id, NULL) : NULL;
    }
    if (!row && f->id < 0 && !f->name[0])
        BKT_FAIL(err, BKT_EFORMAT, "creationProperties.filters: an entry is neither object, number nor name");
    if (row) {
        f->id = row->id;
        set_name(f, row->names[0]);
    }
    return BKT_OK;
}

static int parse_filters(const json_t *j, struct bkt_dset *d, struct bkt_err *err)
{
    if (!j)
        return BKT_OK;
    size_t n = json_is_array(j) ? json_array_size(j) : 1;
    if (n > 32) /* HDF5's own limit */
        BKT_FAIL(err, BKT_EFORMAT, "creationProperties.filters has %zu entries", n);
    d->filters = calloc(n + 1, sizeof *d->filters);
    if (!d->filters)
        BKT_NOMEM(err);
    for (size_t i = 0; i < n; i++)
        BKT_PASS(parse_filter(json_is_array(j) ? json_array_get(j, i) : j, &d->filters[d->n_filters++], err));
    return BKT_OK;
}

/* ---- fill value ---- */

static bool is_falsy(const json_t *j)
{
    return json_is_false(j) || (json_is_number(j) && json_number_value(j) == 0) ||
           (json_is_string(j) && json_string_length(j) == 0) || (json_is_array(j) && json_array_size(j) == 0);
}

/* One number for all elements of an array type. */
static int spread_fill(const struct bkt_type *t, const json_t *j, struct bkt_buf *out, struct bkt_err *err)
{
    static const struct bkt_space scalar = {.cls = BKT_S_SCALAR};
    if (t->size > BKT_VALUE_MAX || t->is_var)
        BKT_FAIL(err, BKT_EFORMAT, "an element of the array type is too large for a fill value");
    for (uint64_t i = 0; i < t->n_elems; i++)
        BKT_PASS(bkt_value_parse(t->base, &scalar, j, NULL, out, err));
    return BKT_OK;
}

static int parse_fill(const json_t *cpl, struct bkt_dset *d, struct bkt_err *err)
{
    static const struct bkt_space scalar = {.cls = BKT_S_SCALAR};
    const json_t                 *j      = bkt_json_get(cpl, "fillValue");
    struct bkt_err                why    = {0};
    if (!j)
        return BKT_OK;
    const char *encoding = bkt_json_word(cpl, "fillValue_encoding");
    bool        spread   = d->type->cls == BKT_T_ARRAY && !json_is_array(j) && !(encoding && strcasecmp(encoding, "base64") == 0);
    int         rc       = spread ? spread_fill(d->type, j, &d->fill, &why)
                                  : bkt_value_parse(d->type, &scalar, j, encoding, &d->fill, &why);
    if (rc < 0 && rc != BKT_ENOMEM && is_falsy(j)) { /* HSDS takes 0, "" and the like for none */
        bkt_buf_clear(&d->fill);
        return BKT_OK;
    }
    d->has_fill = rc == BKT_OK;
    if (rc == BKT_ENOMEM)
        return bkt_err_copy(err, rc, &why);
    if (rc < 0 && asprintf(&d->bad, "creationProperties.fillValue: %s", why.n ? why.frame[0].msg : bkt_err_text(rc)) < 0) {
        d->bad = NULL;
        BKT_NOMEM(err);
    }
    return BKT_OK;
}

/* ---- initializer ---- */

static bool arg_value(const char *arg, const char *name, double *out)
{
    size_t n = strlen(name);
    return strncmp(arg, name, n) == 0 && arg[n] == '=' && bkt_json_strtod(arg + n + 1, out);
}

static int parse_initializer(const json_t *j, struct bkt_dset *d, struct bkt_err *err)
{
    static const struct bkt_word kinds[] = {{"arange", BKT_INIT_ARANGE}, {"chunklocator", BKT_INIT_CHUNKLOCATOR}};
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    if (!j)
        return BKT_OK;
    d->init         = BKT_INIT_OTHER;
    d->arange_start = 0, d->arange_step = 1;
    size_t n = json_is_array(j) ? json_array_size(j) : 1;
    for (size_t i = 0; i < n; i++) {
        const json_t                *one = json_is_array(j) ? json_array_get(j, i) : j;
        BKT_CLEANUP(bkt_freep) char *arg = NULL;
        BKT_PASS(bkt_json_dup(one, "creationProperties.initializer", &arg, err));
        if (bkt_buf_addf(&text, "%s%s", i ? " " : "", arg) < 0)
            BKT_NOMEM(err);
        if (i == 0)
            d->init = (enum bkt_initializer)bkt_word_find(kinds, BKT_COUNT(kinds), arg, BKT_INIT_OTHER);
        else if (!arg_value(arg, "--start", &d->arange_start))
            (void)arg_value(arg, "--step", &d->arange_step);
    }
    if (text.len)
        d->init_text = bkt_buf_steal(&text);
    return BKT_OK;
}

int bkt_dcpl_parse(const json_t *cpl, struct bkt_dset *d, struct bkt_err *err)
{
    static const struct bkt_word fill_times[] = {
        {"H5D_FILL_TIME_ALLOC", 0}, {"H5D_FILL_TIME_NEVER", 1}, {"H5D_FILL_TIME_IFSET", 2}};
    static const struct bkt_word alloc_times[] = {{"H5D_ALLOC_TIME_DEFAULT", 0},
                                                  {"H5D_ALLOC_TIME_EARLY", 1},
                                                  {"H5D_ALLOC_TIME_LATE", 2},
                                                  {"H5D_ALLOC_TIME_INCR", 3}};
    d->fill_time = bkt_word_find(fill_times, BKT_COUNT(fill_times), bkt_json_word(cpl, "fillTime"), -1);
    d->alloc_time = bkt_word_find(alloc_times, BKT_COUNT(alloc_times), bkt_json_word(cpl, "allocTime"), -1);
    if (!json_is_object(cpl))
        return BKT_OK;
    BKT_PASS(parse_filters(bkt_json_get(cpl, "filters"), d, err));
    BKT_PASS(parse_fill(cpl, d, err));
    return parse_initializer(bkt_json_get(cpl, "initializer"), d, err);
}
