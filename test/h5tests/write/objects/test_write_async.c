/* The asynchronous forms of calls: without requests they are done when they return. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/write/objects/put_tree.h"

/* ---- with an event set and without one ---- */

/* Dataset @p name with attribute a, written and read to @p w.  The dataset is open. */
static hid_t async_values(hid_t g, const char *name, hid_t e, int *w, struct out *o)
{
    int v = 42;
    hid_t s = H5Screate(H5S_SCALAR),
          d = H5Dcreate_async(g, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, e);
    say_result(o, "H5Dwrite_async", H5Dwrite_async(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v, e));
    say_result(o, "H5Dread_async", H5Dread_async(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, w, e));
    hid_t a =
        H5Acreate_by_name_async(g, name, "a", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, e);
    say_result(o, "H5Awrite_async", H5Awrite_async(a, H5T_NATIVE_INT, &v, e));
    say_result(o, "H5Aclose_async", H5Aclose_async(a, e));
    H5Sclose(s);
    return d;
}

/* @p w: the value that was read. */
static void async_queries(hid_t g, hid_t d, const char *name, hid_t e, const int *w, struct out *o)
{
    bool exists = false;
    hbool_t there = false;
    H5G_info_t info = {0};
    H5O_info2_t oinfo = {0};
    say_result(o, "H5Aexists_by_name_async", H5Aexists_by_name_async(g, name, "a", &exists, H5P_DEFAULT, e));
    say_result(o, "H5Lexists_async", H5Lexists_async(g, name, &there, H5P_DEFAULT, e));
    say_result(o, "H5Gget_info_async", H5Gget_info_async(g, &info, e));
    say_result(o, "H5Oget_info_by_name_async",
               H5Oget_info_by_name_async(g, name, &oinfo, H5O_INFO_ALL, H5P_DEFAULT, e));
    hid_t sp = H5Dget_space_async(d, e);
    say(o, "%d %d", exists, there);
    say(o, "%d %llu %d", *w, (unsigned long long)info.nlinks, H5Sget_simple_extent_type(sp));
    H5Sclose(sp);
}

static void async_opens(hid_t f, hid_t g, const char *name, hid_t e, struct out *o)
{
    say_result(o, "H5Dopen_async of nothing", H5Dopen_async(g, "nothing", H5P_DEFAULT, e));
    say_result(o, "H5Lcreate_soft_async", H5Lcreate_soft_async(name, g, "soft", H5P_DEFAULT, H5P_DEFAULT, e));
    hid_t ob = H5Oopen_async(g, "soft", H5P_DEFAULT, e);
    say(o, "opened %d", H5Iget_type(ob));
    say_result(o, "H5Oflush_async", H5Oflush_async(ob, e));
    say_result(o, "H5Oclose_async", H5Oclose_async(ob, e));
    hid_t again = H5Freopen_async(f, e);
    say_result(o, "H5Freopen_async", again);
    say_result(o, "H5Fclose_async", H5Fclose_async(again, e));
    say_result(o, "H5Fflush_async", H5Fflush_async(f, H5F_SCOPE_GLOBAL, e));
}

static void say_event_set(hid_t es, struct out *o)
{
    uint64_t ops = 0;
    size_t n = 99, errors = 9;
    hbool_t failed = true, any = true;
    say_result(o, "H5ESwait", H5ESwait(es, H5ES_WAIT_FOREVER, &n, &failed));
    say(o, "left %zu failed %d", n, failed);
    H5ESget_err_status(es, &any);
    H5ESget_err_count(es, &errors);
    H5ESget_op_counter(es, &ops);
    say(o, "errors %d %zu operations %llu", any, errors, (unsigned long long)ops);
    H5ESget_count(es, &n);
    say(o, "count %zu", n);
}

