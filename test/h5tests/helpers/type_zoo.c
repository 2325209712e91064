#include "h5tests/helpers/type_zoo.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */

#define STANDARD(name, type)                                                                                 \
    static hid_t name(void) { return H5Tcopy(type); }
STANDARD(i8le, H5T_STD_I8LE)
STANDARD(u8be, H5T_STD_U8BE)
STANDARD(i16be, H5T_STD_I16BE)
STANDARD(u16le, H5T_STD_U16LE)
STANDARD(i32le, H5T_STD_I32LE)
STANDARD(u32be, H5T_STD_U32BE)
STANDARD(i64be, H5T_STD_I64BE)
STANDARD(u64le, H5T_STD_U64LE)
STANDARD(f32be, H5T_IEEE_F32BE)
STANDARD(f64le, H5T_IEEE_F64LE)
STANDARD(long_double, H5T_NATIVE_LDOUBLE)
STANDARD(vax_float, H5T_VAX_F32)
STANDARD(bits8, H5T_STD_B8LE)
STANDARD(bits32be, H5T_STD_B32BE)
STANDARD(time32, H5T_UNIX_D32LE)
STANDARD(object_ref, H5T_STD_REF_OBJ)
STANDARD(region_ref, H5T_STD_REF_DSETREG)
STANDARD(new_ref, H5T_STD_REF)

static hid_t half(void)
{
    hid_t t = H5Tcopy(H5T_IEEE_F32BE);
    H5Tset_fields(t, 15, 10, 5, 0, 10);
    H5Tset_precision(t, 16);
    H5Tset_size(t, 2);
    H5Tset_ebias(t, 15);
    return t;
}

static hid_t bfloat(void)
{
    hid_t t = H5Tcopy(H5T_IEEE_F32LE);
    H5Tset_fields(t, 15, 7, 8, 0, 7);
    H5Tset_precision(t, 16);
    H5Tset_size(t, 2);
    return t;
}

static hid_t odd_float(void)
{
    hid_t t = H5Tcopy(H5T_IEEE_F64BE);
    H5Tset_fields(t, 37, 26, 11, 6, 20);
    H5Tset_offset(t, 6);
    H5Tset_precision(t, 32);
    H5Tset_size(t, 5);
    H5Tset_ebias(t, 77);
    return t;
}

static hid_t odd_int(void)
{
    hid_t t = H5Tcopy(H5T_STD_I32BE);
    H5Tset_precision(t, 17);
    H5Tset_offset(t, 3);
    return t;
}

static hid_t int24(void)
{
    hid_t t = H5Tcopy(H5T_STD_U32LE);
    H5Tset_precision(t, 24);
    H5Tset_size(t, 3);
    return t;
}

static hid_t few_bits(void)
{
    hid_t t = H5Tcopy(H5T_STD_B16LE);
    H5Tset_precision(t, 9);
    H5Tset_offset(t, 2);
    return t;
}

hid_t zoo_text(size_t size, H5T_str_t pad, H5T_cset_t set)
{
    hid_t t = H5Tcopy(H5T_C_S1);
    H5Tset_size(t, size);
    H5Tset_strpad(t, pad);
    H5Tset_cset(t, set);
    return t;
}
static hid_t text_term(void) { return zoo_text(7, H5T_STR_NULLTERM, H5T_CSET_ASCII); }
static hid_t text_pad(void) { return zoo_text(6, H5T_STR_NULLPAD, H5T_CSET_UTF8); }
static hid_t text_space(void) { return zoo_text(5, H5T_STR_SPACEPAD, H5T_CSET_ASCII); }
static hid_t text_var(void) { return zoo_text(H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_UTF8); }
static hid_t text_var_space(void) { return zoo_text(H5T_VARIABLE, H5T_STR_SPACEPAD, H5T_CSET_ASCII); }

static hid_t opaque(void)
{
    hid_t t = H5Tcreate(H5T_OPAQUE, 11);
    H5Tset_tag(t, "a tag, with \"marks\"");
    return t;
}

