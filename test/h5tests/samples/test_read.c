/* Samples read by their records: plain files and domains, one sample and many, right and damaged ones.
 *
 *     test_read FOLDER|s3://... [plain]
 * `plain`: the files are plain HDF5 files.  `append`: the program calls itself, to add a sample to an open file. */
#include <sys/stat.h>
#include <sys/wait.h>

#include "h5tests/samples/make_file.h"
#include <h5bucket.h>

#define MOST 64 /* elements of a sample */

static const char *repo_name;
static bool plain;
static hid_t fapl;

static void name_of(char name[600], int format, const char *uid)
{
    (void)snprintf(name, 600, "%s/data/0%d/%s.hdf5", repo_name, format, uid);
}

/* ---- the files: 00/shorts (int16, up to 12), 01/cubes (float32, 4 x 6 padded), 00/flags (boolean scalars) ---- */

static int16_t short_at(unsigned number, unsigned i) { return (int16_t)(number * 100 + i); }
static float   float_at(unsigned number, unsigned i) { return (float)number + (float)i / 8; }

/* Samples are numbered; a third of the way each has another shape. */
static struct h5bucket_record short_place(unsigned number)
{
    static const struct h5bucket_record shapes[] = {
        {.rank = 2, .shape = {3, 4}}, {.rank = 1, .shape = {5}}, {.rank = 3, .shape = {1, 2, 1}}, {.rank = 0}, {.rank = 2, .shape = {0, 7}}};
    struct h5bucket_record r = shapes[number % 5];
    (void)snprintf(r.uid, sizeof r.uid, "shorts");
    r.dataset = number / ROWS;
    r.row = number % ROWS;
    return r;
}

static struct h5bucket_record cube_place(unsigned number)
{
    struct h5bucket_record r = {.format = 1, .dataset = number / ROWS, .row = number % ROWS, .rank = 2,
                                .shape = {3 + number % 2, 5}};
    (void)snprintf(r.uid, sizeof r.uid, "cubes");
    return r;
}

static unsigned elements(const struct h5bucket_record *r)
{
    unsigned n = 1;
    for (int i = 0; i < r->rank; i++)
        n *= (unsigned)r->shape[i];
    return n;
}

static hid_t bool_type(void)
{
    int8_t no = 0, yes = 1;
    hid_t t = TRY(H5Tenum_create(H5T_NATIVE_INT8));
    TRY(H5Tenum_insert(t, "FALSE", &no));
    TRY(H5Tenum_insert(t, "TRUE", &yes));
    return t;
}

#define SHORTS 45
#define CUBES  25
static char shorts[SHORTS + 1][H5BUCKET_RECORD_MAX], cubes[CUBES][H5BUCKET_RECORD_MAX], flag[H5BUCKET_RECORD_MAX];

static void put_short(hid_t file, unsigned number)
{
    int16_t v[MOST];
    struct h5bucket_record r = short_place(number);
    for (unsigned i = 0; i < MOST; i++)
        v[i] = short_at(number, i);
    write_sample(file, &r, H5T_NATIVE_INT16, v);
    TRY(h5bucket_record_emit(&r, 5, shorts[number]));
}

static void make_shorts(void)
{
    const hsize_t shape = 12, cut = 5;
    char name[600];
    name_of(name, 0, "shorts");
    hid_t file = make_file(name, fapl, H5T_NATIVE_INT16, 1, &shape, &cut, 4);
    for (unsigned i = 0; i < SHORTS; i++)
        put_short(file, i);
    TRY(H5Fclose(file));
}

static void make_cubes(void)
{
    const hsize_t shape[] = {4, 6}, cut[] = {2, 3};
    char name[600];
    name_of(name, 1, "cubes");
    hid_t file = make_file(name, fapl, H5T_NATIVE_FLOAT, 2, shape, cut, 2);
    for (unsigned number = 0; number < CUBES; number++) {
        float v[MOST];
        struct h5bucket_record r = cube_place(number);
        for (unsigned i = 0; i < MOST; i++)
            v[i] = float_at(number, i);
        write_sample(file, &r, H5T_NATIVE_FLOAT, v);
        TRY(h5bucket_record_emit(&r, 4, cubes[number]));
    }
    TRY(H5Fclose(file));
}

