/* As crash_changes, for data stored in other forms: elements of variable size, committed types, small chunks
 * that share an object, virtual datasets, lists of external files.  There are so many changes that some are
 * stored ahead of the flush.
 *
 *   crash_forms prepare NAME       the domain as it is before
 *   crash_forms write NAME LOG     the session: phases, each ended by H5Fflush(); LOG gets "flushed N", and "failed N" when the
 *                                  flush (or the change itself) failed: then it is tried once more
 *   crash_forms check NAME N       each thing is as it was after phase N, or N + 1; the domain can be written again
 *
 * Through the connector that HDF5_VOL_CONNECTOR names, which must be $BKT_CONNECTOR. */
#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5tests/crash/crash_log.h"
#include "h5tests/helpers/must_succeed_file.h"

enum { PHASES = 6, WORDS = 20, MORE = 30, LISTS = 12, TYPED = 30, TINY = 4096, OLD = 24, BIG = 16384, VIEW = 2000, OUT = 100 };

struct kind {
    int    a;
    double b;
};

static bool exists(hid_t at, const char *name) { return TRY(H5Lexists(at, name, H5P_DEFAULT)) > 0; }

/* ---- making things ---- */

static hid_t text_type(void)
{
    hid_t t = TRY(H5Tcopy(H5T_C_S1));
    TRY(H5Tset_size(t, H5T_VARIABLE));
    return t;
}

static hid_t kind_type(void)
{
    hid_t t = TRY(H5Tcreate(H5T_COMPOUND, sizeof(struct kind)));
    TRY(H5Tinsert(t, "a", offsetof(struct kind, a), H5T_NATIVE_INT));
    TRY(H5Tinsert(t, "b", offsetof(struct kind, b), H5T_NATIVE_DOUBLE));
    return t;
}

static hsize_t rows(hid_t d)
{
    hsize_t n = 0;
    hid_t   s = TRY(H5Dget_space(d));
    TRY(H5Sget_simple_extent_dims(s, &n, NULL));
    TRY(H5Sclose(s));
    return n;
}

/* ---- elements of variable size ---- */

/* Each is longer than the one before. */
static void word_at(char out[64], int i, bool changed)
{
    unsigned number = (unsigned)i % MORE;
    (void)snprintf(out, 64, "%s word %0*u", changed ? "new" : "old", (int)number + 1, number);
}

static void put_words(hid_t at, const char *name, int from, int n, bool changed)
{
    char        text[MORE][64];
    const char *v[MORE];
    hid_t       d = TRY(H5Dopen2(at, name, H5P_DEFAULT)), t = text_type();
    for (int i = 0; i < n; i++) {
        word_at(text[i], from + i, changed);
        v[i] = text[i];
    }
    write_elements(d, t, (hsize_t)from, 1, (hsize_t)n, v);
    TRY(H5Tclose(t));
    TRY(H5Dclose(d));
}

/* Each of the elements from .. to-1 is the old one (@p may_old) or the new one (@p may_new). */
static void check_words(hid_t at, const char *name, int from, int to, bool may_old, bool may_new)
{
    char   *v[MORE] = {NULL}, old[64], new[64];
    hid_t   d = TRY(H5Dopen2(at, name, H5P_DEFAULT)), t = text_type(), s = TRY(H5Dget_space(d));
    hsize_t n = rows(d);
    REQUIRE((int)n >= to && n <= MORE, "%s has %d rows", name, (int)n);
    TRY(H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int i = from; i < to; i++) {
        word_at(old, i, false);
        word_at(new, i, true);
        REQUIRE(v[i] && ((may_old && strcmp(v[i], old) == 0) || (may_new && strcmp(v[i], new) == 0)), "%s[%d] is %s", name, i, v[i] ? v[i] : "");
    }
    TRY(H5Treclaim(t, s, H5P_DEFAULT, v));
    TRY(H5Sclose(s));
    TRY(H5Tclose(t));
    TRY(H5Dclose(d));
}

