/* Programs that look at their files find what they expect.  A file that was created exists under its name
 * (setting `pointers`) and can be renamed.  errno has the reason of a failed open or create.  Files in memory
 * alone, which are never stored, stay HDF5's. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "h5tests/helpers/compare_write.h"

static char folder[] = "/tmp/h5bucket-pointers-XXXXXX";

/* A name in the folder. */
static const char *in(const char *leaf) { return in_folder(folder, leaf); }

static hid_t fapl_pointers(void)
{
    char info[160];
    snprintf(info, sizeof info, "bucket=file://%s/bucket;pointers=yes", folder);
    return fapl_ours(info);
}

static bool is_regular(const char *name)
{
    struct stat sb;
    return lstat(name, &sb) == 0 && S_ISREG(sb.st_mode);
}

static void make_file_of_number(hid_t fapl, const char *name, unsigned flags, int value)
{
    hid_t f = H5Fcreate(name, flags, H5P_DEFAULT, fapl), s = H5Screate(H5S_SCALAR);
    hid_t d = H5Dcreate2(f, "n", H5T_NATIVE_INT, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) >= 0, "writing %s: %s", name, error_text());
    H5Dclose(d);
    H5Sclose(s);
    H5Fclose(f);
}

static int get(hid_t fapl, const char *name)
{
    int   value = -1;
    hid_t f = H5Fopen(name, H5F_ACC_RDONLY, fapl), d = f < 0 ? H5I_INVALID_HID : H5Dopen2(f, "n", H5P_DEFAULT);
    CHECK(d >= 0 && H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) >= 0, "reading %s: %s", name, error_text());
    H5Dclose(d);
    H5Fclose(f);
    return value;
}

static void left_behind(const struct out *o)
{
    hid_t fapl = fapl_pointers(), plain = new_fapl(o);
    make_file_of_number(fapl, in("a.h5"), H5F_ACC_EXCL, 1);
    CHECK(is_regular(in("a.h5")), "no file a.h5 was left");
    CHECK(get(fapl, in("a.h5")) == 1 && get(plain, in("a.h5")) == 1, "the pointer doesn't lead to the domain");
    CHECK(rename(in("a.h5"), in("b.h5")) == 0 && get(plain, in("b.h5")) == 1, "a renamed pointer leads elsewhere");
    make_file_of_number(fapl, in("b.h5"), H5F_ACC_TRUNC, 2);
    CHECK(get(plain, in("b.h5")) == 2, "through a pointer the domain isn't replaced");
    CHECK(H5Fdelete(in("b.h5"), fapl) >= 0 && access(in("b.h5"), F_OK) != 0, "H5Fdelete leaves the pointer: %s", error_text());
    make_file_of_number(plain, in("folder.h5"), H5F_ACC_EXCL, 3);
    CHECK(!is_regular(in("folder.h5")), "without the setting a name is a folder");
    H5Pclose(plain);
    H5Pclose(fapl);
}

static void other_files(const struct out *o)
{
    hid_t fapl = fapl_pointers();
    FILE *f    = fopen(in("notes"), "w");
    (void)o;
    CHECK(f && fputs("not HDF5", f) >= 0 && fclose(f) == 0, "notes");
    FAILS(H5Fcreate(in("notes"), H5F_ACC_EXCL, H5P_DEFAULT, fapl), "errno = 17");
    make_file_of_number(fapl, in("notes"), H5F_ACC_TRUNC, 4);
    CHECK(get(fapl, in("notes")) == 4, "a file that was to be replaced wasn't");
    H5Pclose(fapl);
}

static hsize_t user_block(hid_t fapl, const char *name, unsigned flags)
{
    hsize_t size = 99;
    hid_t   f = H5Fopen(name, flags, fapl), list = f < 0 ? H5I_INVALID_HID : H5Fget_create_plist(f);
    CHECK(list >= 0 && H5Pget_userblock(list, &size) >= 0, "the user block of %s: %s", name, error_text());
    H5Pclose(list);
    H5Fclose(f);
    return size;
}

/* As libmatio writes MATLAB's header: past HDF5, once HDF5 has made the file. */
static void write_past_hdf5(const char *name, const char *text)
{
    FILE *f = fopen(name, "r+");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0, "writing into %s", name);
}

