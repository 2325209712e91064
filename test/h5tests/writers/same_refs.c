/* References to objects that another process has made as well: in the end they lead to the one remaining
 * object, wherever they stand and whenever they were written.
 *
 *   same_refs
 *
 * Another process makes a dataset and a group while this one has the file open; then this one makes equal
 * ones, and references to them.  $BKT_TOOL: h5bucket, which verifies the domain.  The connector is
 * "bucket". */
#include <ftw.h>
#include <hdf5.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "h5tests/helpers/must_succeed.h"

enum { OBJECTS = 4, WHEN_TOGETHER = 0, WHEN_EARLIER, WHEN_DAMAGED, WHENS };

struct pair {
    int n;
    hobj_ref_t ref;
};

static char dir[] = "/tmp/bkt-refs-XXXXXX", name[100];

static hid_t extent(hsize_t n)
{
    return TRY(H5Screate_simple(1, &n, NULL));
}

/* ---- the objects that both make ---- */

static hid_t make_x(hid_t at, const char *as)
{
    hid_t s = extent(10),
          d = as ? TRY(H5Dcreate2(at, as, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))
                 : TRY(H5Dcreate_anon(at, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Sclose(s));
    return d;
}

static hid_t make_g(hid_t at, const char *as)
{
    return as ? TRY(H5Gcreate2(at, as, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))
              : TRY(H5Gcreate_anon(at, H5P_DEFAULT, H5P_DEFAULT));
}

/* A dataset of references that both write to: each has its elements. */
static void make_shared(hid_t f, hsize_t row, const hobj_ref_t *ref)
{
    hsize_t one = 1;
    hid_t s = extent(2), m = extent(1),
          d = TRY(H5Dcreate2(f, "shared", H5T_STD_REF_OBJ, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &row, NULL, &one, NULL));
    TRY(H5Dwrite(d, H5T_STD_REF_OBJ, m, s, H5P_DEFAULT, ref));
    TRY(H5Dclose(d));
    TRY(H5Sclose(m));
    TRY(H5Sclose(s));
}

/* ---- references of each kind ---- */

static void make_values(hid_t f, const char *as, hid_t type, hsize_t n, bool deflate, const void *values)
{
    hid_t s = extent(n), c = TRY(H5Pcreate(H5P_DATASET_CREATE));
    if (deflate) {
        TRY(H5Pset_chunk(c, 1, &n));
        TRY(H5Pset_shuffle(c));
        TRY(H5Pset_deflate(c, 1));
    }
    hid_t d = TRY(H5Dcreate2(f, as, type, s, H5P_DEFAULT, c, H5P_DEFAULT));
    TRY(H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    TRY(H5Dclose(d));
    TRY(H5Pclose(c));
    TRY(H5Sclose(s));
}

static hid_t pair_type(void)
{
    hid_t t = TRY(H5Tcreate(H5T_COMPOUND, sizeof(struct pair)));
    TRY(H5Tinsert(t, "n", HOFFSET(struct pair, n), H5T_NATIVE_INT));
    TRY(H5Tinsert(t, "ref", HOFFSET(struct pair, ref), H5T_STD_REF_OBJ));
    return t;
}

static void put_regions(hid_t f, hid_t x)
{
    hsize_t from = 2, n = 3;
    hdset_reg_ref_t old[1];
    H5R_ref_t new[2];
    hid_t s = extent(10);
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, &from, NULL, &n, NULL));
    TRY(H5Rcreate(old, x, ".", H5R_DATASET_REGION, s));
    make_values(f, "regions", H5T_STD_REF_DSETREG, 1, false, old);
    TRY(H5Rcreate_region(x, ".", s, H5P_DEFAULT, &new[0]));
    TRY(H5Rcreate_object(x, ".", H5P_DEFAULT, &new[1]));
    make_values(f, "new", H5T_STD_REF, 2, false, new);
    TRY(H5Rdestroy(&new[0]));
    TRY(H5Rdestroy(&new[1]));
    TRY(H5Sclose(s));
}

