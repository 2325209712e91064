/* Appends samples by the library, and reads them by HDF5 alone.
 *
 *   sample_writer write REPOSITORY INFO COUNT EACH OPTION...
 *       appends COUNT samples (0: until it is killed), flushes after EACH of them, and then prints "INDEX
 * RECORD" for each, and "flushed" sample_writer read REPOSITORY INFO OPTION... <such lines compares each
 * sample with the one that was written
 *
 * Options: type=i1|u1|i2|...|f2|f4|f8|b1|c8, shape=3,4 (shape= for scalars), variable, backend=0|1, complib=,
 * level=, shuffle=, from=INDEX */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "h5bucket.h"
#include "h5bucket_samples.h"
#include "h5tests/helpers/must_succeed.h"

static struct h5bucket_samples_schema schema;
static bool boolean;
static unsigned long from;
static const char *repository, *info;

/* ---- options ---- */

static hid_t half(void)
{
    hid_t t = TRY(H5Tcopy(H5T_IEEE_F32LE));
    TRY(H5Tset_fields(t, 15, 10, 5, 0, 10));
    TRY(H5Tset_size(t, 2));
    TRY(H5Tset_ebias(t, 15));
    return t;
}

static hid_t truth(void)
{
    signed char no = 0, yes = 1;
    hid_t t = TRY(H5Tenum_create(H5T_STD_I8LE));
    TRY(H5Tenum_insert(t, "FALSE", &no));
    TRY(H5Tenum_insert(t, "TRUE", &yes));
    return t;
}

static hid_t complex_numbers(void)
{
    hid_t t = TRY(H5Tcreate(H5T_COMPOUND, 8));
    TRY(H5Tinsert(t, "r", 0, H5T_IEEE_F32LE));
    TRY(H5Tinsert(t, "i", 4, H5T_IEEE_F32LE));
    return t;
}

