/* h5bucket sample cat REPOSITORY NAME...: samples as text, raw, or as .npy. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/num.h"
#include "tools/samples/npy.h"
#include "tools/samples/sample.h"
#include "tools/samples/sample_choice.h"
#include "tools/show/show.h"
#include "tools/source/hdf5_glue.h"
#include "vol/core/hid.h"

enum format { TEXT, RAW, NPY };

struct cat {
    struct sample_tool *s;
    struct selection    sel;
    enum format         format;
    FILE               *to;
    size_t              n_failed;
};

/* ---- text ---- */

enum form { INTEGER, POSITIVE, REAL, LONG_REAL };

/* The type that elements are printed from; < 0: they can't be printed. */
static hid_t printed_as(hid_t type, enum form *form)
{
    H5T_class_t class = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    *form = class == H5T_FLOAT                                          ? (size > 8 ? LONG_REAL : REAL)
            : class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE ? POSITIVE
                                                                        : INTEGER;
    if (class != H5T_FLOAT && class != H5T_INTEGER)
        return H5I_INVALID_HID;
    return *form == REAL ? H5T_NATIVE_DOUBLE : *form == LONG_REAL ? H5T_NATIVE_LDOUBLE
           : *form == POSITIVE ? H5T_NATIVE_ULLONG : H5T_NATIVE_LLONG;
}

static void add_element(struct bkt_buf *b, const unsigned char *p, enum form form)
{
    union {
        long long          i;
        unsigned long long u;
        double             d;
        long double        l;
    } v;
    switch (form) {
    case INTEGER:
        memcpy(&v.i, p, sizeof v.i);
        bkt_say(b, "%lld", v.i);
        break;
    case POSITIVE:
        memcpy(&v.u, p, sizeof v.u);
        bkt_say(b, "%llu", v.u);
        break;
    case REAL:
        memcpy(&v.d, p, sizeof v.d);
        (void)(bkt_buf_add_real(b, v.d) < 0);
        break;
    default:
        memcpy(&v.l, p, sizeof v.l);
        bkt_say(b, "%.21Lg", v.l);
    }
}

static int print_elements(FILE *to, const unsigned char *p, size_t size, enum form form, uint64_t n,
                          uint64_t line)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf text = {0};
    for (uint64_t i = 0; i < n; i++) {
        add_element(&text, p + i * size, form);
        bkt_say(&text, (i + 1) % line ? " " : "\n");
        if (text.len > 65536 || i + 1 == n) {
            (void)fwrite(text.ptr, 1, text.len, to);
            bkt_buf_clear(&text);
        }
    }
    return BKT_OK;
}

/* A line for each run of the last dimension. */
static int print_text(struct cat *c, const struct h5bucket_sample *sample, hid_t type,
                      const struct h5bucket_record *r, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep)
    hid_t base = H5Tget_class(type) == H5T_ENUM ? H5Tget_super(type) : H5Tcopy(type);
    BKT_CLEANUP(bkt_freep) unsigned char *p    = NULL;
    enum form form;
    hid_t     as   = printed_as(base, &form);
    size_t from = H5Tget_size(base), size = as < 0 ? 0 : H5Tget_size(as), n = from ? sample->size / from : 0;
    BKT_FAIL_IF(err, as < 0, BKT_EUNSUP, "elements of its type can't be printed as text; use --format=raw");
    p = calloc(n + 1, bkt_max_u64(size > from ? size : from, 1));
    BKT_NEED(err, p);
    memcpy(p, sample->buffer, n * from);
    if (n && H5Tconvert(base, as, n, p, NULL, H5P_DEFAULT) < 0)
        return h5_fail(err, "converting elements to text");
    return print_elements(c->to, p, size, form, n, r->rank ? r->shape[r->rank - 1] : 1);
}

static void print_head(struct cat *c, size_t i, hid_t type, const struct h5bucket_record *r)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf line = {0};
    char name[16];
    npy_name(type, name);
    bkt_say(&line, "# ");
    bkt_show_name(&line, c->sel.names.v[i]);
    bkt_say(&line, " %s (", name);
    for (int k = 0; k < r->rank; k++)
        bkt_say(&line, "%s%llu", k ? ", " : "", (unsigned long long)r->shape[k]);
    (void)fprintf(c->to, "%s)\n", bkt_buf_str(&line));
}

