#include "tools/show/record.h"

void bkt_record_row(const struct bkt_record *r, const char *name, struct bkt_buf *b)
{
    if (name && !r->j->to)
        printf("%*s%-*s %s\n", r->indent, "", r->width, name, bkt_buf_str(b));
    bkt_buf_clear(b);
}

void bkt_record_str(const struct bkt_record *r, const char *key, const char *name, const char *text)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (key)
        bkt_jout_str(r->j, key, text);
    bkt_show_name(&b, text ? text : "-");
    bkt_record_row(r, name, &b);
}

void bkt_record_url(const struct bkt_record *r, const char *key, const char *name, const char *text)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (key)
        bkt_jout_url(r->j, key, text);
    bkt_show_url(&b, text ? text : "-");
    bkt_record_row(r, name, &b);
}

static void number(const struct bkt_record *r, const char *key, const char *name, uint64_t v, bool human)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (key)
        bkt_jout_u64(r->j, key, v);
    bkt_show_bytes(&b, v, human);
    bkt_record_row(r, name, &b);
}

void bkt_record_u64(const struct bkt_record *r, const char *key, const char *name, uint64_t v)
{
    number(r, key, name, v, false);
}

void bkt_record_bytes(const struct bkt_record *r, const char *key, const char *name, uint64_t v)
{
    number(r, key, name, v, r->human);
}

void bkt_record_time(const struct bkt_record *r, const char *key, const char *name, double seconds)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    if (key)
        bkt_jout_time(r->j, key, seconds);
    bkt_show_time(&b, seconds);
    bkt_record_row(r, name, &b);
}

void bkt_record_type(const struct bkt_record *r, const char *key, const char *name, const struct bkt_type *t)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_type(&b, t);
    if (key)
        bkt_jout_str(r->j, key, bkt_buf_str(&b));
    bkt_record_row(r, name, &b);
}

void bkt_record_where(const struct bkt_record *r, const struct bkt_extent_use *where)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    bkt_show_where(&b, where, r->human);
    bkt_record_row(r, "storage", &b);
    for (size_t i = 0; where->n_files > 1 && i < where->n_files; i++) {
        bkt_say(&b, "%llu in ", (unsigned long long)where->files[i].n);
        bkt_show_url(&b, where->files[i].uri);
        bkt_record_row(r, "", &b);
    }
}
