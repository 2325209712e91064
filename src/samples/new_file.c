#include "samples/new_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "base/random.h"
#include "base/settings.h"
#include "samples/numpy_type.h"
#include "samples/repository.h"
#include "vol/core/h5err.h"
#include "vol/core/hid.h"

#define CHUNK_MAX     255000  /* bytes of a chunk of format 00, and the smallest chunk cache */
#define WHOLE_MAX     1048576 /* bytes: a sample of format 01 that is smaller is one chunk */
#define SLOTS_A_CHUNK 100

static const struct {
    unsigned rows;
    uint64_t cache_max; /* bytes */
} formats[] = {{250, 100000000}, {100, 250000000}};

/* ---- chunks of format 01, by the rule of PyTables ---- */

#define EXPECTED_ROWS 10000
#define CHUNK_UNIT    (24 * 8192) /* bytes; doubled each time that ten times as much is expected */
#define MEGABYTES_MAX 10000000

/* Bytes of a chunk, if a step of the first dimension has @p row bytes. */
static uint64_t chunk_target(uint64_t row)
{
    uint64_t all, mb = bkt_mul_u64(row, EXPECTED_ROWS, &all) ? all >> 20 : MEGABYTES_MAX;
    uint64_t target = CHUNK_UNIT;
    for (mb = bkt_min_u64(mb, MEGABYTES_MAX); mb >= 10; mb /= 10)
        target *= 2;
    return target;
}

/* Elements of a step of the dimension before @p from. */
static uint64_t behind(const struct bkt_collections *c, int from)
{
    uint64_t n = 1;
    for (int i = from; i < c->rank; i++)
        n *= c->shape[i];
    return n;
}

/* Dimensions shrink to 1 from the first one on, until the next one only has to be cut. */
static void chunk_of_large(struct bkt_collections *c)
{
    uint64_t room = bkt_max_u64(chunk_target(c->item * behind(c, 1)) / c->item, 1);
    int cut = 0;
    while (cut < c->rank - 1 && behind(c, cut + 1) > room)
        cut++;
    for (int i = 0; i < c->rank; i++)
        c->chunk[i + 1] = i < cut ? 1 : bkt_max_u64(c->shape[i], 1);
    c->chunk[cut + 1] = bkt_max_u64(bkt_min_u64(room / behind(c, cut + 1), c->shape[cut]), 1);
}

/* A scalar is stored as a sample of one element. */
static void lay_out_01(struct bkt_collections *c)
{
    c->dims = c->rank ? c->rank + 1 : 2;
    c->chunk[1] = c->extent[1] = 1;
    if (c->elements * c->item < WHOLE_MAX)
        for (int i = 0; i < c->rank; i++)
            c->chunk[i + 1] = bkt_max_u64(c->shape[i], 1); /* HDF5 has no chunk without elements */
    else
        chunk_of_large(c);
    for (int i = 1; i <= c->rank; i++)
        c->extent[i] = bkt_max_u64(bkt_ceil_div(c->shape[i - 1], c->chunk[i]), 1) * c->chunk[i];
}

/* ---- both formats ---- */

static void lay_out_00(struct bkt_collections *c)
{
    c->dims = 2;
    c->extent[1] = bkt_max_u64(c->elements, 1);
    c->chunk[1] = bkt_min_u64(bkt_max_u64(CHUNK_MAX / c->item, 1), c->extent[1]);
}

static bool is_prime(uint64_t n)
{
    if (n < 4 || n % 2 == 0)
        return n == 2 || n == 3;
    for (uint64_t i = 3; i * i <= n; i += 2)
        if (n % i == 0)
            return false;
    return true;
}

/* Format 00 counts the chunks that the cache can hold, and format 01 all chunks that a file can have. */
static void propose_cache(struct bkt_collections *c)
{
    uint64_t chunks = 1, room = c->elements * c->item * c->rows;
    c->chunk_bytes = c->item;
    for (int i = 1; i < c->dims; i++) {
        c->chunk_bytes *= c->chunk[i];
        chunks *= bkt_ceil_div(c->extent[i], c->chunk[i]);
    }
    room = c->format == 0 ? bkt_max_u64(room, CHUNK_MAX) : chunks * c->chunk_bytes * c->rows;
    c->rdcc_nbytes = bkt_min_u64(room, formats[c->format].cache_max);
    chunks = c->format == 0 ? bkt_ceil_div(c->rdcc_nbytes, c->chunk_bytes) : chunks * EXPECTED_ROWS;
    c->rdcc_nslots = chunks * SLOTS_A_CHUNK;
    while (!is_prime(c->rdcc_nslots))
        c->rdcc_nslots++;
}

