/* HDF5's encodings: one that is cut off, has a false length, or doesn't fit its surroundings is refused, with
 * the reason. */
#include "schema/h5enc/h5enc.h"
#include "schema/json/documents.h"
#include "unit/schema/json/json_testing.h"

#include <stdlib.h>
#include <string.h>

/* A compound of 8 bytes: "a", a big-endian integer of 4, and "b", 3 opaque bytes with tag "t" */
static const unsigned char padded[] = {
    3,   0, 0x16, 2, 0, 0, 8, 0, 0, 0, /* two members, 8 bytes */
    'a', 0, 0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0,   0, 0,  0, 0, 0, 0, 0,
    0,   0, 0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 9, 0, 0, 4, 0, 0, 0, 0,   0, 32, 0, /* signed, big-endian,
                                                                                          32 bits from bit 0
                                                                                          on */
    'b', 0, 0,    0, 0, 0, 0, 0, 4, 0, 0, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0,   0, 0,  0, 0, 0, 0, 0,
    0,   0, 0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0x15, 8, 0, 0, 3, 0, 0, 0, 't', 0, 0,  0, 0, 0, 0, 0};

enum { COUNT = 3, SIZE = 6, NAME_B = 62, OFFSET_B = 70, CLASS_A = 50, PRECISION_A = 60, OPAQUE_SIZE = 106 };

static int parse_type(const unsigned char *p, size_t n, struct bkt_err *err)
{
    struct bkt_h5type *t = NULL;
    int rc = bkt_h5type_parse(p, n, &t, err);
    bkt_h5type_free(t);
    return rc;
}

static void cut_types(void)
{
    for (size_t n = 0; n < sizeof padded; n++) {
        unsigned char *exact = malloc(n + 1); /* so that a sanitizer notices any access outside */
        if (!exact)
            abort();
        memcpy(exact, padded, n);
        CHECK(parse_type(exact, n, NULL) == BKT_EFORMAT, "%zu bytes of %zu", n, sizeof padded);
        free(exact);
    }
    CHECK(parse_type(padded, sizeof padded, NULL) == BKT_OK, "all of it");
}

static void changed_types(void)
{
    static const struct {
        size_t at;
        unsigned char v;
        const char *says;
        int code;
    } wrong[] = {
        {0, 1, "not a datatype", BKT_EFORMAT},
        {1, 1, "not a datatype", BKT_EFORMAT},
        {2, 0x56, "class 6, version 5", BKT_EUNSUP},
        {2, 0x1b, "class 11, version 1", BKT_EUNSUP},
        {COUNT, 0, "without members", BKT_EFORMAT},
        {COUNT, 3, "cut off", BKT_EFORMAT},
        {COUNT + 1, 0xff, "cut off", BKT_EFORMAT},
        {SIZE, 0, "0 bytes", BKT_EFORMAT},
        {SIZE, 6, "\"b\" that lies outside", BKT_EFORMAT},
        {NAME_B, 'a', "two members \"a\"", BKT_EFORMAT},
        {NAME_B, 0, "without a name", BKT_EFORMAT},
        {OFFSET_B, 3, "overlap", BKT_EFORMAT},
        {OFFSET_B + 3, 0xff, "lies outside", BKT_EFORMAT},
        {PRECISION_A, 33, "33 bits", BKT_EFORMAT},
        {PRECISION_A, 0, "0 bits", BKT_EFORMAT},
        {34, 1, "dimension of 0", BKT_EFORMAT},
    };
    for (size_t i = 0; i < BKT_COUNT(wrong); i++) {
        unsigned char bytes[sizeof padded];
        struct bkt_err err = {.n = 0};
        memcpy(bytes, padded, sizeof bytes);
        bytes[wrong[i].at] = wrong[i].v;
        if (wrong[i].at == 34) /* an array's, of version 1 */
            bytes[22] = 1, bytes[34] = 0;
        int rc = parse_type(bytes, sizeof bytes, &err);
        CHECK(rc == wrong[i].code && err.n && strstr(err.frame[0].msg, wrong[i].says),
              "byte %zu is %u: %d, %s", wrong[i].at, wrong[i].v, rc, err.n ? err.frame[0].msg : "");
    }
}

