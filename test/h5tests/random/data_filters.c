/* Filters for the random test of datasets, HDF5's and the program's own. */
#include "h5tests/random/data.h"

#include <string.h>

enum { GROWS = 300, SOMETIMES = 301, MISSING = 399 };

/* ---- the program's own: bytes are turned, and one more comes first ---- */

static size_t turn(unsigned flags, size_t n_cd, const unsigned cd[], size_t n, size_t *room, void **buf)
{
    bool           back = flags & H5Z_FLAG_REVERSE;
    size_t         len  = back ? n - 1 : n + 1;
    unsigned char *to   = n ? H5allocate_memory(len + 1, false) : NULL, *from = *buf;
    (void)n_cd;
    (void)cd;
    if (!to || (back && from[0] != 0x42))
        return 0;
    to[0] = 0x42;
    for (size_t i = 0; i + 1 < n + (back ? 0 : 1); i++)
        to[back ? i : i + 1] = from[back ? i + 1 : i] ^ 0x55;
    H5free_memory(*buf);
    *buf  = to;
    *room = len + 1;
    return len;
}

/* Not every second chunk: those stay as they are. */
static size_t turn_some(unsigned flags, size_t n_cd, const unsigned cd[], size_t n, size_t *room, void **buf)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n && !(flags & H5Z_FLAG_REVERSE); i++)
        sum += ((const unsigned char *)*buf)[i];
    return sum % 2 ? 0 : turn(flags, n_cd, cd, n, room, buf);
}