/* The padding of format 01 adds less than a chunk in each dimension, so it at most doubles it. */
static bool count_elements(struct bkt_collections *c)
{
    uint64_t n = 1, bytes;
    for (int i = 0; i < c->rank; i++)
        if (!bkt_mul_u64(n, bkt_max_u64(c->shape[i], 1), &n))
            return false;
    if (!bkt_mul_u64(n, c->item, &bytes) || bytes > (uint64_t)INT64_MAX >> 16)
        return false;
    for (int i = 0; i < c->rank; i++)
        n = c->shape[i] ? n : 0;
    c->elements = n;
    return true;
}

int bkt_collections_init(struct bkt_collections *c, int format, int rank, const hsize_t *shape, size_t item,
                         struct bkt_err *err)
{
    int most = format == 0 ? H5S_MAX_RANK : H5S_MAX_RANK - 1;
    BKT_FAIL_IF(err, format < 0 || (size_t)format >= BKT_COUNT(formats), BKT_EINVAL,
                "backend %d: samples are written in format 0 or 1", format);
    BKT_FAIL_IF(err, rank < 0 || rank > most, BKT_EINVAL,
                "schema of rank %d: samples of format %02d have 0 to %d dimensions", rank, format, most);
    BKT_FAIL_IF(err, item == 0 || item > CHUNK_MAX, BKT_EINVAL,
                "schema: elements of %zu bytes; they have 1 to %d", item, CHUNK_MAX);
    *c = (struct bkt_collections){.format = format, .rank = rank, .item = item, .rows = formats[format].rows};
    for (int i = 0; i < rank; i++)
        c->shape[i] = shape[i];
    BKT_FAIL_IF(err, !count_elements(c), BKT_EINVAL,
                "schema: its shape has too many elements; a sample has less than 2^47 bytes");
    c->extent[0] = c->rows;
    c->chunk[0] = 1;
    if (format == 0)
        lay_out_00(c);
    else
        lay_out_01(c);
    propose_cache(c);
    return BKT_OK;
}

int bkt_collections_fits(const struct bkt_collections *c, bool variable, const hsize_t *shape,
                         uint64_t *elements, struct bkt_err *err)
{
    *elements = 1;
    for (int i = 0; i < c->rank; i++) {
        BKT_FAIL_IF(err, shape[i] > c->shape[i] || (!variable && shape[i] != c->shape[i]), BKT_EINVAL,
                    "sample: dimension %d is %llu, and the schema's %s %llu", i, (unsigned long long)shape[i],
                    variable ? "largest is" : "is", (unsigned long long)c->shape[i]);
        *elements *= shape[i];
    }
    return BKT_OK;
}

void bkt_collections_block(const struct bkt_collections *c, unsigned row, const hsize_t *shape,
                           hsize_t *start, hsize_t *count)
{
    memset(start, 0, (size_t)c->dims * sizeof *start);
    start[0] = row;
    count[0] = count[1] = 1;
    for (int i = 0; i < c->rank; i++)
        if (c->format == 0)
            count[1] *= shape[i];
        else
            count[i + 1] = shape[i];
}

#define VERSION_ATTRIBUTE "HANGAR_VERSION"
#define VERSION           "0.5.2" /* of Hangar: the latest that has the format */
#define UID               8       /* letters and digits */
#define UID_LETTERS       36
#define FOLDERS           3 /* of a new repository: the repository, "data", "00" */

/* ---- the form ---- */

static int take_settings(struct bkt_sample_form *form, const struct h5bucket_repository *repo,
                         struct bkt_err *err)
{
    struct bkt_settings set;
    BKT_PASS(bkt_settings_init(&set, repo->info, err));
    form->plain = repo->plain;
    form->sync = set.fsync;
    form->in_bucket = set.bucket && *set.bucket;
    bkt_settings_fini(&set);
    return BKT_OK;
}

