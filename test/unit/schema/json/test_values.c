/* Attribute and fill values: JSON -> stored form, given in hex. */
#include "unit/schema/json/json_testing.h"
#include "schema/json/reference_text.h"

#define SCALAR       "{'class': 'H5S_SCALAR'}"
#define S(n)         "{'class': 'H5S_SIMPLE', 'dims': [" n "]}"
#define VSTR         "{'class': 'H5T_STRING', 'charSet': 'H5T_CSET_UTF8', 'length': 'H5T_VARIABLE'}"
#define FSTR(n, pad) "{'class': 'H5T_STRING', 'strPad': 'H5T_STR_" pad "', 'length': " n "}"
#define VLEN(b)      "{'class': 'H5T_VLEN', 'base': " b "}"
#define BOOL         "{'class': 'H5T_ENUM', 'base': 'H5T_STD_I8LE', 'mapping': {'FALSE': 0, 'TRUE': 1}}"
#define CMP                                                                                                  \
    "{'class': 'H5T_COMPOUND', 'fields': [{'name': 'a', 'type': 'H5T_STD_I16LE'}, {'name': 's', "            \
    "'type': " VSTR "}]}"
/* It must not be walked through element by element */
#define ARRAY(b) "{'class': 'H5T_ARRAY', 'dims': [4294967295, 4294967295], 'base': " b "}"
#define REF "{'class': 'H5T_REFERENCE', 'base': 'H5T_STD_REF_OBJ'}"
#define REG "{'class': 'H5T_REFERENCE', 'base': 'H5T_STD_REF_DSETREG'}"

