/* Calls of HDF5's API that programs make besides the usual ones: property lists that tune HDF5's own files,
 * close degrees with ids left open, references to deleted objects, information about a file. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/put_scalar.h"

#include <dirent.h>

/* ---- references ---- */

static void say_ref(struct out *o, const char *what, H5R_ref_t *r)
{
    char       name[64] = "-";
    H5O_type_t type     = H5O_TYPE_UNKNOWN;
    H5R_type_t kind     = H5Rget_type(r);
    say(o, "%s kind %d", what, kind);
    hid_t id = kind == H5R_OBJECT2           ? H5Ropen_object(r, H5P_DEFAULT, H5P_DEFAULT)
               : kind == H5R_DATASET_REGION2 ? H5Ropen_region(r, H5P_DEFAULT, H5P_DEFAULT)
               : kind == H5R_ATTR            ? H5Ropen_attr(r, H5P_DEFAULT, H5P_DEFAULT)
                                             : -1;
    say_result(o, "H5Ropen", id);
    if (id >= 0 && H5Iget_type(id) == H5I_DATASPACE)
        H5Sclose(id);
    else if (id >= 0 && H5Iget_type(id) == H5I_ATTR)
        H5Aclose(id);
    else if (id >= 0)
        H5Oclose(id);
    say_result(o, "H5Rget_obj_type3", H5Rget_obj_type3(r, H5P_DEFAULT, &type));
    ssize_t n = H5Rget_obj_name(r, H5P_DEFAULT, name, sizeof name);
    say(o, "type %d name %zd %s", type, n < 0 ? -1 : n, n > 0 ? name : "");
    n = kind == H5R_ATTR ? H5Rget_attr_name(r, name, sizeof name) : 0;
    say(o, "attribute %zd %s", n < 0 ? -1 : n, n > 0 ? name : "");
    H5Eclear2(H5E_DEFAULT);
}

static void say_old_ref(struct out *o, hid_t f, H5R_type_t kind, const void *r)
{
    char       name[64] = "-";
    H5O_type_t type     = H5O_TYPE_UNKNOWN;
    hid_t      id       = H5Rdereference2(f, H5P_DEFAULT, kind, r);
    say_result(o, "H5Rdereference", id);
    if (id >= 0)
        H5Oclose(id);
    say_result(o, "H5Rget_obj_type2", H5Rget_obj_type2(f, kind, r, &type));
    ssize_t n = H5Rget_name(f, kind, r, name, sizeof name);
    if (kind == H5R_OBJECT || n > 0) /* a stored region of a deleted object is a null reference here, and HDF5
                                        asks for no name of that */
        say(o, "type %d name %zd %s", type, n < 0 ? -1 : n, n > 0 ? name : "");
    if (kind == H5R_DATASET_REGION && type >= 0) { /* else ours still has the selection, which HDF5 keeps with the dataset */
        id = H5Rget_region(f, kind, r);
        say_result(o, "H5Rget_region", id);
        if (id >= 0)
            H5Sclose(id);
    }
    H5Eclear2(H5E_DEFAULT);
}

static void new_line(hid_t f, const char *name)
{
    hsize_t n = 10;
    int     v[10] = {1, 2, 3};
    hid_t   s = H5Screate_simple(1, &n, NULL), d = H5Dcreate2(f, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    put_int_attr(d, "a", 1);
    H5Dclose(d);
    H5Sclose(s);
}

#define KINDS 4
static void make_refs(hid_t f, H5R_ref_t *r, hobj_ref_t *old, hdset_reg_ref_t *region)
{
    hsize_t n = 10, at = 2, two = 2;
    hid_t   s = H5Screate_simple(1, &n, NULL);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &two, NULL);
    H5Rcreate_object(f, "/line", H5P_DEFAULT, &r[0]);
    H5Rcreate_region(f, "/line", s, H5P_DEFAULT, &r[1]);
    H5Rcreate_attr(f, "/line", "a", H5P_DEFAULT, &r[2]);
    H5Rcreate_object(f, "/g", H5P_DEFAULT, &r[3]);
    H5Rcreate(old, f, "/line", H5R_OBJECT, -1);
    H5Rcreate(region, f, "/line", H5R_DATASET_REGION, s);
    H5Sclose(s);
}