static hid_t colours(void)
{
    static const struct {
        const char *name;
        short       v;
    } m[] = {{"red", 5}, {"green", -3}, {"blue", 1000}, {"alpha", 0}};
    hid_t t = H5Tenum_create(H5T_NATIVE_SHORT);
    for (size_t i = 0; i < 4; i++)
        H5Tenum_insert(t, m[i].name, &m[i].v);
    return t;
}

static hid_t odd_enum(void)
{
    unsigned char v[4] = {8, 0, 0, 0};
    hid_t         base = odd_int(), t = H5Tenum_create(base);
    H5Tenum_insert(t, "eight", v);
    H5Tclose(base);
    return t;
}

static hid_t grid(hid_t base)
{
    const hsize_t dims[2] = {3, 2};
    hid_t         t       = H5Tarray_create2(base, 2, dims);
    H5Tclose(base);
    return t;
}
static hid_t array_int(void) { return grid(H5Tcopy(H5T_STD_I16LE)); }
static hid_t array_text(void) { return grid(text_pad()); }
static hid_t array_var_text(void) { return grid(text_var()); }
static hid_t array_array(void) { return grid(grid(H5Tcopy(H5T_IEEE_F32LE))); }
static hid_t array_bits(void) { return grid(few_bits()); }

static hid_t sequence(hid_t base)
{
    hid_t t = H5Tvlen_create(base);
    H5Tclose(base);
    return t;
}
static hid_t seq_int(void) { return sequence(H5Tcopy(H5T_STD_I32BE)); }
static hid_t seq_seq(void) { return sequence(sequence(H5Tcopy(H5T_STD_U8LE))); }
static hid_t seq_text(void) { return sequence(text_var()); }
static hid_t seq_array(void) { return sequence(array_int()); }
static hid_t seq_ref(void) { return sequence(object_ref()); }

struct field {
    const char *name;
    size_t      offset;
    hid_t (*make)(void);
};

static hid_t compound(size_t size, const struct field *f, size_t n)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, size);
    for (size_t i = 0; i < n; i++) {
        hid_t m = f[i].make();
        H5Tinsert(t, f[i].name, f[i].offset, m);
        H5Tclose(m);
    }
    return t;
}
#define COMPOUND(name, size, ...)                                                                            \
    static hid_t name(void)                                                                                  \
    {                                                                                                        \
        static const struct field f[] = {__VA_ARGS__};                                                       \
        return compound((size), f, sizeof f / sizeof *f);                                                    \
    }
COMPOUND(packed, 15, {"a", 0, i32le}, {"b", 4, f64le}, {"c", 12, u8be}, {"d", 13, i16be})
COMPOUND(padded, 40, {"a", 1, i32le}, {"b", 8, f64le}, {"c", 17, u8be}, {"d", 30, i16be})
COMPOUND(backwards, 12, {"z", 8, i32le}, {"a", 4, u32be}, {"m", 0, i32le})
COMPOUND(nested, 80, {"first", 0, padded}, {"text", 40, text_term}, {"second", 50, packed}, {"e", 66, colours}, {"g", 68, array_int})
COMPOUND(with_bits, 24, {"bits", 0, few_bits}, {"real", 8, odd_float}, {"int", 16, odd_int}, {"raw", 13, bits8})
COMPOUND(with_var, 48, {"n", 0, i32le}, {"s", 8, text_var}, {"q", 16, seq_int}, {"x", 40, f32be})
COMPOUND(with_refs, 24, {"o", 0, object_ref}, {"d", 8, region_ref}, {"i", 20, i32le})
COMPOUND(with_new_ref, 72, {"r", 0, new_ref}, {"i", 64, i32le})
COMPOUND(one_var, 16, {"q", 0, seq_int})
COMPOUND(utf8_names, 8, {"gr\xc3\xb6\xc3\x9f" "e", 0, i32le}, {"a b/c", 4, i32le})
static hid_t array_compound(void) { return grid(padded()); }
static hid_t array_with_var(void) { return grid(with_var()); }
static hid_t seq_region(void) { return sequence(region_ref()); }
static hid_t array_region(void) { return grid(region_ref()); }
static hid_t seq_compound(void) { return sequence(padded()); }
static hid_t seq_with_var(void) { return sequence(with_var()); }
COMPOUND(deep, 120, {"v", 0, seq_with_var}, {"n", 16, nested}, {"t", 104, seq_seq})