static hid_t type_of(const char *name)
{
    const struct {
        const char *name;
        hid_t type;
    } types[] = {{"i1", H5T_STD_I8LE},   {"u1", H5T_STD_U8LE},      {"i2", H5T_STD_I16LE},
                 {"u2", H5T_STD_U16LE},  {"i4", H5T_STD_I32LE},     {"u4", H5T_STD_U32LE},
                 {"i8", H5T_STD_I64LE},  {"u8", H5T_STD_U64LE},     {"f4", H5T_IEEE_F32LE},
                 {"f8", H5T_IEEE_F64LE}, {"g", H5T_NATIVE_LDOUBLE}, {">i4", H5T_STD_I32BE},
                 {"t", H5T_C_S1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].type;
    boolean = strcmp(name, "b1") == 0;
    return boolean ? truth() : strcmp(name, "f2") == 0 ? half() : complex_numbers();
}

static void parse_shape(const char *text)
{
    char *end;
    for (schema.rank = 0; *text; text = *end ? end + 1 : end)
        schema.shape[schema.rank++] = strtoull(text, &end, 10);
}

static const char *is(const char *option, const char *name)
{
    size_t n = strlen(name);
    return strncmp(option, name, n) == 0 ? option + n : NULL;
}

static void parse(int n, char **options)
{
    const char *v;
    schema = (struct h5bucket_samples_schema){.type = H5T_STD_U8LE};
    for (int i = 0; i < n; i++)
        if ((v = is(options[i], "type=")))
            schema.type = type_of(v);
        else if ((v = is(options[i], "shape=")))
            parse_shape(v);
        else if (is(options[i], "variable"))
            schema.variable = true;
        else if ((v = is(options[i], "backend=")))
            schema.backend = (int)strtol(v, NULL, 10);
        else if ((v = is(options[i], "complib=")))
            schema.complib = v;
        else if ((v = is(options[i], "level=")))
            schema.complevel = (int)strtol(v, NULL, 10);
        else if ((v = is(options[i], "shuffle=")))
            schema.shuffle = v;
        else if ((v = is(options[i], "from=")))
            from = strtoul(v, NULL, 10);
        else
            REQUIRE(false, "option %s", options[i]);
}

/* ---- samples ---- */

/* The shape of sample @p i, and its bytes. */
static size_t shape_of(unsigned long i, hsize_t *shape)
{
    size_t n = H5Tget_size(schema.type);
    for (int d = 0; d < schema.rank; d++) {
        shape[d] = schema.shape[d] - (schema.variable ? (i + (unsigned)d) % (schema.shape[d] + 1) : 0);
        n *= shape[d];
    }
    return n;
}

/* Bytes that can be compressed, and are numbers of each type. */
static unsigned char *bytes_of(unsigned long i, size_t n)
{
    unsigned char *p = malloc(n + 1);
    REQUIRE(p, "memory");
    for (size_t k = 0; k < n; k++)
        p[k] = (unsigned char)((k / 7 + 31 * i) & (boolean ? 1 : 0x7f));
    return p;
}

/* ---- writing ---- */

struct block {
    unsigned long first, n;
    char (*record)[H5BUCKET_RECORD_MAX];
};

static void flush_block(h5bucket_samples *w, struct block *b)
{
    TRY(h5bucket_samples_flush(w));
    for (unsigned long i = 0; i < b->n; i++)
        (void)printf("%lu %s\n", b->first + i, b->record[i]);
    (void)printf("flushed\n");
    (void)fflush(stdout);
    b->first += b->n;
    b->n = 0;
}

static int write_samples(unsigned long count, unsigned long each)
{
    h5bucket_repository *r = h5bucket_repository_open(repository, info);
    h5bucket_samples *w = r ? h5bucket_samples_open(r, &schema) : NULL;
    struct block b = {.first = from, .record = calloc(each, sizeof *b.record)};
    if (!w || !b.record)
        die("opening a writer");
    for (unsigned long i = from; !count || i < from + count; i++) {
        hsize_t shape[H5S_MAX_RANK];
        size_t n = shape_of(i, shape);
        unsigned char *p = bytes_of(i, n);
        TRY(h5bucket_samples_append(w, n ? p : NULL, schema.variable ? shape : NULL, b.record[b.n++]));
        free(p);
        if (b.n == each)
            flush_block(w, &b);
    }
    if (b.n)
        flush_block(w, &b);
    TRY(h5bucket_samples_close(w));
    TRY(h5bucket_repository_close(r));
    free(b.record);
    return 0;
}

/* ---- reading ---- */

static hid_t open_file(const struct h5bucket_record *r, bool plain)
{
    static char open_name[1000];
    static hid_t file = -1;
    char name[1000];
    hid_t fapl = TRY(H5Pcreate(H5P_FILE_ACCESS));
    (void)snprintf(name, sizeof name, "%s/data/0%d/%s.hdf5", repository, r->format, r->uid);
    if (file >= 0 && strcmp(name, open_name) == 0)
        return H5Pclose(fapl), file;
    if (file >= 0)
        TRY(H5Fclose(file));
    if (plain) { /* a damaged block is an error at once: HDF5 would wait for its writer for hours */
        TRY(H5Pset_vol(fapl, H5VL_NATIVE, NULL));
        TRY(H5Pset_metadata_read_attempts(fapl, 20));
    } else {
        TRY(H5Pset_fapl_bucket(fapl, info));
    }
    file = TRY(H5Fopen(name, plain ? H5F_ACC_RDONLY | H5F_ACC_SWMR_READ : H5F_ACC_RDONLY, fapl));
    memcpy(open_name, name, sizeof name);
    TRY(H5Pclose(fapl));
    return file;
}

static void print_filters(hid_t d)
{
    hid_t list = TRY(H5Dget_create_plist(d));
    int n = (int)TRY(H5Pget_nfilters(list));
    for (int i = 0; i < n; i++) {
        unsigned flags, cd[16];
        size_t n_cd = 16;
        int id = (int)TRY(H5Pget_filter2(list, (unsigned)i, &flags, &n_cd, cd, 0, NULL, NULL));
        (void)printf("filter %d %u:", id, flags);
        for (size_t k = 0; k < n_cd; k++)
            (void)printf(" %u", cd[k]);
        (void)printf("\n");
    }
    TRY(H5Pclose(list));
}

static void read_row(hid_t file, const struct h5bucket_record *r, void *to)
{
    char name[20];
    hsize_t start[H5S_MAX_RANK] = {r->row}, count[H5S_MAX_RANK] = {1, 1}, dims[H5S_MAX_RANK];
    (void)snprintf(name, sizeof name, "%u", r->dataset);
    hid_t d = TRY(H5Dopen2(file, name, H5P_DEFAULT)), s = TRY(H5Dget_space(d));
    if (r->dataset == 0 && r->row == 0)
        print_filters(d);
    int rank = r->format == 0 || r->rank == 0 ? 2 : r->rank + 1;
    REQUIRE(TRY(H5Sget_simple_extent_dims(s, dims, NULL)) == rank && dims[0] == (r->format == 0 ? 250 : 100),
            "collection %s", name);
    for (int i = 0; i < r->rank; i++)
        if (r->format == 0)
            count[1] *= r->shape[i];
        else
            count[i + 1] = r->shape[i];
    hid_t m = TRY(H5Screate_simple(rank, count, NULL));
    TRY(H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, count, NULL));
    TRY(H5Dread(d, schema.type, m, s, H5P_DEFAULT, to));
    TRY(H5Sclose(m));
    TRY(H5Sclose(s));
    TRY(H5Dclose(d));
}

