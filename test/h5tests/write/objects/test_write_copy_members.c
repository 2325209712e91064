/* H5Ocopy: groups, their links and members, the way to the copy, large elements, refusals. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/put_six.h"

static void say_numbers(hid_t at, struct out *o, const char *name)
{
    hid_t      g = H5Gopen2(at, name, H5P_DEFAULT);
    H5G_info_t all;
    say_result(o, name, H5Gget_info(g, &all));
    say(o, "the next link is number %d", (int)all.max_corder);
    for (hsize_t i = 0; i < all.nlinks; i++) {
        char        link[20] = "", attr[20] = "";
        H5L_info2_t l = {.corder = -1};
        H5A_info_t  a = {.corder_valid = false};
        H5Lget_name_by_idx(g, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, link, sizeof link, H5P_DEFAULT);
        H5Lget_info_by_idx2(g, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, &l, H5P_DEFAULT);
        H5Aget_name_by_idx(g, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, attr, sizeof attr, H5P_DEFAULT);
        H5Aget_info_by_idx(g, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, &a, H5P_DEFAULT);
        say(o, "link %s %d, attribute %s %d", link, (int)l.corder, attr, (int)a.corder);
    }
    H5Gclose(g);
}

static void add_member(hid_t g, const char *name)
{
    hid_t s = H5Screate(H5S_SCALAR);
    H5Aclose(H5Acreate2(g, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_soft("/", g, name, H5P_DEFAULT, H5P_DEFAULT);
    H5Sclose(s);
}

/* Removed members leave gaps in the numbers, in the copy as well; at the end, too. */
static void numbers(hid_t f, struct out *o)
{
    static const char *const names[] = {"m", "z", "b", "aa", "k", "c"}, *const gone[] = {"z", "aa", "c"};
    hid_t                    gcpl = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_attr_creation_order(gcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_link_creation_order(gcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    hid_t g = H5Gcreate2(f, "source", H5P_DEFAULT, gcpl, H5P_DEFAULT);
    for (size_t i = 0; i < COUNT(names); i++)
        add_member(g, names[i]);
    for (size_t i = 0; i < COUNT(gone); i++) {
        H5Ldelete(g, gone[i], H5P_DEFAULT);
        H5Adelete(g, gone[i]);
    }
    say_result(o, "copying", H5Ocopy(f, "source", f, "copy", H5P_DEFAULT, H5P_DEFAULT));
    hid_t copy = H5Gopen2(f, "copy", H5P_DEFAULT);
    add_member(copy, "later");
    say_numbers(f, o, "source");
    say_numbers(f, o, "copy");
    H5Gclose(copy);
    H5Gclose(g);
    H5Pclose(gcpl);
}

static void numbers_stored(hid_t f, struct out *o)
{
    say_numbers(f, o, "source");
    say_numbers(f, o, "copy");
}

/* Groups on the way to a copy: like those on the way to a link; without a copy, no groups. */
static void on_the_way(hid_t f, struct out *o)
{
    unsigned order = 99;
    hid_t    lcpl = H5Pcreate(H5P_LINK_CREATE), gcpl = H5Pcreate(H5P_GROUP_CREATE), list = H5Pcreate(H5P_OBJECT_COPY);
    hid_t    fapl = new_fapl(o), other = H5Fcreate(new_name(o, "src.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    H5Pset_create_intermediate_group(lcpl, 1);
    H5Pset_attr_creation_order(gcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_copy_object(list, H5O_COPY_EXPAND_SOFT_LINK_FLAG);
    H5Gclose(H5Gcreate2(f, "g", H5P_DEFAULT, gcpl, H5P_DEFAULT));
    H5Gclose(H5Gcreate2(other, "bad", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_soft("nowhere/x", other, "bad/soft", H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "copying", H5Ocopy(f, "g", f, "a/b/c", H5P_DEFAULT, lcpl));
    hid_t made = H5Gopen2(f, "a/b", H5P_DEFAULT), of = H5Gget_create_plist(made);
    H5Pget_attr_creation_order(of, &order);
    say(o, "order of attributes on the way %u", order);
    say_result(o, "copying what can't be expanded", H5Ocopy(other, "bad", f, "d/e", list, lcpl));
    say(o, "its group is there: %d", H5Lexists(f, "d", H5P_DEFAULT));
    H5Pclose(of);
    H5Gclose(made);
    H5Fclose(other);
    H5Fdelete(new_name(o, "src.h5"), fapl);
    H5Pclose(fapl);
    H5Pclose(list);
    H5Pclose(gcpl);
    H5Pclose(lcpl);
}

/* A group's attributes may refer to its members, or to the group itself: each target is copied once. */
static void of_members(hid_t f, struct out *o)
{
    static const char *const to[] = {"g/m", "g", "g/sub"};
    hsize_t                  n    = COUNT(to);
    hobj_ref_t               refs[COUNT(to)];
    hid_t                    g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), s = H5Screate_simple(1, &n, NULL);
    hid_t                    list = H5Pcreate(H5P_OBJECT_COPY);
    put_six(g, "m", 3);
    H5Gclose(H5Gcreate2(g, "sub", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    put_six(g, "sub/n", 5);
    for (size_t i = 0; i < COUNT(to); i++)
        H5Rcreate(&refs[i], f, to[i], H5R_OBJECT, H5I_INVALID_HID);
    hid_t a = H5Acreate2(g, "refs", H5T_STD_REF_OBJ, s, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, H5T_STD_REF_OBJ, refs);
    H5Aclose(a);
    H5Pset_copy_object(list, H5O_COPY_EXPAND_REFERENCE_FLAG);
    say_result(o, "copying", H5Ocopy(f, "g", g, "sub/copy", list, H5P_DEFAULT));
    hid_t copy = H5Gopen2(g, "sub/copy", H5P_DEFAULT);
    a          = H5Aopen(copy, "refs", H5P_DEFAULT);
    H5Aread(a, H5T_STD_REF_OBJ, refs);
    for (size_t i = 0; i < COUNT(to); i++) {
        char    name[64] = "";
        hid_t   id       = H5Rdereference2(a, H5P_DEFAULT, H5R_OBJECT, &refs[i]);
        say_result(o, "H5Rdereference", id);
        H5Iget_name(id, name, sizeof name);
        say(o, "leads to %s", name);
        H5Oclose(id);
    }
    H5Aclose(a);
    H5Gclose(copy);
    H5Pclose(list);
    H5Sclose(s);
    H5Gclose(g);
    o->uncounted = true; /* HDF5 counts targets of references once more */
}

/* ---- copies of references, each with the object that it leads to ---- */

static herr_t count_pointed(hid_t g, const char *name, const H5L_info2_t *info, void *n)
{
    (void)g, (void)info;
    *(unsigned *)n += strncmp(name, "~obj_pointed_by_", 16) == 0;
    return 0;
}

/* A file with a dataset, a group, a committed type, and datasets with references of each kind to them */
static hid_t with_references(const struct out *o, const char *leaf, hid_t fapl, int first)
{
    hid_t      f = H5Fcreate(new_name(o, leaf), H5F_ACC_TRUNC, H5P_DEFAULT, fapl), s = H5Screate(H5S_SCALAR);
    hid_t      t = H5Tcopy(H5T_STD_I32BE);
    hobj_ref_t object;
    put_six(f, "data", first);
    H5Gclose(H5Gcreate2(f, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    put_six(f, "group/member", first + 1);
    H5Tcommit2(f, "type", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Tclose(t);
    static const char *const to[] = {"data", "group", "type"}, *const names[] = {"to data", "to group", "to type"};
    for (int i = 0; i < 3; i++) {
        hid_t d = H5Dcreate2(f, names[i], H5T_STD_REF_OBJ, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Rcreate(&object, f, to[i], H5R_OBJECT, H5I_INVALID_HID);
        H5Dwrite(d, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, &object);
        H5Dclose(d);
    }
    hdset_reg_ref_t region;
    hid_t           whole = H5Dopen2(f, "data", H5P_DEFAULT), some = H5Dget_space(whole);
    hid_t           r     = H5Dcreate2(f, "to region", H5T_STD_REF_DSETREG, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Rcreate(&region, f, "data", H5R_DATASET_REGION, some);
    H5Dwrite(r, H5T_STD_REF_DSETREG, H5S_ALL, H5S_ALL, H5P_DEFAULT, &region);
    H5Dclose(r);
    H5Sclose(some);
    H5Dclose(whole);
    H5Sclose(s);
    return f;
}

/* The kind, the value and the name's beginning of the object behind a copied reference */
static void say_target(hid_t f, const char *name, struct out *o)
{
    union {
        hobj_ref_t      object;
        hdset_reg_ref_t region;
    } ref;
    int   v[6] = {0};
    char  path[64] = "";
    hid_t d = H5Dopen2(f, name, H5P_DEFAULT), t = H5Dget_type(d);
    bool  region = H5Tequal(t, H5T_STD_REF_DSETREG) > 0;
    H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, &ref);
    hid_t to = H5Rdereference2(d, H5P_DEFAULT, region ? H5R_DATASET_REGION : H5R_OBJECT, &ref);
    if (H5Iget_type(to) == H5I_DATASET)
        H5Dread(to, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    H5Iget_name(to, path, sizeof path);
    say(o, "%s: kind %d, %d, %d, named %.16s", name, (int)H5Iget_type(to), v[0], v[5], path);
    H5Oclose(to);
    H5Tclose(t);
    H5Dclose(d);
}

/* Each call copies the objects again, also if an earlier call has copied them.  Two files may have objects of
 * the same address. */
static void pointed_again(hid_t f, struct out *o)
{
    static const char *const names[] = {"to data", "to group", "to type", "to region"};
    char                     copy[32];
    unsigned                 pointed = 0;
    hid_t                    fapl    = new_fapl(o), list = H5Pcreate(H5P_OBJECT_COPY);
    hid_t                    from[]  = {with_references(o, "one.h5", fapl, 10), with_references(o, "two.h5", fapl, 20)};
    hid_t                    into    = H5Fcreate(new_name(o, "into.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    (void)f;
    H5Pset_copy_object(list, H5O_COPY_EXPAND_REFERENCE_FLAG);
    for (size_t i = 0; i < 4 * COUNT(names); i++) {
        snprintf(copy, sizeof copy, "copy %zu", i);
        say_result(o, names[i % 4], H5Ocopy(from[i / 4 % 2], names[i % 4], into, copy, list, H5P_DEFAULT));
    }
    for (size_t i = 0; i < 4 * COUNT(names); i++) {
        snprintf(copy, sizeof copy, "copy %zu", i);
        say_target(into, copy, o);
    }
    H5Literate2(into, H5_INDEX_NAME, H5_ITER_INC, NULL, count_pointed, &pointed);
    say(o, "%u objects were copied with them", pointed);
    H5Fclose(into);
    H5Fclose(from[0]);
    H5Fclose(from[1]);
    H5Fdelete(new_name(o, "one.h5"), fapl);
    H5Fdelete(new_name(o, "two.h5"), fapl);
    H5Fdelete(new_name(o, "into.h5"), fapl);
    H5Pclose(list);
    H5Pclose(fapl);
}

/* A soft link to the group that a copy is made in leads nowhere until the copy is there. */
static void leading_there(hid_t f, struct out *o)
{
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE), list = H5Pcreate(H5P_OBJECT_COPY);
    H5Pset_create_intermediate_group(lcpl, 1);
    H5Pset_copy_object(list, H5O_COPY_EXPAND_SOFT_LINK_FLAG);
    H5Gclose(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_soft("/new", f, "g/soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/new/way/copy", f, "g/itself", H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "copying", H5Ocopy(f, "g", f, "new/way/copy", list, lcpl));
    say_result(o, "copying to where something is", H5Ocopy(f, "g", f, "new/way", list, lcpl));
    say_result(o, "copying to where no group is", H5Ocopy(f, "g", f, "none/copy", list, H5P_DEFAULT));
    H5Pclose(list);
    H5Pclose(lcpl);
}

static herr_t count_link(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    (void)group, (void)name, (void)info;
    ++*(unsigned *)arg;
    return 0;
}

/* Groups within groups, more of them than the stack would hold if each took some of it. */
static void deep(const struct out *o)
{
    enum { LEVELS = 1800 };
    hid_t    fapl = new_fapl(o), f = H5Fcreate(new_name(o, "deep.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl), g = H5Gopen2(f, "/", H5P_DEFAULT);
    unsigned n    = 0;
    for (int i = 0; i < LEVELS; i++) {
        hid_t in = H5Gcreate2(g, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Gclose(g);
        g = in;
    }
    H5Gclose(g);
    CHECK(H5Ocopy(f, "g", f, "copy", H5P_DEFAULT, H5P_DEFAULT) >= 0, "%s", error_text());
    g = H5Gopen2(f, "copy", H5P_DEFAULT);
    CHECK(H5Lvisit2(g, H5_INDEX_NAME, H5_ITER_INC, count_link, &n) >= 0 && n == LEVELS - 1, "%u levels: %s", n, error_text());
    H5Gclose(g);
    H5Ldelete(f, "g", H5P_DEFAULT); /* else 3,600 groups would be stored */
    H5Ldelete(f, "copy", H5P_DEFAULT);
    H5Fclose(f);
    H5Fdelete(new_name(o, "deep.h5"), fapl);
    H5Pclose(fapl);
}

/* HDF5's reason for not making a dataset reaches the program. */
static void refused(const struct out *o)
{
    const struct out plain = {.ours = false};
    hid_t fapl = new_fapl(o), f = H5Fcreate(new_name(o, "refused.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl), to;
    char name[8400];
    put_six(f, "n", 1);
    (void)snprintf(name, sizeof name, "native:%s", new_name(&plain, "refusing.h5"));
    H5Fclose(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
    to = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    CHECK(H5Ocopy(f, "n", to, "copy", H5P_DEFAULT, H5P_DEFAULT) < 0, "copied into a file that is open for reading");
    const char *text = error_text();
    CHECK(strstr(text, "copying copy: making a dataset: HDF5 reports: no write intent"), "%s", text);
    H5Fclose(to);
    H5Fclose(f);
    H5Fdelete(name, fapl);
    H5Fdelete(new_name(o, "refused.h5"), fapl);
    H5Pclose(fapl);
}

static hid_t no_traversal(const char *name, hid_t group, const void *value, size_t n, hid_t lapl, hid_t dxpl)
{
    (void)name, (void)group, (void)value, (void)n, (void)lapl, (void)dxpl;
    return H5I_INVALID_HID;
}

static ssize_t value_of(const char *name, const void *value, size_t n, void *out, size_t size)
{
    (void)name;
    if (out)
        memcpy(out, value, n < size ? n : size);
    return (ssize_t)n;
}

/* A program that copies links need not know their class. */
static void unknown_links(hid_t f, struct out *o)
{
    const H5L_class_t cls = {.version = H5L_LINK_CLASS_T_VERS, .id = (H5L_type_t)99, .comment = "test",
                             .trav_func = no_traversal, .query_func = value_of};
    H5L_info2_t       info = {.type = H5L_TYPE_ERROR};
    H5Lregister(&cls);
    H5Gclose(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "a link", H5Lcreate_ud(f, "g/user", cls.id, "value", 6, H5P_DEFAULT, H5P_DEFAULT));
    H5Lunregister(cls.id);
    say_result(o, "copying", H5Ocopy(f, "g", f, "copy", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "looking at the copy", H5Lget_info2(f, "copy/user", &info, H5P_DEFAULT));
    say(o, "its class: %d, registered: %d", (int)info.type, (int)H5Lis_registered(cls.id));
    H5Lregister(&cls); /* HDF5 doesn't read their values without it */
}

/* Elements of 17 MiB, more than is copied at a time.  One of the two was never written. */
static void large_elements(hid_t f, struct out *o)
{
    const hsize_t bytes = (hsize_t)17 << 20, n = 2, one = 1, at = 1;
    hid_t t = H5Tarray_create2(H5T_STD_U8LE, 1, &bytes), s = H5Screate_simple(1, &n, NULL), m = H5Screate(H5S_SCALAR);
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    unsigned char *v = calloc(1, bytes);
    H5Pset_chunk(dcpl, 1, &one);
    hid_t d = H5Dcreate2(f, "large", t, s, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    for (hsize_t i = 0; i < bytes; i++)
        v[i] = (unsigned char)(i * 7 + (i >> 16));
    H5Sselect_hyperslab(s, H5S_SELECT_SET, &at, NULL, &one, NULL);
    say_result(o, "writing one", H5Dwrite(d, t, m, s, H5P_DEFAULT, v));
    say_result(o, "copying", H5Ocopy(f, "large", f, "copy", H5P_DEFAULT, H5P_DEFAULT));
    free(v);
    H5Dclose(d);
    H5Pclose(dcpl);
    H5Sclose(m);
    H5Sclose(s);
    H5Tclose(t);
}

/* A copied dataset brings its committed type along, to which no link leads.  The type goes with its last user, also before
 * anything was flushed. */
static void last_user(const struct out *o)
{
    static const char *const ways[] = {"not flushed", "flushed"};
    char command[9000];
    for (size_t i = 0; i < COUNT(ways); i++) {
        char  name[9000];
        hid_t fapl = new_fapl(o), s = H5Screate(H5S_SCALAR), from, to, t = H5Tcopy(H5T_STD_I16LE);
        snprintf(name, sizeof name, "%s", new_name(o, "to.h5"));
        from = H5Fcreate(new_name(o, "from.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
        to   = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
        H5Tcommit2(from, "type", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Dclose(H5Dcreate2(from, "typed", t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        CHECK(H5Ocopy(from, "typed", to, "a", H5P_DEFAULT, H5P_DEFAULT) >= 0 && H5Ocopy(from, "typed", to, "b", H5P_DEFAULT, H5P_DEFAULT) >= 0,
              "copying: %s", error_text());
        if (i == 1)
            H5Fflush(to, H5F_SCOPE_GLOBAL);
        CHECK(H5Ldelete(to, "a", H5P_DEFAULT) >= 0, "deleting: %s", error_text());
        H5Fclose(to);
        H5Fclose(from);
        snprintf(command, sizeof command, "test $(find '%s' -name .datatype.json -o -name '*-t-*' | wc -l) = 2", new_name(o, ""));
        CHECK(strstr(name, "://") || system(command) == 0, "%s: not one type for each file", ways[i]);
        to = H5Fopen(name, H5F_ACC_RDONLY, fapl);
        hid_t b = H5Dopen2(to, "b", H5P_DEFAULT), of = H5Dget_type(b);
        CHECK(H5Tcommitted(of) > 0, "the other copy has lost its type: %s", error_text());
        H5Tclose(of);
        H5Dclose(b);
        H5Fclose(to);
        H5Tclose(t);
        H5Sclose(s);
        H5Fdelete(name, fapl);
        H5Fdelete(new_name(o, "from.h5"), fapl);
        H5Pclose(fapl);
    }
}

static const struct write_case cases[] = {
    {"numbers in the order of creation", numbers, numbers_stored},
    {"groups on the way", on_the_way, NULL},
    {"references to members", of_members, NULL},
    {"references to one object, copied by several calls", pointed_again, NULL},
    {"soft links to where the copy comes", leading_there, NULL},
    {"links of a class that isn't registered", unknown_links, NULL},
    {"elements that are larger than what is copied at a time", large_elements, NULL},
};

int main(void)
{
    struct out o = {.ours = true};
    compare_write_extra(deep, &o);
    compare_write_extra(refused, &o);
    compare_write_extra(last_user, &o);
    return compare_write_main(cases, COUNT(cases));
}
