/* No call of HDF5 names a filter, and its decoder of lists drops names.  Names come only with the filter
 * message of a dataset in a file.  (H5Pcopy_prop() of 1.14 loses a property that the list has.)  So HDF5
 * makes a file in memory with room for such a message, and the message is put there.  Then HDF5 reads it.
 * The message is made here from a list that HDF5 has, and from names that end within their room. */
#include "vol/convert/filter_names.h"

#include <stdlib.h>
#include <string.h>

#include "vol/core/filters.h"
#include "vol/core/h5err.h"
#include "vol/core/hid.h"

#define FILE_NAME  "h5bucket-filter-names"
#define DSET_NAME  "d"
#define MOST_BYTES 32768 /* of a message; 65528 is HDF5's limit */

/* ---- the message, of version 1 ---- */

enum { HEAD = 8, FILTER_HEAD = 8 };

static size_t aligned(size_t n) { return (n + 7) / 8 * 8; }

struct message {
    struct bkt_buf bytes;
    bool           differs;  /* the list has other names */
    bool           unusable; /* the list has other filters, or too many for the room */
};

static void message_fini(struct message *m) { bkt_buf_fini(&m->bytes); }

static int add_filter(struct bkt_buf *m, const struct bkt_filter_desc *f, const char *name,
                      struct bkt_err *err)
{
    size_t room = name[0] ? aligned(strlen(name) + 1) : 0, at = m->len;
    BKT_PASS_MEM(err, bkt_buf_resize(m, at + FILTER_HEAD + room + aligned(f->n_cd * 4)));
    unsigned char *p = m->ptr + at;
    memset(p, 0, m->len - at);
    bkt_put_le(p, 2, (uint64_t)f->id);
    bkt_put_le(p + 2, 2, room);
    bkt_put_le(p + 4, 2, (uint64_t)f->flags);
    bkt_put_le(p + 6, 2, f->n_cd);
    if (room)
        memcpy(p + FILTER_HEAD, name, strlen(name) + 1);
    for (size_t i = 0; i < f->n_cd; i++)
        bkt_put_le(p + FILTER_HEAD + room + 4 * i, 4, f->cd[i]);
    return BKT_OK;
}

static const char *name_of(const struct bkt_filter_desc *f)
{
    if (f->id < H5Z_FILTER_RESERVED)
        return "";
    return f->h5name[0] ? f->h5name : f->name;
}

static int add_filter_of(hid_t dcpl, unsigned i, const struct bkt_filter_desc *stored, struct message *m,
                         struct bkt_err *err)
{
    struct bkt_filter_desc f    = {.id = -1};
    const char            *name = name_of(stored);
    int                    rc   = bkt_convert_from_filter(dcpl, i, &f, err);
    m->unusable |= f.id != stored->id || f.n_cd > MOST_BYTES / 4;
    m->differs |= name[0] && strcmp(name, f.h5name) != 0;
    if (rc == BKT_OK && !m->unusable)
        rc = add_filter(&m->bytes, &f, name, err);
    free(f.cd);
    return rc;
}

static int make_message(hid_t dcpl, const struct bkt_dset *d, struct message *m, struct bkt_err *err)
{
    BKT_PASS_MEM(err, bkt_buf_resize(&m->bytes, HEAD));
    memset(m->bytes.ptr, 0, HEAD);
    m->bytes.ptr[0] = 1; /* version */
    m->bytes.ptr[1] = (unsigned char)d->n_filters;
    for (unsigned i = 0; i < d->n_filters && !m->unusable; i++)
        BKT_PASS(add_filter_of(dcpl, i, &d->filters[i], m, err));
    m->unusable |= m->bytes.len > MOST_BYTES;
    return BKT_OK;
}

/* ---- the file ---- */

/* The checksum filter ignores parameters, so they can fill the room. */
static const char *const room_name = "fletcher32";
enum { ROOM_NAME = 16, ROOM = HEAD + FILTER_HEAD + ROOM_NAME };

/* A file of the oldest format has no checksum over the message. */
static hid_t access_list(void)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    if (fapl >= 0 && H5Pset_fapl_core(fapl, 4096, 0) >= 0 && H5Pset_vol(fapl, H5VL_NATIVE, NULL) >= 0 &&
        H5Pset_libver_bounds(fapl, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST) >= 0)
        return fapl;
    bkt_hid_closep(&fapl);
    return fapl;
}

