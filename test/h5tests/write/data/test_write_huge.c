/* Extents far beyond the stored chunks: corners 20 GB apart, 2^62 elements, dimensions that no file can have.
 * A dataset that can't be stored is refused before it spoils the file. */
#include "h5tests/helpers/compare_write.h"

#define SIDE 70000

static const hsize_t one[H5S_MAX_RANK] = {[0 ... H5S_MAX_RANK - 1] = 1};

struct huge {
    const char *name;
    unsigned    rank;
    hsize_t     dims[3], max[3], chunk[3]; /* chunk[0] 0: contiguous */
    unsigned    deflate;
};
static const struct huge huge[] = {
    {"chunked, 20 GB", 2, {SIDE, SIDE}, {H5S_UNLIMITED, H5S_UNLIMITED}, {1000, 1000}, 1},
    {"contiguous, 14 GB", 2, {60000, 60000}, {60000, 60000}, {0}, 0},
    {"2^62 elements", 1, {(hsize_t)1 << 62}, {(hsize_t)1 << 62}, {1024}, 0},
    {"nothing, beside 2^80", 3, {0, (hsize_t)1 << 40, (hsize_t)1 << 40}, {H5S_UNLIMITED, (hsize_t)1 << 40, (hsize_t)1 << 40}, {1, 16, 16}, 0},
};

static char why[8192]; /* new_huge() failed */

static hid_t new_huge(hid_t f, const struct huge *h)
{
    hid_t s = H5Screate_simple((int)h->rank, h->dims, h->max), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    if (h->chunk[0])
        H5Pset_chunk(dcpl, (int)h->rank, h->chunk);
    if (h->deflate)
        H5Pset_deflate(dcpl, h->deflate);
    hid_t d = H5Dcreate2(f, h->name, H5T_NATIVE_INT, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    snprintf(why, sizeof why, "%s", d < 0 ? error_text() : "");
    H5Pclose(dcpl);
    H5Sclose(s);
    return d;
}

/* Every corner, one by one: written, or read and compared. */
static void corners(hid_t d, unsigned rank, const hsize_t *dims, int first, bool write)
{
    hid_t s = H5Dget_space(d), m = H5Screate(H5S_SCALAR);
    for (int c = 0; c < 1 << rank; c++) {
        hsize_t at[3];
        int     v = write ? first + c : -1;
        for (unsigned i = 0; i < rank; i++)
            at[i] = c >> i & 1 ? dims[i] - 1 : 0;
        herr_t rc = H5Sselect_hyperslab(s, H5S_SELECT_SET, at, NULL, one, NULL);
        if (rc >= 0)
            rc = write ? H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &v) : H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &v);
        CHECK(rc >= 0 && v == first + c, "corner %d: %d, not %d %s", c, v, first + c, rc < 0 ? error_text() : "");
    }
    H5Sclose(m);
    H5Sclose(s);
}

static int at_end(hid_t d, const hsize_t *dims)
{
    hsize_t at[2] = {dims[0] - 1, dims[1] - 1};
    int     v     = -1;
    hid_t   s = H5Dget_space(d), m = H5Screate(H5S_SCALAR);
    CHECK(H5Sselect_hyperslab(s, H5S_SELECT_SET, at, NULL, one, NULL) >= 0 && H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &v) >= 0,
          "%s", error_text());
    H5Sclose(m);
    H5Sclose(s);
    return v;
}

static void changed_extent(hid_t f)
{
    const hsize_t was[2] = {SIDE, SIDE}, more[2] = {2 * SIDE, SIDE + 1};
    hid_t         d = H5Dopen2(f, huge[0].name, H5P_DEFAULT);
    CHECK(H5Dset_extent(d, more) >= 0, "growing: %s", error_text());
    corners(d, 2, more, 150, true);
    corners(d, 2, more, 150, false);
    CHECK(H5Dset_extent(d, was) >= 0 && at_end(d, was) == 103, "shrinking: %s", error_text());
    CHECK(H5Dset_extent(d, more) >= 0 && at_end(d, more) == 0, "what a shrink cut off is back");
    H5Dclose(d);
}

