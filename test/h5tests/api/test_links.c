/* Links: iteration by name and creation order, restart index, info, values, visits. */
#include "h5tests/helpers/compare.h"

struct seen {
    struct out *o;
    unsigned    n, stop_after;
};

static herr_t one_link(hid_t group, const char *name, const H5L_info2_t *info, void *op_data)
{
    struct seen *s = op_data;
    (void)group;
    /* the schema doesn't store how an ASCII name is encoded */
    say(s->o, "link '%s' type %d", name, info->type);
    for (const char *p = name; *p; p++)
        if (*p & 0x80 && info->cset != H5T_CSET_UTF8)
            say(s->o, "is not UTF-8");
    if (info->type != H5L_TYPE_HARD)
        say(s->o, "value of %zu bytes", info->u.val_size);
    return ++s->n == s->stop_after;
}

static void iterate(hid_t group, struct out *o, H5_index_t by, H5_iter_order_t order, hsize_t start, unsigned stop_after)
{
    struct seen s   = {o, 0, stop_after};
    hsize_t     idx = start;
    herr_t      rc  = H5Literate2(group, by, order, &idx, one_link, &s);
    say(o, "by %d order %d from %llu: rc %d index %llu, %u links", by, order, (unsigned long long)start, rc,
        rc < 0 ? 0 : (unsigned long long)idx, s.n);
    H5Eclear2(H5E_DEFAULT);
}

static void at(hid_t file, struct out *o, const char *path, H5_index_t by, H5_iter_order_t order, hsize_t start, unsigned stop)
{
    hid_t g = H5Gopen2(file, path, H5P_DEFAULT);
    say(o, "%s opens: %d", path, g >= 0);
    iterate(g, o, by, order, start, stop);
    H5Gclose(g);
}

static void by_name(hid_t file, struct out *o)
{
    static const char *const groups[] = {"/", "/links", "/many", "/empty", "/ordered", "/weird names"};
    for (size_t i = 0; i < COUNT(groups); i++) {
        at(file, o, groups[i], H5_INDEX_NAME, H5_ITER_INC, 0, 0);
        at(file, o, groups[i], H5_INDEX_NAME, H5_ITER_DEC, 0, 0);
    }
    at(file, o, "/many", H5_INDEX_NAME, H5_ITER_INC, 7, 0);
    at(file, o, "/many", H5_INDEX_NAME, H5_ITER_INC, 0, 5);
    at(file, o, "/many", H5_INDEX_NAME, H5_ITER_DEC, 3, 4);
    at(file, o, "/many", H5_INDEX_NAME, H5_ITER_INC, 100000, 0);
}

static void by_order(hid_t file, struct out *o)
{
    static const char *const groups[] = {"/ordered", "/ordered_too"};
    for (size_t i = 0; i < COUNT(groups); i++) {
        at(file, o, groups[i], H5_INDEX_CRT_ORDER, H5_ITER_INC, 0, 0);
        at(file, o, groups[i], H5_INDEX_CRT_ORDER, H5_ITER_DEC, 0, 0);
        at(file, o, groups[i], H5_INDEX_CRT_ORDER, H5_ITER_INC, 2, 0);
    }
}

