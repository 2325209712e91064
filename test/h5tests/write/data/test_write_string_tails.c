/* Bytes behind the NUL of a string that ends with one are stored as zeros, whichever way the string comes in.
 * Padded strings keep their bytes.  HDF5 itself keeps both, so no native file is compared here. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/type_zoo.h"

#include <stddef.h>

#define N    3
#define SIZE 8

/* With bytes behind the NUL, without a NUL, and empty */
static const char dirty[N * SIZE + 1] = "ab\0XYZ\0Q"
                                        "abcdefgh"
                                        "\0garbage";
static const char clean[N * SIZE + 1] = "ab\0\0\0\0\0\0"
                                        "abcdefgh"
                                        "\0\0\0\0\0\0\0\0";

static hid_t row(hsize_t n) { return H5Screate_simple(1, &n, NULL); }

/* ---- stored bytes ---- */

static size_t file_bytes(const struct out *o, const char *key, char *to, size_t room)
{
    FILE  *f = fopen(new_name(o, key), "rb");
    size_t n = f ? fread(to, 1, room - 1, f) : 0;
    CHECK(f != NULL, "%s isn't there", key);
    to[n] = 0;
    if (f)
        fclose(f);
    return n;
}

/* The document of a dataset */
static void document(const struct out *o, hid_t d, char *to, size_t room)
{
    char key[128];
    chunk_key(d, key, sizeof key - 16);
    strcpy(strrchr(key, '/') + 1, ".dataset.json");
    CHECK(H5Fflush(d, H5F_SCOPE_GLOBAL) >= 0, "H5Fflush: %s", error_text());
    file_bytes(o, key, to, room);
}

static void is_stored(const struct out *o, hid_t d, const char *what, const void *want, size_t n)
{
    char key[128], got[512];
    chunk_key(d, key, sizeof key);
    CHECK(H5Fflush(d, H5F_SCOPE_GLOBAL) >= 0, "H5Fflush: %s", error_text());
    size_t len = file_bytes(o, key, got, sizeof got);
    CHECK(len == n && memcmp(got, want, n) == 0, "%s: the chunk object has other bytes, %zu of them", what, len);
}

static void reads(hid_t d, const char *what, hid_t type, const void *want, size_t n)
{
    char got[512];
    memset(got, 1, sizeof got);
    CHECK(H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0, "%s: H5Dread: %s", what, error_text());
    CHECK(memcmp(got, want, n) == 0, "%s: other bytes are read", what);
}

