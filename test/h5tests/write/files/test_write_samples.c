/* Domains that HSDS wrote are changed and made larger.  The same calls are made on a copy of each sample
 * domain and of its native twin.  Then both have the same objects, extents, values and attributes, also after
 * they are opened again.
 *
 * $BKT_TOOL is h5bucket, which copies the domains as HSDS stored them, and verifies them at the end. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/put_scalar.h"

enum { MOST = 3000, NAME = 300, LARGE = 300000 };

static struct {
    char       name[NAME];
    H5O_type_t type;
} objects[MOST];
static size_t n_objects;

static herr_t add_object(hid_t f, const char *name, const H5O_info2_t *info, void *arg)
{
    (void)f, (void)arg;
    if (n_objects < MOST) {
        snprintf(objects[n_objects].name, NAME, "%s", name);
        objects[n_objects++].type = info->type;
    }
    return 0;
}

static void find_objects(hid_t f)
{
    n_objects = 0;
    CHECK(H5Ovisit3(f, H5_INDEX_NAME, H5_ITER_INC, add_object, NULL, H5O_INFO_BASIC) >= 0, "%s", error_text());
}

/* ---- everything in it, except values that HSDS keeps in another way: exact types, and tracked numbers ---- */

static bool is_plain(hid_t t) { return H5Tget_class(t) == H5T_INTEGER || H5Tget_class(t) == H5T_FLOAT || H5Tget_class(t) == H5T_ENUM; }

static herr_t say_values(struct out *o, hid_t id, hid_t space, hid_t type, herr_t (*read)(hid_t id, hid_t type, void *to))
{
    hid_t    native = H5Tget_native_type(type, H5T_DIR_ASCEND);
    hssize_t n      = H5Sget_simple_extent_npoints(space);
    herr_t   rc     = 0;
    if (n > 0 && n < LARGE && H5Tis_variable_str(type) > 0) {
        char **v = calloc((size_t)n, sizeof *v);
        rc       = read(id, native, v);
        for (hssize_t i = 0; i < n && rc >= 0; i++)
            say(o, "'%s'", v[i] ? v[i] : "");
        H5Treclaim(native, space, H5P_DEFAULT, v);
        free(v);
    } else if (n > 0 && n < LARGE && (is_plain(type) || H5Tget_class(type) == H5T_STRING)) {
        size_t size = (size_t)n * H5Tget_size(native);
        void  *v    = calloc(1, size);
        rc          = read(id, native, v);
        say_bytes(o, "values", v, size);
        free(v);
    }
    H5Tclose(native);
    return rc;
}

static herr_t read_dataset(hid_t d, hid_t type, void *to) { return H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to); }
static herr_t read_attr(hid_t a, hid_t type, void *to) { return H5Aread(a, type, to); }

static herr_t say_attr(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    hid_t a = H5Aopen(obj, name, H5P_DEFAULT), t = H5Aget_type(a), s = H5Aget_space(a);
    (void)info;
    say(arg, "attribute %s of class %d, %lld elements", name, H5Tget_class(t), (long long)H5Sget_simple_extent_npoints(s));
    say_result(arg, "reading", say_values(arg, a, s, t, read_attr));
    H5Sclose(s);
    H5Tclose(t);
    H5Aclose(a);
    return 0;
}

static void say_all(hid_t f, struct out *o)
{
    find_objects(f);
    for (size_t i = 0; i < n_objects; i++) {
        hid_t id = H5Oopen(f, objects[i].name, H5P_DEFAULT);
        say(o, "%s of type %d", objects[i].name, objects[i].type);
        if (objects[i].type == H5O_TYPE_DATASET) {
            hid_t t = H5Dget_type(id), s = H5Dget_space(id);
            say_space(o, s);
            say_result(o, "reading", say_values(o, id, s, t, read_dataset));
            H5Sclose(s);
            H5Tclose(t);
        }
        say_result(o, "attributes", H5Aiterate2(id, H5_INDEX_NAME, H5_ITER_INC, NULL, say_attr, o));
        H5Oclose(id);
    }
}

/* ---- the changes ---- */

