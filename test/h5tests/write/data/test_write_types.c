/* Every datatype comes back as it was: attributes, datasets, committed. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/type_zoo.h"

#define N 5

static void say_same(struct out *o, const char *what, const char *name, hid_t type, hid_t id, bool attr, unsigned seed)
{
    hid_t stored = attr ? H5Aget_type(id) : H5Dget_type(id), space = attr ? H5Aget_space(id) : H5Dget_space(id);
    void *want = calloc(N, H5Tget_size(type)), *got = calloc(N, H5Tget_size(type));
    zoo_fill(type, want, N, seed);
    herr_t rc = attr ? H5Aread(id, type, got) : H5Dread(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, got);
    say(o, "%s %s: type equal %d, read %d", what, name, H5Tequal(stored, type), rc);
    if (rc < 0)
        say_result(o, "reading", rc);
    bool same = rc >= 0 && zoo_same(type, want, got, N);
    CHECK(same, "%s of type %s on %s side: values differ", what, name, o->ours ? "our" : "HDF5's");
    say_type(o, stored);
    H5Treclaim(type, space, H5P_DEFAULT, want);
    if (rc >= 0)
        H5Treclaim(type, space, H5P_DEFAULT, got);
    free(want);
    free(got);
    H5Tclose(stored);
    H5Sclose(space);
}

static void attributes(hid_t f, struct out *o)
{
    hid_t space = H5Screate_simple(1, (hsize_t[]){N}, NULL);
    for (size_t i = 0; i < zoo_size; i++) {
        hid_t t = zoo[i].make(), a = H5Acreate2(f, zoo[i].name, t, space, H5P_DEFAULT, H5P_DEFAULT);
        void *v = calloc(N, H5Tget_size(t));
        zoo_fill(t, v, N, (unsigned)i);
        say(o, "%s created %d written %d", zoo[i].name, a >= 0, H5Awrite(a, t, v));
        say_same(o, "attribute", zoo[i].name, t, a, true, (unsigned)i);
        H5Treclaim(t, space, H5P_DEFAULT, v);
        free(v);
        H5Aclose(a);
        H5Tclose(t);
    }
    H5Sclose(space);
}

static void attributes_stored(hid_t f, struct out *o)
{
    for (size_t i = 0; i < zoo_size; i++) {
        hid_t t = zoo[i].make(), a = H5Aopen(f, zoo[i].name, H5P_DEFAULT);
        say_same(o, "attribute", zoo[i].name, t, a, true, (unsigned)i);
        H5Aclose(a);
        H5Tclose(t);
    }
}

static hid_t no_list(void) { return H5Pcreate(H5P_DATASET_CREATE); }
static hid_t compact(void)
{
    hid_t p = no_list();
    H5Pset_layout(p, H5D_COMPACT);
    return p;
}
static hid_t chunked(void)
{
    hid_t p = no_list();
    H5Pset_chunk(p, 1, (hsize_t[]){2});
    H5Pset_shuffle(p);
    H5Pset_deflate(p, 3);
    return p;
}
static hid_t (*const layouts[])(void) = {no_list, compact, chunked};

static void datasets(hid_t f, struct out *o)
{
    hid_t space = H5Screate_simple(1, (hsize_t[]){N}, NULL);
    for (size_t k = 0; k < COUNT(layouts); k++) {
        char  name[8];
        hid_t list = layouts[k]();
        snprintf(name, sizeof name, "%zu", k);
        hid_t g = H5Gcreate2(f, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        for (size_t i = 0; i < zoo_size; i++) {
            hid_t t = zoo[i].make(), d = H5Dcreate2(g, zoo[i].name, t, space, H5P_DEFAULT, list, H5P_DEFAULT);
            void *v = calloc(N, H5Tget_size(t));
            zoo_fill(t, v, N, (unsigned)(i + k));
            say(o, "%s created %d written %d", zoo[i].name, d >= 0, H5Dwrite(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
            say_same(o, "dataset", zoo[i].name, t, d, false, (unsigned)(i + k));
            H5Treclaim(t, space, H5P_DEFAULT, v);
            free(v);
            H5Dclose(d);
            H5Tclose(t);
        }
        H5Gclose(g);
        H5Pclose(list);
    }
    H5Sclose(space);
}

static void datasets_stored(hid_t f, struct out *o)
{
    for (size_t k = 0; k < COUNT(layouts); k++)
        for (size_t i = 0; i < zoo_size; i++) {
            char name[64];
            snprintf(name, sizeof name, "%zu/%s", k, zoo[i].name);
            hid_t t = zoo[i].make(), d = H5Dopen2(f, name, H5P_DEFAULT);
            say_same(o, "dataset", name, t, d, false, (unsigned)(i + k));
            H5Dclose(d);
            H5Tclose(t);
        }
}

/* ---- committed ---- */

