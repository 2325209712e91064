/* Calls of HDF5's that no other test makes: the rest of the old forms and of the asynchronous ones, and
 * queries of lists and files. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/put_scalar.h"
#include "h5tests/helpers/type_zoo.h"

/* ---- the 1.8 and 1.10 API, by name and by number ---- */

static herr_t link1_op(hid_t g, const char *name, const H5L_info1_t *info, void *arg)
{
    (void)g;
    say(arg, "link %s type %d order %d", name, info->type, info->corder_valid);
    return 0;
}

static herr_t object1_op(hid_t g, const char *name, const H5O_info1_t *info, void *arg)
{
    (void)g;
    say(arg, "object %s type %d links %u", name, info->type, info->rc);
    return 0;
}

static void say_info1(struct out *o, const char *call, herr_t rc, const H5O_info1_t *info)
{
    say_result(o, call, rc);
    if (rc >= 0)
        say(o, "type %d links %u", info->type, info->rc);
}

static void make_tree(hid_t f)
{
    hid_t g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), sub = H5Gcreate2(g, "sub", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_int_closed(g, "d", 1);
    put_int_closed(sub, "e", 2);
    put_int_attr(g, "a", 3);
    H5Lcreate_soft("d", g, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(g, "d", sub, "again", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(sub);
    H5Gclose(g);
}

static void old_calls(hid_t f, struct out *o)
{
    H5L_info1_t link = {0};
    H5O_info1_t info = {0};
    hsize_t     at   = 1;
    make_tree(f);
    hid_t g = H5Gopen2(f, "g", H5P_DEFAULT);
    say_result(o, "H5Literate_by_name1", H5Literate_by_name1(f, "g", H5_INDEX_NAME, H5_ITER_DEC, &at, link1_op, o, H5P_DEFAULT));
    say(o, "at %" PRIuHSIZE, at);
    say_result(o, "H5Lvisit_by_name1", H5Lvisit_by_name1(f, "g", H5_INDEX_NAME, H5_ITER_INC, link1_op, o, H5P_DEFAULT));
    say_result(o, "H5Lget_info1", H5Lget_info1(g, "soft", &link, H5P_DEFAULT));
    say(o, "type %d size %zu", link.type, link.u.val_size);
    say_result(o, "H5Lget_info_by_idx1", H5Lget_info_by_idx1(f, "g", H5_INDEX_NAME, H5_ITER_INC, 1, &link, H5P_DEFAULT));
    say(o, "type %d", link.type);
    say_info1(o, "H5Oget_info2", H5Oget_info2(g, &info, H5O_INFO_BASIC), &info);
    say_info1(o, "H5Oget_info_by_name1", H5Oget_info_by_name1(f, "g/d", &info, H5P_DEFAULT), &info);
    say_info1(o, "H5Oget_info_by_idx2",
              H5Oget_info_by_idx2(f, "g", H5_INDEX_NAME, H5_ITER_INC, 2, &info, H5O_INFO_BASIC, H5P_DEFAULT), &info);
    say_info1(o, "H5Oget_info_by_name1 of nothing", H5Oget_info_by_name1(f, "g/x", &info, H5P_DEFAULT), &info);
    say_result(o, "H5Ovisit_by_name1", H5Ovisit_by_name1(f, "g", H5_INDEX_NAME, H5_ITER_INC, object1_op, o, H5P_DEFAULT));
    say_result(o, "H5Ovisit_by_name2",
               H5Ovisit_by_name2(f, "g/sub", H5_INDEX_NAME, H5_ITER_DEC, object1_op, o, H5O_INFO_BASIC, H5P_DEFAULT));
    hobj_ref_t ref = 0;
    say_result(o, "H5Rcreate", H5Rcreate(&ref, f, "g/sub", H5R_OBJECT, -1));
    hid_t id = H5Rdereference1(f, H5R_OBJECT, &ref);
    say(o, "H5Rdereference1 gives a thing of type %d", H5Iget_type(id));
    say(o, "H5Rget_obj_type1 gives %d", H5Rget_obj_type1(f, H5R_OBJECT, &ref));
    H5Oclose(id);
    H5Gclose(g);
    H5Eclear2(H5E_DEFAULT);
}

/* ---- asynchronous forms: without requests they are done when they return ---- */

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
    make_tree(f);
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

/* ---- chunks, one after the other ---- */

struct visit {
    struct out *o;
    int         left;
};

static int one_chunk(const hsize_t *at, unsigned mask, haddr_t addr, hsize_t size, void *arg)
{
    struct visit *v = arg;
    say(v->o, "chunk at %" PRIuHSIZE " %" PRIuHSIZE " mask %u size %" PRIuHSIZE, at[0], at[1], mask, size);
    (void)addr; /* an object of its own lies at no address */
    return --v->left == 0;
}

/* 64 KiB, so that each is stored by itself, and its stored size is the one that HDF5 returns. */
static void chunks(hid_t f, struct out *o)
{
    const hsize_t dims[] = {384, 256}, chunk[] = {128, 128}, start[] = {130, 0}, count[] = {200, 100};
    static int    v[384 * 256];
    hid_t         s = H5Screate_simple(2, dims, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(p, 2, chunk);
    hid_t d = H5Dcreate2(f, "d", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, count, NULL);
    for (int i = 0; i < 2; i++) {
        struct visit all = {o, 99}, some = {o, 1};
        hsize_t      n = 0;
        say_result(o, "H5Dget_num_chunks", H5Dget_num_chunks(d, H5S_ALL, &n));
        say(o, "%" PRIuHSIZE " chunks", n);
        say_result(o, "H5Dchunk_iter", H5Dchunk_iter(d, H5P_DEFAULT, one_chunk, &all));
        say_result(o, "H5Dchunk_iter, stopped", H5Dchunk_iter(d, H5P_DEFAULT, one_chunk, &some));
        say(o, "%d and %d left", all.left, some.left);
        say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, s, s, H5P_DEFAULT, v));
        H5Fflush(f, H5F_SCOPE_LOCAL);
    }
    H5Dclose(d);
    H5Pclose(p);
    H5Sclose(s);
}

/* ---- elements from one piece of memory to another ---- */

static herr_t give_two(const void **src, size_t *bytes, void *arg)
{
    int **next = arg;
    *src       = *next;
    *bytes     = 2 * sizeof **next;
    *next += 2;
    return 0;
}

static herr_t take(const void *buf, size_t bytes, void *arg)
{
    say_bytes(arg, "gathered", buf, bytes);
    return 0;
}

static void memory(hid_t f, struct out *o)
{
    const hsize_t n = 8, start = 1, stride = 2, count = 4;
    int           v[8], w[8] = {0}, bytes[3] = {0}, fill = 7;
    hid_t         s = H5Screate_simple(1, &n, NULL), m = H5Screate_simple(1, &n, NULL), vl = H5Tvlen_create(H5T_NATIVE_INT);
    hid_t         d = H5Dcreate2(f, "d", H5T_STD_I32BE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < 8; i++)
        v[i] = i * i;
    H5Sselect_hyperslab(m, H5S_SELECT_SET, &start, &stride, &count, NULL);
    say_result(o, "H5Dfill", H5Dfill(&fill, H5T_NATIVE_INT, v, H5T_NATIVE_INT, m));
    int *next = v;
    say_result(o, "H5Dscatter", H5Dscatter(give_two, &next, H5T_NATIVE_INT, m, w));
    say_result(o, "H5Dwrite", H5Dwrite(d, H5T_NATIVE_INT, m, m, H5P_DEFAULT, w));
    memset(w, 0, sizeof w);
    say_result(o, "H5Dread", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, w));
    say_result(o, "H5Dgather", H5Dgather(m, w, H5T_NATIVE_INT, sizeof bytes, bytes, take, o));
    H5Dclose(d);
    /* memory that a read allocated */
    hvl_t  in[8] = {{0, NULL}}, back[8] = {{0, NULL}};
    hsize_t need = 0;
    for (int i = 0; i < 8; i++)
        in[i] = (hvl_t){(size_t)i % 4, v};
    d = H5Dcreate2(f, "lists", vl, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "H5Dwrite", H5Dwrite(d, vl, H5S_ALL, H5S_ALL, H5P_DEFAULT, in));
    say_result(o, "H5Dvlen_get_buf_size", H5Dvlen_get_buf_size(d, vl, m, &need));
    say(o, "%" PRIuHSIZE " bytes", need);
    say_result(o, "H5Dread", H5Dread(d, vl, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    for (int i = 0; i < 8; i++)
        say_bytes(o, "list", back[i].p, back[i].len * sizeof(int));
    say_result(o, "H5Dvlen_reclaim", H5Dvlen_reclaim(vl, s, H5P_DEFAULT, back));
    say(o, "%d", back[3].p == NULL);
    H5Dclose(d);
    H5Tclose(vl);
    H5Sclose(m);
    H5Sclose(s);
}

/* ---- spaces that were put together otherwise ---- */

static void combined(hid_t f, struct out *o)
{
    const hsize_t dims[] = {12, 10}, start[] = {1, 1}, start2[] = {5, 3}, size[] = {6, 6}, chunk[] = {5, 4};
    const hssize_t by[] = {-1, 0};
    unsigned char v[120], code[500];
    size_t        len = sizeof code;
    hid_t         a = H5Screate_simple(2, dims, NULL), b = H5Scopy(a), p = H5Pcreate(H5P_DATASET_CREATE), fapl = new_fapl(o);
    for (int i = 0; i < 120; i++)
        v[i] = (unsigned char)(i + 1);
    H5Pset_chunk(p, 2, chunk);
    H5Sselect_hyperslab(a, H5S_SELECT_SET, start, NULL, size, NULL);
    H5Sselect_hyperslab(b, H5S_SELECT_SET, start2, NULL, size, NULL);
    hid_t both = H5Scombine_select(a, H5S_SELECT_XOR, b), more = H5Scombine_hyperslab(a, H5S_SELECT_OR, start2, NULL, size, NULL);
    H5Smodify_select(b, H5S_SELECT_NOTB, a);
    say_result(o, "H5Sencode2", H5Sencode2(more, code, &len, fapl));
    hid_t back = H5Sdecode(code);
    H5Sselect_adjust(back, by);
    H5Soffset_simple(a, by);
    const struct {
        const char *name;
        hid_t       space;
    } rows[] = {{"exclusive or", both}, {"or", more}, {"not", b}, {"decoded and moved", back}, {"offset", a}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned char w[120] = {0};
        hid_t d = H5Dcreate2(f, rows[i].name, H5T_STD_U8LE, b, H5P_DEFAULT, p, H5P_DEFAULT);
        say_result(o, rows[i].name, H5Dwrite(d, H5T_NATIVE_UCHAR, rows[i].space, rows[i].space, H5P_DEFAULT, v));
        say_result(o, "reading", H5Dread(d, H5T_NATIVE_UCHAR, rows[i].space, rows[i].space, H5P_DEFAULT, w));
        say_bytes(o, "values", w, sizeof w);
        H5Dclose(d);
    }
    H5Sclose(both);
    H5Sclose(more);
    H5Sclose(back);
    H5Sclose(a);
    H5Sclose(b);
    H5Pclose(p);
    H5Pclose(fapl);
}

/* ---- queries of lists ---- */

/* A chain of 20 soft links: more than are followed by default, and fewer than H5Pset_nlinks() may allow. */
static void many_links(hid_t f, struct out *o)
{
    char  from[16], to[16] = "end";
    hid_t lapl = H5Pcreate(H5P_LINK_ACCESS), dapl = H5Pcreate(H5P_DATASET_ACCESS);
    put_int_closed(f, "end", 5);
    for (int i = 0; i < 20; i++) {
        snprintf(from, sizeof from, "s%d", i);
        H5Lcreate_soft(to, f, from, H5P_DEFAULT, H5P_DEFAULT);
        snprintf(to, sizeof to, "%s", from);
    }
    H5Lcreate_soft("round", f, "round", H5P_DEFAULT, H5P_DEFAULT);
    for (size_t n = 18; n < 23; n++) {
        say_result(o, "H5Pset_nlinks", H5Pset_nlinks(lapl, n));
        H5Pset_nlinks(dapl, n);
        hid_t id = H5Oopen(f, to, lapl), d = H5Dopen2(f, to, dapl);
        say(o, "with %zu: %d %d %d", n, id >= 0, d >= 0, H5Lexists(f, to, lapl) > 0);
        say(o, "there is an object: %d", H5Oexists_by_name(f, to, lapl));
        if (id >= 0)
            H5Oclose(id);
        if (d >= 0)
            H5Dclose(d);
        H5Eclear2(H5E_DEFAULT);
    }
    say_result(o, "the default", H5Oopen(f, to, H5P_DEFAULT));
    say_result(o, "16 of them", H5Oclose(H5Oopen(f, "s15", H5P_DEFAULT)));
    say_result(o, "17 of them", H5Oopen(f, "s16", H5P_DEFAULT));
    say_result(o, "round and round", H5Oopen(f, "round", lapl));
    say(o, "%d %d", H5Oexists_by_name(f, "round", H5P_DEFAULT), H5Oexists_by_name(f, "s15", H5P_DEFAULT));
    say(o, "%d", H5Oexists_by_name(f, "s16", H5P_DEFAULT));
    H5Pclose(lapl);
    H5Pclose(dapl);
    H5Eclear2(H5E_DEFAULT);
}

static herr_t flushed(hid_t id, void *arg)
{
    say(arg, "flushed: a thing of type %d", H5Iget_type(id));
    return 0;
}
static herr_t refuses(hid_t id, void *arg) { return (void)id, (void)arg, -1; }

static void flush_callbacks(hid_t f, struct out *o)
{
    static const H5F_flush_cb_t who[] = {flushed, refuses};
    (void)f;
    for (size_t i = 0; i < COUNT(who); i++) {
        hid_t fapl = new_fapl(o);
        say_result(o, "H5Pset_object_flush_cb", H5Pset_object_flush_cb(fapl, who[i], o));
        hid_t file = H5Fcreate(new_name(o, "reported.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl),
              d = put_int(file, "d", 1);
        hid_t g    = H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), t = H5Tcopy(H5T_STD_I8LE);
        H5Tcommit2(file, "t", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        say_result(o, "H5Dflush", H5Dflush(d));
        say_result(o, "H5Gflush", H5Gflush(g));
        say_result(o, "H5Tflush", H5Tflush(t));
        say_result(o, "H5Oflush", H5Oflush(d));
        H5Dclose(d);
        H5Gclose(g);
        H5Tclose(t);
        say_result(o, "H5Fclose", H5Fclose(file));
        H5Fdelete(new_name(o, "reported.h5"), fapl);
        H5Pclose(fapl);
    }
    H5Eclear2(H5E_DEFAULT);
}

/* ---- zeros that are not a value of the type, or look different in memory ---- */

static hid_t some_enum(hid_t base)
{
    hid_t t = H5Tenum_create(base);
    for (int i = 0; i < 2; i++) {
        int v = 3 + i;
        H5Tconvert(H5T_NATIVE_INT, base, 1, &v, NULL, H5P_DEFAULT);
        H5Tenum_insert(t, i ? "four" : "three", &v);
    }
    return t;
}

static hid_t both_in_one(hid_t number, hid_t text)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, H5Tget_size(number) + H5Tget_size(text));
    H5Tinsert(t, "number", 0, number);
    H5Tinsert(t, "text", H5Tget_size(number), text);
    return t;
}

static void say_read(struct out *o, const char *what, hid_t d, hid_t mem, hsize_t from, hsize_t n)
{
    unsigned char v[200];
    hid_t         space = H5Dget_space(d), at = H5Screate_simple(1, (hsize_t[]){2 * n}, NULL);
    memset(v, 0x77, sizeof v);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, NULL, &n, NULL);
    H5Sselect_hyperslab(at, H5S_SELECT_SET, (hsize_t[]){1}, (hsize_t[]){2}, &n, NULL);
    say_result(o, what, H5Dread(d, mem, at, space, H5P_DEFAULT, v));
    say_bytes(o, "every second", v, 2 * n * H5Tget_size(mem));
    memset(v, 0x77, sizeof v);
    H5Sselect_hyperslab(at, H5S_SELECT_SET, (hsize_t[]){0}, NULL, &n, NULL);
    say_result(o, what, H5Dread(d, mem, at, space, H5P_DEFAULT, v));
    say_bytes(o, "in a row", v, n * H5Tget_size(mem));
    H5Sclose(at);
    H5Sclose(space);
}

/* HDF5 2.x doesn't convert the zeros of a missing chunk, whatever else was written; 1.14 and the connector
 * don't as long as nothing was.  So of a dataset in chunks of 2 only the written chunk is compared. */
static void say_written(struct out *o, const char *what, hid_t d, hid_t mem, hsize_t from, hsize_t n, bool chunked)
{
    bool only_there = H5_VERS_MAJOR >= 2 && chunked;
    say_read(o, what, d, mem, only_there ? 2 : from, only_there ? 2 : n);
}

static void zeros_of(hid_t f, struct out *o, const char *name, hid_t type, hid_t mem)
{
    for (int way = 0; way < 6; way++) {
        char  leaf[64];
        hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE), s = H5Screate_simple(1, (hsize_t[]){6}, NULL), one = H5Screate(H5S_SCALAR);
        if (way % 3 == 1)
            H5Pset_chunk(dcpl, 1, (hsize_t[]){2});
        if (way % 3 == 2)
            H5Pset_layout(dcpl, H5D_COMPACT);
        if (way >= 3)
            H5Pset_fill_value(dcpl, type, (char[50]){0});
        snprintf(leaf, sizeof leaf, "%s %d", name, way);
        hid_t d = H5Dcreate2(f, leaf, type, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
        say_result(o, leaf, d);
        say_read(o, "never written", d, mem, 1, 4);
        H5Sselect_hyperslab(s, H5S_SELECT_SET, (hsize_t[]){2}, NULL, (hsize_t[]){1}, NULL);
        say_result(o, "writing", H5Dwrite(d, type, one, s, H5P_DEFAULT, "\003\0xyz      "));
        say_written(o, "one written", d, mem, 0, 4, way == 1);
        say_written(o, "elsewhere", d, mem, 4, 2, way == 1);
        H5Dclose(d);
        H5Sclose(s);
        H5Sclose(one);
        H5Pclose(dcpl);
    }
}

static void zeros(hid_t f, struct out *o)
{
    hid_t number = some_enum(H5T_STD_I16LE), wide = some_enum(H5T_STD_I32BE), spaces = zoo_text(5, H5T_STR_SPACEPAD, H5T_CSET_ASCII);
    hid_t nulls = zoo_text(7, H5T_STR_NULLPAD, H5T_CSET_ASCII), other = zoo_text(6, H5T_STR_SPACEPAD, H5T_CSET_ASCII);
    hid_t file = both_in_one(number, nulls), mem = both_in_one(wide, spaces);
    zeros_of(f, o, "enum", number, wide);
    zeros_of(f, o, "the same enum", number, number);
    zeros_of(f, o, "spaces", spaces, nulls);
    zeros_of(f, o, "to spaces", nulls, spaces);
    zeros_of(f, o, "longer", spaces, other);
    zeros_of(f, o, "compound", file, mem);
    H5Tclose(number), H5Tclose(wide), H5Tclose(spaces), H5Tclose(nulls), H5Tclose(other), H5Tclose(file), H5Tclose(mem);
}

static void zeros_again(hid_t f, struct out *o)
{
    hid_t wide = some_enum(H5T_STD_I32BE), d = H5Dopen2(f, "enum 1", H5P_DEFAULT);
    say_written(o, "stored", d, wide, 0, 6, true);
    H5Dclose(d);
    H5Tclose(wide);
}

/* ---- datasets of several files in one call, which HDF5 refuses for its own files ---- */

enum { FILES = 3, EACH = 10 };

static hid_t numbers(hid_t f, int first)
{
    const hsize_t n = EACH, chunk = 4;
    int           v[EACH];
    hid_t         s = H5Screate_simple(1, &n, NULL), p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(p, 1, &chunk);
    hid_t d = H5Dcreate2(f, "numbers", H5T_STD_I32BE, s, H5P_DEFAULT, p, H5P_DEFAULT);
    for (int i = 0; i < EACH; i++)
        v[i] = first + i;
    CHECK(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0, "%s", error_text());
    H5Pclose(p);
    H5Sclose(s);
    return d;
}

static void check_numbers(hid_t d, int first, const char *when)
{
    int v[EACH] = {0};
    CHECK(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) >= 0, "%s: %s", when, error_text());
    for (int i = 0; i < EACH; i++)
        CHECK(v[i] == first + i, "%s: number %d is %d, not %d", when, i, v[i], first + i);
}

