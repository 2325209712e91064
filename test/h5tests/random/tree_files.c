/* Random calls on the tree: files, and the random choices for all of them. */
#include "h5tests/random/tree.h"

/* ---- names, places, lists ---- */

const char *some_name(struct rnd *r)
{
    static const char *const usual[] = {"a", "b", "c", "d", "e"};
    static const char *const odd[]   = {"",       ".",       "..",  "e f",       "%2F",      "gr\xc3\xbc\xc3\x9f", "\"q\"\\", "t\tn\n",
                                        "\x01\x7f", "a.b",     "...", "?x=1#y&z",  "{\"a\":1}", "'$(x)`",             " ",       "-rf",
                                        "\xe2\x82\xac\xf0\x9f\x98\x80", "A", NULL};
    static char long_name[401];
    if (!rnd_chance(r, 12))
        return RND_OF(r, usual);
    const char *name = RND_OF(r, odd);
    if (!name) {
        memset(long_name, 'x', sizeof long_name - 1);
        name = long_name;
    }
    return name;
}

const char *some_path(struct rnd *r)
{
    static char     paths[4][PATH_ROOM];
    static unsigned next;
    char           *to = paths[next++ % COUNT(paths)];
    unsigned        n  = rnd_chance(r, 55) ? 1 : rnd_chance(r, 70) ? 2 : 3;
    to[0]              = 0;
    if (rnd_chance(r, 20))
        strcat(to, rnd_chance(r, 90) ? "/" : "//");
    for (unsigned i = 0; i < n; i++) {
        if (i)
            strcat(to, rnd_chance(r, 94) ? "/" : rnd_chance(r, 50) ? "//" : "/./");
        strcat(to, some_name(r));
    }
    if (rnd_chance(r, 3))
        strcat(to, "/");
    return to;
}

hid_t some_loc(struct side *s, struct rnd *r)
{
    unsigned file = rnd_below(r, 10), slot = rnd_below(r, OBJECTS);
    bool     object = rnd_chance(r, 40);
    if (object && s->obj[slot] >= 0) {
        say(s->o, "at o%u", slot);
        return s->obj[slot];
    }
    file = file < 6 ? 0 : file - 6;
    if (file >= FILES || s->file[file] < 0)
        file = 0;
    say(s->o, "at f%u", file);
    return s->file[file];
}

unsigned free_slot(struct side *s, struct rnd *r)
{
    unsigned slot = rnd_below(r, OBJECTS);
    for (unsigned i = 0; i < OBJECTS; i++)
        if (s->obj[(slot + i) % OBJECTS] < 0)
            return (slot + i) % OBJECTS;
    close_slot(s, slot);
    return slot;
}

int some_object(struct side *s, struct rnd *r)
{
    unsigned slot = rnd_below(r, OBJECTS);
    for (unsigned i = 0; i < OBJECTS; i++)
        if (s->obj[(slot + i) % OBJECTS] >= 0) {
            say(s->o, "of o%u", (slot + i) % OBJECTS);
            return (int)((slot + i) % OBJECTS);
        }
    return -1;
}

bool is_ascii(const char *name)
{
    while (*name && (unsigned char)*name < 0x80)
        name++;
    return !*name;
}

hid_t some_lcpl(struct rnd *r, const char *path)
{
    hid_t p = H5Pcreate(H5P_LINK_CREATE);
    if (rnd_chance(r, 50) && is_ascii(path)) /* groups on the way would be marked as ASCII */
        H5Pset_create_intermediate_group(p, 1);
    if (rnd_chance(r, 30) || !is_ascii(path))
        H5Pset_char_encoding(p, H5T_CSET_UTF8);
    return p;
}

/* By order of creation only where that is tracked: HDF5 refuses it elsewhere, and a domain knows it of every
 * group. */