/* First, the one that no other process made; x, g, null. */
static void put_all(hid_t f, hid_t x, hid_t g, hobj_ref_t *ref)
{
    TRY(H5Rcreate(&ref[0], f, "first", H5R_OBJECT, -1));
    TRY(H5Rcreate(&ref[1], x, ".", H5R_OBJECT, -1));
    TRY(H5Rcreate(&ref[2], g, ".", H5R_OBJECT, -1));
    ref[3] = 0;
    make_values(f, "objects", H5T_STD_REF_OBJ, OBJECTS, false, ref);
    make_values(f, "deflated", H5T_STD_REF_OBJ, OBJECTS, true, ref);
    put_regions(f, x);
    struct pair p[OBJECTS];
    hvl_t v[2] = {{3, ref}, {0, NULL}};
    hsize_t two = 2;
    for (int i = 0; i < OBJECTS; i++)
        p[i] = (struct pair){i, ref[i]};
    hid_t t = pair_type(), l = TRY(H5Tvlen_create(H5T_STD_REF_OBJ)),
          a = TRY(H5Tarray_create2(H5T_STD_REF_OBJ, 1, &two));
    make_values(f, "pairs", t, OBJECTS, false, p);
    make_values(f, "lists", l, 2, false, v);
    make_values(f, "arrays", a, 2, false, ref);
    TRY(H5Tclose(t));
    TRY(H5Tclose(l));
    TRY(H5Tclose(a));
}

/* ---- the check, by a program that opens the file again ---- */

static bool is_one(hid_t f, hid_t obj, const char *path)
{
    H5O_info2_t a, b;
    TRY(H5Oget_info3(obj, &a, H5O_INFO_BASIC));
    TRY(H5Oget_info_by_name3(f, path, &b, H5O_INFO_BASIC, H5P_DEFAULT));
    return memcmp(&a.token, &b.token, sizeof a.token) == 0;
}

static void leads_to(hid_t f, const hobj_ref_t *ref, const char *path, const char *where)
{
    hid_t obj = TRY(H5Rdereference2(f, H5P_DEFAULT, H5R_OBJECT, ref));
    REQUIRE(is_one(f, obj, path), "%s: not to %s", where, path);
    TRY(H5Oclose(obj));
}

