/* How a file ends: with objects open, closed by degree, or left to exit(). */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helpers/check.h"

static hid_t open_with(const char *name, H5F_close_degree_t degree)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);
    (void)H5Pset_fclose_degree(fapl, degree);
    hid_t f = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    (void)H5Pclose(fapl);
    return f;
}

static herr_t open_all(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    hid_t *last = arg;
    (void)info;
    hid_t o = H5Oopen(group, name, H5P_DEFAULT);
    if (H5Iget_type(o) == H5I_DATASET) {
        (void)H5Dget_type(o);
        (void)H5Dget_space(o);
        (void)H5Dget_create_plist(o);
    }
    (void)H5Aopen_by_idx(o, ".", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT, H5P_DEFAULT);
    *last = o;
    return 0;
}

/* The connector must have served the file, or all this proves nothing. */
static int is_ours(hid_t f)
{
    char name[32] = "";
    return H5VLget_connector_name(f, name, sizeof name) > 0 && strcmp(name, "bucket") == 0;
}

/* HDF5 2.2 treats a file found by HDF5_PLUGIN_PATH alone as its own, and can't use it. */
static void choose_connector(const char *name)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(is_ours(H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT)) ? 0 : 1);
    int status = -1;
    if (waitpid(pid, &status, 0) == pid && status != 0) {
        printf("this HDF5 does not do with HDF5_PLUGIN_PATH alone: HDF5_VOL_CONNECTOR is set\n");
        (void)setenv("HDF5_VOL_CONNECTOR", "bucket", 1);
    }
}

static void exits_with_everything_open(const char *name, int close_file)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        hid_t last = H5I_INVALID_HID, f = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
        if (!is_ours(f) || H5Lvisit2(f, H5_INDEX_NAME, H5_ITER_INC, open_all, &last) < 0 || last < 0)
            _exit(9);
        if (close_file)
            (void)H5Fclose(f);
        exit(0); /* HDF5 closes the rest */
    }
    int status = -1;
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "%s, file %s: the program ended with status %#x", name,
          close_file ? "closed" : "open", (unsigned)status);
}

static void degrees(const char *name)
{
    hid_t last = H5I_INVALID_HID, f = open_with(name, H5F_CLOSE_WEAK);
    CHECK(is_ours(f), "%s is not served by the connector", name);
    (void)H5Lvisit2(f, H5_INDEX_NAME, H5_ITER_INC, open_all, &last);
    CHECK(H5Fclose(f) >= 0, "%s: a weak close with objects open", name);
    CHECK(H5Iis_valid(last) > 0, "%s: an object lives on after a weak close", name);
    H5O_info2_t info;
    CHECK(H5Oget_info3(last, &info, H5O_INFO_BASIC) >= 0, "%s: and can be used", name);
    (void)H5close();

    f = open_with(name, H5F_CLOSE_SEMI);
    last = H5Oopen(f, "/", H5P_DEFAULT);
    CHECK(last >= 0 && H5Fclose(f) < 0, "%s: a semi close with an object open must fail", name);
    (void)H5Oclose(last);
    (void)H5close();

    f    = open_with(name, H5F_CLOSE_STRONG);
    last = H5I_INVALID_HID;
    (void)H5Lvisit2(f, H5_INDEX_NAME, H5_ITER_INC, open_all, &last);
    CHECK(H5Fclose(f) >= 0, "%s: a strong close", name);
    CHECK(H5Iis_valid(last) <= 0, "%s: objects are gone after a strong close", name);
    (void)H5close();
}

/* A program that leaves all open and has made an old reference, for which the connector has a file of HDF5's
 * in memory: HDF5 must be able to end, without a word. */
static void leaves_old_reference(const char *name)
{
    char text[200] = "";
    int  fd[2];
    (void)fflush(stdout);
    if (pipe(fd) != 0)
        exit(1);
    pid_t pid = fork();
    if (pid == 0) {
        hobj_ref_t ref;
        (void)dup2(fd[1], 2);
        (void)close(fd[0]);
        hid_t f = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
        H5Eset_auto2(H5E_DEFAULT, (H5E_auto2_t)H5Eprint2, NULL); /* else HDF5 keeps quiet about it */
        exit(is_ours(f) && H5Rcreate(&ref, f, "a/ds1", H5R_OBJECT, -1) >= 0 ? 0 : 9);
    }
    (void)close(fd[1]);
    ssize_t n      = read(fd[0], text, sizeof text - 1);
    int     status = -1;
    (void)close(fd[0]);
    CHECK(waitpid(pid, &status, 0) == pid && status == 0, "%s: the program ended with status %#x", name, (unsigned)status);
    CHECK(n == 0, "%s: %s", name, text);
}

int main(void)
{
    static const char *const names[] = {"attrs.h5", "types.h5", "groups.h5"};
    const char              *root    = getenv("BKT_FIXTURES");
    char                     first[512];
    (void)snprintf(first, sizeof first, "%s/hsopen/home/test_user1/fx/%s", root ? root : ".", names[0]);
    choose_connector(first);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/hsopen/home/test_user1/fx/%s", root ? root : ".", names[i]);
        exits_with_everything_open(path, 0);
        exits_with_everything_open(path, 1);
        degrees(path);
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
        if (strcmp(names[i], "groups.h5") == 0)
            leaves_old_reference(path);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
