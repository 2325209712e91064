/* See thrift.h. */
#include "tools/kerchunk/format/thrift.h"

uint64_t thrift_varint(struct thrift *t)
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

int64_t thrift_int(struct thrift *t)
{
    uint64_t v = thrift_varint(t);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

bool thrift_take_int(struct thrift *t, const struct thrift_field *f, int id, int64_t *to)
{
    bool is = f->id == id && (f->type == THRIFT_I16 || f->type == THRIFT_I32 || f->type == THRIFT_I64);
    if (is)
        *to = thrift_int(t);
    return is;
}

bool thrift_is(struct thrift *t, enum thrift_type type, enum thrift_type want)
{
    if (type != want)
        thrift_skip(t, type);
    return type == want;
}

bool thrift_next(struct thrift *t, struct thrift_field *f)
{
    unsigned b = (unsigned)bkt_rd_le(&t->rd, 1);
    if (!t->rd.ok || (b & 15) == THRIFT_STOP)
        return false;
    int64_t id = b >> 4 ? f->id + (int64_t)(b >> 4) : thrift_int(t);
    if ((b & 15) > THRIFT_STRUCT || id < 0 || id > INT16_MAX)
        t->rd.ok = false;
    f->type = (enum thrift_type)(b & 15);
    f->id = (int)id;
    return t->rd.ok;
}

uint64_t thrift_list(struct thrift *t, enum thrift_type *entry)
{
    unsigned b = (unsigned)bkt_rd_le(&t->rd, 1);
    uint64_t n = b >> 4;
    if (n == 15)
        n = thrift_varint(t);
    *entry = (enum thrift_type)(b & 15);
    /* an entry takes a byte or more; fastparquet's empty lists have no type */
    if (*entry > THRIFT_STRUCT || (*entry == THRIFT_STOP && n) || n > bkt_rd_left(&t->rd))
        t->rd.ok = false;
    return t->rd.ok ? n : 0;
}

const void *thrift_binary(struct thrift *t, size_t *n)
{
    uint64_t len = thrift_varint(t);
    *n = (size_t)len;
    if (len > bkt_rd_left(&t->rd))
        t->rd.ok = false;
    return t->rd.ok ? bkt_rd_take(&t->rd, *n) : NULL;
}

/* In a list or map a bool is a byte; as a field its type is the value. */
static void skip_entry(struct thrift *t, enum thrift_type type)
{
    thrift_skip(t, type == THRIFT_TRUE || type == THRIFT_FALSE ? THRIFT_BYTE : type);
}

static void skip_list(struct thrift *t)
{
    enum thrift_type entry = THRIFT_STOP;
    uint64_t n = thrift_list(t, &entry);
    for (uint64_t i = 0; i < n && t->rd.ok; i++)
        skip_entry(t, entry);
}

static void skip_map(struct thrift *t)
{
    uint64_t n = thrift_varint(t);
    unsigned kv = n ? (unsigned)bkt_rd_le(&t->rd, 1) : 0;
    for (uint64_t i = 0; i < n && t->rd.ok; i++) {
        skip_entry(t, (enum thrift_type)(kv >> 4));
        skip_entry(t, (enum thrift_type)(kv & 15));
    }
}

static void skip_struct(struct thrift *t)
{
    struct thrift_field f = {THRIFT_STOP, 0};
    while (thrift_next(t, &f))
        thrift_skip(t, f.type);
}

void thrift_skip(struct thrift *t, enum thrift_type type)
{
    size_t n;
    if (++t->depth > THRIFT_DEPTH)
        t->rd.ok = false;
    switch (t->rd.ok ? type : THRIFT_TRUE) {
    case THRIFT_TRUE:
    case THRIFT_FALSE:
        break;
    case THRIFT_BYTE:
        (void)bkt_rd_le(&t->rd, 1);
        break;
    case THRIFT_I16:
    case THRIFT_I32:
    case THRIFT_I64:
        (void)thrift_varint(t);
        break;
    case THRIFT_DOUBLE:
        (void)bkt_rd_take(&t->rd, 8);
        break;
    case THRIFT_BINARY:
        (void)thrift_binary(t, &n);
        break;
    case THRIFT_LIST:
    case THRIFT_SET:
        skip_list(t);
        break;
    case THRIFT_MAP:
        skip_map(t);
        break;
    case THRIFT_STRUCT:
        skip_struct(t);
        break;
    default:
        t->rd.ok = false;
    }
    t->depth--;
}
