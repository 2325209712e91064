/* Ids of the connector's own.  A program may list all ids that are open, and close those that it didn't open:
 * its own objects work as before. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/type_zoo.h"

enum { MOST = 256, N = 3 };

struct ids {
    hid_t v[MOST];
    ssize_t n;
};

static struct ids listed(void)
{
    struct ids l;
    l.n = H5Fget_obj_ids((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL, MOST, l.v);
    CHECK(l.n >= 0 && l.n < MOST, "H5Fget_obj_ids: %zd", l.n);
    return l;
}

static bool has(const struct ids *l, hid_t id)
{
    for (ssize_t i = 0; i < l->n; i++)
        if (l->v[i] == id)
            return true;
    return false;
}

/* Close each listed id that the program does not know, once.  Returns their number. */
static int close_others(const struct ids *known)
{
    struct ids now = listed();
    int n = 0;
    for (ssize_t i = 0; i < now.n; i++)
        if (!has(known, now.v[i])) {
            n++;
            CHECK(H5Idec_ref(now.v[i]) >= 0, "closing a listed id: %s", error_text());
        }
    return n;
}

/* ---- datatypes ---- */

static void pass(struct out *o, const char *call, hid_t at, hid_t type, bool write, void *buf)
{
    bool attr = H5Iget_type(at) == H5I_ATTR;
    memset(buf, 0, write ? 0 : N * H5Tget_size(type));
    say_result(o, call, write ? attr ? H5Awrite(at, type, buf) : H5Dwrite(at, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf)
                        : attr ? H5Aread(at, type, buf) : H5Dread(at, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf));
}

/* The stored type is in use by then, and the ids that stay of that are closed between the calls. */
static void use(struct out *o, hid_t at, hid_t type)
{
    hid_t space = H5Screate_simple(1, (hsize_t[]){N}, NULL);
    void *in = calloc(N, H5Tget_size(type)), *back = calloc(N, H5Tget_size(type));
    struct ids known = listed();
    zoo_fill(type, in, N, 7);
    pass(o, "written", at, type, true, in);
    say(o, "other ids: %d", close_others(&known));
    pass(o, "read", at, type, false, back);
    say(o, "equal: %d, other ids: %d", zoo_same(type, in, back, N), close_others(&known));
    H5Treclaim(type, space, H5P_DEFAULT, back);
    pass(o, "written again", at, type, true, in);
    pass(o, "read again", at, type, false, back);
    say(o, "equal: %d, other ids: %d", zoo_same(type, in, back, N), close_others(&known));
    H5Treclaim(type, space, H5P_DEFAULT, back);
    H5Treclaim(type, space, H5P_DEFAULT, in);
    free(in), free(back), H5Sclose(space);
}

static void datatypes(hid_t file, struct out *o)
{
    for (size_t i = 0; i < zoo_size; i++) {
        hid_t type = zoo[i].make(), space = H5Screate_simple(1, (hsize_t[]){N}, NULL);
        hid_t d = H5Dcreate2(file, zoo[i].name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        hid_t a = H5Acreate2(d, "a", type, space, H5P_DEFAULT, H5P_DEFAULT);
        say(o, "-- %s", zoo[i].name);
        say_result(o, "made", d);
        use(o, d, type);
        use(o, a, type);
        H5Aclose(a), H5Dclose(d), H5Sclose(space), H5Tclose(type);
    }
}

/* ---- a plain file behind an external link ---- */

static void make_plain(const char *name)
{
    hid_t fapl = H5Pcreate(H5P_FILE_ACCESS), space = H5Screate_simple(1, (hsize_t[]){N}, NULL);
    H5Pset_vol(fapl, H5VL_NATIVE, NULL);
    hid_t f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(f >= 0, "%s: %s", name, error_text());
    H5Dclose(H5Dcreate2(f, "d", H5T_STD_I32BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(f), H5Sclose(space), H5Pclose(fapl);
}

/* HDF5's connector holds such a file and its objects by ids that are listed. */
static void linked(hid_t file, struct out *o)
{
    int in[N] = {5, 6, 7}, back[N] = {0};
    make_plain(new_name(o, "plain.h5"));
    H5Lcreate_external("plain.h5", "d", file, "link", H5P_DEFAULT, H5P_DEFAULT);
    struct ids known = listed();
    hid_t d = H5Dopen2(file, "link", H5P_DEFAULT);
    known.v[known.n++] = d;
    int others = close_others(&known);
    CHECK(!o->ours || others == 2, "%d ids are listed beside the program's, not the file and the dataset", others);
    say_result(o, "written", H5Dwrite(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, in));
    say_result(o, "read", H5Dread(d, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back));
    say(o, "equal: %d", memcmp(in, back, sizeof in) == 0);
    say_result(o, "flushed", H5Fflush(file, H5F_SCOPE_GLOBAL));
    say_result(o, "closed", H5Dclose(d));
    H5Ldelete(file, "link", H5P_DEFAULT);
}

int main(void)
{
    static const struct write_case cases[] = {
        {"no datatype of the connector's own stays listed", datatypes, NULL},
        {"a plain file behind a link outlives a program that closes its ids", linked, NULL},
    };
    const char *to = getenv("BKT_H5_WRITE");
    if (!to || !strstr(to, "://"))
        return compare_write_main(cases, sizeof cases / sizeof *cases);
    printf("without the plain file behind a link: a bucket leads to no file of this machine\n");
    return compare_write_main(cases, sizeof cases / sizeof *cases - 1);
}
