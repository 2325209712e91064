/* References of every kind: written, stored, read back and followed. */
#include "h5tests/helpers/compare_write.h"

#include <hdf5_hl.h>
#include <stddef.h>

#define N 4

/* /g, /d (6 x 8), /t, attribute "a" of /d */
static void targets(hid_t f)
{
    int   v[48];
    hid_t s = H5Screate_simple(2, (hsize_t[]){6, 8}, NULL), one = H5Screate(H5S_SCALAR), t = H5Tcopy(H5T_STD_I16BE);
    H5Gclose(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t d = H5Dcreate2(f, "d", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < 48; i++)
        v[i] = i;
    H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v);
    H5Aclose(H5Acreate2(d, "a", H5T_STD_I8LE, one, H5P_DEFAULT, H5P_DEFAULT));
    H5Dclose(d);
    H5Tcommit2(f, "t", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Tclose(t);
    H5Sclose(s);
    H5Sclose(one);
}

/* The i-th of four regions of /d */
static hid_t region(int i)
{
    hid_t   s = H5Screate_simple(2, (hsize_t[]){6, 8}, NULL);
    hsize_t points[6] = {0, 0, 3, 5, 5, 7};
    if (i == 0)
        H5Sselect_hyperslab(s, H5S_SELECT_SET, (hsize_t[]){1, 2}, NULL, (hsize_t[]){3, 4}, NULL);
    else if (i == 1)
        H5Sselect_elements(s, H5S_SELECT_SET, 3, points);
    else if (i == 2)
        H5Sselect_hyperslab(s, H5S_SELECT_SET, (hsize_t[]){0, 0}, (hsize_t[]){3, 4}, (hsize_t[]){2, 2}, (hsize_t[]){2, 2});
    return s; /* 3: all of it */
}

static void say_selection(struct out *o, hid_t s)
{
    hsize_t lo[2] = {0}, hi[2] = {0}, dims[2] = {0};
    H5Sget_simple_extent_dims(s, dims, NULL);
    H5Sget_select_bounds(s, lo, hi);
    H5S_sel_type type = H5Sget_select_type(s);
    say(o, "type %d blocks %lld", type, type == H5S_SEL_HYPERSLABS ? (long long)H5Sget_select_hyper_nblocks(s) : 0);
    say(o, "%lld points of %dx%d, from %d %d to %d %d", (long long)H5Sget_select_npoints(s), (int)dims[0], (int)dims[1], (int)lo[0],
        (int)lo[1], (int)hi[0], (int)hi[1]);
}

static void say_object_of(struct out *o, hid_t obj)
{
    char name[64] = "";
    H5Iget_name(obj, name, sizeof name);
    say(o, "kind %d name %s", H5Iget_type(obj), name);
    if (obj >= 0)
        H5Oclose(obj);
}

static const char *const names[N] = {"g", "d", "t", "/"};

/* ---- the old kinds ---- */

static void follow_old_object(hid_t at, struct out *o, const hobj_ref_t *r)
{
    H5O_type_t type    = H5O_TYPE_UNKNOWN;
    char       name[64] = "";
    herr_t     rc      = H5Rget_obj_type2(at, H5R_OBJECT, r, &type);
    say(o, "type %d %d", rc, type);
    rc = H5Rget_name(at, H5R_OBJECT, r, name, sizeof name) > 0;
    say(o, "name %d %s", rc, name);
    say_object_of(o, H5Rdereference2(at, H5P_DEFAULT, H5R_OBJECT, r));
}

static void follow_old_region(hid_t at, struct out *o, const hdset_reg_ref_t *r)
{
    H5O_type_t type = H5O_TYPE_UNKNOWN;
    hid_t      s    = H5Rget_region(at, H5R_DATASET_REGION, r);
    herr_t     rc   = H5Rget_obj_type2(at, H5R_DATASET_REGION, r, &type);
    say(o, "region %d, type %d %d", s >= 0, rc, type);
    if (s >= 0) {
        say_selection(o, s);
        H5Sclose(s);
    }
    say_object_of(o, H5Rdereference2(at, H5P_DEFAULT, H5R_DATASET_REGION, r));
}

struct both {
    int             n;
    hobj_ref_t      o;
    hdset_reg_ref_t r;
};

static hid_t both_type(void)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, sizeof(struct both));
    H5Tinsert(t, "n", offsetof(struct both, n), H5T_NATIVE_INT);
    H5Tinsert(t, "o", offsetof(struct both, o), H5T_STD_REF_OBJ);
    H5Tinsert(t, "r", offsetof(struct both, r), H5T_STD_REF_DSETREG);
    return t;
}

