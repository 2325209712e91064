/* One object or chunk can't be stored: a chunk that can't be read before it is written in part, an object or
 * a chunk that the server refuses, a chunk whose filter fails.  All others are stored.  The error names that
 * object or chunk, and it stays in memory until a later flush stores it.  The server is a scripted one on
 * this machine. */
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
enum {
    N = 80000,
    CHUNK = 20000,
    /* of so many bytes that each is an object */ BAD_VALUE = 666,
    FILTER = 300
};

/* ---- the server ---- */

static char refused[100]; /* PUTs of keys with this in them; "" none */
static struct fake_s3 fake = {.kind = FAKE_QUOTED};

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    static const char denied[] =
        "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code><Message>not this one</Message></Error>";
    if (!refused[0] || strcmp(r->method, "PUT") != 0 || !strstr(r->target, refused)) {
        fake_s3_handle(r, a, arg);
        return;
    }
    a->status = 403;
    a->body = denied;
    a->len = sizeof denied - 1;
}

/* The part of a dataset's keys that is its own. */
static void part_of_keys(hid_t at, const char *name, char *out, size_t n)
{
    H5O_info2_t info;
    char *id = NULL;
    hid_t o = TRY(H5Oopen(at, name, H5P_DEFAULT));
    TRY(H5Oget_info3(o, &info, H5O_INFO_BASIC));
    TRY(H5Otoken_to_str(o, &info.token, &id));
    REQUIRE(strlen(id) == 38, "%s", id);
    (void)snprintf(out, n, "%s", id + 20);
    TRY(H5free_memory(id));
    TRY(H5Oclose(o));
}

static struct fake_object *chunk_object(const char *part, int chunk)
{
    char tail[80];
    (void)snprintf(tail, sizeof tail, "%s/%d", part, chunk);
    for (size_t i = 0; i < sizeof fake.object / sizeof *fake.object; i++) {
        size_t n = strlen(fake.object[i].key), t = strlen(tail);
        if (n > t && strcmp(fake.object[i].key + n - t, tail) == 0)
            return &fake.object[i];
    }
    REQUIRE(false, "no chunk %s", tail);
    return NULL;
}

/* ---- the objects ---- */

static size_t fails_for_one(unsigned flags, size_t cd_n, const unsigned *cd, size_t n, size_t *room,
                            void **buf)
{
    (void)cd_n, (void)cd, (void)room;
    return !(flags & H5Z_FLAG_REVERSE) && *(int *)*buf == BAD_VALUE ? 0 : n;
}

static int value_at(hid_t f, const char *name, int at)
{
    int v = -1;
    hsize_t start = (hsize_t)at, one = 1;
    hid_t d = TRY(H5Dopen2(f, name, H5P_DEFAULT)), s = TRY(H5Dget_space(d)),
          m = TRY(H5Screate_simple(1, &one, NULL));
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &start, NULL, &one, NULL));
    TRY(H5Dread(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &v));
    TRY(H5Sclose(m));
    TRY(H5Sclose(s));
    TRY(H5Dclose(d));
    return v;
}

static int length(hid_t f, const char *name)
{
    hsize_t n = 0;
    hid_t d = TRY(H5Dopen2(f, name, H5P_DEFAULT)), s = TRY(H5Dget_space(d));
    TRY(H5Sget_simple_extent_dims(s, &n, NULL));
    TRY(H5Sclose(s));
    TRY(H5Dclose(d));
    return (int)n;
}