/* The digest is of int64 elements; the attribute with the schema's type leads to it. */
static void make_flag(void)
{
    const hsize_t one = 1;
    const int8_t yes = 1;
    const int64_t wide = 1, number = 7;
    char name[600];
    hid_t type = bool_type(), space = TRY(H5Screate(H5S_SCALAR));
    struct h5bucket_record r = {.uid = "flags", .row = 3};
    name_of(name, 0, "flags");
    hid_t file = make_file(name, fapl, type, 1, &one, &one, 1);
    write_sample(file, &r, type, &yes);
    hid_t a = TRY(H5Acreate2(file, "schema_dtype_num", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Awrite(a, H5T_NATIVE_INT64, &number));
    TRY(H5Aclose(a));
    TRY(H5Fclose(file));
    r.digest = XXH64(&wide, sizeof wide, 0);
    TRY(h5bucket_record_emit(&r, 5, flag));
    TRY(H5Sclose(space));
    TRY(H5Tclose(type));
}

/* ---- checks ---- */

static void check_shorts(const char *what, unsigned number, const int16_t *got)
{
    struct h5bucket_record r = short_place(number);
    for (unsigned i = 0; i < elements(&r); i++)
        CHECK(got[i] == short_at(number, i), "%s: sample %u, element %u is %d", what, number, i, got[i]);
}

static void check_cubes(const char *what, unsigned number, const float *got)
{
    struct h5bucket_record r = cube_place(number);
    for (unsigned i = 0; i < elements(&r); i++)
        CHECK(got[i] == float_at(number, i), "%s: sample %u, element %u is %g", what, number, i, (double)got[i]);
}

static herr_t keep_text(unsigned n, const H5E_error2_t *e, void *to)
{
    if (n == 0)
        (void)snprintf(to, 600, "%s", e->desc);
    return 0;
}

/* The read fails, and the message has the word. */
static void check_fails(h5bucket_repository *repo, const char *record, size_t size, const char *word)
{
    unsigned char buffer[1024];
    char text[600] = "";
    herr_t rc = h5bucket_sample_read(repo, record, -1, buffer, size);
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_text, text);
    CHECK(rc < 0 && strstr(text, word), "%s: '%s' is expected in: %s", record, word, text);
}

static void test_one(h5bucket_repository *repo)
{
    unsigned char yes = 7;
    hid_t type = -1;
    struct h5bucket_record r;
    for (unsigned i = 0; i < SHORTS; i++) {
        int16_t v[MOST] = {0};
        CHECK(h5bucket_sample_read(repo, shorts[i], -1, v, sizeof v) >= 0, "%s", shorts[i]);
        check_shorts("one", i, v);
    }
    for (unsigned i = 0; i < CUBES; i++) {
        float v[MOST] = {0};
        CHECK(h5bucket_sample_read(repo, cubes[i], H5T_NATIVE_FLOAT, v, sizeof v) >= 0, "%s", cubes[i]);
        check_cubes("one", i, v);
    }
    CHECK(h5bucket_sample_read(repo, flag, -1, &yes, 1) >= 0 && yes == 1, "%s: %u", flag, yes);
    CHECK(h5bucket_sample_info(repo, cubes[4], &type, &r) >= 0 && H5Tequal(type, H5T_NATIVE_FLOAT) > 0 && r.rank == 2 && r.shape[0] == 3,
          "%s", cubes[4]);
    TRY(H5Tclose(type));
    CHECK(h5bucket_sample_info(repo, shorts[0], NULL, NULL) >= 0, "%s", shorts[0]);
}

/* Wider, narrower, and another class. */
static void test_types(h5bucket_repository *repo)
{
    double d[MOST];
    int8_t small[MOST];
    unsigned char n;
    CHECK(h5bucket_sample_read(repo, shorts[5], H5T_NATIVE_DOUBLE, d, sizeof d) >= 0, "double");
    for (unsigned i = 0; i < 12; i++)
        CHECK(d[i] == short_at(5, i), "double: %g", d[i]);
    CHECK(h5bucket_sample_read(repo, cubes[1], H5T_NATIVE_INT8, small, 20) >= 0, "int8");
    for (unsigned i = 0; i < 20; i++)
        CHECK(small[i] == (int8_t)float_at(1, i), "int8: %d", small[i]);
    CHECK(h5bucket_sample_read(repo, flag, H5T_NATIVE_UCHAR, &n, 1) >= 0 && n == 1, "a flag as a number: %u", n);
    CHECK(h5bucket_sample_read(repo, flag, H5P_FILE_ACCESS, &n, 1) < 0, "a list as a type");
}

