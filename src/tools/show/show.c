/* Objects, types, layouts, times and sizes as text; see show.h. */
#include "tools/show/show.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "base/text/utf8.h"
#include "base/url.h"
#include "schema/json/documents.h"

void bkt_say_str(struct bkt_buf *b, const char *text)
{
    if (bkt_buf_add_str(b, text) < 0)
        bkt_buf_clear(b); /* memory is short: print nothing rather than a part */
}

char *bkt_vtext(const char *fmt, va_list ap)
{
    char *text = NULL;
    return vasprintf(&text, fmt, ap) < 0 ? NULL : text;
}

void bkt_say(struct bkt_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    BKT_CLEANUP(bkt_freep) char *text = bkt_vtext(fmt, ap);
    va_end(ap);
    bkt_say_str(b, text ? text : "");
}

void bkt_say_err(struct bkt_buf *b, const struct bkt_err *err)
{
    for (unsigned i = err->n; i > 0; i--)
        bkt_say(b, "%s%s", err->frame[i - 1].msg, i > 1 ? ": " : "");
    if (err->n == 0)
        bkt_say_str(b, bkt_err_text(err->code));
}

static void add(struct bkt_buf *b, const char *text) { bkt_say_str(b, text); }

/* ---- words ---- */

const char *bkt_show_kind(enum bkt_kind k)
{
    static const char *const words[] = {
        [BKT_GROUP] = "group", [BKT_DATASET] = "dataset", [BKT_DATATYPE] = "datatype"};
    return words[k];
}

const char *bkt_show_layout(enum bkt_layout_class c)
{
    const char *word = bkt_layout_name(c);
    return word ? word : "none";
}

const char *bkt_show_link(enum bkt_link_class c)
{
    return c == BKT_L_HARD ? "hard" : c == BKT_L_SOFT ? "soft" : c == BKT_L_EXTERNAL ? "external" : "other";
}

/* ---- types ---- */

#define MOST_MEMBERS 64 /* of a compound or enum that are spelled out */

static void show_compound(struct bkt_buf *b, const struct bkt_type *t)
{
    add(b, "{");
    for (size_t i = 0; i < t->n_fields && i < MOST_MEMBERS; i++) {
        add(b, i ? ", " : "");
        bkt_show_name(b, t->fields[i].name);
        add(b, ": ");
        bkt_show_type(b, t->fields[i].type);
    }
    add(b, t->n_fields > MOST_MEMBERS ? ", …}" : "}");
}

static void show_enum(struct bkt_buf *b, const struct bkt_type *t)
{
    add(b, "enum ");
    bkt_show_type(b, t->base);
    add(b, " {");
    for (size_t i = 0; i < t->n_members && i < MOST_MEMBERS; i++) {
        add(b, i ? ", " : "");
        bkt_show_name(b, t->members[i].name);
        bkt_say(b, "=%" PRId64, t->members[i].value);
    }
    add(b, t->n_members > MOST_MEMBERS ? ", …}" : "}");
}

static void show_dims(struct bkt_buf *b, const char *left, const uint64_t *v, unsigned n, const char *right)
{
    add(b, left);
    for (unsigned i = 0; i < n; i++)
        bkt_say(b, "%s%" PRIu64, i ? "," : "", v[i]);
    add(b, right);
}