static void put_lists(hid_t f, int from, int n, int base)
{
    int   values[LISTS][LISTS];
    hvl_t v[LISTS];
    hid_t d = TRY(H5Dopen2(f, "lists", H5P_DEFAULT)), t = TRY(H5Tvlen_create(H5T_NATIVE_INT));
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < LISTS; k++)
            values[i][k] = base + from + i;
        v[i] = (hvl_t){(size_t)(from + i), values[i]};
    }
    write_elements(d, t, (hsize_t)from, 1, (hsize_t)n, v);
    TRY(H5Tclose(t));
    TRY(H5Dclose(d));
}

static void check_lists(hid_t f, bool may_old, bool may_new)
{
    hvl_t v[LISTS];
    hid_t d = TRY(H5Dopen2(f, "lists", H5P_DEFAULT)), t = TRY(H5Tvlen_create(H5T_NATIVE_INT)), s = TRY(H5Dget_space(d));
    TRY(H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int i = 0; i < LISTS; i++)
        for (int k = 0; k < i; k++) {
            int  is  = v[i].len == (size_t)i ? ((const int *)v[i].p)[k] : -1;
            bool old = i < 3 || i > 8 || may_old, new = i >= 3 && i <= 8 && may_new;
            REQUIRE((old && is == 100 + i) || (new && is == 500 + i), "lists[%d][%d] of %d is %d", i, k, (int)v[i].len, is);
        }
    TRY(H5Treclaim(t, s, H5P_DEFAULT, v));
    TRY(H5Sclose(s));
    TRY(H5Tclose(t));
    TRY(H5Dclose(d));
}

/* ---- committed types ---- */

static void put_typed(hid_t at, const char *name, int from, int n, int base)
{
    struct kind v[TYPED];
    hid_t       d = TRY(H5Dopen2(at, name, H5P_DEFAULT)), t = kind_type();
    for (int i = 0; i < n; i++)
        v[i] = (struct kind){base + from + i, (base + from + i) / 4.};
    write_elements(d, t, (hsize_t)from, 1, (hsize_t)n, v);
    TRY(H5Tclose(t));
    TRY(H5Dclose(d));
}

