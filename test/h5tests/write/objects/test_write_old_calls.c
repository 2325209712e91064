/* Other forms of calls: those of HDF5's 1.6 and 1.8 API, iterations that stop and go on, transfer lists,
 * single chunks, asynchronous ones. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/put_scalar.h"

#include <unistd.h>

/* ---- the 1.6 and 1.8 API ---- */

static herr_t old_group_op(hid_t g, const char *name, void *arg)
{
    (void)g;
    say(arg, "has %s", name);
    return 0;
}

static herr_t old_attr_op(hid_t obj, const char *name, void *arg)
{
    (void)obj;
    say(arg, "attribute %s", name);
    return 0;
}

static herr_t link1_op(hid_t g, const char *name, const H5L_info1_t *info, void *arg)
{
    (void)g;
    say(arg, "link %s %d %d", name, info->type, info->corder_valid);
    return 0;
}

static herr_t object1_op(hid_t g, const char *name, const H5O_info1_t *info, void *arg)
{
    (void)g;
    say(arg, "object %s %d %u", name, info->type, info->rc);
    say(arg, "attributes %llu", (unsigned long long)info->num_attrs);
    return 0;
}

static void write_old_calls(hid_t f, struct out *o)
{
    char       text[64] = "";
    hsize_t    n = 0, two[1] = {2}, four[1] = {4}, max[1] = {H5S_UNLIMITED};
    unsigned   at = 0;
    int        idx = 0;
    H5O_info1_t info;
    hid_t g = H5Gcreate1(f, "g", 100), s = H5Screate_simple(1, two, max), p = H5Pcreate(H5P_DATASET_CREATE);
    say_result(o, "H5Gcreate1", g);
    H5Pset_chunk(p, 1, two);
    hid_t d = H5Dcreate1(g, "d", H5T_STD_I16BE, s, p), a = H5Acreate1(d, "units", H5T_STD_I8LE, s, H5P_DEFAULT);
    say_result(o, "H5Dcreate1", d);
    say_result(o, "H5Acreate1", a);
    H5Aclose(a);
    say_result(o, "H5Dextend", H5Dextend(d, four));
    say_result(o, "H5Dextend, smaller", H5Dextend(d, two));
    hid_t t = H5Tcopy(H5T_NATIVE_DOUBLE);
    say_result(o, "H5Tcommit1", H5Tcommit1(g, "t", t));
    H5Tclose(t);
    say_result(o, "H5Glink", H5Glink(g, H5L_TYPE_SOFT, "d", "soft"));
    say_result(o, "H5Glink2", H5Glink2(g, "d", H5L_TYPE_HARD, f, "hard"));
    say_result(o, "H5Gmove", H5Gmove(f, "hard", "harder"));
    say_result(o, "H5Gmove2", H5Gmove2(f, "harder", g, "inside"));
    say_result(o, "H5Gset_comment", H5Gset_comment(g, "d", "a comment"));
    say(o, "H5Gget_comment %d %s", H5Gget_comment(g, "d", sizeof text, text), text);
    say_result(o, "H5Gget_linkval", H5Gget_linkval(g, "soft", sizeof text, text));
    say(o, "%s", text);
    say_result(o, "H5Gget_linkval of a hard link", H5Gget_linkval(g, "d", sizeof text, text));
    say_result(o, "H5Gget_num_objs", H5Gget_num_objs(g, &n));
    say(o, "%llu", (unsigned long long)n);
    for (hsize_t i = 0; i <= n; i++) {
        ssize_t len = H5Gget_objname_by_idx(g, i, text, sizeof text);
        say(o, "%zd %s", len, len > 0 ? text : "");
        say(o, "type %d", H5Gget_objtype_by_idx(g, i));
    }
    say_result(o, "H5Giterate", H5Giterate(f, "g", &idx, old_group_op, o));
    say(o, "at %d", idx);
    idx = 2;
    say_result(o, "H5Giterate from 2", H5Giterate(f, "g", &idx, old_group_op, o));
    idx = 9;
    say_result(o, "H5Giterate from 9", H5Giterate(f, "g", &idx, old_group_op, o));
    H5G_stat_t stat;
    say_result(o, "H5Gget_objinfo", H5Gget_objinfo(g, "soft", false, &stat));
    say(o, "type %d len %zu", stat.type, stat.linklen);
    say_result(o, "H5Gget_objinfo, followed", H5Gget_objinfo(g, "soft", true, &stat));
    say(o, "type %d links %u", stat.type, stat.nlink);
    say_result(o, "H5Gunlink", H5Gunlink(g, "soft"));
    say_result(o, "H5Gunlink again", H5Gunlink(g, "soft"));
    say_result(o, "H5Aiterate1", H5Aiterate1(d, &at, old_attr_op, o));
    say(o, "at %u", at);
    say(o, "H5Aget_num_attrs %d", H5Aget_num_attrs(d));
    a = H5Aopen_idx(d, 0);
    say_result(o, "H5Aopen_idx", a);
    H5Aclose(a);
    say_result(o, "H5Aopen_idx 1", H5Aopen_idx(d, 1));
    a = H5Aopen_name(d, "units");
    say_result(o, "H5Aopen_name", a);
    H5Aclose(a);
    hsize_t from = 0;
    say_result(o, "H5Literate1", H5Literate1(g, H5_INDEX_NAME, H5_ITER_DEC, &from, link1_op, o));
    say_result(o, "H5Lvisit1", H5Lvisit1(f, H5_INDEX_NAME, H5_ITER_INC, link1_op, o));
    say_result(o, "H5Ovisit1", H5Ovisit1(f, H5_INDEX_NAME, H5_ITER_INC, object1_op, o));
    say_result(o, "H5Ovisit2", H5Ovisit2(f, H5_INDEX_NAME, H5_ITER_DEC, object1_op, o, H5O_INFO_ALL));
    say_result(o, "H5Oget_info1", H5Oget_info1(d, &info));
    say(o, "type %d rc %u", info.type, info.rc);
    hid_t by = H5Oopen_by_addr(f, info.addr);
    say_result(o, "H5Oopen_by_addr", by);
    say(o, "kind %d", H5Iget_type(by));
    H5Oclose(by);
    say_result(o, "H5Oopen_by_addr of nothing", H5Oopen_by_addr(f, 12345678));
    say_result(o, "H5Oget_info_by_idx1", H5Oget_info_by_idx1(f, "g", H5_INDEX_NAME, H5_ITER_INC, 0, &info, H5P_DEFAULT));
    say_result(o, "H5Oget_info_by_name2", H5Oget_info_by_name2(f, "g/t", &info, H5O_INFO_BASIC, H5P_DEFAULT));
    say(o, "type %d rc %u", info.type, info.rc);
    H5Dclose(d);
    d = H5Dopen1(g, "inside");
    say_result(o, "H5Dopen1", d);
    H5Dclose(d);
    t = H5Topen1(g, "t");
    say_result(o, "H5Topen1", t);
    H5Tclose(t);
    H5Gclose(g);
    g = H5Gopen1(f, "/g/../g");
    say_result(o, "H5Gopen1", g);
    if (g >= 0)
        H5Gclose(g);
    H5Eclear2(H5E_DEFAULT);
    H5Pclose(p);
    H5Sclose(s);
}

