/* The connector's claims are true: its capability flags, and H5VLquery_optional() for each optional operation
 * of HDF5's own. */
#include <H5VLconnector.h>
#include <H5VLnative.h>
#include <unistd.h>

#include "h5tests/helpers/compare_write.h"

struct things {
    hid_t file, group, dset, attr;
};

static hid_t open_things(const struct out *o, struct things *t)
{
    hsize_t n = 4, chunk = 2;
    hid_t   fapl = new_fapl(o), s = H5Screate_simple(1, &n, NULL), dcpl = H5Pcreate(H5P_DATASET_CREATE);
    int     v[4] = {1, 2, 3, 4};
    H5Pset_chunk(dcpl, 1, &chunk);
    t->file  = H5Fcreate(new_name(o, "cap.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    t->group = H5Gcreate2(t->file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    t->dset  = H5Dcreate2(t->file, "d", H5T_STD_I32LE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    t->attr  = H5Acreate2(t->dset, "a", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Dwrite(t->dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0, "%s", error_text());
    H5Pclose(dcpl);
    H5Sclose(s);
    return fapl;
}

static void close_things(const struct out *o, struct things *t, hid_t fapl)
{
    H5Aclose(t->attr);
    H5Dclose(t->dset);
    H5Gclose(t->group);
    H5Fclose(t->file);
    H5Fdelete(new_name(o, "cap.h5"), fapl);
    H5Pclose(fapl);
}

/* ---- optional operations: each by the call of HDF5's that makes use of it ---- */

typedef long long op_fn(const struct things *t);

static herr_t stop_link(hid_t g, const char *name, void *arg) { return (void)g, (void)name, (void)arg, 1; }
static herr_t stop_attr(hid_t g, const char *name, void *arg) { return (void)g, (void)name, (void)arg, 1; }
static int    stop_chunk(const hsize_t *at, unsigned mask, haddr_t addr, hsize_t n, void *arg)
{
    return (void)at, (void)mask, (void)addr, (void)n, (void)arg, 1;
}

static long long attr_iterate(const struct things *t) { return H5Aiterate1(t->dset, NULL, stop_attr, NULL); }
static long long d_index(const struct things *t)
{
    H5D_chunk_index_t kind;
    return H5Dget_chunk_index_type(t->dset, &kind);
}
static long long d_storage(const struct things *t)
{
    hsize_t at = 0, n;
    return H5Dget_chunk_storage_size(t->dset, &at, &n);
}
static long long d_num(const struct things *t)
{
    hsize_t n;
    return H5Dget_num_chunks(t->dset, H5S_ALL, &n);
}
static long long d_by_idx(const struct things *t)
{
    hsize_t at, n;
    unsigned mask;
    haddr_t  addr;
    return H5Dget_chunk_info(t->dset, H5S_ALL, 0, &at, &mask, &addr, &n);
}
static long long d_by_coord(const struct things *t)
{
    hsize_t at = 0, n;
    unsigned mask;
    haddr_t  addr;
    return H5Dget_chunk_info_by_coord(t->dset, &at, &mask, &addr, &n);
}
static long long d_read(const struct things *t)
{
    hsize_t  at = 0;
    uint32_t mask;
    char     buf[64];
    return H5Dread_chunk(t->dset, H5P_DEFAULT, &at, &mask, buf);
}
static long long d_write(const struct things *t)
{
    hsize_t at     = 0;
    char    buf[8] = {0};
    return H5Dwrite_chunk(t->dset, H5P_DEFAULT, 0, &at, sizeof buf, buf);
}
static long long d_vlen(const struct things *t)
{
    hsize_t n    = 0;
    hid_t   type = H5Tvlen_create(H5T_NATIVE_INT), s = H5Screate(H5S_SCALAR);
    hid_t   d    = H5Dcreate2(t->file, "lists", type, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t  rc   = H5Dvlen_get_buf_size(d, type, s, &n);
    H5Dclose(d);
    H5Sclose(s);
    H5Tclose(type);
    return rc;
}
static long long d_offset(const struct things *t)
{
    (void)H5Dget_offset(t->dset); /* HADDR_UNDEF is an answer: then nothing is on the stack */
    return H5Eget_num(H5E_DEFAULT) > 0 ? -1 : 0;
}
static long long d_iter(const struct things *t) { return H5Dchunk_iter(t->dset, H5P_DEFAULT, stop_chunk, NULL); }
static long long d_convert(const struct things *t) { return H5Dformat_convert(t->dset); }
static long long f_elink(const struct things *t) { return H5Fclear_elink_file_cache(t->file); }
static long long f_image(const struct things *t) { return H5Fget_file_image(t->file, NULL, 0); }
static long long f_sections(const struct things *t) { return H5Fget_free_sections(t->file, H5FD_MEM_DEFAULT, 0, NULL); }
static long long f_space(const struct things *t) { return H5Fget_freespace(t->file); }
static long long f_info(const struct things *t)
{
    H5F_info2_t info;
    return H5Fget_info2(t->file, &info);
}
static long long f_mdc(const struct things *t)
{
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    return H5Fget_mdc_config(t->file, &config);
}
static long long f_set_mdc(const struct things *t)
{
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    hid_t               fapl   = H5Pcreate(H5P_FILE_ACCESS);
    H5Pget_mdc_config(fapl, &config);
    H5Pclose(fapl);
    return H5Fset_mdc_config(t->file, &config);
}
static long long f_hit(const struct things *t)
{
    double rate;
    return H5Fget_mdc_hit_rate(t->file, &rate);
}
static long long f_mdc_size(const struct things *t)
{
    size_t a, b, c;
    int    n;
    return H5Fget_mdc_size(t->file, &a, &b, &c, &n);
}
static long long f_size(const struct things *t)
{
    hsize_t n;
    return H5Fget_filesize(t->file, &n);
}
static long long f_handle(const struct things *t)
{
    void *p;
    return H5Fget_vfd_handle(t->file, H5P_DEFAULT, &p);
}
static long long f_reset_hit(const struct things *t) { return H5Freset_mdc_hit_rate_stats(t->file); }
static long long f_retry(const struct things *t)
{
    H5F_retry_info_t info;
    return H5Fget_metadata_read_retry_info(t->file, &info);
}
static long long f_swmr(const struct things *t) { return H5Fstart_swmr_write(t->file); }
static long long f_log(const struct things *t) { return H5Fstart_mdc_logging(t->file); }
static long long f_stop_log(const struct things *t) { return H5Fstop_mdc_logging(t->file); }
static long long f_log_status(const struct things *t)
{
    hbool_t a, b;
    return H5Fget_mdc_logging_status(t->file, &a, &b);
}
static long long f_convert(const struct things *t) { return H5Fformat_convert(t->file); }
static long long f_page_reset(const struct things *t) { return H5Freset_page_buffering_stats(t->file); }
static long long f_page(const struct things *t)
{
    unsigned a[2], b[2], c[2], d[2], e[2];
    return H5Fget_page_buffering_stats(t->file, a, b, c, d, e);
}
static long long f_mdc_image(const struct things *t)
{
    haddr_t at;
    hsize_t n;
    return H5Fget_mdc_image_info(t->file, &at, &n);
}
static long long f_eoa(const struct things *t)
{
    haddr_t at;
    return H5Fget_eoa(t->file, &at);
}
static long long f_incr(const struct things *t) { return H5Fincrement_filesize(t->file, 10); }
static long long f_libver(const struct things *t) { return H5Fset_libver_bounds(t->file, H5F_LIBVER_V18, H5F_LIBVER_LATEST); }
static long long f_hint(const struct things *t)
{
    hbool_t on;
    return H5Fget_dset_no_attrs_hint(t->file, &on);
}
static long long f_set_hint(const struct things *t) { return H5Fset_dset_no_attrs_hint(t->file, false); }
static long long g_iterate(const struct things *t) { return H5Giterate(t->file, "/", NULL, stop_link, NULL); }
static long long g_info(const struct things *t)
{
    H5G_stat_t s;
    return H5Gget_objinfo(t->file, "g", 0, &s);
}
static long long o_comment(const struct things *t) { return H5Oget_comment(t->group, NULL, 0); }
static long long o_set_comment(const struct things *t) { return H5Oset_comment(t->group, "x"); }
static long long o_disable(const struct things *t) { return H5Odisable_mdc_flushes(t->group); }
static long long o_enable(const struct things *t) { return H5Oenable_mdc_flushes(t->group); }
static long long o_disabled(const struct things *t)
{
    hbool_t yes;
    return H5Oare_mdc_flushes_disabled(t->group, &yes);
}
static long long o_native(const struct things *t)
{
    H5O_native_info_t info;
    return H5Oget_native_info(t->group, &info, H5O_NATIVE_INFO_ALL);
}

static const struct {
    H5VL_subclass_t cls;
    int             op;
    op_fn          *call;
    const char     *name;
} ops[] = {
#define OP(cls, op, call) {H5VL_SUBCLS_##cls, H5VL_NATIVE_##cls##_##op, call, #cls " " #op}
    OP(ATTR, ITERATE_OLD, attr_iterate),
    OP(DATASET, FORMAT_CONVERT, d_convert),
    OP(DATASET, GET_CHUNK_INDEX_TYPE, d_index),
    OP(DATASET, GET_CHUNK_STORAGE_SIZE, d_storage),
    OP(DATASET, GET_NUM_CHUNKS, d_num),
    OP(DATASET, GET_CHUNK_INFO_BY_IDX, d_by_idx),
    OP(DATASET, GET_CHUNK_INFO_BY_COORD, d_by_coord),
    OP(DATASET, CHUNK_READ, d_read),
    OP(DATASET, CHUNK_WRITE, d_write),
    OP(DATASET, GET_VLEN_BUF_SIZE, d_vlen),
    OP(DATASET, GET_OFFSET, d_offset),
    OP(DATASET, CHUNK_ITER, d_iter),
    OP(FILE, CLEAR_ELINK_CACHE, f_elink),
    OP(FILE, GET_FILE_IMAGE, f_image),
    OP(FILE, GET_FREE_SECTIONS, f_sections),
    OP(FILE, GET_FREE_SPACE, f_space),
    OP(FILE, GET_INFO, f_info),
    OP(FILE, GET_MDC_CONF, f_mdc),
    OP(FILE, GET_MDC_HR, f_hit),
    OP(FILE, GET_MDC_SIZE, f_mdc_size),
    OP(FILE, GET_SIZE, f_size),
    OP(FILE, GET_VFD_HANDLE, f_handle),
    OP(FILE, RESET_MDC_HIT_RATE, f_reset_hit),
    OP(FILE, SET_MDC_CONFIG, f_set_mdc),
    OP(FILE, GET_METADATA_READ_RETRY_INFO, f_retry),
    OP(FILE, START_SWMR_WRITE, f_swmr),
    OP(FILE, START_MDC_LOGGING, f_log),
    OP(FILE, STOP_MDC_LOGGING, f_stop_log),
    OP(FILE, GET_MDC_LOGGING_STATUS, f_log_status),
    OP(FILE, FORMAT_CONVERT, f_convert),
    OP(FILE, RESET_PAGE_BUFFERING_STATS, f_page_reset),
    OP(FILE, GET_PAGE_BUFFERING_STATS, f_page),
    OP(FILE, GET_MDC_IMAGE_INFO, f_mdc_image),
    OP(FILE, GET_EOA, f_eoa),
    OP(FILE, INCR_FILESIZE, f_incr),
    OP(FILE, SET_LIBVER_BOUNDS, f_libver),
    OP(FILE, GET_MIN_DSET_OHDR_FLAG, f_hint),
    OP(FILE, SET_MIN_DSET_OHDR_FLAG, f_set_hint),
    OP(GROUP, ITERATE_OLD, g_iterate),
    OP(GROUP, GET_OBJINFO, g_info),
    OP(OBJECT, GET_COMMENT, o_comment),
    OP(OBJECT, SET_COMMENT, o_set_comment),
    OP(OBJECT, DISABLE_MDC_FLUSHES, o_disable),
    OP(OBJECT, ENABLE_MDC_FLUSHES, o_enable),
    OP(OBJECT, ARE_MDC_FLUSHES_DISABLED, o_disabled),
    OP(OBJECT, GET_NATIVE_INFO, o_native),
};

static void optional_operations(const struct out *o)
{
    struct things t;
    hid_t         fapl = open_things(o, &t);
    for (size_t i = 0; i < COUNT(ops); i++) {
        uint64_t flags = 0;
        H5Eclear2(H5E_DEFAULT);
        CHECK(H5VLquery_optional(t.file, ops[i].cls, ops[i].op, &flags) >= 0, "%s: %s", ops[i].name, error_text());
        H5Eclear2(H5E_DEFAULT);
        bool works = ops[i].call(&t) >= 0, said = flags & H5VL_OPT_QUERY_SUPPORTED;
        CHECK(works == said, "%s is %s, and %s: %s", ops[i].name, said ? "supported, says the connector" : "not supported, says the connector",
              works ? "works" : "fails", works ? "" : error_text());
        if (!works) {
            (void)ops[i].call(&t);
            const char *why = error_text();
            CHECK(strstr(why, "bucket") || strstr(why, "native"), "%s is refused without a reason: %s", ops[i].name, why);
        }
        bool changes = ops[i].op == H5VL_NATIVE_DATASET_CHUNK_WRITE && ops[i].cls == H5VL_SUBCLS_DATASET;
        CHECK(!said || changes == ((flags & H5VL_OPT_QUERY_WRITE_DATA) != 0), "%s: flags %#llx", ops[i].name, (unsigned long long)flags);
    }
    uint64_t flags = 99;
    CHECK(H5VLquery_optional(t.file, H5VL_SUBCLS_FILE, 5000, &flags) >= 0 && flags == 0, "an operation that nobody knows");
    close_things(o, &t, fapl);
}

/* ---- capability flags ---- */

typedef bool cap_fn(const struct things *t, const struct out *o);

static bool good(herr_t rc) { return rc >= 0; }
static bool is_id(hid_t id, herr_t (*close_it)(hid_t)) { return id >= 0 && close_it(id) >= 0; }

static bool attr_basic(const struct things *t, const struct out *o)
{
    int   v[4] = {4, 3, 2, 1}, w[4] = {0};
    hid_t s    = H5Screate(H5S_SCALAR);
    bool  ok   = good(H5Awrite(t->attr, H5T_NATIVE_INT, v)) && good(H5Aread(t->attr, H5T_NATIVE_INT, w)) && w[0] == 4 &&
              H5Aexists(t->dset, "a") > 0 && is_id(H5Aopen(t->dset, "a", H5P_DEFAULT), H5Aclose) &&
              is_id(H5Acreate2(t->dset, "b", H5T_STD_I8LE, s, H5P_DEFAULT, H5P_DEFAULT), H5Aclose) && good(H5Adelete(t->dset, "b"));
    return (void)o, H5Sclose(s), ok;
}
static bool attr_more(const struct things *t, const struct out *o)
{
    H5A_info_t info;
    char       name[4];
    return (void)o, good(H5Arename(t->dset, "a", "c")) && H5Aget_name(t->attr, sizeof name, name) > 0 && good(H5Aget_info(t->attr, &info)) &&
                    good(H5Arename_by_name(t->file, "d", "c", "a", H5P_DEFAULT)) && H5Aget_storage_size(t->attr) == 16;
}
static bool dataset_basic(const struct things *t, const struct out *o)
{
    int v[4] = {9};
    return (void)o, good(H5Dread(t->dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v)) &&
                    good(H5Dwrite(t->dset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
}
static bool dataset_more(const struct things *t, const struct out *o)
{
    H5D_space_status_t status;
    return (void)o, good(H5Dget_space_status(t->dset, &status)) && is_id(H5Dget_type(t->dset), H5Tclose);
}
static bool file_basic(const struct things *t, const struct out *o) { return (void)t, (void)o, true; }
static bool file_more(const struct things *t, const struct out *o)
{
    unsigned intent;
    hid_t    fapl = new_fapl(o);
    bool     ours = H5Fis_accessible(new_name(o, "cap.h5"), fapl) > 0;
    return H5Pclose(fapl), ours && good(H5Fget_intent(t->file, &intent)) && is_id(H5Freopen(t->file), H5Fclose) && H5Fget_obj_count(t->file, H5F_OBJ_ALL) > 0;
}
static bool group_basic(const struct things *t, const struct out *o)
{
    return (void)o, is_id(H5Gcreate2(t->group, "x", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose) &&
                    is_id(H5Gopen2(t->group, "x", H5P_DEFAULT), H5Gclose);
}
static bool group_more(const struct things *t, const struct out *o)
{
    H5G_info_t info;
    return (void)o, good(H5Gget_info(t->group, &info)) && good(H5Gflush(t->group));
}
static bool link_basic(const struct things *t, const struct out *o)
{
    return (void)o, good(H5Lcreate_soft("/d", t->group, "basic", H5P_DEFAULT, H5P_DEFAULT)) && H5Lexists(t->group, "basic", H5P_DEFAULT) > 0 &&
                    good(H5Ldelete(t->group, "basic", H5P_DEFAULT));
}
static bool link_more(const struct things *t, const struct out *o)
{
    H5L_info2_t info;
    return (void)o, good(H5Lget_info2(t->file, "d", &info, H5P_DEFAULT)) &&
                    good(H5Lcopy(t->file, "d", t->group, "e", H5P_DEFAULT, H5P_DEFAULT)) &&
                    good(H5Lmove(t->group, "e", t->group, "f", H5P_DEFAULT, H5P_DEFAULT));
}
static bool map_basic(const struct things *t, const struct out *o)
{
#ifdef H5_HAVE_MAP_API
    return (void)o, is_id(H5Mcreate(t->file, "map", H5T_NATIVE_INT, H5T_NATIVE_INT, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Mclose);
#else
    return (void)t, (void)o, false; /* an HDF5 without such calls */
#endif
}
static bool object_basic(const struct things *t, const struct out *o)
{
    return (void)o, is_id(H5Oopen(t->file, "d", H5P_DEFAULT), H5Oclose) && H5Oexists_by_name(t->file, "d", H5P_DEFAULT) > 0;
}
static bool object_more(const struct things *t, const struct out *o)
{
    H5O_info2_t info;
    return (void)o, good(H5Oget_info3(t->dset, &info, H5O_INFO_ALL)) && good(H5Ocopy(t->file, "d", t->group, "copy", H5P_DEFAULT, H5P_DEFAULT)) &&
                    good(H5Oincr_refcount(t->dset)) && good(H5Odecr_refcount(t->dset)) && good(H5Olink(t->dset, t->group, "olink", H5P_DEFAULT, H5P_DEFAULT));
}
static bool by_reference(const struct things *t, H5R_ref_t *r, hid_t type)
{
    hid_t     s = H5Screate(H5S_SCALAR), d = H5Dcreate2(t->group, "r", type, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5R_ref_t back;
    bool      ok = good(H5Dwrite(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, r)) &&
              good(H5Dread(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, &back)) && is_id(H5Ropen_object(&back, H5P_DEFAULT, H5P_DEFAULT), H5Oclose);
    if (ok && H5Rget_type(r) == H5R_DATASET_REGION2)
        ok = is_id(H5Ropen_region(&back, H5P_DEFAULT, H5P_DEFAULT), H5Sclose);
    if (ok && H5Rget_type(r) == H5R_ATTR)
        ok = is_id(H5Ropen_attr(&back, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    H5Rdestroy(&back);
    H5Rdestroy(r);
    H5Dclose(d);
    H5Sclose(s);
    return ok && good(H5Ldelete(t->group, "r", H5P_DEFAULT));
}
static bool obj_ref(const struct things *t, const struct out *o)
{
    H5R_ref_t r;
    return (void)o, good(H5Rcreate_object(t->file, "d", H5P_DEFAULT, &r)) && by_reference(t, &r, H5T_STD_REF);
}
static bool reg_ref(const struct things *t, const struct out *o)
{
    H5R_ref_t r;
    hid_t     s  = H5Dget_space(t->dset);
    bool      ok = good(H5Rcreate_region(t->file, "d", s, H5P_DEFAULT, &r));
    return (void)o, H5Sclose(s), ok && by_reference(t, &r, H5T_STD_REF);
}
static bool attr_ref(const struct things *t, const struct out *o)
{
    H5R_ref_t r;
    return (void)o, good(H5Rcreate_attr(t->file, "d", "a", H5P_DEFAULT, &r)) && by_reference(t, &r, H5T_STD_REF);
}
static bool stored_types(const struct things *t, const struct out *o)
{
    hid_t type = H5Tcopy(H5T_STD_I16LE);
    bool  ok   = good(H5Tcommit2(t->group, "t", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    return (void)o, H5Tclose(type), ok && is_id(H5Topen2(t->group, "t", H5P_DEFAULT), H5Tclose);
}
static bool creation_order(const struct things *t, const struct out *o)
{
    hid_t       gcpl = H5Pcreate(H5P_GROUP_CREATE), g, s = H5Screate(H5S_SCALAR);
    H5L_info2_t info = {0};
    H5Pset_link_creation_order(gcpl, H5P_CRT_ORDER_TRACKED);
    g       = H5Gcreate2(t->group, "tracked", H5P_DEFAULT, gcpl, H5P_DEFAULT);
    bool ok = good(H5Lcreate_soft("/", g, "z", H5P_DEFAULT, H5P_DEFAULT)) && good(H5Lcreate_soft("/", g, "a", H5P_DEFAULT, H5P_DEFAULT)) &&
              good(H5Lget_info2(g, "a", &info, H5P_DEFAULT)) && info.corder_valid && info.corder == 1;
    H5Sclose(s);
    H5Pclose(gcpl);
    return (void)o, is_id(g, H5Gclose) && ok;
}
static herr_t go_on(hid_t g, const char *name, const H5L_info2_t *info, void *n) { return (void)g, (void)name, (void)info, ++*(int *)n, 0; }
static bool   iterate(const struct things *t, const struct out *o)
{
    int n = 0;
    return (void)o, good(H5Literate2(t->file, H5_INDEX_NAME, H5_ITER_INC, NULL, go_on, &n)) && n >= 2;
}
static bool storage_size(const struct things *t, const struct out *o) { return (void)o, H5Dget_storage_size(t->dset) >= 16; }
static bool by_idx(const struct things *t, const struct out *o)
{
    return (void)o, is_id(H5Oopen_by_idx(t->file, "/", H5_INDEX_NAME, H5_ITER_DEC, 0, H5P_DEFAULT), H5Oclose) &&
                    is_id(H5Aopen_by_idx(t->dset, ".", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
}
static bool plists(const struct things *t, const struct out *o)
{
    return (void)o, is_id(H5Fget_create_plist(t->file), H5Pclose) && is_id(H5Fget_access_plist(t->file), H5Pclose) &&
                    is_id(H5Gget_create_plist(t->group), H5Pclose) && is_id(H5Dget_create_plist(t->dset), H5Pclose) &&
                    is_id(H5Dget_access_plist(t->dset), H5Pclose) && is_id(H5Aget_create_plist(t->attr), H5Pclose);
}
static bool flush_refresh(const struct things *t, const struct out *o)
{
    return (void)o, good(H5Fflush(t->file, H5F_SCOPE_LOCAL)) && good(H5Dflush(t->dset)) && good(H5Drefresh(t->dset)) && good(H5Grefresh(t->group)) &&
                    good(H5Oflush(t->group)) && good(H5Orefresh(t->dset));
}
static bool external_links(const struct things *t, const struct out *o)
{
    hid_t fapl = new_fapl(o), f = H5Fcreate(new_name(o, "ext.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    bool  ok = is_id(f, H5Fclose) && good(H5Lcreate_external("ext.h5", "/", t->group, "ext", H5P_DEFAULT, H5P_DEFAULT)) &&
              is_id(H5Gopen2(t->group, "ext", H5P_DEFAULT), H5Gclose) && good(H5Fdelete(new_name(o, "ext.h5"), fapl));
    return H5Pclose(fapl), ok;
}
static bool hard_links(const struct things *t, const struct out *o)
{
    return (void)o, good(H5Lcreate_hard(t->file, "d", t->group, "hard", H5P_DEFAULT, H5P_DEFAULT)) &&
                    is_id(H5Dopen2(t->group, "hard", H5P_DEFAULT), H5Dclose);
}
static bool soft_links(const struct things *t, const struct out *o)
{
    return (void)o, good(H5Lcreate_soft("/d", t->group, "soft", H5P_DEFAULT, H5P_DEFAULT)) &&
                    is_id(H5Dopen2(t->group, "soft", H5P_DEFAULT), H5Dclose);
}
static hid_t follow(const char *name, hid_t group, const void *data, size_t n, hid_t lapl, hid_t dxpl)
{
    (void)name, (void)data, (void)n, (void)lapl, (void)dxpl;
    return H5Gopen2(group, "/", H5P_DEFAULT);
}
/* Made, asked about, deleted; following one is an error with a clear message. */
static bool user_links(const struct things *t, const struct out *o)
{
    const H5L_class_t cls = {.version = H5L_LINK_CLASS_T_VERS, .id = (H5L_type_t)77, .comment = "test", .trav_func = follow};
    H5L_info2_t       info;
    char              back[8] = "";
    bool ok = good(H5Lregister(&cls)) && good(H5Lcreate_ud(t->group, "user", (H5L_type_t)77, "abc", 4, H5P_DEFAULT, H5P_DEFAULT)) &&
              good(H5Lget_info2(t->group, "user", &info, H5P_DEFAULT)) && info.type == (H5L_type_t)77 && info.u.val_size == 4 &&
              good(H5Lget_val(t->group, "user", back, sizeof back, H5P_DEFAULT)) && strcmp(back, "abc") == 0;
    hid_t       g   = H5Gopen2(t->group, "user", H5P_DEFAULT);
    const char *why = error_text();
    CHECK(g < 0 && strstr(why, "user") && strstr(why, "user-defined"), "following a user-defined link: %s", why);
    CHECK(H5Lcreate_ud(t->group, "user2", (H5L_type_t)78, "abc", 4, H5P_DEFAULT, H5P_DEFAULT) < 0, "a link of a class that isn't registered");
    H5Lunregister((H5L_type_t)77);
    return (void)o, ok && good(H5Ldelete(t->group, "user", H5P_DEFAULT));
}
static bool track_times(const struct things *t, const struct out *o)
{
    H5O_info2_t info;
    return (void)o, good(H5Oget_info3(t->group, &info, H5O_INFO_TIME)) && info.ctime > 0;
}
static bool mount(const struct things *t, const struct out *o)
{
    hid_t fapl = new_fapl(o), f = H5Fcreate(new_name(o, "mount.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    bool  ok = good(H5Fmount(t->file, "g", f, H5P_DEFAULT)) && good(H5Funmount(t->file, "g")) && is_id(f, H5Fclose) &&
              good(H5Fdelete(new_name(o, "mount.h5"), fapl));
    return H5Pclose(fapl), ok;
}
static hid_t create_with(const struct things *t, const char *name, hid_t dcpl)
{
    hsize_t n = 4, chunk = 4;
    hid_t   s = H5Screate_simple(1, &n, NULL);
    H5Pset_chunk(dcpl, 1, &chunk);
    hid_t d = H5Dcreate2(t->group, name, H5T_STD_I32LE, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    return H5Sclose(s), H5Pclose(dcpl), d;
}
static bool filters(const struct things *t, const struct out *o)
{
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_fletcher32(dcpl);
    int   v[4] = {1, 2, 3, 4}, w[4] = {0};
    hid_t d    = create_with(t, "filtered", dcpl);
    return (void)o, good(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v)) && good(H5Dflush(d)) &&
                    good(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, w)) && w[3] == 4 && is_id(d, H5Dclose);
}
static bool fill_values(const struct things *t, const struct out *o)
{
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    int   fill = 17, w[4] = {0};
    H5Pset_fill_value(dcpl, H5T_NATIVE_INT, &fill);
    hid_t d = create_with(t, "filled", dcpl);
    return (void)o, good(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, w)) && w[2] == 17 && is_id(d, H5Dclose);
}

static const struct {
    uint64_t    flag;
    const char *name;
    cap_fn     *works;
} caps[] = {
#define CAP(flag, works) {H5VL_CAP_FLAG_##flag, #flag, works}
    CAP(ATTR_BASIC, attr_basic), CAP(ATTR_MORE, attr_more), CAP(DATASET_BASIC, dataset_basic), CAP(DATASET_MORE, dataset_more),
    CAP(FILE_BASIC, file_basic), CAP(FILE_MORE, file_more), CAP(GROUP_BASIC, group_basic), CAP(GROUP_MORE, group_more),
    CAP(LINK_BASIC, link_basic), CAP(LINK_MORE, link_more), CAP(MAP_BASIC, map_basic), CAP(MAP_MORE, map_basic),
    CAP(OBJECT_BASIC, object_basic), CAP(OBJECT_MORE, object_more), CAP(REF_BASIC, obj_ref), CAP(REF_MORE, obj_ref),
    CAP(OBJ_REF, obj_ref), CAP(REG_REF, reg_ref), CAP(ATTR_REF, attr_ref), CAP(STORED_DATATYPES, stored_types),
    CAP(CREATION_ORDER, creation_order), CAP(ITERATE, iterate), CAP(STORAGE_SIZE, storage_size), CAP(BY_IDX, by_idx),
    CAP(GET_PLIST, plists), CAP(FLUSH_REFRESH, flush_refresh), CAP(EXTERNAL_LINKS, external_links), CAP(HARD_LINKS, hard_links),
    CAP(SOFT_LINKS, soft_links), CAP(UD_LINKS, user_links), CAP(TRACK_TIMES, track_times), CAP(MOUNT, mount),
    CAP(FILTERS, filters), CAP(FILL_VALUES, fill_values),
};

static void capabilities(const struct out *o)
{
    struct things t;
    uint64_t      flags = 0, known = 0;
    hid_t         fapl = open_things(o, &t);
    CHECK(H5Pget_vol_cap_flags(fapl, &flags) >= 0, "%s", error_text());
    for (size_t i = 0; i < COUNT(caps); i++) {
        known |= caps[i].flag;
        H5Eclear2(H5E_DEFAULT);
        bool works = caps[i].works(&t, o), said = (flags & caps[i].flag) != 0;
        CHECK(works == said, "%s is %s, and %s: %s", caps[i].name, said ? "set" : "not set", works ? "works" : "fails", works ? "" : error_text());
    }
    CHECK((flags & ~known) == 0, "flags %#llx are set and not tested", (unsigned long long)(flags & ~known));
    close_things(o, &t, fapl);
}

int main(void)
{
    struct out o = {.ours = true};
    compare_write_extra(capabilities, &o);
    compare_write_extra(optional_operations, &o);
    return compare_write_main(NULL, 0);
}
