/* Domains and native files mounted on each other. HDF5 leaves mounting to the connector of the parent. */
#include "h5tests/helpers/compare.h"

static void mounts(hid_t file, struct out *o)
{
    hid_t child = o->ours ? open_domain("numeric.h5") : open_twin("numeric.h5");
    say(o, "mount %d", H5Fmount(file, "/empty", child, H5P_DEFAULT));
    hid_t g = H5Gopen2(file, "/empty/int", H5P_DEFAULT);
    say(o, "through it %d", g >= 0);
    char name[64] = "";
    H5Iget_name(g, name, sizeof name);
    say(o, "name %s", name);
    H5Gclose(g);
    H5G_info_t info;
    say(o, "mounted %d", H5Gget_info_by_name(file, "/empty", &info, H5P_DEFAULT) >= 0 && info.nlinks > 0);
    say(o, "unmount %d", H5Funmount(file, "/empty"));
    say(o, "gone %d", H5Gopen2(file, "/empty/int", H5P_DEFAULT) < 0);
    say(o, "not mounted twice %d", H5Funmount(file, "/empty") < 0);
    H5Eclear2(H5E_DEFAULT);
    H5Fclose(child);
}

static void say_name(struct out *o, const char *what, hid_t id)
{
    char    name[64] = "(untouched)";
    ssize_t n        = H5Iget_name(id, name, sizeof name);
    say(o, "%s: %zd '%s'", what, n, n > 0 ? name : "");
    H5Eclear2(H5E_DEFAULT);
}

/* Objects opened before, in both files, and objects opened through the mount; while it is mounted, and
 * afterwards. */
static void names(hid_t file, struct out *o)
{
    enum { N = 8 };
    static const char *const what[N] = {"the mount point", "below it", "beside it", "the child", "in the child", "attribute of the child",
                                        "the child's root, through the mount", "in the child, through the mount"};
    hid_t child = o->ours ? open_domain("numeric.h5") : open_twin("numeric.h5"), id[N];
    id[0]       = H5Gopen2(file, "/a", H5P_DEFAULT);
    id[1]       = H5Gopen2(file, "/a/b", H5P_DEFAULT);
    id[2]       = H5Gopen2(file, "/empty", H5P_DEFAULT);
    id[3]       = H5Gopen2(child, "/", H5P_DEFAULT);
    id[4]       = H5Gopen2(child, "/int", H5P_DEFAULT);
    id[5]       = H5Gopen2(child, "int", H5P_DEFAULT);
    id[6] = id[7] = H5I_INVALID_HID;
    for (int i = 0; i < N - 2; i++)
        say_name(o, what[i], id[i]);
    say(o, "mount %d", H5Fmount(file, "/a", child, H5P_DEFAULT));
    id[6] = H5Gopen2(file, "/a", H5P_DEFAULT);
    id[7] = H5Gopen2(file, "/a/int", H5P_DEFAULT);
    for (int i = 0; i < N; i++)
        say_name(o, what[i], id[i]);
    say(o, "unmount %d", H5Funmount(file, "/a"));
    for (int i = 0; i < N; i++)
        say_name(o, what[i], id[i]);
    for (int i = 0; i < N; i++)
        H5Gclose(id[i]);
    H5Fclose(child);
}

/* By the group itself, which was opened before anything was mounted on it. */
static void by_group(hid_t file, struct out *o)
{
    hid_t child = o->ours ? open_domain("numeric.h5") : open_twin("numeric.h5"),
          g = H5Gopen2(file, "/a", H5P_DEFAULT);
    for (int i = 0; i < 2; i++) {
        say(o, "mount %d", H5Fmount(g, ".", child, H5P_DEFAULT));
        say(o, "mounted twice %d", H5Fmount(g, ".", child, H5P_DEFAULT) >= 0);
        say(o, "through it %d", H5Lexists(file, "/a/int", H5P_DEFAULT));
        say(o, "unmount %d", H5Funmount(g, "."));
        say(o, "gone %d", H5Lexists(file, "/a/int", H5P_DEFAULT) <= 0);
        say(o, "not mounted twice %d", H5Funmount(g, ".") < 0);
        H5Eclear2(H5E_DEFAULT);
    }
    H5Gclose(g);
    H5Fclose(child);
}

static const struct test_case cases[] = {
    {"a file mounted on a group", "groups.h5", mounts},
    {"names of what is open", "groups.h5", names},
    {"a mount is ended by the group that it is on", "groups.h5", by_group},
};

int main(void) { return compare_main(cases, COUNT(cases)); }