static void get(hid_t f, const char *of, hid_t type, void *values)
{
    hid_t d = TRY(H5Dopen2(f, of, H5P_DEFAULT));
    TRY(H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    TRY(H5Dclose(d));
}

static void lead_to_all(hid_t f, const hobj_ref_t *ref, const char *where)
{
    leads_to(f, &ref[0], "/first", where);
    leads_to(f, &ref[1], "/x", where);
    leads_to(f, &ref[2], "/g", where);
}

static void check_regions(hid_t f)
{
    hdset_reg_ref_t old[1];
    H5R_ref_t new[2];
    get(f, "regions", H5T_STD_REF_DSETREG, old);
    hid_t d = TRY(H5Rdereference2(f, H5P_DEFAULT, H5R_DATASET_REGION, old)),
          s = TRY(H5Rget_region(f, H5R_DATASET_REGION, old));
    REQUIRE(is_one(f, d, "/x") && H5Sget_select_npoints(s) == 3, "the old region");
    TRY(H5Sclose(s));
    TRY(H5Dclose(d));
    get(f, "new", H5T_STD_REF, new);
    for (int i = 0; i < 2; i++) {
        d = TRY(H5Ropen_object(&new[i], H5P_DEFAULT, H5P_DEFAULT));
        REQUIRE(is_one(f, d, "/x"), "new reference %d", i);
        TRY(H5Dclose(d));
        TRY(H5Rdestroy(&new[i]));
    }
}

static void check(int when)
{
    hobj_ref_t ref[OBJECTS] = {0};
    struct pair p[OBJECTS];
    hvl_t v[2];
    hsize_t two = 2;
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    get(f, "objects", H5T_STD_REF_OBJ, ref);
    lead_to_all(f, ref, "objects");
    REQUIRE(!ref[3], "a null reference");
    get(f, "deflated", H5T_STD_REF_OBJ, ref);
    lead_to_all(f, ref, "deflated");
    check_regions(f);
    hid_t t = pair_type(), l = TRY(H5Tvlen_create(H5T_STD_REF_OBJ)),
          a = TRY(H5Tarray_create2(H5T_STD_REF_OBJ, 1, &two));
    get(f, "pairs", t, p);
    for (int i = 0; i < OBJECTS; i++) {
        REQUIRE(p[i].n == i, "%d", p[i].n);
        ref[i] = p[i].ref;
    }
    lead_to_all(f, ref, "pairs");
    get(f, "lists", l, v);
    REQUIRE(v[0].len == 3 && v[1].len == 0, "%zu and %zu", v[0].len, v[1].len);
    lead_to_all(f, v[0].p, "lists");
    free(v[0].p);
    get(f, "arrays", a, ref);
    lead_to_all(f, ref, "arrays");
    get(f, "late", H5T_STD_REF_OBJ, ref);
    lead_to_all(f, ref, "late");
    if (when == WHEN_TOGETHER) {
        get(f, "shared", H5T_STD_REF_OBJ, ref);
        leads_to(f, &ref[0], "/g", "shared, by the other");
        leads_to(f, &ref[1], "/x", "shared, by this one");
    }
    TRY(H5Tclose(t));
    TRY(H5Tclose(l));
    TRY(H5Tclose(a));
    TRY(H5Fclose(f));
}

/* ---- a chunk that can't be read for a while ---- */

static char chunk[300], wanted[100]; /* its file; the part of a name by which that is known */
static struct kept {
    char bytes[4096];
    size_t n;
} kept;

static int find_chunk(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)ftw;
    if (flag == FTW_F && strstr(path, wanted))
        (void)snprintf(chunk, sizeof chunk, "%s", path);
    return 0;
}

static void write_chunk_file(const char *p, size_t n)
{
    FILE *to = fopen(chunk, "wb");
    REQUIRE(to && fwrite(p, 1, n, to) == n && fclose(to) == 0, "%s", chunk);
}

static void damage(hid_t f, const char *of)
{
    H5O_info2_t info;
    char *token = NULL;
    TRY(H5Oget_info_by_name3(f, of, &info, H5O_INFO_BASIC, H5P_DEFAULT));
    TRY(H5Otoken_to_str(f, &info.token, &token));
    if (token[19] == '-') /* version 2, d-AAAAAAAA-BBBBBBBB-... */
        (void)snprintf(wanted, sizeof wanted, "/d/%s/0", token + 20);
    else
        (void)snprintf(wanted, sizeof wanted, "-c-%s_0", token + 2);
    TRY(nftw(dir, find_chunk, 8, FTW_PHYS));
    TRY(H5free_memory(token));
    FILE *from = *chunk ? fopen(chunk, "rb") : NULL;
    REQUIRE(from, "no chunk %s below %s", wanted, dir);
    kept.n = fread(kept.bytes, 1, sizeof kept.bytes, from);
    (void)fclose(from);
    write_chunk_file("junk", 4);
}

static void fails_naming(hid_t f, const char *what)
{
    char text[8000] = "";
    FILE *to = tmpfile();
    herr_t rc;
    H5E_BEGIN_TRY
    rc = H5Fflush(f, H5F_SCOPE_GLOBAL);
    TRY(H5Eprint2(H5E_DEFAULT, to));
    H5E_END_TRY
    rewind(to);
    text[fread(text, 1, sizeof text - 1, to)] = 0;
    (void)fclose(to);
    REQUIRE(rc < 0 && strstr(text, what), "the flush %s, and doesn't name %s:\n%s",
         rc < 0 ? "fails" : "succeeds", what, text);
}

/* ---- the processes: each begins before HDF5 has done anything in it ---- */

