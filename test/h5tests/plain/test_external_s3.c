/* Datasets with external files in S3, beside the domain or elsewhere in its bucket: they are read there and
 * not written.  Names that lead out of the bucket are refused.  If none of the files exists, the domain holds
 * the elements.  HDF5 has nothing to compare with. */
#include "h5tests/helpers/compare_write.h"

#define N 100

static const off_t   piece_off[]  = {40, 0, 380};
static const hsize_t piece_size[] = {40, 100, 60};

static hid_t new_pieces(hid_t f, const char *name, const char *const raw[3], hsize_t n)
{
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), s = H5Screate_simple(1, &n, NULL);
    for (int i = 0; i < 3 && raw[i]; i++)
        H5Pset_external(dcpl, raw[i], piece_off[i], piece_size[i]);
    hid_t d = H5Dcreate2(f, name, H5T_STD_I32LE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    CHECK(d >= 0, "%s: %s", name, error_text());
    H5Sclose(s);
    H5Pclose(dcpl);
    return d;
}

static void refused(hid_t f, const char *name, const char *raw, const char *beside, const char *why)
{
    int         got[20];
    const char *list[3] = {raw, beside};
    hid_t       d       = new_pieces(f, name, list, beside ? 20 : 10);
    CHECK(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) < 0, "%s is read", raw);
    const char *text = error_text();
    CHECK(strstr(text, why), "%s: '%s' is not in '%s'", raw, why, text);
    H5Dclose(d);
}

static void expect_pieces(hid_t d)
{
    double  got[50];
    hsize_t at = 8, n = 20;
    bool    same = H5Dread(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0;
    for (int i = 0; same && i < 50; i++)
        same = got[i] == (i < 10 ? 10 + i : i < 35 ? i - 10 : i < 40 ? 95 + i - 35 : 0);
    CHECK(same, "the pieces are not what the files hold: %s", error_text());
    hid_t s = H5Dget_space(d), m = H5Screate_simple(1, &n, NULL);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &n, NULL);
    int  part[20];
    same = H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, part) >= 0 && part[0] == 18 && part[1] == 19 && part[2] == 0 && part[19] == 17;
    CHECK(same, "a part of the pieces is not what the files hold: %s", error_text());
    CHECK(H5Dget_storage_size(d) == 200, "the pieces take %llu bytes", (unsigned long long)H5Dget_storage_size(d));
    CHECK(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) < 0, "raw files in a bucket are written");
    const char *text = error_text();
    CHECK(strstr(text, "H5Pset_external"), "writing is refused with '%s'", text);
    H5Sclose(m);
    H5Sclose(s);
}

/* The creation list comes back as it was given. */
static void expect_list(hid_t d, const char *const raw[3], int n)
{
    char  name[200];
    hid_t dcpl = H5Dget_create_plist(d);
    CHECK(H5Pget_external_count(dcpl) == n, "%d external files, not %d", H5Pget_external_count(dcpl), n);
    for (int i = 0; i < n; i++) {
        off_t   off  = -1;
        hsize_t size = 0;
        CHECK(H5Pget_external(dcpl, (unsigned)i, sizeof name, name, &off, &size) >= 0 && strcmp(name, raw[i]) == 0 &&
              off == piece_off[i] && size == piece_size[i], "%s: %s, %lld, %" PRIuHSIZE, raw[i], name, (long long)off, size);
    }
    H5Pclose(dcpl);
}