/* One after the other is written again, renamed, deleted and made again; then another is added. */
static void change_attributes(hid_t id, struct out *o)
{
    H5O_info2_t info;
    char        names[16][NAME];
    H5Oget_info3(id, &info, H5O_INFO_NUM_ATTRS);
    size_t n = info.num_attrs < 16 ? (size_t)info.num_attrs : 16;
    for (size_t i = 0; i < n; i++)
        H5Aget_name_by_idx(id, ".", H5_INDEX_NAME, H5_ITER_INC, i, names[i], NAME, H5P_DEFAULT);
    for (size_t i = 0; i < n; i++) {
        hid_t a = H5Aopen(id, names[i], H5P_DEFAULT), t = H5Aget_type(a), s = H5Aget_space(a);
        if (i % 4 == 0 && is_plain(t) && H5Sget_simple_extent_npoints(s) > 0) {
            unsigned char *v = calloc((size_t)H5Sget_simple_extent_npoints(s), H5Tget_size(t));
            say_result(o, "H5Awrite", H5Awrite(a, t, v));
            free(v);
        }
        H5Tclose(t);
        H5Sclose(s);
        H5Aclose(a);
        if (i % 4 == 1)
            say_result(o, "H5Arename", H5Arename(id, names[i], "renamed"));
        if (i % 4 >= 2)
            say_result(o, "H5Adelete", H5Adelete(id, names[i]));
        if (i % 4 == 3)
            put_int_attr(id, names[i], 9);
    }
    put_int_attr(id, "added", 17);
}