const struct zoo_type zoo[] = {
    {"i8le", i8le, true}, {"u8be", u8be, true}, {"i16be", i16be, true}, {"u16le", u16le, true}, {"i32le", i32le, true},
    {"u32be", u32be, true}, {"i64be", i64be, true}, {"u64le", u64le, true}, {"f32be", f32be, true}, {"f64le", f64le, true},
    {"half", half, true}, {"bfloat", bfloat, false}, {"odd_float", odd_float, false}, {"long_double", long_double, false},
    {"vax_float", vax_float, false}, {"odd_int", odd_int, false}, {"int24", int24, false}, {"bits8", bits8, false},
    {"bits32be", bits32be, false}, {"few_bits", few_bits, false}, {"time32", time32, false}, {"text_term", text_term, true},
    {"text_pad", text_pad, true}, {"text_space", text_space, true}, {"text_var", text_var, true},
    {"text_var_space", text_var_space, true}, {"opaque", opaque, true}, {"colours", colours, true}, {"odd_enum", odd_enum, false},
    {"array_int", array_int, true}, {"array_text", array_text, true}, {"array_var_text", array_var_text, true},
    {"array_array", array_array, true}, {"array_bits", array_bits, false}, {"seq_int", seq_int, true}, {"seq_seq", seq_seq, true},
    {"seq_text", seq_text, true}, {"seq_array", seq_array, true}, {"seq_ref", seq_ref, true}, {"packed", packed, true},
    {"padded", padded, false}, {"backwards", backwards, false}, {"nested", nested, false}, {"with_bits", with_bits, false},
    {"with_var", with_var, false}, {"with_refs", with_refs, true}, {"with_new_ref", with_new_ref, false}, {"one_var", one_var, true},
    {"utf8_names", utf8_names, true}, {"array_compound", array_compound, false}, {"array_with_var", array_with_var, false},
    {"seq_compound", seq_compound, false}, {"seq_with_var", seq_with_var, false}, {"deep", deep, false},
    {"object_ref", object_ref, true}, {"region_ref", region_ref, false}, {"new_ref", new_ref, false},
    {"seq_region", seq_region, true}, {"array_region", array_region, true},
};
const size_t zoo_size = sizeof zoo / sizeof *zoo;

/* ---- values ---- */

static unsigned next(unsigned *seed) { return (*seed = *seed * 1103515245U + 12345U) >> 16; }

static void fill_one(hid_t type, unsigned char *p, unsigned *seed);

static void fill_text(hid_t type, unsigned char *p, unsigned *seed)
{
    static const char *const words[] = {"", "a", "b\xc3\xa9", "four", "seven c"};
    const char *w = words[next(seed) % 5];
    if (H5Tis_variable_str(type) > 0) {
        char *s = H5allocate_memory(strlen(w) + 1, false);
        strcpy(s, w);
        memcpy(p, &s, sizeof s);
        return;
    }
    size_t size = H5Tget_size(type), n = strlen(w) < size ? strlen(w) : size;
    if (n == size && H5Tget_strpad(type) == H5T_STR_NULLTERM)
        n--;
    memset(p, H5Tget_strpad(type) == H5T_STR_SPACEPAD ? ' ' : 0, size);
    memcpy(p, w, n);
}

static void fill_sequence(hid_t type, unsigned char *p, unsigned *seed)
{
    hid_t  base = H5Tget_super(type);
    size_t size = H5Tget_size(base);
    hvl_t  v    = {.len = next(seed) % 4, .p = NULL};
    if (v.len)
        v.p = H5allocate_memory(v.len * size, true);
    for (size_t i = 0; i < v.len; i++)
        fill_one(base, (unsigned char *)v.p + i * size, seed);
    memcpy(p, &v, sizeof v);
    H5Tclose(base);
}

