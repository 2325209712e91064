/* Protected data are not changed, and the program gets the reason: a file opened read-only, a domain whose
 * ACL says no (setting user), a store that takes no writes, a dataset whose data lie in foreign HDF5 files.
 *
 *   h5_refusals [BASE]    BASE: where a web server shows the copy of the sample bucket that $BKT_REFUSALS is, in a folder or in S3
 * refusals.sh runs it, and sees to it that not one byte of the copy has changed. */
#include "h5tests/helpers/compare.h"

static char base[4096];

static const char *name_of(const char *leaf)
{
    static char name[8192];
    snprintf(name, sizeof name, "%s/home/test_user1/fx/%s", base, leaf);
    return name;
}

static const char *refused_with; /* every message must have one of these words, with '|' between them */

static bool speaks_of(const char *line, const char *words)
{
    for (size_t n; *words; words += n + (words[n] == '|')) {
        char word[64];
        n = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        if (strstr(line, word))
            return true;
    }
    return false;
}

static void refused(const char *what, long long result)
{
    char        line[1024];
    const char *text = error_text();
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    CHECK(result < 0, "%s succeeds", what);
    CHECK(speaks_of(line, refused_with), "%s: the innermost error is '%s', it should speak of '%s'", what, line, refused_with);
}

static hid_t follow(const char *name, hid_t group, const void *data, size_t n, hid_t lapl, hid_t dxpl)
{
    return (void)name, (void)data, (void)n, (void)lapl, (void)dxpl, H5Gopen2(group, "/", H5P_DEFAULT);
}
static const H5L_class_t user_class = {
    .version = H5L_LINK_CLASS_T_VERS, .id = (H5L_type_t)77, .comment = "test", .trav_func = follow};