/* A dataset with a message of @p n bytes */
static herr_t add_dataset(hid_t file, size_t n)
{
    static const hsize_t one = 1;
    size_t                            n_cd  = (n - ROOM) / 4;
    BKT_CLEANUP(bkt_freep) unsigned  *cd    = calloc(n_cd + 1, sizeof *cd);
    BKT_CLEANUP(bkt_hid_closep) hid_t space = H5Screate_simple(1, &one, NULL);
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl  = H5Pcreate(H5P_DATASET_CREATE);
    if (!cd || space < 0 || dcpl < 0 || H5Pset_chunk(dcpl, 1, &one) < 0 ||
        H5Pset_filter(dcpl, H5Z_FILTER_FLETCHER32, H5Z_FLAG_MANDATORY, n_cd, cd) < 0)
        return -1;
    BKT_CLEANUP(bkt_hid_closep)
    hid_t dset = H5Dcreate2(file, DSET_NAME, H5T_STD_U8LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    return dset < 0 ? -1 : 0;
}

static herr_t image_of(hid_t file, struct bkt_buf *image)
{
    ssize_t n = H5Fflush(file, H5F_SCOPE_LOCAL) < 0 ? -1 : H5Fget_file_image(file, NULL, 0);
    if (n <= 0 || bkt_buf_resize(image, (size_t)n) < 0)
        return -1;
    return H5Fget_file_image(file, image->ptr, image->len) == n ? 0 : -1;
}

static herr_t make_image(size_t n, struct bkt_buf *image)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = access_list();
    BKT_CLEANUP(bkt_hid_closep)
    hid_t file = fapl < 0 ? fapl : H5Fcreate(FILE_NAME, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    return file < 0 || add_dataset(file, n) < 0 ? -1 : image_of(file, image);
}

/* Replace the message in the file, which is as long; false: it isn't at the expected place. */
static bool put_message(struct bkt_buf *image, const struct bkt_buf *m)
{
    unsigned char was[ROOM] = {1, 1};
    bkt_put_le(was + HEAD, 2, H5Z_FILTER_FLETCHER32);
    bkt_put_le(was + HEAD + 2, 2, ROOM_NAME);
    bkt_put_le(was + HEAD + 6, 2, (m->len - ROOM) / 4);
    memcpy(was + HEAD + FILTER_HEAD, room_name, strlen(room_name) + 1);
    unsigned char *at = memmem(image->ptr, image->len, was, sizeof was);
    if (!at || (size_t)(image->ptr + image->len - at) < m->len)
        return false;
    memcpy(at, m->ptr, m->len);
    return true;
}

static hid_t list_in(struct bkt_buf *image)
{
    BKT_CLEANUP(bkt_hid_closep) hid_t fapl = access_list();
    if (fapl < 0 || H5Pset_file_image(fapl, image->ptr, image->len) < 0)
        return H5I_INVALID_HID;
    BKT_CLEANUP(bkt_hid_closep) hid_t file = H5Fopen(FILE_NAME, H5F_ACC_RDONLY, fapl);
    BKT_CLEANUP(bkt_hid_closep) hid_t dset = file < 0 ? file : H5Dopen2(file, DSET_NAME, H5P_DEFAULT);
    BKT_CLEANUP(bkt_hid_closep) hid_t dcpl = dset < 0 ? dset : H5Dget_create_plist(dset);
    return dcpl < 0 || H5Pset_layout(dcpl, H5D_CONTIGUOUS) < 0 ? H5I_INVALID_HID : bkt_hid_take(&dcpl);
}

static hid_t list_of(const struct bkt_buf *m)
{
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf image = {0};
    return make_image(m->len, &image) < 0 || !put_message(&image, m) ? H5I_INVALID_HID : list_in(&image);
}

/* ---- names into lists ---- */

/* Extend the message to the least length of the message in the file. */
static int fill_room(struct bkt_buf *m, struct bkt_err *err)
{
    size_t n = m->len;
    if (n >= ROOM)
        return BKT_OK;
    BKT_PASS_MEM(err, bkt_buf_resize(m, ROOM));
    memset(m->ptr + n, 0, ROOM - n);
    return BKT_OK;
}

int bkt_filters_named(hid_t dcpl, const struct bkt_dset *d, hid_t *out, struct bkt_err *err)
{
    BKT_CLEANUP(message_fini) struct message m = {.differs = false};
    if (!d->n_filters || d->n_filters > H5Z_MAX_NFILTERS || H5Pget_nfilters(dcpl) != (int)d->n_filters)
        return BKT_OK;
    BKT_PASS(make_message(dcpl, d, &m, err));
    if (m.unusable || !m.differs)
        return BKT_OK;
    BKT_PASS(fill_room(&m.bytes, err));
    return BKT_PASS_H5(err, *out = list_of(&m.bytes), "naming the filters of a creation property list");
}
