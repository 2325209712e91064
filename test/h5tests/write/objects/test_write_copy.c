/* H5Ocopy with each of its flags, between files and within one; for groups and their members see
 * test_write_copy_members.c. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/put_six.h"

static hid_t scalar(hid_t at, const char *name, hid_t type)
{
    hid_t s = H5Screate(H5S_SCALAR), d = H5Dcreate2(at, name, type, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sclose(s);
    return d;
}

static void attribute(hid_t at, const char *name, hid_t type, int v)
{
    hid_t s = H5Screate(H5S_SCALAR), a = H5Acreate2(at, name, type, s, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, H5T_NATIVE_INT, &v);
    H5Aclose(a);
    H5Sclose(s);
}

/* ---- references of each kind, to copied objects and to others ---- */

static void old_references(hid_t f, hid_t g)
{
    hsize_t         n = 4, at = 1, two = 2;
    hid_t           s = H5Screate_simple(1, &n, NULL), six = H5Dopen2(f, "outside", H5P_DEFAULT), region = H5Dget_space(six);
    hobj_ref_t      refs[4] = {0};
    hdset_reg_ref_t regions[4];
    memset(regions, 0, sizeof regions);
    H5Rcreate(&refs[0], f, "outside", H5R_OBJECT, -1);
    H5Rcreate(&refs[1], f, "g/inside", H5R_OBJECT, -1);
    H5Rcreate(&refs[3], f, "group", H5R_OBJECT, -1);
    H5Sselect_hyperslab(region, H5S_SELECT_SET, &at, NULL, &two, NULL);
    H5Rcreate(&regions[1], f, "outside", H5R_DATASET_REGION, region);
    H5Rcreate(&regions[2], f, "g/inside", H5R_DATASET_REGION, region);
    hid_t d = H5Dcreate2(g, "objects", H5T_STD_REF_OBJ, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t e = H5Dcreate2(g, "regions", H5T_STD_REF_DSETREG, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t a = H5Acreate2(d, "objects", H5T_STD_REF_OBJ, s, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(d, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, refs);
    H5Dwrite(e, H5T_STD_REF_DSETREG, H5S_ALL, H5S_ALL, H5P_DEFAULT, regions);
    H5Awrite(a, H5T_STD_REF_OBJ, refs);
    H5Aclose(a);
    H5Dclose(d);
    H5Dclose(e);
    H5Dclose(six);
    H5Sclose(region);
    H5Sclose(s);
}

static void new_references(hid_t f, hid_t g)
{
    hsize_t   n = 5, at = 2, two = 3;
    hid_t     s = H5Screate_simple(1, &n, NULL), six = H5Dopen2(f, "outside", H5P_DEFAULT), region = H5Dget_space(six);
    char      name[5001] = "";
    H5R_ref_t refs[5];
    memset(name, 'n', sizeof name - 1);
    memset(refs, 0, sizeof refs);
    hid_t group = H5Gopen2(f, "group", H5P_DEFAULT);
    attribute(group, name, H5T_STD_I32LE, 3);
    H5Gclose(group);
    H5Sselect_hyperslab(region, H5S_SELECT_SET, &at, NULL, &two, NULL);
    H5Rcreate_object(f, "outside", H5P_DEFAULT, &refs[0]);
    H5Rcreate_region(f, "outside", region, H5P_DEFAULT, &refs[1]);
    H5Rcreate_attr(f, "group", name, H5P_DEFAULT, &refs[3]);
    H5Rcreate_object(f, "g/inside", H5P_DEFAULT, &refs[4]);
    hid_t d = H5Dcreate2(g, "new", H5T_STD_REF, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, refs);
    for (int i = 0; i < 5; i++)
        H5Rdestroy(&refs[i]);
    H5Dclose(d);
    H5Dclose(six);
    H5Sclose(region);
    H5Sclose(s);
}

/* A file with all that a flag is about. */
static hid_t make_source(struct out *o, bool new_kind)
{
    hid_t fapl = new_fapl(o), other = H5Fcreate(new_name(o, "other.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    put_six(other, "there", 70);
    H5Fclose(other);
    hid_t f = H5Fcreate(new_name(o, "src.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl), t = H5Tcopy(H5T_STD_I16BE);
    H5Pclose(fapl);
    put_six(f, "outside", 10);
    hid_t group = H5Gcreate2(f, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    attribute(group, "a", H5T_STD_I32LE, 1);
    H5Oset_comment(group, "group");
    put_six(group, "member", 20);
    put_six(g, "inside", 30);
    attribute(g, "of g", H5T_STD_I32LE, 2);
    hid_t deep = H5Gcreate2(g, "deep", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_six(deep, "deeper", 40);
    attribute(deep, "of deep", H5T_STD_I32LE, 3);
    H5Lcreate_soft("/outside", g, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/nowhere", g, "dangling", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/there", g, "external", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(g, "deep", g, "twice", H5P_DEFAULT, H5P_DEFAULT);
    H5Tcommit2(g, "type", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    attribute(t, "of type", H5T_STD_I32LE, 4);
    hid_t typed = scalar(g, "typed", t);
    attribute(typed, "of the type", t, 5);
    if (new_kind)
        new_references(f, g);
    else
        old_references(f, g);
    H5Dclose(typed);
    H5Gclose(deep);
    H5Gclose(group);
    H5Gclose(g);
    H5Tclose(t);
    return f;
}

/* ---- the targets of references ---- */

static void say_target(hid_t obj, struct out *o)
{
    char comment[64] = "";
    if (obj < 0) {
        say(o, "leads nowhere");
        H5Eclear2(H5E_DEFAULT);
        return;
    }
    H5Oget_comment(obj, comment, sizeof comment);
    say(o, "leads to kind %d '%s'", (int)H5Iget_type(obj), comment);
    H5Oclose(obj);
}

static bool is_null(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((const char *)p)[i])
            return false;
    return true;
}

static void say_attribute(const H5R_ref_t *ref, struct out *o)
{
    hid_t a = H5Ropen_attr((H5R_ref_t *)(uintptr_t)ref, H5P_DEFAULT, H5P_DEFAULT);
    say(o, "an attribute with a name of %d bytes, opens %d", (int)H5Rget_attr_name(ref, NULL, 0), a >= 0);
    if (a >= 0)
        H5Aclose(a);
    else
        H5Eclear2(H5E_DEFAULT);
}

static void follow(hid_t f, const char *name, struct out *o)
{
    hid_t d = H5Dopen2(f, name, H5P_DEFAULT);
    if (d < 0) {
        H5Eclear2(H5E_DEFAULT);
        return;
    }
    hid_t           t = H5Dget_type(d), s = H5Dget_space(d);
    size_t          n = (size_t)H5Sget_simple_extent_npoints(s), size = H5Tget_size(t);
    bool            object = H5Tequal(t, H5T_STD_REF_OBJ) > 0, region = H5Tequal(t, H5T_STD_REF_DSETREG) > 0;
    char           *all = calloc(n, size);
    H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, all);
    for (size_t i = 0; i < n; i++) {
        void *one = all + i * size;
        say(o, "%s %zu null %d", name, i, is_null(one, size));
        if (is_null(one, size))
            continue;
        hid_t sel = H5I_INVALID_HID;
        if (object) {
            say_target(H5Rdereference2(d, H5P_DEFAULT, H5R_OBJECT, one), o);
        } else if (region) {
            say_target(H5Rdereference2(d, H5P_DEFAULT, H5R_DATASET_REGION, one), o);
            sel = H5Rget_region(d, H5R_DATASET_REGION, one);
        } else {
            say(o, "of type %d", (int)H5Rget_type(one));
            say_target(H5Ropen_object(one, H5P_DEFAULT, H5P_DEFAULT), o);
            if (H5Rget_type(one) == H5R_ATTR)
                say_attribute(one, o);
            if (H5Rget_type(one) == H5R_DATASET_REGION2)
                sel = H5Ropen_region(one, H5P_DEFAULT, H5P_DEFAULT);
            H5Rdestroy(one);
        }
        if (sel >= 0) {
            hsize_t lo = 99, hi = 99;
            H5Sget_select_bounds(sel, &lo, &hi);
            say(o, "elements %d to %d", (int)lo, (int)hi);
            H5Sclose(sel);
        }
    }
    free(all);
    H5Sclose(s);
    H5Tclose(t);
    H5Dclose(d);
}

/* Objects that were copied for a reference's sake have a number in their name: give them another, to compare. */
static herr_t find_pointed(hid_t g, const char *name, const H5L_info2_t *info, void *to)
{
    (void)g, (void)info;
    if (strncmp(name, "~obj_pointed_by_", 16) != 0)
        return 0;
    snprintf(to, 100, "%s", name);
    return 1;
}

struct names {
    H5O_token_t token;
    unsigned    n;
};

static herr_t count_name(hid_t g, const char *name, const H5L_info2_t *info, void *arg)
{
    struct names *x   = arg;
    int           cmp = 1;
    (void)name;
    if (info->type == H5L_TYPE_HARD && H5Otoken_cmp(g, &info->u.token, &x->token, &cmp) >= 0 && cmp == 0)
        x->n++;
    return 0;
}

static unsigned names_of(hid_t f, const H5O_token_t *token)
{
    struct names x = {.token = *token};
    H5Lvisit2(f, H5_INDEX_NAME, H5_ITER_INC, count_name, &x);
    return x.n;
}

static bool has_another_name(hid_t f, const char *name)
{
    H5O_info2_t info;
    return H5Oget_info_by_name3(f, name, &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 && names_of(f, &info.token) > 1;
}

/* HDF5 counts each reference that it made lead to a copy as a link to that. */
static herr_t count_right(hid_t f, const char *name, const H5O_info2_t *info, void *arg)
{
    (void)arg;
    unsigned want = names_of(f, &info->token) + (strcmp(name, ".") == 0);
    hid_t    obj  = H5Oopen(f, name, H5P_DEFAULT);
    for (unsigned n = info->rc; n > want && info->type != H5O_TYPE_NAMED_DATATYPE; n--)
        H5Odecr_refcount(obj);
    H5Oclose(obj);
    return 0;
}

static void rename_pointed(hid_t f, struct out *o)
{
    char name[100], comment[64], new[80];
    while (H5Literate2(f, H5_INDEX_NAME, H5_ITER_INC, NULL, find_pointed, name) > 0) {
        H5Oget_comment_by_name(f, name, comment, sizeof comment, H5P_DEFAULT);
        if (has_another_name(f, name)) { /* which is made first, this link or its own, HDF5 decides by how it stores groups */
            H5Ldelete(f, name, H5P_DEFAULT);
            continue;
        }
        snprintf(new, sizeof new, "pointed-%s", comment);
        CHECK(H5Lmove(f, name, f, new, H5P_DEFAULT, H5P_DEFAULT) >= 0, "renaming %s: %s", name, error_text());
    }
    if (!o->ours)
        H5Ovisit3(f, H5_INDEX_NAME, H5_ITER_INC, count_right, NULL, H5O_INFO_BASIC);
}

static const char *const reference_sets[] = {"copy/objects", "copy/regions", "copy/new", "objects", "regions", "new"};

static void copy_from_source(hid_t f, struct out *o, const char *what, const char *as, unsigned flags, bool new_kind)
{
    hid_t src = make_source(o, new_kind), list = H5Pcreate(H5P_OBJECT_COPY), fapl = new_fapl(o);
    H5Pset_copy_object(list, flags);
    say_result(o, "H5Ocopy", H5Ocopy(src, what, f, as, list, H5P_DEFAULT));
    H5Fclose(src);
    rename_pointed(f, o);
    H5Fdelete(new_name(o, "src.h5"), fapl);
    H5Fdelete(new_name(o, "other.h5"), fapl);
    H5Pclose(fapl);
    H5Pclose(list);
}

static void copy_with(hid_t f, struct out *o, unsigned flags, bool new_kind) { copy_from_source(f, o, "g", "copy", flags, new_kind); }

static void say_references(hid_t f, struct out *o)
{
    for (size_t i = 0; i < COUNT(reference_sets); i++)
        follow(f, reference_sets[i], o);
}

static void plain(hid_t f, struct out *o) { copy_with(f, o, 0, false); }
static void shallow(hid_t f, struct out *o) { copy_with(f, o, H5O_COPY_SHALLOW_HIERARCHY_FLAG, false); }
static void soft(hid_t f, struct out *o) { copy_with(f, o, H5O_COPY_EXPAND_SOFT_LINK_FLAG, false); }
static void external(hid_t f, struct out *o) { copy_with(f, o, H5O_COPY_EXPAND_EXT_LINK_FLAG, false); }
static void without(hid_t f, struct out *o) { copy_with(f, o, H5O_COPY_WITHOUT_ATTR_FLAG, false); }
static void nulls(hid_t f, struct out *o) { copy_with(f, o, H5O_COPY_PRESERVE_NULL_FLAG, false); }
static void references(hid_t f, struct out *o) { copy_with(f, o, H5O_COPY_EXPAND_REFERENCE_FLAG, false); }
static void new_kind(hid_t f, struct out *o) { copy_with(f, o, H5O_COPY_EXPAND_REFERENCE_FLAG, true); }
static void shallow_references(hid_t f, struct out *o)
{
    copy_with(f, o, H5O_COPY_EXPAND_REFERENCE_FLAG | H5O_COPY_SHALLOW_HIERARCHY_FLAG, false);
}
static void all_flags(hid_t f, struct out *o)
{
    copy_with(f, o, H5O_COPY_EXPAND_SOFT_LINK_FLAG | H5O_COPY_EXPAND_EXT_LINK_FLAG | H5O_COPY_EXPAND_REFERENCE_FLAG, false);
}

/* Only the dataset of references itself. */
static void one_dataset(hid_t f, struct out *o)
{
    copy_from_source(f, o, "g/objects", "objects", H5O_COPY_EXPAND_REFERENCE_FLAG, false);
}

/* ---- committed types that are there already ---- */

static H5O_mcdt_search_ret_t stop(void *n) { return ++*(int *)n, H5O_MCDT_SEARCH_STOP; }
static H5O_mcdt_search_ret_t go_on(void *n) { return ++*(int *)n, H5O_MCDT_SEARCH_CONT; }

static void commit(hid_t f, const char *name, hid_t like, int v)
{
    hid_t t = H5Tcopy(like);
    H5Tcommit2(f, name, t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    attribute(t, "which", H5T_STD_I32LE, v);
    H5Tclose(t);
}

static void say_which(hid_t f, const char *name, struct out *o)
{
    int   v = -1;
    hid_t obj = H5Oopen(f, name, H5P_DEFAULT), t = H5Iget_type(obj) == H5I_DATASET ? H5Dget_type(obj) : H5Iinc_ref(obj) > 0 ? obj : -1;
    hid_t a = H5Tcommitted(t) > 0 && H5Aexists(t, "which") > 0 ? H5Aopen(t, "which", H5P_DEFAULT) : -1;
    if (a >= 0) {
        H5Aread(a, H5T_NATIVE_INT, &v);
        H5Aclose(a);
    }
    say(o, "%s is of type %d, committed %d", name, v, H5Tcommitted(t) > 0);
    H5Tclose(t);
    H5Oclose(obj);
}

static void merging(hid_t f, struct out *o)
{
    hid_t src = make_source(o, false), fapl = new_fapl(o), sub, d;
    H5Adelete_by_name(src, "g/typed", "of the type", H5P_DEFAULT); /* HDF5 forgets to count it as a use of a merged type */
    commit(f, "first", H5T_STD_I16BE, 1);
    commit(f, "second", H5T_STD_I16BE, 2);
    commit(f, "other", H5T_STD_I16LE, 3);
    sub = H5Gcreate2(f, "sub", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t second = H5Topen2(f, "second", H5P_DEFAULT);
    H5Dclose(d = scalar(sub, "by", second));
    H5Tclose(second);
    static const struct {
        const char *name, *suggest;
        H5O_mcdt_search_ret_t (*ask)(void *);
        unsigned flags;
    } ways[] = {{"not", NULL, NULL, 0},
                {"merged", NULL, NULL, H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG},
                {"suggested", "/second", NULL, H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG},
                {"by a dataset", "/sub/by", NULL, H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG},
                {"unlike", "/other", NULL, H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG},
                {"nothing there", "/nothing", stop, H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG},
                {"stopped", NULL, stop, H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG},
                {"suggested and stopped", "/second", stop, H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG},
                {"asked", "/other", go_on, H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG}};
    for (size_t i = 0; i < COUNT(ways); i++) {
        char  name[64];
        int   asked = 0;
        hid_t list = H5Pcreate(H5P_OBJECT_COPY);
        H5Pset_copy_object(list, ways[i].flags);
        if (ways[i].suggest)
            H5Padd_merge_committed_dtype_path(list, ways[i].suggest);
        if (ways[i].ask)
            H5Pset_mcdt_search_cb(list, ways[i].ask, &asked);
        snprintf(name, sizeof name, "%s, dataset", ways[i].name);
        say_result(o, name, H5Ocopy(src, "g/typed", f, name, list, H5P_DEFAULT));
        say_which(f, name, o);
        snprintf(name, sizeof name, "%s, type", ways[i].name);
        say_result(o, name, H5Ocopy(src, "g/type", f, name, list, H5P_DEFAULT));
        say_which(f, name, o);
        say(o, "asked %d", asked > 0);
        H5Pclose(list);
    }
    H5Fclose(src);
    H5Gclose(sub);
    H5Fdelete(new_name(o, "src.h5"), fapl);
    H5Fdelete(new_name(o, "other.h5"), fapl);
    H5Pclose(fapl);
}

/* ---- within a file ---- */

static void within(hid_t f, struct out *o)
{
    /* and not H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG: HDF5 forgets to count the copy as a use of the type */
    static const unsigned flags[] = {0, H5O_COPY_EXPAND_REFERENCE_FLAG, H5O_COPY_EXPAND_SOFT_LINK_FLAG, H5O_COPY_SHALLOW_HIERARCHY_FLAG};
    hid_t t = H5Tcopy(H5T_STD_I16BE), g = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), typed;
    put_six(f, "outside", 10);
    hid_t group = H5Gcreate2(f, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    put_six(g, "inside", 30);
    H5Lcreate_soft("/outside", g, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Tcommit2(g, "type", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(typed = scalar(g, "typed", t));
    old_references(f, g);
    for (size_t i = 0; i < COUNT(flags); i++) {
        char  name[32];
        hid_t list = H5Pcreate(H5P_OBJECT_COPY);
        snprintf(name, sizeof name, "copy%zu", i);
        H5Pset_copy_object(list, flags[i]);
        say_result(o, name, H5Ocopy(f, "g", f, name, list, H5P_DEFAULT));
        snprintf(name, sizeof name, "copy%zu/objects", i);
        follow(f, name, o);
        snprintf(name, sizeof name, "type%zu", i);
        say_result(o, name, H5Ocopy(f, "g/type", f, name, list, H5P_DEFAULT));
        H5Pclose(list);
    }
    H5Gclose(group);
    H5Gclose(g);
    H5Tclose(t);
    rename_pointed(f, o);
    /* references have other numbers in each file */
    for (size_t i = 0; i < COUNT(flags); i++) {
        char name[32];
        static const char *const sets[] = {"objects", "regions"};
        for (size_t k = 0; k < COUNT(sets); k++) {
            snprintf(name, sizeof name, "copy%zu/%s", i, sets[k]);
            if (H5Lexists(f, name, H5P_DEFAULT) > 0)
                H5Ldelete(f, name, H5P_DEFAULT);
        }
    }
    H5Ldelete(f, "g/objects", H5P_DEFAULT);
    H5Ldelete(f, "g/regions", H5P_DEFAULT);
}

static const struct write_case cases[] = {
    {"copied", plain, say_references},
    {"copied, one level", shallow, NULL},
    {"copied, soft links expanded", soft, NULL},
    {"copied, external links expanded", external, NULL},
    {"copied without attributes", without, NULL},
    {"copied, keeping null messages", nulls, NULL},
    {"copied, references expanded", references, say_references},
    {"copied, new references expanded", new_kind, say_references},
    {"copied, references expanded, one level", shallow_references, say_references},
    {"copied, all expanded", all_flags, say_references},
    {"a dataset of references", one_dataset, say_references},
    {"committed types are merged", merging, NULL},
    {"within a file", within, NULL},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