static void change_everything(hid_t f)
{
    hid_t         s = H5Screate(H5S_SCALAR), t = H5Tcopy(H5T_NATIVE_INT), d, g;
    int           one    = 1;
    const hsize_t dims[] = {9}, at[] = {0};
    hid_t         many   = H5Pcreate(H5P_LINK_CREATE), type = H5T_NATIVE_INT, all = H5S_ALL;
    const void   *from   = &one;
    H5Pset_create_intermediate_group(many, 1);
    H5Lregister(&user_class);
    refused("creating a group", H5Gcreate2(f, "new", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    refused("creating a group without a name", H5Gcreate_anon(f, H5P_DEFAULT, H5P_DEFAULT));
    refused("creating a dataset", H5Dcreate2(f, "new", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    refused("creating a dataset without a name", H5Dcreate_anon(f, H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
    refused("creating an attribute", H5Acreate2(f, "new", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
    refused("committing a type", H5Tcommit2(f, "new", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    refused("a soft link", H5Lcreate_soft("/a", f, "new", H5P_DEFAULT, H5P_DEFAULT));
    refused("a hard link", H5Lcreate_hard(f, "a", f, "new", H5P_DEFAULT, H5P_DEFAULT));
    refused("an external link", H5Lcreate_external("a", "b", f, "new", H5P_DEFAULT, H5P_DEFAULT));
    refused("deleting a link", H5Ldelete(f, "a", H5P_DEFAULT));
    refused("deleting a link by number", H5Ldelete_by_idx(f, "/", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT));
    refused("moving a link", H5Lmove(f, "a", f, "b2", H5P_DEFAULT, H5P_DEFAULT));
    refused("copying a link", H5Lcopy(f, "a", f, "b2", H5P_DEFAULT, H5P_DEFAULT));
    refused("copying an object", H5Ocopy(f, "a", f, "b2", H5P_DEFAULT, H5P_DEFAULT));
    refused("a comment", H5Oset_comment(f, "new"));
    refused("a comment by name", H5Oset_comment_by_name(f, "a", "new", H5P_DEFAULT));
    refused("a type without a name", H5Tcommit_anon(f, t, H5P_DEFAULT, H5P_DEFAULT));
    refused("an attribute of a member", H5Acreate_by_name(f, "a", "new", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    refused("a user-defined link", H5Lcreate_ud(f, "new", (H5L_type_t)77, "x", 1, H5P_DEFAULT, H5P_DEFAULT));
    g = H5Gopen2(f, "a", H5P_DEFAULT);
    refused("a reference count", H5Oincr_refcount(g));
    refused("a reference count, down", H5Odecr_refcount(g));
    refused("linking an object", H5Olink(g, f, "new", H5P_DEFAULT, H5P_DEFAULT));
    refused("creating within a group", H5Gcreate2(g, "deep/new", many, H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(g);
    d = H5Dopen2(f, "/a/ds1", H5P_DEFAULT);
    CHECK(d >= 0, "/a/ds1 does not open");
    refused("writing", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &one));
    refused("writing several", H5Dwrite_multi(1, &d, &type, &all, &all, H5P_DEFAULT, &from));
    refused("an extent", H5Dset_extent(d, dims));
    refused("a chunk", H5Dwrite_chunk(d, H5P_DEFAULT, 0, at, sizeof one, &one));
    H5Dclose(d);
    H5Lunregister((H5L_type_t)77);
    H5Pclose(many);
    H5Sclose(s);
    H5Tclose(t);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "flushing nothing: %s", error_text());
    CHECK(H5Fget_obj_count(f, H5F_OBJ_ALL) == 1, "what failed left something open");
}

static void change_attributes(hid_t f)
{
    int   one = 1;
    hid_t a   = H5Aopen_by_idx(f, "/", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT, H5P_DEFAULT), t;
    char  name[256] = "";
    CHECK(a >= 0, "no attribute: %s", error_text());
    H5Aget_name(a, sizeof name, name);
    t = H5Aget_type(a);
    if (H5Tget_class(t) == H5T_INTEGER)
        refused("writing an attribute", H5Awrite(a, H5T_NATIVE_INT, &one));
    refused("deleting an attribute", H5Adelete(f, name));
    refused("renaming an attribute", H5Arename(f, name, "other"));
    refused("renaming an attribute by name", H5Arename_by_name(f, "/", name, "other", H5P_DEFAULT));
    refused("deleting an attribute by name", H5Adelete_by_name(f, "/", name, H5P_DEFAULT));
    refused("deleting an attribute by number", H5Adelete_by_idx(f, "/", H5_INDEX_NAME, H5_ITER_INC, 0, H5P_DEFAULT));
    H5Tclose(t);
    H5Aclose(a);
}

static void in_file(const char *leaf, unsigned flags, const char *info, const char *words, void (*change)(hid_t file))
{
    hid_t fapl = fapl_ours(info), f = H5Fopen(name_of(leaf), flags, fapl);
    CHECK(f >= 0, "%s does not open: %s", leaf, f >= 0 ? "" : error_text());
    refused_with = words;
    if (f >= 0) {
        change(f);
        CHECK(H5Fclose(f) >= 0, "closing: %s", error_text());
    }
    H5Pclose(fapl);
}

/* Users who may do one thing and not the others: each of the others is refused. */
static void only_create(hid_t f)
{
    int   one = 1;
    hid_t d   = H5Dopen2(f, "/a/ds1", H5P_DEFAULT);
    refused("writing", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &one));
    refused("a comment", H5Oset_comment(f, "new"));
    refused("a reference count", H5Oincr_refcount(d));
    refused("deleting a link", H5Ldelete(f, "a", H5P_DEFAULT));
    refused("moving a link", H5Lmove(f, "a", f, "b2", H5P_DEFAULT, H5P_DEFAULT));
    H5Dclose(d);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "flushing nothing: %s", error_text());
}

static void only_update(hid_t f)
{
    hid_t s = H5Screate(H5S_SCALAR), t = H5Tcopy(H5T_NATIVE_INT);
    refused("creating a group", H5Gcreate2(f, "new", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    refused("creating a dataset", H5Dcreate2(f, "new", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    refused("committing a type", H5Tcommit2(f, "new", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    refused("a soft link", H5Lcreate_soft("/a", f, "new", H5P_DEFAULT, H5P_DEFAULT));
    refused("copying an object", H5Ocopy(f, "a", f, "b2", H5P_DEFAULT, H5P_DEFAULT));
    refused("deleting a link", H5Ldelete(f, "a", H5P_DEFAULT));
    H5Sclose(s);
    H5Tclose(t);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "flushing nothing: %s", error_text());
}

static void only_delete(hid_t f)
{
    int   one = 1;
    hid_t d   = H5Dopen2(f, "/a/ds1", H5P_DEFAULT);
    refused("writing", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, &one));
    refused("creating a group", H5Gcreate2(f, "new", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    refused("a hard link", H5Lcreate_hard(f, "a", f, "new", H5P_DEFAULT, H5P_DEFAULT));
    refused("a comment", H5Oset_comment(f, "new"));
    H5Dclose(d);
}

/* Not even opened for writing; nor created over, nor deleted. */
static void not_opened(const char *info, const char *words)
{
    hid_t fapl   = fapl_ours(info);
    refused_with = words;
    refused("opening read-write", H5Fopen(name_of("groups.h5"), H5F_ACC_RDWR, fapl));
    refused("creating over it", H5Fcreate(name_of("groups.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl));
    refused("deleting it", H5Fdelete(name_of("groups.h5"), fapl));
    H5Pclose(fapl);
}

/* H5Dset_extent and H5Dwrite_chunk, if the dataset allows them: else HDF5 itself refuses. */
static unsigned change_shape(hid_t d, hid_t space, const char *buf)
{
    hsize_t  dims[H5S_MAX_RANK] = {0}, chunk[H5S_MAX_RANK], zero[H5S_MAX_RANK] = {0};
    int      rank = H5Sget_simple_extent_dims(space, dims, NULL);
    hid_t    dcpl = H5Dget_create_plist(d);
    unsigned n    = 0;
    if (rank > 0 && H5Pget_layout(dcpl) == H5D_CHUNKED && H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk) == rank) {
        dims[0] -= dims[0] > 0;
        refused("an extent", H5Dset_extent(d, dims));
        refused("a chunk", H5Dwrite_chunk(d, H5P_DEFAULT, 0, zero, 16, buf));
        n = 2;
    }
    H5Pclose(dcpl);
    return n;
}

static void write_reference(hid_t f)
{
    static char buf[1 << 20];
    unsigned    tried = 0;
    H5G_info_t  info;
    H5Gget_info(f, &info);
    for (hsize_t n = 0; n < info.nlinks; n++) {
        char name[256] = "";
        H5Lget_name_by_idx(f, "/", H5_INDEX_NAME, H5_ITER_INC, n, name, sizeof name, H5P_DEFAULT);
        hid_t d = H5Dopen2(f, name, H5P_DEFAULT);
        if (d < 0) {
            H5Eclear2(H5E_DEFAULT);
            continue;
        }
        hid_t t = H5Dget_type(d), s = H5Dget_space(d);
        if (strncmp(name, "table", 5) != 0 && H5Sget_simple_extent_npoints(s) * (hssize_t)H5Tget_size(t) <= (hssize_t)sizeof buf) {
            refused(name, H5Dwrite(d, t, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf));
            tried += change_shape(d, s, buf) + 1;
        }
        H5Tclose(t);
        H5Sclose(s);
        H5Dclose(d);
    }
    CHECK(tried > 20, "%u calls were tried", tried);
    CHECK(H5Fflush(f, H5F_SCOPE_GLOBAL) >= 0, "flushing nothing: %s", error_text());
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    snprintf(base, sizeof base, "%s", getenv("BKT_REFUSALS"));
    in_file("groups.h5", H5F_ACC_RDONLY, NULL, "read-only", change_everything);
    in_file("attrs.h5", H5F_ACC_RDONLY, NULL, "read-only", change_attributes);
    not_opened("user=nobody_special", "nobody_special");
    in_file("groups.h5", H5F_ACC_RDWR, "user=creator", "creator", only_create);
    in_file("groups.h5", H5F_ACC_RDWR, "user=updater", "updater", only_update);
    in_file("groups.h5", H5F_ACC_RDWR, "user=deleter", "deleter", only_delete);
    in_file("refs.h5", H5F_ACC_RDWR, NULL, "data are in other files", write_reference);
    if (argc > 1) {
        snprintf(base, sizeof base, "%s", argv[1]);
        not_opened(NULL, "read-only|can't be written to");
        in_file("groups.h5", H5F_ACC_RDONLY, NULL, "read-only", change_everything);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