static void say_capabilities(struct out *o)
{
    static const uint64_t need =
        H5VL_CAP_FLAG_FILE_BASIC | H5VL_CAP_FLAG_ATTR_BASIC | H5VL_CAP_FLAG_DATASET_BASIC |
        H5VL_CAP_FLAG_GROUP_BASIC | H5VL_CAP_FLAG_LINK_BASIC | H5VL_CAP_FLAG_OBJECT_BASIC |
        H5VL_CAP_FLAG_FILE_MORE | H5VL_CAP_FLAG_MOUNT | H5VL_CAP_FLAG_FILTERS | H5VL_CAP_FLAG_EXTERNAL_LINKS |
        H5VL_CAP_FLAG_HARD_LINKS | H5VL_CAP_FLAG_ITERATE | H5VL_CAP_FLAG_BY_IDX |
        H5VL_CAP_FLAG_CREATION_ORDER | H5VL_CAP_FLAG_OBJ_REF | H5VL_CAP_FLAG_REG_REF |
        H5VL_CAP_FLAG_ATTR_REF | H5VL_CAP_FLAG_MAP_BASIC | H5VL_CAP_FLAG_ASYNC | H5VL_CAP_FLAG_FILL_VALUES |
        H5VL_CAP_FLAG_GET_PLIST;
    uint64_t caps = 0;
    hid_t fapl = new_fapl(o);
    H5Pget_vol_cap_flags(fapl, &caps);
    say(o, "flags %llx", (unsigned long long)(caps & need));
    H5Pclose(fapl);
}

static void write_async(hid_t f, struct out *o)
{
    hid_t es = H5EScreate();
    for (int k = 0; k < 2; k++) {
        int w = 0;
        char name[32];
        hid_t e = k ? es : H5ES_NONE;
        snprintf(name, sizeof name, "d%d", k);
        hid_t g = H5Gcreate_async(f, k ? "ag" : "an", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, e);
        hid_t d = async_values(g, name, e, &w, o);
        async_queries(g, d, name, e, &w, o);
        async_opens(f, g, name, e, o);
        say_result(o, "H5Dclose_async", H5Dclose_async(d, e));
        say_result(o, "H5Gclose_async", H5Gclose_async(g, e));
        if (k)
            say_event_set(es, o);
        H5Eclear2(H5E_DEFAULT);
    }
    say_result(o, "H5ESclose", H5ESclose(es));
    say_capabilities(o);
    H5Eclear2(H5E_DEFAULT);
}

/* ---- the rest of the forms ---- */

static void say_open(struct out *o, const char *call, hid_t id)
{
    say(o, "%s gives a thing of type %d, closed %d", call, id < 0 ? -1 : (int)H5Iget_type(id), id < 0 ? -1 : H5Idec_ref(id));
    H5Eclear2(H5E_DEFAULT);
}

static herr_t link2_op(hid_t g, const char *name, const H5L_info2_t *info, void *arg)
{
    (void)g;
    say(arg, "link %s type %d", name, info->type);
    return 0;
}

static void async_references(hid_t f, struct out *o, hid_t es)
{
    H5R_ref_t object, region, attr;
    hid_t     d = H5Dopen_async(f, "g/d", H5P_DEFAULT, es), s = H5Dget_space(d);
    H5Rcreate_object(f, "g", H5P_DEFAULT, &object);
    H5Rcreate_region(f, "g/d", s, H5P_DEFAULT, &region);
    H5Rcreate_attr(f, "g", "a", H5P_DEFAULT, &attr);
    say_open(o, "H5Ropen_object_async", H5Ropen_object_async(&object, H5P_DEFAULT, H5P_DEFAULT, es));
    say_open(o, "H5Ropen_region_async", H5Ropen_region_async(&region, H5P_DEFAULT, H5P_DEFAULT, es));
    say_open(o, "H5Ropen_attr_async", H5Ropen_attr_async(&attr, H5P_DEFAULT, H5P_DEFAULT, es));
    H5Rdestroy(&object);
    H5Rdestroy(&region);
    H5Rdestroy(&attr);
    H5Sclose(s);
    H5Dclose_async(d, es);
}