/* ---- iterating ---- */

struct walk {
    struct out *o;
    int         stop, calls, give;
};

static int step(struct walk *w, const char *what, const char *name)
{
    say(w->o, "%s %s", what, name);
    return ++w->calls == w->stop ? w->give : 0;
}

static herr_t on_attr(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    (void)obj, (void)info;
    return step(arg, "attribute", name);
}

static herr_t on_link(hid_t g, const char *name, const H5L_info2_t *info, void *arg)
{
    (void)g, (void)info;
    return step(arg, "link", name);
}

static herr_t on_object(hid_t g, const char *name, const H5O_info2_t *info, void *arg)
{
    (void)g, (void)info;
    return step(arg, "object", name);
}

static void walk_all(hid_t f, struct out *o)
{
    static const char *groups[] = {"ordered", "plain"};
    for (int g = 0; g < 2; g++)
        for (int index = 0; index < 2; index++)
            for (int order = 0; order < 3; order++)
                for (int stop = 0; stop < 3; stop++) {
                    struct walk w = {o, stop == 0 ? -1 : 2, 0, stop == 1 ? 5 : -1};
                    hsize_t     at = 0;
                    if (g == 1 && index == 1) /* HDF5 refuses; here every group knows when its links were made */
                        continue;
                    hid_t id = H5Gopen2(f, groups[g], H5P_DEFAULT);
                    say(o, "%s index %d order %d stop %d", groups[g], index, order, stop);
                    if (order == 2) { /* H5_ITER_NATIVE is the order of the storage: only the number can be
                                         compared */
                        H5Gclose(id);
                        continue;
                    }
                    int rc = H5Aiterate2(id, (H5_index_t)index, (H5_iter_order_t)order, &at, on_attr, &w);
                    say(o, "H5Aiterate %d at %llu", rc < 0 ? -1 : rc, rc < 0 ? 0 : (unsigned long long)at);
                    w.stop = -1;
                    if (rc > 0)
                        say(o, "goes on %d", H5Aiterate2(id, (H5_index_t)index, (H5_iter_order_t)order, &at, on_attr, &w));
                    at = 99;
                    rc = H5Aiterate2(id, (H5_index_t)index, (H5_iter_order_t)order, &at, on_attr, &w);
                    say(o, "beyond %d", rc < 0 ? -1 : rc);
                    w  = (struct walk){o, stop == 0 ? -1 : 2, 0, stop == 1 ? 5 : -1};
                    at = 0;
                    rc = H5Literate2(id, (H5_index_t)index, (H5_iter_order_t)order, &at, on_link, &w);
                    say(o, "H5Literate %d at %llu", rc < 0 ? -1 : rc, rc < 0 ? 0 : (unsigned long long)at);
                    w.stop = -1;
                    if (rc > 0)
                        say(o, "goes on %d", H5Literate2(id, (H5_index_t)index, (H5_iter_order_t)order, &at, on_link, &w));
                    at = 3;
                    rc = H5Literate_by_name2(f, groups[g], (H5_index_t)index, (H5_iter_order_t)order, &at, on_link, &w, H5P_DEFAULT);
                    say(o, "from 3: %d at %llu", rc < 0 ? -1 : rc, rc < 0 ? 0 : (unsigned long long)at);
                    w  = (struct walk){o, stop == 0 ? -1 : 3, 0, stop == 1 ? 5 : -1};
                    rc = H5Lvisit2(id, (H5_index_t)index, (H5_iter_order_t)order, on_link, &w);
                    say(o, "H5Lvisit %d", rc < 0 ? -1 : rc);
                    w  = (struct walk){o, stop == 0 ? -1 : 3, 0, stop == 1 ? 5 : -1};
                    rc = H5Ovisit3(id, (H5_index_t)index, (H5_iter_order_t)order, on_object, &w, H5O_INFO_BASIC);
                    say(o, "H5Ovisit %d", rc < 0 ? -1 : rc);
                    w  = (struct walk){o, stop == 0 ? -1 : 3, 0, stop == 1 ? 5 : -1};
                    rc = H5Ovisit_by_name3(f, groups[g], (H5_index_t)index, (H5_iter_order_t)order, on_object, &w,
                                           H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS, H5P_DEFAULT);
                    say(o, "H5Ovisit_by_name %d", rc < 0 ? -1 : rc);
                    H5Gclose(id);
                    H5Eclear2(H5E_DEFAULT);
                }
}

