/* Failures, as the application sees them: our message is the innermost entry of HDF5's error stack, with
 * automatic printing off as well as on.  HDF5's answers "no" that aren't errors print nothing.  Refused
 * writes are in faults/refusals.c. */
#include <unistd.h>

#include "h5tests/helpers/compare.h"

/* first line of error_text(): the innermost entry */
static const char *innermost(void)
{
    static char line[1024];
    const char *text = error_text();
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    return line;
}

static void expect(bool failed, const char *what, const char *words)
{
    const char *got = innermost();
    CHECK(failed, "%s succeeds", what);
    CHECK(strstr(got, words) != NULL, "%s: the innermost error is '%s', it should speak of '%s'", what, got, words);
}

static void opening(void)
{
    static const struct {
        const char *name, *words;
    } files[] = {{"absent.h5", "absent.h5"}, {"no/such/folder/x.h5", "x.h5"}};
    for (size_t i = 0; i < COUNT(files); i++) {
        hid_t fapl = fapl_ours(NULL);
        hid_t f    = H5Fopen(domain_name(files[i].name), H5F_ACC_RDONLY, fapl);
        expect(f < 0, files[i].name, files[i].words);
        CHECK(H5Fis_accessible(domain_name(files[i].name), fapl) <= 0, "%s is accessible", files[i].name);
        H5Eclear2(H5E_DEFAULT);
        H5Pclose(fapl);
    }
    hid_t fapl = fapl_ours(NULL);
    CHECK(H5Fis_accessible(domain_name("groups.h5"), fapl) > 0, "groups.h5 is not accessible: %s", innermost());
    H5Pclose(fapl);
}

static void absent_objects(void)
{
    hid_t f = open_domain("groups.h5");
    expect(H5Gopen2(f, "/nothing", H5P_DEFAULT) < 0, "opening /nothing", "nothing");
    expect(H5Dopen2(f, "/a/nothing", H5P_DEFAULT) < 0, "opening /a/nothing", "nothing");
    expect(H5Dopen2(f, "/nothing/at/all", H5P_DEFAULT) < 0, "opening /nothing/at/all", "nothing");
    expect(H5Oopen(f, "/links/s_dangling", H5P_DEFAULT) < 0, "a dangling link", "no");
    expect(H5Oopen(f, "/links/s_self", H5P_DEFAULT) < 0, "a link to itself", "link");
    expect(H5Aopen(f, "nothing", H5P_DEFAULT) < 0, "opening an attribute", "nothing");
    expect(H5Dopen2(f, "/a", H5P_DEFAULT) < 0, "a group as dataset", "dataset");
    expect(H5Gopen2(f, "/a/ds1", H5P_DEFAULT) < 0, "a dataset as group", "group");
    CHECK(H5Lexists(f, "nothing", H5P_DEFAULT) == 0 && H5Eget_num(H5E_DEFAULT) == 0, "H5Lexists of nothing leaves errors");
    CHECK(H5Aexists(f, "nothing") == 0 && H5Eget_num(H5E_DEFAULT) == 0, "H5Aexists of nothing leaves errors");
    CHECK(H5Lexists(f, "/a/ds1", H5P_DEFAULT) == 1, "H5Lexists of /a/ds1");
    H5Fclose(f);
}

static void info_string(void)
{
    static const struct {
        const char *info, *words[2];
    } bad[] = {{"conections=4", {"conections", "connections"}},
               {"connections=many", {"connections", "many"}},
               {"connections", {"connections", "key=value"}},
               {"addressing=sideways", {"addressing", "virtual"}}};
    for (size_t i = 0; i < COUNT(bad); i++) {
        hid_t fapl = fapl_ours(bad[i].info);
        const char *text = first_error;
        CHECK(fapl < 0, "info string '%s' is accepted", bad[i].info);
        for (int k = 0; k < 2; k++)
            CHECK(strstr(text, bad[i].words[k]) != NULL, "error for '%s' does not speak of '%s': %s", bad[i].info, bad[i].words[k],
                  text);
        if (fapl >= 0)
            H5Pclose(fapl);
    }
    hid_t fapl = fapl_ours("connections=4;chunk_cache=1M");
    CHECK(fapl >= 0, "a good info string: %s", error_text());
    hid_t f = H5Fopen(domain_name("groups.h5"), H5F_ACC_RDONLY, fapl);
    CHECK(f >= 0, "with an info string: %s", error_text());
    H5Fclose(f);
    H5Pclose(fapl);
}

/* With automatic printing on, one failing call prints our message once. */
static void printed(void)
{
    hid_t f        = open_domain("groups.h5");
    FILE *keep     = tmpfile();
    int   old      = dup(2);
    char  text[65536] = "";
    H5Eset_auto2(H5E_DEFAULT, (H5E_auto2_t)H5Eprint2, stderr);
    fflush(stderr);
    dup2(fileno(keep), 2);
    hid_t g = H5Gopen2(f, "/nowhere_at_all", H5P_DEFAULT);
    fflush(stderr);
    dup2(old, 2);
    close(old);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    rewind(keep);
    text[fread(text, 1, sizeof text - 1, keep)] = 0;
    fclose(keep);
    CHECK(g < 0 && strstr(text, "nowhere_at_all") != NULL, "printed: %s", text);
    /* HDF5 asks the connector about every name that fails to open: see not_ours() */
    H5Eclear2(H5E_DEFAULT);
    H5Fclose(f);
}

/* A file that is not ours, opened with HDF5's own connector, must fail as it always did, without a word from
 * us. */
static void not_ours(void)
{
    static const char *const names[] = {"/nonexistent/file.h5", "/etc/passwd", "/tmp", "relative/none.h5", ""};
    for (size_t i = 0; i < COUNT(names); i++) {
        hid_t f = H5Fopen(names[i], H5F_ACC_RDONLY, H5P_DEFAULT);
        CHECK(f < 0, "'%s' opens", names[i]);
        const char *text = error_text();
        CHECK(strstr(text, "bucket") == NULL, "'%s': our connector has put in a word: %s", names[i], text);
    }
}

static herr_t fails_at_once(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    (void)name, (void)info, (void)arg;
    return H5Gopen2(group, "missing", H5P_DEFAULT) < 0 ? -1 : 0;
}

/* The errors of the program's own callback are still there when the iteration has failed. */
static void callbacks(void)
{
    hid_t file = open_domain("groups.h5");
    expect(H5Literate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, fails_at_once, NULL) < 0, "a callback that fails", "no link 'missing' in group /");
    expect(H5Lvisit2(file, H5_INDEX_NAME, H5_ITER_INC, fails_at_once, NULL) < 0, "a callback that fails in a visit", "no link 'missing'");
    H5Fclose(file);
}

int main(void)
{
    static const struct {
        const char *what;
        void (*run)(void);
    } cases[] = {{"a domain that is not there", opening},
                 {"objects that are not there", absent_objects}, {"info strings", info_string},
                 {"automatic printing", printed},           {"callbacks that fail", callbacks}, {"names that are not ours", not_ours}};
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (size_t i = 0; i < COUNT(cases); i++) {
        int before = failures;
        cases[i].run();
        printf("%s %s\n", failures == before ? "ok  " : "FAIL", cases[i].what);
    }
    CHECK(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL) == 0, "HDF5 objects are still open");
    return failures != 0;
}
