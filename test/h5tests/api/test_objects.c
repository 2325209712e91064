/* Objects: information, tokens, hard links and cycles, visits, names, open by index and token, counts of open
 * ids. */
#include "h5tests/helpers/compare.h"

#define MANY 600

struct names {
    struct out *o;
    hid_t       file;
    unsigned    n;
};

static void say_info(struct out *o, const H5O_info2_t *info)
{
    /* natively the count of a committed type includes its users */
    say(o, "type %d rc %u attributes %llu", info->type, info->type == H5O_TYPE_NAMED_DATATYPE ? 0 : info->rc,
        (unsigned long long)info->num_attrs);
}

static herr_t one_object(hid_t obj, const char *name, const H5O_info2_t *info, void *op_data)
{
    struct names *s = op_data;
    (void)obj;
    say(s->o, "object '%s'", name);
    say_info(s->o, info);
    s->n++;
    return 0;
}

static void visit(hid_t file, struct out *o)
{
    struct names s = {o, file, 0};
    say(o, "up %d", H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, one_object, &s, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS));
    say(o, "%u objects", s.n);
    s.n = 0;
    say(o, "down %d", H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_DEC, one_object, &s, H5O_INFO_BASIC | H5O_INFO_NUM_ATTRS));
    say(o, "%u objects", s.n);
}

static void visit_group(hid_t file, struct out *o)
{
    struct names s = {o, file, 0};
    say(o, "rc %d",
        H5Ovisit_by_name3(file, "/many", H5_INDEX_NAME, H5_ITER_INC, one_object, &s, H5O_INFO_ALL, H5P_DEFAULT));
}

static void shared(hid_t file, struct out *o)
{
    static const char *const paths[] = {"/", "/a", "/a/b/c/up", "/a/b", "/links/h_group", "/a/ds1", "/links/h_ds1",
                                        "/links/h_ds1_b", "/links/s_via", "/a/b/ds2", "/links/root_again", "/links/s_group"};
    H5O_info2_t info[COUNT(paths)];
    for (size_t i = 0; i < COUNT(paths); i++) {
        say(o, "%s: %d", paths[i], H5Oget_info_by_name3(file, paths[i], &info[i], H5O_INFO_ALL, H5P_DEFAULT));
        say_info(o, &info[i]);
        for (size_t k = 0; k < i; k++) {
            int cmp = 9;
            H5Otoken_cmp(file, &info[i].token, &info[k].token, &cmp);
            if (cmp == 0)
                say(o, "%s is %s", paths[i], paths[k]);
            if (info[i].fileno != info[k].fileno)
                say(o, "other file number");
        }
    }
}

static void tokens(hid_t file, struct out *o)
{
    static const char *const paths[] = {"/", "/a/ds1", "/links"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        H5O_info2_t info;
        H5O_token_t back;
        char       *text = NULL;
        char        name[64] = "";
        int         cmp      = 9;
        H5Oget_info_by_name3(file, paths[i], &info, H5O_INFO_BASIC, H5P_DEFAULT);
        say(o, "to string %d", H5Otoken_to_str(file, &info.token, &text));
        say(o, "and back %d", H5Otoken_from_str(file, text ? text : "", &back));
        H5Otoken_cmp(file, &info.token, &back, &cmp);
        H5free_memory(text);
        hid_t id = H5Oopen_by_token(file, info.token);
        say(o, "equal %d, opens %d as %d", cmp == 0, id >= 0, H5Iget_type(id));
        ssize_t n = H5Iget_name(id, name, sizeof name);
        say(o, "name known %d", n >= 0);
        H5Oclose(id);
    }
}

static void id_names(hid_t file, struct out *o)
{
    static const char *const paths[] = {"/", "/a", "a/b/c", "/a//b/./c", "/links/h_group/ds2", "/links/s_abs", "/links/s_via"};
    char                     name[256];
    for (size_t i = 0; i < COUNT(paths); i++) {
        hid_t   id = H5Oopen(file, paths[i], H5P_DEFAULT);
        ssize_t n  = H5Iget_name(id, name, sizeof name);
        say(o, "%s is '%s' (%zd), file type %d", paths[i], n > 0 ? name : "", n, H5Iget_type(id));
        say(o, "length only %zd", H5Iget_name(id, NULL, 0));
        n = H5Iget_name(id, name, 3);
        say(o, "cut %zd '%s'", n, name);
        H5Oclose(id);
    }
    hid_t a = H5Gopen2(file, "/a", H5P_DEFAULT), b = H5Gopen2(a, "b", H5P_DEFAULT), d = H5Dopen2(b, "ds2", H5P_DEFAULT);
    H5Iget_name(d, name, sizeof name);
    say(o, "relative: %s", name);
    hid_t f = H5Iget_file_id(d);
    say(o, "file of it: type %d", H5Iget_type(f));
    H5Fclose(f);
    H5Dclose(d);
    H5Gclose(b);
    H5Gclose(a);
}

static void by_index(hid_t file, struct out *o)
{
    for (hsize_t i = 0; i < 5; i++) {
        H5O_info2_t info;
        char        name[64] = "";
        hid_t       id       = H5Oopen_by_idx(file, "/a/b/..", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT);
        say(o, "dotdot %d", id >= 0); /* HDF5 has no ".." */
        if (id >= 0)
            H5Oclose(id);
        id = H5Oopen_by_idx(file, "/", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT);
        H5Iget_name(id, name, sizeof name);
        say(o, "open %d %s", H5Iget_type(id), name);
        H5Oclose(id);
        say(o, "info %d",
            H5Oget_info_by_idx3(file, "/", H5_INDEX_NAME, H5_ITER_DEC, i, &info, H5O_INFO_ALL, H5P_DEFAULT));
        say_info(o, &info);
        H5Eclear2(H5E_DEFAULT);
    }
}