/* 40 sequences of one another */
static void deep_types(void)
{
    unsigned char bytes[2 + 40 * 8 + 12] = {3, 0};
    struct bkt_err err = {.n = 0};
    for (int i = 0; i < 40; i++)
        bytes[2 + i * 8] = 0x19, bytes[2 + i * 8 + 4] = 16;
    memcpy(bytes + 2 + 40 * 8, padded + CLASS_A, 12);
    CHECK(parse_type(bytes, sizeof bytes, &err) == BKT_EFORMAT && strstr(err.frame[0].msg, "deeper"), "%s",
          err.frame[0].msg);
}

/* HDF5 gathers an exponent in 64 bits, and turns VAX numbers round by two bytes. */
static void odd_floats(void)
{
    unsigned char bytes[] = {3, 0,   0x11, 0x20, 127, 0, 16, 0,    0, 0, 0,
                             0, 128, 0,    62,   65,  0, 62, 0xff, 3, 0, 0};
    CHECK(parse_type(bytes, sizeof bytes, NULL) == BKT_EFORMAT, "an exponent of 65 bits");
    bytes[15] = 64;
    CHECK(parse_type(bytes, sizeof bytes, NULL) == BKT_OK, "an exponent of 64 bits");
    unsigned char vax[] = {3, 0, 0x31, 0x61, 31, 0, 5, 0, 0, 0, 0, 0, 32, 0, 23, 8, 0, 23, 0x81, 0, 0, 0};
    CHECK(parse_type(vax, sizeof vax, NULL) == BKT_EFORMAT, "a VAX number of 5 bytes");
    vax[6] = 4;
    CHECK(parse_type(vax, sizeof vax, NULL) == BKT_OK, "a VAX number of 4 bytes");
}

/* ---- beside the schema's type ---- */

#define INT           "{\"class\":\"H5T_INTEGER\",\"base\":\"H5T_STD_I32BE\"}"
#define RAW           "{\"class\":\"H5T_OPAQUE\",\"size\":3,\"tag\":\"t\"}"
#define A             "{\"name\":\"a\",\"type\":" INT "}"
#define B             "{\"name\":\"b\",\"type\":" RAW "}"
#define C             "{\"name\":\"c\",\"type\":" RAW "}"
#define FIELD_A(type) "{\"name\":\"a\",\"type\":" type "}"

static int parse_object(const char *fields, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf json = {0}, code = {0};
    struct bkt_object *o = NULL;
    if (bkt_base64_encode(padded, sizeof padded, &code) < 0 ||
        bkt_buf_addf(&json,
                     "{\"id\":\"%s\",\"type\":{\"class\":\"H5T_COMPOUND\",\"fields\":[%s],\"h5type\":\"%s\"},"
                     "\"shape\":{\"class\":\"H5S_SCALAR\"}}",
                     "d-00000001-00000002-0000-000005-abcdef", fields, bkt_buf_str(&code)) < 0)
        abort();
    int rc = bkt_object_parse(json.ptr, json.len, NULL, &o, err);
    if (rc == BKT_OK && o->dset.type->bad) /* the object stays readable, except its data */
        rc = BKT_ERR(err, BKT_EFORMAT, "%s", o->dset.type->bad);
    bkt_object_free(o);
    return rc;
}

static void disagreeing_types(void)
{
    static const struct {
        const char *fields, *says;
    } wrong[] = {
        {A "," C, "field 1 is \"c\", and \"b\""},
        {B "," A, "field 0 is \"b\", and \"a\""},
        {A, "1 fields, and 2"},
        {A "," B "," C, "3 fields, and 2"},
        {FIELD_A("\"H5T_STD_I32LE\"") "," B, "byte orders"},
        {FIELD_A("\"H5T_STD_U32BE\"") "," B, "signed"},
        {FIELD_A("\"H5T_STD_I64BE\"") "," B, "sizes"},
        {FIELD_A("\"H5T_IEEE_F32BE\"") "," B, "floating-point"},
        {FIELD_A("{\"class\":\"H5T_STRING\",\"length\":4}") "," B, "string"},
        {FIELD_A("{\"class\":\"H5T_ARRAY\",\"dims\":[1],\"base\":" INT "}") "," B, "dimensions"},
        {A ",{\"name\":\"b\",\"type\":{\"class\":\"H5T_OPAQUE\",\"size\":4}}", "lengths"},
    };
    struct bkt_err err = {.n = 0};
    CHECK(parse_object(A "," B, &err) == BKT_OK, "%s", err.n ? err.frame[0].msg : "");
    for (size_t i = 0; i < BKT_COUNT(wrong); i++) {
        err.n = 0;
        int rc = parse_object(wrong[i].fields, &err);
        CHECK(rc == BKT_EFORMAT && err.n && strstr(err.frame[0].msg, wrong[i].says), "%s: %d, %s",
              wrong[i].fields, rc, err.n ? err.frame[0].msg : "");
    }
}

