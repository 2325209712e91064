/* Following external links: the link access list (prefix, access flags, file access list, callback), and the
 * places where HDF5 looks for the file.  The cases are the behaviours of HDF5's own test/links.c. */
#include "h5tests/helpers/compare_write.h"

#include <sys/stat.h>
#include <unistd.h>

static bool on_disk(const struct out *o) { return !strstr(new_name(o, ""), "://"); }

/* A name in a folder of its own. */
static const char *new_name_in(const struct out *o, const char *dir, const char *leaf)
{
    char both[256];
    if (on_disk(o))
        mkdir(new_name(o, dir), 0777); /* there already: fine */
    snprintf(both, sizeof both, "%s/%s", dir, leaf);
    return new_name(o, both);
}

/* A file with one group, whose name identifies the file. */
static void make_target(const struct out *o, const char *name, const char *mark)
{
    hid_t fapl = new_fapl(o), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(f >= 0, "%s: %s", name, f >= 0 ? "" : error_text());
    H5Gclose(H5Gcreate2(f, mark, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(f);
    H5Pclose(fapl);
}

static void drop_target(const struct out *o, const char *name)
{
    hid_t fapl = new_fapl(o);
    CHECK(H5Fdelete(name, fapl) >= 0, "%s can't be deleted: %s", name, error_text());
    H5Pclose(fapl);
}

/* The file that a link leads to, and whether it may be written. */
static void follow(hid_t at, struct out *o, const char *link, hid_t lapl)
{
    char  mark[32] = "nothing";
    hid_t g        = H5Gopen2(at, link, lapl);
    say_result(o, link, g);
    if (g < 0)
        return;
    unsigned intent = 99;
    hid_t    f      = H5Iget_file_id(g), made;
    H5Lget_name_by_idx(g, ".", H5_INDEX_NAME, H5_ITER_INC, 0, mark, sizeof mark, H5P_DEFAULT);
    H5Fget_intent(f, &intent);
    say(o, "it is %s, intent %u", mark, intent);
    say_result(o, "a group in it", made = H5Gcreate2(g, "zz", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    if (made >= 0)
        H5Gclose(made);
    H5Ldelete(g, "zz", H5P_DEFAULT);
    H5Eclear2(H5E_DEFAULT);
    H5Fclose(f);
    H5Gclose(g);
}

static const char *last(const char *name) { return strrchr(name, '/') ? strrchr(name, '/') + 1 : name; }

struct asked {
    struct out *o;
    herr_t      give;
    unsigned    flags;
};

static herr_t ask(const char *parent, const char *group, const char *file, const char *object, unsigned *flags, hid_t fapl, void *arg)
{
    const struct asked *a = arg;
    say(a->o, "asked: %s group %s to %s object %s flags %u list %d", last(parent), group, file, object, *flags,
        H5Pisa_class(fapl, H5P_FILE_ACCESS) > 0);
    if (a->flags != 99)
        *flags = a->flags;
    return a->give;
}

static void callbacks_here(hid_t f, struct out *o)
{
    const struct asked how[] = {{o, 0, 99}, {o, -1, 99}, {o, 0, H5F_ACC_RDONLY}, {o, 0, H5F_ACC_RDWR}, {o, 0, H5F_ACC_TRUNC}, {o, 0, 99}};
    for (size_t i = 0; i < COUNT(how); i++) {
        hid_t gapl = H5Pcreate(H5P_GROUP_ACCESS);
        H5Pset_elink_cb(gapl, ask, (void *)&how[i]);
        follow(f, o, "in/link", gapl);
        H5Pclose(gapl);
    }
    struct asked plain = {o, 0, 99};
    hid_t        lapl  = H5Pcreate(H5P_LINK_ACCESS), g = H5Gopen2(f, "in", H5P_DEFAULT), id;
    H5Pset_elink_cb(lapl, ask, &plain);
    say_result(o, "H5Oopen through it", id = H5Oopen(f, "deep", lapl));
    if (id >= 0)
        H5Oclose(id);
    say_result(o, "to nowhere", H5Oopen(f, "absent", lapl));
    say(o, "exists %d", H5Lexists(f, "deep", lapl)); /* the link itself: no callback */
    say(o, "exists %d", H5Lexists(g, "link/called", lapl));
    H5O_info2_t info;
    say_result(o, "information", H5Oget_info_by_name3(f, "deep", &info, H5O_INFO_BASIC, lapl));
    H5Pclose(lapl);
    H5Gclose(g);
}

/* A file that was just created has H5F_ACC_TRUNC among its flags, and HDF5 then takes no answer of a
 * callback's: opened again. */
static void callbacks(hid_t f, struct out *o)
{
    hid_t fapl = new_fapl(o), g;
    make_target(o, new_name(o, "called.h5"), "called");
    make_target(o, new_name(o, "caller.h5"), "in");
    f = H5Fopen(new_name(o, "caller.h5"), H5F_ACC_RDWR, fapl);
    g = H5Gopen2(f, "in", H5P_DEFAULT);
    H5Lcreate_external("called.h5", "/", g, "link", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("called.h5", "//called/", f, "deep", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("absent.h5", "x", f, "absent", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(g);
    callbacks_here(f, o);
    H5Fclose(f);
    f = H5Fopen(new_name(o, "caller.h5"), H5F_ACC_RDONLY, fapl);
    callbacks_here(f, o);
    H5Fclose(f);
    H5Pclose(fapl);
    drop_target(o, new_name(o, "called.h5"));
    drop_target(o, new_name(o, "caller.h5"));
}

static void access_flags(hid_t f, struct out *o)
{
    const unsigned flags[] = {H5F_ACC_RDONLY, H5F_ACC_RDWR, H5F_ACC_DEFAULT};
    hid_t          fapl    = new_fapl(o);
    make_target(o, new_name(o, "flags.h5"), "flags");
    H5Lcreate_external("flags.h5", "/", f, "link", H5P_DEFAULT, H5P_DEFAULT);
    follow(f, o, "link", H5P_DEFAULT);
    for (size_t i = 0; i < COUNT(flags); i++) {
        hid_t gapl = H5Pcreate(H5P_GROUP_ACCESS);
        say_result(o, "H5Pset_elink_acc_flags", H5Pset_elink_acc_flags(gapl, flags[i]));
        follow(f, o, "link", gapl);
        H5Pclose(gapl);
    }
    drop_target(o, new_name(o, "flags.h5"));
    H5Pclose(fapl);
}

/* The link's own file is opened for reading here. */
static void access_flags_readonly(hid_t f, struct out *o)
{
    hid_t gapl = H5Pcreate(H5P_GROUP_ACCESS);
    make_target(o, new_name(o, "flags.h5"), "flags");
    follow(f, o, "link", gapl);
    H5Pset_elink_acc_flags(gapl, H5F_ACC_RDWR);
    follow(f, o, "link", gapl);
    H5Pclose(gapl);
    drop_target(o, new_name(o, "flags.h5"));
}

static void with_prefix(hid_t f, struct out *o, const char *link, const char *prefix)
{
    hid_t gapl = H5Pcreate(H5P_GROUP_ACCESS);
    if (prefix)
        H5Pset_elink_prefix(gapl, prefix);
    follow(f, o, link, gapl);
    H5Pclose(gapl);
}

static void prefixes(hid_t f, struct out *o)
{
    char both[10000];
    make_target(o, new_name_in(o, "pa", "t.h5"), "a");
    make_target(o, new_name_in(o, "pb", "t.h5"), "b");
    make_target(o, new_name_in(o, "pb", "only.h5"), "only");
    H5Lcreate_external("t.h5", "/", f, "link", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("only.h5", "/", f, "only", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("/no/such/folder/t.h5", "/", f, "absolute", H5P_DEFAULT, H5P_DEFAULT);
    say(o, "without any");
    with_prefix(f, o, "link", NULL);
    say(o, "one, the other, none: what was found under one is not what is under the other");
    with_prefix(f, o, "link", new_name(o, "pa"));
    with_prefix(f, o, "link", new_name(o, "pb"));
    with_prefix(f, o, "link", NULL);
    with_prefix(f, o, "absolute", new_name(o, "pb"));
    with_prefix(f, o, "absolute", NULL);
    say(o, "the environment's come first, one after the other");
    snprintf(both, sizeof both, "%s:%s", new_name(o, "pa"), new_name(o, "pb"));
    setenv("HDF5_EXT_PREFIX", both, 1);
    with_prefix(f, o, "link", new_name(o, "pb"));
    with_prefix(f, o, "only", NULL);
    with_prefix(f, o, "absolute", NULL);
    setenv("HDF5_EXT_PREFIX", new_name(o, "nowhere"), 1);
    with_prefix(f, o, "link", new_name(o, "pb"));
    unsetenv("HDF5_EXT_PREFIX");
    make_target(o, new_name(o, "t.h5"), "beside");
    with_prefix(f, o, "link", NULL);
    with_prefix(f, o, "link", new_name(o, "nowhere"));
    with_prefix(f, o, "absolute", NULL);
    drop_target(o, new_name(o, "t.h5"));
    drop_target(o, new_name_in(o, "pa", "t.h5"));
    drop_target(o, new_name_in(o, "pb", "t.h5"));
    drop_target(o, new_name_in(o, "pb", "only.h5"));
}

/* Features of folders on this machine only: a working folder, symbolic links, other file drivers. */
static void local_places(hid_t f, struct out *o)
{
    char here[4096];
    CHECK(getcwd(here, sizeof here) != NULL, "no working folder");
    make_target(o, new_name_in(o, "cwd", "w.h5"), "cwd");
    make_target(o, new_name_in(o, "cwd/sub", "s.h5"), "sub");
    H5Lcreate_external("w.h5", "/", f, "link", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("s.h5", "/", f, "sub", H5P_DEFAULT, H5P_DEFAULT);
    with_prefix(f, o, "link", NULL);
    CHECK(chdir(new_name(o, "cwd")) == 0, "chdir");
    with_prefix(f, o, "link", NULL);
    with_prefix(f, o, "sub", NULL);
    with_prefix(f, o, "sub", "sub"); /* of the working folder */
    drop_target(o, "w.h5");
    drop_target(o, "sub/s.h5");
    CHECK(chdir(here) == 0, "chdir");
    say(o, "beside what a symbolic link leads to");
    make_target(o, new_name_in(o, "real", "m.h5"), "main");
    make_target(o, new_name_in(o, "real", "r.h5"), "real");
    hid_t fapl = new_fapl(o), m = H5Fopen(new_name(o, "real/m.h5"), H5F_ACC_RDWR, fapl);
    H5Lcreate_external("r.h5", "/", m, "link", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(m);
    CHECK(symlink("real/m.h5", new_name(o, "m.h5")) == 0, "symlink");
    m = H5Fopen(new_name(o, "m.h5"), H5F_ACC_RDONLY, fapl);
    say_result(o, "opening by the symbolic link", m);
    if (m >= 0) {
        with_prefix(m, o, "link", NULL);
        H5Fclose(m);
    }
    unlink(new_name(o, "m.h5"));
    drop_target(o, new_name_in(o, "real", "m.h5"));
    drop_target(o, new_name_in(o, "real", "r.h5"));
    H5Pclose(fapl);
}

/* A family of plain HDF5 files behind a link: only the program's list opens it. */
static void other_driver(hid_t f, struct out *o)
{
    hid_t family = fapl_native(), gapl = H5Pcreate(H5P_GROUP_ACCESS);
    H5Pset_fapl_family(family, 4096, H5P_DEFAULT);
    hid_t t = H5Fcreate(new_name(o, "fam%05d.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, family);
    CHECK(t >= 0, "a family: %s", t >= 0 ? "" : error_text());
    H5Gclose(H5Gcreate2(t, "family", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(t);
    H5Lcreate_external("fam%05d.h5", "/", f, "link", H5P_DEFAULT, H5P_DEFAULT);
    follow(f, o, "link", H5P_DEFAULT);
    H5Pset_elink_fapl(gapl, family);
    follow(f, o, "link", gapl);
    H5Pset_elink_acc_flags(gapl, H5F_ACC_RDONLY);
    follow(f, o, "link", gapl);
    hid_t back = H5Pget_elink_fapl(gapl);
    say(o, "the list comes back %d", H5Pget_driver(back) == H5FD_FAMILY);
    H5Pclose(back);
    H5Pclose(gapl);
    follow(f, o, "link", H5P_DEFAULT);
    H5Pclose(family);
}

/* @p f with group `in_f` leads to "behind.h5", which is closed again. */
static void link_to_mount_point(hid_t f, const struct out *o)
{
    hid_t fapl = new_fapl(o), b = H5Fcreate(new_name(o, "behind.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    H5Gclose(H5Gcreate2(b, "mnt", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(H5Gcreate2(f, "in_f", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_external("behind.h5", "/", f, "link", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(b);
    H5Pclose(fapl);
}

/* Neither the file itself nor another one is mounted on a group that an external link leads to. */
static void mounts_behind(hid_t f, struct out *o)
{
    hid_t fapl = new_fapl(o), c = H5Fcreate(new_name(o, "child.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    link_to_mount_point(f, o);
    say_result(o, "H5Fmount of itself behind a link", H5Fmount(f, "link/mnt", f, H5P_DEFAULT));
    say_result(o, "H5Fmount of another file behind a link", H5Fmount(f, "link/mnt", c, H5P_DEFAULT));
    say_result(o, "H5Fflush", H5Fflush(f, H5F_SCOPE_GLOBAL));
    hid_t g = H5Gopen2(f, "link", H5P_DEFAULT);
    say_result(o, "H5Fmount in an open group of that file", H5Fmount(g, "mnt", c, H5P_DEFAULT));
    say_result(o, "H5Funmount", H5Funmount(g, "mnt"));
    H5Gclose(g);
    H5Fclose(c);
    H5Pclose(fapl);
}

/* A domain refuses to be mounted in a file that its links keep open: no flush would come to an end. */
static void no_cycle(const struct out *o)
{
    hid_t fapl = new_fapl(o), f = H5Fcreate(new_name(o, "cycle.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    link_to_mount_point(f, o);
    hid_t g = H5Gopen2(f, "link", H5P_DEFAULT), b = H5Iget_file_id(g);
    CHECK(H5Fmount(b, "mnt", f, H5P_DEFAULT) < 0, "a cycle of a mount and a link was made");
    H5Eclear2(H5E_DEFAULT);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0 && H5Fflush(b, H5F_SCOPE_GLOBAL) >= 0, "%s", error_text());
    H5Gclose(g);
    H5Fclose(b);
    H5Fclose(f);
    H5Pclose(fapl);
}

static const struct write_case cases[] = {
    {"mounts behind external links", mounts_behind, NULL},
    {"a program's callback is asked about external links", callbacks, NULL},
    {"access flags of external links", access_flags, access_flags_readonly},
    {"prefixes of external links", prefixes, NULL},
    {"files behind external links in folders", local_places, NULL},
    {"a file driver for what is behind an external link", other_driver, NULL},
};

int main(void)
{
    const char *to = getenv("BKT_H5_WRITE");
    const struct out o = {.ours = true};
    compare_write_extra(no_cycle, &o);
    if (!to || !strstr(to, "://"))
        return compare_write_main(cases, COUNT(cases));
    printf("without the working folder, symbolic links and file drivers, which are of a folder only\n");
    return compare_write_main(cases, COUNT(cases) - 2);
}