/* hex NULL: no value; "!": the value is bad */
static const struct {
    const char *what, *type, *shape, *value, *hex;
} cases[] = {
    {"int", "'H5T_STD_I32LE'", SCALAR, "258", "02010000"},
    {"int, big-endian", "'H5T_STD_I32BE'", SCALAR, "258", "00000102"},
    {"negative", "'H5T_STD_I16LE'", SCALAR, "-2", "feff"},
    {"scalar in a list", "'H5T_STD_I8LE'", SCALAR, "[7]", "07"},
    {"one element without a list", "'H5T_STD_I8LE'", S("1"), "7", "07"},
    {"int64 extremes", "'H5T_STD_I64LE'", S("2"), "[-9223372036854775808, 9223372036854775807]",
     "0000000000000080ffffffffffffff7f"},
    {"uint64 maximum", "'H5T_STD_U64BE'", SCALAR, "18446744073709551615", "ffffffffffffffff"},
    {"2^53 + 1 exactly", "'H5T_STD_U64LE'", SCALAR, "9007199254740993", "0100000000002000"},
    {"float for an int", "'H5T_STD_I8LE'", SCALAR, "5.0", "05"},
    {"bool for an int", "'H5T_STD_U8LE'", S("2"), "[true, false]", "0100"},
    {"too large", "'H5T_STD_I8LE'", SCALAR, "128", "!"},
    {"too small", "'H5T_STD_I8LE'", SCALAR, "-129", "!"},
    {"negative for unsigned", "'H5T_STD_U8LE'", SCALAR, "-1", "!"},
    {"beyond 64 bits", "'H5T_STD_U64LE'", SCALAR, "18446744073709551616", "!"},
    {"below 64 bits", "'H5T_STD_I64LE'", SCALAR, "-9223372036854775809", "!"},
    {"a fraction for an int", "'H5T_STD_I8LE'", SCALAR, "1.5", "!"},
    {"NaN for an int", "'H5T_STD_I8LE'", SCALAR, "NaN", "!"},
    {"text for an int", "'H5T_STD_I8LE'", SCALAR, "'7'", "!"},
    {"null element", "'H5T_STD_I8LE'", S("1"), "[null]", "!"},
    {"float", "'H5T_IEEE_F64LE'", SCALAR, "1e+22", "92d54d06cff08044"},
    {"double", "'H5T_IEEE_F64BE'", SCALAR, "3.5", "400c000000000000"},
    {"int for a float", "'H5T_IEEE_F32LE'", SCALAR, "2", "00000040"},
    {"huge int for a float", "'H5T_IEEE_F64BE'", SCALAR, "100000000000000000000", "4415af1d78b58c40"},
    {"minus zero", "'H5T_IEEE_F32BE'", SCALAR, "-0.0", "80000000"},
    {"bare NaN and infinities", "'H5T_IEEE_F32BE'", S("3"), "[NaN, Infinity, -Infinity]",
     "7fc000007f800000ff800000"},
    {"nan as a word", "'H5T_IEEE_F64BE'", SCALAR, "'nan'", "7ff8000000000000"},
    {"overflowing real", "'H5T_IEEE_F64BE'", SCALAR, "1e999", "7ff0000000000000"},
    {"half", "'H5T_IEEE_F16BE'", S("8"), "[1, -2, 65504, 65520, 6e-08, 1e-10, 0.333251953125, NaN]",
     "3c00c0007bff7c00000100003555"
     "7e00"},
    {"half, subnormal and its edge", "'H5T_IEEE_F16BE'", S("3"),
     "[6.103515625e-05, 6.0975551605224609e-05, 2049]", "040003ff6800"},
    {"fixed string, NUL padded", FSTR("4", "NULLPAD"), SCALAR, "'ab'", "61620000"},
    {"fixed string, terminated", FSTR("4", "NULLTERM"), SCALAR, "'abcd'", "61626364"},
    {"fixed string, space padded", FSTR("4", "SPACEPAD"), SCALAR, "'ab'", "61622020"},
    {"fixed string, too long", FSTR("2", "NULLPAD"), SCALAR, "'abc'", "!"},
    {"length counts bytes", FSTR("3", "NULLPAD"), SCALAR, "'\\u20ac'", "e282ac"},
    {"number 0 for empty text", VSTR, S("3"), "['a', 0, 0]", "01000000610000000000000000"},
    {"text beyond the BMP", VSTR, SCALAR, "'\\ud83d\\ude00'", "04000000f09f9880"},
    {"raw bytes by surrogateescape", VSTR, SCALAR, "'caf\\udce9!'", "05000000636166e921"},
    {"a high surrogate alone", VSTR, SCALAR, "'\\ud800x'", "04000000eda08078"},
    {"a low surrogate that escapes nothing", VSTR, SCALAR, "'\\udc00'", "03000000edb080"},
    {"the mark itself, escaped", VSTR, SCALAR, "'\\udbff\\udfff'", "04000000f48fbfbf"},
    {"the mark itself, raw, before a raw byte", VSTR, SCALAR, "'\364\217\277\277\\udc80'",
     "05000000f48fbfbf80"},
    {"the tag itself", VSTR, S("3"), "['\\u0001NaN', '\\u0001', '\\u0001\\u0001x']",
     "04000000014e614e"
     "0100000001"
     "03000000010178"},
    {"NUL inside text", VSTR, SCALAR, "'a\\u0000b'", "03000000610062"},
    {"word that looks like a token", VSTR, SCALAR, "'NaN, -Infinity 12345678901234567890'",
     "230000004e614e2c202d496e66696e697479203132333435363738393031323334353637383930"},
    {"number for text", VSTR, SCALAR, "5", "!"},
    {"bare NaN for text", VSTR, SCALAR, "NaN", "!"},
    {"bool enum by truth", BOOL, S("2"), "[true, false]", "0100"},
    {"bool enum by number", BOOL, S("2"), "[1, 0]", "0100"},
    {"enum by name", BOOL, SCALAR, "'TRUE'", "01"},
    {"enum by unknown name", BOOL, SCALAR, "'MAYBE'", "!"},
    {"opaque text", "{'class': 'H5T_OPAQUE', 'size': 4}", SCALAR, "'a\\u0000b'", "61006200"},
    {"opaque by surrogateescape", "{'class': 'H5T_OPAQUE', 'size': 1}", SCALAR, "'\\udcff'", "ff"},
    {"opaque base64", "{'class': 'H5T_OPAQUE', 'size': 2}", S("2"), "'//4AAQ==', 'encoding': 'base64'",
     "fffe0001"},
    {"base64 of a scalar", "'H5T_STD_I16LE'", SCALAR, "'AQI=', 'encoding': 'base64'", "0102"},
    {"base64 too short", "'H5T_STD_I32LE'", SCALAR, "'AQI=', 'encoding': 'base64'", "!"},
    {"base64 that is none", "'H5T_STD_I8LE'", SCALAR, "'*', 'encoding': 'base64'", "!"},
    {"base64 that is no text", "'H5T_STD_I8LE'", SCALAR, "5, 'encoding': 'base64'", "!"},
    {"base64 of variable length, zeros behind", VSTR, S("2"), "'AQAAAGEAAAAAAAAAAA==', 'encoding': 'base64'",
     "010000006100000000"},
    {"base64 whose counts lie", VSTR, S("2"), "'/////2E=', 'encoding': 'base64'", "!"},
    {"two dimensions", "'H5T_STD_I8LE'", S("2,2"), "[[1, 2], [3, 4]]", "01020304"},
    {"two dimensions, flat", "'H5T_STD_I8LE'", S("2,2"), "[1, 2, 3, 4]", "01020304"},
    {"too few", "'H5T_STD_I8LE'", S("3"), "[1, 2]", "!"},
    {"too many", "'H5T_STD_I8LE'", S("1"), "[1, 2]", "!"},
    {"too shallow", "'H5T_STD_I8LE'", S("2,1"), "[1]", "!"},
    {"too deep", "'H5T_STD_I8LE'", S("1"), "[[1]]", "!"},
    {"zero extent", "'H5T_STD_I8LE'", S("0"), "[]", ""},
    {"compound scalar", CMP, SCALAR, "[5, 'hi']", "0500020000006869"},
    {"compound scalar in a list", CMP, SCALAR, "[[5, 'hi']]", "0500020000006869"},
    {"compound array", CMP, S("2"), "[[1, ''], [2, 0]]", "010000000000020000000000"},
    {"compound by names", CMP, SCALAR, "{'s': 'x', 'a': 1}", "01000100000078"},
    {"compound too short", CMP, S("1"), "[[1]]", "!"},
    {"compound of one", "{'class': 'H5T_COMPOUND', 'fields': [{'name': 'a', 'type': 'H5T_STD_I8LE'}]}",
     SCALAR, "[[3]]", "03"},
    {"compound of one, bare", "{'class': 'H5T_COMPOUND', 'fields': [{'name': 'a', 'type': 'H5T_STD_I8LE'}]}",
     SCALAR, "[3]", "03"},
    {"array type", "{'class': 'H5T_ARRAY', 'dims': [2, 2], 'base': 'H5T_STD_I8LE'}", SCALAR,
     "[[1, 2], [3, 4]]", "01020304"},
    {"array type in a list", "{'class': 'H5T_ARRAY', 'dims': [2], 'base': 'H5T_STD_I8LE'}", SCALAR,
     "[[1, 2]]", "0102"},
    {"array of one in a list", "{'class': 'H5T_ARRAY', 'dims': [1], 'base': 'H5T_STD_I8LE'}", SCALAR, "[[1]]",
     "01"},
    {"array of texts", "{'class': 'H5T_ARRAY', 'dims': [2], 'base': " VSTR "}", S("1"), "[['a', '']]",
     "010000006100000000"},
    {"vlen", VLEN("'H5T_STD_I32LE'"), S("3"), "[[1, 2], [], [7]]",
     "0800000001000000020000000000000004000000"
     "07000000"},
    {"vlen, 0 for none", VLEN("'H5T_STD_I32LE'"), S("2"), "[0, [1]]", "000000000400000001000000"},
    {"vlen scalar", VLEN("'H5T_STD_I8LE'"), SCALAR, "[1, 2]", "020000000102"},
    {"vlen scalar in a list", VLEN("'H5T_STD_I8LE'"), SCALAR, "[[1, 2]]", "020000000102"},
    {"vlen of one", VLEN("'H5T_STD_I8LE'"), SCALAR, "[1]", "0100000001"},
    {"vlen of vlen", VLEN(VLEN("'H5T_STD_I8LE'")), S("1"), "[[[1], []]]", "09000000010000000100000000"},
    {"vlen of text", VLEN(VSTR), S("1"), "[['a']]", "050000000100000061"},
    {"vlen that is a number", VLEN("'H5T_STD_I8LE'"), S("1"), "[3]", "!"},
    {"null reference", REF, SCALAR, "''",
     "000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"},
    {"bad reference", REF, SCALAR, "'datasets/x'", "!"},
    {"reference", REF, SCALAR, "'groups/" ROOT_ID "'",
     "67726f7570732f672d62303362323465662d36396632343462362d333862332d6163363765312d376163633365000000"},
    {"region", REG, SCALAR, "{'id': 'd'}", "0a0000007b226964223a2264227d"},
    {"null", "'H5T_STD_I8LE'", SCALAR, "null", NULL},
    {"null with an encoding", VSTR, SCALAR, "null, 'encoding': 'base64'", NULL},
    {"some texts are NULL", VSTR, S("4"), "['', 'a', '', ''], 'h5null': [1]", "000000000100000061ffffffff00000000"},
    {"all of them", CMP, S("2"), "[[1, ''], [2, '']], 'h5null': true", "0100ffffffff0200ffffffff"},
    {"within a sequence", VLEN(VSTR), S("1"), "[['', 'a', '']], 'h5null': [0]", "0d000000ffffffff010000006100000000"},
    {"cut off within an array of a sequence", VLEN(ARRAY(VSTR)), S("1"), "'AAAAAA==', 'encoding': 'base64', 'h5null': true", "00000000"},
    {"cut off behind a count", VLEN(ARRAY(VSTR)), S("1"), "'BAAAAAAAAAA=', 'encoding': 'base64', 'h5null': true",
     "04000000ffffffff"},
    {"NULLs of a value that is no more", VSTR, S("2"), "['a', ''], 'h5null': [1, 7, -1, 'x', null]", "010000006100000000"},
    {"a count that is never stored", VSTR, S("1"), "'/////w==', 'encoding': 'base64'", "!"},
    {"null space", "'H5T_STD_I8LE'", "{'class': 'H5S_NULL'}", "null", NULL},
    {"too large to hold", FSTR("4000000000", "NULLPAD"), SCALAR, "''", "!"},
};