static void say_committed(struct out *o, hid_t t)
{
    H5O_info2_t info;
    char        name[64] = "";
    say(o, "committed %d", H5Tcommitted(t));
    if (H5Tcommitted(t) > 0 && H5Oget_info3(t, &info, H5O_INFO_BASIC) >= 0)
        say(o, "type %d", info.type);
    say(o, "name %d", H5Iget_name(t, name, sizeof name) >= 0);
    H5Eclear2(H5E_DEFAULT);
}

static void committed(hid_t f, struct out *o)
{
    hid_t space = H5Screate_simple(1, (hsize_t[]){N}, NULL), lcpl = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(lcpl, 1);
    for (size_t i = 0; i < zoo_size; i++) {
        char  name[64];
        hid_t t = zoo[i].make(), copy = H5Tcopy(t);
        void *v = calloc(N, H5Tget_size(t));
        snprintf(name, sizeof name, "types/%s", zoo[i].name);
        say_result(o, name, H5Tcommit2(f, name, t, lcpl, H5P_DEFAULT, H5P_DEFAULT));
        say_result(o, "committing it again", H5Tcommit2(f, "again", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        say_committed(o, t);
        hid_t d = H5Dcreate2(f, zoo[i].name, t, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        hid_t a = H5Acreate2(d, "of the same type", t, space, H5P_DEFAULT, H5P_DEFAULT);
        hid_t b = H5Acreate2(t, "of itself", t, space, H5P_DEFAULT, H5P_DEFAULT);
        zoo_fill(copy, v, N, (unsigned)i);
        say(o, "created %d %d %d, written %d %d %d", d >= 0, a >= 0, b >= 0, H5Dwrite(d, copy, H5S_ALL, H5S_ALL, H5P_DEFAULT, v),
            H5Awrite(a, copy, v), H5Awrite(b, copy, v));
        H5Treclaim(copy, space, H5P_DEFAULT, v);
        free(v);
        H5Aclose(a);
        H5Aclose(b);
        H5Dclose(d);
        H5Tclose(t);
        H5Tclose(copy);
    }
    hid_t anon = H5Tcopy(H5T_STD_I64BE), tcpl = H5Pcreate(H5P_DATATYPE_CREATE);
    H5Pset_attr_creation_order(tcpl, H5P_CRT_ORDER_TRACKED);
    say_result(o, "anonymous", H5Tcommit_anon(f, anon, tcpl, H5P_DEFAULT));
    say_committed(o, anon);
    hid_t d = H5Dcreate2(f, "of an anonymous type", anon, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "a dataset of it", d);
    H5Dclose(d);
    H5Tclose(anon);
    anon = H5Tcopy(H5T_STD_I64BE);
    H5Tcommit_anon(f, anon, tcpl, H5P_DEFAULT);
    say_result(o, "linked later", H5Olink(anon, f, "linked", H5P_DEFAULT, H5P_DEFAULT));
    H5Tclose(anon);
    say_result(o, "a name that is taken", H5Tcommit2(f, "linked", anon = H5Tcopy(H5T_STD_I8LE), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Tclose(anon);
    H5Pclose(tcpl);
    H5Pclose(lcpl);
    H5Sclose(space);
}

static void committed_stored(hid_t f, struct out *o)
{
    for (size_t i = 0; i < zoo_size; i++) {
        char name[64];
        snprintf(name, sizeof name, "types/%s", zoo[i].name);
        hid_t want = zoo[i].make(), t = H5Topen2(f, name, H5P_DEFAULT), d = H5Dopen2(f, zoo[i].name, H5P_DEFAULT);
        hid_t a = H5Aopen(d, "of the same type", H5P_DEFAULT), b = H5Aopen(t, "of itself", H5P_DEFAULT), of = H5Dget_type(d);
        say(o, "%s: equal %d", name, H5Tequal(t, want));
        say_committed(o, t);
        say_committed(o, of);
        say_same(o, "dataset", name, want, d, false, (unsigned)i);
        say_same(o, "attribute", name, want, a, true, (unsigned)i);
        say_same(o, "attribute of the type", name, want, b, true, (unsigned)i);
        H5Tclose(of);
        H5Aclose(a);
        H5Aclose(b);
        H5Dclose(d);
        H5Tclose(t);
        H5Tclose(want);
    }
    hid_t d = H5Dopen2(f, "of an anonymous type", H5P_DEFAULT), t = H5Dget_type(d);
    say_committed(o, t);
    hid_t tcpl = H5Tget_create_plist(t);
    unsigned order = 99;
    H5Pget_attr_creation_order(tcpl, &order);
    say(o, "order %u", order);
    H5Pclose(tcpl);
    H5Tclose(t);
    H5Dclose(d);
}

/* ---- conversions on the way ---- */

static void numbers(hid_t f, struct out *o)
{
    static const double from[] = {0, 1, -1, 127.6, -128.4, 300, 70000, 5e9, -5e9, 1e20, 1e300, -0.25};
    hid_t               space  = H5Screate_simple(1, (hsize_t[]){COUNT(from)}, NULL);
    long long           whole[COUNT(from)];
    for (size_t i = 0; i < COUNT(from); i++)
        whole[i] = (long long)(i * i * i * i * i * i * i) - 1000;
    for (size_t i = 0; i < zoo_size; i++) {
        hid_t t = zoo[i].make();
        bool  number = H5Tget_class(t) == H5T_INTEGER || H5Tget_class(t) == H5T_FLOAT;
        if (number && strcmp(zoo[i].name, "long_double") != 0) { /* whose padding HDF5 leaves as it finds it */
            hid_t d = H5Dcreate2(f, zoo[i].name, t, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
            say(o, "%s written %d", zoo[i].name, H5Dwrite(d, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, from));
            hid_t a = H5Acreate2(d, "whole", t, space, H5P_DEFAULT, H5P_DEFAULT);
            say(o, "attribute written %d", H5Awrite(a, H5T_NATIVE_LLONG, whole));
            H5Aclose(a);
            H5Dclose(d);
        }
        H5Tclose(t);
    }
    say_result(o, "text into numbers",
               H5Dwrite(f = H5Dopen2(f, "i32le", H5P_DEFAULT), H5T_C_S1, H5S_ALL, H5S_ALL, H5P_DEFAULT, from));
    H5Dclose(f);
    H5Sclose(space);
}

/* A committed type counts its users, and stays as long as it has some. */
static void say_uses(hid_t f, const char *name, struct out *o)
{
    H5O_info2_t info = {0};
    herr_t      rc   = H5Oget_info_by_name3(f, name, &info, H5O_INFO_BASIC, H5P_DEFAULT);
    say(o, "%s: %s, %u", name, rc < 0 ? "not there" : "there", info.rc);
    H5Eclear2(H5E_DEFAULT);
}

static void uses(hid_t f, struct out *o)
{
    hid_t t = H5Tcopy(H5T_STD_I32LE), u = H5Tcopy(H5T_STD_I16BE), s = H5Screate(H5S_SCALAR);
    H5Tcommit2(f, "t", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Tcommit_anon(f, u, H5P_DEFAULT, H5P_DEFAULT);
    say_uses(f, "t", o);
    hid_t d = H5Dcreate2(f, "d", t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), e = H5Dcreate2(f, "e", u, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t a = H5Acreate2(d, "a", t, s, H5P_DEFAULT, H5P_DEFAULT), b = H5Acreate2(t, "b", t, s, H5P_DEFAULT, H5P_DEFAULT);
    say_uses(f, "t", o);
    H5Fflush(f, H5F_SCOPE_GLOBAL);
    H5Aclose(a);
    H5Arename(d, "a", "c");
    say_uses(f, "t", o);
    H5Adelete(d, "c");
    say_uses(f, "t", o);
    H5Aclose(b);
    H5Adelete(t, "b");
    H5Lcreate_hard(f, "t", f, "t2", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t g = H5Dcreate2(f, "g/d", t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dclose(g);
    say_uses(f, "t", o);
    H5Ldelete(f, "g", H5P_DEFAULT);
    say_uses(f, "t", o);
    H5Ldelete(f, "t", H5P_DEFAULT);
    H5Tclose(t);
    say_uses(f, "t2", o);
    H5Ldelete(f, "t2", H5P_DEFAULT); /* its last name goes; d is of it */
    t = H5Dget_type(d);
    say(o, "committed %d", H5Tcommitted(t) > 0);
    say_result(o, "an object without a name", H5Oget_info3(t, &(H5O_info2_t){0}, H5O_INFO_BASIC));
    H5Tclose(t);
    H5Tclose(u);
    H5Sclose(s);
    H5Dclose(d);
    H5Dclose(e);
}

static void uses_stored(hid_t f, struct out *o)
{
    static const char *const names[] = {"d", "e"};
    for (size_t i = 0; i < COUNT(names); i++) {
        H5O_info2_t info = {0};
        hid_t       d = H5Dopen2(f, names[i], H5P_DEFAULT), t = H5Dget_type(d);
        say(o, "%s: committed %d", names[i], H5Tcommitted(t) > 0);
        say_result(o, "asking", H5Oget_info3(t, &info, H5O_INFO_BASIC));
        say(o, "uses %u", info.rc);
        H5Tclose(t);
        H5Dclose(d);
    }
}

/* ---- strings of other lengths, among them as long as a whole element of the other side ---- */

static hid_t named_type(size_t length)
{
    hid_t s = H5Tcopy(H5T_C_S1), t = H5Tcreate(H5T_COMPOUND, length + sizeof(int));
    H5Tset_size(s, length);
    H5Tinsert(t, "name", 0, s);
    H5Tinsert(t, "number", length, H5T_NATIVE_INT);
    H5Tclose(s);
    return t;
}

#define NAMED 5
static void fill_named(char *to, size_t length, int from)
{
    memset(to, 0, NAMED * (length + sizeof(int)));
    for (int i = 0; i < NAMED; i++) {
        char *at = to + (size_t)i * (length + sizeof(int));
        (void)snprintf(at, length, "%c%d", 'a' + i, from + i);
        memcpy(at + length, &(int){from + 10 * i}, sizeof(int));
    }
}

static void say_named(struct out *o, const char *what, const char *from, size_t length)
{
    for (size_t i = 0; i < NAMED; i++) {
        int         n;
        const char *at = from + i * (length + sizeof n);
        memcpy(&n, at + length, sizeof n);
        say(o, "%s %zu: %.*s %d", what, i, (int)length, at, n);
    }
}

static void names(hid_t f, struct out *o)
{
    static const size_t lengths[] = {4, 8, 12, 16};
    hsize_t             dim = NAMED;
    hid_t               s = H5Screate_simple(1, &dim, NULL);
    char                buf[(NAMED + 1) * 32];
    for (size_t i = 0; i < COUNT(lengths); i++) {
        char  name[16];
        hid_t t = named_type(lengths[i]);
        (void)snprintf(name, sizeof name, "named%zu", lengths[i]);
        hid_t d = H5Dcreate2(f, name, t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        hid_t a = H5Acreate2(d, "a", t, s, H5P_DEFAULT, H5P_DEFAULT);
        for (size_t k = 0; k < COUNT(lengths); k++) {
            hid_t m = named_type(lengths[k]);
            fill_named(buf, lengths[k], 100 * (int)k);
            say_result(o, "writing elements", H5Dwrite(d, m, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf));
            say_result(o, "writing the attribute", H5Awrite(a, m, buf));
            memset(buf, 'x', sizeof buf);
            say_result(o, "reading elements", H5Dread(d, m, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf));
            say_named(o, "element", buf, lengths[k]);
            say(o, "behind it %c", buf[NAMED * (lengths[k] + sizeof(int))]);
            say_result(o, "reading the attribute", H5Aread(a, m, buf));
            say_named(o, "attribute", buf, lengths[k]);
            H5Tclose(m);
        }
        for (size_t k = 0; k < COUNT(lengths); k++) {
            hid_t m = named_type(lengths[k]);
            memset(buf, 'x', sizeof buf);
            say_result(o, "reading elements", H5Dread(d, m, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf));
            say_named(o, "as it is in the end", buf, lengths[k]);
            H5Tclose(m);
        }
        H5Aclose(a);
        H5Dclose(d);
        H5Tclose(t);
    }
    H5Sclose(s);
}

static void say_use(struct out *o, const char *what, hid_t d, hid_t a)
{
    hid_t of_d = d < 0 ? d : H5Dget_type(d), of_a = a < 0 ? a : H5Aget_type(a);
    say_result(o, what, d);
    say_result(o, "its attribute", a);
    if (d >= 0)
        say(o, "committed %d, as it was %d", H5Tcommitted(of_d) > 0, H5Tequal(of_d, H5T_STD_I16BE) > 0);
    if (a >= 0)
        say(o, "attribute: committed %d, as it was %d", H5Tcommitted(of_a) > 0, H5Tequal(of_a, H5T_STD_I16BE) > 0);
    H5Tclose(of_d);
    H5Tclose(of_a);
    H5Eclear2(H5E_DEFAULT);
}

/* Committed types that HDF5's own connector has opened, for a plain file: from the same file, and from
 * another one. */
static void types_of_hdf5(hid_t f, struct out *o)
{
    static const char *const leaves[] = {"plain.h5", "typed.h5"};
    const struct out plain = {.ours = false};
    char name[8400];
    hid_t ours = new_fapl(o), hdf5 = fapl_native(), s = H5Screate(H5S_SCALAR), id = H5Tcopy(H5T_STD_I16BE);
    (void)f;
    for (size_t i = 0; i < COUNT(leaves); i++) {
        hid_t made = H5Fcreate(new_name(&plain, leaves[i]), H5F_ACC_TRUNC, H5P_DEFAULT, hdf5), t = H5Tcopy(id);
        H5Tcommit2(made, "t", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        H5Tclose(t);
        H5Fclose(made);
    }
    (void)snprintf(name, sizeof name, "%s%s", o->ours ? "native:" : "", new_name(&plain, leaves[0]));
    hid_t to = H5Fopen(name, H5F_ACC_RDWR, ours);
    for (size_t i = 0; i < COUNT(leaves); i++) {
        hid_t from = H5Fopen(new_name(&plain, leaves[i]), H5F_ACC_RDWR, hdf5), t = H5Topen2(from, "t", H5P_DEFAULT);
        hid_t d = H5Dcreate2(to, leaves[i], t, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        hid_t a = H5Acreate2(to, leaves[i], t, s, H5P_DEFAULT, H5P_DEFAULT);
        say_use(o, leaves[i], d, a);
        H5Aclose(a);
        H5Dclose(d);
        H5Tclose(t);
        H5Fclose(from);
    }
    H5Fclose(to);
    H5Tclose(id);
    H5Sclose(s);
    H5Pclose(hdf5);
    H5Pclose(ours);
}

static const struct write_case cases[] = {
    {"attributes of every type", attributes, attributes_stored},
    {"datasets of every type", datasets, datasets_stored},
    {"committed types", committed, committed_stored},
    {"committed types count what is of them", uses, uses_stored},
    {"numbers are converted", numbers, NULL},
    {"strings of one length become those of another", names, NULL},
    {"committed types that HDF5 opened", types_of_hdf5, NULL},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