/* Grown far: a call that lists chunks, or makes the dataset smaller, goes through the stored ones only. */
static void grown_far(hid_t f)
{
    static const struct huge few = {"grown far", 2, {4, 64}, {H5S_UNLIMITED, H5S_UNLIMITED}, {1024, 1024}, 0};
    const hsize_t            grown[2] = {(hsize_t)1 << 40, (hsize_t)1 << 20}, small[2] = {2, 64};
    hsize_t                  n = 0;
    hid_t                    d = new_huge(f, &few);
    CHECK(d >= 0 && H5Dset_extent(d, grown) >= 0, "%s%s", why, error_text());
    corners(d, 2, grown, 170, true);
    H5Dget_num_chunks(d, H5S_ALL, &n);
    CHECK(n == 4, "%d chunks, not 4 %s", (int)n, error_text());
    CHECK(H5Dset_extent(d, small) >= 0 && H5Dset_extent(d, grown) >= 0, "there and back: %s", error_text());
    CHECK(at_end(d, grown) == 0 && at_end(d, (hsize_t[]){1, 1}) == 170, "what a shrink leaves");
    H5Dget_num_chunks(d, H5S_ALL, &n);
    CHECK(n == 1, "%d chunks, not 1 %s", (int)n, error_text());
    H5Dclose(d);
}

/* More chunks than are requested at once if no list finds them (version 1), fewer than make a list of the
 * whole bucket worth it. */
static void some_thousand(hid_t f)
{
    static const struct huge some = {"some thousand", 1, {(hsize_t)5000 << 21}, {(hsize_t)5000 << 21}, {1 << 21}, 1};
    hsize_t                  n = 0;
    hid_t                    d = new_huge(f, &some);
    corners(d, 1, some.dims, 190, true);
    H5Dclose(d);
    H5Fflush(f, H5F_SCOPE_LOCAL);
    d = H5Dopen2(f, some.name, H5P_DEFAULT);
    CHECK(H5Dget_num_chunks(d, H5S_ALL, &n) >= 0 && n == 2, "%d chunks of 5000, not 2 %s", (int)n, error_text());
    CHECK(H5Dget_storage_size(d) > 0, "their size: %s", error_text());
    H5Dclose(d);
}

/* Requested in a domain that was opened again: no record of the written chunks is left. */
static void some_thousand_stored(hid_t f)
{
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    hid_t              d = H5Dopen2(f, "some thousand", H5P_DEFAULT);
    CHECK(H5Dget_storage_size(d) > 0, "their size: %s", error_text());
    CHECK(H5Dget_space_status(d, &status) >= 0 && status == H5D_SPACE_STATUS_PART_ALLOCATED, "status %d %s", status, error_text());
    H5Dclose(d);
}

/* Its four corners, and not 14 GB between them. */
static void copied(hid_t f)
{
    hsize_t bytes = 0, was;
    CHECK(H5Ocopy(f, huge[1].name, f, "copy", H5P_DEFAULT, H5P_DEFAULT) >= 0, "copying: %s", error_text());
    hid_t d = H5Dopen2(f, huge[1].name, H5P_DEFAULT), copy = H5Dopen2(f, "copy", H5P_DEFAULT);
    corners(copy, 2, huge[1].dims, 200, false);
    was   = H5Dget_storage_size(d);
    bytes = H5Dget_storage_size(copy);
    CHECK(bytes == was && bytes < (hsize_t)1 << 30, "the copy has %llu bytes, the source %llu", (unsigned long long)bytes,
          (unsigned long long)was);
    H5Dclose(copy);
    H5Dclose(d);
}