static void write_walks(hid_t f, struct out *o)
{
    static const char *names[] = {"zebra", "apple", "mango", "berry", "kiwi"};
    for (int i = 0; i < 2; i++) {
        hid_t p = H5Pcreate(H5P_GROUP_CREATE);
        if (i == 0) {
            H5Pset_link_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
            H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
        }
        H5Pset_link_phase_change(p, 2, 1);
        H5Pset_attr_phase_change(p, 2, 1);
        H5Pset_est_link_info(p, 3, 9);
        H5Pset_local_heap_size_hint(p, 77);
        hid_t g   = H5Gcreate2(f, i ? "plain" : "ordered", H5P_DEFAULT, p, H5P_DEFAULT);
        hid_t sub = H5Gcreate2(g, "sub", H5P_DEFAULT, p, H5P_DEFAULT);
        for (size_t k = 0; k < COUNT(names); k++) {
            put_int_closed(g, names[k], (int)k);
            put_int_attr(g, names[k], (int)k);
            put_int_closed(sub, names[COUNT(names) - 1 - k], (int)k);
        }
        H5Ldelete(g, "apple", H5P_DEFAULT);
        H5Adelete(g, "apple");
        hid_t    got = i ? H5Pcopy(p) : H5Gget_create_plist(g); /* a group of the old format has no place for these */
        unsigned a = 0, b = 0, c = 0, d = 0;
        size_t   hint = 0;
        H5Pget_link_phase_change(got, &a, &b);
        H5Pget_est_link_info(got, &c, &d);
        H5Pget_local_heap_size_hint(got, &hint);
        say(o, "phase %u %u estimates %u %u", a, b, c, d);
        say(o, "hint %zu", hint);
        H5Pget_attr_phase_change(got, &a, &b);
        say(o, "attributes' phase %u %u", a, b);
        H5Pclose(got);
        H5Gclose(sub);
        H5Gclose(g);
        H5Pclose(p);
    }
    walk_all(f, o);
}

