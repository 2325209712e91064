/* Files: how they are created and opened, when what was written is in the store, and what becomes of it when it can't be.
 *
 *   h5_write_files          all of it, in a temporary folder or in $BKT_H5_WRITE
 *   h5_write_files leave NAME | exit NAME | h5close NAME    writes a domain and ends without closing it */
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compare_write.h"

static const char *self;

static int number_in(hid_t file, const char *name)
{
    int   v = -1;
    hid_t d = H5Dopen2(file, name, H5P_DEFAULT);
    if (d >= 0)
        H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v);
    if (d >= 0)
        H5Dclose(d);
    H5Eclear2(H5E_DEFAULT);
    return v;
}

static hid_t write_number(hid_t file, const char *name, int v)
{
    hid_t s = H5Screate(H5S_SCALAR), d = H5Dcreate2(file, name, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sclose(s);
    if (d >= 0)
        H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v);
    return d;
}

static void put_number(hid_t file, const char *name, int v)
{
    hid_t d = write_number(file, name, v);
    if (d >= 0)
        H5Dclose(d);
}

/* What the store has, and not what this process remembers: other settings make another domain of it. */
static int stored_number(const struct out *o, const char *leaf, const char *name)
{
    hid_t fapl = fapl_ours("prefetch=0"), f = H5Fopen(new_name(o, leaf), H5F_ACC_RDONLY, fapl);
    int   v    = f >= 0 ? number_in(f, name) : -2;
    if (f >= 0)
        H5Fclose(f);
    H5Pclose(fapl);
    H5Eclear2(H5E_DEFAULT);
    return v;
}