/* ---- property lists ---- */

static int parse_list(const void *p, size_t n, struct bkt_err *err)
{
    struct bkt_h5plist l;
    int rc = bkt_h5plist_parse(p, n, &l, err);
    bkt_h5plist_fini(&l);
    return rc;
}

#define LIST(text) text, sizeof text - 1

static const struct {
    const char *what, *bytes;
    size_t n;
    int code;
    const char *says;
} hostile[] = {
    {"nothing", LIST(""), BKT_EFORMAT, "cut off"},
    {"another version", LIST("\1\5\0"), BKT_EUNSUP, "version 1"},
    {"a transfer list", LIST("\0\7\0"), BKT_EUNSUP, "class 7"},
    {"no end", LIST("\0\5"), BKT_EFORMAT, "cut off"},
    {"an unknown property", LIST("\0\5nonsense\0\1\0"), BKT_EUNSUP, "\"nonsense\""},
    {"a property of files", LIST("\0\5symbol_leaf\0\4\1\0\0\0\0"), BKT_EUNSUP, "\"symbol_leaf\""},
    {"one twice", LIST("\0\5dset_oh_minimize\0\1dset_oh_minimize\0\1\0"), BKT_EFORMAT, "twice"},
    {"a name without end", LIST("\0\5layout"), BKT_EFORMAT, "cut off"},
    {"a chunk rank of 255", LIST("\0\5layout\0\2\377\1\0\0\0\0"), BKT_EFORMAT, "rank 255"},
    {"a chunk rank of 0", LIST("\0\5layout\0\2\0\0"), BKT_EFORMAT, "rank 0"},
    {"a chunk of no elements", LIST("\0\5layout\0\2\1\0\0\0\0\0"), BKT_EFORMAT, "chunks of 0"},
    {"a chunk of 2^62 elements", LIST("\0\5layout\0\2\2\0\0\0\200\0\0\0\200\0"), BKT_EFORMAT, "2^32 - 1"},
    {"layout 9", LIST("\0\5layout\0\11\0"), BKT_EUNSUP, "layout 9"},
    {"2^56 mappings", LIST("\0\5layout\0\3\0\0\0\0\0\0\0\1x\0y\0\0"), BKT_EFORMAT, "cut off"},
    {"2^40 external files", LIST("\0\5efl\0\6\0\0\0\0\0\1\2a\0\1\0\1\0\0"), BKT_EFORMAT, "cut off"},
    {"an external file without a name", LIST("\0\5efl\0\1\1\1\1\0\1\0\1\4\0\0\0\0\0"), BKT_EFORMAT,
     "without a name"},
    {"33 filters", LIST("\0\5pline\0\4\1\41\0"), BKT_EFORMAT, "33 filters"},
    {"2^32 parameters", LIST("\0\5pline\0\4\1\1\1\0\0\0\0\0\0\0\0\5\0\0\0\0\1\0"), BKT_EFORMAT,
     "cut off"},
    {"filter 2^31", LIST("\0\5pline\0\4\1\1\0\0\0\200\0\0\0\0\0\1\0\0"), BKT_EFORMAT, "filter of number"},
    {"a number of 9 bytes", LIST("\0\5pline\0\4\11\1\1\1\1\1\1\1\1\1\0"), BKT_EFORMAT, "cut off"},
    {"a fill value of 2^63 bytes", LIST("\0\5fill_value\0\2\2\0\0\0\0\0\0\0\200\0"), BKT_EFORMAT,
     "fill value"},
    {"a fill value of 2^60 bytes", LIST("\0\5fill_value\0\2\2\0\0\0\0\0\0\0\20\0"), BKT_EFORMAT,
     "cut off"},
    {"a fill value without type", LIST("\0\5fill_value\0\2\2\1\0\0\0\0\0\0\0x\1\2\3\0\0"), BKT_EFORMAT,
     "cut off"},
    {"a fill value of another size",
     LIST("\0\5fill_value\0\2\2\1\0\0\0\0\0\0\0x\1\16\3\0\20\10\0\0\4\0\0\0\0\0\40\0\0"), BKT_EFORMAT,
     "does not fit"},
    {"a fill value with a pointer",
     LIST("\0\5fill_"
          "value\0\2\2\20\0\0\0\0\0\0\0AAAAAAAABBBBBBBB\1\26\3\0\31\0\0\0\20\0\0\0\20\10\0\0\4\0\0\0\0\0"
          "\40\0\0"),
     BKT_EFORMAT, "does not fit"},
    {"trees of rank 2^31", LIST("\0\3btree_rank\0\4\20\0\0\0\0\0\0\200\0"), BKT_EFORMAT,
     "rank 16 and 2147483648"},
    {"leaves of 2^31 + 1 links", LIST("\0\3symbol_leaf\0\4\1\0\0\200\0"), BKT_EFORMAT,
     "leaves of 2147483649"},
    {"a heap of 2^32 - 1 bytes", LIST("\0\11group info\0\377\377\377\377\10\0\6\0\4\0\10\0\0"), BKT_EFORMAT,
     "4294967295 bytes ahead"},
    {"room for 65535 links of 65535 bytes",
     LIST("\0\11group info\0\0\0\0\0\10\0\6\0\377\377\377\377\0"), BKT_EFORMAT, "65535 links"},
    {"9 indexes", LIST("\0\3num_shmsg_indexes\0\4\11\0\0\0\0"), BKT_EFORMAT, "9 indexes"},
};

