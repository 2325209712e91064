/* Creation properties of datasets: JSON <-> model.  Filters in every spelling that HSDS, h5pyd and the REST
 * VOL store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "schema/h5enc/h5enc.h"
#include "schema/model/hsds_view.h"
#include "schema/json/schema_json.h"
#include "schema/json/reference_text.h"

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
    memset(f->name, 0, sizeof f->name);
    size_t n = strnlen(name, sizeof f->name - 1); /* a longer one is cut */
    memcpy(f->name, name, n);
    f->name[n] = 0;
}

/* The name that HSDS knows: HDF5's name of some filters is a sentence. */
static const char *name_for(const char *name, const struct filter_row *row)
{
    for (size_t k = 0; row && k < BKT_COUNT(row->names); k++)
        if (row->names[k] && strcmp(row->names[k], name) == 0)
            return name;
    return row ? row->names[0] : name;
}

static int64_t small_int(const json_t *j)
{
    struct bkt_num v;
    if (!j || !bkt_json_num(j, &v) || v.kind != BKT_NUM_INT || v.huge || v.mag > INT32_MAX)
        return -1;
    return v.neg ? -(int64_t)v.mag : (int64_t)v.mag;
}

/* szip's coding and scaleoffset's type may be words. */
static const struct bkt_word coding_words[] = {{"H5_SZIP_EC_OPTION_MASK", 4}, {"H5_SZIP_NN_OPTION_MASK", 32}};
static const struct bkt_word scale_words[]  = {
    {"H5Z_SO_FLOAT_DSCALE", 0}, {"H5Z_SO_FLOAT_ESCALE", 1}, {"H5Z_SO_INT", 2}};

static int64_t coded(const struct bkt_word *words, size_t n, const json_t *j)
{
    return json_is_string(j) && bkt_json_is_text(j) ? bkt_word_find(words, n, json_string_value(j), -1)
                                                    : small_int(j);
}

static int parse_parameters(const json_t *j, struct bkt_filter_desc *f, struct bkt_err *err)
{
    uint64_t v = 0;
    if (!json_is_array(j) || json_array_size(j) == 0)
        return BKT_OK;
    BKT_FAIL_IF(err, json_array_size(j) > BKT_H5_CD_MAX, BKT_EFORMAT,
                "creationProperties.filters: a filter of %zu parameters", json_array_size(j));
    f->cd = calloc(json_array_size(j), sizeof *f->cd);
    BKT_NEED(err, f->cd);
    for (size_t i = 0; i < json_array_size(j); i++) {
        BKT_PASS(bkt_json_u64(json_array_get(j, i), "filter parameter", UINT32_MAX, &v, err));
        f->cd[f->n_cd++] = (unsigned)v;
    }
    return BKT_OK;
}

/* Class and name for filters of HDF5's that HSDS must not recognise (hsds_view.h): "hdf5-shuffle" */
#define ASIDE_CLASS "H5Z_FILTER_USER"
#define ASIDE_NAME  "hdf5-"
/* HSDS fails on a shuffle without a name, before it reads or stores anything.  The id shows that it is
 * another filter. */
#define REFUSED_CLASS "H5Z_FILTER_SHUFFLE"
/* HDF5's name of a filter, if `name` is missing or differs */
#define H5NAME  "h5name"
#define OWN_IDS 256 /* HDF5's own filters are below; their names add nothing */

static const char *usual_name(struct bkt_filter_desc *f, const struct filter_row *row, const char *cls,
                              const char *name)
{
    size_t prefix = strlen(ASIDE_NAME);
    f->aside = row && cls && name && strcmp(cls, ASIDE_CLASS) == 0 &&
               strncmp(name, ASIDE_NAME, prefix) == 0 && strcmp(name + prefix, row->names[0]) == 0;
    return name && !f->aside ? name : row->names[0];
}