static void user_blocks(const struct out *o)
{
    hid_t fapl = fapl_pointers(), plain = new_fapl(o), list = H5Pcreate(H5P_FILE_CREATE);
    char  command[400];
    H5Pset_userblock(list, 2048);
    hid_t   f = H5Fcreate(in("u.mat"), H5F_ACC_EXCL, list, fapl), back = H5Fget_create_plist(f);
    hsize_t size = 0;
    CHECK(H5Pget_userblock(back, &size) >= 0 && size == 2048, "the new file says %llu", (unsigned long long)size);
    H5Pclose(back);
    H5Fclose(f);
    write_past_hdf5(in("u.mat"), "MATLAB 7.3 MAT-file");
    CHECK(user_block(plain, in("u.mat"), H5F_ACC_RDONLY) == 2048, "u.mat has another user block");
    CHECK(user_block(fapl, in("u.mat"), H5F_ACC_RDWR) == 2048, "u.mat can't be written");
    snprintf(command, sizeof command, "grep -q 'TUFUTEFCIDcuMyBNQVQtZmlsZQ' '%s/bucket%s/.domain.json'", folder, in("u.mat"));
    CHECK(system(command) == 0, "who opened the file for writing left the user block where it was");
    snprintf(command, sizeof command, "%s/bucket%s", folder, in("u.mat"));
    CHECK(user_block(plain, command, H5F_ACC_RDONLY) == 0, "a domain by its own name has bytes that a program could read");
    /* made again it is blank, as a file's is, and without one it is absent */
    f = H5Fcreate(in("u.mat"), H5F_ACC_TRUNC, list, fapl);
    CHECK(f >= 0 && H5Fclose(f) >= 0, "u.mat isn't replaced: %s", error_text());
    snprintf(command, sizeof command, "test \"$(head -c 2048 '%s' | tr -d '\\000' | wc -c)\" = 0", in("u.mat"));
    CHECK(system(command) == 0, "the old user block is in the new file");
    make_file_of_number(fapl, in("u.mat"), H5F_ACC_TRUNC, 6);
    CHECK(user_block(plain, in("u.mat"), H5F_ACC_RDONLY) == 0 && get(plain, in("u.mat")) == 6, "a user block out of nothing");
    H5Pclose(list);
    H5Pclose(plain);
    H5Pclose(fapl);
}

/* h5py makes a file in mode "a" if opening reports that it is missing. */
static void reasons(const struct out *o)
{
    hid_t fapl = new_fapl(o);
    FAILS(H5Fopen(in("none.h5"), H5F_ACC_RDWR, fapl), "errno = 2");
    make_file_of_number(fapl, in("there.h5"), H5F_ACC_EXCL, 5);
    FAILS(H5Fcreate(in("there.h5"), H5F_ACC_EXCL, H5P_DEFAULT, fapl), "errno = 17");
    H5Pclose(fapl);
}

static void in_memory(const struct out *o)
{
    hid_t   fapl = new_fapl(o);
    ssize_t size = 0;
    char    image[8192];
    CHECK(H5Pset_fapl_core(fapl, 4096, false) >= 0, "H5Pset_fapl_core");
    hid_t f = H5Fcreate(in("nowhere.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    H5Gclose(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fflush(f, H5F_SCOPE_GLOBAL);
    size = H5Fget_file_image(f, image, sizeof image);
    CHECK(size > 0, "no image of a file in memory: %s", error_text());
    H5Fclose(f);
    CHECK(access(in("nowhere.h5"), F_OK) != 0, "a file in memory is stored");
    CHECK(H5Pset_fapl_core(fapl, 4096, true) >= 0 && H5Pset_file_image(fapl, image, (size_t)size) >= 0, "H5Pset_file_image");
    f = H5Fopen(in("image.h5"), H5F_ACC_RDONLY, fapl);
    CHECK(f >= 0 && H5Lexists(f, "g", H5P_DEFAULT) > 0, "an image isn't opened: %s", error_text());
    H5Fclose(f);
    H5Pclose(fapl);
}

int main(void)
{
    struct out o = {.ours = true};
    char       command[80];
    CHECK(mkdtemp(folder) && mkdir(in("bucket"), 0777) == 0, "%s", strerror(errno));
    void (*const cases[])(const struct out *) = {left_behind, user_blocks, other_files, reasons, in_memory};
    for (size_t i = 0; i < COUNT(cases); i++)
        cases[i](&o);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    CHECK(system(command) == 0, "%s", command);
    return failures != 0;
}