static void hostile_lists(void)
{
    for (size_t i = 0; i < BKT_COUNT(hostile); i++) {
        struct bkt_err err = {.n = 0};
        void *exact = malloc(hostile[i].n + 1);
        if (!exact)
            abort();
        memcpy(exact, hostile[i].bytes, hostile[i].n);
        int rc = parse_list(exact, hostile[i].n, &err);
        CHECK(rc == hostile[i].code && err.n && (strstr(err.frame[0].msg, hostile[i].says)), "%s: %d, %s",
              hostile[i].what, rc, err.n ? err.frame[0].msg : "");
        free(exact);
    }
}

static void allowed_lists(void)
{
    CHECK(parse_list(LIST("\0\5layout\0\2\2\3\0\0\0\4\0\0\0\0"), NULL) == BKT_OK, "a list that is fine");
    CHECK(parse_list(LIST("\0\11group info\0\0\0\0\1\10\0\6\0\377\377\0\1\0"), NULL) == BKT_OK,
          "a heap of 16 MiB, room for 65535 links of 256 bytes");
}

static void many_files(void)
{
    static const char one[] = {1, 2, 'a', 0, 1, 0, 1, 1}; /* "a", from byte 0 on, 1 byte */
    for (uint64_t n = BKT_H5_FILES_MAX; n <= BKT_H5_FILES_MAX + 1; n++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf list = {0};
        struct bkt_err err = {.n = 0};
        unsigned char count[4] = {3, (unsigned char)n, (unsigned char)(n >> 8), (unsigned char)(n >> 16)};
        int rc = bkt_buf_add(&list, "\0\5efl", 6) | bkt_buf_add(&list, count, sizeof count);
        for (uint64_t i = 0; i < n; i++)
            rc |= bkt_buf_add(&list, one, sizeof one);
        if (rc < 0 || bkt_buf_add(&list, "", 1) < 0)
            abort();
        rc = parse_list(list.ptr, list.len, &err);
        CHECK(n > BKT_H5_FILES_MAX ? rc == BKT_EFORMAT && strstr(err.frame[0].msg, "65536 external files") : rc == BKT_OK,
              "%llu files: %d, %s", (unsigned long long)n, rc, err.n ? err.frame[0].msg : "");
    }
}