static void test_wrong(h5bucket_repository *repo)
{
    char text[H5BUCKET_RECORD_MAX];
    check_fails(repo, "nothing", 10, "byte 0");
    check_fails(repo, NULL, 10, "no record");
    check_fails(repo, shorts[0], 23, "the sample needs 24");
    check_fails(repo, "00:none:8067007c0f05c359:0:0:1", 10, "none.hdf5");
    check_fails(repo, "01:shorts:8067007c0f05c359:0:0:1", 10, "01/shorts.hdf5");
    check_fails(repo, "00:shorts:8067007c0f05c359:7:0:1", 10, "collection 7");
    check_fails(repo, "00:shorts:8067007c0f05c359:0:20:1", 10, "no such row");
    check_fails(repo, "00:shorts:8067007c0f05c359:0:0:13", 1000, "no such row or shape");
    check_fails(repo, "01:cubes:8067007c0f05c359:0:0:5 1", 1000, "no such row or shape");
    check_fails(repo, "01:cubes:8067007c0f05c359:0:0:4", 1000, "no such row or shape");
    check_fails(repo, "00:shorts:8067007c0f05c359:0:0:4611686018427387904 2", 1000, "too many elements");
    check_fails(repo, "00:shorts:8067007c0f05c359:0:0:4611686018427387904", 1000, "no such row or shape");
    (void)snprintf(text, sizeof text, "%s", shorts[0]);
    text[10] = text[10] == '0' ? '1' : '0';
    check_fails(repo, text, 100, "the record has ");
    check_fails(repo, text, 100, "shorts.hdf5: collection 0, row 0: the stored bytes have the digest ");
}

/* All samples of all files in another order, each twice, bad ones among them; nothing else fails. */
static void test_many(h5bucket_repository *repo)
{
    enum { N = 2 * (SHORTS + CUBES) + 3 };
    static unsigned char buffers[N][4 * MOST];
    struct h5bucket_sample s[N];
    memset(buffers, 0, sizeof buffers);
    for (unsigned i = 0; i < N; i++) {
        unsigned k = (i * 37) % (N - 3); /* N - 3 = 140 */
        const char *record = k / 2 < SHORTS ? shorts[k / 2] : cubes[k / 2 - SHORTS];
        s[i] = (struct h5bucket_sample){.record = record, .buffer = buffers[i], .size = sizeof buffers[i]};
    }
    s[N - 3].record = "00:shorts:8067007c0f05c359:1:1:5";
    s[N - 2].record = "00:none:8067007c0f05c359:1:1:5";
    s[N - 1].record = "what";
    s[7].size = 0;
    s[7].record = shorts[0];
    CHECK(h5bucket_sample_read_many(repo, N, s, -1) < 0, "four samples can't be read");
    for (unsigned i = 0; i < N; i++) {
        unsigned k = (i * 37) % (N - 3);
        bool bad = i == 7 || i >= N - 3;
        CHECK((s[i].status < 0) == bad && (*s[i].error != 0) == bad, "sample %u, %s: %s", i, s[i].record, s[i].error);
        if (!bad && k / 2 < SHORTS)
            check_shorts("many", k / 2, (int16_t *)buffers[i]);
        else if (!bad)
            check_cubes("many", k / 2 - SHORTS, (float *)buffers[i]);
    }
    CHECK(strstr(s[N - 3].error, "digest") && strstr(s[N - 3].error, "8067007c0f05c359"), "%s", s[N - 3].error);
    CHECK(h5bucket_sample_read_many(repo, 0, NULL, -1) >= 0, "no samples");
    for (unsigned i = 0; i < N; i++)
        s[i].record = shorts[i % SHORTS];
    s[7].size = sizeof buffers[7];
    CHECK(h5bucket_sample_read_many(repo, N, s, H5T_NATIVE_INT32) >= 0, "%s", s[0].error);
    for (unsigned i = 0; i < N; i++) {
        struct h5bucket_record r = short_place(i % SHORTS);
        const int32_t *v = (const int32_t *)buffers[i];
        for (unsigned j = 0; j < elements(&r); j++)
            CHECK(v[j] == short_at(i % SHORTS, j), "int32: sample %u, element %u is %d", i, j, v[j]);
    }
}