static int parse_h5name(const json_t *j, struct bkt_filter_desc *f, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *text = NULL;
    if (!json_is_string(j) || !bkt_json_is_text(j))
        return BKT_OK;
    BKT_PASS(bkt_json_dup(j, "creationProperties.filters: " H5NAME, &text, err));
    strncpy(f->h5name, text, sizeof f->h5name - 1);
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
    BKT_PASS(parse_h5name(bkt_json_get(j, H5NAME), f, err));
    if (name || row || f->h5name[0])
        set_name(f, !name && f->h5name[0] ? name_for(f->h5name, row) : usual_name(f, row, cls, name));
    if (level < 0)
        level = small_int(options);
    f->has_level           = level >= 0;
    f->level               = level >= 0 ? (unsigned)level : 0;
    f->bits_per_pixel      = small_int(bkt_json_get(j, "bitsPerPixel"));
    f->coding              = coded(coding_words, BKT_COUNT(coding_words), bkt_json_get(j, "coding"));
    f->pixels_per_block    = small_int(bkt_json_get(j, "pixelsPerBlock"));
    f->pixels_per_scanline = small_int(bkt_json_get(j, "pixelsPerScanline"));
    f->scale_type          = coded(scale_words, BKT_COUNT(scale_words), bkt_json_get(j, "scaleType"));
    f->scale_offset        = small_int(bkt_json_get(j, "scaleOffset"));
    f->flags               = small_int(bkt_json_get(j, "flags"));
    f->optional            = json_is_true(bkt_json_get(j, "optional")) || (f->flags > 0 && (f->flags & 1));
    BKT_PASS(parse_parameters(bkt_json_get(j, "parameters"), f, err));
    if (f->id == 32001 && f->n_cd) /* its codec is among the parameters */
        set_name(f, row->names[0]);
    return BKT_OK;
}

/* An object, a number, or a word: a class or a name. */
static int parse_filter(const json_t *j, struct bkt_filter_desc *f, struct bkt_err *err)
{
    const struct filter_row *row = NULL;
    f->id                        = -1;
    f->bits_per_pixel = f->coding = f->pixels_per_block = f->pixels_per_scanline = f->scale_type =
        f->scale_offset = -1;
    f->flags                                                                                      = -1;
    if (json_is_object(j))
        return parse_filter_object(j, f, err);
    if (json_is_string(j) && bkt_json_is_text(j)) {
        row = find_filter(0, json_string_value(j));
        set_name(f, json_string_value(j));
    } else {
        f->id = (int)small_int(j);
        row   = f->id >= 0 ? find_filter(f->id, NULL) : NULL;
    }
    BKT_FAIL_IF(err, !row && f->id < 0 && !f->name[0], BKT_EFORMAT,
                "creationProperties.filters: an entry is neither object, number nor name");
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
    BKT_NEED(err, d->filters);
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

static const struct bkt_space scalar = {.cls = BKT_S_SCALAR};

/* One number for all elements of an array type. */
static int spread_fill(const struct bkt_type *t, const json_t *j, struct bkt_buf *out, struct bkt_err *err)
{
    BKT_FAIL_IF(err, t->size > BKT_VALUE_MAX || t->is_var, BKT_EFORMAT,
                "an element of the array type is too large for a fill value");
    BKT_PASS(bkt_value_parse(t->base, &scalar, j, NULL, out, err));
    size_t done = out->len; /* not parsed for each: the type may have hundreds of millions of elements */
    BKT_PASS_MEM(err, bkt_buf_resize(out, t->size));
    while (done < out->len) {
        size_t more = done < out->len - done ? done : out->len - done;
        memcpy(out->ptr + done, out->ptr, more);
        done += more;
    }
    return BKT_OK;
}

/* The bytes that HSDS and h5pyd read as the fill value.  h5pyd doesn't know fillValue_encoding. */
static int near_fill(const struct bkt_dset *d, const struct bkt_buf *exact, json_t **value,
                     struct bkt_buf *bytes)
{
    BKT_PASS(bkt_value_emit_near(d->type, &scalar, exact, value));
    return bkt_value_parse(d->type, &scalar, *value, NULL, bytes, NULL);
}

/* The exact bytes, if fillValue is still the value that was written beside them. */
static int parse_exact_fill(const json_t *cpl, struct bkt_dset *d)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf exact = {0}, near = {0};
    const json_t                            *j     = bkt_json_get(cpl, "h5fill");
    BKT_CLEANUP(bkt_json_decrefp) json_t *value = NULL;
    if (!j)
        return BKT_OK;
    int rc = bkt_value_parse(d->type, &scalar, j, "base64", &exact, NULL);
    if (rc == BKT_OK)
        rc = near_fill(d, &exact, &value, &near);
    if (rc == BKT_ENOMEM)
        return rc;
    if (rc == BKT_OK && near.len == d->fill.len &&
        (!near.len || memcmp(near.ptr, d->fill.ptr, near.len) == 0)) {
        bkt_buf_fini(&d->fill);
        d->fill = exact;
        exact   = (struct bkt_buf){0};
    }
    return BKT_OK;
}

