/* One file for each way in which HDF5 finds a dataset's bytes, for load_forms.py: make_forms FOLDER [late].
 *
 * Every kind of chunk index under every version of the superblock that has it, dense and with gaps, filtered
 * and not; files written by other drivers; values that no reference can carry; a dataset of more than 4 GiB.
 * The form of each file is checked (version of the superblock, kind of index), so that no form is silently
 * missed. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5tests/helpers/must_succeed.h"

#define CAP 512 /* elements of a dataset at most */

static void want(int good, const char *name, const char *what)
{
    CHECK(good, "%s has not %s", name, what);
}

/* ---- chunk indexes ---- */

struct form {
    const char       *name;
    H5D_chunk_index_t index; /* of superblock 3; H5D_CHUNK_IDX_BTREE below that */
    unsigned          rank;
    hsize_t           dims[3], max[3], chunk[3];
    bool early, shrunk, unfiltered_edges;
};
static const struct form forms[] = {
    {"single", H5D_CHUNK_IDX_SINGLE, 2, {9, 7}, {9, 7}, {9, 7}, false, false, false},
    {"implicit", H5D_CHUNK_IDX_NONE, 2, {9, 14}, {9, 14}, {2, 5}, true, false, false},
    {"fixed", H5D_CHUNK_IDX_FARRAY, 2, {9, 14}, {9, 14}, {2, 5}, false, false, false},
    {"fixed_more", H5D_CHUNK_IDX_FARRAY, 2, {9, 14}, {30, 22}, {2, 5}, false, false, false},
    {"extensible", H5D_CHUNK_IDX_EARRAY, 2, {9, 14}, {H5S_UNLIMITED, 14}, {2, 5}, false, false, false},
    {"extensible_last", H5D_CHUNK_IDX_EARRAY, 2, {9, 14}, {9, H5S_UNLIMITED}, {2, 5}, false, false, false},
    {"extensible_last_more",
     H5D_CHUNK_IDX_EARRAY,
     2,
     {9, 14},
     {31, H5S_UNLIMITED},
     {2, 5},
     false,
     false,
     false},
    {"extensible_mid",
     H5D_CHUNK_IDX_EARRAY,
     3,
     {5, 8, 6},
     {5, H5S_UNLIMITED, 6},
     {2, 3, 4},
     false,
     false,
     false},
    {"extensible_mid_more",
     H5D_CHUNK_IDX_EARRAY,
     3,
     {5, 8, 6},
     {11, H5S_UNLIMITED, 17},
     {2, 3, 4},
     false,
     false,
     false},
    {"btree2", H5D_CHUNK_IDX_BT2, 2, {9, 14}, {H5S_UNLIMITED, H5S_UNLIMITED}, {2, 5}, false, false, false},
    {"shrunk", H5D_CHUNK_IDX_BT2, 2, {9, 14}, {H5S_UNLIMITED, H5S_UNLIMITED}, {2, 5}, false, true, false},
    {"shrunk_last", H5D_CHUNK_IDX_EARRAY, 2, {9, 14}, {9, H5S_UNLIMITED}, {2, 5}, false, true, false},
    {"unfiltered_edges", H5D_CHUNK_IDX_FARRAY, 2, {9, 14}, {9, 14}, {2, 5}, false, false, true},
    {"many", H5D_CHUNK_IDX_FARRAY, 1, {300}, {300}, {1}, false, false, false}, /* more than a layout lists
                                                                                  (tools/load/load_link.c) */
};

static void write_part(hid_t dset, const struct form *f, bool gaps)
{
    int     v[CAP];
    hsize_t start[3] = {0}, n[3] = {1, 1, 1};
    hid_t   space = TRY(H5Dget_space(dset));
    for (int i = 0; i < CAP; i++)
        v[i] = 1000 + i;
    for (unsigned d = 0; d < f->rank; d++)
        n[d] = gaps ? f->dims[d] - f->dims[d] / 2 : f->dims[d], start[d] = f->dims[d] - n[d];
    hid_t mem = TRY(H5Screate_simple((int)f->rank, n, NULL));
    TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, n, NULL));
    TRY(H5Dwrite(dset, H5T_NATIVE_INT, mem, space, H5P_DEFAULT, v));
    TRY(H5Sclose(mem)), TRY(H5Sclose(space));
}

