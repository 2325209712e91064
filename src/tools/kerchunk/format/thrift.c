/* See thrift.h. */
#include "tools/kerchunk/format/thrift.h"

uint64_t tc_varint(struct tc *t)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && t->rd.ok; shift += 7) {
        uint64_t b = bkt_rd_le(&t->rd, 1);
        v |= (b & 0x7f) << shift;
        if (!(b & 0x80))
            return v;
    }
    t->rd.ok = false;
    return 0;
}

int64_t tc_int(struct tc *t)
{
    uint64_t v = tc_varint(t);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

bool tc_take_int(struct tc *t, const struct tc_field *f, int id, int64_t *to)
{
    bool is = f->id == id && (f->type == TC_I16 || f->type == TC_I32 || f->type == TC_I64);
    if (is)
        *to = tc_int(t);
    return is;
}

bool tc_is(struct tc *t, enum tc_type type, enum tc_type want)
{
    if (type != want)
        tc_skip(t, type);
    return type == want;
}

bool tc_next(struct tc *t, struct tc_field *f)
{
    unsigned b = (unsigned)bkt_rd_le(&t->rd, 1);
    if (!t->rd.ok || (b & 15) == TC_STOP)
        return false;
    int64_t id = b >> 4 ? f->id + (int64_t)(b >> 4) : tc_int(t);
    if ((b & 15) > TC_STRUCT || id < 0 || id > INT16_MAX)
        t->rd.ok = false;
    f->type = (enum tc_type)(b & 15);
    f->id = (int)id;
    return t->rd.ok;
}

uint64_t tc_list(struct tc *t, enum tc_type *entry)
{
    unsigned b = (unsigned)bkt_rd_le(&t->rd, 1);
    uint64_t n = b >> 4;
    if (n == 15)
        n = tc_varint(t);
    *entry = (enum tc_type)(b & 15);
    /* an entry takes a byte or more; fastparquet's empty lists have no type */
    if (*entry > TC_STRUCT || (*entry == TC_STOP && n) || n > bkt_rd_left(&t->rd))
        t->rd.ok = false;
    return t->rd.ok ? n : 0;
}

const void *tc_binary(struct tc *t, size_t *n)
{
    uint64_t len = tc_varint(t);
    *n = (size_t)len;
    if (len > bkt_rd_left(&t->rd))
        t->rd.ok = false;
    return t->rd.ok ? bkt_rd_take(&t->rd, *n) : NULL;
}

/* In a list or map a bool is a byte; as a field its type is the value. */
static void skip_entry(struct tc *t, enum tc_type type)
{
    tc_skip(t, type == TC_TRUE || type == TC_FALSE ? TC_BYTE : type);
}

static void skip_list(struct tc *t)
{
    enum tc_type entry = TC_STOP;
    uint64_t n = tc_list(t, &entry);
    for (uint64_t i = 0; i < n && t->rd.ok; i++)
        skip_entry(t, entry);
}

static void skip_map(struct tc *t)
{
    uint64_t n = tc_varint(t);
    unsigned kv = n ? (unsigned)bkt_rd_le(&t->rd, 1) : 0;
    for (uint64_t i = 0; i < n && t->rd.ok; i++) {
        skip_entry(t, (enum tc_type)(kv >> 4));
        skip_entry(t, (enum tc_type)(kv & 15));
    }
}

static void skip_struct(struct tc *t)
{
    struct tc_field f = {TC_STOP, 0};
    while (tc_next(t, &f))
        tc_skip(t, f.type);
}

void tc_skip(struct tc *t, enum tc_type type)
{
    size_t n;
    if (++t->depth > TC_DEPTH)
        t->rd.ok = false;
    switch (t->rd.ok ? type : TC_TRUE) {
    case TC_TRUE:
    case TC_FALSE:
        break;
    case TC_BYTE:
        (void)bkt_rd_le(&t->rd, 1);
        break;
    case TC_I16:
    case TC_I32:
    case TC_I64:
        (void)tc_varint(t);
        break;
    case TC_DOUBLE:
        (void)bkt_rd_take(&t->rd, 8);
        break;
    case TC_BINARY:
        (void)tc_binary(t, &n);
        break;
    case TC_LIST:
    case TC_SET:
        skip_list(t);
        break;
    case TC_MAP:
        skip_map(t);
        break;
    case TC_STRUCT:
        skip_struct(t);
        break;
    default:
        t->rd.ok = false;
    }
    t->depth--;
}
