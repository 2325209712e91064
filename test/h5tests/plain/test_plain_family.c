/* A family of plain HDF5 files behind a web server: HDF5 alone reads the same from disk. */
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "h5tests/plain/plain_files.h"
#include "helpers/check.h"
#include "storage/store.h"
#include "vol/dataset/plain/plain_read.h"

#define MEMBER ((hsize_t)1 << 20) /* bytes; the open brings the first half of each */

enum { ROWS = 320, COLS = 16384, PART = 32 }; /* 5 MiB; a chunk of 32 rows takes 512 KiB */

static char dir[] = "/tmp/bkt-plain-family-XXXXXX", name[100];

static const struct form {
    const char *name;
    bool chunked, filtered;
    /* of all elements: parts of up to 1 MiB, none across two files, and those of the index */
    unsigned requests;
} forms[] = {{"contiguous", false, false, 6}, {"chunked", true, false, 10}, {"filtered", true, true, 15}};

static unsigned char value_at(size_t i)
{
    return (unsigned char)(i * 2654435761U >> 13);
}

static hid_t family(hid_t member)
{
    hid_t fapl = must_id(H5Pcreate(H5P_FILE_ACCESS), "list");
    must_do(H5Pset_fapl_family(fapl, MEMBER, member), "family");
    return fapl;
}

/* Texts lie in heaps: HDF5 itself reads them. */
static void write_text(hid_t file)
{
    const char *text = "of variable length";
    hid_t type = must_id(H5Tcopy(H5T_C_S1), "type"), space = must_id(H5Screate(H5S_SCALAR), "space");
    must_do(H5Tset_size(type, H5T_VARIABLE), "type");
    hid_t d = must_id(H5Dcreate2(file, "text", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "text");
    must_do(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text), "text");
    (void)H5Dclose(d);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
}

static void write_form(hid_t file, const struct form *f, const unsigned char *v)
{
    hsize_t dims[2] = {ROWS, COLS}, chunk[2] = {PART, COLS};
    hid_t dcpl = must_id(H5Pcreate(H5P_DATASET_CREATE), "list"),
          space = must_id(H5Screate_simple(2, dims, NULL), "space");
    if (f->chunked)
        must_do(H5Pset_chunk(dcpl, 2, chunk), "chunk");
    if (f->filtered)
        must_do(H5Pset_fletcher32(dcpl), "filter");
    hid_t d =
        must_id(H5Dcreate2(file, f->name, H5T_NATIVE_UCHAR, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), f->name);
    must_do(H5Dwrite(d, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), f->name);
    (void)H5Dclose(d);
    (void)H5Sclose(space);
    (void)H5Pclose(dcpl);
}

static void write_one(const struct form *f, const unsigned char *v)
{
    hid_t fapl = family(H5P_DEFAULT), file = must_id(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), name);
    write_form(file, f, v);
    write_text(file);
    must_do(H5Fclose(file), "H5Fclose");
    (void)H5Pclose(fapl);
}

static void read_text(hid_t file)
{
    char *got = NULL;
    hid_t d = must_id(H5Dopen2(file, "text", H5P_DEFAULT), "text"), type = must_id(H5Dget_type(d), "type");
    hid_t space = must_id(H5Dget_space(d), "space");
    struct bkt_vobj *o = plain_handle(d);
    CHECK(plain_read_by(o, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &got) == BKT_OK && got &&
              strcmp(got, "of variable length") == 0,
          "text");
    (void)H5Treclaim(type, space, H5P_DEFAULT, &got);
    plain_handle_free(o);
    (void)H5Sclose(space);
    (void)H5Tclose(type);
    (void)H5Dclose(d);
}

/* A slab of rows that begins in one member and ends in another, and then all. */
static void read_form(hid_t file, const struct form *f, const unsigned char *v)
{
    hsize_t start[2] = {41, 5}, count[2] = {99, COLS - 9};
    unsigned char *got = calloc(ROWS, COLS);
    size_t wrong = 0;
    REQUIRE(got, "memory");
    hid_t d = must_id(H5Dopen2(file, f->name, H5P_DEFAULT), f->name),
          space = must_id(H5Dget_space(d), "space");
    struct bkt_plain_counts before = bkt_plain_counts;
    struct bkt_vobj *o = plain_handle(d);
    (void)plain_requests();
    CHECK(plain_read_by(o, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) == BKT_OK, "%s", f->name);
    unsigned requests = plain_requests();
    if (getenv("SHOW_COSTS"))
        (void)printf("family, %s: %u requests\n", f->name, requests);
    CHECK(requests == f->requests, "%s: %u requests", f->name, requests);
    CHECK(memcmp(got, v, (size_t)ROWS * COLS) == 0, "%s: other values", f->name);
    must_do(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL), "slab");
    memset(got, 0, (size_t)ROWS * COLS);
    CHECK(plain_read_by(o, H5T_NATIVE_UCHAR, space, space, H5P_DEFAULT, got) == BKT_OK, "%s, a slab",
          f->name);
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++) {
        size_t row = i / COLS, col = i % COLS;
        bool in =
            row >= start[0] && row < start[0] + count[0] && col >= start[1] && col < start[1] + count[1];
        wrong += got[i] != (in ? v[i] : 0);
    }
    CHECK(wrong == 0, "%s, a slab: %zu wrong values", f->name, wrong);
    CHECK(bkt_plain_counts.by_chunk == before.by_chunk + 2 && bkt_plain_counts.by_native == before.by_native,
          "%s: HDF5 read it", f->name);
    plain_handle_free(o);
    free(got);
    (void)H5Sclose(space);
    (void)H5Dclose(d);
}

static void test_form(const struct bkt_settings *set, const struct form *f, const unsigned char *v)
{
    struct bkt_err err = {.n = 0};
    char url[200];
    write_one(f, v);
    hid_t member = must_id(H5Pcreate(H5P_FILE_ACCESS), "list");
    (void)snprintf(url, sizeof url, "%s/%s-%%03d.h5", plain_serve_folder(dir), f->name);
    must_do(bkt_vfd_set(member, url, set, &err), "driver");
    hid_t fapl = family(member), file = must_id(H5Fopen(url, H5F_ACC_RDONLY, fapl), url);
    read_form(file, f, v);
    read_text(file);
    must_do(H5Fclose(file), "H5Fclose");
    (void)H5Pclose(fapl);
    (void)H5Pclose(member);
}

static void end(const struct form *f)
{
    for (int i = 0; i < 16; i++) {
        char path[140];
        (void)snprintf(path, sizeof path, "%s/%s-%03d.h5", dir, f->name, i);
        (void)unlink(path);
    }
}

int main(void)
{
    struct bkt_settings set;
    struct bkt_err err = {.n = 0};
    unsigned char *v = malloc((size_t)ROWS * COLS);
    if (!v || !mkdtemp(dir) || bkt_settings_init(&set, "test.hedge=0", &err) < 0)
        return 1;
    for (size_t i = 0; i < (size_t)ROWS * COLS; i++)
        v[i] = value_at(i);
    for (size_t i = 0; i < BKT_COUNT(forms); i++) {
        (void)snprintf(name, sizeof name, "%s/%s-%%03d.h5", dir, forms[i].name);
        test_form(&set, &forms[i], v);
        end(&forms[i]);
    }
    bkt_vfd_term();
    bkt_settings_fini(&set);
    bkt_store_shutdown();
    plain_serve_end();
    free(v);
    (void)rmdir(dir);
    return failures != 0;
}
