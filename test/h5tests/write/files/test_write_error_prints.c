/* With automatic printing on, a failing call prints its errors once, and a successful one prints nothing, as
 * in HDF5: in a domain, and in a plain file that the connector passes on to HDF5, whose own calls fail inside
 * ours. */
#include "h5tests/helpers/compare_write.h"

static unsigned prints;

static herr_t count_print(hid_t stack, void *arg)
{
    (void)stack, (void)arg;
    prints++;
    return 0;
}

static void say_prints(struct out *o, const char *call, long long rc)
{
    say(o, "%s %s, printed %u times\n", call, rc < 0 ? "fails" : "succeeds", prints);
    prints = 0;
}
#define SAY(call) say_prints(o, #call, (long long)(call))

static herr_t link_op(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    (void)group, (void)name, (void)info, (void)arg;
    return -1;
}
static herr_t object_op(hid_t obj, const char *name, const H5O_info2_t *info, void *arg)
{
    (void)obj, (void)name, (void)info, (void)arg;
    return -1;
}
static herr_t attr_op(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    (void)obj, (void)name, (void)info, (void)arg;
    return -1;
}
static herr_t old_op(hid_t group, const char *name, void *arg)
{
    (void)group, (void)name, (void)arg;
    return -1;
}
/* Errors that a callback's own calls print are not lost. */
static herr_t asks(hid_t group, const char *name, const H5L_info2_t *info, void *arg)
{
    (void)name, (void)info, (void)arg;
    return H5Gopen2(group, "missing", H5P_DEFAULT) < 0 ? 0 : -1;
}