/* A file that ends before the last byte read, and then doesn't: an object that deflate makes short or long. */
static void growing_files(hid_t f)
{
    enum { LONG = 1000000, HALF = LONG / 2 }; /* farther apart than the neighbourhood of a small read */
    static unsigned char v[LONG], got[HALF];
    const hsize_t        n = LONG, half = HALF;
    char                 key[100], raw[120];
    unsigned             seed = 1, bad = 0, some = 0;
    hid_t s = H5Screate_simple(1, &n, NULL), m = H5Screate_simple(1, &half, NULL), deflated = H5Pcreate(H5P_DATASET_CREATE);
    hid_t outside = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(deflated, 1, &n);
    H5Pset_deflate(deflated, 6);
    hid_t d = H5Dcreate2(f, "growing", H5T_STD_U8LE, s, H5P_DEFAULT, deflated, H5P_DEFAULT);
    CHECK(H5Dwrite(d, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 && H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "%s", error_text());
    chunk_key(d, key, sizeof key);
    snprintf(raw, sizeof raw, "/%s", key);
    H5Pset_external(outside, raw, 0, LONG);
    hid_t p = H5Dcreate2(f, "grown", H5T_STD_U8LE, s, H5P_DEFAULT, outside, H5P_DEFAULT);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, &half, NULL, &half, NULL);
    memset(got, 1, sizeof got);
    CHECK(H5Dread(p, H5T_NATIVE_UCHAR, m, s, H5P_DEFAULT, got) >= 0, "%s", error_text());
    for (int i = 0; i < HALF; i++)
        bad += got[i] != 0;
    CHECK(!bad, "%u of %d bytes beyond the file's end aren't 0", bad, HALF);
    for (int i = 0; i < LONG; i++)
        v[i] = (unsigned char)((seed = seed * 1103515245 + 12345) >> 16);
    CHECK(H5Dwrite(d, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 && H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "%s", error_text());
    CHECK(H5Dread(p, H5T_NATIVE_UCHAR, m, s, H5P_DEFAULT, got) >= 0, "%s", error_text());
    for (int i = 0; i < HALF; i++)
        some += got[i] != 0;
    CHECK(some > HALF / 2, "the file is longer by now, and %u bytes of %d of that are seen", some, HALF);
    H5Dclose(p);
    H5Dclose(d);
    H5Pclose(outside);
    H5Pclose(deflated);
    H5Sclose(m);
    H5Sclose(s);
}

static void of_pieces(const struct out *o)
{
    int     v[N];
    hsize_t n = N;
    char    key[100], beside[120], rooted[120], uri[300];
    hid_t   fapl = new_fapl(o), f = H5Fcreate(new_name(o, "pieces.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(f >= 0, "%s", error_text());
    hid_t s = H5Screate_simple(1, &n, NULL), d = H5Dcreate2(f, "numbers", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < N; i++)
        v[i] = i;
    CHECK(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 && H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "%s", error_text());
    chunk_key(d, key, sizeof key);
    snprintf(beside, sizeof beside, "../../x/.././../%s", key); /* of home/test_user1/h5write.XXXXXX */
    snprintf(rooted, sizeof rooted, "/%s", key);
    snprintf(uri, sizeof uri, "%.*s/%s", (int)strcspn(getenv("BKT_H5_WRITE") + 5, "/") + 5, getenv("BKT_H5_WRITE"), key);
    const char *all[3] = {beside, rooted, uri};
    hid_t       p      = new_pieces(f, "pieces", all, 50);
    expect_pieces(p);
    for (int i = 0; i < N; i++)
        v[i] = i + 1000;
    CHECK(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 && H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "%s", error_text());
    CHECK(H5Dread(p, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 && v[0] == 1010, "written meanwhile: %d, %s", v[0],
          error_text());
    for (int i = 0; i < N; i++)
        v[i] = i;
    CHECK(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 && H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "%s", error_text());
    expect_pieces(p);
    growing_files(f);
    refused(f, "refused0", "missing.raw", beside, "missing.raw");
    refused(f, "refused1", "s3://another-bucket/x.raw", NULL, "H5BUCKET_ALLOW");
    refused(f, "refused2", "file:///etc/passwd", NULL, "only a domain on this machine may refer");
    refused(f, "refused3", "../../../../../x.raw", NULL, "\"..\"");
    const char *none[3] = {"missing.raw", "missing too.raw"};
    hid_t       held    = new_pieces(f, "held", none, 20);
    CHECK(H5Dwrite(held, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0, "files that aren't there: %s", error_text());
    H5Dclose(held);
    CHECK(H5Ocopy(f, "pieces", f, "copied", H5P_DEFAULT, H5P_DEFAULT) >= 0, "H5Ocopy: %s", error_text());
    H5Dclose(p);
    H5Dclose(d);
    H5Sclose(s);
    CHECK(H5Fclose(f) >= 0, "%s", error_text());
    f = H5Fopen(new_name(o, "pieces.h5"), H5F_ACC_RDWR, fapl);
    p = H5Dopen2(f, "pieces", H5P_DEFAULT);
    expect_pieces(p);
    expect_list(p, all, 3);
    H5Dclose(p);
    p = H5Dopen2(f, "copied", H5P_DEFAULT); /* it has the elements itself */
    CHECK(H5Dget_storage_size(p) > 0 && H5Dread(p, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 && v[0] == 10 && v[49] == 0,
          "the copy: %s", error_text());
    H5Dclose(p);
    p = H5Dopen2(f, "held", H5P_DEFAULT);
    expect_list(p, none, 2);
    memset(v, 0xff, sizeof v);
    CHECK(H5Dread(p, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0 && v[0] == 0 && v[19] == 19, "what the domain holds: %s",
          error_text());
    H5Dclose(p);
    H5Fclose(f);
    H5Fdelete(new_name(o, "pieces.h5"), fapl);
    H5Pclose(fapl);
}

int main(void)
{
    (void)setenv("HDF5_EXTFILE_PREFIX", "${ORIGIN}", 1); /* beside the domain */
    compare_write_extra(of_pieces, &(struct out){.ours = true});
    return compare_write_main(NULL, 0);
}