static void make_file(int when)
{
    (void)when;
    hid_t f = TRY(H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Gclose(make_g(f, "first")));
    TRY(H5Fclose(f));
}

static void other_process(int go, int when)
{
    char c;
    hobj_ref_t ref;
    if (read(go, &c, 1) != 1)
        _exit(1);
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT)), g = make_g(f, "g");
    TRY(H5Dclose(make_x(f, "x")));
    TRY(H5Rcreate(&ref, f, "g", H5R_OBJECT, -1));
    if (when == WHEN_TOGETHER)
        make_shared(f, 0, &ref);
    TRY(H5Gclose(g));
    TRY(H5Fclose(f));
    exit(0);
}

/* Their targets have no link yet. */
static void refer_early(hid_t f, hid_t *x, hid_t *g, hobj_ref_t *ref)
{
    *x = make_x(f, NULL);
    *g = make_g(f, NULL);
    put_all(f, *x, *g, ref);
    TRY(H5Fflush(f, H5F_SCOPE_GLOBAL));
}

static void link_both(hid_t f, hid_t x, hid_t g)
{
    TRY(H5Olink(x, f, "x", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Olink(g, f, "g", H5P_DEFAULT, H5P_DEFAULT));
}

static void refer_together(hid_t f, hid_t *x, hid_t *g, hobj_ref_t *ref)
{
    *x = make_x(f, "x");
    *g = make_g(f, "g");
    put_all(f, *x, *g, ref);
    make_shared(f, 1, &ref[1]);
}

static void this_process(int when)
{
    char connector[64] = "";
    int status = 1, go[2];
    hobj_ref_t ref[OBJECTS] = {0};
    bool early = when != WHEN_TOGETHER;
    REQUIRE(pipe(go) == 0, "no pipe");
    pid_t pid = fork();
    if (pid == 0)
        other_process(go[0], when);
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT)), x = -1, g = -1;
    TRY(H5VLget_connector_name(f, connector, sizeof connector));
    REQUIRE(strcmp(connector, "bucket") == 0, "connector %s", connector);
    TRY(H5Gclose(TRY(H5Gopen2(f, "first", H5P_DEFAULT)))); /* the root group is as it was before */
    if (early)
        refer_early(f, &x, &g, ref);
    REQUIRE(write(go[1], "", 1) == 1 && waitpid(pid, &status, 0) == pid && status == 0, "the other process: %d",
         status);
    if (early)
        link_both(f, x, g);
    else
        refer_together(f, &x, &g, ref);
    if (when == WHEN_DAMAGED) {
        damage(f, "deflated");
        fails_naming(f, "/deflated");
        fails_naming(f, "/deflated");
        write_chunk_file(kept.bytes, kept.n);
    }
    TRY(H5Fflush(f, H5F_SCOPE_GLOBAL));
    make_values(f, "late", H5T_STD_REF_OBJ, OBJECTS, false, ref); /* the program has them still */
    TRY(H5Dclose(x));
    TRY(H5Gclose(g));
    TRY(H5Fclose(f));
}

static void verify(void)
{
    char command[400];
    const char *tool = getenv("BKT_TOOL");
    if (!tool)
        return;
    (void)snprintf(command, sizeof command,
                   "%s verify --deep --min-age 0 %s > %s/verify.txt || { cat %s/verify.txt; exit 1; }", tool,
                   name, dir, dir);
    REQUIRE(system(command) == 0, "%s", command);
}

static void in_process(void (*fn)(int when), int when)
{
    int status = 1;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        fn(when);
        exit(0);
    }
    REQUIRE(waitpid(pid, &status, 0) == pid && status == 0, "time %d: %x", when, (unsigned)status);
}

int main(void)
{
    char command[80];
    if (!mkdtemp(dir))
        return 1;
    for (int when = 0; when < WHENS; when++) {
        (void)snprintf(name, sizeof name, "%s/%d.h5", dir, when);
        in_process(make_file, when);
        in_process(this_process, when);
        in_process(check, when);
        verify();
    }
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) != 0;
}
