/* Creation property lists of objects come back as HDF5's own files return them; calls with an event set do
 * the same as calls without one. */
#include "h5tests/helpers/compare_write.h"

#define N 12

static const int values[N] = {1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144};

static int by_value(const void *a, const void *b) { return *(const unsigned char *)a - *(const unsigned char *)b; }

/* Everything in a list, as HDF5 encodes it (sorted: the sequence of properties follows from how the list was
 * made), and whether it is the one that was given (H5I_INVALID_HID: not asked). */
static void say_list(struct out *o, const char *what, hid_t got, hid_t given)
{
    size_t n = 0;
    say_result(o, what, got);
    H5Pencode2(got, NULL, &n, H5P_DEFAULT);
    unsigned char *p = calloc(1, n + 1);
    H5Pencode2(got, p, &n, H5P_DEFAULT);
    qsort(p, n, 1, by_value);
    say_bytes(o, "encoded", p, n);
    if (given >= 0)
        say(o, "equal to what was given %d", H5Pequal(got, given));
    free(p);
}

/* ---- datasets ---- */

static void chunked(hid_t p) { H5Pset_chunk(p, 1, (hsize_t[]){5}); }

static void l_plain(hid_t p) { (void)p; }
static void l_compact(hid_t p) { H5Pset_layout(p, H5D_COMPACT); }
static void l_chunked(hid_t p) { chunked(p); }
static void l_edges(hid_t p)
{
    chunked(p);
    H5Pset_chunk_opts(p, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    H5Pset_deflate(p, 3);
}
static void l_times(hid_t p) { H5Pset_obj_track_times(p, 0); }
static void l_phase(hid_t p)
{
    H5Pset_attr_phase_change(p, 20, 3);
    H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
}
static void l_order(hid_t p) { H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED); }
static void l_early(hid_t p)
{
    H5Pset_alloc_time(p, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(p, H5D_FILL_TIME_ALLOC);
}
static void l_late_never(hid_t p)
{
    H5Pset_alloc_time(p, H5D_ALLOC_TIME_LATE);
    H5Pset_fill_time(p, H5D_FILL_TIME_NEVER);
}
static void l_incr(hid_t p)
{
    chunked(p);
    H5Pset_alloc_time(p, H5D_ALLOC_TIME_INCR);
    H5Pset_fill_time(p, H5D_FILL_TIME_IFSET);
}
static void l_undefined(hid_t p) { H5Pset_fill_value(p, H5T_NATIVE_INT, NULL); }
static void l_fill(hid_t p) { H5Pset_fill_value(p, H5T_NATIVE_INT, &(int){-7}); }
static void l_fill_other(hid_t p) { H5Pset_fill_value(p, H5T_NATIVE_DOUBLE, &(double){2.5}); }
static void l_fill_big(hid_t p) { H5Pset_fill_value(p, H5T_STD_I64BE, "\0\0\0\0\0\0\0\x09"); }
static void l_filters(hid_t p)
{
    chunked(p);
    H5Pset_shuffle(p);
    H5Pset_deflate(p, 0);
    H5Pset_fletcher32(p);
}
static void l_optional(hid_t p)
{
    chunked(p);
    H5Pset_filter(p, H5Z_FILTER_FLETCHER32, H5Z_FLAG_OPTIONAL, 0, NULL);
    H5Pset_filter(p, H5Z_FILTER_DEFLATE, H5Z_FLAG_MANDATORY, 1, (unsigned[]){9});
}
static void l_unknown(hid_t p)
{
    chunked(p);
    H5Pset_filter(p, 30000, H5Z_FLAG_OPTIONAL, 3, (unsigned[]){1, 0, 4000000000u});
}
static void l_scale(hid_t p)
{
    chunked(p);
    H5Pset_nbit(p);
    H5Pset_scaleoffset(p, H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
}
static void l_all(hid_t p)
{
    l_filters(p);
    l_phase(p);
    l_fill(p);
    l_times(p);
    H5Pset_alloc_time(p, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(p, H5D_FILL_TIME_NEVER);
}

static const struct {
    const char *what;
    void (*set)(hid_t dcpl);
} lists[] = {
    {"plain", l_plain},         {"compact", l_compact},       {"chunked", l_chunked},   {"early", l_early},     {"undefined", l_undefined},
    {"fill", l_fill},           {"fill_other", l_fill_other}, {"fill_big", l_fill_big}, {"filters", l_filters}, {"optional", l_optional},
    {"unknown", l_unknown},     {"scale", l_scale},           {"edges", l_edges},       {"order", l_order},     {"times", l_times},
    {"late_never", l_late_never}, {"incr", l_incr},           {"phase", l_phase},       {"all", l_all},
};
#define IN_ALL_FILES 12 /* the rest HDF5 keeps in files of its newer format only, or not quite */

static void datasets(hid_t f, struct out *o)
{
    for (size_t i = 0; i < COUNT(lists); i++) {
        hid_t s = H5Screate_simple(1, (hsize_t[]){N}, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
        lists[i].set(p);
        say(o, "%s", lists[i].what);
        hid_t d = H5Dcreate2(f, lists[i].what, H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
        say_result(o, "H5Dcreate", d);
        if (d >= 0) {
            hid_t back = H5Dget_create_plist(d);
            say_list(o, "at once", back, p);
            H5Pclose(back);
            say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
            H5Dclose(d);
        }
        H5Pclose(p);
        H5Sclose(s);
    }
}

/* Datasets of the same kinds, by turns: HDF5 completes the list of the second in the same way as that of the first. */
static void one_again(hid_t f, struct out *o, size_t i, int turn, hid_t type, hid_t space, const char *kind)
{
    char  name[60];
    hid_t p = H5Pcreate(H5P_DATASET_CREATE);
    lists[i].set(p);
    (void)snprintf(name, sizeof name, "%s %s %d", lists[i].what, kind, turn);
    say(o, "%s", name);
    hid_t d = H5Dcreate2(f, name, type, space, H5P_DEFAULT, p, H5P_DEFAULT);
    say_result(o, "H5Dcreate", d);
    if (d >= 0) {
        hid_t back = H5Dget_create_plist(d);
        say_list(o, "again", back, p);
        H5Pclose(back);
        H5Dclose(d);
    }
    H5Pclose(p);
}

static void datasets_again(hid_t f, struct out *o)
{
    hid_t s = H5Screate_simple(1, (hsize_t[]){N}, NULL), more = H5Screate_simple(1, (hsize_t[]){N}, (hsize_t[]){H5S_UNLIMITED});
    for (size_t i = 0; i < COUNT(lists); i++)
        for (int turn = 0; turn < 3; turn++) {
            one_again(f, o, i, turn, H5T_STD_I32LE, s, "int");
            one_again(f, o, i, turn, H5T_IEEE_F64LE, s, "double");
            one_again(f, o, i, turn, H5T_STD_I32LE, more, "growing");
        }
    H5Sclose(more);
    H5Sclose(s);
}

static void datasets_stored(hid_t f, struct out *o)
{
    for (size_t i = 0; i < COUNT(lists); i++) {
        if (H5Lexists(f, lists[i].what, H5P_DEFAULT) <= 0)
            continue;
        hid_t d = H5Dopen2(f, lists[i].what, H5P_DEFAULT), back = H5Dget_create_plist(d), p = H5Pcreate(H5P_DATASET_CREATE);
        lists[i].set(p);
        if (H5Pget_nfilters(p) > 0) { /* say_file() prints them; here they have names, or haven't */
            H5Premove_filter(p, H5Z_FILTER_ALL);
            H5Premove_filter(back, H5Z_FILTER_ALL);
        }
        CHECK(!o->ours || i < IN_ALL_FILES || H5Pequal(p, back) > 0, "the list of dataset %s is another", lists[i].what);
        say(o, "%s", lists[i].what);
        if (i < IN_ALL_FILES)
            say_list(o, "stored", back, p);
        H5Pclose(p);
        H5Pclose(back);
        H5Dclose(d);
    }
}

/* ---- groups, types, attributes, the file ---- */

static void g_plain(hid_t p) { (void)p; }
static void g_phase(hid_t p)
{
    H5Pset_link_phase_change(p, 30, 5);
    H5Pset_est_link_info(p, 9, 17);
    H5Pset_local_heap_size_hint(p, 512);
}
static void g_order(hid_t p)
{
    H5Pset_link_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED);
    H5Pset_attr_phase_change(p, 0, 0);
}
static void g_times(hid_t p) { H5Pset_obj_track_times(p, 0); }
static void g_filter(hid_t p) { H5Pset_deflate(p, 4); }

static void (*const group_lists[])(hid_t) = {g_plain, g_filter, g_order, g_phase, g_times};
#define GROUPS_IN_ALL_FILES 1

static void check_group_list(struct out *o, size_t i, hid_t g)
{
    hid_t p = H5Pcreate(H5P_GROUP_CREATE), back = H5Gget_create_plist(g);
    group_lists[i](p);
    CHECK(!o->ours || H5Pequal(p, back) > 0, "the list of group %zu is another", i);
    if (i < GROUPS_IN_ALL_FILES)
        say_list(o, "group", back, p);
    H5Pclose(back);
    H5Pclose(p);
}

static hid_t type_list(void)
{
    hid_t p = H5Pcreate(H5P_DATATYPE_CREATE);
    H5Pset_obj_track_times(p, 0);
    H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED);
    return p;
}

static void other_objects(hid_t f, struct out *o)
{
    char name[16];
    for (size_t i = 0; i < COUNT(group_lists); i++) {
        hid_t p = H5Pcreate(H5P_GROUP_CREATE);
        group_lists[i](p);
        snprintf(name, sizeof name, "g%zu", i);
        hid_t g = H5Gcreate2(f, name, H5P_DEFAULT, p, H5P_DEFAULT);
        check_group_list(o, i, g);
        H5Gclose(g);
        H5Pclose(p);
    }
    hid_t t = H5Tcopy(H5T_STD_I16BE), p = type_list();
    say_result(o, "H5Tcommit", H5Tcommit2(f, "t", t, H5P_DEFAULT, p, H5P_DEFAULT));
    hid_t back = H5Tget_create_plist(t);
    say_list(o, "type", back, p);
    H5Pclose(back);
    H5Pclose(p);
    hid_t s = H5Screate(H5S_SCALAR);
    p       = H5Pcreate(H5P_ATTRIBUTE_CREATE);
    H5Pset_char_encoding(p, H5T_CSET_UTF8);
    hid_t a = H5Acreate2(f, "utf8", H5T_STD_I8LE, s, p, H5P_DEFAULT), a2 = H5Acreate2(f, "ascii", H5T_STD_I8LE, s, H5P_DEFAULT, H5P_DEFAULT);
    back    = H5Aget_create_plist(a);
    say_list(o, "attribute", back, p);
    H5Pclose(back);
    back = H5Aget_create_plist(a2);
    say_list(o, "attribute", back, H5I_INVALID_HID);
    H5Pclose(back);
    H5Pclose(p);
    H5Aclose(a);
    H5Aclose(a2);
    H5Sclose(s);
    H5Tclose(t);
}

static void other_objects_stored(hid_t f, struct out *o)
{
    char name[16];
    for (size_t i = 0; i < COUNT(group_lists); i++) {
        snprintf(name, sizeof name, "g%zu", i);
        hid_t g = H5Gopen2(f, name, H5P_DEFAULT);
        check_group_list(o, i, g);
        H5Gclose(g);
    }
    hid_t t = H5Topen2(f, "t", H5P_DEFAULT), back = H5Tget_create_plist(t), p = type_list();
    CHECK(!o->ours || H5Pequal(p, back) > 0, "the list of the type is another");
    H5Pclose(p);
    H5Pclose(back);
    H5Tclose(t);
    const char *attributes[] = {"utf8", "ascii"};
    for (size_t i = 0; i < COUNT(attributes); i++) {
        hid_t a = H5Aopen(f, attributes[i], H5P_DEFAULT);
        back    = H5Aget_create_plist(a);
        say_list(o, attributes[i], back, H5I_INVALID_HID);
        H5Pclose(back);
        H5Aclose(a);
    }
}

/* ---- event sets ---- */

static void with_events(hid_t f, struct out *o)
{
    int     v[N], back[N];
    hid_t   es = H5EScreate(), s = H5Screate_simple(1, (hsize_t[]){N}, (hsize_t[]){2 * N}), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    size_t  left = 99, count = 99;
    hbool_t failed = 1, exists = 0;
    chunked(dcpl);
    for (int i = 0; i < N; i++)
        v[i] = i * i;
    hid_t g = H5Gcreate_async(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, es);
    hid_t d = H5Dcreate_async(g, "d", H5T_STD_I32LE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT, es);
    say_result(o, "H5Dwrite_async", H5Dwrite_async(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v, es));
    say_result(o, "H5Dread_async", H5Dread_async(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back, es));
    say_result(o, "H5Dset_extent_async", H5Dset_extent_async(d, (hsize_t[]){N + 3}, es));
    hid_t a = H5Acreate_async(d, "a", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, es);
    say_result(o, "H5Awrite_async", H5Awrite_async(a, H5T_NATIVE_INT, v, es));
    say_result(o, "H5Aread_async", H5Aread_async(a, H5T_NATIVE_INT, back, es));
    say_result(o, "H5Aexists_async", H5Aexists_async(d, "a", &exists, es));
    say(o, "exists %d", exists);
    say_result(o, "H5Arename_async", H5Arename_async(d, "a", "b", es));
    say_result(o, "H5Lcreate_soft_async", H5Lcreate_soft_async("d", g, "soft", H5P_DEFAULT, H5P_DEFAULT, es));
    say_result(o, "H5Lcreate_hard_async", H5Lcreate_hard_async(g, "d", g, "hard", H5P_DEFAULT, H5P_DEFAULT, es));
    say_result(o, "H5Ocopy_async", H5Ocopy_async(f, "g", f, "copy", H5P_DEFAULT, H5P_DEFAULT, es));
    say_result(o, "H5Ldelete_async", H5Ldelete_async(g, "hard", H5P_DEFAULT, es));
    hid_t t = H5Tcopy(H5T_STD_I16BE);
    say_result(o, "H5Tcommit_async", H5Tcommit_async(f, "t", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, es));
    say_result(o, "H5Oflush_async", H5Oflush_async(d, es));
    say_result(o, "H5Fflush_async", H5Fflush_async(f, H5F_SCOPE_LOCAL, es));
    say_result(o, "a group that is there", H5Gcreate_async(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, es));
    say_result(o, "a file that is not", H5Fopen_async("/no/such/file.h5", H5F_ACC_RDONLY, H5P_DEFAULT, es));
    H5ESget_count(es, &count);
    say(o, "events %zu", count);
    say_result(o, "H5ESwait", H5ESwait(es, H5ES_WAIT_FOREVER, &left, &failed));
    say(o, "left %zu failed %d", left, failed);
    H5Tclose_async(t, es);
    H5Aclose_async(a, es);
    H5Dclose_async(d, es);
    H5Gclose_async(g, es);
    say_bytes(o, "read", back, sizeof back);
    H5Pclose(dcpl);
    H5Sclose(s);
    say_result(o, "H5ESclose", H5ESclose(es));
}

/* ---- partial chunks without filters ---- */

static void say_chunks(struct out *o, hid_t d, const char *what, hsize_t size, hsize_t chunk)
{
    unsigned char *raw  = calloc(size + chunk, sizeof(int));
    unsigned       mask = 9;
    for (hsize_t at = 0, stored = 0; at < size; at += chunk) {
        uint32_t direct = 9;
        say_result(o, what, H5Dget_chunk_info_by_coord(d, &at, &mask, NULL, &stored));
        say(o, "at %" PRIuHSIZE " mask %u, whole %d", at, mask, stored == chunk * sizeof(int));
        say_result(o, "H5Dread_chunk", H5Dread_chunk(d, H5P_DEFAULT, &at, &direct, raw));
        say(o, "mask %u", direct);
        if (at + chunk > size)
            say_bytes(o, "as they are", raw, (size_t)(size - at) * sizeof(int));
    }
    say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw));
    say_bytes(o, "elements", raw, (size_t)size * sizeof(int));
    free(raw);
}

static void extend(struct out *o, hid_t d, hsize_t to, hsize_t chunk)
{
    say_result(o, "H5Dset_extent", H5Dset_extent(d, &to));
    say_chunks(o, d, "another extent", to, chunk);
}

/* A file that is HDF5's own on both sides, with the same dataset. */
static void copy_edges(hid_t f, struct out *o, hid_t dcpl, hid_t space, const int *v, hsize_t size, hsize_t chunk)
{
    hid_t fapl = new_fapl(o);
    H5Pset_fapl_core(fapl, 1 << 16, false);
    hid_t own = H5Fcreate("partial.h5", H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t d   = H5Dcreate2(own, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    H5Dclose(d);
    static const char *const names[] = {"from it", "back"};
    for (int i = 0; i < 2; i++) {
        hid_t to = i ? own : f;
        say_result(o, "H5Ocopy", i ? H5Ocopy(f, "from it", own, names[i], H5P_DEFAULT, H5P_DEFAULT)
                                   : H5Ocopy(own, "d", f, names[i], H5P_DEFAULT, H5P_DEFAULT));
        d = H5Dopen2(to, names[i], H5P_DEFAULT);
        say_chunks(o, d, names[i], size, chunk);
        H5Dclose(d);
    }
    H5Fclose(own);
    H5Pclose(fapl);
}

static void edges(hid_t f, struct out *o, hsize_t chunk)
{
    hsize_t size = 2 * chunk + 7, most = H5S_UNLIMITED, at = 2 * chunk, full = chunk, stored = 0;
    int    *v    = calloc(3 * chunk, sizeof *v);
    hid_t   s    = H5Screate_simple(1, &size, &most), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    for (hsize_t i = 0; i < size; i++)
        v[i] = (int)(i / 5);
    H5Pset_chunk(dcpl, 1, &chunk);
    H5Pset_chunk_opts(dcpl, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    H5Pset_shuffle(dcpl);
    H5Pset_deflate(dcpl, 3);
    hid_t d = H5Dcreate2(f, "d", H5T_NATIVE_INT, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    say_chunks(o, d, "written", size, chunk);
    copy_edges(f, o, dcpl, s, v, size, chunk);

    uint32_t mask = 0;
    int     *raw  = calloc(chunk, sizeof *raw);
    for (hsize_t i = 0; i < 7; i++)
        raw[i] = 1000 + (int)i;
    say_result(o, "H5Dwrite_chunk", H5Dwrite_chunk(d, H5P_DEFAULT, 0, &at, chunk * sizeof *raw, raw));
    say_chunks(o, d, "written raw", size, chunk);
    if (o->ours) /* HDF5 takes it, and reads beyond it */
        CHECK(H5Dwrite_chunk(d, H5P_DEFAULT, 0, &at, 20, raw) < 0 && strstr(error_text(), "20 bytes given, a partial chunk"),
              "a partial chunk that is too short is taken");
    extend(o, d, 2 * chunk + 9, chunk);
    H5Dset_extent(d, &(hsize_t){3 * chunk});
    H5Dread_chunk(d, H5P_DEFAULT, &at, &mask, raw);
    H5Dget_chunk_storage_size(d, &at, &stored);
    say(o, "a chunk that has become full is filtered %d", stored < chunk * sizeof *raw);
    say_result(o, "into another", H5Dwrite_chunk(d, H5P_DEFAULT, mask, &full, (size_t)stored, raw));
    extend(o, d, 2 * chunk - 2, chunk);
    free(raw);
    H5Dclose(d);
    H5Pclose(dcpl);
    H5Sclose(s);
    free(v);
}

static void edges_small(hid_t f, struct out *o) { edges(f, o, 40); }
static void edges_large(hid_t f, struct out *o) { edges(f, o, 20000); } /* chunk objects of their own */

static const struct write_case cases[] = {
    {"datasets' creation lists", datasets, datasets_stored},
    {"creation lists of datasets of one kind", datasets_again, NULL},
    {"creation lists of groups, types and attributes", other_objects, other_objects_stored},
    {"calls with an event set", with_events, NULL},
    {"partial chunks without filters", edges_small, NULL},
    {"large partial chunks without filters", edges_large, NULL},
};

int main(void)
{
    return compare_write_main(cases, COUNT(cases));
}