/* ---- one sample ---- */

static int print(struct cat *c, size_t i, const struct h5bucket_sample *sample, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf head = {0};
    struct h5bucket_record r;
    if (c->format == RAW) {
        (void)fwrite(sample->buffer, 1, sample->size, c->to);
        return BKT_OK;
    }
    if (h5bucket_sample_info(c->s->repo, sample->record, &type, &r) < 0)
        return h5_fail(err, "asking for the type of elements");
    if (c->format == TEXT) {
        print_head(c, i, type, &r);
        return print_text(c, sample, type, &r, err);
    }
    BKT_PASS(npy_head(type, r.rank, r.shape, &head, err));
    (void)fwrite(head.ptr, 1, head.len, c->to);
    (void)fwrite(sample->buffer, 1, sample->size, c->to);
    return BKT_OK;
}

static int each(void *arg, size_t i, const struct h5bucket_sample *sample)
{
    struct cat    *c   = arg;
    struct bkt_err err = {.n = 0};
    const char    *name = c->sel.names.v[i], *record = sample->record;
    if (sample->status < 0) {
        c->n_failed++;
        (void)(strcmp(name, record) == 0 ? bkt_tool_fail(c->s->t, "%s", sample->error)
                                         : bkt_tool_fail(c->s->t, "%s: %s", name, sample->error));
    } else if (print(c, i, sample, &err) < 0) {
        c->n_failed++;
        (void)bkt_tool_error(c->s->t, name, &err);
    }
    return ferror(c->to) ? BKT_EIO : BKT_OK;
}

static int select_all(struct cat *c, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_strs_fini) struct bkt_strs lines = {0};
    const char *file  = bkt_tool_opt(c->s->t, "records");
    bool        named = false;
    if (file)
        BKT_PASS(sample_lines(file, &lines, err));
    for (int i = 0; i < c->s->n_args; i++)
        named |= !selection_is_record(c->s->args[i]);
    for (size_t i = 0; i < lines.n; i++)
        named |= !selection_is_record(lines.v[i]);
    if (named)
        BKT_PASS(sample_open_names(c->s, err));
    for (size_t i = 0; i < lines.n; i++)
        BKT_PASS(selection_add(&c->sel, c->s->names, lines.v[i], err));
    for (int i = 0; i < c->s->n_args; i++)
        BKT_PASS(selection_add(&c->sel, c->s->names, c->s->args[i], err));
    return BKT_OK;
}

static int write_all(struct cat *c, const char *output, struct bkt_err *err)
{
    c->to = output ? fopen(output, "wbe") : stdout;
    BKT_FAIL_IF(err, !c->to, BKT_EIO, "%s: can't be written: %s", output, strerror(errno));
    int rc = sample_read_each(c->s, c->sel.records.v, c->sel.records.n, each, c, err);
    if (fflush(c->to) != 0 || ferror(c->to))
        rc = BKT_ERR(err, BKT_EIO, "%s: writing failed: %s", output ? output : "standard output",
                     strerror(errno));
    if (output)
        (void)fclose(c->to);
    return rc;
}

int sample_cat(struct sample_tool *s)
{
    const char    *format = bkt_tool_opt(s->t, "format");
    struct cat c = {.s = s,
                    .format = !format || strcmp(format, "text") == 0 ? TEXT
                              : strcmp(format, "raw") == 0           ? RAW
                                                                     : NPY};
    if (!s->n_args && !bkt_tool_has(s->t, "records"))
        return bkt_tool_usage(s->t, "cat: no sample is named");
    int rc = select_all(&c, &s->t->err);
    rc = rc ? rc : write_all(&c, bkt_tool_opt(s->t, "output"), &s->t->err);
    selection_fini(&c.sel);
    return rc < 0 ? rc : c.n_failed ? BKT_EXIT_FAIL : BKT_EXIT_OK;
}