void bkt_show_type(struct bkt_buf *b, const struct bkt_type *t)
{
    if (!t) {
        add(b, "?");
        return;
    }
    switch (t->cls) {
    case BKT_T_INTEGER:
        bkt_say(b, "H5T_STD_%c%zu%s", t->is_signed ? 'I' : 'U', t->size * 8, t->big_endian ? "BE" : "LE");
        break;
    case BKT_T_FLOAT: bkt_say(b, "H5T_IEEE_F%zu%s", t->size * 8, t->big_endian ? "BE" : "LE"); break;
    case BKT_T_STRING:
        add(b, t->var_string ? "string" : "");
        if (!t->var_string)
            bkt_say(b, "string[%zu]", t->size);
        add(b, t->cset == BKT_CSET_UTF8 ? " utf-8" : "");
        break;
    case BKT_T_VLEN: add(b, "list of "), bkt_show_type(b, t->base); break;
    case BKT_T_COMPOUND: show_compound(b, t); break;
    case BKT_T_ARRAY: show_dims(b, "array[", t->dims, t->rank, "] of "), bkt_show_type(b, t->base); break;
    case BKT_T_ENUM: show_enum(b, t); break;
    case BKT_T_OPAQUE: bkt_say(b, "opaque[%zu]", t->size); break;
    case BKT_T_OBJREF: add(b, "object reference"); break;
    case BKT_T_REGREF: add(b, "region reference"); break;
    default: add(b, "encoded by HDF5"); break;
    }
    if (t->committed.text[0])
        bkt_say(b, " (%s)", t->committed.text);
}

void bkt_show_space(struct bkt_buf *b, const struct bkt_space *s)
{
    if (s->cls != BKT_S_SIMPLE) {
        add(b, s->cls == BKT_S_NULL ? "null" : "scalar");
        return;
    }
    add(b, "{");
    for (unsigned i = 0; i < s->rank; i++) {
        bkt_say(b, "%s%" PRIu64, i ? ", " : "", s->dims[i]);
        if (s->maxdims[i] == BKT_UNLIMITED)
            add(b, "/Inf");
        else if (s->maxdims[i] != s->dims[i])
            bkt_say(b, "/%" PRIu64, s->maxdims[i]);
    }
    add(b, "}");
}

void bkt_show_filters(struct bkt_buf *b, const struct bkt_dset *ds)
{
    for (size_t i = 0; i < ds->n_filters; i++) {
        const struct bkt_filter_desc *f = &ds->filters[i];
        add(b, i ? ", " : "");
        if (f->name[0])
            bkt_show_name(b, f->name);
        else
            bkt_say(b, "filter %d", f->id);
        if (f->has_level)
            bkt_say(b, " %u", f->level);
    }
}

void bkt_show_time(struct bkt_buf *b, double seconds)
{
    char      text[40];
    time_t    t = (time_t)seconds;
    struct tm tm;
    if (!isfinite(seconds) || seconds <= 0 || seconds > 1e11 || !gmtime_r(&t, &tm) ||
        !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm))
        add(b, "-");
    else
        add(b, text);
}

void bkt_show_bytes(struct bkt_buf *b, uint64_t n, bool human)
{
    static const char units[] = " KMGTPE";
    double   v = (double)n;
    unsigned u = 0;
    for (; v >= 1024 && units[u + 1]; u++)
        v /= 1024;
    if (human && u)
        bkt_say(b, v < 10 ? "%.1f%c" : "%.0f%c", v, units[u]);
    else
        bkt_say(b, "%" PRIu64, n);
}

void bkt_show_name(struct bkt_buf *b, const char *name)
{
    const unsigned char *p = (const unsigned char *)name;
    for (size_t n = strlen(name); n > 0;) {
        uint32_t code = 0;
        size_t   len  = bkt_utf8_at(p, n, &code);
        if (len == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0)) {
            len = 1;
            bkt_say(b, "\\x%02x", *p);
        } else {
            bkt_say(b, "%.*s", (int)len, (const char *)p);
        }
        p += len;
        n -= len;
    }
}

void bkt_show_url(struct bkt_buf *b, const char *text)
{
    BKT_CLEANUP(bkt_freep) char *shown = strdup(text);
    bkt_show_name(b, shown ? bkt_url_shown(shown, strlen(text) + 1, text, false) : "");
}