/* Elements change places with their neighbours, in all of it or in some rows and columns. */
static void change_values(hid_t d, hid_t t, hid_t s, bool some, struct out *o)
{
    hsize_t  dims[H5S_MAX_RANK], start[H5S_MAX_RANK] = {0};
    int      rank = H5Sget_simple_extent_dims(s, dims, NULL);
    size_t   n = (size_t)H5Sget_simple_extent_npoints(s), size = H5Tget_size(t);
    unsigned char *v = calloc(n + 1, size), *one = v + n * size;
    say_result(o, "H5Dread", H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (size_t i = 0; i + 1 < n; i += 2) {
        memcpy(one, v + i * size, size);
        memcpy(v + i * size, v + (i + 1) * size, size);
        memcpy(v + (i + 1) * size, one, size);
    }
    if (some && rank > 0) {
        start[0] = dims[0] / 3;
        dims[0] -= start[0] + (dims[0] > 4);
        start[rank - 1] += rank > 1 && dims[rank - 1] > 2;
        dims[rank - 1] -= rank > 1 && dims[rank - 1] > 2;
        H5Sselect_hyperslab(s, H5S_SELECT_SET, start, NULL, dims, NULL);
    }
    say_result(o, "H5Dwrite", H5Dwrite(d, t, s, s, H5P_DEFAULT, v));
    free(v);
}

static void change_strings(hid_t d, hid_t t, hid_t s, struct out *o)
{
    size_t       n = (size_t)H5Sget_simple_extent_npoints(s);
    const char **v = calloc(n, sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = i % 3 ? "another text" : "";
    say_result(o, "H5Dwrite", H5Dwrite(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    free(v);
}

/* A dimension that may grow does so, and some get smaller and grow again. */
static void change_extent(hid_t d, bool shrinks, struct out *o)
{
    hsize_t dims[H5S_MAX_RANK], most[H5S_MAX_RANK], more[H5S_MAX_RANK], less[H5S_MAX_RANK];
    hid_t   s    = H5Dget_space(d);
    int     rank = H5Sget_simple_extent_dims(s, dims, most);
    bool    can  = false;
    H5Sclose(s);
    for (int i = 0; i < rank; i++) {
        can     = can || most[i] == H5S_UNLIMITED;
        more[i] = dims[i] + (most[i] == H5S_UNLIMITED ? 3 : 0);
        less[i] = dims[i] > 2 && most[i] == H5S_UNLIMITED ? dims[i] - 2 : dims[i];
    }
    if (!can)
        return;
    say_result(o, "larger", H5Dset_extent(d, more));
    if (shrinks) {
        say_result(o, "smaller", H5Dset_extent(d, less));
        say_result(o, "as it was", H5Dset_extent(d, dims));
    }
}

static void change_dataset(hid_t d, size_t i, struct out *o)
{
    hid_t    t = H5Dget_type(d), s = H5Dget_space(d);
    hssize_t n = H5Sget_simple_extent_npoints(s);
    if (n > 0 && n < LARGE && (is_plain(t) || (H5Tget_class(t) == H5T_STRING && H5Tis_variable_str(t) <= 0)))
        change_values(d, t, s, i % 3 != 0, o);
    else if (n > 0 && n < LARGE && H5Tis_variable_str(t) > 0)
        change_strings(d, t, s, o);
    H5Tclose(t);
    H5Sclose(s);
    change_extent(d, i % 2 != 0, o);
}

static void fill_group(hid_t g, struct out *o)
{
    put_int_closed(g, "new dataset", 5);
    hid_t sub = H5Gcreate2(g, "new group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "H5Lcreate_hard", H5Lcreate_hard(g, "new dataset", sub, "again", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "H5Lcreate_soft", H5Lcreate_soft("new dataset", g, "new link", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "H5Oset_comment", H5Oset_comment(g, "a comment"));
    H5Gclose(sub);
}

static void change_links(hid_t f, struct out *o)
{
    static const char *const to[] = {"copied", "moved", NULL};
    H5Gclose(H5Gcreate2(f, "put", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t put_here = H5Gopen2(f, "put", H5P_DEFAULT);
    for (size_t i = 0, done = 0; i < n_objects && done < 3; i++) {
        if (strcmp(objects[i].name, ".") == 0 || strchr(objects[i].name, '/'))
            continue;
        say(o, "%s", objects[i].name);
        if (done == 0)
            say_result(o, "H5Ocopy", H5Ocopy(f, objects[i].name, put_here, to[done], H5P_DEFAULT, H5P_DEFAULT));
        else if (done == 1)
            say_result(o, "H5Lmove", H5Lmove(f, objects[i].name, put_here, to[done], H5P_DEFAULT, H5P_DEFAULT));
        else
            say_result(o, "H5Ldelete", H5Ldelete(f, objects[i].name, H5P_DEFAULT));
        done++;
    }
    H5Gclose(put_here);
}

static void change_all(hid_t f, struct out *o)
{
    find_objects(f);
    for (size_t i = 0; i < n_objects; i++) {
        hid_t id = H5Oopen(f, objects[i].name, H5P_DEFAULT);
        say(o, "%s", objects[i].name);
        change_attributes(id, o);
        if (objects[i].type == H5O_TYPE_DATASET)
            change_dataset(id, i, o);
        else if (objects[i].type == H5O_TYPE_GROUP)
            fill_group(id, o);
        else {
            hid_t s = H5Screate(H5S_SCALAR);
            char  name[40];
            snprintf(name, sizeof name, "of type %zu", i);
            hid_t d = H5Dcreate2(f, name, id, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
            say_result(o, "H5Dcreate of that type", d);
            H5Dclose(d);
            H5Sclose(s);
        }
        H5Oclose(id);
    }
    change_links(f, o);
}

/* ---- both sides ---- */

static void side(const char *sample, struct out *o)
{
    char        name[64] = "", command[20000];
    const char *to = new_name(o, sample);
    hid_t       fapl = new_fapl(o);
    if (o->ours)
        snprintf(command, sizeof command, "%s cp '%s' '%s'", getenv("BKT_TOOL"), domain_name(sample), to);
    else
        snprintf(command, sizeof command, "cp '%s' '%s'", twin_name(sample), to);
    CHECK(system(command) == 0, "%s", command);
    hid_t f = H5Fopen(to, H5F_ACC_RDWR, fapl);
    if (o->ours)
        H5VLget_connector_name(f, name, sizeof name);
    CHECK(f >= 0 && (!o->ours || strcmp(name, "bucket") == 0), "%s is open by '%s'", to, name);
    change_all(f, o);
    say(o, "-- before closing");
    say_all(f, o);
    say_result(o, "closing", H5Fclose(f));
    f = H5Fopen(to, H5F_ACC_RDONLY, fapl);
    say(o, "-- opened again");
    say_all(f, o);
    H5Fclose(f);
    if (o->ours) {
        snprintf(command, sizeof command, "%s verify --deep '%s' > /dev/null", getenv("BKT_TOOL"), to);
        CHECK(system(command) == 0, "%s", command);
    }
    H5Fdelete(to, fapl);
    H5Pclose(fapl);
}

static void every_sample(const struct out *unused)
{
    static const char *const samples[] = {"acl.h5", "attrs.h5", "big.h5", "dimscales.h5", "filters.h5", "groups.h5", "highlevel.h5",
        "noinfo.h5", "numeric.h5", "schema1.h5", "shapes.h5", "shuffle_only.h5", "special.h5", "strings.h5", "tracked.h5", "tree.h5",
        "types.h5"};
    size_t step = getenv("BKT_SAMPLE") && *getenv("BKT_SAMPLE") && getenv("BKT_H5_BASE") ? 3 : 1;
    (void)unused;
    if (step > 1)
        printf("%zu of %zu domains (a sample: ./check --all takes all; in folders all are taken)\n", (COUNT(samples) + step - 1) / step,
               COUNT(samples));
    for (size_t i = 0; i < COUNT(samples); i += step) {
        struct out twin = {.text = NULL}, ours = {.ours = true};
        say(&twin, "%s", samples[i]);
        say(&ours, "%s", samples[i]);
        side(samples[i], &twin);
        side(samples[i], &ours);
        bool same = strcmp(twin.text, ours.text) == 0;
        CHECK(same, "%s: the domain differs from the file", samples[i]);
        if (!same)
            show_difference(twin.text, ours.text);
        printf("%s %s\n", same ? "ok  " : "FAIL", samples[i]);
        free(twin.text);
        free(ours.text);
    }
}

int main(void)
{
    struct out o = {.ours = true};
    compare_write_extra(every_sample, &o);
    return compare_write_main(NULL, 0);
}