/* ---- transfer lists ---- */

static void write_transfers(hid_t f, struct out *o)
{
    hsize_t n = 10, chunk = 4, start = 2, count = 3, stride = 2, one = 1;
    int     v[10], w[10];
    hid_t   s = H5Screate_simple(1, &n, NULL), p = H5Pcreate(H5P_DATASET_CREATE), x = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_chunk(p, 1, &chunk);
    H5Pset_chunk_opts(p, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    H5Pset_deflate(p, 3);
    H5Pset_fletcher32(p);
    hid_t d = H5Dcreate2(f, "d", H5T_STD_I32BE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    say_result(o, "H5Dcreate", d);
    for (int i = 0; i < 10; i++)
        v[i] = i * 3;
    unsigned opts = 0;
    hid_t    got = H5Dget_create_plist(d);
    H5Pget_chunk_opts(got, &opts);
    say(o, "options %u", opts);
    H5Pclose(got);
    say_result(o, "H5Pset_buffer", H5Pset_buffer(x, 16, NULL, NULL));
    say_result(o, "H5Pset_preserve", H5Pset_preserve(x, true));
    say_result(o, "H5Pset_edc_check", H5Pset_edc_check(x, H5Z_DISABLE_EDC));
    say_result(o, "H5Pset_hyper_vector_size", H5Pset_hyper_vector_size(x, 8));
    say_result(o, "H5Pset_btree_ratios", H5Pset_btree_ratios(x, 0.1, 0.5, 0.9));
    say_result(o, "H5Pset_selection_io", H5Pset_selection_io(x, H5D_SELECTION_IO_MODE_ON));
    say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, x, v));
    memset(w, 0, sizeof w);
    say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, x, w));
    say_bytes(o, "values", w, sizeof w);
    /* a selection in the list: HDF5's own code only reads it from there (and crashes without one) */
    say_result(o, "selection", H5Pset_dataset_io_hyperslab_selection(x, 1, H5S_SELECT_SET, &start, &stride, &count, &one));
    if (o->ours) {
        CHECK(H5Dread(d, H5T_NATIVE_INT, H5S_BLOCK, H5S_PLIST, x, w) < 0 && strstr(error_text(), "H5S_PLIST"), "H5S_PLIST is read");
        CHECK(H5Dwrite(d, H5T_NATIVE_INT, H5S_BLOCK, H5S_PLIST, x, w) < 0 && strstr(error_text(), "H5S_PLIST"), "H5S_PLIST is written");
    }
    memset(w, 0, sizeof w);
    say_result(o, "H5Dread, H5S_BLOCK", H5Dread(d, H5T_NATIVE_INT, H5S_BLOCK, H5S_ALL, x, w));
    say_bytes(o, "values", w, sizeof w);
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    H5Dget_space_status(d, &status);
    hsize_t chunks = 0, offset = 0, size = 0;
    unsigned mask = 0;
    haddr_t  addr = 0;
    say_result(o, "H5Dget_num_chunks", H5Dget_num_chunks(d, H5S_ALL, &chunks));
    say(o, "status %d chunks %llu", status, (unsigned long long)chunks);
    for (hsize_t i = 0; i < 4; i++) {
        hsize_t at = i * 4 + 1;
        say_result(o, "H5Dget_chunk_info", H5Dget_chunk_info(d, H5S_ALL, i, &offset, &mask, &addr, &size));
        say(o, "at %llu mask %u", (unsigned long long)offset, mask);
        if (i == 3) /* HDF5 looks it up beyond the end of its index */
            continue;
        say_result(o, "H5Dget_chunk_info_by_coord", H5Dget_chunk_info_by_coord(d, &at, &mask, &addr, &size));
        say_result(o, "H5Dget_chunk_storage_size", H5Dget_chunk_storage_size(d, &at, &size));
    }
    H5Dclose(d);
    H5Pclose(x);
    H5Pclose(p);
    H5Sclose(s);
    H5Eclear2(H5E_DEFAULT);
}

/* ---- asynchronous forms, maps ---- */

