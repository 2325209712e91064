/* Answers that aren't S3's, through HDF5's API: written data count as stored only when they are, and a
 * missing chunk reads as fill values only if the server itself reports it missing.  The server is a scripted
 * one on this machine. */
#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/helpers/fake_s3.h"
#include "h5tests/helpers/compare.h"
#include "h5tests/helpers/must_succeed_file.h"

#define NAME   "s3://buck/odd.h5"
#define PAGE   "<html><head><title>Sorry</title></head></html>"
#define FAILED "<?xml version=\"1.0\"?>\n<Error><Code>InternalError</Code><Message>so it is</Message></Error>"
enum { CHUNK = 300000, N = 4 * CHUNK, FILL = -7 }; /* a chunk is an object */
static const int fill = FILL;
static const struct made numbers = {.dims = {N}, .chunk = {CHUNK}, .fill = &fill};

static struct fake_s3 fake = {.kind = FAKE_QUOTED};

/* The first @p n elements as another session finds them, and fill values behind them. */
static void holds(const char *name, int n, int base)
{
    static int v[N];
    int        wrong = 0;
    hid_t      f = TRY(H5Fopen(NAME, H5F_ACC_RDONLY, H5P_DEFAULT)), d = TRY(H5Dopen2(f, name, H5P_DEFAULT));
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int i = 0; i < N; i++)
        wrong += v[i] != (i < n ? base + i : FILL);
    CHECK(!wrong, "%s: %d elements are wrong", name, wrong);
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

/* PUTs are answered with an error inside of a 200: once each time, for ever, or though they are carried out. */
static void writing(const char *name, struct fake_odd odd, bool fails)
{
    hid_t f = TRY(H5Fopen(NAME, H5F_ACC_RDWR, H5P_DEFAULT)), d = make_dataset(f, name, &numbers);
    write_numbers(d, 0, N / 2, 1000, 1);
    fake.odd = odd;
    if (fails) {
        FAILS(H5Fflush(f, H5F_SCOPE_GLOBAL), "InternalError");
        CHECK(fake.odd.count > 1, "%s: %u PUTs", name, fake.odd.count);
        fake.odd = (struct fake_odd){.method = NULL};
    }
    TRY(H5Fflush(f, H5F_SCOPE_GLOBAL));
    CHECK(fails || fake.odd.count, "%s: nothing was odd", name);
    fake.odd = (struct fake_odd){.method = NULL};
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
    holds(name, N / 2, 1000);
}

/* @p words: of the error; NULL: it goes well in the end. */
static void reading(const char *what, struct fake_odd odd, const char *words)
{
    static int v[N];
    hid_t      f = TRY(H5Fopen(NAME, H5F_ACC_RDONLY, H5P_DEFAULT)), d = TRY(H5Dopen2(f, "plain", H5P_DEFAULT));
    int        wrong = 0;
    fake.odd = odd;
    if (words)
        FAILS(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v), words);
    else
        TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int i = 0; !words && i < N; i++)
        wrong += v[i] != (i < N / 2 ? i : FILL);
    CHECK(!wrong && fake.odd.count, "%s: %d elements are wrong, %u odd answers", what, wrong, fake.odd.count);
    fake.odd = (struct fake_odd){.method = NULL};
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

static void chunks_are_read(void)
{
    reading("a page that says 404 for a chunk", (struct fake_odd){.method = "GET", .end = "/0", .status = 404, .body = PAGE}, "Sorry");
    reading("the same of a chunk that isn't there", (struct fake_odd){.method = "GET", .end = "/3", .status = 404, .body = PAGE}, "Sorry");
    reading("the same, once", (struct fake_odd){.method = "GET", .end = "/0", .times = 1, .status = 404, .body = PAGE}, NULL);
    reading("no bucket", (struct fake_odd){.method = "GET", .end = "/2", .status = 404, .body = "<Error><Code>NoSuchBucket</Code></Error>"},
            "NoSuchBucket");
    reading("an error inside", (struct fake_odd){.method = "GET", .end = "/1", .times = 1, .status = 200, .body = FAILED}, NULL);
    reading("an error inside, for ever", (struct fake_odd){.method = "GET", .end = "/1", .status = 200, .body = FAILED}, "InternalError");
    reading("410", (struct fake_odd){.method = "GET", .end = "/2", .status = 410, .body = PAGE}, "410");
    reading("nothing is odd", (struct fake_odd){.method = "GET", .end = "/3", .times = 1, .status = 404,
                                                .body = "<Error><Code>NoSuchKey</Code></Error>"}, NULL);
}

/* One chunk object is deleted by an answer with an error inside: it is gone, or the program gets an error. */
static void deleting(void)
{
    hid_t f = TRY(H5Fopen(NAME, H5F_ACC_RDWR, H5P_DEFAULT)), d = make_dataset(f, "gone", &numbers);
    write_numbers(d, 0, N, 5, 1);
    TRY(H5Dclose(d));
    TRY(H5Fflush(f, H5F_SCOPE_GLOBAL));
    unsigned before = fake_s3_count(&fake);
    fake.odd = (struct fake_odd){.method = "DELETE", .times = 2, .status = 200, .body = FAILED};
    TRY(H5Ldelete(f, "gone", H5P_DEFAULT));
    TRY(H5Fclose(f));
    CHECK(fake.odd.count > 2 && fake_s3_count(&fake) == before - 1 - N / CHUNK, "%u DELETEs, %u objects are left of %u", fake.odd.count,
          fake_s3_count(&fake), before);
    fake.odd = (struct fake_odd){.method = NULL};
}

int main(void)
{
    struct server *server    = server_start(fake_s3_handle, &fake);
    char           text[200] = "";
    if (!server)
        return 1;
    (void)snprintf(text, sizeof text, "bucket endpoint=%s;anonymous=yes;test.backoff_ms=1;retries=2;read_ahead=0;test.hedge=0", server_url(server));
    (void)setenv("HDF5_VOL_CONNECTOR", text, 1);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t f = TRY(H5Fcreate(NAME, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    require_connector(f, "bucket");
    hid_t d = make_dataset(f, "plain", &numbers);
    write_numbers(d, 0, N / 2, 0, 1);
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
    holds("plain", N / 2, 0);
    writing("once", (struct fake_odd){.method = "PUT", .times = 1, .status = 200, .body = FAILED}, false);
    writing("for ever", (struct fake_odd){.method = "PUT", .status = 200, .body = FAILED}, true);
    writing("though done", (struct fake_odd){.method = "PUT", .status = 200, .body = FAILED, .carry_out = true}, false);
    writing("no etag", (struct fake_odd){.method = "PUT", .times = 1, .status = 200}, false);
    chunks_are_read();
    deleting();
    TRY(H5close());
    server_stop(server);
    fake_s3_fini(&fake);
    return failures != 0;
}
