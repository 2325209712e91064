/* A writer that changes an existing domain, and may be killed at any moment; and a reader that checks the
 * result.
 *
 *   crash_changes prepare NAME       the domain as it is before
 *   crash_changes write NAME LOG     the session: phases, each ended by H5Fflush(); LOG gets "flushed N", and "failed N" when
 *                                    the flush (or the change itself) failed: then it is tried once more
 *   crash_changes close NAME LOG     the same session without a flush: all is stored by H5Fclose(), tried again when it fails
 *   crash_changes replace NAME LOG   H5Fcreate() with H5F_ACC_TRUNC over it, one phase
 *   crash_changes check NAME N       each thing is as it was after phase N, or N + 1
 *   crash_changes check-closed, check-replaced NAME N   after close (N: -1 or all phases) or replace (-1, 1)
 *
 * $BKT_BIG: KiB of a dataset of one chunk, 64 by default.  Through the connector that HDF5_VOL_CONNECTOR
 * names, which must be $BKT_CONNECTOR. */
#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "h5tests/crash/crash_log.h"
#include "h5tests/helpers/must_succeed_file.h"

enum { PHASES = 6, FILL = -7, CHUNK = 32, SIDE = 10, FIELD = 100 };
static const int fill = FILL;

/* ---- small things ---- */

static bool exists(hid_t at, const char *name) { return TRY(H5Lexists(at, name, H5P_DEFAULT)) > 0; }

/* Reads a dataset of at most max ints; its extent. */
static void read_all(hid_t at, const char *name, int *v, size_t max, hsize_t *dims)
{
    hid_t    d = TRY(H5Dopen2(at, name, H5P_DEFAULT)), s = TRY(H5Dget_space(d));
    hssize_t n = TRY(H5Sget_simple_extent_npoints(s));
    TRY(H5Sget_simple_extent_dims(s, dims, NULL));
    REQUIRE((size_t)n <= max, "%s has %d elements", name, (int)n);
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    TRY(H5Sclose(s));
    TRY(H5Dclose(d));
}

static void new_field(hid_t at, const char *name, int base)
{
    hid_t d = make_dataset(at, name, &(struct made){.dims = {FIELD}, .chunk = {30}, .fill = &fill, .shuffle = true, .deflate = true});
    write_numbers(d, 0, FIELD, base, 1);
    TRY(H5Dclose(d));
}

static void check_field(hid_t at, const char *name, int base)
{
    int     v[FIELD];
    hsize_t n = 0;
    read_all(at, name, v, FIELD, &n);
    for (int i = 0; i < FIELD; i++)
        REQUIRE(n == FIELD && v[i] == base + i, "%s[%d] of %d is %d", name, i, (int)n, v[i]);
}

static hsize_t big_n(void)
{
    const char *kib = getenv("BKT_BIG");
    return (hsize_t)(kib ? strtoul(kib, NULL, 10) : 64) * 256;
}

/* ---- before ---- */