static int parse_fill(const json_t *cpl, struct bkt_dset *d, struct bkt_err *err)
{
    const json_t                 *j      = bkt_json_get(cpl, "fillValue");
    struct bkt_err                why    = {0};
    d->null_fill = !j && json_is_true(bkt_json_get(cpl, "h5null"));
    if (!j)
        return BKT_OK;
    const char *encoding = bkt_json_word(cpl, "fillValue_encoding");
    bool spread = d->type->cls == BKT_T_ARRAY && !json_is_array(j) &&
                  !(encoding && strcasecmp(encoding, "base64") == 0);
    int         rc       = spread ? spread_fill(d->type, j, &d->fill, &why)
                                  : bkt_value_parse(d->type, &scalar, j, encoding, &d->fill, &why);
    if (rc < 0 && rc != BKT_ENOMEM && is_falsy(j)) { /* HSDS takes 0, "" and the like for no fill value */
        bkt_buf_clear(&d->fill);
        return BKT_OK;
    }
    d->has_fill = rc == BKT_OK;
    if (d->has_fill && !encoding && parse_exact_fill(cpl, d) < 0)
        BKT_NOMEM(err);
    if (d->has_fill)
        BKT_PASS(bkt_nulls_parse(cpl, d->type, &d->fill, err));
    if (rc == BKT_ENOMEM)
        return bkt_err_copy(err, rc, &why);
    if (rc < 0)
        BKT_PASS_MEM(err, bkt_text(&d->bad, "creationProperties.fillValue: %s", bkt_err_reason(&why, rc)));
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
    static const struct bkt_word kinds[] = {{"arange", BKT_INIT_ARANGE},
                                            {"chunklocator", BKT_INIT_CHUNKLOCATOR}};
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
        BKT_PASS_MEM(err, bkt_buf_addf(&text, "%s%s", i ? " " : "", arg));
        if (i == 0)
            d->init = (enum bkt_initializer)bkt_word_find(kinds, BKT_COUNT(kinds), arg, BKT_INIT_OTHER);
        else if (!arg_value(arg, "--start", &d->arange_start))
            (void)arg_value(arg, "--step", &d->arange_step);
    }
    if (text.len)
        d->init_text = bkt_buf_steal(&text);
    return BKT_OK;
}

static const struct bkt_word fill_times[] = {
    {"H5D_FILL_TIME_ALLOC", 0}, {"H5D_FILL_TIME_NEVER", 1}, {"H5D_FILL_TIME_IFSET", 2}};
static const struct bkt_word alloc_times[] = {{"H5D_ALLOC_TIME_DEFAULT", 0},
                                              {"H5D_ALLOC_TIME_EARLY", 1},
                                              {"H5D_ALLOC_TIME_LATE", 2},
                                              {"H5D_ALLOC_TIME_INCR", 3}};

int bkt_dcpl_parse(const json_t *cpl, struct bkt_dset *d, struct bkt_err *err)
{
    d->fill_time = bkt_word_find(fill_times, BKT_COUNT(fill_times), bkt_json_word(cpl, "fillTime"), -1);
    d->alloc_time = bkt_word_find(alloc_times, BKT_COUNT(alloc_times), bkt_json_word(cpl, "allocTime"), -1);
    if (!json_is_object(cpl))
        return BKT_OK;
    BKT_PASS(parse_filters(bkt_json_get(cpl, "filters"), d, err));
    BKT_PASS(parse_fill(cpl, d, err));
    return parse_initializer(bkt_json_get(cpl, "initializer"), d, err);
}