static void far_corners(const struct out *o)
{
    hid_t fapl = new_fapl(o), f = H5Fcreate(new_name(o, "huge.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    char  connector[64] = "";
    H5VLget_connector_name(f, connector, sizeof connector);
    CHECK(strcmp(connector, "bucket") == 0, "the file is served by '%s'", connector);
    for (size_t i = 0; i < COUNT(huge); i++) {
        hid_t d = new_huge(f, &huge[i]);
        CHECK(d >= 0, "%s: %s", huge[i].name, why);
        if (huge[i].dims[0])
            corners(d, huge[i].rank, huge[i].dims, 100 * (int)(i + 1), true);
        H5Dclose(d);
    }
    CHECK(H5Fclose(f) >= 0, "closing: %s", error_text());
    f = H5Fopen(new_name(o, "huge.h5"), H5F_ACC_RDWR, fapl);
    for (size_t i = 0; i < COUNT(huge); i++) {
        int   none;
        hid_t d = H5Dopen2(f, huge[i].name, H5P_DEFAULT);
        CHECK(d >= 0, "%s: %s", huge[i].name, error_text());
        if (huge[i].dims[0])
            corners(d, huge[i].rank, huge[i].dims, 100 * (int)(i + 1), false);
        else
            CHECK(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &none) >= 0, "%s: %s", huge[i].name, error_text());
        H5Dclose(d);
    }
    copied(f);
    changed_extent(f);
    grown_far(f);
    some_thousand(f);
    CHECK(H5Fclose(f) >= 0, "closing: %s", error_text());
    f = H5Fopen(new_name(o, "huge.h5"), H5F_ACC_RDONLY, fapl);
    some_thousand_stored(f);
    H5Fclose(f);
    const char *schema = getenv("H5BUCKET_SCHEMA");
    if (!schema || strcmp(schema, "v1") != 0) /* there each chunk that may exist is requested */
        H5Fdelete(new_name(o, "huge.h5"), fapl);
    H5Pclose(fapl);
}

/* ---- refused ---- */

static void refused(const char *what, int64_t got, const char *word)
{
    const char *text = *why ? why : error_text();
    CHECK(got < 0 && strstr(text, word), "%s: %s", what, got < 0 ? text : "succeeds");
    *why = 0;
}

static void refuse_all(hid_t f)
{
    static const struct huge product = {"2^82", 3, {(hsize_t)1 << 40, (hsize_t)1 << 40, 4}, {(hsize_t)1 << 40, (hsize_t)1 << 40, 4},
                                        {16, 16, 4}, 0};
    static const struct huge side = {"2^63", 1, {(hsize_t)1 << 63}, {(hsize_t)1 << 63}, {0}, 0};
    const hsize_t            grown[2] = {(hsize_t)1 << 40, (hsize_t)1 << 40}, long_one = (hsize_t)1 << 63, bytes = (hsize_t)300 << 20;
    refused("a dataset of 2^82 elements", new_huge(f, &product), "2^64 elements");
    refused("a dataset of 2^63 elements", new_huge(f, &side), "2^63 - 1");
    hid_t d = new_huge(f, &(struct huge){"d", 2, {4, 4}, {H5S_UNLIMITED, H5S_UNLIMITED}, {4, 4}, 0});
    refused("an extent of 2^80", H5Dset_extent(d, grown), "2^64 elements");
    refused("an extent of 2^63", H5Dset_extent(d, (hsize_t[]){long_one, 1}), "2^63 - 1");
    corners(d, 2, (hsize_t[]){4, 4}, 7, true);
    hid_t empty = new_huge(f, &(struct huge){"empty", 3, {grown[0], grown[1], 0}, {grown[0], grown[1], 4}, {16, 16, 4}, 0});
    CHECK(H5Dread(empty, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &(int){0}) >= 0, "no elements of 2^80 rows: %s", error_text());
    H5Dclose(empty);
    hid_t s = H5Screate_simple(1, &long_one, NULL), large = H5Screate_simple(1, &bytes, NULL);
    refused("an attribute of 2^63", H5Acreate2(d, "a", H5T_NATIVE_SCHAR, s, H5P_DEFAULT, H5P_DEFAULT), "2^63 - 1");
    refused("an attribute of 300 MiB", H5Acreate2(d, "b", H5T_NATIVE_SCHAR, large, H5P_DEFAULT, H5P_DEFAULT), "256 MiB");
    H5Sclose(large);
    H5Sclose(s);
    H5Dclose(d);
}

static void nothing_is_spoiled(const struct out *o)
{
    hid_t fapl = new_fapl(o), f = H5Fcreate(new_name(o, "refused.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    refuse_all(f);
    CHECK(H5Fclose(f) >= 0, "closing: %s", error_text());
    f = H5Fopen(new_name(o, "refused.h5"), H5F_ACC_RDONLY, fapl);
    CHECK(f >= 0, "opening again: %s", error_text());
    hid_t d = H5Dopen2(f, "d", H5P_DEFAULT);
    CHECK(d >= 0, "opening the dataset: %s", error_text());
    corners(d, 2, (hsize_t[]){4, 4}, 7, false);
    CHECK(H5Aexists(d, "a") == 0 && H5Aexists(d, "b") == 0 && H5Lexists(f, "2^82", H5P_DEFAULT) == 0, "what was refused is there");
    H5Dclose(d);
    H5Fclose(f);
    H5Fdelete(new_name(o, "refused.h5"), fapl);
    H5Pclose(fapl);
}

int main(void)
{
    struct out ours = {.ours = true};
    compare_write_extra(far_corners, &ours);
    compare_write_extra(nothing_is_spoiled, &ours);
    return compare_write_main(NULL, 0);
}