static hid_t new_texts(hid_t f, const char *name, hid_t type, hsize_t n)
{
    hid_t space = row(n), d = H5Dcreate2(f, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(d >= 0, "H5Dcreate2 %s: %s", name, error_text());
    H5Sclose(space);
    return d;
}

/* Written, read from memory, and looked at in the store */
static void goes_through(const struct out *o, hid_t f, const char *what, hid_t type, hid_t mem, hsize_t n, const void *from,
                         const void *want, size_t bytes)
{
    hid_t d = new_texts(f, what, type, n);
    CHECK(H5Dwrite(d, mem, H5S_ALL, H5S_ALL, H5P_DEFAULT, from) >= 0, "%s: H5Dwrite: %s", what, error_text());
    reads(d, what, type, want, bytes);
    is_stored(o, d, what, want, bytes);
    H5Dclose(d);
}

/* ---- datasets ---- */

static void strings(const struct out *o, hid_t f)
{
    hid_t term = zoo_text(SIZE, H5T_STR_NULLTERM, H5T_CSET_ASCII), nulls = zoo_text(SIZE, H5T_STR_NULLPAD, H5T_CSET_ASCII), spaces = zoo_text(SIZE, H5T_STR_SPACEPAD, H5T_CSET_ASCII);
    goes_through(o, f, "ended by NUL", term, term, N, dirty, clean, N * SIZE);
    goes_through(o, f, "clean", term, term, N, clean, clean, N * SIZE);
    goes_through(o, f, "padded with NULs", nulls, nulls, N, dirty, dirty, N * SIZE);
    goes_through(o, f, "padded with spaces", spaces, spaces, N, dirty, dirty, N * SIZE);
    goes_through(o, f, "from padded with spaces", term, spaces, 1, "ab\0XYZ  ", clean, SIZE);
    H5Tclose(term), H5Tclose(nulls), H5Tclose(spaces);
}

/* Every other element of memory, into a part of the dataset, and through a filter */
static void selected(hid_t f)
{
    char    from[2 * N * SIZE], want[(N + 2) * SIZE] = "";
    hid_t   term = zoo_text(SIZE, H5T_STR_NULLTERM, H5T_CSET_ASCII), space = row(N + 2), mem = row(2 * N), list = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t one = 1, two = 2, zero = 0, n = N;
    memset(from, 'x', sizeof from);
    memcpy(want + SIZE, clean, N * SIZE);
    for (size_t i = 0; i < N; i++)
        memcpy(from + 2 * i * SIZE, dirty + i * SIZE, SIZE);
    H5Pset_chunk(list, 1, &two);
    H5Pset_deflate(list, 1);
    hid_t d = H5Dcreate2(f, "selected", term, space, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &one, NULL, &n, NULL);
    H5Sselect_hyperslab(mem, H5S_SELECT_SET, &zero, &two, &n, NULL);
    CHECK(H5Dwrite(d, term, mem, space, H5P_DEFAULT, from) >= 0, "H5Dwrite: %s", error_text());
    reads(d, "selected", term, want, sizeof want);
    H5Dclose(d), H5Sclose(space), H5Sclose(mem), H5Pclose(list), H5Tclose(term);
}

/* As memory has it, and as it is stored */
struct wide {
    int  n;
    char term[SIZE], gap[4], pad[SIZE], list[2][4];
};
struct packed {
    char n[4], term[SIZE], pad[SIZE], list[2][4];
};

static hid_t compound(bool wide)
{
    hsize_t two = 2;
    hid_t   term = zoo_text(SIZE, H5T_STR_NULLTERM, H5T_CSET_ASCII), pad = zoo_text(SIZE, H5T_STR_NULLPAD, H5T_CSET_ASCII), four = zoo_text(4, H5T_STR_NULLTERM, H5T_CSET_ASCII);
    hid_t   list = H5Tarray_create2(four, 1, &two), t = H5Tcreate(H5T_COMPOUND, wide ? sizeof(struct wide) : sizeof(struct packed));
    H5Tinsert(t, "n", 0, H5T_NATIVE_INT);
    H5Tinsert(t, "term", 4, term);
    H5Tinsert(t, "pad", wide ? offsetof(struct wide, pad) : offsetof(struct packed, pad), pad);
    H5Tinsert(t, "list", wide ? offsetof(struct wide, list) : offsetof(struct packed, list), list);
    H5Tclose(term), H5Tclose(pad), H5Tclose(four), H5Tclose(list);
    return t;
}

static void compounds(const struct out *o, hid_t f)
{
    struct wide   wide = {.list = {"a\0b", "\0cd"}};
    struct packed same = {.list = {"a\0b", "\0cd"}}, want = {.list = {"a", ""}};
    hid_t         stored = compound(false), mem = compound(true), two = H5Tcreate(H5T_COMPOUND, SIZE), term = zoo_text(SIZE, H5T_STR_NULLTERM, H5T_CSET_ASCII);
    memcpy(wide.term, dirty, SIZE), memcpy(same.term, dirty, SIZE), memcpy(want.term, clean, SIZE);
    memcpy(wide.pad, dirty, SIZE), memcpy(same.pad, dirty, SIZE), memcpy(want.pad, dirty, SIZE);
    goes_through(o, f, "compound, byte for byte", stored, stored, 1, &same, &want, sizeof want);
    goes_through(o, f, "compound, field by field", stored, mem, 1, &wide, &want, sizeof want);
    H5Tinsert(two, "term", 0, term);
    hid_t d = H5Dopen2(f, "compound, field by field", H5P_DEFAULT);
    CHECK(H5Dwrite(d, two, H5S_ALL, H5S_ALL, H5P_DEFAULT, "z\0ZZZZZZ") >= 0, "H5Dwrite: %s", error_text());
    memcpy(want.term, "z\0\0\0\0\0\0", SIZE);
    reads(d, "compound, one field", stored, &want, sizeof want);
    is_stored(o, d, "compound, one field", &want, sizeof want);
    H5Dclose(d), H5Tclose(stored), H5Tclose(mem), H5Tclose(two), H5Tclose(term);
}

static void sequences(hid_t f)
{
    hid_t term = zoo_text(SIZE, H5T_STR_NULLTERM, H5T_CSET_ASCII), t = H5Tvlen_create(term), d = new_texts(f, "sequences", t, 1), space = H5Dget_space(d);
    char  from[N * SIZE];
    hvl_t v = {N, memcpy(from, dirty, sizeof from)}, got = {0};
    CHECK(H5Dwrite(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v) >= 0, "H5Dwrite: %s", error_text());
    CHECK(memcmp(from, dirty, sizeof from) == 0, "the program's memory has changed");
    CHECK(H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, &got) >= 0, "H5Dread: %s", error_text());
    CHECK(got.len == N && memcmp(got.p, clean, sizeof from) == 0, "%zu strings are read, or others", got.len);
    H5Treclaim(t, space, H5P_DEFAULT, &got);
    H5Dclose(d), H5Tclose(t), H5Tclose(term), H5Sclose(space);
}