/* ---- model -> JSON ---- */

static int set_number(json_t *j, const char *key, int64_t v)
{
    return v < 0 ? BKT_OK : bkt_json_set(j, key, json_integer(v));
}

static int set_coded(json_t *j, const char *key, const struct bkt_word *words, size_t n, int64_t v)
{
    const char *word = v < 0 ? NULL : bkt_word_of(words, n, (int)v);
    return word ? bkt_json_set(j, key, json_string(word)) : set_number(j, key, v);
}

static int emit_details(const struct bkt_filter_desc *f, json_t *j)
{
    BKT_PASS(set_number(j, "bitsPerPixel", f->bits_per_pixel));
    BKT_PASS(set_coded(j, "coding", coding_words, BKT_COUNT(coding_words), f->coding));
    BKT_PASS(set_number(j, "pixelsPerBlock", f->pixels_per_block));
    BKT_PASS(set_number(j, "pixelsPerScanline", f->pixels_per_scanline));
    BKT_PASS(set_coded(j, "scaleType", scale_words, BKT_COUNT(scale_words), f->scale_type));
    BKT_PASS(set_number(j, "scaleOffset", f->scale_offset));
    BKT_PASS(set_number(j, "flags", f->flags));
    if (f->optional && f->flags < 0)
        BKT_PASS(bkt_json_set(j, "optional", json_true()));
    if (!f->n_cd)
        return BKT_OK;
    json_t *list = json_array();
    BKT_PASS(bkt_json_set(j, "parameters", list));
    for (size_t i = 0; i < f->n_cd; i++)
        BKT_PASS(bkt_json_push(list, json_integer(f->cd[i])));
    return BKT_OK;
}

/* Shuffle, and filters that HSDS takes for compressors without having them. */
static bool goes_aside(const struct bkt_filter_desc *f)
{
    return f->id == 2 || f->id == 4 || f->id == 6 || f->id == 32000;
}

/* The class and name that HSDS shall see for a filter. */
struct seen {
    const char *cls, *name; /* name: NULL for none */
    char        buf[64];
};

static void see(const struct bkt_filter_desc *f, const struct filter_row *row, enum bkt_hsds_view view,
                struct seen *s)
{
    const char *inner = f->id == 32001 && f->n_cd ? bkt_blosc_codec(f) : NULL;
    *s = (struct seen){row ? row->cls : ASIDE_CLASS, inner ? inner : name_for(f->name, row), ""};
    if (view == BKT_HSDS_REFUSES) {
        s->cls  = REFUSED_CLASS;
        s->name = NULL;
    } else if (view == BKT_HSDS_RAW && row && goes_aside(f)) {
        (void)snprintf(s->buf, sizeof s->buf, ASIDE_NAME "%s", row->names[0]);
        s->cls  = ASIDE_CLASS;
        s->name = s->buf;
    }
}

/* If no other name stands beside it, a reader takes the name for HDF5's. */
static int emit_names(const struct bkt_filter_desc *f, const struct filter_row *row, const char *name,
                      json_t *j)
{
    const char *known = name_for(f->name, row),
               *h5name = f->id >= OWN_IDS && f->h5name[0] ? f->h5name : known;
    if (name)
        BKT_PASS(bkt_json_set(j, "name", bkt_json_new_str(name))); /* "" for a filter without a name */
    return name && strcmp(h5name, known) == 0 ? BKT_OK : bkt_json_set(j, H5NAME, bkt_json_new_str(h5name));
}

/* class, id and name are always there, unless HSDS shall fail, as it does on some filters without a name. */
static int emit_filter(const struct bkt_filter_desc *f, enum bkt_hsds_view view, json_t *list)
{
    const struct filter_row *row = f->id >= 0 ? find_filter(f->id, NULL) : NULL;
    json_t                  *j   = json_object();
    struct seen              s;
    see(f, row, view, &s);
    BKT_PASS(bkt_json_push(list, j));
    BKT_PASS(bkt_json_set(j, "class", json_string(s.cls)));
    BKT_PASS(set_number(j, "id", f->id));
    if (f->has_level)
        BKT_PASS(bkt_json_set(j, "level", json_integer(f->level)));
    BKT_PASS(emit_names(f, row, s.name, j));
    return emit_details(f, j);
}