/* ---- blocks ---- */

static int check_blocks(size_t n, const uint64_t *coords)
{
    uint64_t spare = BKT_H5_BLOCKS_SPARE;
    return bkt_h5blocks_check(2, n, coords, &spare, NULL);
}

/* Blocks beside each other may be any number, in any order; of blocks that cross, each pair becomes a part. */
static void many_blocks(void)
{
    enum { SIDE = 700, N = SIDE * SIDE };
    uint64_t(*c)[4] = calloc(N, sizeof *c), back[4] = {5, 5, 4, 5}, far[4] = {0, 0, 0, INT64_MAX};
    if (!c)
        abort();
    for (size_t i = 0; i < N; i++) {
        size_t k = i * 7919 % N; /* a prime */
        c[i][0] = c[i][2] = 2 * (k / SIDE);
        c[i][1] = c[i][3] = 2 * (k % SIDE);
    }
    CHECK(check_blocks(N, c[0]) == BKT_OK, "%d points beside each other", N);
    for (size_t i = 0; i < 2000; i++) { /* 1,000 rows, 1,000 columns */
        bool row = i < 1000;
        c[i][0] = row ? 2 * i : 0, c[i][1] = row ? 0 : 2 * (i - 1000);
        c[i][2] = row ? 2 * i : 2000, c[i][3] = row ? 2000 : 2 * (i - 1000);
    }
    CHECK(check_blocks(2000, c[0]) == BKT_EFORMAT, "2,000 rows and columns");
    CHECK(check_blocks(1200, c[0]) == BKT_OK, "1,000 rows and 200 columns");
    for (size_t i = 0; i < 2000; i++) /* nested */
        c[i][0] = c[i][1] = i, c[i][2] = c[i][3] = 4000 - i;
    CHECK(check_blocks(2000, c[0]) == BKT_EFORMAT, "2,000 blocks within each other");
    CHECK(check_blocks(1, back) == BKT_EFORMAT && check_blocks(1, far) == BKT_EFORMAT, "a block that can't be");
    CHECK(check_blocks(0, back) == BKT_OK, "no block");
    free(c);
}

/* ---- the list of an object ---- */

static void of_another_object(void)
{
    static const char json[] =
        "{\"id\":\"d-00000001-00000002-0000-000005-abcdef\",\"type\":\"H5T_STD_I32LE\",\"shape\":{\"class\":"
        "\"H5S_SIMPLE\",\"dims\":[4]},\"creationProperties\":{\"h5plist\":\"%s\"}}";
    static const struct {
        const char *bytes;
        size_t n;
        const char *says;
    } wrong[] = {
        {LIST("\0\11\0"), "another kind of object"},
        {LIST("\0\5layout\0\2\2\3\0\0\0\4\0\0\0\0"), "chunks of rank 2, the dataset has rank 1"},
    };
    for (size_t i = 0; i < BKT_COUNT(wrong); i++) {
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf code = {0}, text = {0};
        BKT_CLEANUP(bkt_h5plist_fini) struct bkt_h5plist l = {.has = 0};
        struct bkt_object *o = NULL;
        struct bkt_err err = {.n = 0};
        bool found;
        if (bkt_base64_encode(wrong[i].bytes, wrong[i].n, &code) < 0 ||
            bkt_buf_addf(&text, json, bkt_buf_str(&code)) < 0)
            abort();
        CHECK(bkt_object_parse(text.ptr, text.len, NULL, &o, &err) == BKT_OK, "%s",
              err.n ? err.frame[0].msg : "");
        CHECK(bkt_h5plist_of(o, &l, &found, &err) == BKT_EFORMAT && strstr(err.frame[0].msg, wrong[i].says),
              "%s", err.n ? err.frame[0].msg : "");
        bkt_object_free(o);
    }
}

int main(void)
{
    cut_types();
    changed_types();
    deep_types();
    odd_floats();
    disagreeing_types();
    hostile_lists();
    allowed_lists();
    many_files();
    many_blocks();
    of_another_object();
    return failures != 0;
}