/* ---- a sample that another process adds to a file that is open here ---- */

static void append(void)
{
    char name[600];
    name_of(name, 0, "shorts");
    hid_t file = TRY(H5Fopen(name, H5F_ACC_RDWR, fapl));
    put_short(file, SHORTS);
    TRY(H5Fclose(file));
    (void)printf("%s\n", shorts[SHORTS]);
}

static void test_append(h5bucket_repository *repo, const char *self)
{
    char command[1400];
    int16_t v[MOST] = {0};
    (void)snprintf(command, sizeof command, "HDF5_USE_FILE_LOCKING=FALSE '%s' '%s' %s append", self, repo_name, plain ? "plain" : "domain");
    FILE *p = popen(command, "r");
    REQUIRE(p && fgets(shorts[SHORTS], H5BUCKET_RECORD_MAX, p), "%s", command);
    REQUIRE(pclose(p) == 0, "%s", command);
    shorts[SHORTS][strcspn(shorts[SHORTS], "\n")] = 0;
    herr_t rc = h5bucket_sample_read(repo, shorts[SHORTS], -1, v, sizeof v);
    if (rc < 0)
        (void)H5Eprint2(H5E_DEFAULT, stderr);
    CHECK(rc >= 0, "%s, just added", shorts[SHORTS]);
    check_shorts("added", SHORTS, v);
    CHECK(h5bucket_sample_read(repo, shorts[1], -1, v, sizeof v) >= 0, "%s, earlier", shorts[1]);
}

/* Equal names below `.hangar`. */
static void test_checkout(void)
{
    char from[600], to[600];
    int16_t v[MOST] = {0};
    (void)snprintf(from, sizeof from, "%s/data", repo_name);
    (void)snprintf(to, sizeof to, "%s/.hangar", repo_name);
    REQUIRE(mkdir(to, 0777) == 0, "%s", to);
    (void)snprintf(to, sizeof to, "%s/.hangar/data", repo_name);
    REQUIRE(rename(from, to) == 0, "%s", to);
    h5bucket_repository *repo = h5bucket_repository_open(repo_name, NULL);
    REQUIRE(repo, "%s", repo_name);
    CHECK(h5bucket_sample_read(repo, shorts[0], -1, v, sizeof v) >= 0, "%s below .hangar", shorts[0]);
    check_shorts("below .hangar", 0, v);
    CHECK(h5bucket_repository_close(repo) >= 0, "close");
}

int main(int argc, char **argv)
{
    REQUIRE(argc > 2, "usage: test_read REPOSITORY plain|domain [append]");
    repo_name = argv[1];
    plain = strcmp(argv[2], "plain") == 0;
    bool local = !strstr(repo_name, "://");
    char own[200]; /* the same program over http and over https may run beside this one */
    if (!local && argc == 3 && snprintf(own, sizeof own, "%s-%d", argv[1], (int)getpid()) > 0)
        repo_name = own;
    fapl = TRY(H5Pcreate(H5P_FILE_ACCESS));
    TRY(H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    if (!plain)
        TRY(H5Pset_fapl_bucket(fapl, NULL));
    if (argc > 3) {
        append();
        return 0;
    }
    make_shorts();
    make_cubes();
    make_flag();
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    h5bucket_repository *repo = h5bucket_repository_open(repo_name, NULL);
    REQUIRE(repo, "%s", repo_name);
    test_many(repo);
    test_one(repo);
    test_types(repo);
    test_wrong(repo);
    test_append(repo, argv[0]);
    CHECK(h5bucket_repository_close(repo) >= 0, "close");
    CHECK(!h5bucket_repository_open("", NULL) && !h5bucket_repository_open(repo_name, "no_such=1"), "opened");
    if (local)
        test_checkout();
    TRY(H5Pclose(fapl));
    return failures != 0;
}