static void attribute(size_t i)
{
    char *body = NULL;
    int rc;
    struct bkt_err err = {.n = 0};
    if (asprintf(&body,
                 "'links': {}, 'attributes': {'x': {'type': %s, 'shape': %s, 'value': %s}, 'y': "
                 "{'type': 'H5T_STD_I8LE', 'shape': {'class': 'H5S_SCALAR'}, 'value': 9}}",
                 cases[i].type, cases[i].shape, cases[i].value) < 0)
        abort();
    struct bkt_object *o = object_of(ROOT_ID, body, &rc, &err);
    CHECK(o, "%s: %d %s", cases[i].what, rc, err.n ? err.frame[0].msg : "");
    const struct bkt_attr *a = o ? bkt_attrs_find(&o->attrs, "x") : NULL,
                          *y = o ? bkt_attrs_find(&o->attrs, "y") : NULL;
    CHECK(a && y && y->has_value, "%s: both attributes are there", cases[i].what);
    if (a) {
        char *hex = hex_of(&a->value);
        bool bad = cases[i].hex && strcmp(cases[i].hex, "!") == 0;
        CHECK((a->bad != NULL) == bad, "%s: %s", cases[i].what, a->bad ? a->bad : hex);
        CHECK(a->has_value == (cases[i].hex && !bad), "%s: %s", cases[i].what, hex);
        if (a->has_value && cases[i].hex)
            CHECK(strcmp(hex, cases[i].hex) == 0, "%s: gave %s, want %s", cases[i].what, hex, cases[i].hex);
        free(hex);
    }
    bkt_object_free(o);
    free(body);
}

