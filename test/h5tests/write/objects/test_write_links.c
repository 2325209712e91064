/* Groups, links and objects: created, renamed, copied, deleted, counted. */
#include "h5tests/helpers/compare_write.h"
#include "h5tests/helpers/put_scalar.h"

static void close_all(hid_t a, hid_t b)
{
    if (a >= 0)
        H5Oclose(a);
    if (b >= 0)
        H5Oclose(b);
}

static hid_t group(hid_t at, const char *name) { return H5Gcreate2(at, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT); }

static void make_group(hid_t at, const char *name) { H5Gclose(group(at, name)); }

static void groups(hid_t f, struct out *o)
{
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE), a, b;
    say_result(o, "a group in a missing one", b = group(f, "x/y/z"));
    H5Pset_create_intermediate_group(lcpl, 1);
    say_result(o, "with those on the way", b = H5Gcreate2(f, "x/y//z/", lcpl, H5P_DEFAULT, H5P_DEFAULT));
    close_all(b, -1);
    say_result(o, "the same again", b = H5Gcreate2(f, "x/y/z", lcpl, H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "'/'", group(f, "/"));
    say_result(o, "'.'", group(f, "."));
    a = group(f, "a");
    say_result(o, "from a group, absolute", b = group(a, "/b"));
    close_all(a, b);
    H5Pset_char_encoding(lcpl, H5T_CSET_UTF8);
    say_result(o, "a name in UTF-8", a = H5Gcreate2(f, "gr\xc3\xbc\xc3\x9f", lcpl, H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "an ASCII name said to be UTF-8", b = H5Gcreate2(f, "plain", lcpl, H5P_DEFAULT, H5P_DEFAULT));
    close_all(a, b);
    H5Pclose(lcpl);
    hid_t s = H5Screate(H5S_SCALAR), d = H5Dcreate2(f, "d", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "a group in a dataset", b = group(f, "d/e"));
    close_all(d, b);
    H5Sclose(s);
}

/* The result of H5Gget_info, and the number of each link. */
static void numbers(hid_t g, struct out *o)
{
    H5G_info_t info = {0};
    say_result(o, "H5Gget_info", H5Gget_info(g, &info));
    say(o, "%" PRIuHSIZE " links, next %lld", info.nlinks, (long long)info.max_corder);
    for (hsize_t i = 0; i < info.nlinks; i++) {
        H5L_info2_t l = {0};
        H5Lget_info_by_idx2(g, ".", H5_INDEX_NAME, H5_ITER_INC, i, &l, H5P_DEFAULT);
        say(o, "%" PRIuHSIZE ": %d %lld", i, l.corder_valid, l.corder_valid ? (long long)l.corder : 0);
    }
}

static void creation_order(hid_t f, struct out *o)
{
    hid_t gcpl = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_link_creation_order(gcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    hid_t       g       = H5Gcreate2(f, "ordered", H5P_DEFAULT, gcpl, H5P_DEFAULT);
    const char *names[] = {"z", "b", "y", "a", "m"};
    for (size_t i = 0; i < COUNT(names); i++)
        make_group(g, names[i]);
    for (unsigned dir = H5_ITER_INC; dir <= H5_ITER_DEC; dir++)
        for (hsize_t i = 0; i < COUNT(names); i++) {
            char name[8] = "";
            H5Lget_name_by_idx(g, ".", H5_INDEX_CRT_ORDER, (H5_iter_order_t)dir, i, name, sizeof name, H5P_DEFAULT);
            say(o, "number %" PRIuHSIZE ": %s", i, name);
        }
    say_result(o, "deleting the second", H5Ldelete_by_idx(g, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, 1, H5P_DEFAULT));
    make_group(g, "c");
    say_result(o, "deleting number 9", H5Ldelete_by_idx(g, ".", H5_INDEX_NAME, H5_ITER_INC, 9, H5P_DEFAULT));
    for (hsize_t i = 0; i < COUNT(names); i++) {
        char name[8] = "";
        H5Lget_name_by_idx(g, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
        say(o, "number %" PRIuHSIZE ": %s", i, name);
    }
    H5Gclose(g);
    g = H5Gcreate2(f, "emptied", H5P_DEFAULT, gcpl, H5P_DEFAULT);
    for (int round = 0; round < 3; round++) {
        make_group(g, "p");
        make_group(g, "q");
        say_result(o, "moving on", H5Lmove(g, "p", g, round == 1 ? "r" : "s", H5P_DEFAULT, H5P_DEFAULT));
        numbers(g, o);
        if (round < 2) {
            H5Ldelete_by_idx(g, ".", H5_INDEX_CRT_ORDER, H5_ITER_DEC, 0, H5P_DEFAULT);
            numbers(g, o);
            H5Ldelete_by_idx(g, ".", H5_INDEX_CRT_ORDER, H5_ITER_DEC, 0, H5P_DEFAULT);
        }
    }
    H5Ldelete(g, "s", H5P_DEFAULT); /* the last one: the next number counts on */
    H5Gclose(g);
    H5Pclose(gcpl);
}

static void creation_order_stored(hid_t f, struct out *o)
{
    const char *groups[] = {"ordered", "emptied", "/"};
    for (size_t i = 0; i < COUNT(groups); i++) {
        hid_t g = H5Gopen2(f, groups[i], H5P_DEFAULT);
        say(o, "%s as stored", groups[i]);
        numbers(g, o);
        H5Gclose(g);
    }
}

static void kinds(hid_t f, struct out *o)
{
    make_group(f, "g");
    say_result(o, "hard", H5Lcreate_hard(f, "g", f, "hard", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "hard to nothing", H5Lcreate_hard(f, "none", f, "hard2", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "hard over another", H5Lcreate_hard(f, "g", f, "hard", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "soft", H5Lcreate_soft("/g//x/", f, "soft", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "soft to somewhere", H5Lcreate_soft("g", f, "soft2", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "external", H5Lcreate_external("other.h5", "/a//b", f, "ext", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "user-defined, not registered", H5Lcreate_ud(f, "ud", (H5L_type_t)100, "x", 1, H5P_DEFAULT, H5P_DEFAULT));
    make_group(f, "soft2/inside");
    say(o, "exists through it %d", H5Lexists(f, "g/inside", H5P_DEFAULT));
    say_result(o, "a link into itself", H5Lcreate_hard(f, "/", f, "g/up", H5P_DEFAULT, H5P_DEFAULT));
    hid_t g = H5Gopen2(f, "g", H5P_DEFAULT);
    say_result(o, "H5Olink", H5Olink(g, f, "linked", H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(g);
}

static void copies(hid_t f, struct out *o)
{
    make_group(f, "g");
    make_group(f, "h");
    H5Lcreate_soft("/g", f, "s", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("o.h5", "/p", f, "e", H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "copy hard", H5Lcopy(f, "g", f, "h/g2", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "copy soft", H5Lcopy(f, "s", H5L_SAME_LOC, "h/s2", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "copy external", H5Lcopy(f, "e", f, "h/e2", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "copy over another", H5Lcopy(f, "e", f, "h/s2", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "copy what is not there", H5Lcopy(f, "none", f, "h/x", H5P_DEFAULT, H5P_DEFAULT));
    hid_t g = H5Gopen2(f, "h", H5P_DEFAULT);
    say_result(o, "move", H5Lmove(f, "h", f, "moved", H5P_DEFAULT, H5P_DEFAULT));
    char name[64] = "";
    H5Iget_name(g, name, sizeof name);
    say(o, "it is called %s now", name);
    say_result(o, "move onto another", H5Lmove(f, "moved", f, "g", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "move what is not there", H5Lmove(f, "none", f, "n2", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "move into a group", H5Lmove(f, "s", g, "s3", H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(g);
}

static void counts(hid_t f, struct out *o)
{
    H5O_info2_t info;
    hid_t       g = group(f, "g");
    H5Lcreate_hard(f, "g", f, "g2", H5P_DEFAULT, H5P_DEFAULT);
    H5Oget_info3(g, &info, H5O_INFO_BASIC);
    say(o, "links %u", info.rc);
    say_result(o, "one more reference", H5Oincr_refcount(g));
    H5Oget_info3(g, &info, H5O_INFO_BASIC);
    say(o, "links %u", info.rc);
    say_result(o, "one less", H5Odecr_refcount(g));
    say_result(o, "deleting one", H5Ldelete(f, "g", H5P_DEFAULT));
    H5Oget_info3(g, &info, H5O_INFO_BASIC);
    say(o, "links %u", info.rc);
    say_result(o, "deleting it again", H5Ldelete(f, "g", H5P_DEFAULT));
    say_result(o, "deleting the other", H5Ldelete(f, "g2", H5P_DEFAULT));
    hid_t below = group(g, "below");
    say_result(o, "using it still", below);
    H5Gclose(below);
    H5Oget_info3(g, &info, H5O_INFO_BASIC);
    say(o, "links %u", info.rc);
    say_result(o, "deleting '.'", H5Ldelete(f, ".", H5P_DEFAULT));
    H5Gclose(g);
}

static void anonymous(hid_t f, struct out *o)
{
    H5O_info2_t info;
    char        name[32] = "";
    hid_t g = H5Gcreate_anon(f, H5P_DEFAULT, H5P_DEFAULT), lost = H5Gcreate_anon(f, H5P_DEFAULT, H5P_DEFAULT);
    make_group(g, "in");
    H5Oget_info3(g, &info, H5O_INFO_BASIC);
    say(o, "links %u", info.rc);
    say_result(o, "linking it", H5Olink(g, f, "found", H5P_DEFAULT, H5P_DEFAULT));
    say(o, "name %zd '%s'", H5Iget_name(g, name, sizeof name), name);
    hid_t below = group(lost, "below");
    H5Oget_info3(below, &info, H5O_INFO_BASIC);
    say(o, "links %u", info.rc);
    H5Gclose(lost);
    H5Oget_info3(below, &info, H5O_INFO_BASIC);
    say(o, "without the group that holds it: links %u", info.rc);
    H5Oget_info3(g, &info, H5O_INFO_BASIC);
    say(o, "links %u", info.rc);
    close_all(g, below);
}

static void comments(hid_t f, struct out *o)
{
    make_group(f, "g");
    say_result(o, "on a group", H5Oset_comment_by_name(f, "g", "it says something", H5P_DEFAULT));
    say_result(o, "on the root", H5Oset_comment(f, "root"));
    say_result(o, "another", H5Oset_comment(f, "root2"));
    make_group(f, "h");
    H5Oset_comment_by_name(f, "h", "to go", H5P_DEFAULT);
    say_result(o, "none", H5Oset_comment_by_name(f, "h", NULL, H5P_DEFAULT));
}

/* The program creates links while it iterates, which HDF5's own files don't take: it is called for those that
 * were there. */
static herr_t change_on_the_way(hid_t g, const char *name, const H5L_info2_t *info, void *arg)
{
    struct out *o = arg;
    char        new[32];
    (void)info;
    snprintf(new, sizeof new, "a%s", name);
    if (o->ours)
        make_group(g, new);
    say(o, "called for %s", name);
    return 0;
}

static void changing_while_iterating(hid_t f, struct out *o)
{
    for (int i = 0; i < 20; i++) {
        char name[16];
        snprintf(name, sizeof name, "g%02d", i);
        make_group(f, name);
    }
    hsize_t at = 0;
    say_result(o, "iterating", H5Literate2(f, H5_INDEX_NAME, H5_ITER_INC, &at, change_on_the_way, o));
    for (int i = 0; i < 20 && o->ours; i++) {
        char name[16];
        snprintf(name, sizeof name, "ag%02d", i);
        CHECK(H5Ldelete(f, name, H5P_DEFAULT) >= 0, "%s was not created", name);
    }
}

static void trees(hid_t f, struct out *o)
{
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(lcpl, 1);
    H5Gclose(H5Gcreate2(f, "t/a/b/c", lcpl, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_hard(f, "t/a/b", f, "kept", H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "deleting a tree", H5Ldelete(f, "t", H5P_DEFAULT));
    say(o, "what else is linked is there: %d", H5Lexists(f, "kept/c", H5P_DEFAULT));
    H5Pclose(lcpl);
}

static void say_order(hid_t f, const char *name, struct out *o)
{
    unsigned links = 0, attrs = 0, compact = 0, dense = 0;
    hid_t    g = H5Gopen2(f, name, H5P_DEFAULT), p = H5Gget_create_plist(g);
    H5Pget_link_creation_order(p, &links);
    H5Pget_attr_creation_order(p, &attrs);
    H5Pget_link_phase_change(p, &compact, &dense);
    say(o, "%s: links %u, attributes %u, phase %u %u", name, links, attrs, compact, dense);
    H5Pclose(p);
    H5Gclose(g);
}

/* Groups that are missing on the way */
static void on_the_way(hid_t f, struct out *o)
{
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE), ordered = H5Pcreate(H5P_GROUP_CREATE), attrs = H5Pcreate(H5P_GROUP_CREATE);
    H5Pset_create_intermediate_group(lcpl, 1);
    H5Pset_link_creation_order(ordered, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_link_phase_change(ordered, 5, 4);
    H5Pset_attr_creation_order(attrs, H5P_CRT_ORDER_TRACKED);
    H5Gclose(H5Gcreate2(f, "o", H5P_DEFAULT, ordered, H5P_DEFAULT));
    H5Gclose(H5Gcreate2(f, "o/x/y", lcpl, attrs, H5P_DEFAULT));
    say_result(o, "a soft link", H5Lcreate_soft("a", f, "o/s/t", lcpl, H5P_DEFAULT));
    say_order(f, "o/x", o);
    say_order(f, "o/s", o);
    say_result(o, "copied into itself", H5Ocopy(f, "o", f, "o/./in/x/self", H5P_DEFAULT, lcpl));
    say_result(o, "what isn't there", H5Lcopy(f, "none", f, "new/group", lcpl, H5P_DEFAULT));
    hid_t t = H5Tcopy(H5T_STD_I32LE);
    H5Tcommit2(f, "t", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "a link in a datatype", H5Lexists(t, "x", H5P_DEFAULT));
    say(o, "'/' %d, '//' %d", H5Lexists(f, "/", H5P_DEFAULT), H5Lexists(f, "//", H5P_DEFAULT));
    H5Lcreate_soft("round", f, "round", H5P_DEFAULT, H5P_DEFAULT);
    hid_t expand = H5Pcreate(H5P_OBJECT_COPY);
    H5Pset_copy_object(expand, H5O_COPY_EXPAND_SOFT_LINK_FLAG);
    say_result(o, "a copy with a link that leads to itself", H5Ocopy(f, "/", f, "h/alf", expand, lcpl));
    H5Pclose(expand);
    H5Tclose(t);
    H5Pclose(attrs);
    H5Pclose(ordered);
    H5Pclose(lcpl);
}

static void no_comment(hid_t f, struct out *o) { say_result(o, "no comment, where there is none", H5Oset_comment(f, NULL)); }

/* HDF5 looks at all open datatypes, of any connector, when a link in a file of its own is deleted. */
static void beside_a_file(hid_t f, struct out *o)
{
    hid_t t = H5Tcopy(H5T_STD_I32LE), fapl = fapl_native();
    H5Tcommit2(f, "t", t, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t plain = H5Fcreate(new_name(&(struct out){0}, "plain.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    make_group(plain, "a");
    say_result(o, "moving", H5Lmove(plain, "a", plain, "b", H5P_DEFAULT, H5P_DEFAULT));
    say_result(o, "deleting", H5Ldelete(plain, "b", H5P_DEFAULT));
    H5Fclose(plain);
    H5Pclose(fapl);
    H5Tclose(t);
}

/* HDF5 looks at all open attributes, of any connector, when one in a file of its own is opened. */
static void attributes_of_a_file(hid_t f, struct out *o)
{
    hid_t fapl = new_fapl(o), s = H5Screate(H5S_SCALAR);
    char  name[8400];
    (void)f;
    (void)snprintf(name, sizeof name, "%s%s", o->ours ? "native:" : "", new_name(&(struct out){0}, "plain.h5"));
    hid_t plain = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
    H5Aclose(H5Acreate2(plain, "a", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT));
    hid_t b = H5Acreate2(plain, "b", H5T_STD_I32LE, s, H5P_DEFAULT, H5P_DEFAULT), a = H5Aopen(plain, "a", H5P_DEFAULT);
    hid_t again = H5Aopen(plain, "a", H5P_DEFAULT);
    say_result(o, "opening another", a);
    say_result(o, "and the same again", again);
    H5Aclose(again);
    H5Aclose(a);
    H5Aclose(b);
    say_result(o, "what isn't there", H5Oexists_by_name(plain, "none", H5P_DEFAULT));
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(lcpl, 1);
    say_result(o, "a group on the way", H5Lcreate_soft("x", plain, "g/soft", lcpl, H5P_DEFAULT));
    H5Pclose(lcpl);
    H5Fclose(plain);
    H5Pclose(fapl);
    H5Sclose(s);
}

/* Groups are made on the way, in the very group that holds the moved or copied object, when its links may be
 * put in order. */
static void beside(hid_t f, struct out *o)
{
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE), fapl = new_fapl(o);
    (void)f;
    H5Pset_create_intermediate_group(lcpl, 1);
    for (int i = 0; i < 2; i++) {
        hid_t g = H5Fcreate(new_name(o, "beside.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
        make_group(g, "c");
        H5Fclose(g);
        g = H5Fopen(new_name(o, "beside.h5"), H5F_ACC_RDWR, fapl);
        say_result(o, "a link to it", H5Lcopy(g, "c", g, "d/e", lcpl, H5P_DEFAULT));
        make_group(g, "b");
        H5Fflush(g, H5F_SCOPE_GLOBAL);
        say_result(o, "below a new group", i ? H5Lcopy(g, "d", g, "e/x", lcpl, H5P_DEFAULT) : H5Lmove(g, "d", g, "e/x", lcpl, H5P_DEFAULT));
        say_file(g, o);
        H5Fclose(g);
    }
    H5Fdelete(new_name(o, "beside.h5"), fapl);
    H5Pclose(fapl);
    H5Pclose(lcpl);
}

/* A chain of 20 soft links: more than are followed by default, and fewer than H5Pset_nlinks() may allow. */
static void many_links(hid_t f, struct out *o)
{
    char from[16], to[16] = "end";
    hid_t lapl = H5Pcreate(H5P_LINK_ACCESS), dapl = H5Pcreate(H5P_DATASET_ACCESS);
    put_int_closed(f, "end", 5);
    for (int i = 0; i < 20; i++) {
        snprintf(from, sizeof from, "s%d", i);
        H5Lcreate_soft(to, f, from, H5P_DEFAULT, H5P_DEFAULT);
        snprintf(to, sizeof to, "%s", from);
    }
    H5Lcreate_soft("round", f, "round", H5P_DEFAULT, H5P_DEFAULT);
    for (size_t n = 18; n < 23; n++) {
        say_result(o, "H5Pset_nlinks", H5Pset_nlinks(lapl, n));
        H5Pset_nlinks(dapl, n);
        hid_t id = H5Oopen(f, to, lapl), d = H5Dopen2(f, to, dapl);
        say(o, "with %zu: %d %d %d", n, id >= 0, d >= 0, H5Lexists(f, to, lapl) > 0);
        say(o, "there is an object: %d", H5Oexists_by_name(f, to, lapl));
        if (id >= 0)
            H5Oclose(id);
        if (d >= 0)
            H5Dclose(d);
        H5Eclear2(H5E_DEFAULT);
    }
    say_result(o, "the default", H5Oopen(f, to, H5P_DEFAULT));
    say_result(o, "16 of them", H5Oclose(H5Oopen(f, "s15", H5P_DEFAULT)));
    say_result(o, "17 of them", H5Oopen(f, "s16", H5P_DEFAULT));
    say_result(o, "round and round", H5Oopen(f, "round", lapl));
    say(o, "%d %d", H5Oexists_by_name(f, "round", H5P_DEFAULT), H5Oexists_by_name(f, "s15", H5P_DEFAULT));
    say(o, "%d", H5Oexists_by_name(f, "s16", H5P_DEFAULT));
    H5Pclose(lapl);
    H5Pclose(dapl);
    H5Eclear2(H5E_DEFAULT);
}

/* HDF5 passes these on as they are. */
static void without_result(hid_t f, struct out *o)
{
    H5R_ref_t ref;
    H5Gclose(H5Gcreate2(f, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_soft("/g", f, "soft", H5P_DEFAULT, H5P_DEFAULT);
    say_result(o, "H5Lget_info of g", H5Lget_info2(f, "g", NULL, H5P_DEFAULT));
    say_result(o, "H5Lget_info of soft", H5Lget_info2(f, "soft", NULL, H5P_DEFAULT));
    say_result(o, "H5Lget_info of nothing", H5Lget_info2(f, "no", NULL, H5P_DEFAULT));
    say_result(o, "H5Lget_info_by_idx",
               H5Lget_info_by_idx2(f, ".", H5_INDEX_NAME, H5_ITER_INC, 1, NULL, H5P_DEFAULT));
    say_result(o, "H5Lget_val", H5Lget_val(f, "soft", NULL, 10, H5P_DEFAULT));
    say_result(o, "H5Gget_objinfo", H5Gget_objinfo(f, "soft", 1, NULL));
    say_result(o, "H5Rcreate_object", H5Rcreate_object(f, "g", H5P_DEFAULT, &ref));
    say_result(o, "H5Rget_obj_type", H5Rget_obj_type3(&ref, H5P_DEFAULT, NULL));
    H5Rdestroy(&ref);
}

static const struct write_case cases[] = {
    {"groups are created", groups, NULL},
    {"links keep their order of creation", creation_order, creation_order_stored},
    {"links of every kind", kinds, NULL},
    {"links go below groups that are made beside them", beside, NULL},
    {"links are copied and moved", copies, NULL},
    {"links are counted", counts, NULL},
    {"what nothing links goes", anonymous, NULL},
    {"results may be NULL where HDF5 allows it", without_result, NULL},
    {"comments", comments, NULL},
    {"a group changes while it is walked", changing_while_iterating, NULL},
    {"a tree goes with its last link", trees, NULL},
    {"groups on the way are made as HDF5 makes them", on_the_way, no_comment},
    {"as many soft links as the program allows", many_links, NULL},
    {"a committed datatype is open while a plain file changes", beside_a_file, NULL},
    {"attributes of a plain file are open", attributes_of_a_file, NULL},
};

int main(void) { return compare_write_main(cases, COUNT(cases)); }