H5_index_t some_index(struct rnd *r, hid_t loc, const char *path, bool attrs)
{
    unsigned flags = 0;
    bool     want  = rnd_chance(r, 50);
    hid_t    id    = H5Oopen(loc, path, H5P_DEFAULT);
    hid_t    plist = H5I_INVALID_HID;
    if (id >= 0 && H5Iget_type(id) == H5I_GROUP)
        plist = H5Gget_create_plist(id);
    else if (id >= 0 && H5Iget_type(id) == H5I_DATASET)
        plist = H5Dget_create_plist(id);
    else if (id >= 0)
        plist = H5Tget_create_plist(id);
    if (plist >= 0) {
        if (attrs)
            H5Pget_attr_creation_order(plist, &flags);
        else if (H5Iget_type(id) == H5I_GROUP)
            H5Pget_link_creation_order(plist, &flags);
        H5Pclose(plist);
    }
    if (id >= 0)
        H5Oclose(id);
    H5Eclear2(H5E_DEFAULT);
    return want && (flags & H5P_CRT_ORDER_TRACKED) ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

H5_iter_order_t some_order(struct rnd *r) { return rnd_chance(r, 60) ? H5_ITER_INC : H5_ITER_DEC; }

/* ---- the lists of open files ---- */

bool gave(struct side *s, const char *call, long long result)
{
    say_result(s->o, call, result);
    return result >= 0;
}

/* ---- files ---- */

static const char *leaf_of(const struct side *s, unsigned i)
{
    static const char *const leaves[] = {"a.h5", "a.h5", "b.h5"};
    static char              name[9000];
    if (i < COUNT(leaves))
        return new_name(s->o, leaves[i]);
    (void)snprintf(name, sizeof name, "%s%s", s->o->ours ? "native:" : "", new_name(&(struct out){0}, s->o->ours ? "n1/n.h5" : "n0/n.h5"));
    return name;
}

/* A plain file that the connector makes begins with the format of 1.8. */
static void set_format(const struct side *s, unsigned i)
{
    H5Pset_libver_bounds(s->fapl, i == 3 ? H5F_LIBVER_V18 : H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
}

static void expect_ours(const struct side *s, unsigned i)
{
    char name[64] = "";
    if (!s->o->ours || s->file[i] < 0)
        return;
    H5VLget_connector_name(s->file[i], name, sizeof name);
    CHECK(strcmp(name, "bucket") == 0, "%s is open by connector '%s', not by ours", leaf_of(s, i), name);
}

static void open_one(struct side *s, unsigned i)
{
    set_format(s, i);
    s->file[i] = H5Fopen(leaf_of(s, i), s->rw ? H5F_ACC_RDWR : H5F_ACC_RDONLY, s->fapl);
    gave(s, "H5Fopen", s->file[i]);
    expect_ours(s, i);
}

void files_create(struct side *s)
{
    for (unsigned i = 0; i < FILES; i++) {
        struct rnd r = rnd_of(s->seed, 1000000 + i);
        hid_t      p = H5Pcreate(H5P_FILE_CREATE);
        if (i == 1) {
            H5Pclose(p);
            open_one(s, 1);
            continue;
        }
        if (rnd_chance(&r, 50))
            H5Pset_link_creation_order(p, H5P_CRT_ORDER_TRACKED | (rnd_chance(&r, 60) ? H5P_CRT_ORDER_INDEXED : 0));
        if (rnd_chance(&r, 50))
            H5Pset_attr_creation_order(p, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
        set_format(s, i);
        s->file[i] = H5Fcreate(leaf_of(s, i), H5F_ACC_TRUNC, p, s->fapl);
        gave(s, "H5Fcreate", s->file[i]);
        expect_ours(s, i);
        H5Pclose(p);
    }
}

void files_open(struct side *s)
{
    for (unsigned i = 0; i < FILES; i++)
        open_one(s, i);
    for (unsigned i = 1; i < FILES; i++)
        walkable(s, s->file[i]);
}

void close_slot(struct side *s, unsigned slot)
{
    if (s->obj[slot] < 0)
        return;
    while (s->added[slot] > 0) {
        s->added[slot]--;
        gave(s, "H5Odecr_refcount", H5Odecr_refcount(s->obj[slot]));
    }
    gave(s, "H5Oclose", H5Oclose(s->obj[slot]));
    s->obj[slot] = H5I_INVALID_HID;
}

void files_close(struct side *s)
{
    for (unsigned i = 0; i < REFS; i++)
        if (s->has_ref[i]) {
            gave(s, "H5Rdestroy", H5Rdestroy(&s->ref[i]));
            s->has_ref[i] = false;
        }
    values_dropped(s);
    for (unsigned i = 0; i < OBJECTS; i++)
        close_slot(s, i);
    for (unsigned i = FILES; i-- > 0;) {
        if (s->file[i] >= 0)
            gave(s, "H5Fclose", H5Fclose(s->file[i]));
        s->file[i] = H5I_INVALID_HID;
    }
}

void files_delete(struct side *s)
{
    for (unsigned i = 1; i < FILES; i++)
        H5Fdelete(leaf_of(s, i), s->fapl);
}

/* ---- calls ---- */

static void all_again(struct side *s, struct rnd *r)
{
    files_close(s);
    s->rw = rnd_chance(r, 80);
    files_open(s);
}

static void one_again(struct side *s, struct rnd *r)
{
    unsigned i = rnd_in(r, 1, FILES - 1);
    say(s->o, "f%u", i);
    if (s->file[i] >= 0) {
        if (i == 1)
            values_dropped(s);
        gave(s, "H5Fclose", H5Fclose(s->file[i]));
        s->file[i] = H5I_INVALID_HID;
        return;
    }
    if (i == 1 && rnd_chance(r, 50))
        gave(s, "H5Freopen", s->file[i] = H5Freopen(s->file[0]));
    else
        open_one(s, i);
}

static void flushed(struct side *s, struct rnd *r)
{
    unsigned i     = rnd_below(r, 3);
    hid_t    at    = rnd_chance(r, 70) || s->obj[i] < 0 ? s->file[0] : s->obj[i];
    H5F_scope_t scope = rnd_chance(r, 50) ? H5F_SCOPE_LOCAL : H5F_SCOPE_GLOBAL;
    if (rnd_chance(r, 80))
        gave(s, "H5Fflush", H5Fflush(at, scope));
    else
        gave(s, "H5Oflush", H5Oflush(at));
}

static void counted(struct side *s, struct rnd *r)
{
    static const unsigned kinds[] = {H5F_OBJ_FILE, H5F_OBJ_DATASET, H5F_OBJ_GROUP, H5F_OBJ_DATATYPE, H5F_OBJ_ATTR, H5F_OBJ_ALL};
    hid_t    ids[64];
    unsigned i = rnd_below(r, FILES), kind = RND_OF(r, kinds), local = rnd_chance(r, 40) ? H5F_OBJ_LOCAL : 0;
    if (s->file[i] < 0)
        return;
    say(s->o, "f%u kind %u: %zd open", i, kind | local, H5Fget_obj_count(s->file[i], kind | local));
    ssize_t n = H5Fget_obj_ids(s->file[i], kind | local, COUNT(ids), ids);
    say(s->o, "%zd ids", n);
}

static void file_of(struct side *s, struct rnd *r)
{
    int slot = some_object(s, r);
    if (slot < 0)
        return;
    hid_t    f = H5Iget_file_id(s->obj[slot]);
    char     name[9000] = "";
    unsigned intent = 0;
    gave(s, "H5Iget_file_id", f);
    ssize_t n = H5Fget_name(s->obj[slot], name, sizeof name);
    say(s->o, "H5Fget_name %d %s", n > 0, strrchr(name, '/') ? strrchr(name, '/') : name);
    gave(s, "H5Fget_intent", H5Fget_intent(f, &intent));
    say(s->o, "intent %u", intent);
    H5Fclose(f);
}

static void all_said(struct side *s, struct rnd *r)
{
    unsigned i = rnd_below(r, FILES);
    say_everything(s, s->file[i] >= 0 ? s->file[i] : s->file[0]);
}

const struct tree_op file_ops[] = {
    {"closing all and opening again", 3, all_again},
    {"closing one file, or opening it", 3, one_again},
    {"flush", 4, flushed},
    {"counting what is open", 3, counted},
    {"the file of an object", 2, file_of},
    {"all there is", 3, all_said},
    {0},
};