/* Chunks that a program encoded itself are stored as they are. */
static void raw_chunks(const struct out *o, hid_t f)
{
    hid_t   term = zoo_text(SIZE, H5T_STR_NULLTERM, H5T_CSET_ASCII), space = row(N), list = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t n = N, zero = 0;
    H5Pset_chunk(list, 1, &n);
    hid_t d = H5Dcreate2(f, "raw", term, space, H5P_DEFAULT, list, H5P_DEFAULT);
    CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 0, &zero, N * SIZE, dirty) >= 0, "H5Dwrite_chunk: %s", error_text());
    is_stored(o, d, "raw", dirty, N * SIZE);
    H5Dclose(d), H5Sclose(space), H5Pclose(list), H5Tclose(term);
}

static void fill_value(const struct out *o, hid_t f)
{
    char    got[SIZE], text_of[4096];
    hid_t   term = zoo_text(SIZE, H5T_STR_NULLTERM, H5T_CSET_ASCII), space = row(N), list = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t zero = 0, one = 1;
    H5Pset_fill_value(list, term, dirty);
    hid_t d = H5Dcreate2(f, "filled", term, space, H5P_DEFAULT, list, H5P_DEFAULT), made = H5Dget_create_plist(d);
    CHECK(H5Pget_fill_value(made, term, got) >= 0 && memcmp(got, clean, SIZE) == 0, "the fill value is another: %s", error_text());
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &zero, NULL, &one, NULL);
    hid_t mem = row(1);
    CHECK(H5Dwrite(d, term, mem, space, H5P_DEFAULT, "1\0______") >= 0, "H5Dwrite: %s", error_text());
    is_stored(o, d, "filled", "1\0\0\0\0\0\0\0ab\0\0\0\0\0\0ab\0\0\0\0\0\0", N * SIZE);
    document(o, d, text_of, sizeof text_of);
    CHECK(!strstr(text_of, "h5plist"), "the document has a list of HDF5's for it: %s", text_of);
    H5Dclose(d), H5Sclose(space), H5Sclose(mem), H5Pclose(list), H5Pclose(made), H5Tclose(term);
}

/* ---- attributes ---- */

static void put_attr(hid_t d, const char *name, hid_t type, const void *from, const void *want)
{
    char  got[SIZE];
    hid_t space = H5Screate(H5S_SCALAR), a = H5Acreate2(d, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Awrite(a, type, from) >= 0, "H5Awrite: %s", error_text());
    CHECK(H5Aread(a, type, got) >= 0 && memcmp(got, want, SIZE) == 0, "attribute %s: other bytes are read: %s", name, error_text());
    H5Aclose(a), H5Sclose(space);
}

static void attributes(const struct out *o, hid_t f)
{
    char  text_of[4096];
    hid_t term = zoo_text(SIZE, H5T_STR_NULLTERM, H5T_CSET_ASCII), pad = zoo_text(SIZE, H5T_STR_NULLPAD, H5T_CSET_ASCII), d = new_texts(f, "described", H5T_NATIVE_INT, 1);
    put_attr(d, "term", term, "garbage", "garbage");
    put_attr(d, "tail", term, "tidy\0!!!", "tidy\0\0\0");
    document(o, d, text_of, sizeof text_of);
    CHECK(strstr(text_of, "\"tidy\"") && strstr(text_of, "\"garbage\""), "the document has not the strings: %s", text_of);
    CHECK(!strstr(text_of, "base64"), "the document has a value as base64: %s", text_of);
    put_attr(d, "pad", pad, dirty, dirty);
    H5Dclose(d), H5Tclose(term), H5Tclose(pad);
}

static void all(const struct out *o)
{
    hid_t fapl = new_fapl(o), f = H5Fcreate(new_name(o, "tails.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(f >= 0, "creating a domain: %s", error_text());
    strings(o, f);
    selected(f);
    compounds(o, f);
    sequences(f);
    raw_chunks(o, f);
    fill_value(o, f);
    attributes(o, f);
    CHECK(H5Fclose(f) >= 0, "H5Fclose: %s", error_text());
    H5Pclose(fapl);
}

int main(void)
{
    compare_write_extra(all, &(struct out){.ours = true});
    compare_write_end();
    return failures != 0;
}