static void fill_array(hid_t type, unsigned char *p, unsigned *seed)
{
    hid_t  base = H5Tget_super(type);
    size_t size = H5Tget_size(base);
    for (size_t i = 0; i * size < H5Tget_size(type); i++)
        fill_one(base, p + i * size, seed);
    H5Tclose(base);
}

static void fill_compound(hid_t type, unsigned char *p, unsigned *seed)
{
    int n = H5Tget_nmembers(type);
    memset(p, 0, H5Tget_size(type));
    for (int i = 0; i < n; i++) {
        hid_t m = H5Tget_member_type(type, (unsigned)i);
        fill_one(m, p + H5Tget_member_offset(type, (unsigned)i), seed);
        H5Tclose(m);
    }
}

static void fill_one(hid_t type, unsigned char *p, unsigned *seed)
{
    size_t size = H5Tget_size(type);
    switch (H5Tget_class(type)) {
        case H5T_STRING:
            fill_text(type, p, seed);
            return;
        case H5T_VLEN:
            fill_sequence(type, p, seed);
            return;
        case H5T_ARRAY:
            fill_array(type, p, seed);
            return;
        case H5T_COMPOUND:
            fill_compound(type, p, seed);
            return;
        case H5T_REFERENCE:
            memset(p, 0, size);
            return;
        case H5T_ENUM:
            H5Tget_member_value(type, next(seed) % (unsigned)H5Tget_nmembers(type), p);
            return;
        default:
            for (size_t i = 0; i < size; i++)
                p[i] = (unsigned char)next(seed);
    }
}

void zoo_fill(hid_t type, void *buf, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        fill_one(type, (unsigned char *)buf + i * H5Tget_size(type), &seed);
}

static bool same_one(hid_t type, const unsigned char *a, const unsigned char *b);

static bool same_parts(hid_t type, const unsigned char *a, const unsigned char *b, size_t n)
{
    hid_t base = H5Tget_super(type);
    bool  same = zoo_same(base, a, b, n);
    H5Tclose(base);
    return same;
}

static bool same_compound(hid_t type, const unsigned char *a, const unsigned char *b)
{
    bool same = true;
    for (unsigned i = 0; same && i < (unsigned)H5Tget_nmembers(type); i++) {
        hid_t  m  = H5Tget_member_type(type, i);
        size_t at = H5Tget_member_offset(type, i);
        same      = same_one(m, a + at, b + at);
        H5Tclose(m);
    }
    return same;
}

static bool same_one(hid_t type, const unsigned char *a, const unsigned char *b)
{
    size_t      size = H5Tget_size(type);
    const char *s, *t;
    hvl_t       v, w;
    switch (H5Tget_class(type)) {
        case H5T_STRING:
            if (H5Tis_variable_str(type) <= 0)
                return memcmp(a, b, size) == 0;
            memcpy(&s, a, sizeof s);
            memcpy(&t, b, sizeof t);
            return s && t && strcmp(s, t) == 0;
        case H5T_VLEN:
            memcpy(&v, a, sizeof v);
            memcpy(&w, b, sizeof w);
            return v.len == w.len && (v.len == 0 || same_parts(type, v.p, w.p, v.len));
        case H5T_ARRAY: {
            hid_t  base = H5Tget_super(type);
            size_t n    = size / H5Tget_size(base);
            H5Tclose(base);
            return same_parts(type, a, b, n);
        }
        case H5T_COMPOUND:
            return same_compound(type, a, b);
        default:
            return memcmp(a, b, size) == 0;
    }
}

bool zoo_same(hid_t type, const void *a, const void *b, size_t n)
{
    size_t size = H5Tget_size(type);
    for (size_t i = 0; i < n; i++)
        if (!same_one(type, (const unsigned char *)a + i * size, (const unsigned char *)b + i * size))
            return false;
    return true;
}