/* The places of a dataset's data, counted: "12 chunk objects, 3.4M" or "12 chunks, 3.4M in s3://…". */
static void show_where(struct bkt_buf *b, const struct bkt_extent_use *u, bool human)
{
    if (!u->known) {
        bkt_say(b, "chunk%s, not counted: ", u->linked ? "s in files" : " objects");
        bkt_show_url(b, u->why ? u->why : "");
        return;
    }
    bkt_say(b, "%" PRIu64 " %s%s, ", u->n, u->linked ? "chunk" : "chunk object", u->n == 1 ? "" : "s");
    bkt_show_bytes(b, u->bytes, human);
    add(b, human ? "" : " bytes");
    if (u->n_files == 1 && !u->more_files) {
        add(b, " in ");
        bkt_show_url(b, u->files[0].uri);
    } else if (u->n_files) {
        bkt_say(b, " in %s%zu files", u->more_files ? "more than " : "", u->n_files);
    }
}

/* ---- JSON ---- */

void bkt_jout_time(struct bkt_jout *j, const char *key, double seconds)
{
    if (seconds > 0)
        bkt_jout_real(j, key, seconds);
    else
        bkt_jout_null(j, key);
}

void bkt_jout_shape(struct bkt_jout *j, const struct bkt_space *s)
{
    static const char *const words[] = {
        [BKT_S_NULL] = "H5S_NULL", [BKT_S_SCALAR] = "H5S_SCALAR", [BKT_S_SIMPLE] = "H5S_SIMPLE"};
    bkt_jout_open(j, "shape", '{');
    bkt_jout_str(j, "class", words[s->cls]);
    if (s->cls == BKT_S_SIMPLE) {
        bkt_jout_dims(j, "dims", s->dims, s->rank);
        bkt_jout_dims(j, "maxdims", s->maxdims, s->rank);
    }
    bkt_jout_close(j);
}

void bkt_jout_layout(struct bkt_jout *j, const struct bkt_dset *ds)
{
    const struct bkt_layout *l = &ds->layout;
    bkt_jout_members(j, "layout:s created_as:s", bkt_show_layout(l->cls), bkt_show_layout(l->user_cls));
    if (l->cls != BKT_D_NONE && l->rank)
        bkt_jout_dims(j, "chunk", l->dims, l->rank);
    bkt_jout_open(j, "filters", '[');
    for (size_t i = 0; i < ds->n_filters; i++) {
        const struct bkt_filter_desc *f = &ds->filters[i];
        bkt_jout_open(j, NULL, '{');
        bkt_jout_i64(j, "id", f->id);
        bkt_jout_str(j, "name", f->name);
        if (f->has_level)
            bkt_jout_u64(j, "level", f->level);
        bkt_jout_close(j);
    }
    bkt_jout_close(j);
}

void bkt_jout_where(struct bkt_jout *j, const struct bkt_extent_use *u)
{
    bkt_jout_open(j, "storage", '{');
    bkt_jout_str(j, "where", u->linked ? "files" : "objects");
    if (u->known) {
        bkt_jout_members(j, "chunks:n bytes:n", u->n, u->bytes);
    } else {
        bkt_jout_null(j, "chunks");
        bkt_jout_null(j, "bytes");
        bkt_jout_url(j, "why", u->why);
    }
    if (u->linked) {
        bkt_jout_open(j, "files", '[');
        for (size_t i = 0; i < u->n_files; i++)
            bkt_jout_object(j, "uri:u chunks:n bytes:n", u->files[i].uri, u->files[i].n, u->files[i].bytes);
        bkt_jout_close(j);
        bkt_jout_bool(j, "more_files", u->more_files > 0);
    }
    bkt_jout_close(j);
}

void bkt_jout_attrs(struct bkt_jout *j, const struct bkt_object *o)
{
    bkt_jout_open(j, "attributes", '[');
    for (size_t i = 0; j->to && i < o->attrs.n; i++) {
        const struct bkt_attr                   *a    = &o->attrs.v[i];
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf type = {0};
        bkt_show_type(&type, a->type);
        bkt_jout_open(j, NULL, '{');
        bkt_jout_members(j, "name:s type:s", a->name, bkt_buf_str(&type));
        bkt_jout_shape(j, &a->space);
        bkt_jout_value(j, "value", a);
        bkt_jout_close(j);
    }
    bkt_jout_close(j);
}