static void form(hid_t file, const struct form *f, bool filtered, bool gaps, bool new_index)
{
    char              name[64];
    H5D_chunk_index_t index = H5D_CHUNK_IDX_BTREE;
    hid_t             dcpl  = TRY(H5Pcreate(H5P_DATASET_CREATE)), space = TRY(H5Screate_simple((int)f->rank, f->dims, f->max));
    (void)snprintf(name, sizeof name, "%s%s%s", f->name, filtered ? "_filtered" : "", gaps ? "_gaps" : "");
    TRY(H5Pset_chunk(dcpl, (int)f->rank, f->chunk));
    if (filtered)
        TRY(H5Pset_shuffle(dcpl)), TRY(H5Pset_deflate(dcpl, 5));
    if (f->early)
        TRY(H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY));
    if (f->unfiltered_edges && new_index)
        TRY(H5Pset_chunk_opts(dcpl, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS));
    hid_t dset = TRY(H5Dcreate2(file, name, H5T_STD_I32BE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    write_part(dset, f, gaps);
    if (f->shrunk) {
        hsize_t less[3];
        for (unsigned d = 0; d < f->rank; d++)
            less[d] = f->max[d] == H5S_UNLIMITED ? f->dims[d] - 4 : f->dims[d];
        TRY(H5Dset_extent(dset, less));
    }
    TRY(H5Dget_chunk_index_type(dset, &index));
    want(index == (new_index ? f->index : H5D_CHUNK_IDX_BTREE), name, "the index that it should");
    TRY(H5Dclose(dset)), TRY(H5Sclose(space)), TRY(H5Pclose(dcpl));
}

static void indexes(const char *name, hid_t fcpl, hid_t fapl, unsigned super)
{
    H5F_info2_t info = {0};
    hid_t       file = TRY(H5Fcreate(name, H5F_ACC_TRUNC, fcpl, fapl));
    TRY(H5Fget_info2(file, &info));
    want(info.super.version == super, name, "the superblock that it should");
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        for (int how = 0; how < 4; how++)
            if (!(forms[i].early && (how & 1))) /* HDF5 doesn't index filtered chunks so */
                form(file, &forms[i], how & 1, how & 2, super == 3);
    TRY(H5Fclose(file));
}

static void superblocks(void)
{
    const H5F_libver_t low[] = {H5F_LIBVER_EARLIEST, H5F_LIBVER_EARLIEST, H5F_LIBVER_V18, H5F_LIBVER_V110};
    for (unsigned version = 0; version < 4; version++) {
        char  name[32];
        hid_t fcpl = TRY(H5Pcreate(H5P_FILE_CREATE)), fapl = TRY(H5Pcreate(H5P_FILE_ACCESS));
        (void)snprintf(name, sizeof name, "super%u.h5", version);
        if (version == 1)
            TRY(H5Pset_istore_k(fcpl, 4)); /* small nodes: a tree of several levels */
        TRY(H5Pset_libver_bounds(fapl, low[version], version == 2 ? H5F_LIBVER_V18 : H5F_LIBVER_LATEST));
        TRY(H5Pset_userblock(fcpl, version % 2 ? 2048 : 0));
        indexes(name, fcpl, fapl, version);
        TRY(H5Pclose(fcpl)), TRY(H5Pclose(fapl));
    }
}

/* ---- drivers ---- */

static void simple(const char *name, hid_t fapl)
{
    int     v[3000];
    hsize_t n = 3000, chunk = 100;
    for (int i = 0; i < 3000; i++)
        v[i] = i * 3;
    hid_t file = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
    hid_t space = TRY(H5Screate_simple(1, &n, NULL)), dcpl = TRY(H5Pcreate(H5P_DATASET_CREATE));
    for (int chunked = 0; chunked < 2; chunked++) {
        if (chunked)
            TRY(H5Pset_chunk(dcpl, 1, &chunk)), TRY(H5Pset_deflate(dcpl, 4));
        hid_t dset = TRY(H5Dcreate2(file, chunked ? "chunked" : "contiguous", H5T_STD_I32LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
        TRY(H5Dwrite(dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        TRY(H5Dclose(dset));
    }
    TRY(H5Fclose(file)), TRY(H5Sclose(space)), TRY(H5Pclose(dcpl));
}

/* As HDF5's tools take a multi file: names with these letters, addresses far from each other. */
static void multi(hid_t fapl)
{
    static const char letters[] = "Xsbrglo";
    H5FD_mem_t        map[H5FD_MEM_NTYPES];
    hid_t             fapls[H5FD_MEM_NTYPES];
    char              text[H5FD_MEM_NTYPES][16];
    const char       *names[H5FD_MEM_NTYPES];
    haddr_t           addrs[H5FD_MEM_NTYPES];
    for (int t = 0; t < H5FD_MEM_NTYPES; t++) {
        map[t] = H5FD_MEM_DEFAULT, fapls[t] = H5P_DEFAULT, names[t] = text[t];
        (void)snprintf(text[t], sizeof text[t], "%%s-%c.h5", letters[t]);
        addrs[t] = (haddr_t)(t > 0 ? t - 1 : 0) * (HADDR_MAX / (H5FD_MEM_NTYPES - 1));
    }
    TRY(H5Pset_fapl_multi(fapl, map, fapls, names, addrs, true));
    simple("multi", fapl);
}

static void drivers(void)
{
    hid_t fapl = TRY(H5Pcreate(H5P_FILE_ACCESS));
    TRY(H5Pset_fapl_core(fapl, 4096, true));
    simple("by-core.h5", fapl);
    TRY(H5Pset_fapl_stdio(fapl));
    simple("by-stdio.h5", fapl);
    TRY(H5Pset_fapl_log(fapl, NULL, 0, 0));
    simple("by-log.h5", fapl);
    TRY(H5Pset_fapl_family(fapl, 1000, H5P_DEFAULT)); /* every chunk over 250 elements would straddle; many of these do */
    simple("small%05d.h5", fapl);
    TRY(H5Pclose(fapl));
    fapl = TRY(H5Pcreate(H5P_FILE_ACCESS));
    multi(fapl);
    TRY(H5Pclose(fapl));
    fapl = TRY(H5Pcreate(H5P_FILE_ACCESS));
    hid_t fcpl = TRY(H5Pcreate(H5P_FILE_CREATE)); /* paged, as files for cloud storage are made */
    TRY(H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_PAGE, true, 1));
    TRY(H5Pset_file_space_page_size(fcpl, 4096));
    TRY(H5Pset_libver_bounds(fapl, H5F_LIBVER_V110, H5F_LIBVER_LATEST));
    indexes("paged.h5", fcpl, fapl, 3);
    TRY(H5Pclose(fapl)), TRY(H5Pclose(fcpl));
}

/* ---- data that a reference can't express ---- */

/* The root's attribute "of a type" comes before every link: its committed type is copied while it has none. */
static void type_with_references(hid_t file, hid_t space, const hobj_ref_t *refs)
{
    hid_t type = TRY(H5Tcopy(H5T_STD_I32LE));
    int   v[3] = {7, 8, 9};
    TRY(H5Tcommit2(file, "type", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t a = TRY(H5Acreate2(type, "refs", H5T_STD_REF_OBJ, space, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Awrite(a, H5T_STD_REF_OBJ, refs)), TRY(H5Aclose(a));
    a = TRY(H5Acreate2(file, "of a type", type, space, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Awrite(a, H5T_NATIVE_INT, v)), TRY(H5Aclose(a)), TRY(H5Tclose(type));
}

static void values(void)
{
    hid_t       file = TRY(H5Fcreate("values.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hsize_t     n    = 3;
    hid_t       text = TRY(H5Tcopy(H5T_C_S1)), list = TRY(H5Tvlen_create(H5T_STD_I16LE)), space = TRY(H5Screate_simple(1, &n, NULL));
    const char *words[3] = {"one", "", "three"};
    short       a[] = {1, 2, 3}, b[] = {4};
    hvl_t       lists[3] = {{3, a}, {0, NULL}, {1, b}};
    hobj_ref_t  refs[3];
    struct {
        const char *word;
        int         number;
    } pairs[3] = {{"x", 1}, {"yy", 2}, {"zzz", 3}};
    TRY(H5Tset_size(text, H5T_VARIABLE));
    hid_t pair = TRY(H5Tcreate(H5T_COMPOUND, sizeof *pairs));
    TRY(H5Tinsert(pair, "word", 0, text)), TRY(H5Tinsert(pair, "number", sizeof(char *), H5T_NATIVE_INT));
    hid_t d = TRY(H5Dcreate2(file, "words", text, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Dwrite(d, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, words)), TRY(H5Dclose(d));
    d = TRY(H5Dcreate2(file, "lists", list, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t native = TRY(H5Tvlen_create(H5T_NATIVE_SHORT));
    TRY(H5Dwrite(d, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, lists)), TRY(H5Dclose(d));
    d = TRY(H5Dcreate2(file, "pairs", pair, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Dwrite(d, pair, H5S_ALL, H5S_ALL, H5P_DEFAULT, pairs)), TRY(H5Dclose(d));
    TRY(H5Rcreate(&refs[0], file, "words", H5R_OBJECT, -1)), TRY(H5Rcreate(&refs[1], file, "lists", H5R_OBJECT, -1));
    TRY(H5Rcreate(&refs[2], file, "/", H5R_OBJECT, -1));
    d = TRY(H5Dcreate2(file, "refs", H5T_STD_REF_OBJ, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Dwrite(d, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, refs)), TRY(H5Dclose(d));
    type_with_references(file, space, refs);
    TRY(H5Tclose(text)), TRY(H5Tclose(list)), TRY(H5Tclose(native)), TRY(H5Tclose(pair)), TRY(H5Sclose(space)), TRY(H5Fclose(file));
}

/* 5 GiB that take no room on disk: the last elements are written, the rest is a hole. */
static void huge(void)
{
    hsize_t n = (hsize_t)5 << 30, at = n - 4, four = 4;
    hid_t   file = TRY(H5Fcreate("huge.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t   dcpl = TRY(H5Pcreate(H5P_DATASET_CREATE)), space = TRY(H5Screate_simple(1, &n, NULL)), mem = TRY(H5Screate_simple(1, &four, NULL));
    TRY(H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER));
    hid_t dset = TRY(H5Dcreate2(file, "huge", H5T_STD_U8LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &four, NULL));
    TRY(H5Dwrite(dset, H5T_NATIVE_UCHAR, mem, space, H5P_DEFAULT, "\x07\x08\x09\x0a"));
    TRY(H5Dclose(dset)), TRY(H5Pclose(dcpl)), TRY(H5Sclose(space)), TRY(H5Sclose(mem)), TRY(H5Fclose(file));
}

/* A few chunks in a grid of 8 * 10^11, of which one step of the first dimension has 2 * 10^10. */
static void thin(void)
{
    const hsize_t dims[] = {40, 20000, 10000000}, chunk[] = {1, 1, 10}, one[] = {1, 1, 1};
    hid_t         file = TRY(H5Fcreate("thin.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    hid_t         dcpl = TRY(H5Pcreate(H5P_DATASET_CREATE)), space = TRY(H5Screate_simple(3, dims, NULL)), mem = TRY(H5Screate(H5S_SCALAR));
    TRY(H5Pset_chunk(dcpl, 3, chunk));
    hid_t dset = TRY(H5Dcreate2(file, "thin", H5T_STD_U8LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    for (unsigned char i = 0; i < 30; i++) {
        hsize_t at[] = {i / 3, 1700u * (i % 11), 300000u * ((7u * i) % 30) + i};
        TRY(H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, one, NULL));
        TRY(H5Dwrite(dset, H5T_NATIVE_UCHAR, mem, space, H5P_DEFAULT, &(unsigned char){i + 1}));
    }
    TRY(H5Dclose(dset)), TRY(H5Pclose(dcpl)), TRY(H5Sclose(space)), TRY(H5Sclose(mem)), TRY(H5Fclose(file));
}

/* ---- metadata all over a file ---- */

/* 32 MB of chunks, appended so that their index lies among them; then groups with small datasets between. */
static void late(const char *name, bool latest)
{
    static char   chunk[16384];
    const hsize_t size = sizeof chunk, none = H5S_UNLIMITED, small = 2500;
    hsize_t       n    = 0;
    hid_t         fapl = TRY(H5Pcreate(H5P_FILE_ACCESS)), dcpl = TRY(H5Pcreate(H5P_DATASET_CREATE));
    if (latest)
        TRY(H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
    hid_t file = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl)), space = TRY(H5Screate_simple(1, &n, &none));
    TRY(H5Pset_chunk(dcpl, 1, &size));
    hid_t d = TRY(H5Dcreate2(file, "d", H5T_STD_U8LE, space, H5P_DEFAULT, dcpl, H5P_DEFAULT));
    for (hsize_t at = 0; at < 2000 * size; at += size) {
        n = at + size;
        memset(chunk, (int)(at / size % 251), sizeof chunk);
        TRY(H5Dset_extent(d, &n)), TRY(H5Dwrite_chunk(d, H5P_DEFAULT, 0, &at, sizeof chunk, chunk));
    }
    TRY(H5Dclose(d)), TRY(H5Sclose(space));
    space = TRY(H5Screate_simple(1, &small, NULL));
    for (int g = 0; g < 150; g++) {
        char  text[32];
        int   v[2500];
        (void)snprintf(text, sizeof text, "g%03d", g);
        hid_t group = TRY(H5Gcreate2(file, text, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        for (int k = 0; k < 4; k++) {
            for (int i = 0; i < 2500; i++)
                v[i] = g * 10000 + k * 2500 + i;
            (void)snprintf(text, sizeof text, "d%d", k);
            d = TRY(H5Dcreate2(group, text, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
            TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v)), TRY(H5Dclose(d));
        }
        TRY(H5Gclose(group));
    }
    TRY(H5Fclose(file)), TRY(H5Sclose(space)), TRY(H5Pclose(fapl)), TRY(H5Pclose(dcpl));
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 3 || chdir(argv[1]) != 0)
        return 2;
    if (argc == 3) {
        late("late-old.h5", false);
        late("late-new.h5", true);
        return failures != 0;
    }
    superblocks();
    drivers();
    values();
    huge();
    thin();
    return failures != 0;
}