static void groups(hid_t file, struct out *o)
{
    static const char *const paths[] = {"/", "/a", "/links", "/many", "/empty", "/ordered", "/ordered_too", "/weird names", "/none"};
    for (size_t i = 0; i < COUNT(paths); i++) {
        H5G_info_t info = {0};
        herr_t     rc   = H5Gget_info_by_name(file, paths[i], &info, H5P_DEFAULT);
        say(o, "%s: %d links %llu mounted %d", paths[i], rc, (unsigned long long)info.nlinks, info.mounted);
        H5Eclear2(H5E_DEFAULT);
        hid_t g = H5Gopen2(file, paths[i], H5P_DEFAULT);
        if (g >= 0) {
            hid_t    gcpl  = H5Gget_create_plist(g);
            unsigned order = 99;
            H5Pget_link_creation_order(gcpl, &order);
            say(o, "link order flags %u", order);
            H5Pclose(gcpl);
            say(o, "flush %d refresh %d", H5Gflush(g), H5Grefresh(g));
            H5Gclose(g);
        }
        H5Eclear2(H5E_DEFAULT);
    }
    H5G_info_t info = {0};
    say(o, "by index %d",
        H5Gget_info_by_idx(file, "/", H5_INDEX_NAME, H5_ITER_INC, 0, &info, H5P_DEFAULT));
    say(o, "links %llu", (unsigned long long)info.nlinks);
}

static void open_ids(hid_t file, struct out *o)
{
    hid_t ids[16];
    hid_t g = H5Gopen2(file, "/a", H5P_DEFAULT), d = H5Dopen2(file, "/a/ds1", H5P_DEFAULT), g2 = H5Gopen2(file, "/a", H5P_DEFAULT);
    say(o, "all %zd groups %zd datasets %zd files %zd types %zd attributes %zd", H5Fget_obj_count(file, H5F_OBJ_ALL),
        H5Fget_obj_count(file, H5F_OBJ_GROUP), H5Fget_obj_count(file, H5F_OBJ_DATASET), H5Fget_obj_count(file, H5F_OBJ_FILE),
        H5Fget_obj_count(file, H5F_OBJ_DATATYPE), H5Fget_obj_count(file, H5F_OBJ_ATTR));
    ssize_t n     = H5Fget_obj_ids(file, H5F_OBJ_GROUP, COUNT(ids), ids);
    bool    found = false;
    for (ssize_t i = 0; i < n; i++)
        found |= ids[i] == g;
    say(o, "ids %zd, with the group %d", n, found);
    H5Gclose(g);
    H5Gclose(g2);
    H5Dclose(d);
}

static void reopen(hid_t file, struct out *o)
{
    hid_t again = H5Freopen(file);
    say(o, "reopen %d", again >= 0);
    hid_t g = H5Gopen2(again, "/a", H5P_DEFAULT);
    say(o, "group %d", g >= 0);
    H5Gclose(g);
    H5Fclose(again);
}

static void comments(hid_t file, struct out *o)
{
    char text[20] = "x";
    say(o, "comment %zd", H5Oget_comment_by_name(file, "/a", text, sizeof text, H5P_DEFAULT));
    hid_t g = H5Gopen2(file, "/a", H5P_DEFAULT);
    say(o, "comment %zd", H5Oget_comment(g, text, sizeof text));
    say(o, "are metadata reads collective? %d", H5Oflush(g));
    H5Gclose(g);
}

/* Tokens of different objects are different, even in a domain of a thousand. */
static herr_t keep_token(hid_t obj, const char *name, const H5O_info2_t *info, void *op_data)
{
    static const H5O_token_t none;
    H5O_token_t             *t = op_data;
    (void)obj, (void)name;
    while (memcmp(t, &none, sizeof *t) != 0)
        t++;
    *t = info->token;
    return 0;
}

static void tokens_differ(hid_t file, struct out *o)
{
    static const H5O_token_t none;
    H5O_token_t              t[MANY];
    unsigned                 n = 0, same = 0;
    memset(t, 0, sizeof t);
    H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, keep_token, t, H5O_INFO_BASIC);
    for (; n < MANY - 1 && memcmp(&t[n], &none, sizeof none) != 0; n++)
        for (unsigned k = 0; k < n; k++)
            same += memcmp(&t[n], &t[k], sizeof t[n]) == 0;
    say(o, "%u objects, %u pairs with one token", n, same);
}

static const struct test_case cases[] = {
    {"visit of all objects, each once", "groups.h5", visit},
    {"visit from a group", "groups.h5", visit_group},
    {"visit ends in a cycle", "hsload/tloop.h5", visit},
    {"visit of types and datasets", "types.h5", visit},
    {"v1 ids", "schema1.h5", visit},
    {"shared objects have one token and their count of links", "groups.h5", shared},
    {"tokens go to text and back, and open", "groups.h5", tokens},
    {"names of ids", "groups.h5", id_names},
    {"objects by index", "groups.h5", by_index},
    {"group information and creation properties", "groups.h5", groups},
    {"ids that are open", "groups.h5", open_ids},
    {"a file opened again", "groups.h5", reopen},
    {"comments", "groups.h5", comments},
    {"each object has its own token", "tree.h5", tokens_differ},
};

int main(void) { return compare_main(cases, COUNT(cases)); }