static void async_multi(hid_t f, struct out *o, hid_t es)
{
    hid_t       d[] = {put_int(f, "m0", 0), put_int(f, "m1", 0)}, types[] = {H5T_NATIVE_INT, H5T_NATIVE_INT}, all[] = {H5S_ALL, H5S_ALL};
    int         v[] = {41, 42}, w[] = {0, 0};
    const void *from[] = {&v[0], &v[1]};
    void       *to[]   = {&w[0], &w[1]};
    say_result(o, "H5Dwrite_multi_async", H5Dwrite_multi_async(2, d, types, all, all, H5P_DEFAULT, from, es));
    say_result(o, "H5Dread_multi_async", H5Dread_multi_async(2, d, types, all, all, H5P_DEFAULT, to, es));
    say(o, "%d %d", w[0], w[1]);
    say_result(o, "H5Orefresh_async", H5Orefresh_async(d[0], es));
    H5Dclose(d[0]);
    H5Dclose(d[1]);
}

static void asynchronous(hid_t f, struct out *o)
{
    hid_t      es = H5EScreate(), fapl = new_fapl(o), t = H5Tcopy(H5T_STD_I16BE);
    H5G_info_t one = {0}, two = {0};
    size_t     left = 99;
    hbool_t    failed = true;
    put_tree(f);
    H5Tcommit2(f, "t", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t g = H5Gopen_async(f, "g", H5P_DEFAULT, es), other = H5Fcreate_async(new_name(o, "async.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl, es);
    say(o, "things of type %d and %d", H5Iget_type(g), H5Iget_type(other));
    say_open(o, "H5Aopen_async", H5Aopen_async(g, "a", H5P_DEFAULT, es));
    say_open(o, "H5Aopen_by_name_async", H5Aopen_by_name_async(f, "g", "a", H5P_DEFAULT, H5P_DEFAULT, es));
    say_open(o, "H5Aopen_by_idx_async", H5Aopen_by_idx_async(f, "g", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT, H5P_DEFAULT, es));
    say_open(o, "H5Aopen_by_idx_async beyond", H5Aopen_by_idx_async(f, "g", H5_INDEX_NAME, H5_ITER_INC, 9, H5P_DEFAULT, H5P_DEFAULT, es));
    say_result(o, "H5Arename_by_name_async", H5Arename_by_name_async(f, "g", "a", "b", H5P_DEFAULT, es));
    say_result(o, "and back", H5Arename_by_name_async(f, "g", "b", "a", H5P_DEFAULT, es));
    say_open(o, "H5Oopen_by_idx_async", H5Oopen_by_idx_async(f, "g", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT, es));
    say_open(o, "H5Topen_async", H5Topen_async(f, "t", H5P_DEFAULT, es));
    say_result(o, "H5Gget_info_by_name_async", H5Gget_info_by_name_async(f, "g", &one, H5P_DEFAULT, es));
    say_result(o, "H5Gget_info_by_idx_async", H5Gget_info_by_idx_async(f, "/", H5_INDEX_NAME, H5_ITER_INC, 0, &two, H5P_DEFAULT, es));
    say(o, "%" PRIuHSIZE " %" PRIuHSIZE " links", one.nlinks, two.nlinks);
    say_result(o, "H5Literate_async", H5Literate_async(g, H5_INDEX_NAME, H5_ITER_INC, NULL, link2_op, o, es));
    say_result(o, "H5Ldelete_by_idx_async", H5Ldelete_by_idx_async(f, "g", H5_INDEX_NAME, H5_ITER_DEC, 0, H5P_DEFAULT, es));
    async_references(f, o, es);
    async_multi(f, o, es);
    say_result(o, "H5Gclose_async", H5Gclose_async(g, es));
    say_result(o, "H5Fclose_async", H5Fclose_async(other, es));
    say_result(o, "H5ESwait", H5ESwait(es, H5ES_WAIT_FOREVER, &left, &failed));
    say(o, "left %zu failed %d", left, failed);
    H5ESclose(es);
    H5Tclose(t);
    H5Fdelete(new_name(o, "async.h5"), fapl);
    H5Pclose(fapl);
    H5Eclear2(H5E_DEFAULT);
}

static const struct write_case cases[] = {
    {"asynchronous forms", write_async, NULL},
    {"the rest of the asynchronous forms", asynchronous, NULL},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