static void make_old(hid_t f, hobj_ref_t *objects, hdset_reg_ref_t *regions, struct out *o)
{
    for (int i = 0; i < N; i++) {
        hid_t s = region(i);
        say(o, "object %d", H5Rcreate(&objects[i], f, names[i], H5R_OBJECT, H5I_INVALID_HID));
        say(o, "region %d", H5Rcreate(&regions[i], f, "d", H5R_DATASET_REGION, s));
        follow_old_object(f, o, &objects[i]);
        follow_old_region(f, o, &regions[i]);
        H5Sclose(s);
    }
}

static void old_kinds(hid_t f, struct out *o)
{
    hobj_ref_t      objects[N];
    hdset_reg_ref_t regions[N];
    struct both     both[N];
    hid_t           s = H5Screate_simple(1, (hsize_t[]){N + 1}, NULL), m = H5Screate_simple(1, (hsize_t[]){N}, NULL), t = both_type();
    hid_t           v = H5Tvlen_create(H5T_STD_REF_OBJ), one = H5Screate(H5S_SCALAR);
    hvl_t           list = {N, objects};
    targets(f);
    make_old(f, objects, regions, o);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, (hsize_t[]){1}, NULL, (hsize_t[]){N}, NULL); /* the first stays null */
    hid_t d = H5Dcreate2(f, "objects", H5T_STD_REF_OBJ, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say(o, "written %d", H5Dwrite(d, H5T_STD_REF_OBJ, m, s, H5P_DEFAULT, objects));
    H5Dclose(d);
    d = H5Dcreate2(f, "regions", H5T_STD_REF_DSETREG, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say(o, "written %d", H5Dwrite(d, H5T_STD_REF_DSETREG, m, s, H5P_DEFAULT, regions));
    H5Dclose(d);
    memset(both, 0, sizeof both);
    for (int i = 0; i < N; i++) {
        both[i].n = i;
        both[i].o = objects[i];
        memcpy(&both[i].r, &regions[i], sizeof regions[i]);
    }
    hid_t a = H5Acreate2(f, "both", t, m, H5P_DEFAULT, H5P_DEFAULT);
    say(o, "written %d", H5Awrite(a, t, both));
    H5Aclose(a);
    a = H5Acreate2(f, "list", v, one, H5P_DEFAULT, H5P_DEFAULT);
    say(o, "written %d", H5Awrite(a, v, &list));
    H5Aclose(a);
    H5Sclose(s);
    H5Sclose(m);
    H5Sclose(one);
    H5Tclose(t);
    H5Tclose(v);
}

static void old_kinds_stored(hid_t f, struct out *o)
{
    hobj_ref_t      objects[N + 1];
    hdset_reg_ref_t regions[N + 1];
    struct both     both[N];
    hid_t           d = H5Dopen2(f, "objects", H5P_DEFAULT), t = both_type(), v = H5Tvlen_create(H5T_STD_REF_OBJ);
    hvl_t           list = {0, NULL};
    say(o, "read %d", H5Dread(d, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, objects));
    say_bytes(o, "null", &objects[0], sizeof objects[0]);
    for (int i = 1; i <= N; i++)
        follow_old_object(d, o, &objects[i]);
    H5Dclose(d);
    d = H5Dopen2(f, "regions", H5P_DEFAULT);
    say(o, "read %d", H5Dread(d, H5T_STD_REF_DSETREG, H5S_ALL, H5S_ALL, H5P_DEFAULT, regions));
    say_bytes(o, "null", &regions[0], sizeof regions[0]);
    for (int i = 1; i <= N; i++)
        follow_old_region(d, o, &regions[i]);
    H5Dclose(d);
    hid_t a = H5Aopen(f, "both", H5P_DEFAULT);
    say(o, "read %d", H5Aread(a, t, both));
    for (int i = 0; i < N; i++) {
        follow_old_object(a, o, &both[i].o);
        follow_old_region(a, o, &both[i].r);
    }
    H5Aclose(a);
    a = H5Aopen(f, "list", H5P_DEFAULT);
    say(o, "read %d %zu", H5Aread(a, v, &list), list.len);
    for (size_t i = 0; i < list.len; i++)
        follow_old_object(a, o, (hobj_ref_t *)list.p + i);
    free(list.p);
    H5Aclose(a);
    H5Tclose(t);
    H5Tclose(v);
}

/* ---- the new kind ---- */

static void follow(struct out *o, H5R_ref_t *r)
{
    char name[64] = "";
    H5R_type_t kind = H5Rget_type(r);
    say(o, "kind %d", kind);
    say_object_of(o, H5Ropen_object(r, H5P_DEFAULT, H5P_DEFAULT));
    if (kind == H5R_DATASET_REGION2) {
        hid_t s = H5Ropen_region(r, H5P_DEFAULT, H5P_DEFAULT);
        say_selection(o, s);
        H5Sclose(s);
    }
    if (kind == H5R_ATTR) {
        hid_t a = H5Ropen_attr(r, H5P_DEFAULT, H5P_DEFAULT);
        say(o, "attribute %d", H5Iget_type(a));
        H5Rget_attr_name(r, name, sizeof name);
        say(o, "named %s", name);
        H5Aclose(a);
    }
}

#define MANY (2 * N + 1)

static void make_new(hid_t f, H5R_ref_t *r)
{
    for (int i = 0; i < N; i++) {
        hid_t s = region(i);
        H5Rcreate_object(f, names[i], H5P_DEFAULT, &r[i]);
        H5Rcreate_region(f, "d", s, H5P_DEFAULT, &r[N + i]);
        H5Sclose(s);
    }
    H5Rcreate_attr(f, "d", "a", H5P_DEFAULT, &r[2 * N]);
}

/* In a dataset, an attribute and a list; and destroyed. */
static void write_many(hid_t f, struct out *o, H5R_ref_t r[MANY])
{
    hid_t s = H5Screate_simple(1, (hsize_t[]){MANY}, NULL), v = H5Tvlen_create(H5T_STD_REF), one = H5Screate(H5S_SCALAR);
    hvl_t list = {MANY, r};
    hid_t d    = H5Dcreate2(f, "all", H5T_STD_REF, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say(o, "written %d", H5Dwrite(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, r));
    H5Dclose(d);
    hid_t a = H5Acreate2(f, "all", H5T_STD_REF, s, H5P_DEFAULT, H5P_DEFAULT);
    say(o, "written %d", H5Awrite(a, H5T_STD_REF, r));
    H5Aclose(a);
    a = H5Acreate2(f, "list", v, one, H5P_DEFAULT, H5P_DEFAULT);
    say(o, "written %d", H5Awrite(a, v, &list));
    H5Aclose(a);
    for (int i = 0; i < MANY; i++)
        H5Rdestroy(&r[i]);
    H5Sclose(s);
    H5Sclose(one);
    H5Tclose(v);
}

static void new_kind(hid_t f, struct out *o)
{
    H5R_ref_t r[MANY];
    targets(f);
    make_new(f, r);
    for (int i = 0; i < MANY; i++)
        follow(o, &r[i]);
    write_many(f, o, r);
}

static void new_kind_stored(hid_t f, struct out *o)
{
    H5R_ref_t r[MANY];
    hid_t     d = H5Dopen2(f, "all", H5P_DEFAULT), a = H5Aopen(f, "all", H5P_DEFAULT), v = H5Tvlen_create(H5T_STD_REF);
    hvl_t     list = {0, NULL};
    say(o, "read %d", H5Dread(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, r));
    for (int i = 0; i < MANY; i++) {
        follow(o, &r[i]);
        H5Rdestroy(&r[i]);
    }
    say(o, "read %d", H5Aread(a, H5T_STD_REF, r));
    for (int i = 0; i < MANY; i++) {
        follow(o, &r[i]);
        H5Rdestroy(&r[i]);
    }
    H5Dclose(d);
    H5Aclose(a);
    a = H5Aopen(f, "list", H5P_DEFAULT);
    say(o, "read %d %zu", H5Aread(a, v, &list), list.len);
    for (size_t i = 0; i < list.len; i++) {
        follow(o, (H5R_ref_t *)list.p + i);
        H5Rdestroy((H5R_ref_t *)list.p + i);
    }
    free(list.p);
    H5Aclose(a);
    H5Tclose(v);
}

/* ---- into another file ---- */

static hid_t open_other(const struct out *o, bool create)
{
    hid_t fapl = new_fapl(o), f;
    f = create ? H5Fcreate(new_name(o, "other.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl)
               : H5Fopen(new_name(o, "other.h5"), H5F_ACC_RDONLY, fapl);
    CHECK(f >= 0, "the other file: %s", f >= 0 ? "" : error_text());
    H5Pclose(fapl);
    return f;
}

static void say_file_of(struct out *o, const H5R_ref_t *r)
{
    char name[4096] = "";
    say(o, "file name %d", H5Rget_file_name(r, name, sizeof name) > 0);
    say(o, "%s", strcmp(name, new_name(o, "other.h5")) == 0 ? "the other file's" : name);
}

static void follow_outside(struct out *o, H5R_ref_t *r)
{
    H5O_type_t type     = H5O_TYPE_UNKNOWN;
    char       name[64] = "";
    H5R_ref_t  copy;
    say_file_of(o, r);
    say(o, "object's name %d", H5Rget_obj_name(r, H5P_DEFAULT, name, sizeof name) > 0);
    say(o, "%s", name);
    say(o, "type %d", H5Rget_obj_type3(r, H5P_DEFAULT, &type));
    say(o, "%d", type);
    say(o, "copied %d", H5Rcopy(r, &copy));
    follow(o, &copy);
    H5Rdestroy(&copy);
    say_file_of(o, r); /* the same once the file is open */
}

/* All of the same dataset of the other file. */
static void outside(hid_t f, struct out *o)
{
    H5R_ref_t r[MANY];
    hid_t     other = open_other(o, true);
    targets(other);
    make_new(other, r);
    write_many(f, o, r);
    say_result(o, "closing the other file", H5Fclose(other));
}

static void outside_stored(hid_t f, struct out *o)
{
    H5R_ref_t r[MANY], again[MANY];
    hid_t     d = H5Dopen2(f, "all", H5P_DEFAULT), a = H5Aopen(f, "all", H5P_DEFAULT), v = H5Tvlen_create(H5T_STD_REF), fapl = new_fapl(o);
    hvl_t     list = {0, NULL};
    say(o, "read %d", H5Dread(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, r));
    say(o, "read %d", H5Aread(a, H5T_STD_REF, again));
    say(o, "open files %zd", H5Fget_obj_count(f, H5F_OBJ_FILE)); /* nothing was followed yet */
    for (int i = 0; i < MANY; i++) {
        if (i < N || i == 2 * N) /* HDF5 doesn't find regions equal that it hasn't opened */
            say(o, "equal %d %d", H5Requal(&r[i], &again[i]), H5Requal(&r[i], &again[(i + 1) % MANY]));
        follow_outside(o, &r[i]);
        H5Rdestroy(&r[i]);
        H5Rdestroy(&again[i]);
    }
    H5Dclose(d);
    H5Aclose(a);
    a = H5Aopen(f, "list", H5P_DEFAULT);
    say(o, "read %d %zu", H5Aread(a, v, &list), list.len);
    for (size_t i = 0; i < list.len; i++) {
        follow_outside(o, (H5R_ref_t *)list.p + i);
        H5Rdestroy((H5R_ref_t *)list.p + i);
    }
    free(list.p);
    H5Aclose(a);
    H5Tclose(v);
    /* after that they still return where they led */
    say_result(o, "deleting the other file", H5Fdelete(new_name(o, "other.h5"), fapl));
    H5Pclose(fapl);
    d = H5Dopen2(f, "all", H5P_DEFAULT);
    say(o, "read %d", H5Dread(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, r));
    for (int i = 0; i < MANY; i++) {
        say_file_of(o, &r[i]);
        say_result(o, "following it", H5Ropen_object(&r[i], H5P_DEFAULT, H5P_DEFAULT));
        H5Rdestroy(&r[i]);
    }
    H5Dclose(d);
}

/* A domain's references into a plain file: followed if the domain is a folder of this machine.  A domain in
 * S3 can't make us open a local file [I2].  Moved to another dataset, they stay as they are. */
static void into_plain(const struct out *o)
{
    const struct out twin = {.ours = false};
    H5R_ref_t        r[2], back[2];
    hid_t            plain = open_other(&twin, true), fapl = new_fapl(o), s = H5Screate_simple(1, (hsize_t[]){2}, NULL), sel = region(0);
    const bool       local = !strstr(new_name(o, ""), "://");
    targets(plain);
    hid_t f = H5Fcreate(new_name(o, "plain.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    hid_t d = H5Dcreate2(f, "r", H5T_STD_REF, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Rcreate_object(plain, "g", H5P_DEFAULT, &r[0]) >= 0, "%s", error_text());
    CHECK(H5Rcreate_region(plain, "d", sel, H5P_DEFAULT, &r[1]) >= 0, "%s", error_text());
    CHECK(H5Dwrite(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, r) >= 0, "%s", error_text());
    H5Rdestroy(&r[0]);
    H5Rdestroy(&r[1]);
    CHECK(H5Dclose(d) >= 0 && H5Fclose(f) >= 0 && H5Fclose(plain) >= 0, "%s", error_text());
    f = H5Fopen(new_name(o, "plain.h5"), H5F_ACC_RDWR, fapl);
    d = H5Dopen2(f, "r", H5P_DEFAULT);
    CHECK(H5Dread(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0, "%s", error_text());
    for (int i = 0; i < 2; i++) {
        char  name[4096] = "", path[64] = "";
        H5Rget_file_name(&back[i], name, sizeof name);
        H5Rget_obj_name(&back[i], H5P_DEFAULT, path, sizeof path);
        hid_t obj = H5Ropen_object(&back[i], H5P_DEFAULT, H5P_DEFAULT);
        CHECK(strcmp(name, new_name(&twin, "other.h5")) == 0 && strcmp(path, i ? "/d" : "/g") == 0, "it names %s, %s", name, path);
        CHECK((obj >= 0) == local, "a reference into a file of this machine %s", obj >= 0 ? "is followed" : error_text());
        if (obj >= 0)
            H5Oclose(obj);
    }
    hid_t e = H5Dcreate2(f, "moved", H5T_STD_REF, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t moved = H5Dwrite(e, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, back);
    CHECK((moved >= 0) == local, "moving them: %s", error_text()); /* a region can't be described without its dataset */
    H5Rdestroy(&back[0]);
    H5Rdestroy(&back[1]);
    CHECK(H5Dclose(d) >= 0 && H5Dclose(e) >= 0 && H5Fclose(f) >= 0, "%s", error_text());
    CHECK(H5Fdelete(new_name(o, "plain.h5"), fapl) >= 0 && H5Fdelete(new_name(&twin, "other.h5"), H5P_DEFAULT) >= 0, "%s", error_text());
    H5Pclose(fapl);
    H5Sclose(s);
    H5Sclose(sel);
}

/* Addresses in a plain file may have 4 bytes.  Then so have its old references, wherever they are. */
static void short_addresses(const struct out *o)
{
    const struct out twin = {.ours = false};
    struct out       text[3] = {{.ours = false}, {.ours = false}, {.ours = true}};
    hid_t            fcpl = H5Pcreate(H5P_FILE_CREATE), fapls[] = {fapl_native(), new_fapl(o)};
    H5Pset_sizes(fcpl, 4, 4);
    hid_t f = H5Fcreate(new_name(&twin, "short.h5"), H5F_ACC_TRUNC, fcpl, fapls[0]);
    old_kinds(f, &text[0]);
    CHECK(H5Fclose(f) >= 0, "%s", error_text());
    for (int i = 0; i < 2; i++) {
        f = H5Fopen(new_name(&twin, "short.h5"), H5F_ACC_RDONLY, fapls[i]);
        old_kinds_stored(f, &text[i + 1]);
        CHECK(H5Fclose(f) >= 0, "%s", error_text());
    }
    CHECK(strstr(text[1].text, "points") && strcmp(text[1].text, text[2].text) == 0, "native HDF5:\n%s\nconnector:\n%s",
          text[1].text, text[2].text);
    for (int i = 0; i < 3; i++)
        free(text[i].text);
    H5Fdelete(new_name(&twin, "short.h5"), fapls[0]);
    H5Pclose(fapls[0]);
    H5Pclose(fapls[1]);
    H5Pclose(fcpl);
}

/* ---- features that need references ---- */

static void scales(hid_t f, struct out *o)
{
    hsize_t x = 8, y = 6;
    float   v[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    targets(f);
    say(o, "scales %d %d", H5LTmake_dataset_float(f, "x", 1, &x, v), H5LTmake_dataset_float(f, "y", 1, &y, v));
    hid_t d = H5Dopen2(f, "d", H5P_DEFAULT), sx = H5Dopen2(f, "x", H5P_DEFAULT), sy = H5Dopen2(f, "y", H5P_DEFAULT);
    say(o, "named %d %d", H5DSset_scale(sx, "east"), H5DSset_scale(sy, "north"));
    say(o, "attached %d %d %d", H5DSattach_scale(d, sy, 0), H5DSattach_scale(d, sx, 1), H5DSattach_scale(d, sy, 1));
    say(o, "labelled %d", H5DSset_label(d, 1, "longitude"));
    say(o, "are %d %d %d", H5DSis_attached(d, sy, 0), H5DSis_attached(d, sx, 0), H5DSis_attached(d, sy, 1));
    say(o, "detached %d", H5DSdetach_scale(d, sy, 1));
    H5Dclose(d);
    H5Dclose(sx);
    H5Dclose(sy);
}

static herr_t say_scale(hid_t d, unsigned dim, hid_t scale, void *arg)
{
    struct out *o        = arg;
    char        name[32] = "";
    (void)d;
    H5DSget_scale_name(scale, name, sizeof name);
    say(o, "dimension %u: %s", dim, name);
    return 0;
}

static void scales_stored(hid_t f, struct out *o)
{
    char  label[32] = "";
    hid_t d         = H5Dopen2(f, "d", H5P_DEFAULT), sy = H5Dopen2(f, "y", H5P_DEFAULT);
    for (unsigned i = 0; i < 2; i++) {
        say(o, "%d scales", H5DSget_num_scales(d, i));
        H5DSiterate_scales(d, i, NULL, say_scale, o);
    }
    H5DSget_label(d, 1, label, sizeof label);
    say(o, "%s, is a scale %d, attached %d %d", label, H5DSis_scale(sy), H5DSis_attached(d, sy, 0), H5DSis_attached(d, sy, 1));
    H5Dclose(d);
    H5Dclose(sy);
}

/* The targets of references are deleted: the references stay, lead nowhere, and can be written again. */
static void follow_lost(hid_t f, struct out *o)
{
    hobj_ref_t      objects[2] = {7, 7};
    hdset_reg_ref_t regions[2];
    H5R_ref_t       refs[3];
    H5O_type_t      type = H5O_TYPE_UNKNOWN;
    char            name[32] = "";
    hid_t d = H5Dopen2(f, "objects", H5P_DEFAULT), id;
    say_result(o, "reading", H5Dread(d, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, objects));
    for (int i = 0; i < 2; i++) {
        say(o, "null %d", objects[i] == 0);
        say_result(o, "H5Rdereference", id = H5Rdereference2(d, H5P_DEFAULT, H5R_OBJECT, &objects[i]));
        if (id >= 0)
            H5Oclose(id);
        say_result(o, "H5Rget_obj_type", H5Rget_obj_type2(d, H5R_OBJECT, &objects[i], &type));
        say(o, "name %zd", H5Rget_name(d, H5R_OBJECT, &objects[i], name, sizeof name));
    }
    say_result(o, "writing them again", H5Dwrite(d, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, objects));
    H5Dclose(d);
    d = H5Dopen2(f, "regions", H5P_DEFAULT);
    say_result(o, "reading", H5Dread(d, H5T_STD_REF_DSETREG, H5S_ALL, H5S_ALL, H5P_DEFAULT, regions));
    for (int i = 0; i < 2; i++) {
        say_result(o, "H5Rget_region", id = H5Rget_region(d, H5R_DATASET_REGION, &regions[i]));
        if (id >= 0)
            H5Sclose(id);
        say_result(o, "H5Rdereference", id = H5Rdereference2(d, H5P_DEFAULT, H5R_DATASET_REGION, &regions[i]));
        if (id >= 0)
            H5Oclose(id);
    }
    say_result(o, "writing them again", H5Dwrite(d, H5T_STD_REF_DSETREG, H5S_ALL, H5S_ALL, H5P_DEFAULT, regions));
    H5Dclose(d);
    d = H5Dopen2(f, "new", H5P_DEFAULT);
    say_result(o, "reading", H5Dread(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, refs));
    hid_t s = H5Dget_space(d);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, (hsize_t[]){0}, NULL, (hsize_t[]){2}, NULL);
    say_result(o, "writing them again", H5Dwrite(d, H5T_STD_REF, s, s, H5P_DEFAULT, refs));
    H5Sclose(s);
    for (int i = 0; i < 3; i++) {
        say(o, "kind %d", H5Rget_type(&refs[i]));
        say_result(o, "H5Ropen_object", id = H5Ropen_object(&refs[i], H5P_DEFAULT, H5P_DEFAULT));
        if (id >= 0)
            H5Oclose(id);
        H5Rdestroy(&refs[i]);
    }
    H5Dclose(d);
}

static void lost(hid_t f, struct out *o)
{
    hsize_t         two = 2, three = 3, zero = 0;
    hobj_ref_t      objects[2];
    hdset_reg_ref_t regions[2];
    H5R_ref_t       refs[3];
    hid_t           s = H5Screate_simple(1, &two, NULL), s3 = H5Screate_simple(1, &three, NULL);
    const char     *leads_to[] = {"gone", "kept"};
    for (int i = 0; i < 2; i++) {
        H5Dclose(H5Dcreate2(f, leads_to[i], H5T_STD_I32LE, s3, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        H5Rcreate(&objects[i], f, leads_to[i], H5R_OBJECT, H5I_INVALID_HID);
        H5Sselect_hyperslab(s3, H5S_SELECT_SET, &zero, NULL, &two, NULL);
        H5Rcreate(&regions[i], f, leads_to[i], H5R_DATASET_REGION, s3);
        H5Rcreate_object(f, leads_to[i], H5P_DEFAULT, &refs[i]);
        if (i == 0)
            H5Rcreate_region(f, leads_to[i], s3, H5P_DEFAULT, &refs[2]);
        H5Sselect_all(s3);
    }
    hid_t d = H5Dcreate2(f, "objects", H5T_STD_REF_OBJ, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(d, H5T_STD_REF_OBJ, H5S_ALL, H5S_ALL, H5P_DEFAULT, objects);
    H5Dclose(d);
    d = H5Dcreate2(f, "regions", H5T_STD_REF_DSETREG, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(d, H5T_STD_REF_DSETREG, H5S_ALL, H5S_ALL, H5P_DEFAULT, regions);
    H5Dclose(d);
    d = H5Dcreate2(f, "new", H5T_STD_REF, s3, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(d, H5T_STD_REF, H5S_ALL, H5S_ALL, H5P_DEFAULT, refs);
    H5Dclose(d);
    for (int i = 0; i < 3; i++)
        H5Rdestroy(&refs[i]);
    H5Sclose(s);
    H5Sclose(s3);
    say_result(o, "deleting one", H5Ldelete(f, "gone", H5P_DEFAULT));
    follow_lost(f, o);
}

static const struct write_case cases[] = {
    {"references of the old kinds", old_kinds, old_kinds_stored},
    {"references of the new kind", new_kind, new_kind_stored},
    {"references into another file", outside, outside_stored},
    {"references to what is deleted", lost, follow_lost},
    {"dimension scales", scales, scales_stored},
};

int main(void)
{
    const struct out ours = {.ours = true};
    compare_write_extra(into_plain, &ours);
    compare_write_extra(short_addresses, &ours);
    return compare_write_main(cases, COUNT(cases));
}