static int init(struct bkt_sample_form *form, const struct h5bucket_samples_schema *schema,
                const struct h5bucket_repository *repo, struct bkt_err *err)
{
    BKT_PASS(take_settings(form, repo, err));
    BKT_PASS(BKT_PASS_H5(err, form->type = H5Tcopy(schema->type), "the schema's type"));
    form->number = bkt_numpy_number(form->type);
    BKT_FAIL_IF(
        err, form->number < 0, BKT_EUNSUP,
        "schema: numpy has no type for its elements; integers, IEEE floats, h5py's booleans and complex "
        "numbers can be samples");
    size_t item = H5Tget_size(form->type);
    BKT_PASS(bkt_collections_init(&form->rules, schema->backend, schema->rank, schema->shape, item, err));
    return bkt_sample_filters_parse(schema, form->rules.elements * item, &form->filters, err);
}

int bkt_sample_form_init(struct bkt_sample_form *form, const struct h5bucket_samples_schema *schema,
                         const struct h5bucket_repository *repo, struct bkt_err *err)
{
    *form = (struct bkt_sample_form){.type = H5I_INVALID_HID};
    int rc = init(form, schema, repo, err);
    if (rc < 0)
        bkt_sample_form_fini(form);
    return rc;
}

void bkt_sample_form_fini(struct bkt_sample_form *form)
{
    bkt_hid_closep(&form->type);
    form->type = H5I_INVALID_HID;
}

/* ---- attributes ---- */

static int put_attribute(hid_t file, const char *name, hid_t type, hid_t mem, hid_t space, const void *value,
                         struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t attr = H5I_INVALID_HID;
    BKT_PASS(BKT_PASS_H5(err, attr = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT), name));
    return BKT_PASS_H5(err, H5Awrite(attr, mem, value), name);
}

static int put_scalar(hid_t file, const char *name, hid_t type, hid_t mem, const void *value,
                      struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID;
    BKT_PASS(BKT_PASS_H5(err, space = H5Screate(H5S_SCALAR), name));
    return put_attribute(file, name, type, mem, space, value, err);
}

static int put_integer(hid_t file, const char *name, uint64_t value, struct bkt_err *err)
{
    int64_t v = (int64_t)value;
    return put_scalar(file, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &v, err);
}

/* As h5py stores a tuple; an empty one is an attribute without elements. */
static int put_integers(hid_t file, const char *name, const hsize_t *values, int n, struct bkt_err *err)
{
    hsize_t count = (hsize_t)n;
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5I_INVALID_HID;
    BKT_PASS(BKT_PASS_H5(err, space = H5Screate_simple(1, &count, NULL), name));
    return put_attribute(file, name, H5T_STD_I64LE, H5T_NATIVE_UINT64, space, values, err);
}

static int put_version(hid_t file, struct bkt_err *err)
{
    const char *text = VERSION;
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    BKT_PASS(BKT_PASS_H5(err, type = H5Tcopy(H5T_C_S1), VERSION_ATTRIBUTE));
    BKT_PASS(BKT_PASS_H5(err, H5Tset_size(type, H5T_VARIABLE), VERSION_ATTRIBUTE));
    BKT_PASS(BKT_PASS_H5(err, H5Tset_cset(type, H5T_CSET_UTF8), VERSION_ATTRIBUTE));
    return put_scalar(file, VERSION_ATTRIBUTE, type, type, &text, err);
}

/* Blosc has seven numbers, gzip has its level, and all others have FALSE. */
static int put_options(hid_t file, const struct bkt_sample_filters *f, struct bkt_err *err)
{
    static const char *const name = "compression_opts";
    hsize_t cd[BKT_COUNT(f->cd)];
    int8_t no = 0;
    BKT_CLEANUP(bkt_hid_closep) hid_t type = H5I_INVALID_HID;
    for (size_t i = 0; i < f->n_cd; i++)
        cd[i] = f->cd[i];
    if (f->n_cd > 1)
        return put_integers(file, name, cd, (int)f->n_cd, err);
    if (f->n_cd == 1)
        return put_integer(file, name, cd[0], err);
    BKT_PASS(BKT_PASS_H5(err, type = bkt_numpy_bool(), name));
    return put_scalar(file, name, type, type, &no, err);
}