/* hex NULL: no fill value; "!": the dataset's data are bad */
static const struct {
    const char *what, *type, *fill, *hex;
} fills[] = {
    {"number", "'H5T_STD_I16LE'", "'fillValue': 77", "4d00"},
    {"zero is a fill value", "'H5T_STD_I16LE'", "'fillValue': 0", "0000"},
    {"null is none", "'H5T_STD_I16LE'", "'fillValue': null", NULL},
    {"absent", "'H5T_STD_I16LE'", "'x': 1", NULL},
    {"nan as a word", "'H5T_IEEE_F32BE'", "'fillValue': 'nan'", "7fc00000"},
    {"nan bare", "'H5T_IEEE_F32BE'", "'fillValue': NaN", "7fc00000"},
    {"u64", "'H5T_STD_U64LE'", "'fillValue': 18446744073709551615", "ffffffffffffffff"},
    {"text", VSTR, "'fillValue': 'none'", "040000006e6f6e65"},
    {"text, fixed", FSTR("6", "NULLPAD"), "'fillValue': 'unset'", "756e73657400"},
    {"compound",
     "{'class': 'H5T_COMPOUND', 'fields': [{'name': 'a', 'type': 'H5T_STD_I8LE'}, {'name': 'b', 'type': "
     "'H5T_IEEE_F32BE'}]}",
     "'fillValue': [3, 0.5]", "033f000000"},
    {"compound, 0 is none",
     "{'class': 'H5T_COMPOUND', 'fields': [{'name': 'a', 'type': 'H5T_STD_I8LE'}, {'name': 'b', 'type': "
     "'H5T_STD_I8LE'}]}",
     "'fillValue': 0", NULL},
    {"array, one for all", "{'class': 'H5T_ARRAY', 'dims': [3], 'base': 'H5T_STD_I8LE'}", "'fillValue': 2",
     "020202"},
    {"array, one for all, of two bytes", "{'class': 'H5T_ARRAY', 'dims': [5], 'base': 'H5T_STD_I16BE'}", "'fillValue': 2",
     "00020002000200020002"},
    {"array, one of another kind for all", "{'class': 'H5T_ARRAY', 'dims': [5], 'base': 'H5T_STD_I16BE'}", "'fillValue': 'x'", "!"},
    {"array, each", "{'class': 'H5T_ARRAY', 'dims': [2], 'base': 'H5T_STD_I8LE'}", "'fillValue': [1, 2]",
     "0102"},
    {"base64",
     "{'class': 'H5T_COMPOUND', 'fields': [{'name': 'a', 'type': 'H5T_STD_I32LE'}, {'name': 'b', 'type': "
     "'H5T_IEEE_F32LE'}]}",
     "'fillValue': 'BwAAAD/AAAA=', 'fillValue_encoding': 'base64'", "070000003fc00000"},
    {"encoding None", "'H5T_STD_I8LE'", "'fillValue': 1, 'fillValue_encoding': 'None'", "01"},
    {"too large", "'H5T_STD_I8LE'", "'fillValue': 300", "!"},
};