static void check_sample(unsigned long i, const char *text)
{
    struct h5bucket_record r;
    hsize_t shape[H5S_MAX_RANK];
    size_t n = shape_of(i, shape);
    unsigned char *want = bytes_of(i, n), *got = calloc(1, n + 1);
    TRY(h5bucket_record_parse(text, strlen(text), &r));
    CHECK(r.format == schema.backend && r.rank == schema.rank, "%s", text);
    for (int d = 0; d < r.rank && d < schema.rank; d++)
        CHECK(r.shape[d] == shape[d], "%s: dimension %d", text, d);
    CHECK(r.has_digest && r.digest == XXH64(want, n, 0), "%s: the digest", text);
    if (n)
        read_row(open_file(&r, strstr(info, "backend=file") != NULL), &r, got);
    CHECK(memcmp(want, got, n) == 0, "sample %lu, %s: other values", i, text);
    free(want);
    free(got);
}

static int read_samples(void)
{
    char line[400], text[H5BUCKET_RECORD_MAX];
    unsigned long i, n = 0;
    h5bucket_repository *r = h5bucket_repository_open(repository, info); /* HDF5 gets the filters */
    h5bucket_samples *w = r ? h5bucket_samples_open(r, &schema) : NULL;
    if (!w)
        die("the repository");
    while (fgets(line, sizeof line, stdin))
        if (sscanf(line, "%lu %255[^\n]", &i, text) == 2)
            check_sample(i, text), n++;
    (void)printf("%lu samples\n", n);
    TRY(h5bucket_samples_close(w));
    TRY(h5bucket_repository_close(r));
    return failures != 0;
}

int main(int argc, char **argv)
{
    bool writes = argc >= 6 && strcmp(argv[1], "write") == 0;
    if (!writes && (argc < 4 || strcmp(argv[1], "read") != 0))
        return 2;
    repository = argv[2];
    info = argv[3];
    parse(argc - (writes ? 6 : 4), argv + (writes ? 6 : 4));
    return writes ? write_samples(strtoul(argv[4], NULL, 10), strtoul(argv[5], NULL, 10)) : read_samples();
}