static void new_group(hid_t at, const char *name, int who)
{
    hid_t g = TRY(H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    set_attr(g, "who", who);
    TRY(H5Gclose(g));
}

static void prepare(hid_t f)
{
    hsize_t n = 50;
    int     v[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++)
        v[i] = 1 + i;
    hid_t d = make_dataset(f, "series", &(struct made){.dims = {n}, .max = {H5S_UNLIMITED}, .chunk = {CHUNK}, .fill = &fill});
    write_numbers(d, 0, n, 1000, 1);
    set_attr(d, "level", 0);
    TRY(H5Dclose(d));
    d = make_dataset(f, "table", &(struct made){
        .rank = 2, .dims = {SIDE, SIDE}, .chunk = {4, 4}, .fill = &fill, .shuffle = true, .deflate = true});
    TRY(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    TRY(H5Dclose(d));
    hid_t a = TRY(H5Gcreate2(f, "a", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)), b = TRY(H5Gcreate2(f, "b", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    new_field(a, "moves", 2000);
    new_field(a, "goes", 3000);
    set_attr(a, "old", 5);
    hid_t t = TRY(H5Gcreate2(a, "tree", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    new_field(t, "leaf", 4000);
    new_group(a, "there", 1);
    new_group(b, "back", 2);
    TRY(H5Gclose(t));
    TRY(H5Lcreate_soft("/series", b, "soft", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Gclose(a));
    TRY(H5Gclose(b));
}

/* ---- the session ---- */

struct extent {
    hid_t          d;
    const hsize_t *dims;
};

static herr_t set_extent(void *arg)
{
    const struct extent *e = arg;
    return H5Dset_extent(e->d, e->dims);
}

static void resize(hid_t f, const char *name, hsize_t rows, hsize_t cols, int phase)
{
    hsize_t       dims[2] = {rows, cols};
    struct extent e       = {TRY(H5Dopen2(f, name, H5P_DEFAULT)), dims};
    twice(set_extent, &e, phase, "H5Dset_extent");
    TRY(H5Dclose(e.d));
}

static void write_rows(hid_t f, hsize_t from, hsize_t n, int base)
{
    hid_t d = TRY(H5Dopen2(f, "series", H5P_DEFAULT));
    write_numbers(d, from, n, base + (int)from, 1);
    TRY(H5Dclose(d));
}

static void change_links(hid_t f)
{
    TRY(H5Lmove(f, "a/moves", f, "b/moved", H5P_DEFAULT, H5P_DEFAULT));
    /* each group gains the member that the other loses */
    TRY(H5Lmove(f, "a/there", f, "b/there", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Lmove(f, "b/back", f, "a/back", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Ldelete(f, "a/goes", H5P_DEFAULT));
    TRY(H5Ldelete(f, "a/tree", H5P_DEFAULT));
    TRY(H5Lcreate_hard(f, "series", f, "b/again", H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Lcreate_external("other.h5", "/x", f, "b/out", H5P_DEFAULT, H5P_DEFAULT));
}

static void add_objects(hid_t f)
{
    hsize_t n = big_n();
    int    *v = malloc((size_t)n * sizeof *v);
    for (hsize_t i = 0; v && i < n; i++)
        v[i] = (int)(i * 2654435761U);
    hid_t d = make_dataset(f, "big", &(struct made){.dims = {n}, .chunk = {n}, .fill = &fill});
    TRY(v ? H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v) : -1);
    TRY(H5Dclose(d));
    free(v);
    TRY(H5Ocopy(f, "b", f, "copy", H5P_DEFAULT, H5P_DEFAULT));
}

static void change_attributes(hid_t f)
{
    hid_t a = TRY(H5Gopen2(f, "a", H5P_DEFAULT)), d = TRY(H5Dopen2(f, "series", H5P_DEFAULT)), t = TRY(H5Tcopy(H5T_STD_I16LE));
    TRY(H5Arename(a, "old", "new"));
    TRY(H5Adelete(d, "level"));
    TRY(H5Oset_comment(a, "a comment"));
    TRY(H5Oincr_refcount(a));
    TRY(H5Tcommit2(a, "type", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    TRY(H5Tclose(t));
    TRY(H5Dclose(d));
    TRY(H5Gclose(a));
}

static void run_phase(hid_t f, int phase)
{
    switch (phase) {
        case 1: /* append */
            resize(f, "series", 100, 0, phase);
            write_rows(f, 50, 50, 1000);
            break;
        case 2:
            resize(f, "series", 30, 0, phase);
            break;
        case 3: /* grown again, some of it written; cut both ways at once */
            resize(f, "series", 80, 0, phase);
            write_rows(f, 60, 20, 5000);
            resize(f, "table", 5, SIDE, phase);
            resize(f, "table", SIDE, 7, phase);
            break;
        case 4:
            change_links(f);
            break;
        case 5:
            add_objects(f);
            break;
        default:
            change_attributes(f);
    }
    hid_t d = TRY(H5Dopen2(f, "series", H5P_DEFAULT));
    if (phase < PHASES)
        set_attr(d, "level", phase);
    TRY(H5Dclose(d));
}

static int session(const char *name, bool flushes)
{
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT));
    expect_connector(f);
    note("flushed", 0);
    for (int phase = 1; phase <= PHASES; phase++) {
        run_phase(f, phase);
        if (flushes)
            flush_noted(f, phase);
    }
    close_noted(f, PHASES);
    return 0;
}

static int replace(const char *name)
{
    note("flushed", 0);
    hid_t f = TRY(H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    expect_connector(f);
    new_field(f, "fresh", 9000);
    flush_noted(f, 1);
    new_field(f, "later", 8000);
    close_noted(f, PHASES);
    return 0;
}

/* ---- looking: how each thing was after which phase ---- */

static bool series_is(int state, hsize_t n, const int *v)
{
    static const hsize_t rows[] = {50, 100, 30, 80, 80, 80, 80};
    bool                 same   = n == rows[state];
    for (hsize_t i = 0; same && i < n; i++)
        same = v[i] == (state < 3 || i < 30 ? 1000 + (int)i : i < 60 ? FILL : 5000 + (int)i);
    return same;
}

/* In phase 3 it shrinks twice, and each shrink is stored. */
static bool table_is(int state, bool between, const hsize_t *dims, const int *v)
{
    hsize_t rows = between ? 5 : SIDE, cols = between || state < 3 ? SIDE : 7;
    bool    same = dims[0] == rows && dims[1] == cols;
    for (hsize_t i = 0; same && i < rows; i++)
        for (hsize_t j = 0; same && j < cols; j++)
            same = v[i * cols + j] == (state < 3 || i < 5 ? 1 + (int)(i * SIDE + j) : FILL);
    return same;
}

static void check_extents(hid_t f, int last, int next)
{
    int     v[SIDE * SIDE] = {0};
    hsize_t dims[2]        = {0, 0};
    bool    ok             = false;
    read_all(f, "series", v, SIDE * SIDE, dims);
    for (int s = last; s <= next; s++)
        ok |= series_is(s, dims[0], v);
    REQUIRE(ok, "series of %d rows after phase %d: %d %d %d %d ...", (int)dims[0], last, v[0], v[29], v[30], v[60]);
    read_all(f, "table", v, SIDE * SIDE, dims);
    ok = last < 3 && next >= 3 && table_is(2, true, dims, v);
    for (int s = last; s <= next; s++)
        ok |= table_is(s, false, dims, v);
    REQUIRE(ok, "table of %d x %d after phase %d", (int)dims[0], (int)dims[1], last);
}

/* The members that phase 4 moves between two groups. */
static void check_moved(hid_t f, const char *from, const char *to, int who, int last, int next)
{
    bool moved = exists(f, to), stays = exists(f, from);
    REQUIRE(moved || stays, "%s is out of reach", to);
    REQUIRE((!moved || next >= 4) && (!stays || last < 4), "%s after phase %d", to, last);
    hid_t g = TRY(H5Gopen2(f, moved ? to : from, H5P_DEFAULT));
    REQUIRE(get_attr(g, "who") == who, "%s is another", to);
    TRY(H5Gclose(g));
}

static void check_links(hid_t f, int last, int next)
{
    check_moved(f, "a/there", "b/there", 1, last, next);
    check_moved(f, "b/back", "a/back", 2, last, next);
    bool moved = exists(f, "b/moved"), stays = exists(f, "a/moves");
    REQUIRE(moved || stays, "what is moved is out of reach");
    REQUIRE((!moved || next >= 4) && (!stays || last < 4), "moved after phase %d", last);
    check_field(f, moved ? "b/moved" : "a/moves", 2000);
    if (exists(f, "a/goes"))
        check_field(f, "a/goes", 3000);
    if (exists(f, "a/tree"))
        check_field(f, "a/tree/leaf", 4000);
    REQUIRE(last >= 4 || next >= 4 || (exists(f, "a/goes") && exists(f, "a/tree")), "removed too early");
    REQUIRE(last < 4 || (!exists(f, "a/goes") && !exists(f, "a/tree") && exists(f, "b/again") && exists(f, "b/out")), "links after %d", last);
}

static void check_objects(hid_t f, int last, int next)
{
    REQUIRE(last < 5 || (exists(f, "big") && exists(f, "copy")), "objects after phase %d", last);
    REQUIRE(next >= 5 || (!exists(f, "big") && !exists(f, "copy")), "objects before phase 5");
    if (exists(f, "copy"))
        check_field(f, "copy/moved", 2000);
    if (!exists(f, "big"))
        return;
    hsize_t n = 0, want = big_n();
    int    *v = calloc((size_t)want, sizeof *v);
    read_all(f, "big", v, (size_t)want, &n);
    for (hsize_t i = 0; i < want; i++)
        REQUIRE(n == want && v[i] == (int)(i * 2654435761U), "big[%d] is %d", (int)i, v[i]);
    free(v);
}

static void check_attributes(hid_t f, int last, int next)
{
    hid_t a = TRY(H5Gopen2(f, "a", H5P_DEFAULT)), d = TRY(H5Dopen2(f, "series", H5P_DEFAULT));
    int   level = get_attr(d, "level"), was = get_attr(a, "old"), is = get_attr(a, "new");
    char  text[20] = "";
    REQUIRE((level >= last && level <= next) || (level == -1 && next == PHASES), "level is %d after phase %d", level, last);
    REQUIRE((was == 5) != (is == 5) && was * is == -5, "old %d, new %d", was, is);
    REQUIRE(last < PHASES || (is == 5 && level == -1), "attributes after the last phase: %d %d", is, level);
    REQUIRE(next >= PHASES || was == 5, "renamed too early");
    TRY(H5Oget_comment(a, text, sizeof text));
    REQUIRE(strcmp(text, is == 5 ? "a comment" : "") == 0, "comment %s", text);
    H5O_info2_t info;
    TRY(H5Oget_info3(a, &info, H5O_INFO_BASIC));
    REQUIRE(info.rc == (is == 5 ? 2 : 1), "%u links", info.rc);
    TRY(H5Dclose(d));
    TRY(H5Gclose(a));
}

/* Elements that a cut-off shrink has left must not come back.  Rows of an append that was cut off may show. */
static void grow_series(hid_t f)
{
    hsize_t n = 0, size = 120;
    int     v[120];
    hid_t   d = TRY(H5Dopen2(f, "series", H5P_DEFAULT)), s = TRY(H5Dget_space(d));
    TRY(H5Sget_simple_extent_dims(s, &n, NULL));
    TRY(H5Dset_extent(d, &size));
    TRY(H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    for (hsize_t i = n; i < size; i++) {
        bool appended = n == 50 ? i < 100 && v[i] == 1000 + (int)i : n == 30 && i >= 60 && i < 80 && v[i] == 5000 + (int)i;
        REQUIRE(v[i] == FILL || appended, "grown from %d to 120 rows, row %d is %d", (int)n, (int)i, v[i]);
    }
    TRY(H5Sclose(s));
    TRY(H5Dclose(d));
}

static void write_again(const char *name, bool grow)
{
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDWR, H5P_DEFAULT));
    set_attr(f, "after", 7);
    if (grow)
        grow_series(f);
    TRY(H5Fclose(f));
    f = TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    REQUIRE(get_attr(f, "after") == 7, "written after the crash");
    TRY(H5Fclose(f));
}

static int check(const char *name, int last, int next)
{
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    expect_connector(f);
    check_extents(f, last, next);
    check_links(f, last, next);
    check_objects(f, last, next);
    check_attributes(f, last, next);
    TRY(H5Fclose(f));
    write_again(name, true);
    return 0;
}

static int check_replaced(const char *name, int last)
{
    hid_t f = TRY(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT));
    expect_connector(f);
    bool new = exists(f, "fresh");
    REQUIRE(new || last < 1, "the old one is there");
    if (new) {
        check_field(f, "fresh", 9000);
        REQUIRE(exists(f, "later") || last < PHASES, "the last phase is missing");
        if (exists(f, "later"))
            check_field(f, "later", 8000);
    }
    TRY(H5Fclose(f));
    if (!new)
        return check(name, 0, 0);
    write_again(name, false);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc >= 3 ? argv[1] : "";
    int         last = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0;
    if (last < 0)
        last = 0;
    if (strcmp(what, "prepare") == 0) {
        hid_t f = TRY(H5Fcreate(argv[2], H5F_ACC_EXCL, H5P_DEFAULT, H5P_DEFAULT));
        expect_connector(f);
        prepare(f);
        TRY(H5Fclose(f));
        return 0;
    }
    if (argc != 4)
        return 2;
    log_name = argv[3];
    if (strcmp(what, "write") == 0 || strcmp(what, "close") == 0)
        return session(argv[2], *what == 'w');
    if (strcmp(what, "replace") == 0)
        return replace(argv[2]);
    if (strcmp(what, "check") == 0)
        return check(argv[2], last, last < PHASES ? last + 1 : last);
    if (strcmp(what, "check-closed") == 0)
        return check(argv[2], last, PHASES);
    return strcmp(what, "check-replaced") == 0 ? check_replaced(argv[2], last) : 2;
}