static void objects(hid_t f, hid_t space, struct out *o)
{
    hid_t type = H5Tcopy(H5T_NATIVE_INT);
    SAY(H5Dcreate2(f, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    SAY(H5Dcreate2(f, "no/d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    SAY(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    SAY(H5Gcreate2(f, "no/g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    SAY(H5Tcommit2(f, "d", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    SAY(H5Gopen2(f, "d", H5P_DEFAULT));
    SAY(H5Oopen(f, "no", H5P_DEFAULT));
    SAY(H5Oopen_by_idx(f, ".", H5_INDEX_NAME, H5_ITER_INC, 99, H5P_DEFAULT));
    SAY(H5Oexists_by_name(f, "no/no", H5P_DEFAULT));
    SAY(H5Ocopy(f, "no", f, "copy", H5P_DEFAULT, H5P_DEFAULT));
    SAY(H5Ocopy(f, "d", f, "g", H5P_DEFAULT, H5P_DEFAULT));
    SAY(H5Ocopy(f, "s", f, "copy", H5P_DEFAULT, H5P_DEFAULT));
    H5Tclose(type);
}

static void attributes(hid_t d, hid_t a, hid_t space, struct out *o)
{
    char       buf[40];
    H5A_info_t info;
    hsize_t    at = 0;
    hid_t      text = H5Tcopy(H5T_C_S1);
    SAY(H5Acreate2(d, "a", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT));
    SAY(H5Aread(a, text, buf));
    SAY(H5Awrite(a, text, "x"));
    SAY(H5Aopen(d, "no", H5P_DEFAULT));
    SAY(H5Aopen_by_idx(d, ".", H5_INDEX_NAME, H5_ITER_INC, 5, H5P_DEFAULT, H5P_DEFAULT));
    SAY(H5Aexists(d, "no"));
    SAY(H5Aget_info_by_name(d, ".", "no", &info, H5P_DEFAULT));
    SAY(H5Adelete(d, "no"));
    SAY(H5Arename(d, "no", "other"));
    SAY(H5Aiterate2(d, H5_INDEX_NAME, H5_ITER_INC, &at, attr_op, NULL));
    SAY(H5Dread(d, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, buf));
    SAY(H5Dwrite(d, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, "x"));
    SAY(H5Dget_num_chunks(d, H5S_ALL, &at));
    SAY(H5Dset_extent(d, &(hsize_t){9}));
    H5Tclose(text);
}

static void links(hid_t f, struct out *o)
{
    char        buf[40];
    H5L_info2_t info;
    hsize_t     at = 0;
    SAY(H5Lexists(f, "no", H5P_DEFAULT));
    SAY(H5Lexists(f, "no/no", H5P_DEFAULT));
    SAY(H5Lcreate_soft("nowhere", f, "s", H5P_DEFAULT, H5P_DEFAULT));
    SAY(H5Lcreate_hard(f, "d", f, "g", H5P_DEFAULT, H5P_DEFAULT));
    SAY(H5Lget_info2(f, "no", &info, H5P_DEFAULT));
    SAY(H5Lget_name_by_idx(f, ".", H5_INDEX_NAME, H5_ITER_INC, 99, buf, sizeof buf, H5P_DEFAULT));
    SAY(H5Ldelete(f, "no", H5P_DEFAULT));
    SAY(H5Lmove(f, "no", f, "other", H5P_DEFAULT, H5P_DEFAULT));
    SAY(H5Literate2(f, H5_INDEX_NAME, H5_ITER_INC, &at, link_op, NULL));
    at = 0;
    SAY(H5Literate2(f, H5_INDEX_NAME, H5_ITER_INC, &at, asks, NULL));
    SAY(H5Lvisit2(f, H5_INDEX_NAME, H5_ITER_INC, link_op, NULL));
    SAY(H5Lvisit2(f, H5_INDEX_NAME, H5_ITER_INC, asks, NULL));
    SAY(H5Ovisit3(f, H5_INDEX_NAME, H5_ITER_INC, object_op, NULL, H5O_INFO_BASIC));
}

static void old_calls(hid_t f, hid_t d, struct out *o)
{
    int        i  = 0;
    unsigned   at = 0;
    H5G_stat_t stat;
    char       buf[40];
    SAY(H5Giterate(f, ".", &i, old_op, NULL));
    SAY(H5Gget_objinfo(f, "no", false, &stat));
    SAY(H5Gget_objinfo(f, "s", true, &stat));
    SAY(H5Aiterate1(d, &at, old_op, NULL));
    SAY(H5Gget_comment(f, "no", sizeof buf, buf));
}

static void all(hid_t f, struct out *o)
{
    hid_t space = H5Screate_simple(1, &(hsize_t){4}, NULL);
    hid_t d     = H5Dcreate2(f, "d", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t g     = H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t a     = H5Acreate2(d, "a", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(a, H5T_NATIVE_INT, (int[]){1, 2, 3, 4});
    H5Lcreate_soft("nowhere", f, "s", H5P_DEFAULT, H5P_DEFAULT);
    H5Eset_auto2(H5E_DEFAULT, count_print, NULL);
    prints = 0;
    objects(f, space, o);
    attributes(d, a, space, o);
    links(f, o);
    old_calls(f, d, o);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5Aclose(a);
    H5Gclose(g);
    H5Dclose(d);
    H5Sclose(space);
}

static void passed_on(const struct out *o)
{
    struct out plain = {.ours = false}, on = {.ours = true};
    char       name[8500];
    snprintf(name, sizeof name, "native:%s", new_name(&plain, "printed.h5"));
    hid_t fapl = new_fapl(o), f = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    CHECK(f >= 0, "%s: %s", name, error_text());
    all(f, &on);
    H5Fclose(f);
    H5Pclose(fapl);
    fapl = new_fapl(&plain);
    f    = H5Fcreate(name + strlen("native:"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    all(f, &plain);
    CHECK(strcmp(plain.text, on.text) == 0, "what is passed on prints something else");
    if (strcmp(plain.text, on.text) != 0)
        show_difference(plain.text, on.text);
    H5Fclose(f);
    H5Pclose(fapl);
    (void)remove(name + strlen("native:"));
    free(plain.text);
    free(on.text);
}

int main(void)
{
    static const struct write_case cases[] = {{"what fails is printed once", all, NULL}};
    struct out                     o       = {.ours = true};
    compare_write_extra(passed_on, &o);
    return compare_write_main(cases, COUNT(cases));
}