/* The same dataset twice: the later one's elements are there. */
static void twice_in_one(hid_t d)
{
    const hsize_t n = 6, at[] = {2, 4};
    int           v[2][6] = {{100, 101, 102, 103, 104, 105}, {200, 201, 202, 203, 204, 205}}, got[EACH] = {0};
    hid_t         m = H5Screate_simple(1, &n, NULL), s[2], ds[] = {d, d}, ms[] = {m, m}, types[] = {H5T_NATIVE_INT, H5T_NATIVE_INT};
    const void   *from[] = {v[0], v[1]};
    for (int k = 0; k < 2; k++) {
        s[k] = H5Dget_space(d);
        H5Sselect_hyperslab(s[k], H5S_SELECT_SET, &at[k], NULL, &n, NULL);
    }
    CHECK(H5Dwrite_multi(2, ds, types, ms, s, H5P_DEFAULT, from) >= 0, "%s", error_text());
    CHECK(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, got) >= 0, "%s", error_text());
    CHECK(got[2] == 100 && got[3] == 101 && got[4] == 200 && got[9] == 205, "%d %d %d %d", got[2], got[3], got[4], got[9]);
    H5Sclose(s[0]);
    H5Sclose(s[1]);
    H5Sclose(m);
}

static void several_files(const struct out *o)
{
    struct out  plain = {.ours = false};
    char        names[FILES][8500];
    hid_t       f[FILES], d[FILES], fapl = new_fapl(o), all[FILES] = {H5S_ALL, H5S_ALL, H5S_ALL};
    hid_t       types[] = {H5T_NATIVE_INT, H5T_NATIVE_INT, H5T_NATIVE_INT}, wrong[] = {H5T_NATIVE_INT, H5T_C_S1};
    int         v[FILES][EACH], got[FILES][EACH] = {{0}};
    const void *from[FILES];
    void       *to[FILES];
    snprintf(names[0], sizeof names[0], "%s", new_name(o, "first.h5"));
    snprintf(names[1], sizeof names[1], "native:%s", new_name(&plain, "plain.h5"));
    snprintf(names[2], sizeof names[2], "%s", new_name(o, "second.h5"));
    for (int k = 0; k < FILES; k++) {
        f[k] = H5Fcreate(names[k], H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
        CHECK(f[k] >= 0, "%s: %s", names[k], error_text());
        d[k]    = numbers(f[k], 100 * k);
        from[k] = v[k];
        to[k]   = got[k];
        for (int i = 0; i < EACH; i++)
            v[k][i] = 1000 * (k + 1) + i;
    }
    hid_t domains[] = {d[0], d[2]};
    CHECK(H5Dwrite_multi(2, domains, wrong, all, all, H5P_DEFAULT, from) < 0, "numbers as strings");
    for (int k = 0; k < FILES; k++)
        check_numbers(d[k], 100 * k, "one of them can't be converted");
    CHECK(H5Dread_multi(FILES, d, types, all, all, H5P_DEFAULT, to) >= 0, "%s", error_text());
    for (int k = 0; k < FILES; k++)
        CHECK(got[k][0] == 100 * k && got[k][EACH - 1] == 100 * k + EACH - 1, "%d .. %d", got[k][0], got[k][EACH - 1]);
    CHECK(H5Dwrite_multi(FILES, d, types, all, all, H5P_DEFAULT, from) >= 0, "%s", error_text());
    for (int k = 0; k < FILES; k++) {
        H5Dclose(d[k]);
        H5Fclose(f[k]);
        f[k] = H5Fopen(names[k], H5F_ACC_RDWR, fapl);
        d[k] = H5Dopen2(f[k], "numbers", H5P_DEFAULT);
        check_numbers(d[k], 1000 * (k + 1), names[k]);
    }
    twice_in_one(d[0]);
    for (int k = 0; k < FILES; k++) {
        H5Dclose(d[k]);
        H5Fclose(f[k]);
        H5Fdelete(names[k], fapl);
    }
    H5Pclose(fapl);
    H5Eclear2(H5E_DEFAULT);
}

/* ---- H5Odisable_mdc_flushes ---- */

static void say_held(hid_t id, const char *what, struct out *o)
{
    hbool_t held = false;
    herr_t  rc   = H5Oare_mdc_flushes_disabled(id, &held);
    say(o, "%s: %d, disabled %d", what, rc < 0 ? -1 : 0, rc >= 0 && held);
}

/* All handles of an object know, also those of the file's other ids, until the last one closes. */
static void metadata_held(hid_t f, struct out *o)
{
    hid_t s = H5Screate(H5S_SCALAR), t = H5Tcopy(H5T_STD_I16LE), again = H5Freopen(f);
    hid_t g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), a = H5Acreate2(g, "a", t, s, H5P_DEFAULT, H5P_DEFAULT);
    hid_t d = H5Dcreate2(f, "d", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Tcommit2(f, "t", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t ids[] = {g, d, t, f, a, s};
    for (size_t i = 0; i < COUNT(ids); i++) {
        say_held(ids[i], "at first", o);
        say_result(o, "enabling", H5Oenable_mdc_flushes(ids[i]));
        say_result(o, "disabling", H5Odisable_mdc_flushes(ids[i]));
        say_held(ids[i], "then", o);
        say_result(o, "disabling again", H5Odisable_mdc_flushes(ids[i]));
        say_result(o, "enabling", H5Oenable_mdc_flushes(ids[i]));
        say_held(ids[i], "at last", o);
    }
    H5Aclose(a);
    H5Eclear2(H5E_DEFAULT);
    for (int first = 0; first < 2; first++) {
        hid_t x[2] = {H5Dopen2(f, "d", H5P_DEFAULT), H5Dopen2(again, "d", H5P_DEFAULT)};
        say_result(o, "disabling", H5Odisable_mdc_flushes(x[first]));
        say_held(d, "the first handle", o);
        say_held(x[!first], "a handle by another id", o);
        H5Dclose(x[first]);
        say_held(x[!first], "after one has closed", o);
        H5Dclose(d);
        say_held(x[!first], "after two have closed", o);
        say_result(o, "H5Dflush", H5Dflush(x[!first]));
        say_held(x[!first], "after a flush", o);
        say_held(g, "another object", o);
        H5Dclose(x[!first]);
        d = H5Dopen2(f, "d", H5P_DEFAULT);
        say_held(d, "after all have closed", o);
    }
    H5Dclose(d);
    H5Gclose(g);
    H5Tclose(t);
    H5Sclose(s);
    H5Fclose(again);
    H5Eclear2(H5E_DEFAULT);
}

static const struct write_case cases[] = {
    {"the rest of the 1.8 and 1.10 API", old_calls, NULL},
    {"the rest of the asynchronous forms", asynchronous, NULL},
    {"chunks are gone through", chunks, NULL},
    {"scattered, gathered, filled and reclaimed", memory, NULL},
    {"selections made of others", combined, NULL},
    {"as many soft links as the program allows", many_links, NULL},
    {"a program hears about flushes", flush_callbacks, NULL},
    {"a program holds metadata back", metadata_held, NULL},
    {"zeros that are not a value, or look different", zeros, zeros_again},
};

int main(void)
{
    struct out o = {.ours = true};
    compare_write_extra(several_files, &o);
    return compare_write_main(cases, COUNT(cases));
}