static void modes(hid_t f, struct out *o)
{
    hid_t fapl = new_fapl(o), g;
    (void)f;
    const char *name = new_name(o, "modes.h5");
    say_result(o, "opening what is not there", H5Fopen(name, H5F_ACC_RDWR, fapl));
    say_result(o, "creating, exclusively", g = H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, fapl));
    put_number(g, "n", 1);
    unsigned intent = 99;
    H5Fget_intent(g, &intent);
    say(o, "intent %u", intent);
    say_result(o, "creating what is open", H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
    if (o->ours) /* HDF5 lets one delete an open file; what is open then is in nobody's store */
        CHECK(H5Fdelete(name, fapl) < 0, "an open domain is deleted");
    H5Eclear2(H5E_DEFAULT);
    say_result(o, "closing", H5Fclose(g));
    say_result(o, "exclusively again", H5Fcreate(name, H5F_ACC_EXCL, H5P_DEFAULT, fapl));
    say_result(o, "reading and writing", g = H5Fopen(name, H5F_ACC_RDWR, fapl));
    say(o, "n is %d", number_in(g, "n"));
    put_number(g, "m", 2);
    H5Fclose(g);
    g = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    H5Fget_intent(g, &intent);
    say(o, "m is %d, intent %u", number_in(g, "m"), intent);
    H5Fclose(g);
    say_result(o, "over it", g = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
    say(o, "n is %d", number_in(g, "n"));
    put_number(g, "k", 3);
    H5Fclose(g);
    g = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    say(o, "n is %d, k is %d", number_in(g, "n"), number_in(g, "k"));
    H5Fclose(g);
    say(o, "accessible %d", H5Fis_accessible(name, fapl));
    say_result(o, "deleting", H5Fdelete(name, fapl));
    say_result(o, "opening what was deleted", H5Fopen(name, H5F_ACC_RDONLY, fapl));
    say_result(o, "deleting what is not there", H5Fdelete(name, fapl));
    H5Pclose(fapl);
}

static void handles(hid_t f, struct out *o)
{
    hid_t fapl = new_fapl(o), again = H5Freopen(f), third = H5Fopen(new_name(o, "case.h5"), H5F_ACC_RDWR, fapl);
    put_number(f, "a", 1);
    say(o, "reopened: a is %d, opened: %d", number_in(again, "a"), number_in(third, "a"));
    put_number(third, "b", 2);
    say(o, "b is %d", number_in(f, "b"));
    H5Fclose(again);
    H5Fclose(third);
    put_number(f, "c", 3);
    H5Pclose(fapl);
}

static void degrees(hid_t f, struct out *o)
{
    static const H5F_close_degree_t kinds[] = {H5F_CLOSE_WEAK, H5F_CLOSE_SEMI, H5F_CLOSE_STRONG};
    (void)f;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        hid_t fapl = new_fapl(o);
        H5Pset_fclose_degree(fapl, kinds[i]);
        hid_t g = H5Fcreate(new_name(o, "degree.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
        hid_t d = write_number(g, "n", 5);
        int   v = 6;
        say_result(o, "closing with a dataset open", H5Fclose(g));
        say(o, "it is open: %d", H5Iis_valid(d) > 0);
        if (H5Iis_valid(d) > 0) {
            say_result(o, "writing to it", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v));
            H5Dclose(d);
        }
        if (H5Iis_valid(g) > 0)
            H5Fclose(g);
        g = H5Fopen(new_name(o, "degree.h5"), H5F_ACC_RDONLY, fapl);
        say(o, "n is %d", number_in(g, "n"));
        H5Fclose(g);
        H5Fdelete(new_name(o, "degree.h5"), fapl);
        H5Pclose(fapl);
    }
}

static void links_to_other_files(hid_t f, struct out *o)
{
    hid_t fapl = new_fapl(o), other = H5Fcreate(new_name(o, "other.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    put_number(other, "n", 7);
    H5Gclose(H5Gcreate2(other, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(other);
    H5Lcreate_external("other.h5", "/", f, "other", H5P_DEFAULT, H5P_DEFAULT);
    say(o, "through the link: %d", number_in(f, "other/n"));
    put_number(f, "other/g/m", 8);
    H5Fflush(f, H5F_SCOPE_GLOBAL);
    say(o, "written through the link: %d", number_in(f, "other/g/m"));
    other = H5Fopen(new_name(o, "other.h5"), H5F_ACC_RDONLY, fapl);
    say(o, "seen from there: %d", number_in(other, "g/m"));
    H5Fclose(other);
    /* nothing of it is open any more: it may be replaced while this file is open */
    other = H5Fcreate(new_name(o, "other.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    say_result(o, "replacing it", other);
    put_number(other, "n", 9);
    H5Fclose(other);
    say(o, "through the link: %d", number_in(f, "other/n"));
    say_result(o, "deleting it", H5Fdelete(new_name(o, "other.h5"), fapl));
    H5Ldelete(f, "other", H5P_DEFAULT);
    H5Pclose(fapl);
}

static const struct write_case cases[] = {
    {"files are created, opened and deleted", modes, NULL},
    {"several handles on one file", handles, NULL},
    {"close degrees", degrees, NULL},
    {"writing through external links", links_to_other_files, NULL},
};

/* ---- what only a domain has to show ---- */

static void flushing(const struct out *o)
{
    hid_t fapl = new_fapl(o), f = H5Fcreate(new_name(o, "flush.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    put_number(f, "n", 1);
    CHECK(H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "H5Fflush: %s", error_text());
    CHECK(stored_number(o, "flush.h5", "n") == 1, "what was flushed is not in the store");
    hid_t d = write_number(f, "m", 2);
    CHECK(H5Dflush(d) >= 0, "H5Dflush: %s", error_text());
    CHECK(stored_number(o, "flush.h5", "m") == 2, "a dataset that was flushed is not in the store");
    H5Fclose(f); /* m is open */
    CHECK(stored_number(o, "flush.h5", "m") == 2, "m after H5Fclose");
    int v = 3;
    H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v);
    CHECK(H5Dclose(d) >= 0, "H5Dclose: %s", error_text());
    CHECK(stored_number(o, "flush.h5", "m") == 3, "closing the last object stores nothing");
    /* another process changes it: refresh */
    f         = H5Fopen(new_name(o, "flush.h5"), H5F_ACC_RDONLY, fapl);
    d         = H5Dopen2(f, "n", H5P_DEFAULT);
    hid_t alt = fapl_ours("prefetch=0"), g = H5Fopen(new_name(o, "flush.h5"), H5F_ACC_RDWR, alt);
    H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v);
    hid_t e = H5Dopen2(g, "n", H5P_DEFAULT);
    v       = 10;
    H5Dwrite(e, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v);
    H5Dclose(e);
    H5Fclose(g);
    CHECK(H5Drefresh(d) >= 0, "H5Drefresh: %s", error_text());
    H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &v);
    CHECK(v == 10, "after H5Drefresh n is %d", v);
    H5Dclose(d);
    H5Fclose(f);
    H5Fdelete(new_name(o, "flush.h5"), fapl);
    H5Pclose(fapl);
    H5Pclose(alt);
}

/* The bucket's object tree is put out of the way: what can't be stored is told by flush and close, kept, and stored later. */
static void failing(const struct out *o)
{
    if (getenv("BKT_H5_WRITE"))
        return;
    char away[8500], db[8400];
    snprintf(db, sizeof db, "%s", new_name(o, "db"));
    snprintf(away, sizeof away, "%s.away", db);
    hid_t fapl = new_fapl(o), f = H5Fcreate(new_name(o, "fail.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    put_number(f, "n", 1);
    CHECK(H5Fflush(f, H5F_SCOPE_LOCAL) >= 0, "H5Fflush: %s", error_text());
    hid_t d = write_number(f, "m", 2);
    CHECK(rename(db, away) == 0, "%s can't be moved", db);
    FILE *in_the_way = fopen(db, "w");
    fclose(in_the_way);
    CHECK(H5Fflush(f, H5F_SCOPE_LOCAL) < 0, "H5Fflush succeeds though nothing can be stored");
    const char *why = error_text();
    CHECK(strstr(why, "db") != NULL || strstr(why, "stored") != NULL, "H5Fflush fails with: %s", why);
    H5Dclose(d);
    CHECK(H5Fclose(f) < 0, "H5Fclose succeeds though nothing can be stored");
    CHECK(strlen(error_text()) > 0, "H5Fclose says nothing");
    CHECK(H5Iis_valid(f) > 0, "the file is gone after H5Fclose failed");
    CHECK(number_in(f, "m") == 2, "m is not in memory any more");
    CHECK(unlink(db) == 0 && rename(away, db) == 0, "%s can't be put back", db);
    CHECK(H5Fclose(f) >= 0, "the second H5Fclose: %s", error_text());
    CHECK(stored_number(o, "fail.h5", "m") == 2, "m is not in the store");
    CHECK(stored_number(o, "fail.h5", "n") == 1, "n is not in the store");
    H5Fdelete(new_name(o, "fail.h5"), fapl);
    H5Pclose(fapl);
}

/* A program that ends without closing its file. */
static int leave(const char *how, const char *name)
{
    hid_t fapl = fapl_ours(NULL), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    if (f < 0 || write_number(f, "n", 77) < 0 || H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) < 0)
        return 2;
    if (strcmp(how, "h5close") == 0)
        return H5close() < 0;
    if (strcmp(how, "exit") == 0)
        exit(0);
    return 0;
}

static void ending(const struct out *o)
{
    const char *how[] = {"leave", "exit", "h5close"};
    for (size_t i = 0; i < COUNT(how); i++) {
        char  command[10000];
        hid_t fapl = new_fapl(o);
        snprintf(command, sizeof command, "'%s' %s '%s'", self, how[i], new_name(o, "left.h5"));
        int rc = system(command);
        CHECK(rc == 0, "a program that ends by %s gives %d", how[i], rc);
        CHECK(stored_number(o, "left.h5", "n") == 77, "a program that ends by %s: what it wrote is lost", how[i]);
        H5Fdelete(new_name(o, "left.h5"), fapl);
        H5Pclose(fapl);
    }
}

static void plain_files(const struct out *o)
{
    struct out native = {.ours = false};
    hid_t      nfapl = fapl_native(), fapl = new_fapl(o), f = H5Fcreate(new_name(&native, "plain.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, nfapl);
    put_number(f, "n", 5);
    H5Fclose(f);
    f = H5Fcreate(new_name(&native, "plain.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(f < 0, "a domain is created over a plain HDF5 file");
    CHECK(strlen(error_text()) > 0, "it fails without a word");
    f = H5Fopen(new_name(&native, "plain.h5"), H5F_ACC_RDONLY, nfapl);
    CHECK(number_in(f, "n") == 5, "the plain file has changed");
    H5Fclose(f);
    H5Fdelete(new_name(&native, "plain.h5"), nfapl);
    H5Pclose(fapl);
    H5Pclose(nfapl);
}

/* A plain file that is passed on to HDF5's own connector is flushed while objects of it are open. */
static void plain_files_flushed(const struct out *o)
{
    struct out plain = {.ours = false};
    char       name[8500];
    snprintf(name, sizeof name, "native:%s", new_name(&plain, "flushed.h5"));
    hid_t fapl = new_fapl(o), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl), d = write_number(f, "n", 5);
    CHECK(f >= 0 && d >= 0, "%s: %s", name, error_text());
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "H5Fflush: %s", error_text());
    CHECK(H5Dflush(d) >= 0, "H5Dflush: %s", error_text());
    hid_t seen = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    CHECK(number_in(seen, "n") == 5, "n isn't in the file: %s", error_text());
    hid_t ids[9], again = H5Freopen(f);
    CHECK(again >= 0, "H5Freopen: %s", error_text());
    CHECK(H5Fget_obj_count(f, H5F_OBJ_ALL) == 4, "%zd objects are open, not 4", H5Fget_obj_count(f, H5F_OBJ_ALL));
    CHECK(H5Fget_obj_count(f, H5F_OBJ_ALL | H5F_OBJ_LOCAL) == 2, "%zd of this handle, not 2",
          H5Fget_obj_count(f, H5F_OBJ_ALL | H5F_OBJ_LOCAL));
    CHECK(H5Fget_obj_ids(f, H5F_OBJ_DATASET, 9, ids) == 1 && ids[0] == d, "the dataset isn't listed: %s", error_text());
    H5Fclose(again);
    H5Fclose(seen);
    H5Dclose(d);
    CHECK(H5Fclose(f) >= 0, "H5Fclose: %s", error_text());
    (void)remove(name + strlen("native:"));
    H5Pclose(fapl);
}

int main(int argc, char **argv)
{
    struct out o = {.ours = true};
    self         = argv[0];
    if (argc == 3)
        return leave(argv[1], argv[2]);
    compare_write_extra(flushing, &o);
    compare_write_extra(failing, &o);
    compare_write_extra(ending, &o);
    compare_write_extra(plain_files, &o);
    compare_write_extra(plain_files_flushed, &o);
    return compare_write_main(cases, COUNT(cases));
}