static void make_domain(void)
{
    hid_t f = TRY(H5Fcreate(NAME, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    require_connector(f, "bucket");
    const char *names[] = {"first", "deflated", "last"};
    for (int i = 0; i < 3; i++) {
        hid_t d = make_dataset(f, names[i], &(struct made){.dims = {N}, .max = {H5S_UNLIMITED}, .chunk = {CHUNK}, .deflate = i == 1});
        write_numbers(d, 0, N, 1, 0);
        TRY(H5Dclose(d));
    }
    TRY(H5Gclose(TRY(H5Gcreate2(f, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    TRY(H5Fclose(f));
}

/* Changes of all kinds; @p step distinguishes them from earlier ones. */
static void change_all(hid_t f, int step)
{
    const char *names[] = {"first", "deflated", "last"};
    char name[20];
    hsize_t more = N + (hsize_t)step;
    (void)snprintf(name, sizeof name, "new %d", step);
    hid_t g = TRY(H5Gcreate2(f, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)),
          n = make_dataset(g, "data", &(struct made){.dims = {N}, .max = {H5S_UNLIMITED}, .chunk = {CHUNK}});
    write_numbers(n, 0, N, step, 0);
    set_attr(n, "step", step);
    TRY(H5Dclose(n));
    TRY(H5Gclose(g));
    g = TRY(H5Gopen2(f, "group", H5P_DEFAULT));
    set_attr(g, "step", step);
    TRY(H5Gclose(g));
    for (int i = 0; i < 3; i++) {
        hid_t d = TRY(H5Dopen2(f, names[i], H5P_DEFAULT));
        write_numbers(d, 5, 1, step, 0); /* in part: of chunks 0 and 3 */
        write_numbers(d, N - 5, 1, step, 0);
        TRY(H5Dset_extent(d, &more));
        write_numbers(d, N, step, step, 0);
        set_attr(d, "step", step);
        TRY(H5Dclose(d));
    }
}

/* ---- the contents that another program finds ---- */

static hid_t look(void)
{
    hid_t fapl = TRY(H5Pcreate(H5P_FILE_ACCESS)),
          vol = TRY(H5VLregister_connector_by_name("bucket", H5P_DEFAULT));
    void *info = NULL;
    char text[300];
    (void)snprintf(text, sizeof text, "%s;test.max_object=255M",
                   getenv("BKT_SETTINGS")); /* another file, as for another process */
    TRY(H5VLconnector_str_to_info(text, vol, &info));
    TRY(H5Pset_vol(fapl, vol, info));
    hid_t f = TRY(H5Fopen(NAME, H5F_ACC_RDONLY, fapl));
    TRY(H5VLfree_connector_info(vol, info));
    TRY(H5VLclose(vol));
    TRY(H5Pclose(fapl));
    return f;
}

enum { NOT_CHUNKS = 1, NOT_ATTRS = 2, NOT_LENGTH = 4, NOT_ALL = 8 };

/* All of that step is there, except one dataset as described. */
static void expect(int step, const char *except, unsigned what)
{
    const char *names[] = {"first", "deflated", "last"};
    char name[30];
    hid_t f = look();
    (void)snprintf(name, sizeof name, "new %d", step);
    bool there = H5Lexists(f, name, H5P_DEFAULT) > 0;
    CHECK(there, "step %d: the new group", step);
    (void)snprintf(name, sizeof name, "new %d/data", step);
    bool data = there && H5Lexists(f, name, H5P_DEFAULT) > 0;
    CHECK(data == !(what & NOT_ALL), "step %d: the new dataset is %sthere", step, data ? "" : "not ");
    if (data)
        CHECK(value_at(f, name, 7) == step, "its values: %d", value_at(f, name, 7));
    hid_t g = TRY(H5Gopen2(f, "group", H5P_DEFAULT));
    CHECK(get_attr(g, "step") == step, "step %d: attribute of the group", step);
    TRY(H5Gclose(g));
    for (int i = 0; i < 3; i++) {
        bool bad = except && strcmp(names[i], except) == 0;
        hid_t d = TRY(H5Dopen2(f, names[i], H5P_DEFAULT));
        CHECK((get_attr(d, "step") == step) == !(bad && what & NOT_ATTRS), "step %d: attribute of %s", step,
              names[i]);
        TRY(H5Dclose(d));
        CHECK((length(f, names[i]) == N + step) == !(bad && what & NOT_LENGTH), "step %d: %s has %d", step,
              names[i], length(f, names[i]));
        CHECK(value_at(f, names[i], N - 5) == step, "step %d: %s, the other chunk: %d", step, names[i],
              value_at(f, names[i], N - 5));
        if (bad && what & NOT_CHUNKS)
            continue;
        CHECK(value_at(f, names[i], 5) == step, "step %d: %s: %d", step, names[i], value_at(f, names[i], 5));
        if (!(bad && what & NOT_LENGTH))
            CHECK(value_at(f, names[i], N + step - 1) == step, "step %d: %s: the end", step, names[i]);
    }
    TRY(H5Fclose(f));
}

/* ---- the cases ---- */

/* The values and the extent of the dataset wait, and nothing of all others. */
static void undecodable(int step)
{
    char part[60];
    hid_t f = TRY(H5Fopen(NAME, H5F_ACC_RDWR, H5P_DEFAULT));
    part_of_keys(f, "deflated", part, sizeof part);
    struct fake_object *o = chunk_object(part, 0);
    memset(o->data, 'x', o->len > 8 ? 8 : o->len);
    (void)snprintf(o->etag, sizeof o->etag, "\"changed-%d\"", step);
    change_all(f, step);
    FAILS(H5Fclose(f), "chunk 0 of /deflated");
    expect(step, "deflated", NOT_CHUNKS | NOT_LENGTH);
    FAILS(H5Fflush(f, H5F_SCOPE_GLOBAL), "chunk 0 of /deflated");
    CHECK(value_at(f, "first", 5) == step, "the file goes on");
    hid_t d = TRY(H5Dopen2(f, "deflated", H5P_DEFAULT));
    write_numbers(d, 0, CHUNK, step, 0); /* all of the chunk: its stored version doesn't matter any more */
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
    expect(step, NULL, 0);
}

/* A refused object; @p tail: of its key, behind the dataset's own part. */
static void refusing(int step, const char *tail, const char *words, unsigned what)
{
    char part[60];
    hid_t f = TRY(H5Fopen(NAME, H5F_ACC_RDWR, H5P_DEFAULT));
    part_of_keys(f, "last", part, sizeof part);
    (void)snprintf(refused, sizeof refused, "%s%s", part, tail);
    change_all(f, step);
    for (int i = 0; i < 2; i++)
        FAILS(H5Fflush(f, H5F_SCOPE_GLOBAL), words);
    expect(step, "last", what);
    FAILS(H5Fclose(f), words);
    CHECK(value_at(f, "last", 5) == step && length(f, "last") == N + step, "it is kept in memory");
    refused[0] = 0;
    TRY(H5Fclose(f));
    expect(step, NULL, 0);
}

static void new_one_refused(int step)
{
    char part[60], name[30];
    hid_t f = TRY(H5Fopen(NAME, H5F_ACC_RDWR, H5P_DEFAULT));
    change_all(f, step);
    (void)snprintf(name, sizeof name, "/new %d/data", step);
    part_of_keys(f, name, part, sizeof part);
    (void)snprintf(refused, sizeof refused, "%s/.dataset.json", part);
    FAILS(H5Fflush(f, H5F_SCOPE_GLOBAL), name);
    expect(step, NULL, NOT_ALL);
    refused[0] = 0;
    TRY(H5Fclose(f));
    expect(step, NULL, 0);
}

static void filter_fails(int step)
{
    static const H5Z_class2_t cls = {H5Z_CLASS_T_VERS, FILTER, 1,    1,
                                     "fails for one",  NULL,   NULL, fails_for_one};
    TRY(H5Zregister(&cls));
    hid_t f = TRY(H5Fopen(NAME, H5F_ACC_RDWR, H5P_DEFAULT)), d = make_dataset(f, "filtered", &(struct made){.dims = {N}, .max = {H5S_UNLIMITED}, .chunk = {CHUNK}, .filter = FILTER});
    write_numbers(d, 0, N, 3, 0);
    write_numbers(d, CHUNK, 1, BAD_VALUE, 0);
    change_all(f, step);
    FAILS(H5Fflush(f, H5F_SCOPE_GLOBAL), "chunk 1 of /filtered");
    expect(step, NULL, 0);
    hid_t other = look();
    CHECK(value_at(other, "filtered", 0) == 3 && value_at(other, "filtered", N - 1) == 3,
          "its other chunks are stored");
    TRY(H5Fclose(other));
    write_numbers(d, CHUNK, 1, 4, 0);
    TRY(H5Dclose(d));
    TRY(H5Fclose(f));
    other = look();
    CHECK(value_at(other, "filtered", CHUNK) == 4 && value_at(other, "filtered", CHUNK + 1) == 3, "all are");
    TRY(H5Fclose(other));
}

int main(void)
{
    struct server *server = server_start(handle, &fake);
    char text[200] = "", settings[180];
    if (!server)
        return 1;
    (void)snprintf(settings, sizeof settings, "endpoint=%s;anonymous=yes;test.backoff_ms=1;retries=2;read_ahead=0",
                   server_url(server));
    (void)snprintf(text, sizeof text, "bucket %s", settings);
    (void)setenv("HDF5_VOL_CONNECTOR", text, 1);
    (void)setenv("BKT_SETTINGS", settings, 1);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    make_domain();
    undecodable(1);
    refusing(2, "/.dataset.json", "/last", NOT_ATTRS | NOT_LENGTH);
    refusing(3, "/0", "chunk 0 of /last", NOT_CHUNKS | NOT_LENGTH);
    new_one_refused(4);
    filter_fails(5);
    TRY(H5close());
    server_stop(server);
    fake_s3_fini(&fake);
    return failures != 0;
}