/* Chunk objects are not shuffled if shuffle is the only filter. */
static enum bkt_hsds_view view_of(const struct bkt_dset *d)
{
    bool objects = d->layout.cls == BKT_D_CHUNKED && !d->type->is_var;
    return objects && (d->layout.hdf5_chunks || bkt_only_shuffled(d))
               ? bkt_hsds_view(d->filters, d->n_filters)
               : BKT_HSDS_READS;
}

static int emit_filters(const struct bkt_dset *d, json_t *cpl)
{
    if (!d->n_filters)
        return BKT_OK;
    json_t *list = json_array();
    BKT_PASS(bkt_json_set(cpl, "filters", list));
    for (size_t i = 0; i < d->n_filters; i++)
        BKT_PASS(emit_filter(&d->filters[i], view_of(d), list));
    return BKT_OK;
}

/* JSON can't express a NaN's payload, nor bytes behind a string's end.  So HSDS and h5pyd get the nearest
 * value, and the exact bytes stand beside it.  BKT_EFORMAT: there is no such value. */
static int emit_near_fill(const struct bkt_dset *d, json_t *cpl)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf near = {0};
    BKT_CLEANUP(bkt_json_decrefp) json_t *value = NULL;
    BKT_PASS(near_fill(d, &d->fill, &value, &near));
    BKT_PASS(bkt_json_set(cpl, "fillValue", json_incref(value)));
    return bkt_json_set(cpl, "h5fill", bkt_json_new_base64(&d->fill));
}

/* HSDS can't read lists as values of array types. */
static int emit_fill(const struct bkt_dset *d, json_t *cpl, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_nulls_fini) struct bkt_nulls nulls = {.n_empty = 0};
    BKT_CLEANUP(bkt_json_decrefp) json_t *value = NULL;
    bool                          base64 = d->type->cls == BKT_T_ARRAY || d->type->cls == BKT_T_VLEN;
    if (!d->has_fill)
        return d->null_fill ? bkt_json_set(cpl, "h5null", json_true()) : BKT_OK;
    bool is_list = base64;
    BKT_TRY(err, bkt_value_emit(d->type, &scalar, &d->fill, &value, &base64, &nulls, err), "fill value");
    if (base64 && !is_list && !d->type->is_var) {
        int rc = emit_near_fill(d, cpl);
        if (rc != BKT_EFORMAT)
            return rc;
    }
    BKT_PASS(bkt_json_set(cpl, "fillValue", json_incref(value)));
    if (nulls.n_null)
        BKT_PASS(bkt_nulls_emit(&nulls, cpl));
    return base64 ? bkt_json_set(cpl, "fillValue_encoding", json_string("base64")) : BKT_OK;
}

static int emit_initializer(const struct bkt_dset *d, json_t *cpl)
{
    if (!d->init_text)
        return BKT_OK;
    json_t *list = json_array();
    BKT_PASS(bkt_json_set(cpl, "initializer", list));
    for (const char *s = d->init_text;; s++) {
        size_t n = strcspn(s, " ");
        BKT_PASS(bkt_json_push(list, bkt_json_new_text(s, n)));
        s += n;
        if (!*s)
            return BKT_OK;
    }
}

int bkt_dcpl_emit(const struct bkt_dset *d, json_t *cpl, struct bkt_err *err)
{
    BKT_FAIL_IF(err, d->bad, BKT_EFORMAT, "%s", d->bad);
    BKT_PASS_MEM(err, emit_filters(d, cpl));
    int rc = emit_fill(d, cpl, err);
    if (rc < 0)
        return rc == BKT_ENOMEM ? BKT_ERR(err, rc, "out of memory") : rc;
    BKT_PASS_MEM(err, emit_initializer(d, cpl));
    BKT_PASS_MEM(err, set_coded(cpl, "fillTime", fill_times, BKT_COUNT(fill_times), d->fill_time));
    BKT_PASS_MEM(err, set_coded(cpl, "allocTime", alloc_times, BKT_COUNT(alloc_times), d->alloc_time));
    return BKT_OK;
}