void filters_register(void)
{
    static const H5Z_class2_t own[] = {{H5Z_CLASS_T_VERS, GROWS, 1, 1, "turned", NULL, NULL, turn},
                                       {H5Z_CLASS_T_VERS, SOMETIMES, 1, 1, "turned now and then", NULL, NULL, turn_some}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        H5Zregister(&own[i]);
}

bool has_filter(hid_t dcpl, H5Z_filter_t id)
{
    unsigned flags;
    size_t   none = 0;
    bool     has  = H5Pget_layout(dcpl) == H5D_CHUNKED && H5Pget_nfilters(dcpl) > 0 &&
               H5Pget_filter_by_id2(dcpl, id, &flags, &none, NULL, 0, NULL, NULL) >= 0;
    H5Eclear2(H5E_DEFAULT);
    return has;
}

bool leaves_some_out(hid_t dcpl)
{
    return has_filter(dcpl, H5Z_FILTER_SZIP) || has_filter(dcpl, SOMETIMES) || has_filter(dcpl, MISSING);
}

/* ---- a pipeline ---- */

enum { DEFLATE, SHUFFLE, FLETCHER32, SZIP, OWN, OWN_SOMETIMES, NOT_THERE, KINDS };

/* HDF5 can't decode its szip of odd numbers of bytes, nor of bytes whose number another filter has changed
 * (they end in stray memory). */
static bool szip_works(hid_t type, unsigned used)
{
    H5T_class_t cls = H5Tget_class(type);
    size_t      n   = H5Tget_size(type);
    return (cls == H5T_INTEGER || cls == H5T_FLOAT) && H5Tget_precision(type) == 8 * n && (n == 1 || n == 2 || n == 4 || n == 8) &&
           !(used & (1U << DEFLATE | 1U << FLETCHER32 | 1U << OWN | 1U << OWN_SOMETIMES));
}

/* HDF5's takes only float and double.  It turns others around before it finds that out, and stores them so. */
static bool is_float_or_double(hid_t type)
{
    size_t size = H5Tget_size(type);
    return H5Tget_class(type) == H5T_FLOAT && H5Tget_order(type) != H5T_ORDER_VAX && (size == sizeof(float) || size == sizeof(double)) &&
           H5Tget_precision(type) == 8 * size;
}

/* It sees elements, so it comes first. */
static void pack_bits(struct run *run, hid_t p, struct dset *d)
{
    H5T_class_t cls = H5Tget_class(d->type);
    unsigned    way = rnd_below(&run->r, 100), bits = H5Z_SO_INT_MINBITS_DEFAULT;
    if (way < 12 && !d->var) { /* HDF5's crashes on sequences */
        H5Pset_nbit(p);
        d->exact = false;
        note(run, "nbit ");
    } else if (way < 26 && cls == H5T_INTEGER) {
        if (rnd_chance(&run->r, 40)) /* enough of them: 0 .. 15, and one code for the fill value */
            bits = rnd_in(&run->r, 5, (unsigned)H5Tget_precision(d->type));
        H5Pset_scaleoffset(p, H5Z_SO_INT, (int)bits);
        d->exact = false;
        d->small = true;
        note(run, "scaleoffset %u ", bits);
    } else if (way < 40 && is_float_or_double(d->type)) {
        int digits = (int)rnd_in(&run->r, 1, 4);
        H5Pset_scaleoffset(p, H5Z_SO_FLOAT_DSCALE, digits);
        d->exact = false;
        d->small = true;
        note(run, "scaleoffset %d digits ", digits);
    }
}

static void add_one(struct run *run, hid_t p, struct dset *d, unsigned kind)
{
    static const char *const names[KINDS] = {"deflate", "shuffle", "fletcher32", "szip", "own", "own, sometimes", "missing"};
    unsigned                 pixels = 2 * rnd_in(&run->r, 1, 8), flag = rnd_chance(&run->r, 50) ? H5Z_FLAG_OPTIONAL : 0;
    note(run, "%s ", names[kind]);
    switch (kind) {
        case DEFLATE: H5Pset_deflate(p, rnd_below(&run->r, 10)); break;
        case SHUFFLE: H5Pset_shuffle(p); break;
        case FLETCHER32: H5Pset_fletcher32(p); break;
        case SZIP:
            d->small = true; /* HDF5 can't decode all that doesn't get shorter */
            if (H5Zfilter_avail(H5Z_FILTER_SZIP) > 0)
                H5Pset_szip(p, rnd_chance(&run->r, 50) ? H5_SZIP_NN_OPTION_MASK : H5_SZIP_EC_OPTION_MASK, pixels);
            break;
        case OWN: H5Pset_filter(p, GROWS, flag, 0, NULL); break;
        case OWN_SOMETIMES: H5Pset_filter(p, SOMETIMES, H5Z_FLAG_OPTIONAL, 0, NULL); break;
        default: H5Pset_filter(p, MISSING, H5Z_FLAG_OPTIONAL, 0, NULL); break;
    }
}

/* HDF5 forgets to store a chunk's new list of left out filters if its bytes are as many as before.  So no filter whose
 * output varies in length goes together with one that fails for some chunks. */
static bool may_join(const struct dset *d, unsigned used, unsigned kind)
{
    const unsigned varying = 1U << DEFLATE | 1U << SZIP;
    if (kind == OWN_SOMETIMES)
        return !(used & varying) && !d->small;
    return !(used & 1U << OWN_SOMETIMES) || !(varying & 1U << kind);
}

void random_filters(struct run *run, hid_t p, struct dset *d)
{
    static const unsigned often[] = {DEFLATE, DEFLATE, DEFLATE, SHUFFLE, SHUFFLE, FLETCHER32, FLETCHER32, SZIP, SZIP, OWN, OWN_SOMETIMES,
                                     NOT_THERE};
    unsigned              n = rnd_chance(&run->r, 50) ? 0 : rnd_in(&run->r, 1, 3), used = 0;
    if (n)
        pack_bits(run, p, d);
    for (unsigned i = 0; i < n; i++) {
        unsigned kind = RND_OF(&run->r, often);
        if (used & 1U << kind || !may_join(d, used, kind) || (kind == SZIP && (!d->exact || !szip_works(d->type, used))))
            continue;
        used |= 1U << kind;
        add_one(run, p, d, kind);
    }
}
