/* Programs that change an object while they iterate over its attributes or links. */
#include "h5tests/helpers/compare_write.h"

struct walk {
    struct out *o;
    void (*change)(hid_t obj, const char *name);
    unsigned stop_after; /* calls; 0: never */
    unsigned calls;
};

/* An object with attributes or links a0 a7 a2 ..., so that no order is the order of their creation */
static hid_t filled(hid_t f, const char *name, bool tracked, int attrs, int links)
{
    char  m[16];
    hid_t p = H5Pcreate(H5P_GROUP_CREATE), s = H5Screate(H5S_SCALAR);
    if (tracked) {
        H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
        H5Pset_link_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    }
    hid_t g = H5Gcreate2(f, name, H5P_DEFAULT, p, H5P_DEFAULT);
    for (int i = 0; i < attrs; i++) {
        snprintf(m, sizeof m, "a%d", i * 7 % attrs);
        hid_t a = H5Acreate2(g, m, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT);
        H5Awrite(a, H5T_NATIVE_INT, &i);
        H5Aclose(a);
    }
    for (int i = 0; i < links; i++) {
        snprintf(m, sizeof m, "a%d", i * 7 % links);
        H5Gclose(H5Gcreate2(g, m, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    }
    H5Sclose(s);
    H5Pclose(p);
    return g;
}

static herr_t go_on(struct walk *w)
{
    return ++w->calls == w->stop_after ? 7 : 0;
}

/* ---- attributes ---- */

static herr_t on_attr(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    struct walk *w = arg;
    say(w->o, "%s number %u size %llu", name, info->corder, (unsigned long long)info->data_size);
    w->change(obj, name);
    return go_on(w);
}

static herr_t on_old_attr(hid_t obj, const char *name, void *arg)
{
    struct walk *w = arg;
    say(w->o, "%s", name);
    w->change(obj, name);
    return go_on(w);
}

static void delete_it(hid_t obj, const char *name)
{
    (void)H5Adelete(obj, name);
}

static void rename_it(hid_t obj, const char *name)
{
    char old[31], new[32]; /* HDF5 1.14.5 frees the name that it gave the callback, and reads it afterwards */
    snprintf(old, sizeof old, "%s", name);
    snprintf(new, sizeof new, "z%s", old);
    (void)H5Arename(obj, old, new);
}

/* At the first call only: afterwards a3 is missing. */
static void delete_a3(hid_t obj, const char *name)
{
    (void)name;
    if (H5Aexists(obj, "a3") > 0)
        (void)H5Adelete(obj, "a3");
}

static void replace_a3(hid_t obj, const char *name)
{
    hsize_t n = 3;
    (void)name;
    delete_a3(obj, name);
    hid_t s = H5Screate_simple(1, &n, NULL);
    H5Aclose(H5Acreate2(obj, "a3", H5T_STD_I64LE, s, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(s);
}

static void add_one(hid_t obj, const char *name)
{
    char  new[32];
    hid_t s = H5Screate(H5S_SCALAR);
    snprintf(new, sizeof new, "%sx", name);
    H5Aclose(H5Acreate2(obj, new, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(s);
}

/* On a few attributes and on many, with their order tracked and not. */
static void each_way(hid_t f, struct out *o, void (*change)(hid_t, const char *))
{
    for (int k = 0; k < 8; k++) {
        bool            tracked = k & 1, down = k & 2;
        int             n       = k & 4 ? 12 : 5;
        struct walk     w       = {.o = o, .change = change};
        hsize_t         at      = 0;
        H5_index_t      by      = tracked ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
        H5_iter_order_t order   = down ? H5_ITER_DEC : H5_ITER_INC;
        char            name[16];
        snprintf(name, sizeof name, "g%d", k);
        hid_t g = filled(f, name, tracked, n, 0);
        say(o, "%d attributes, tracked %d, down %d", n, tracked, down);
        if (k % 3 == 0)
            say(o, "%d", H5Aiterate_by_name(f, name, by, order, &at, on_attr, &w, H5P_DEFAULT));
        else
            say(o, "%d", H5Aiterate2(g, by, order, &at, on_attr, &w));
        say(o, "place %llu, %d left", (unsigned long long)at, H5Aget_num_attrs(g));
        H5Gclose(g);
    }
}

static void attrs_deleted(hid_t f, struct out *o) { each_way(f, o, delete_it); }
static void attrs_renamed(hid_t f, struct out *o) { each_way(f, o, rename_it); }
static void attrs_later_deleted(hid_t f, struct out *o) { each_way(f, o, delete_a3); }
static void attrs_replaced(hid_t f, struct out *o) { each_way(f, o, replace_a3); }
static void attrs_added(hid_t f, struct out *o) { each_way(f, o, add_one); }

static void old_call(hid_t f, struct out *o)
{
    for (int k = 0; k < 2; k++) {
        struct walk w  = {.o = o, .change = k ? rename_it : delete_it};
        unsigned    at = 0;
        hid_t       g  = filled(f, k ? "r" : "d", false, 5, 0);
        say(o, "%d", H5Aiterate1(g, &at, on_old_attr, &w));
        say(o, "place %u, %d left", at, H5Aget_num_attrs(g));
        H5Gclose(g);
    }
}

/* The callback stops after two, and the program goes on at the place where it stopped. */
static void attrs_in_parts(hid_t f, struct out *o)
{
    for (int k = 0; k < 2; k++) {
        hsize_t at = 0;
        hid_t   g  = filled(f, k ? "r" : "d", true, 12, 0);
        for (int part = 0; part < 7; part++) {
            struct walk w  = {.o = o, .change = k ? rename_it : delete_it, .stop_after = 2};
            herr_t      rc = H5Aiterate2(g, H5_INDEX_CRT_ORDER, H5_ITER_INC, &at, on_attr, &w);
            say(o, "part %d: %d, place %llu, %d left", part, rc < 0 ? -1 : rc, (unsigned long long)at, H5Aget_num_attrs(g));
        }
        H5Eclear2(H5E_DEFAULT);
        H5Gclose(g);
    }
}

/* ---- links ---- */

static herr_t on_link(hid_t g, const char *name, const H5L_info2_t *info, void *arg)
{
    struct walk *w = arg;
    say(w->o, "%s number %lld", name, (long long)info->corder);
    w->change(g, name);
    return go_on(w);
}

static void delete_link(hid_t g, const char *name)
{
    (void)H5Ldelete(g, name, H5P_DEFAULT);
}

static void move_link(hid_t g, const char *name)
{
    char new[32];
    snprintf(new, sizeof new, "z%s", name);
    (void)H5Lmove(g, name, g, new, H5P_DEFAULT, H5P_DEFAULT);
}

/* In groups with a tracked order: in its older form of groups, HDF5 refuses changes within an iteration. */
static void links_in_parts(hid_t f, struct out *o)
{
    for (int k = 0; k < 4; k++) {
        hsize_t at = 0;
        char    name[16];
        snprintf(name, sizeof name, "g%d", k);
        hid_t g = filled(f, name, true, 0, 12);
        for (int part = 0; part < 7; part++) {
            struct walk w  = {.o = o, .change = k & 1 ? move_link : delete_link, .stop_after = k & 2 ? 2 : 0};
            herr_t      rc = H5Literate2(g, H5_INDEX_NAME, k & 1 ? H5_ITER_DEC : H5_ITER_INC, &at, on_link, &w);
            say(o, "part %d: %d, place %llu", part, rc < 0 ? -1 : rc, (unsigned long long)at);
        }
        H5Eclear2(H5E_DEFAULT);
        H5Gclose(g);
    }
}

static const struct write_case cases[] = {
    {"a callback deletes its attribute, and is called for all", attrs_deleted, NULL},
    {"a callback renames its attribute, and is called for all once", attrs_renamed, NULL},
    {"a callback deletes another attribute", attrs_later_deleted, NULL},
    {"a callback replaces another attribute", attrs_replaced, NULL},
    {"a callback makes attributes", attrs_added, NULL},
    {"the same with H5Aiterate1", old_call, NULL},
    {"an iteration in parts, with changes", attrs_in_parts, NULL},
    {"the same with links", links_in_parts, NULL},
};

int main(void)
{
    return compare_write_main(cases, COUNT(cases));
}