static void tracked(hid_t file, struct out *o)
{
    at(file, o, "/", H5_INDEX_CRT_ORDER, H5_ITER_INC, 0, 0);
    at(file, o, "/", H5_INDEX_CRT_ORDER, H5_ITER_DEC, 1, 2);
    for (hsize_t i = 0; i < 4; i++) {
        H5L_info2_t info;
        char        name[64] = "";
        ssize_t n = H5Lget_name_by_idx(file, "/", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
        say(o, "name %llu: %zd '%s'", (unsigned long long)i, n, name);
        herr_t rc = H5Lget_info_by_idx2(file, "/", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, &info, H5P_DEFAULT);
        say(o, "info: %d order valid %d = %lld", rc, info.corder_valid, (long long)info.corder);
    }
}

static void values(hid_t file, struct out *o)
{
    static const char *const links[] = {"/links/s_abs", "/links/s_dangling", "/links/s_rel", "/links/s_via", "/links/e_numeric",
                                        "/links/e_rel", "/links/e_scheme", "/links/h_ds1", "/links/none"};
    for (size_t i = 0; i < COUNT(links); i++) {
        H5L_info2_t info = {0};
        char        val[256] = "", small[5] = "";
        herr_t      rc = H5Lget_info2(file, links[i], &info, H5P_DEFAULT);
        say(o, "%s: exists %d info %d type %d", links[i], H5Lexists(file, links[i], H5P_DEFAULT), rc, info.type);
        rc = H5Lget_val(file, links[i], val, sizeof val, H5P_DEFAULT);
        say(o, "val %d '%s'", rc, info.type == H5L_TYPE_SOFT ? val : "");
        if (rc >= 0 && info.type == H5L_TYPE_EXTERNAL) {
            const char *name = NULL, *path = NULL;
            rc = H5Lunpack_elink_val(val, info.u.val_size, NULL, &name, &path);
            say(o, "external %d '%s' '%s' in %zu bytes", rc, name ? name : "", path ? path : "", info.u.val_size);
        }
        rc = H5Lget_val(file, links[i], small, sizeof small - 1, H5P_DEFAULT);
        if (info.type == H5L_TYPE_SOFT)
            say(o, "cut to 4: %d %.4s", rc, small);
        H5Eclear2(H5E_DEFAULT);
    }
}

static void by_index(hid_t file, struct out *o)
{
    for (hsize_t i = 0; i < 14; i++) {
        char        name[64] = "", val[200] = "";
        H5L_info2_t info = {0};
        ssize_t     n    = H5Lget_name_by_idx(file, "links", H5_INDEX_NAME, H5_ITER_DEC, i, name, sizeof name, H5P_DEFAULT);
        herr_t      rc   = H5Lget_info_by_idx2(file, "links", H5_INDEX_NAME, H5_ITER_DEC, i, &info, H5P_DEFAULT);
        say(o, "%llu: %zd '%s' info %d type %d", (unsigned long long)i, n, name, rc, info.type);
        if (info.type == H5L_TYPE_SOFT) {
            rc = H5Lget_val_by_idx(file, "links", H5_INDEX_NAME, H5_ITER_DEC, i, val, sizeof val, H5P_DEFAULT);
            say(o, "value %d '%s'", rc, val);
        }
        n = H5Lget_name_by_idx(file, "links", H5_INDEX_NAME, H5_ITER_INC, i, NULL, 0, H5P_DEFAULT);
        say(o, "length %zd", n);
    }
    say(o, "past the end: %d", H5Lget_name_by_idx(file, "links", H5_INDEX_NAME, H5_ITER_INC, 10000, NULL, 0, H5P_DEFAULT) < 0);
    H5Eclear2(H5E_DEFAULT);
}

static void visit(hid_t file, struct out *o)
{
    struct seen s = {o, 0, 0};
    say(o, "visit %d", H5Lvisit2(file, H5_INDEX_NAME, H5_ITER_INC, one_link, &s));
    say(o, "visited %u", s.n);
    s.n = 0;
    say(o, "by name, down %d", H5Lvisit_by_name2(file, "/links", H5_INDEX_NAME, H5_ITER_DEC, one_link, &s, H5P_DEFAULT));
    s = (struct seen){o, 0, 3};
    say(o, "stopped %d", H5Lvisit2(file, H5_INDEX_NAME, H5_ITER_INC, one_link, &s));
}

static void cycle(hid_t file, struct out *o)
{
    struct seen s = {o, 0, 0};
    say(o, "visit %d of %u", H5Lvisit2(file, H5_INDEX_NAME, H5_ITER_INC, one_link, &s), s.n);
}

static void absent(hid_t file, struct out *o)
{
    static const char *const links[] = {"none", "/none/at/all", "/links/s_dangling", "/links/s_self", "/links/h_group/ds2",
                                        "/", "/links/", "/links/s_dangling/x"};
    for (size_t i = 0; i < COUNT(links); i++) {
        say(o, "%s: link %d", links[i], H5Lexists(file, links[i], H5P_DEFAULT));
        H5Eclear2(H5E_DEFAULT);
        /* natively an error if a link on the way is missing: it only has to be not an object */
        say(o, "object %d", H5Oexists_by_name(file, links[i], H5P_DEFAULT) > 0);
        H5Eclear2(H5E_DEFAULT);
    }
}

static void external(hid_t file, struct out *o)
{
    /* The twin's external links lead to names that exist in the domain's bucket only. */
    static const char *const links[] = {"/links/e_dangling_file", "/links/e_dangling_path"};
    for (size_t i = 0; i < COUNT(links); i++) {
        hid_t id = H5Oopen(file, links[i], H5P_DEFAULT);
        say(o, "%s opens %d", links[i], id >= 0);
        H5Eclear2(H5E_DEFAULT);
    }
}

/* External links between domains: their targets must be those that the target domain itself has. */
static void external_between_domains(void)
{
    static const struct {
        const char *link, *path;
    } to[] = {{"/links/e_numeric", "/int/i4le"}, {"/links/e_rel", "/float"}, {"/links/e_root", "/"}, {"/links/e_scheme", "/int"}};
    hid_t file = open_domain("groups.h5"), target = open_domain("numeric.h5");
    for (size_t i = 0; i < COUNT(to) && file >= 0; i++) {
        H5O_info2_t a, b;
        hid_t       x = H5Oopen(file, to[i].link, H5P_DEFAULT), y = H5Oopen(target, to[i].path, H5P_DEFAULT);
        int         cmp = 1;
        CHECK(x >= 0, "%s does not open: %s", to[i].link, error_text());
        if (x >= 0 && y >= 0 && H5Oget_info3(x, &a, H5O_INFO_BASIC) >= 0 && H5Oget_info3(y, &b, H5O_INFO_BASIC) >= 0)
            H5Otoken_cmp(y, &a.token, &b.token, &cmp);
        CHECK(cmp == 0, "%s is not %s of numeric.h5", to[i].link, to[i].path);
        if (x >= 0)
            H5Oclose(x);
        if (y >= 0)
            H5Oclose(y);
    }
    CHECK(H5Fget_obj_count(file, H5F_OBJ_ALL) == 1, "the link's file stays open");
    H5Fclose(file);
    H5Fclose(target);
}

#define ROOT_ID "g-b03b24ef-69f244b6-38b3-ac67e1-7acc3e"
static void write_text(const char *dir, const char *name, const char *text)
{
    char  path[300];
    FILE *f = snprintf(path, sizeof path, "%s/%s", dir, name) > 0 ? fopen(path, "we") : NULL;
    CHECK(f && fputs(text, f) >= 0, "%s", path);
    if (f)
        fclose(f);
}

/* A domain's content does not make us contact a host that neither the name nor `allow` names. */
static void external_links_to_other_stores_are_refused(void)
{
    static const char *const links[] = {"host", "bucket"};
    char dir[] = "/tmp/bkt-links-XXXXXX", name[100], rm[100];
    CHECK(mkdtemp(dir) != NULL, "mkdtemp");
    (void)snprintf(name, sizeof name, "mkdir -p %s/db/b03b24ef-69f244b6 %s/x.h5", dir, dir);
    CHECK(system(name) == 0, "%s", name);
    (void)snprintf(rm, sizeof rm, "rm -rf %s", dir);
    hid_t fapl = fapl_ours(NULL), file;
    write_text(dir, "x.h5/.domain.json", "{\"root\": \"" ROOT_ID "\"}");
    write_text(dir, "db/b03b24ef-69f244b6/.group.json",
               "{\"id\": \"" ROOT_ID "\", \"attributes\": {}, \"links\": {"
               "\"host\": {\"class\": \"H5L_TYPE_EXTERNAL\", \"h5path\": \"/\", \"h5domain\": \"http://127.0.0.1:1/x.h5\"},"
               "\"bucket\": {\"class\": \"H5L_TYPE_EXTERNAL\", \"h5path\": \"/\", \"h5domain\": \"s3://other/x.h5\"}}}");
    (void)snprintf(name, sizeof name, "%s/x.h5", dir);
    file = H5Fopen(name, H5F_ACC_RDONLY, fapl);
    CHECK(file >= 0, "%s: %s", name, error_text());
    for (size_t i = 0; i < COUNT(links) && file >= 0; i++) {
        hid_t       x   = H5Oopen(file, links[i], H5P_DEFAULT);
        const char *why = error_text();
        CHECK(x < 0 && strstr(why, "H5BUCKET_ALLOW"), "%s: %lld %s", links[i], (long long)x, why);
    }
    H5Fclose(file);
    H5Pclose(fapl);
    CHECK(system(rm) == 0, "%s", rm);
}

static herr_t one_name(hid_t group, const char *name, void *op_data)
{
    (void)group;
    say(op_data, "name %s", name);
    return 0;
}

/* H5Giterate and H5Gget_objinfo reach a connector as operations of the native one. */
static void calls_of_1_6(hid_t file, struct out *o)
{
    static const char *const links[] = {"/a", "/a/ds1", "/links/s_abs", "/links/s_dangling", "/links/e_rel", "/none", "/"};
    int                      idx     = 2;
    say(o, "iterate %d", H5Giterate(file, "/links", NULL, one_name, o));
    say(o, "from 2: %d", H5Giterate(file, "/links", &idx, one_name, o));
    say(o, "index %d; no group %d", idx, H5Giterate(file, "/none", NULL, one_name, o));
    for (size_t i = 0; i < COUNT(links); i++) {
        H5G_stat_t st = {0};
        herr_t     rc = H5Gget_objinfo(file, links[i], false, &st);
        say(o, "%s: %d type %d nlink %u linklen %zu", links[i], rc, rc < 0 ? 0 : st.type, st.nlink, st.linklen);
    }
    hdset_reg_ref_t none = {{0}};
    say(o, "null region %d", H5Rget_region(file, H5R_DATASET_REGION, &none) >= 0);
    H5Eclear2(H5E_DEFAULT);
}

static const struct test_case cases[] = {
    {"iteration and information as in HDF5 1.6", "groups.h5", calls_of_1_6},
    {"links by name, both ways, from any index", "groups.h5", by_name},
    {"links by creation order", "groups.h5", by_order},
    {"a tracked root group", "tracked.h5", tracked},
    {"link values and information", "groups.h5", values},
    {"links by index", "groups.h5", by_index},
    {"recursive visit", "groups.h5", visit},
    {"visit ends in a cycle", "hsload/tloop.h5", cycle},
    {"visit of a deep tree", "tree.h5", cycle},
    {"absent links are not an error", "groups.h5", absent},
    {"dangling external links fail", "groups.h5", external},
};

int main(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    external_between_domains();
    external_links_to_other_stores_are_refused();
    return compare_main(cases, COUNT(cases));
}