static int put_attributes(hid_t file, const struct bkt_sample_form *form, struct bkt_err *err)
{
    static const hsize_t begin[2] = {0, 0};
    const struct bkt_collections *c = &form->rules;
    double w0 = BKT_RDCC_W0;
    BKT_PASS(put_version(file, err));
    BKT_PASS(put_integers(file, "schema_shape", c->shape, c->rank, err));
    BKT_PASS(put_integer(file, "schema_dtype_num", (uint64_t)form->number, err));
    BKT_PASS(put_integers(file, "next_location", begin, 2, err));
    BKT_PASS(put_integer(file, "collection_max_size", c->rows, err));
    BKT_PASS(put_integer(file, "collection_total", BKT_COLLECTIONS, err));
    BKT_PASS(put_integer(file, "collections_remaining", BKT_COLLECTIONS, err));
    BKT_PASS(put_integer(file, "rdcc_nbytes", c->rdcc_nbytes, err));
    BKT_PASS(put_scalar(file, "rdcc_w0", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &w0, err));
    BKT_PASS(put_integer(file, "rdcc_nslots", c->rdcc_nslots, err));
    BKT_PASS(put_integers(file, "chunk_shape", c->chunk + 1, c->dims - 1, err));
    return put_options(file, &form->filters, err);
}

static int change_attribute(hid_t file, const char *name, const hsize_t *values, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t attr = H5I_INVALID_HID;
    BKT_PASS(BKT_PASS_H5(err, attr = H5Aopen(file, name, H5P_DEFAULT), name));
    return BKT_PASS_H5(err, H5Awrite(attr, H5T_NATIVE_UINT64, values), name);
}

/* ---- collections ---- */

static int put_collections(hid_t file, const struct bkt_sample_form *form, struct bkt_err *err)
{
    const struct bkt_collections *c = &form->rules;
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = H5I_INVALID_HID, space = H5I_INVALID_HID;
    char name[16];
    BKT_PASS(
        BKT_PASS_H5(err, space = H5Screate_simple(c->dims, c->extent, NULL), "the extent of a collection"));
    BKT_PASS(BKT_PASS_H5(err, dcpl = H5Pcreate(H5P_DATASET_CREATE), "a creation list"));
    BKT_PASS(BKT_PASS_H5(err, H5Pset_chunk(dcpl, c->dims, c->chunk), "the chunks of a collection"));
    BKT_PASS(bkt_sample_filters_set(&form->filters, dcpl, err));
    for (unsigned i = 0; i < BKT_COLLECTIONS; i++) {
        BKT_CLEANUP(bkt_hid_closep) hid_t made = H5I_INVALID_HID;
        (void)snprintf(name, sizeof name, "%u", i);
        BKT_PASS(BKT_PASS_H5(
            err, made = H5Dcreate2(file, name, form->type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT), name));
    }
    return BKT_OK;
}

/* ---- names ---- */

static void new_uid(char uid[H5BUCKET_UID_MAX])
{
    static const char letters[UID_LETTERS + 1] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint64_t bits = bkt_random();
    for (int i = 0; i < UID; i++, bits /= UID_LETTERS)
        uid[i] = letters[bits % UID_LETTERS];
    uid[UID] = 0;
}

/* The first @p n bytes of a path, and at most @p more folders above. */
static int make_folder(const char *path, size_t n, int more, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *folder = strndup(path, n);
    BKT_NEED(err, folder);
    const char *above = strrchr(folder, '/');
    if (mkdir(folder, 0777) == 0 || errno == EEXIST)
        return BKT_OK;
    if (errno == ENOENT && more > 0 && above && above != folder) {
        BKT_PASS(make_folder(path, (size_t)(above - folder), more - 1, err));
        if (mkdir(folder, 0777) == 0 || errno == EEXIST)
            return BKT_OK;
    }
    BKT_FAIL(err, BKT_EIO, "%s: the folder can't be created: %s", folder, strerror(errno));
}

/* The part of a name that is a path of this machine; NULL: the name is not a path. */
static const char *path_of(const char *name)
{
    if (strncmp(name, "file://", 7) == 0)
        return name + 7;
    return strstr(name, "://") ? NULL : name;
}

