/* Reads of elements that were never written, into a type with bytes that the dataset lacks: whether anything
 * else was written matters then.  At most one request asks for that, and none if the read itself has the
 * answer. */
#include "h5tests/helpers/compare.h"
#include "h5tests/helpers/must_succeed_file.h"
#include "http/helpers/fake_s3.h"

#define CHUNK (256U << 10) /* elements; smaller ones would share an object */

static struct fake_s3 fake = {.kind = FAKE_QUOTED};
static struct server *server;
static const char name[] = "s3://buck/unwritten.h5";

struct row {
    int number, gap;
    double lacks;
};

static hid_t row_type(void)
{
    hid_t t = TRY(H5Tcreate(H5T_COMPOUND, sizeof(struct row)));
    TRY(H5Tinsert(t, "number", HOFFSET(struct row, number), H5T_NATIVE_INT));
    TRY(H5Tinsert(t, "lacks", HOFFSET(struct row, lacks), H5T_NATIVE_DOUBLE));
    return t;
}

static void make(void)
{
    const hsize_t n = 4 * (hsize_t)CHUNK, chunk = CHUNK;
    hid_t f = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)),
          t = TRY(H5Tcreate(H5T_COMPOUND, 4));
    hid_t s = TRY(H5Screate_simple(1, &n, NULL)), p = TRY(H5Pcreate(H5P_DATASET_CREATE));
    TRY(H5Tinsert(t, "number", 0, H5T_NATIVE_INT));
    TRY(H5Pset_chunk(p, 1, &chunk));
    TRY(H5Dclose(TRY(H5Dcreate2(f, "d", t, s, H5P_DEFAULT, p, H5P_DEFAULT))));
    TRY(H5Pset_fill_time(p, H5D_FILL_TIME_NEVER));
    TRY(H5Dclose(TRY(H5Dcreate2(f, "never filled", t, s, H5P_DEFAULT, p, H5P_DEFAULT))));
    TRY(H5Pclose(p));
    TRY(H5Sclose(s));
    TRY(H5Tclose(t));
    TRY(H5Fclose(f));
}

/* Two elements, from number @p at on; whether the bytes that the dataset lacks became zeros. */
static bool are_zeros(hid_t d, hsize_t at)
{
    struct row v[2] = {{1, 1, 1}, {1, 1, 1}};
    hsize_t n = 2;
    hid_t t = row_type(), s = TRY(H5Dget_space(d)), mem = TRY(H5Screate_simple(1, &n, NULL));
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &n, NULL));
    TRY(H5Dread(d, t, mem, s, H5P_DEFAULT, v));
    TRY(H5Sclose(mem));
    TRY(H5Sclose(s));
    TRY(H5Tclose(t));
    return v[1].lacks == 0 && v[1].gap == 0;
}

static void put_one(hid_t d)
{
    hsize_t at = 0, n = 1;
    struct row v = {.number = 7};
    hid_t t = row_type(), s = TRY(H5Dget_space(d)), mem = TRY(H5Screate_simple(1, &n, NULL));
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &n, NULL));
    TRY(H5Dwrite(d, t, mem, s, H5P_DEFAULT, &v));
    TRY(H5Sclose(mem));
    TRY(H5Sclose(s));
    TRY(H5Tclose(t));
}

static unsigned lists(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < server_count(server); i++) {
        struct seen r;
        n += server_seen(server, i, &r) && strstr(r.target, "list-type=2") != NULL;
    }
    return n;
}

/* Read five times from element @p at on, in one open dataset. */
static void repeat(const char *what, const char *dset, hsize_t at, bool zeros, unsigned want)
{
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT)), d = TRY(H5Dopen2(f, dset, H5P_DEFAULT));
    server_reset(server);
    for (int i = 0; i < 5; i++)
        CHECK(are_zeros(d, at) == zeros, "%s: the bytes that the dataset lacks", what);
    CHECK(lists() == want, "%s: %u LISTs, should be %u", what, lists(), want);
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

static void written_meanwhile(void)
{
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT)), d = TRY(H5Dopen2(f, "d", H5P_DEFAULT));
    CHECK(are_zeros(d, CHUNK), "before the first write");
    put_one(d);
    CHECK(!are_zeros(d, CHUNK), "after the first write");
    CHECK(!are_zeros(d, 0), "the written chunk");
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

int main(void)
{
    char text[300];
    server = server_start(fake_s3_handle, &fake);
    REQUIRE(server, "no server");
    (void)snprintf(text, sizeof text,
                   "bucket endpoint=%s;anonymous=yes;test.backoff_ms=1;retries=1;test.hedge=0",
                   server_url(server));
    (void)setenv("HDF5_VOL_CONNECTOR", text, 1);
    make();
    repeat("never written", "d", 0, true, 1);
    repeat("never written nor filled", "never filled", 0, false, 0);
    fake.odd = (struct fake_odd){.method = "GET", .part = "list-type=2", .status = 403};
    repeat("no permission to list", "d", 0, false, 1);
    fake.odd = (struct fake_odd){.method = NULL};
    written_meanwhile();
    repeat("a missing chunk", "d", CHUNK, false, 1);
    repeat("a missing chunk beside one that is there", "d", CHUNK - 1, false, 0);
    repeat("a chunk that is there", "d", 0, false, 0);
    TRY(H5close());
    server_stop(server);
    fake_s3_fini(&fake);
    return failures != 0;
}
