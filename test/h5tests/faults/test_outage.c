/* A server that goes away, or refuses, while a program writes and reads.  HDF5's call fails with the reason,
 * and written data stay in memory.  When the server is there again, the same call succeeds.  The server is a
 * scripted one on this machine. */
#include <hdf5.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/helpers/fake_s3.h"
#include "h5tests/helpers/compare.h"
#include "h5tests/helpers/must_succeed_file.h"

#define NAME "s3://buck/out.h5"
enum { N = 40000, CHUNK = 10000 };
static const struct made numbers = {.dims = {N}, .chunk = {CHUNK}};

/* ---- the server ---- */

enum weather { FINE, AWAY, REFUSES };
static atomic_int weather;

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    static const char denied[] = "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>no longer</Message></Error>";
    switch ((enum weather)atomic_load(&weather)) {
        case FINE: fake_s3_handle(r, a, arg); break;
        case AWAY: /* the connection breaks off without an answer */
            a->silent = true;
            a->after  = RESET;
            break;
        case REFUSES:
            a->status = 403;
            a->body   = denied;
            a->len    = sizeof denied - 1;
            break;
    }
}

/* ---- the data ---- */

static herr_t get(hid_t d, int *first, int *last)
{
    static int v[N];
    herr_t     rc = H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    *first = v[0], *last = v[N - 1];
    return rc;
}

static void all_there(const char *name, int base)
{
    int   first = 0, last = 0;
    char  text[40];
    hid_t f = TRY(H5Fopen(NAME, H5F_ACC_RDONLY, H5P_DEFAULT)), d = TRY(H5Dopen2(f, "data", H5P_DEFAULT));
    TRY(get(d, &first, &last));
    CHECK(first == base && last == base + N - 1, "%s: %d .. %d", name, first, last);
    TRY(H5Dclose(d));
    (void)snprintf(text, sizeof text, "%s/more", name);
    d = TRY(H5Dopen2(f, text, H5P_DEFAULT));
    TRY(get(d, &first, &last));
    CHECK(first == base + 7 && last == base + 7 + N - 1, "%s: %d .. %d", text, first, last);
    TRY(H5Dclose(d));
    CHECK(get_attr(f, name) == base, "attribute %s", name);
    TRY(H5Fclose(f));
}

/* The server goes while there are changes of every kind; @p words: of the program's error. */
static void writing(enum weather bad, const char *name, int base, const char *words)
{
    int   first = 0, last = 0;
    hid_t f = TRY(H5Fopen(NAME, H5F_ACC_RDWR, H5P_DEFAULT)), d = TRY(H5Dopen2(f, "data", H5P_DEFAULT));
    hid_t g = TRY(H5Gcreate2(f, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), m = make_dataset(g, "more", &numbers);
    write_all_numbers(d, N, base, 1);
    write_all_numbers(m, N, base + 7, 1);
    set_attr(f, name, base);
    atomic_store(&weather, bad);
    for (int i = 0; i < 2; i++)
        FAILS(H5Fflush(f, H5F_SCOPE_GLOBAL), words);
    TRY(get(m, &first, &last));
    CHECK(first == base + 7 && last == base + 7 + N - 1 && get_attr(f, name) == base, "what was written can be read: %d .. %d", first, last);
    TRY(H5Dclose(m));
    TRY(H5Gclose(g));
    TRY(H5Dclose(d));
    FAILS(H5Fclose(f), words);
    CHECK(H5Iis_valid(f) > 0, "the file is still open");
    atomic_store(&weather, FINE);
    TRY(H5Fflush(f, H5F_SCOPE_GLOBAL));
    TRY(H5Fclose(f));
    all_there(name, base);
}

/* The same without a flush: H5Fclose() fails, and succeeds when it is called again. */
static void closing(enum weather bad, const char *name, int base, const char *words)
{
    hid_t f = TRY(H5Fopen(NAME, H5F_ACC_RDWR, H5P_DEFAULT)), d = TRY(H5Dopen2(f, "data", H5P_DEFAULT));
    hid_t g = TRY(H5Gcreate2(f, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), m = make_dataset(g, "more", &numbers);
    write_all_numbers(d, N, base, 1);
    write_all_numbers(m, N, base + 7, 1);
    set_attr(f, name, base);
    TRY(H5Dclose(m));
    TRY(H5Gclose(g));
    TRY(H5Dclose(d));
    atomic_store(&weather, bad);
    FAILS(H5Fclose(f), words);
    atomic_store(&weather, FINE);
    TRY(H5Fclose(f));
    all_there(name, base);
}

static void reading(enum weather bad, int base, const char *words)
{
    int first = 0, last = 0;
    atomic_store(&weather, bad);
    FAILS(H5Fopen(NAME, H5F_ACC_RDONLY, H5P_DEFAULT), words);
    atomic_store(&weather, FINE);
    hid_t f = TRY(H5Fopen(NAME, H5F_ACC_RDONLY, H5P_DEFAULT)), d = TRY(H5Dopen2(f, "data", H5P_DEFAULT));
    atomic_store(&weather, bad);
    FAILS(get(d, &first, &last), words);
    FAILS(H5Dopen2(f, "away/more", H5P_DEFAULT), words);
    atomic_store(&weather, FINE);
    TRY(get(d, &first, &last));
    CHECK(first == base && last == base + N - 1, "%d .. %d", first, last);
    TRY(H5Dclose(TRY(H5Dopen2(f, "away/more", H5P_DEFAULT))));
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
}

int main(void)
{
    struct fake_s3 fake      = {.kind = FAKE_QUOTED};
    struct server *server    = server_start(handle, &fake);
    char           text[200] = "";
    if (!server)
        return 1;
    (void)snprintf(text, sizeof text, "bucket endpoint=%s;anonymous=yes;test.backoff_ms=1;retries=2;read_ahead=0", server_url(server));
    (void)setenv("HDF5_VOL_CONNECTOR", text, 1);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t f = TRY(H5Fcreate(NAME, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    require_connector(f, "bucket");
    hid_t d = make_dataset(f, "data", &numbers);
    write_all_numbers(d, N, 0, 1);
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
    writing(AWAY, "away", 1000, "connection broken");
    writing(REFUSES, "refused", 2000, "403");
    closing(AWAY, "closed", 3000, "connection broken");
    closing(REFUSES, "closed too", 4000, "403");
    reading(AWAY, 4000, "connection broken");
    reading(REFUSES, 4000, "403");
    TRY(H5close());
    server_stop(server);
    fake_s3_fini(&fake);
    return failures != 0;
}
