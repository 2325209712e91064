/* A server that refuses changes in the middle of a session, and accepts them again:
 *
 *   s3_changes_refused NAME BAD GOOD READS WORD...
 *
 * The command BAD makes the server refuse, and GOOD makes it accept again.  READS is "reads" if the server
 * answers reads meanwhile.  Each WORD must be in HDF5's messages.  Written data stay in memory, nothing in
 * the store changes, and the next flush stores all changes. */
#include <string.h>

#include "h5tests/helpers/must_succeed_file.h"

enum { N = 20000, CHUNK = 5000 };
static const struct made numbers = {.dims = {N}, .chunk = {CHUNK}};

static const char **words;
static char         said[8000];

static herr_t add_said(unsigned n, const H5E_error2_t *e, void *arg)
{
    size_t len = strlen(said);
    (void)n, (void)arg;
    (void)snprintf(said + len, sizeof said - len, "%s | ", e->desc ? e->desc : "");
    return 0;
}

static void refused(int64_t rc, const char *call)
{
    said[0] = 0;
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, add_said, NULL);
    REQUIRE(rc < 0, "%s succeeded", call);
    for (const char **w = words; *w; w++)
        REQUIRE(strstr(said, *w), "%s: no '%s' in: %s", call, *w, said);
    printf("%s: %.*s\n", call, (int)strcspn(said, "|"), said);
}
#define REFUSED(call) refused((int64_t)(call), #call)

static void bring_about(const char *command) { REQUIRE(system(command) == 0, "%s", command); }

static void has(hid_t f, const char *name, int base)
{
    static int v[N];
    hid_t      d = TRY(H5Dopen2(f, name, H5P_DEFAULT));
    (void)TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    REQUIRE(v[0] == base && v[N - 1] == base + N - 1, "%s: %d .. %d, not from %d on", name, v[0], v[N - 1], base);
    (void)TRY(H5Dclose(d));
}

/* The store's content: other settings make another domain of it. */
static hid_t open_stored(const char *name)
{
    hid_t fapl = TRY(H5Pcreate(H5P_FILE_ACCESS)), vol = TRY(H5VLregister_connector_by_name("bucket", H5P_DEFAULT));
    void *info = NULL;
    (void)TRY(H5VLconnector_str_to_info("test.max_object=255M", vol, &info));
    (void)TRY(H5Pset_vol(fapl, vol, info));
    (void)TRY(H5VLfree_connector_info(vol, info));
    hid_t f = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    (void)TRY(H5Pclose(fapl));
    (void)TRY(H5VLclose(vol));
    return f;
}

static void stored(const char *name, int base, bool more)
{
    hid_t f = TRY(open_stored(name));
    has(f, "data", base);
    REQUIRE((H5Lexists(f, "more", H5P_DEFAULT) > 0) == more, "more");
    if (more)
        has(f, "more", base + 7);
    (void)TRY(H5Fclose(f));
}

int main(int argc, char **argv)
{
    REQUIRE(argc > 5, "%d arguments", argc);
    const char *name = argv[1], *bad = argv[2], *good = argv[3];
    bool        reads     = strcmp(argv[4], "reads") == 0;
    char        other[400];
    words = (const char **)&argv[5];
    (void)snprintf(other, sizeof other, "%s.new", name);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    hid_t f = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT)), d = make_dataset(f, "data", &numbers);
    require_connector(f, "bucket");
    write_all_numbers(d, N, 1000, 1);
    (void)TRY(H5Fflush(f, H5F_SCOPE_GLOBAL));
    bring_about(bad);
    write_all_numbers(d, N, 2000, 1);
    hid_t m = make_dataset(f, "more", &numbers);
    write_all_numbers(m, N, 2007, 1);
    REFUSED(H5Fflush(f, H5F_SCOPE_GLOBAL));
    has(f, "data", 2000);
    has(f, "more", 2007);
    (void)TRY(H5Dclose(m));
    (void)TRY(H5Dclose(d));
    REFUSED(H5Fclose(f));
    if (reads) {
        stored(name, 1000, false);
        hid_t g = TRY(H5Fcreate(other, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
        REFUSED(H5Fclose(g));
        REQUIRE(open_stored(other) < 0, "there is something of the new domain");
        bring_about(good);
        (void)TRY(H5Fclose(g));
        (void)TRY(H5Fdelete(other, H5P_DEFAULT));
    } else {
        bring_about(good);
    }
    (void)TRY(H5Fclose(f));
    stored(name, 2000, true);
    if (reads) {
        bring_about(bad);
        (void)TRY(H5Fclose(TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT))));
        REQUIRE(H5Fdelete(name, H5P_DEFAULT) < 0, "it was deleted");
        bring_about(good);
        stored(name, 2000, true);
    }
    (void)TRY(H5Fdelete(name, H5P_DEFAULT));
    return 0;
}