static void write_async(hid_t f, struct out *o)
{
    hid_t es = H5EScreate(), s = H5Screate(H5S_SCALAR);
    for (int k = 0; k < 2; k++) {
        hid_t   e = k ? es : H5ES_NONE;
        char    name[32];
        int     v = 42, w = 0;
        bool    exists = false;
        hbool_t there  = false;
        size_t  n = 99;
        hbool_t failed = true;
        H5G_info_t  info  = {0};
        H5O_info2_t oinfo = {0};
        snprintf(name, sizeof name, "d%d", k);
        hid_t g = H5Gcreate_async(f, k ? "ag" : "an", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, e);
        hid_t d = H5Dcreate_async(g, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, e);
        say_result(o, "H5Dwrite_async", H5Dwrite_async(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v, e));
        say_result(o, "H5Dread_async", H5Dread_async(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &w, e));
        hid_t a = H5Acreate_by_name_async(g, name, "a", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, e);
        say_result(o, "H5Awrite_async", H5Awrite_async(a, H5T_NATIVE_INT, &v, e));
        say_result(o, "H5Aclose_async", H5Aclose_async(a, e));
        say_result(o, "H5Aexists_by_name_async", H5Aexists_by_name_async(g, name, "a", &exists, H5P_DEFAULT, e));
        say_result(o, "H5Lexists_async", H5Lexists_async(g, name, &there, H5P_DEFAULT, e));
        say_result(o, "H5Gget_info_async", H5Gget_info_async(g, &info, e));
        say_result(o, "H5Oget_info_by_name_async", H5Oget_info_by_name_async(g, name, &oinfo, H5O_INFO_ALL, H5P_DEFAULT, e));
        hid_t sp = H5Dget_space_async(d, e);
        say(o, "%d %d", exists, there);
        say(o, "%d %llu %d", w, (unsigned long long)info.nlinks, H5Sget_simple_extent_type(sp));
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
        say_result(o, "H5Dclose_async", H5Dclose_async(d, e));
        say_result(o, "H5Gclose_async", H5Gclose_async(g, e));
        H5Sclose(sp);
        if (k) {
            uint64_t ops = 0;
            size_t   errors = 9;
            hbool_t  any = true;
            say_result(o, "H5ESwait", H5ESwait(es, H5ES_WAIT_FOREVER, &n, &failed));
            say(o, "left %zu failed %d", n, failed);
            H5ESget_err_status(es, &any);
            H5ESget_err_count(es, &errors);
            H5ESget_op_counter(es, &ops);
            say(o, "errors %d %zu operations %llu", any, errors, (unsigned long long)ops);
            H5ESget_count(es, &n);
            say(o, "count %zu", n);
        }
        H5Eclear2(H5E_DEFAULT);
    }
    say_result(o, "H5ESclose", H5ESclose(es));
    uint64_t caps = 0, need = 0;
    hid_t    fapl = new_fapl(o);
    H5Pget_vol_cap_flags(fapl, &caps);
    need = H5VL_CAP_FLAG_FILE_BASIC | H5VL_CAP_FLAG_ATTR_BASIC | H5VL_CAP_FLAG_DATASET_BASIC | H5VL_CAP_FLAG_GROUP_BASIC |
           H5VL_CAP_FLAG_LINK_BASIC | H5VL_CAP_FLAG_OBJECT_BASIC | H5VL_CAP_FLAG_FILE_MORE | H5VL_CAP_FLAG_MOUNT |
           H5VL_CAP_FLAG_FILTERS | H5VL_CAP_FLAG_EXTERNAL_LINKS | H5VL_CAP_FLAG_HARD_LINKS | H5VL_CAP_FLAG_ITERATE |
           H5VL_CAP_FLAG_BY_IDX | H5VL_CAP_FLAG_CREATION_ORDER | H5VL_CAP_FLAG_OBJ_REF | H5VL_CAP_FLAG_REG_REF | H5VL_CAP_FLAG_ATTR_REF |
           H5VL_CAP_FLAG_MAP_BASIC | H5VL_CAP_FLAG_ASYNC | H5VL_CAP_FLAG_FILL_VALUES | H5VL_CAP_FLAG_GET_PLIST;
    say(o, "flags %llx", (unsigned long long)(caps & need));
    H5Pclose(fapl);
    H5Sclose(s);
    H5Eclear2(H5E_DEFAULT);
}

static const struct write_case cases[] = {
    {"calls of the 1.6 and 1.8 API", write_old_calls, NULL},
    {"iterations stop, go on and begin anywhere", write_walks, walk_all},
    {"transfer lists, selections in them, single chunks", write_transfers, NULL},
    {"asynchronous forms", write_async, NULL},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
