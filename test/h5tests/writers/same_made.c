/* Several processes make the same things in one domain at the same time, without MPI: equal things are one
 * thing in the end, with the data of each process.  If things differ, one stays; the flushes of the other
 * processes fail until they give theirs up.
 *
 *   same_made PROCESSES
 *
 * $BKT_H5_BASE: where, a directory (its own by default) or s3://bucket/folder.  The connector is "bucket". */
#include <hdf5.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "h5tests/helpers/must_succeed_file.h"

#define EACH 30 /* elements of the shared dataset that a process writes */

static int processes;

static void new_attr(hid_t at, const char *name, int value)
{
    hid_t s = TRY(H5Screate(H5S_SCALAR)),
          a = TRY(H5Acreate2(at, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Awrite(a, H5T_NATIVE_INT, &value));
    TRY(H5Aclose(a));
    TRY(H5Sclose(s));
}

/* ---- equal things ---- */

static void make_group(hid_t f, int p)
{
    char own[20];
    hobj_ref_t ref;
    hid_t g = TRY(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), t = TRY(H5Tcopy(H5T_STD_I16BE));
    TRY(H5Lcreate_soft("/values", g, "soft", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Tcommit2(g, "type", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t scalar = TRY(H5Screate(H5S_SCALAR)),
          d = TRY(H5Dcreate2(g, "scalar", t, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    int five = 5;
    TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &five));
    TRY(H5Rcreate(&ref, g, "scalar", H5R_OBJECT, -1));
    hid_t a = TRY(H5Acreate2(g, "ref", H5T_STD_REF_OBJ, scalar, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Awrite(a, H5T_STD_REF_OBJ, &ref));
    TRY(H5Aclose(a));
    TRY(H5Sclose(scalar));
    TRY(H5Dclose(d));
    TRY(H5Tclose(t));
    new_attr(g, "version", 3);
    (void)snprintf(own, sizeof own, "by %d", p);
    new_attr(g, own, p);
    TRY(H5Gclose(TRY(H5Gcreate2(g, own, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    TRY(H5Gclose(g));
}

static void make_equal(hid_t f, int p)
{
    hsize_t n = (hsize_t)processes * EACH, more = (hsize_t)(p + 1) * 10;
    char text[20], *name = text;
    new_attr(f, "title", 42);
    make_group(f, p);
    hid_t d =
        make_dataset(f, "d", &(struct made){.dims = {n + (hsize_t)processes}, .chunk = {20}, .deflate = true});
    new_attr(d, "unit", 7);
    for (int i = 0; i < EACH; i++) {
        int v = (i * processes + p + 1) * 7;
        write_element(d, H5T_NATIVE_INT, (hsize_t)(i * processes + p), &v);
    }
    hid_t str = TRY(H5Tcopy(H5T_C_S1));
    TRY(H5Tset_size(str, H5T_VARIABLE));
    hid_t names = make_dataset(f, "names", &(struct made){.type = str, .dims = {(hsize_t)processes}, .chunk = {(hsize_t)processes}});
    (void)snprintf(text, sizeof text, "process %d", p);
    write_element(names, str, (hsize_t)p, &name);
    hid_t rows = make_dataset(f, "rows", &(struct made){.max = {H5S_UNLIMITED}, .chunk = {64}});
    TRY(H5Dset_extent(rows, &more));
    for (int i = p * 10; i < (p + 1) * 10; i++)
        write_element(rows, H5T_NATIVE_INT, (hsize_t)i, &i);
    TRY(H5Fflush(f, H5F_SCOPE_GLOBAL));
    int late = -p - 1; /* objects that stood for ours are written to as well */
    write_element(d, H5T_NATIVE_INT, n + (hsize_t)p, &late);
    new_attr(d, text, p);
    TRY(H5Dclose(rows));
    TRY(H5Dclose(names));
    TRY(H5Dclose(d));
    TRY(H5Tclose(str));
}

static void check_group(hid_t f)
{
    hid_t g = TRY(H5Gopen2(f, "g", H5P_DEFAULT)), d = TRY(H5Dopen2(g, "scalar", H5P_DEFAULT)),
          t = TRY(H5Dget_type(d));
    int v = 0;
    hobj_ref_t ref;
    H5G_info_t info;
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v));
    REQUIRE(v == 5 && TRY(H5Tcommitted(t)) > 0, "%d", v);
    TRY(H5Gget_info(g, &info));
    REQUIRE((int)info.nlinks == processes + 3, "%d links", (int)info.nlinks);
    REQUIRE(get_attr(g, "version") == 3, "another version");
    for (int p = 0; p < processes; p++) {
        char own[20];
        (void)snprintf(own, sizeof own, "by %d", p);
        REQUIRE(get_attr(g, own) == p && H5Lexists(g, own, H5P_DEFAULT) > 0, "%s", own);
    }
    hid_t a = TRY(H5Aopen(g, "ref", H5P_DEFAULT));
    TRY(H5Aread(a, H5T_STD_REF_OBJ, &ref));
    hid_t to = TRY(H5Rdereference2(a, H5P_DEFAULT, H5R_OBJECT, &ref));
    TRY(H5Dread(to, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v));
    REQUIRE(v == 5, "%d", v);
    TRY(H5Oclose(to));
    TRY(H5Aclose(a));
    TRY(H5Tclose(t));
    TRY(H5Dclose(d));
    TRY(H5Gclose(g));
}

static int *read_all(hid_t f, const char *name, int *n)
{
    hid_t d = TRY(H5Dopen2(f, name, H5P_DEFAULT)), s = TRY(H5Dget_space(d));
    hsize_t dims = 0;
    TRY(H5Sget_simple_extent_dims(s, &dims, NULL));
    int *v = calloc(dims + 1, sizeof *v);
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    *n = (int)dims;
    TRY(H5Sclose(s));
    TRY(H5Dclose(d));
    return v;
}

static void check_names(hid_t f)
{
    hid_t d = TRY(H5Dopen2(f, "names", H5P_DEFAULT)), str = TRY(H5Dget_type(d));
    char **v = calloc((size_t)processes, sizeof *v);
    TRY(H5Dread(d, str, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int p = 0; p < processes; p++) {
        char text[20];
        (void)snprintf(text, sizeof text, "process %d", p);
        REQUIRE(v[p] && strcmp(v[p], text) == 0, "%s is %s", text, v[p] ? v[p] : "NULL");
        free(v[p]);
    }
    free(v);
    TRY(H5Tclose(str));
    TRY(H5Dclose(d));
}

static void check_equal(hid_t f)
{
    int n, all = processes * EACH, *v = read_all(f, "d", &n);
    REQUIRE(n == all + processes, "%d elements", n);
    for (int i = 0; i < all; i++)
        REQUIRE(v[i] == (i + 1) * 7, "element %d of process %d is %d", i, i % processes, v[i]);
    for (int p = 0; p < processes; p++)
        REQUIRE(v[all + p] == -p - 1, "after the flush process %d wrote %d", p, v[all + p]);
    free(v);
    v = read_all(f, "rows", &n);
    REQUIRE(n == processes * 10, "%d rows", n);
    for (int i = 0; i < n; i++)
        REQUIRE(v[i] == i, "row %d is %d", i, v[i]);
    free(v);
    check_names(f);
    check_group(f);
    hid_t d = TRY(H5Dopen2(f, "d", H5P_DEFAULT));
    for (int p = 0; p < processes; p++) {
        char text[20];
        (void)snprintf(text, sizeof text, "process %d", p);
        REQUIRE(get_attr(d, text) == p, "attribute %s", text);
    }
    REQUIRE(get_attr(f, "title") == 42 && get_attr(d, "unit") == 7, "other attributes");
    TRY(H5Dclose(d));
}

/* ---- things that differ ---- */

static bool fails_naming(herr_t got, const char *what)
{
    char text[8000] = "";
    FILE *to = tmpfile();
    if (got >= 0 || !to)
        return false;
    TRY(H5Eprint2(H5E_DEFAULT, to));
    rewind(to);
    text[fread(text, 1, sizeof text - 1, to)] = 0;
    (void)fclose(to);
    REQUIRE(strstr(text, what), "the error doesn't name %s:\n%s", what, text);
    return true;
}

/* Later processes can't flush or close before they have given their things up; those with an odd number
 * delete them, others just end. */
static int make_different(hid_t f, int p)
{
    hsize_t n = (hsize_t)p + 1;
    int v[64];
    hid_t d = make_dataset(f, "x", &(struct made){.dims = {n}, .chunk = {1}});
    for (int i = 0; i < 64; i++)
        v[i] = 100 + p;
    TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    TRY(H5Dclose(d));
    new_attr(f, "who", p);
    char own[20];
    (void)snprintf(own, sizeof own, "own %d", p);
    new_attr(f, own, p);
    TRY(H5Eset_auto2(H5E_DEFAULT, NULL, NULL));
    herr_t rc = H5Fflush(f, H5F_SCOPE_GLOBAL);
    if (rc >= 0) {
        TRY(H5Fclose(f));
        return 10;
    }
    for (int i = 0; i < 2; i++)
        REQUIRE(fails_naming(H5Fflush(f, H5F_SCOPE_GLOBAL), "'/x'"), "flush %d of process %d succeeds", i, p);
    for (int i = 0; i < 2; i++)
        REQUIRE(fails_naming(H5Fclose(f), "'attribute who of /'"), "close %d of process %d succeeds", i, p);
    if (p % 2 == 0)
        return 11;
    TRY(H5Ldelete(f, "x", H5P_DEFAULT));
    REQUIRE(fails_naming(H5Fclose(f), "'attribute who of /'"), "process %d: the attribute is forgotten", p);
    TRY(H5Adelete(f, "who"));
    TRY(H5Fclose(f));
    return 11;
}

static void check_different(hid_t f, int winner)
{
    int n, *v = read_all(f, "x", &n);
    REQUIRE(n == winner + 1, "%d elements of process %d", n, winner);
    for (int i = 0; i < n; i++)
        REQUIRE(v[i] == 100 + winner, "element %d is %d", i, v[i]);
    free(v);
    REQUIRE(get_attr(f, "who") == winner, "who: %d", get_attr(f, "who"));
    for (int p = 0; p < processes; p++) {
        char own[20];
        (void)snprintf(own, sizeof own, "own %d", p);
        REQUIRE(get_attr(f, own) == p, "what process %d has of its own", p);
    }
}

/* ---- the processes ---- */

/* All open the file before one of them makes anything. */
static int one_process(const char *name, bool equal, int p, int ready, int go)
{
    char c = 0, connector[64] = "";
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT));
    TRY(H5VLget_connector_name(f, connector, sizeof connector));
    REQUIRE(strcmp(connector, "bucket") == 0, "connector %s", connector);
    TRY(get_attr(f, "first"));
    if (write(ready, &c, 1) != 1 || read(go, &c, 1) != 1)
        return 1;
    if (!equal)
        return make_different(f, p);
    make_equal(f, p);
    TRY(H5Fclose(f));
    return 10;
}

static void begin(char **argv, const char *name, bool equal, int p, const int *ready, const int *go)
{
    char kind[12], who[12], r[12], g[12];
    (void)snprintf(kind, sizeof kind, "%d", equal);
    (void)snprintf(who, sizeof who, "%d", p);
    (void)snprintf(r, sizeof r, "%d", ready[1]);
    (void)snprintf(g, sizeof g, "%d", go[0]);
    (void)execl("/proc/self/exe", argv[0], argv[1], name, kind, who, r, g, (char *)NULL);
    _exit(127);
}

/* The one that was first, of those that made something else; -1: all succeeded. */
static int run(const char *name, bool equal, char **argv)
{
    pid_t pid[64];
    int ready[2], go[2], winner = -1, won = 0;
    char c = 0;
    if (pipe(ready) != 0 || pipe(go) != 0)
        die("pipe");
    (void)fflush(stdout);
    for (int p = 0; p < processes; p++)
        if ((pid[p] = fork()) == 0)
            begin(argv, name, equal, p, ready, go);
    for (int p = 0; p < processes; p++)
        REQUIRE(read(ready[0], &c, 1) == 1, "a process that never opens the file");
    for (int p = 0; p < processes; p++)
        REQUIRE(write(go[1], &c, 1) == 1, "a process that is gone");
    for (int p = 0; p < processes; p++) {
        int status = 1;
        REQUIRE(waitpid(pid[p], &status, 0) == pid[p] && WIFEXITED(status), "process %d: %d", p, status);
        REQUIRE(WEXITSTATUS(status) == 10 || (!equal && WEXITSTATUS(status) == 11), "process %d ended with %d",
             p, WEXITSTATUS(status));
        if (WEXITSTATUS(status) == 10)
            winner = p, won++;
    }
    REQUIRE(won == (equal ? processes : 1), "%d of %d succeed", won, processes);
    return winner;
}

int main(int argc, char **argv)
{
    if (argc < 2 || (processes = (int)strtol(argv[1], NULL, 10)) < 2 || processes > 64)
        return 2;
    if (argc == 7)
        return one_process(argv[2], argv[3][0] == '1', (int)strtol(argv[4], NULL, 10),
                           (int)strtol(argv[5], NULL, 10), (int)strtol(argv[6], NULL, 10));
    char dir[] = "/tmp/bkt-same-XXXXXX", name[300], command[80];
    const char *base = getenv("BKT_H5_BASE");
    if (!base && !mkdtemp(dir))
        return 1;
    (void)snprintf(name, sizeof name, "%s/same-%d.h5", base ? base : dir, (int)getpid());
    hid_t f = TRY(H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    new_attr(f, "first", 1);
    TRY(H5Fclose(f));
    for (int equal = 0; equal < 2; equal++) {
        int winner = run(name, equal, argv);
        f = TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
        if (equal)
            check_equal(f);
        else
            check_different(f, winner);
        TRY(H5Fclose(f));
    }
    TRY(H5Fdelete(name, H5P_DEFAULT));
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return !base && system(command) != 0;
}
