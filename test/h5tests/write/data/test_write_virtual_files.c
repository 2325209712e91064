/* Virtual datasets: the files of their sources are looked for in folders, can't be read, or are plain files with
 * links. */
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "h5tests/write/data/virtual_testing.h"

/* The places of sources: HDF5_VDS_PREFIX, several folders with colons between them, comes before the access
 * list's. */
static void write_prefixes(hid_t f, struct out *o)
{
    const hsize_t dims[] = {10};
    if (!strstr(new_name(o, ""), "://")) {
        mkdir(new_name(o, "va"), 0777);
        mkdir(new_name(o, "vb"), 0777);
    }
    H5Fflush(f, H5F_SCOPE_GLOBAL); /* the sources' folders get the bucket above only if it holds an object */
    source_file(o, "va/near.h5", "x", 1, dims, NULL, 100);
    source_file(o, "vb/near.h5", "x", 1, dims, NULL, 200);
    source_file(o, "vb/far.h5", "x", 1, dims, NULL, 300);
    static const char *const names[]  = {"near.h5", "far.h5", "/no/such/folder/near.h5"};
    static const char *const called[] = {"near", "far", "absolute"};
    for (size_t i = 0; i < COUNT(names); i++) {
        hid_t s = H5Screate_simple(1, dims, NULL), p = list_with_fill(-1);
        H5Pset_virtual(p, s, names[i], "x", s);
        say_created(o, called[i], H5Dcreate2(f, called[i], H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
        H5Pclose(p);
        H5Sclose(s);
    }
}

static void look_for(hid_t f, struct out *o, const char *env, const char *prefix)
{
    hid_t dapl = H5Pcreate(H5P_DATASET_ACCESS);
    if (env)
        setenv("HDF5_VDS_PREFIX", env, 1);
    if (prefix)
        H5Pset_virtual_prefix(dapl, prefix);
    say_dataset(f, "near", dapl, o);
    say_dataset(f, "far", dapl, o);
    say_dataset(f, "absolute", dapl, o);
    unsetenv("HDF5_VDS_PREFIX");
    H5Pclose(dapl);
}

static void read_prefixes(hid_t f, struct out *o)
{
    char a[1000], b[1000], list[3000];
    snprintf(a, sizeof a, "%s", new_name(o, "va"));
    snprintf(b, sizeof b, "%s", new_name(o, "vb"));
    say(o, "nowhere");
    look_for(f, o, NULL, NULL);
    say(o, "by the access list");
    look_for(f, o, NULL, a);
    look_for(f, o, NULL, b);
    look_for(f, o, NULL, "${ORIGIN}/vb");
    look_for(f, o, NULL, ".");
    say(o, "by the environment");
    snprintf(list, sizeof list, "%s:%s", a, b);
    look_for(f, o, list, NULL);
    snprintf(list, sizeof list, ":%s/nowhere::%s:", a, b);
    look_for(f, o, list, NULL);
    say(o, "and what it leaves out by nobody");
    look_for(f, o, a, NULL);
}

/* The superuser may read every file, unless it gives that right up. */
static void may_read_all(bool yes)
{
    const unsigned rights = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH;
    struct __user_cap_header_struct of = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct v[2];
    CHECK(syscall(SYS_capget, &of, v) == 0, "capget");
    v[0].effective = yes ? v[0].effective | (rights & v[0].permitted) : v[0].effective & ~rights;
    CHECK(syscall(SYS_capset, &of, v) == 0, "capset");
}

static void plain_source(const struct out *o, const char *folder, int first, mode_t mode)
{
    const hsize_t ten[] = {10};
    char name[1000];
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    mkdir(new_name(o, folder), 0777);
    snprintf(name, sizeof name, "%s/u.h5", new_name(o, folder));
    H5Pset_vol(fapl, H5VL_NATIVE, NULL);
    hid_t g = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    H5Dclose(dataset(g, "x", 1, ten, NULL, first));
    H5Lcreate_soft("/none", g, "nowhere", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(g);
    H5Pclose(fapl);
    CHECK(chmod(name, mode) == 0, "%s", name);
}

static void say_found(hid_t f, struct out *o, const char *const *folders, size_t n)
{
    char list[3000] = "";
    for (size_t i = 0; i < n; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ":" : "", new_name(o, folders[i]));
    setenv("HDF5_VDS_PREFIX", list, 1);
    setenv("HDF5_EXT_PREFIX", list, 1);
    may_read_all(false);
    say_dataset(f, "x", H5P_DEFAULT, o);
    say_dataset(f, "nowhere", H5P_DEFAULT, o);
    hid_t d = H5Dopen2(f, "link", H5P_DEFAULT);
    say_result(o, "the link", d);
    if (d >= 0)
        H5Dclose(d);
    may_read_all(true);
    unsetenv("HDF5_VDS_PREFIX");
    unsetenv("HDF5_EXT_PREFIX");
}

/* HDF5 takes a plain file that it can't open for missing and looks into the next folder.  A link in a source
 * that leads nowhere is a missing dataset. */
static void write_unreadable(hid_t f, struct out *o)
{
    static const char *const folders[] = {"ua", "ub"}, *const names[] = {"x", "nowhere"};
    const hsize_t ten[] = {10};
    hid_t s = H5Screate_simple(1, ten, NULL);
    if (has_folders()) {
        plain_source(o, "ua", 100, 0);
        plain_source(o, "ub", 200, 0666);
    }
    for (size_t i = 0; i < COUNT(names); i++) {
        hid_t p = list_with_fill(-1);
        H5Pset_virtual(p, s, "u.h5", names[i], s);
        say_created(o, names[i], H5Dcreate2(f, names[i], H5T_STD_I32LE, s, H5P_DEFAULT, p, H5P_DEFAULT));
        H5Pclose(p);
    }
    H5Lcreate_external("u.h5", "x", f, "link", H5P_DEFAULT, H5P_DEFAULT);
    if (has_folders()) {
        say_found(f, o, folders, 1);
        say_found(f, o, folders + 1, 1);
        say_found(f, o, folders, 2);
    }
    H5Sclose(s);
}

/* In pa/v.h5: a virtual dataset without end, whose source is an external link. */
static void view_of_link(hid_t g, const char *name, const char *source, hid_t type)
{
    const hsize_t none = 0, one = 1, two = 2, end = H5S_UNLIMITED;
    char link[20];
    snprintf(link, sizeof link, "to %s", source);
    H5Lcreate_external("u.h5", source, g, link, H5P_DEFAULT, H5P_DEFAULT);
    hid_t s = H5Screate_simple(1, &two, &end), p = H5Pcreate(H5P_DATASET_CREATE);
    H5Sselect_hyperslab(s, H5S_SELECT_SET, &none, NULL, &one, &end);
    H5Pset_virtual(p, s, ".", link, s);
    H5Dclose(H5Dcreate2(g, name, type, s, H5P_DEFAULT, p, H5P_DEFAULT));
    H5Pclose(p);
    H5Sclose(s);
}

static void make_views(const struct out *o)
{
    const hsize_t two = 2, end = H5S_UNLIMITED;
    char name[1000];
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), type = H5Tvlen_create(H5T_NATIVE_INT), p = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_vol(fapl, H5VL_NATIVE, NULL);
    plain_source(o, "pa", 100, 0666);
    snprintf(name, sizeof name, "%s/u.h5", new_name(o, "pa"));
    hid_t g = H5Fopen(name, H5F_ACC_RDWR, fapl), s = H5Screate_simple(1, &two, &end);
    H5Pset_chunk(p, 1, &two);
    hid_t d = H5Dcreate2(g, "w", type, s, H5P_DEFAULT, p, H5P_DEFAULT);
    H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, (hvl_t[]){{2, values}, {3, values}});
    H5Dclose(d);
    H5Fclose(g);
    snprintf(name, sizeof name, "%s/v.h5", new_name(o, "pa"));
    g = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    view_of_link(g, "x", "x", H5T_STD_I32LE);
    view_of_link(g, "w", "w", type);
    H5Fclose(g);
    H5Sclose(s);
    H5Pclose(p);
    H5Tclose(type);
    H5Pclose(fapl);
}

/* A link leads to a plain file's virtual dataset, whose source is a link again. */
static void write_views(hid_t f, struct out *o)
{
    hsize_t bytes = 0;
    if (!has_folders())
        return;
    make_views(o);
    H5Lcreate_external("pa/v.h5", "/x", f, "x", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("pa/v.h5", "/w", f, "w", H5P_DEFAULT, H5P_DEFAULT);
    say_dataset(f, "x", H5P_DEFAULT, o);
    hid_t d = H5Dopen2(f, "w", H5P_DEFAULT), s = H5Dget_space(d), type = H5Dget_type(d);
    say_result(o, "H5Dvlen_get_buf_size", H5Dvlen_get_buf_size(d, type, s, &bytes));
    say(o, "%llu bytes", (unsigned long long)bytes);
    H5Tclose(type);
    H5Sclose(s);
    H5Dclose(d);
    H5Ldelete(f, "w", H5P_DEFAULT);
}

static const struct write_case cases[] = {
    {"folders in which sources are looked for", write_prefixes, read_prefixes},
    {"sources that can't be opened, and links in them that lead nowhere", write_unreadable, NULL},
    {"virtual datasets of plain files, whose sources are links", write_views, NULL},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
