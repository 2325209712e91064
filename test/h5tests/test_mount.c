/* Domains and native files mounted on each other. HDF5 leaves mounting to the connector of the parent. */
#include "compare.h"

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

static const struct test_case cases[] = {{"a file mounted on a group", "groups.h5", mounts}};

int main(void) { return compare_main(cases, COUNT(cases)); }