/* The folders of a new file; a bucket makes its own. */
static int make_folders(const char *name, const struct bkt_sample_form *form, struct bkt_err *err)
{
    const char *path = path_of(name), *last = path ? strrchr(path, '/') : NULL;
    return last && !(path == name && form->in_bucket)
               ? make_folder(path, (size_t)(last - path), FOLDERS - 1, err)
               : BKT_OK;
}

/* ---- files ---- */

/* HDF5 1.10 can read the result, as all programs that know the format can. */
static int plain_list(hid_t *fapl, struct bkt_err *err)
{
    BKT_PASS(BKT_PASS_H5(err, *fapl = H5Pcreate(H5P_FILE_ACCESS), "a file access list"));
    BKT_PASS(BKT_PASS_H5(err, H5Pset_vol(*fapl, H5VL_NATIVE, NULL), "HDF5's own connector"));
    BKT_PASS(BKT_PASS_H5(err, H5Pset_fapl_sec2(*fapl), "HDF5's driver for local files"));
    return BKT_PASS_H5(err, H5Pset_libver_bounds(*fapl, H5F_LIBVER_V110, H5F_LIBVER_V110),
                       "the file's version");
}

static int store(hid_t file, const struct bkt_sample_form *form, struct bkt_err *err)
{
    void *handle = NULL; /* of HDF5's driver for local files: its descriptor */
    BKT_PASS(BKT_PASS_H5(err, H5Fflush(file, H5F_SCOPE_LOCAL), "flushing"));
    if (!form->plain || !form->sync)
        return BKT_OK;
    BKT_PASS(BKT_PASS_H5(err, H5Fget_vfd_handle(file, H5P_DEFAULT, &handle), "the file's descriptor"));
    BKT_FAIL_IF(err, fsync(*(const int *)handle) < 0, BKT_EIO, "the file can't be stored: %s",
                strerror(errno));
    return BKT_OK;
}

static int fill(hid_t file, const struct bkt_sample_form *form, struct bkt_err *err)
{
    BKT_PASS(put_collections(file, form, err));
    BKT_PASS(put_attributes(file, form, err));
    BKT_PASS(store(file, form, err));
    return form->plain ? BKT_PASS_H5(err, H5Fstart_swmr_write(file), "SWMR") : BKT_OK;
}

static int create(const char *name, hid_t fapl, const struct bkt_sample_form *form, hid_t *file,
                  struct bkt_err *err)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t made = H5I_INVALID_HID;
    BKT_TRY(err, BKT_PASS_H5(err, made = H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, fapl), name),
            "a new file of samples");
    int rc = fill(made, form, err);
    if (rc == BKT_OK) {
        *file = bkt_hid_take(&made);
        return rc;
    }
    H5E_BEGIN_TRY
    {
        (void)H5Fclose(bkt_hid_take(&made));
        (void)H5Fdelete(name, fapl);
    }
    H5E_END_TRY
    BKT_FAIL(err, rc, "%s: a new file of samples can't be filled", name);
}

int bkt_sample_file_create(const struct h5bucket_repository *repo, const struct bkt_sample_form *form,
                           char uid[H5BUCKET_UID_MAX], hid_t *file, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf name = {0};
    BKT_CLEANUP(bkt_hid_closep) hid_t plain = H5I_INVALID_HID;
    new_uid(uid);
    BKT_PASS(bkt_repository_file_name(repo, NULL, form->rules.format, uid, &name, err));
    const char *path = path_of(bkt_buf_str(&name));
    BKT_FAIL_IF(err, form->plain && !path, BKT_EUNSUP,
                "%s: plain HDF5 files are written in folders only; leave out backend=file",
                bkt_buf_str(&name));
    BKT_PASS(make_folders(bkt_buf_str(&name), form, err));
    if (!form->plain)
        return create(bkt_buf_str(&name), repo->fapl, form, file, err);
    BKT_PASS(plain_list(&plain, err));
    return create(path, plain, form, file, err);
}

int bkt_sample_file_flush(hid_t file, const struct bkt_sample_form *form, unsigned collection, unsigned row,
                          struct bkt_err *err)
{
    unsigned full = row >= form->rules.rows;
    const hsize_t next[2] = {collection + full, full ? 0 : row}, remaining = BKT_COLLECTIONS - next[0];
    BKT_PASS(change_attribute(file, "next_location", next, err));
    BKT_PASS(change_attribute(file, "collections_remaining", &remaining, err));
    return store(file, form, err);
}