static void fill(size_t i)
{
    char *body = NULL;
    int rc;
    struct bkt_err err = {.n = 0};
    if (asprintf(&body,
                 "'type': %s, 'shape': {'class': 'H5S_SIMPLE', 'dims': [3]}, 'creationProperties': {%s}",
                 fills[i].type, fills[i].fill) < 0)
        abort();
    struct bkt_object *o = object_of(DSET_ID, body, &rc, &err);
    CHECK(o, "%s: %d %s", fills[i].what, rc, err.n ? err.frame[0].msg : "");
    if (o) {
        char *hex = hex_of(&o->dset.fill);
        bool bad = fills[i].hex && strcmp(fills[i].hex, "!") == 0;
        CHECK((o->dset.bad != NULL) == bad && o->dset.has_fill == (fills[i].hex && !bad), "%s: %s",
              fills[i].what, hex);
        if (o->dset.has_fill && fills[i].hex)
            CHECK(strcmp(hex, fills[i].hex) == 0, "%s: gave %s", fills[i].what, hex);
        free(hex);
    }
    bkt_object_free(o);
    free(body);
}

/* Behind a chunk of "", "", "a" */
static const struct {
    const char *what, *tail, *want; /* "!": malformed */
} tails[] = {
    {"nothing", "", "0000000000000000"},
    {"zeros of HSDS's", "000000000000000000000000", "0000000000000000"},
    {"the second", "89424b546e0d0a1a0200000002", "00000000ffffffff"},
    {"all", "89424b546e0d0a1affffffff", "ffffffffffffffff"},
    {"of another number", "89424b546e0d0a1a0300000002", "!"},
    {"without its bits", "89424b546e0d0a1a02000000", "!"},
    {"with too many", "89424b546e0d0a1a020000000200", "!"},
    {"cut off", "89424b546e0d0a1a0200", "0000000000000000"},
};

static size_t bytes_of(const char *hex, unsigned char *out)
{
    size_t n = strlen(hex) / 2;
    for (size_t i = 0; i < n; i++) {
        const char one[3] = {hex[2 * i], hex[2 * i + 1], 0};
        out[i]            = (unsigned char)strtoul(one, NULL, 16);
    }
    return n;
}

static void tail(size_t i)
{
    const struct bkt_type text = {.cls = BKT_T_STRING, .is_var = true, .var_string = true};
    unsigned char         b[64] = {0}, want[8];
    b[8] = 1, b[12] = 'a';
    size_t n   = 13 + bytes_of(tails[i].tail, b + 13);
    bool   bad = strcmp(tails[i].want, "!") == 0;
    int    rc  = bkt_nulls_read(&text, b, n, 13, NULL);
    CHECK(rc == (bad ? BKT_EFORMAT : BKT_OK), "%s: %d", tails[i].what, rc);
    if (bad)
        return;
    (void)bytes_of(tails[i].want, want);
    CHECK(memcmp(b, want, sizeof want) == 0, "%s: %02x %02x", tails[i].what, b[0], b[4]);
    struct bkt_nulls x   = {.n_empty = 0};
    struct bkt_buf   out = {0};
    CHECK(bkt_nulls_take(&text, b, 13, &x, NULL) == BKT_OK && x.n_empty == 2, "%s", tails[i].what);
    CHECK(bkt_nulls_append(&x, &out, NULL) == BKT_OK, "%s", tails[i].what);
    if (x.n_null)
        CHECK(out.len == n - 13 && memcmp(out.ptr, b + 13, out.len) == 0, "%s: %zu bytes behind it", tails[i].what, out.len);
    bkt_buf_fini(&out);
    bkt_nulls_fini(&x);
}

int main(void)
{
    for (size_t i = 0; i < BKT_COUNT(tails); i++)
        tail(i);

    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        attribute(i);
    for (size_t i = 0; i < BKT_COUNT(fills); i++)
        fill(i);
    return failures != 0;
}