/* "crudep": create read update delete readACL(e) updateACL(p) */
static void show_acl(const struct bkt_acl_entry *a, const char *before)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    for (size_t i = 0; i < BKT_ACL_N; i++)
        bkt_say(&b, "%c", a->allow & bkt_acl_names[i].bit ? bkt_acl_names[i].letter : '-');
    bkt_say_str(&b, "  ");
    bkt_show_name(&b, a->user);
    printf("%s%s\n", before, bkt_buf_str(&b));
}

void bkt_show_acls(struct bkt_jout *j, const struct bkt_acl_entry *v, size_t n, const char *before)
{
    bkt_jout_open(j, "acls", '{');
    for (size_t i = 0; i < n; i++) {
        bkt_jout_open(j, v[i].user, '{');
        for (size_t k = 0; k < BKT_ACL_N; k++)
            bkt_jout_bool(j, bkt_acl_names[k].key, (v[i].allow & bkt_acl_names[k].bit) != 0);
        bkt_jout_close(j);
        if (!j->to)
            show_acl(&v[i], before);
    }
    bkt_jout_close(j);
}

/* ---- records ---- */

void bkt_shown_record_row(const struct bkt_shown_record *r, const char *name, struct bkt_buf *b)
{
    if (name && !r->j->to)
        printf("%*s%-*s %s\n", r->indent, "", r->width, name, bkt_buf_str(b));
    bkt_buf_clear(b);
}

void bkt_shown_record_str(const struct bkt_shown_record *r, const char *key, const char *name,
                          const char *text)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (key)
        bkt_jout_str(r->j, key, text);
    bkt_show_name(&b, text ? text : "-");
    bkt_shown_record_row(r, name, &b);
}

void bkt_shown_record_url(const struct bkt_shown_record *r, const char *key, const char *name,
                          const char *text)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (key)
        bkt_jout_url(r->j, key, text);
    bkt_show_url(&b, text ? text : "-");
    bkt_shown_record_row(r, name, &b);
}

static void number(const struct bkt_shown_record *r, const char *key, const char *name, uint64_t v,
                   bool human)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (key)
        bkt_jout_u64(r->j, key, v);
    bkt_show_bytes(&b, v, human);
    bkt_shown_record_row(r, name, &b);
}

void bkt_shown_record_u64(const struct bkt_shown_record *r, const char *key, const char *name, uint64_t v)
{
    number(r, key, name, v, false);
}

void bkt_shown_record_bytes(const struct bkt_shown_record *r, const char *key, const char *name, uint64_t v)
{
    number(r, key, name, v, r->human);
}

void bkt_shown_record_time(const struct bkt_shown_record *r, const char *key, const char *name,
                           double seconds)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (key)
        bkt_jout_time(r->j, key, seconds);
    bkt_show_time(&b, seconds);
    bkt_shown_record_row(r, name, &b);
}

void bkt_shown_record_type(const struct bkt_shown_record *r, const char *key, const char *name,
                           const struct bkt_type *t)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_type(&b, t);
    if (key)
        bkt_jout_str(r->j, key, bkt_buf_str(&b));
    bkt_shown_record_row(r, name, &b);
}

void bkt_shown_record_where(const struct bkt_shown_record *r, const struct bkt_extent_use *where)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    show_where(&b, where, r->human);
    bkt_shown_record_row(r, "storage", &b);
    for (size_t i = 0; where->n_files > 1 && i < where->n_files; i++) {
        bkt_say(&b, "%llu in ", (unsigned long long)where->files[i].n);
        bkt_show_url(&b, where->files[i].uri);
        bkt_shown_record_row(r, "", &b);
    }
}