static void check_typed(hid_t at, const char *name, int base, int changed, bool may_old, bool may_new)
{
    struct kind v[TYPED];
    hid_t       d = TRY(H5Dopen2(at, name, H5P_DEFAULT)), t = kind_type(), is = TRY(H5Dget_type(d));
    REQUIRE(TRY(H5Tcommitted(is)) > 0, "%s: the type isn't committed", name);
    TRY(H5Dread(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (int i = 0; i < TYPED; i++) {
        bool old = i < 7 || i > 21 || may_old, new = i >= 7 && i <= 21 && may_new;
        REQUIRE(v[i].b == v[i].a / 4. && ((old && v[i].a == base + i) || (new && v[i].a == changed + i)), "%s[%d] is %d", name, i, v[i].a);
    }
    TRY(H5Tclose(is));
    TRY(H5Tclose(t));
    TRY(H5Dclose(d));
}

static void typed_attr(hid_t at, const char *name, hid_t committed, int a)
{
    struct kind v = {a, a / 4.};
    hid_t       s = TRY(H5Screate(H5S_SCALAR)), t = kind_type(), x = TRY(H5Acreate2(at, name, committed, s, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Awrite(x, t, &v));
    TRY(H5Aclose(x));
    TRY(H5Tclose(t));
    TRY(H5Sclose(s));
}

static int typed_attr_value(hid_t at, const char *name) /* -1: no element */
{
    struct kind v = {-1, 0};
    if (TRY(H5Aexists(at, name)) == 0)
        return -1;
    hid_t t = kind_type(), x = TRY(H5Aopen(at, name, H5P_DEFAULT));
    TRY(H5Aread(x, t, &v));
    TRY(H5Aclose(x));
    TRY(H5Tclose(t));
    return v.a;
}

/* ---- large attributes of many objects ---- */

static void set_big(hid_t at, int value)
{
    static int v[BIG / sizeof(int)];
    hsize_t    n = BIG / sizeof(int);
    hid_t      s = TRY(H5Screate_simple(1, &n, NULL));
    hid_t      a = TRY(H5Aexists(at, "big")) > 0 ? TRY(H5Aopen(at, "big", H5P_DEFAULT))
                                                 : TRY(H5Acreate2(at, "big", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
    for (size_t i = 0; i < n; i++)
        v[i] = value;
    TRY(H5Awrite(a, H5T_NATIVE_INT, v));
    TRY(H5Aclose(a));
    TRY(H5Sclose(s));
}

static int big_value(hid_t at) /* -1: no element */
{
    static int v[BIG / sizeof(int)];
    if (TRY(H5Aexists(at, "big")) == 0)
        return -1;
    hid_t      a = TRY(H5Aopen(at, "big", H5P_DEFAULT));
    TRY(H5Aread(a, H5T_NATIVE_INT, v));
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        REQUIRE(v[i] == v[0], "big[%d] is %d, not %d", (int)i, v[i], v[0]);
    TRY(H5Aclose(a));
    return v[0];
}

/* ---- before, and the phases ---- */

static void prepare(hid_t f)
{
    int     v[TINY];
    hid_t   text = text_type(), list = TRY(H5Tvlen_create(H5T_NATIVE_INT)), kind = kind_type();
    for (int i = 0; i < TINY; i++)
        v[i] = i;
    TRY(H5Dclose(make_dataset(f, "words", &(struct made){.type = text, .dims = {WORDS}, .max = {H5S_UNLIMITED}, .chunk = {8}})));
    TRY(H5Dclose(make_dataset(f, "lists", &(struct made){.type = list, .dims = {LISTS}, .chunk = {4}})));
    put_words(f, "words", 0, WORDS, false);
    put_lists(f, 0, LISTS, 100);
    TRY(H5Tcommit2(f, "kind", kind, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Dclose(make_dataset(f, "typed", &(struct made){.type = kind, .dims = {TYPED}, .chunk = {10}})));
    put_typed(f, "typed", 0, TYPED, 1000);
    hid_t d = make_dataset(f, "tiny", &(struct made){.dims = {TINY}, .chunk = {4}});
    write_elements(d, H5T_NATIVE_INT, 0, 1, TINY, v);
    TRY(H5Dclose(d));
    hid_t g = TRY(H5Gcreate2(f, "old", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    for (int i = 0; i < OLD; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "o%02d", i);
        hid_t o = TRY(H5Gcreate2(g, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        set_big(o, 10);
        TRY(H5Gclose(o));
    }
    TRY(H5Gclose(g));
    TRY(H5Gclose(TRY(H5Gcreate2(f, "made", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    TRY(H5Tclose(kind));
    TRY(H5Tclose(list));
    TRY(H5Tclose(text));
}

static void change_variable(hid_t f)
{
    hsize_t more = MORE;
    hid_t   d = TRY(H5Dopen2(f, "words", H5P_DEFAULT)), t = text_type();
    TRY(H5Dset_extent(d, &more));
    TRY(H5Dclose(d));
    put_words(f, "words", 5, MORE - 5, true);
    put_lists(f, 3, 6, 500);
    TRY(H5Dclose(make_dataset(f, "made/texts", &(struct made){.type = t, .dims = {WORDS}, .chunk = {6}})));
    put_words(f, "made/texts", 0, WORDS, true);
    TRY(H5Tclose(t));
}

static void change_types(hid_t f)
{
    hid_t kind = kind_type(), d = TRY(H5Dopen2(f, "typed", H5P_DEFAULT)), old = TRY(H5Topen2(f, "kind", H5P_DEFAULT));
    TRY(H5Tcommit2(f, "made/kind", kind, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Dclose(make_dataset(f, "made/typed", &(struct made){.type = kind, .dims = {TYPED}, .chunk = {10}})));
    put_typed(f, "made/typed", 0, TYPED, 3000);
    put_typed(f, "typed", 7, 15, 2000);
    typed_attr(d, "of new", kind, 77);
    typed_attr(d, "of old", old, 78);
    TRY(H5Tclose(old));
    TRY(H5Tclose(kind));
    TRY(H5Dclose(d));
}

static void change_tiny(hid_t f)
{
    int   v[TINY];
    hid_t d = TRY(H5Dopen2(f, "tiny", H5P_DEFAULT));
    for (int i = 0; i < TINY / 3; i++)
        v[i] = 10000 + 3 * i;
    write_elements(d, H5T_NATIVE_INT, 0, 3, TINY / 3, v);
    TRY(H5Dclose(d));
    d = make_dataset(f, "made/tiny", &(struct made){.dims = {TINY}, .chunk = {4}});
    write_elements(d, H5T_NATIVE_INT, 0, 3, TINY / 3, v);
    TRY(H5Dclose(d));
}

static void make_layouts(hid_t f)
{
    hsize_t n = VIEW, all = TINY, out = OUT, zero = 0;
    int     v[VIEW];
    hid_t   s = TRY(H5Screate_simple(1, &n, NULL)), from = TRY(H5Screate_simple(1, &all, NULL)), p = TRY(H5Pcreate(H5P_DATASET_CREATE));
    TRY(H5Sselect_hyperslab(from, H5S_SELECT_SET, &zero, NULL, &n, NULL));
    TRY(H5Pset_virtual(p, s, ".", "made/tiny", from));
    hid_t d = TRY(H5Dcreate2(f, "made/view", H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
    for (int i = 0; i < VIEW; i++)
        v[i] = 20000 + i;
    TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v)); /* goes to the source */
    TRY(H5Dclose(d));
    TRY(H5Pclose(p));
    p = TRY(H5Pcreate(H5P_DATASET_CREATE));
    TRY(H5Pset_external(p, "outside.raw", 16, OUT * sizeof(int)));
    hid_t o = TRY(H5Screate_simple(1, &out, NULL));
    d       = TRY(H5Dcreate2(f, "made/outside", H5T_STD_I32LE, o, H5P_DEFAULT, p, H5P_DEFAULT));
    TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    TRY(H5Dclose(d));
    TRY(H5Sclose(o));
    TRY(H5Pclose(p));
    TRY(H5Sclose(from));
    TRY(H5Sclose(s));
}

/* More than fits setting meta_cache: stored objects, new ones, and links of stored groups, which go in a
 * certain order. */
static void change_many(hid_t f)
{
    hid_t old = TRY(H5Gopen2(f, "old", H5P_DEFAULT));
    for (int i = 0; i < OLD; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "o%02d", i);
        hid_t o = TRY(H5Gopen2(old, name, H5P_DEFAULT)), n = TRY(H5Gcreate2(o, "new", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
        set_big(n, 30);
        TRY(H5Gclose(n));
        if (i % 2) {
            n = TRY(H5Gcreate2(f, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
            set_big(n, 40);
            TRY(H5Gclose(n));
        }
        set_big(o, 20);
        TRY(H5Gclose(o));
    }
    TRY(H5Gclose(old));
}

static void remove_some(hid_t f)
{
    hid_t old = TRY(H5Gopen2(f, "old", H5P_DEFAULT));
    TRY(H5Ldelete(f, "lists", H5P_DEFAULT));
    TRY(H5Ldelete(f, "made/texts", H5P_DEFAULT));
    TRY(H5Ldelete(f, "made/view", H5P_DEFAULT));
    for (int i = 1; i < OLD; i += 6) { /* a moved object is never out of reach */
        char name[20];
        (void)snprintf(name, sizeof name, "o%02d", i);
        TRY(H5Lmove(f, name, old, i % 4 == 1 ? name + 1 : name + 2, H5P_DEFAULT, H5P_DEFAULT));
    }
    TRY(H5Gclose(old));
}

static void run_phase(hid_t f, int phase)
{
    static void (*const changes[])(hid_t) = {change_variable, change_types, change_tiny, make_layouts, change_many, remove_some};
    changes[phase - 1](f);
}

static int session(const char *name)
{
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT));
    expect_connector(f);
    note("flushed", 0);
    for (int phase = 1; phase <= PHASES; phase++) {
        run_phase(f, phase);
        flush_noted(f, phase);
    }
    TRY(H5Fclose(f));
    note("flushed", PHASES);
    return 0;
}

/* ---- looking ---- */

static void check_variable(hid_t f, int last, int next)
{
    hid_t d = TRY(H5Dopen2(f, "words", H5P_DEFAULT));
    int   n = (int)rows(d);
    REQUIRE((n == WORDS && last < 1) || (n == MORE && next >= 1), "%d words after phase %d", n, last);
    TRY(H5Dclose(d));
    check_words(f, "words", 0, 5, true, false);
    check_words(f, "words", 5, WORDS, last < 1, next >= 1);
    if (n == MORE) /* the rows were there before the extent */
        check_words(f, "words", WORDS, MORE, false, true);
    REQUIRE(exists(f, "lists") || next >= PHASES, "lists are gone after phase %d", last);
    if (exists(f, "lists"))
        check_lists(f, last < 1, next >= 1);
    REQUIRE(exists(f, "made/texts") ? next >= 1 && last < PHASES : last < 1 || next >= PHASES, "texts after phase %d", last);
    if (exists(f, "made/texts"))
        check_words(f, "made/texts", 0, WORDS, false, true);
}

static void check_types(hid_t f, int last, int next)
{
    hid_t d   = TRY(H5Dopen2(f, "typed", H5P_DEFAULT));
    int   new = typed_attr_value(d, "of new"), old = typed_attr_value(d, "of old");
    TRY(H5Dclose(d));
    check_typed(f, "typed", 1000, 2000, last < 2, next >= 2);
    REQUIRE(new == old - (old != -1) && (new == 77 ? next >= 2 : new == -1 && last < 2), "%d, %d after phase %d", new, old, last);
    REQUIRE(exists(f, "made/typed") ? next >= 2 : last < 2, "made/typed after phase %d", last);
    if (exists(f, "made/typed"))
        check_typed(f, "made/typed", 3000, 3000, true, true);
    if (exists(f, "made/kind"))
        TRY(H5Tclose(TRY(H5Topen2(f, "made/kind", H5P_DEFAULT))));
}

static void check_tiny(hid_t f, int last, int next)
{
    int   v[TINY];
    hid_t d = TRY(H5Dopen2(f, "tiny", H5P_DEFAULT));
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    TRY(H5Dclose(d));
    for (int i = 0; i < TINY; i++) {
        bool third = i % 3 == 0 && i / 3 < TINY / 3;
        REQUIRE((v[i] == i && (!third || last < 3)) || (third && next >= 3 && v[i] == 10000 + i), "tiny[%d] is %d", i, v[i]);
    }
    REQUIRE(exists(f, "made/tiny") ? next >= 3 : last < 3, "made/tiny after phase %d", last);
    if (!exists(f, "made/tiny"))
        return;
    d = TRY(H5Dopen2(f, "made/tiny", H5P_DEFAULT));
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    TRY(H5Dclose(d));
    for (int i = 0; i < TINY; i++) {
        int old = i % 3 == 0 && i / 3 < TINY / 3 ? 10000 + i : 0;
        REQUIRE((v[i] == old && (i >= VIEW || last < 4)) || (v[i] == 20000 + i && i < VIEW && next >= 4), "made/tiny[%d] is %d", i, v[i]);
    }
}

static void check_layouts(hid_t f, int last, int next)
{
    int   v[VIEW], source[TINY];
    bool  there = exists(f, "made/outside"), view = exists(f, "made/view");
    REQUIRE(there ? next >= 4 : last < 4, "made/outside after phase %d", last);
    REQUIRE(view ? next >= 4 && last < PHASES : last < 4 || next >= PHASES, "made/view after phase %d", last);
    if (there) {
        hid_t d = TRY(H5Dopen2(f, "made/outside", H5P_DEFAULT));
        TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        for (int i = 0; i < OUT; i++)
            REQUIRE(v[i] == 20000 + i, "made/outside[%d] is %d", i, v[i]);
        TRY(H5Dclose(d));
    }
    if (view) {
        hid_t d = TRY(H5Dopen2(f, "made/view", H5P_DEFAULT)), from = TRY(H5Dopen2(f, "made/tiny", H5P_DEFAULT));
        TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
        TRY(H5Dread(from, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, source));
        REQUIRE(memcmp(v, source, sizeof v) == 0, "made/view shows something else than its source");
        TRY(H5Dclose(from));
        TRY(H5Dclose(d));
    }
}

/* An object stored ahead of the flush may lack an attribute, or its value, that was still to come. */
static void check_new(hid_t at, const char *name, int want, int last)
{
    hid_t n = TRY(H5Gopen2(at, name, H5P_DEFAULT));
    int   b = big_value(n);
    REQUIRE(b == want || (last < 5 && (b == -1 || b == 0)), "%s is %d, not %d, after phase %d", name, b, want, last);
    TRY(H5Gclose(n));
}

static void check_many(hid_t f, int last, int next)
{
    hid_t old = TRY(H5Gopen2(f, "old", H5P_DEFAULT));
    for (int i = 0; i < OLD; i++) {
        char name[20];
        (void)snprintf(name, sizeof name, "o%02d", i);
        hid_t o = TRY(H5Gopen2(old, name, H5P_DEFAULT));
        int   b = big_value(o);
        REQUIRE((b == 10 && last < 5) || (b == 20 && next >= 5), "old/%s is %d after phase %d", name, b, last);
        REQUIRE(exists(o, "new") ? next >= 5 : last < 5, "old/%s/new after phase %d", name, last);
        if (exists(o, "new"))
            check_new(o, "new", 30, last);
        TRY(H5Gclose(o));
        if (i % 2 == 0)
            continue;
        bool moves = i % 6 == 1, here = exists(f, name), there = moves && exists(old, i % 4 == 1 ? name + 1 : name + 2);
        REQUIRE(here || there ? next >= 5 : last < 5, "%s after phase %d", name, last);
        REQUIRE(!there || next >= 6, "%s was moved too early", name);
        REQUIRE(last < 6 || here != moves, "%s after phase %d", name, last);
        if (here)
            check_new(f, name, 40, last);
        if (there)
            check_new(old, i % 4 == 1 ? name + 1 : name + 2, 40, last);
    }
    TRY(H5Gclose(old));
}

static int check(const char *name, int last)
{
    int   next = last < PHASES ? last + 1 : last;
    hid_t f    = TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    expect_connector(f);
    check_variable(f, last, next);
    check_types(f, last, next);
    check_tiny(f, last, next);
    check_layouts(f, last, next);
    check_many(f, last, next);
    TRY(H5Fclose(f));
    f = TRY(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT)); /* and it goes on from there */
    put_words(f, "words", 0, 5, true);
    TRY(H5Gclose(TRY(H5Gcreate2(f, "after", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT))));
    TRY(H5Fclose(f));
    f = TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    check_words(f, "words", 0, 5, false, true);
    REQUIRE(exists(f, "after"), "written after the crash");
    TRY(H5Fclose(f));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc >= 3 && strcmp(argv[1], "prepare") == 0) {
        hid_t f = TRY(H5Fcreate(argv[2], H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
        expect_connector(f);
        prepare(f);
        TRY(H5Fclose(f));
        return 0;
    }
    if (argc == 4 && strcmp(argv[1], "write") == 0) {
        log_name = argv[3];
        return session(argv[2]);
    }
    int last = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0;
    return argc == 4 && strcmp(argv[1], "check") == 0 ? check(argv[2], last < 0 ? 0 : last) : 2;
}