static void store(hid_t f, const char *name, hid_t type, hsize_t n, const void *v)
{
    hid_t s = H5Screate_simple(1, &n, NULL), d = H5Dcreate2(f, name, type, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    H5Dclose(d);
    H5Sclose(s);
}

static void say_refs(hid_t f, struct out *o)
{
    H5R_ref_t       r[KINDS];
    hobj_ref_t      old;
    hdset_reg_ref_t region;
    memset(r, 0, sizeof r);
    memset(&old, 0, sizeof old);
    memset(&region, 0, sizeof region);
    hid_t d = H5Dopen2(f, "refs", H5P_DEFAULT), e = H5Dopen2(f, "old", H5P_DEFAULT), g = H5Dopen2(f, "regions", H5P_DEFAULT);
    say_result(o, "reading references", H5Dread(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, r));
    say_result(o, "reading old ones", H5Dread(e, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, &old));
    say_result(o, "reading regions", H5Dread(g, H5T_STD_REF_DSETREG, H5S_ALL, H5S_ALL, H5P_DEFAULT, &region));
    for (int i = 0; i < KINDS; i++)
        say_ref(o, "stored", &r[i]);
    say_old_ref(o, f, H5R_OBJECT, &old);
    say_old_ref(o, f, H5R_DATASET_REGION, &region);
    for (int i = 0; i < KINDS; i++)
        H5Rdestroy(&r[i]);
    H5Dclose(g);
    H5Dclose(e);
    H5Dclose(d);
    H5Eclear2(H5E_DEFAULT);
}

static void write_refs(hid_t f, struct out *o)
{
    H5R_ref_t       r[KINDS];
    hobj_ref_t      old;
    hdset_reg_ref_t region;
    new_line(f, "line");
    H5Gclose(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    make_refs(f, r, &old, &region);
    store(f, "refs", H5T_STD_REF, KINDS, r);
    store(f, "old", H5T_STD_REF_OBJ, 1, &old);
    store(f, "regions", H5T_STD_REF_DSETREG, 1, &region);
    say_refs(f, o);
    say_result(o, "deleting", H5Ldelete(f, "line", H5P_DEFAULT));
    say_result(o, "deleting", H5Ldelete(f, "g", H5P_DEFAULT));
    for (int i = 0; i < KINDS; i++)
        say_ref(o, "in memory", &r[i]);
    say_old_ref(o, f, H5R_OBJECT, &old);
    say_old_ref(o, f, H5R_DATASET_REGION, &region);
    for (int i = 0; i < KINDS; i++)
        H5Rdestroy(&r[i]);
    H5Fflush(f, H5F_SCOPE_LOCAL);
    say_refs(f, o);
}

/* ---- no fill value ---- */

static void write_unfilled(hid_t f, struct out *o)
{
    static const H5D_fill_time_t times[] = {H5D_FILL_TIME_IFSET, H5D_FILL_TIME_NEVER, H5D_FILL_TIME_ALLOC};
    hsize_t n = 8, chunk = 4, max = H5S_UNLIMITED, more = 12;
    for (int undefined = 0; undefined < 2; undefined++)
        for (int t = 0; t < 3; t++)
            for (int chunked = 0; chunked < 3; chunked++) {
                char  name[48];
                int   v[12];
                hid_t s = H5Screate_simple(1, &n, chunked == 1 ? &max : NULL), p = H5Pcreate(H5P_DATASET_CREATE);
                snprintf(name, sizeof name, "d%d%d%d", undefined, t, chunked);
                if (chunked == 1)
                    H5Pset_chunk(p, 1, &chunk);
                if (chunked == 2)
                    H5Pset_layout(p, H5D_COMPACT);
                if (undefined)
                    H5Pset_fill_value(p, H5T_NATIVE_INT, NULL);
                say(o, "%s", name);
                say_result(o, "H5Pset_fill_time", H5Pset_fill_time(p, times[t]));
                hid_t d = H5Dcreate2(f, name, H5T_NATIVE_INT, s, H5P_DEFAULT, p, H5P_DEFAULT);
                say_result(o, "H5Dcreate", d);
                memset(v, 0x55, sizeof v);
                if (d >= 0) {
                    say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
                    /* bytes that nothing fills come from the file or the buffer in HDF5; here they are zeros */
                    bool known = undefined == 0 && t != 1;
                    say_bytes(o, "never written", v, known ? sizeof v : 0);
                    if (chunked == 1) {
                        say_result(o, "H5Dset_extent", H5Dset_extent(d, &more));
                        memset(v, 0x55, sizeof v);
                        say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
                        say_bytes(o, "never written", v, known ? sizeof v : 0);
                    }
                    H5Dclose(d);
                    H5Ldelete(f, name, H5P_DEFAULT);
                }
                H5Pclose(p);
                H5Sclose(s);
            }
}

/* ---- asking a file ---- */

/* By each id of the file, and of objects in it. */
static void asking_names(hid_t f, const hid_t *from, size_t n_from, struct out *o)
{
    char name[300];
    for (size_t i = 0; i < n_from; i++) {
        ssize_t n = H5Fget_name(from[i], NULL, 0), m = H5Fget_name(from[i], name, sizeof name);
        say(o, "H5Fget_name %d %d", n == m, n == (ssize_t)strlen(new_name(o, "case.h5")) || strstr(name, "case.h5") != NULL);
        m = H5Fget_name(from[i], name, 4);
        say(o, "cut %d %zu", m == n, strlen(name));
        hid_t file = H5Iget_file_id(from[i]);
        say_result(o, "H5Iget_file_id", file);
        say(o, "%d %d %d", file == f, H5Iget_ref(f), H5Iget_type(from[i]));
        H5Fclose(file);
        n = H5Iget_name(from[i], name, sizeof name);
        say(o, "H5Iget_name %zd %s", n, n > 0 ? name : "");
    }
}

static void asking_objects(hid_t f, struct out *o)
{
    hid_t ids[8];
    static const unsigned kinds[] = {H5F_OBJ_FILE, H5F_OBJ_DATASET,
                                     H5F_OBJ_GROUP, H5F_OBJ_DATATYPE, H5F_OBJ_ATTR, H5F_OBJ_ALL, H5F_OBJ_ALL | H5F_OBJ_LOCAL, 0};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        ssize_t n = H5Fget_obj_count(f, kinds[i]), m = H5Fget_obj_ids(f, kinds[i], COUNT(ids), ids);
        say(o, "objects %u: %zd %zd", kinds[i], n, m);
        say(o, "two at most: %zd", H5Fget_obj_ids(f, kinds[i], 2, ids));
    }
    hid_t again = H5Freopen(f);
    say(o, "reopened: %zd %zd", H5Fget_obj_count(f, H5F_OBJ_ALL), H5Fget_obj_count(again, H5F_OBJ_ALL));
    say(o, "local: %zd %zd", H5Fget_obj_count(f, H5F_OBJ_ALL | H5F_OBJ_LOCAL), H5Fget_obj_count(again, H5F_OBJ_ALL | H5F_OBJ_LOCAL));
    H5Fclose(again);
}

static void asking_caches(hid_t f, struct out *o)
{
    H5F_info2_t info;
    double rate;
    size_t max, min, cur;
    int entries;
    unsigned accesses[2], hits[2], misses[2], evictions[2], bypasses[2];
    hbool_t flag = true, other = true;
    haddr_t addr;
    hsize_t size;
    H5F_retry_info_t retries;
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    say_result(o, "H5Fget_info", H5Fget_info2(f, &info));
    say_result(o, "H5Fget_mdc_config", H5Fget_mdc_config(f, &config));
    say_result(o, "H5Fset_mdc_config", H5Fset_mdc_config(f, &config));
    say_result(o, "H5Fget_mdc_hit_rate", H5Fget_mdc_hit_rate(f, &rate));
    say_result(o, "H5Freset_mdc_hit_rate_stats", H5Freset_mdc_hit_rate_stats(f));
    say_result(o, "H5Fget_mdc_size", H5Fget_mdc_size(f, &max, &min, &cur, &entries));
    say_result(o, "H5Fget_freespace", H5Fget_freespace(f) >= 0 ? 0 : -1);
    say_result(o, "H5Fget_filesize", H5Fget_filesize(f, &size));
    say_result(o, "H5Fget_metadata_read_retry_info", H5Fget_metadata_read_retry_info(f, &retries));
    say_result(o, "H5Fget_page_buffering_stats", H5Fget_page_buffering_stats(f, accesses, hits, misses, evictions, bypasses));
    say_result(o, "H5Freset_page_buffering_stats", H5Freset_page_buffering_stats(f));
    say_result(o, "H5Fget_dset_no_attrs_hint", H5Fget_dset_no_attrs_hint(f, &flag));
    say_result(o, "H5Fget_mdc_logging_status", H5Fget_mdc_logging_status(f, &flag, &other));
    say_result(o, "H5Fstart_mdc_logging", H5Fstart_mdc_logging(f));
    say_result(o, "H5Fget_mdc_image_info", H5Fget_mdc_image_info(f, &addr, &size));
    say_result(o, "H5Fclear_elink_file_cache", H5Fclear_elink_file_cache(f));
}

static void asking_versions(hid_t f, struct out *o)
{
    say_result(o, "H5Fset_libver_bounds", H5Fset_libver_bounds(f, H5F_LIBVER_V110, H5F_LIBVER_LATEST));
    for (int i = 0; i < 2; i++) { /* returned by the other id, too */
        H5F_libver_t low = H5F_LIBVER_ERROR, high = H5F_LIBVER_ERROR;
        hid_t        id = i ? H5Freopen(f) : H5Iget_file_id(f), fapl = H5Fget_access_plist(id);
        H5Pget_libver_bounds(fapl, &low, &high);
        say(o, "versions from %d to %d", low, high);
        H5Pclose(fapl);
        H5Fclose(id);
    }
    say_result(o, "H5Fset_libver_bounds, wrong", H5Fset_libver_bounds(f, H5F_LIBVER_LATEST, H5F_LIBVER_EARLIEST));
}

static void write_asking(hid_t f, struct out *o)
{
    char name[300];
    unsigned intent;
    hid_t d = put_int(f, "x", 1), g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_int_attr(d, "a", 1);
    hid_t a = H5Aopen(d, "a", H5P_DEFAULT), s = H5Screate(H5S_SCALAR), t = H5Tcopy(H5T_NATIVE_INT);
    H5Tcommit2(f, "t", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    asking_names(f, (hid_t[]){f, d, g, a, t}, 5, o);
    say_result(o, "H5Fget_name of a dataspace", H5Fget_name(s, name, sizeof name));
    asking_objects(f, o);
    asking_caches(f, o);
    asking_versions(f, o);
    say_result(o, "H5Fget_free_sections", H5Fget_free_sections(f, H5FD_MEM_DEFAULT, 0, NULL));
    say_result(o, "H5Fformat_convert", H5Fformat_convert(f));
    say_result(o, "H5Fget_intent", H5Fget_intent(f, &intent));
    H5Tclose(t);
    H5Sclose(s);
    H5Aclose(a);
    H5Gclose(g);
    H5Dclose(d);
}

/* ---- closing ---- */

static void write_degrees(hid_t f, struct out *o)
{
    static const H5F_close_degree_t degrees[] = {H5F_CLOSE_DEFAULT, H5F_CLOSE_WEAK, H5F_CLOSE_SEMI, H5F_CLOSE_STRONG};
    const char *name = new_name(o, "degree.h5");
    (void)f;
    for (size_t i = 0; i < COUNT(degrees); i++)
        for (size_t k = 0; k < 5; k++) {
            hid_t fapl = new_fapl(o), other = new_fapl(o);
            H5F_close_degree_t got = H5F_CLOSE_DEFAULT;
            H5Pset_fclose_degree(fapl, degrees[i]);
            hid_t g = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), d = put_int(g, "x", 1), as = H5Fget_access_plist(g);
            H5Pget_fclose_degree(as, &got);
            say(o, "degree %d, given %d", degrees[i], got);
            H5Pclose(as);
            hid_t again = -1;
            if (k < COUNT(degrees)) {
                H5Pset_fclose_degree(other, degrees[k]);
                again = H5Fopen(name, H5F_ACC_RDWR, other);
                say(o, "with %d", degrees[k]);
                say_result(o, "opened again", again);
            }
            say_result(o, "closed", H5Fclose(g));
            say(o, "valid: %d %d", H5Iis_valid(g) > 0, H5Iis_valid(d) > 0);
            if (again >= 0) {
                say_result(o, "closed", H5Fclose(again));
                say(o, "valid: %d %d", H5Iis_valid(again) > 0, H5Iis_valid(d) > 0);
            }
            if (H5Iis_valid(d) > 0)
                say_result(o, "the dataset is closed", H5Dclose(d));
            if (H5Iis_valid(again) > 0)
                say_result(o, "closed", H5Fclose(again));
            if (H5Iis_valid(g) > 0)
                say_result(o, "closed", H5Fclose(g));
            H5Fdelete(name, fapl);
            H5Pclose(other);
            H5Pclose(fapl);
            H5Eclear2(H5E_DEFAULT);
        }
}

/* ---- lists that tune HDF5's own files ---- */

/* A domain that is opened by its own name has no user block that a program could copy (h5repack). */
static void say_fcpl(struct out *o, hid_t f, bool again)
{
    hid_t    p = H5Fget_create_plist(f);
    hsize_t  block = 1, threshold = 0, page = 0;
    size_t   a = 0, b = 0;
    unsigned i = 0, l = 0, n = 0, flags = 0, size = 0, k = 0;
    hbool_t  persist = false;
    H5F_fspace_strategy_t strategy = H5F_FSPACE_STRATEGY_NTYPES;
    H5Pget_userblock(p, &block);
    H5Pget_sizes(p, &a, &b);
    H5Pget_sym_k(p, &i, &l);
    H5Pget_istore_k(p, &k);
    H5Pget_shared_mesg_nindexes(p, &n);
    if (again && o->ours)
        CHECK(block == 0, "a user block of %llu bytes, and no file with it", (unsigned long long)block);
    else if (!again)
        say(o, "user block %llu", (unsigned long long)block);
    say(o, "sizes %zu %zu", a, b);
    say(o, "k %u %u %u", i, l, k);
    for (unsigned x = 0; x < n; x++) {
        H5Pget_shared_mesg_index(p, x, &flags, &size);
        say(o, "index %u %u", flags, size);
    }
    H5Pget_shared_mesg_phase_change(p, &i, &l);
    H5Pget_file_space_strategy(p, &strategy, &persist, &threshold);
    H5Pget_file_space_page_size(p, &page);
    say(o, "phase %u %u", i, l);
    say(o, "strategy %d %d %llu %llu", strategy, persist, (unsigned long long)threshold, (unsigned long long)page);
    H5Pclose(p);
}

static void by_default(struct out *o, hid_t fapl, hid_t fcpl)
{
    (void)o, (void)fapl, (void)fcpl;
}

static void by_newest(struct out *o, hid_t fapl, hid_t fcpl)
{
    (void)fcpl;
    say_result(o, "H5Pset_libver_bounds", H5Pset_libver_bounds(fapl, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST));
}

static void by_sizes(struct out *o, hid_t fapl, hid_t fcpl)
{
    (void)o, (void)fapl;
    H5Pset_userblock(fcpl, 1024);
    H5Pset_sizes(fcpl, 4, 4);
    H5Pset_sym_k(fcpl, 32, 8);
    H5Pset_istore_k(fcpl, 64);
}

static void by_shared_messages(struct out *o, hid_t fapl, hid_t fcpl)
{
    (void)o, (void)fapl;
    H5Pset_shared_mesg_nindexes(fcpl, 2);
    H5Pset_shared_mesg_index(fcpl, 0, H5O_SHMESG_DTYPE_FLAG, 40);
    H5Pset_shared_mesg_index(fcpl, 1, H5O_SHMESG_ATTR_FLAG | H5O_SHMESG_FILL_FLAG, 20);
    H5Pset_shared_mesg_phase_change(fcpl, 30, 20);
}

static void by_pages(struct out *o, hid_t fapl, hid_t fcpl)
{
    (void)o;
    H5Pset_file_space_strategy(fcpl, H5F_FSPACE_STRATEGY_PAGE, true, 3);
    H5Pset_file_space_page_size(fcpl, 8192);
    H5Pset_page_buffer_size(fapl, 65536, 10, 10);
}

static void by_access(struct out *o, hid_t fapl, hid_t fcpl)
{
    (void)o, (void)fcpl;
    H5Pset_alignment(fapl, 1, 4096);
    H5Pset_meta_block_size(fapl, 8192);
    H5Pset_sieve_buf_size(fapl, 1024);
    H5Pset_small_data_block_size(fapl, 512);
    H5Pset_gc_references(fapl, 1);
    H5Pset_evict_on_close(fapl, true);
    H5Pset_file_locking(fapl, false, true);
    H5Pset_cache(fapl, 0, 101, 1 << 16, 0.5);
    H5Pset_metadata_read_attempts(fapl, 3);
    H5Pset_elink_file_cache_size(fapl, 3);
}

static void by_driver(struct out *o, hid_t fapl, hid_t fcpl)
{
    (void)o, (void)fcpl;
    H5Pset_driver_by_name(fapl, "stdio", NULL);
}

static const struct {
    void (*set)(struct out *o, hid_t fapl, hid_t fcpl);
    bool bounds_raised; /* shared messages and pages make HDF5 raise the lower version */
} tuned[] = {
    {by_default, false}, {by_newest, false}, {by_sizes, false},  {by_shared_messages, true},
    {by_pages, true},    {by_access, false}, {by_driver, false},
};

static void say_fapl(struct out *o, hid_t f, bool with_bounds)
{
    hid_t as = H5Fget_access_plist(f);
    hsize_t threshold = 0, align = 0, meta = 0, small = 0;
    size_t sieve = 0, slots = 0, bytes = 0;
    unsigned gc = 0, attempts = 0, elinks = 0;
    hbool_t lock = false, ignore = false;
    double w0 = 0;
    H5F_libver_t low = H5F_LIBVER_ERROR, high = H5F_LIBVER_ERROR;
    H5Pget_alignment(as, &threshold, &align);
    H5Pget_meta_block_size(as, &meta);
    H5Pget_sieve_buf_size(as, &sieve);
    H5Pget_small_data_block_size(as, &small);
    H5Pget_gc_references(as, &gc);
    H5Pget_file_locking(as, &lock, &ignore);
    H5Pget_cache(as, NULL, &slots, &bytes, &w0);
    H5Pget_metadata_read_attempts(as, &attempts);
    H5Pget_elink_file_cache_size(as, &elinks);
    H5Pget_libver_bounds(as, &low, &high);
    say(o, "alignment %llu %llu meta %llu", (unsigned long long)threshold, (unsigned long long)align,
        (unsigned long long)meta);
    say(o, "sieve %zu small %llu gc %u", sieve, (unsigned long long)small, gc);
    say(o, "lock %d %d", lock, ignore); /* HDF5 doesn't give evict_on_close back */
    say(o, "cache %zu %zu %g", slots, bytes, w0);
    say(o, "attempts %u elinks %u", attempts, elinks);
    if (with_bounds)
        say(o, "bounds %d %d", low, high);
    H5Pclose(as);
}

static void write_tuned(hid_t f, struct out *o)
{
    const char *name = new_name(o, "tuned.h5");
    (void)f;
    for (size_t i = 0; i < COUNT(tuned); i++) {
        hid_t fapl = new_fapl(o), fcpl = H5Pcreate(H5P_FILE_CREATE);
        say(o, "list %zu", i);
        tuned[i].set(o, fapl, fcpl);
        hid_t g = H5Fcreate(name, H5F_ACC_TRUNC, fcpl, fapl);
        say_result(o, "H5Fcreate", g);
        for (int k = 0; k < 2 && g >= 0; k++) {
            if (!k)
                put_int_closed(g, "x", 7);
            say_fcpl(o, g, k > 0);
            say_fapl(o, g, !tuned[i].bounds_raised);
            H5Fclose(g);
            g = k ? -1 : H5Fopen(name, H5F_ACC_RDONLY, fapl);
            if (!k)
                say_result(o, "H5Fopen", g);
        }
        H5Fdelete(name, fapl);
        H5Pclose(fcpl);
        H5Pclose(fapl);
        H5Eclear2(H5E_DEFAULT);
    }
}

/* ---- deleting a dataset with more possible chunks than there are numbers ---- */

/* Chunk objects of schema v1 lie flat in the bucket's folder. */
static int v1_chunks(const struct out *o)
{
    int            n = 0;
    DIR           *d = opendir(new_name(o, "."));
    struct dirent *e;
    while (d && (e = readdir(d)))
        n += strlen(e->d_name) > 6 && e->d_name[5] == '-' && e->d_name[6] == 'c';
    if (d)
        (void)closedir(d);
    return n;
}

static void write_vast(hid_t f, struct out *o)
{
    const char *schema = getenv("H5BUCKET_SCHEMA");
    bool        v1     = o->ours && schema && strcmp(schema, "v1") == 0;
    hsize_t     n = (hsize_t)1 << 50, chunk = 16384, one = 1;
    hid_t       p = H5Pcreate(H5P_DATASET_CREATE), s = H5Screate_simple(1, &n, NULL), m = H5Screate_simple(1, &one, NULL);
    H5Pset_chunk(p, 1, &chunk);
    for (int k = 0; k < 2; k++) {
        hid_t d = H5Dcreate2(f, k ? "goes" : "stays", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
        for (int i = 0; i < 3; i++) {
            hsize_t at = (hsize_t)i << 48;
            H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &one, NULL);
            say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, m, s, H5P_DEFAULT, &i));
        }
        H5Dclose(d);
    }
    H5Fflush(f, H5F_SCOPE_LOCAL);
    CHECK(!v1 || v1_chunks(o) == 6, "%d chunk objects", v1_chunks(o));
    say_result(o, "H5Ldelete", H5Ldelete(f, "goes", H5P_DEFAULT));
    say_result(o, "H5Fflush", H5Fflush(f, H5F_SCOPE_LOCAL));
    CHECK(!v1 || v1_chunks(o) == 3, "%d chunk objects after one of two datasets was deleted", v1_chunks(o));
    H5Ldelete(f, "stays", H5P_DEFAULT);
    H5Sclose(m);
    H5Sclose(s);
    H5Pclose(p);
}

static const struct write_case cases[] = {
    {"references to what was deleted", write_refs, say_refs},
    {"datasets without a fill value", write_unfilled, NULL},
    {"what a file reports of itself", write_asking, NULL},
    {"close degrees, with ids left open", write_degrees, NULL},
    {"lists that tune HDF5's own files", write_tuned, NULL},
    {"deleting a vast dataset", write_vast, NULL},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
