/* Random calls on the tree: behaviours of HDF5 1.14.5 with its own files alone, a bug or a limit.  Such a
 * call is left out on both sides.  HDF5's side goes first, and its findings count for both. */
#include "h5tests/random/tree.h"

static bool both_say(struct side *s, bool is)
{
    bool *at = &s->native_says[s->asked++ % DECISIONS];
    if (!s->o->ours)
        *at = is;
    return *at;
}

static bool info_of(hid_t id, H5O_info2_t *out) { return id >= 0 && H5Oget_info3(id, out, H5O_INFO_BASIC) >= 0; }

bool same_file(hid_t a, hid_t b)
{
    H5O_info2_t of_a, of_b;
    return info_of(a, &of_a) && info_of(b, &of_b) && of_a.fileno == of_b.fileno;
}

bool other_handle(struct side *s, hid_t a, hid_t b)
{
    hid_t f = H5Iget_file_id(a), g = H5Iget_file_id(b);
    bool  is = f >= 0 && g >= 0 && f != g && same_file(a, b);
    if (f >= 0)
        H5Fclose(f);
    if (g >= 0)
        H5Fclose(g);
    H5Eclear2(H5E_DEFAULT);
    return both_say(s, is);
}

static bool is_pointer(hid_t loc, const char *path)
{
    H5L_info2_t l;
    return *path && H5Lget_info2(loc, path, &l, H5P_DEFAULT) >= 0 && l.type != H5L_TYPE_HARD;
}

bool through_link(struct side *s, hid_t loc, const char *path)
{
    char head[3 * PATH_ROOM];
    bool is = false;
    (void)snprintf(head, sizeof head, "%s", path);
    for (char *end = head + strlen(head); !is && end > head; *end = 0) {
        while (end > head && *end != '/')
            end--;
        while (end > head && end[-1] == '/')
            end--;
        *end = 0;
        is   = is_pointer(loc, head);
    }
    H5Eclear2(H5E_DEFAULT);
    return both_say(s, is);
}

bool is_link(struct side *s, hid_t loc, const char *path)
{
    bool is = is_pointer(loc, path);
    H5Eclear2(H5E_DEFAULT);
    return both_say(s, is);
}

static herr_t leads_to(hid_t g, const char *name, const H5L_info2_t *l, void *arg)
{
    const H5O_info2_t *want = arg;
    int                cmp  = 1;
    (void)name;
    return l->type == H5L_TYPE_HARD && H5Otoken_cmp(g, &l->u.token, &want->token, &cmp) >= 0 && cmp == 0;
}

/* An object that was moved below itself isn't found at its new place. */
void linked_now(struct side *s, hid_t loc, const char *path)
{
    H5O_info2_t info;
    hid_t       id = H5Oopen(loc, path, H5P_DEFAULT);
    s->o->uncounted |= both_say(s, id < 0 || (info_of(id, &info) && info.type == H5O_TYPE_GROUP &&
                                              H5Lvisit2(id, H5_INDEX_NAME, H5_ITER_NATIVE, leads_to, &info) > 0));
    if (id >= 0)
        H5Oclose(id);
    H5Eclear2(H5E_DEFAULT);
}

bool fails_natively(struct side *s, herr_t rc) { return both_say(s, rc < 0); }

static herr_t on_any(hid_t g, const char *name, const H5L_info2_t *l, void *arg)
{
    (void)g, (void)name, (void)l, (void)arg;
    return 0;
}

void walkable(struct side *s, hid_t loc)
{
    hid_t file = H5Iget_file_id(loc);
    s->broken |= both_say(s, file >= 0 && H5Lvisit2(file, H5_INDEX_NAME, H5_ITER_NATIVE, on_any, NULL) < 0);
    if (file >= 0)
        H5Fclose(file);
    H5Eclear2(H5E_DEFAULT);
}

void values_dropped(struct side *s)
{
    for (unsigned i = 0; i < ATTRS; i++) {
        if (s->attr[i] >= 0)
            gave(s, "H5Aclose", H5Aclose(s->attr[i]));
        s->attr[i] = H5I_INVALID_HID;
    }
}

bool may_link(const struct side *s) { return s->rw; }

static int slot_of(const struct side *s, hid_t id)
{
    for (int i = 0; i < OBJECTS; i++)
        if (s->obj[i] == id)
            return i;
    return -1;
}

bool has_path(const struct side *s, hid_t loc)
{
    int slot = slot_of(s, loc);
    return slot < 0 || s->intact[slot];
}

struct meant {
    hid_t       type; /* H5T_STD_REF_OBJ or H5T_STD_REF */
    const void *ref;
};

/* Opening a deleted object would leave it in HDF5's cache, where another object may have to be put. */
static herr_t is_meant(hid_t start, const char *name, const H5O_info2_t *info, void *arg)
{
    const struct meant *m   = arg;
    hobj_ref_t          old = 0;
    H5R_ref_t           ref = {0};
    (void)info;
    if (H5Tequal(m->type, H5T_STD_REF_OBJ) > 0)
        return H5Rcreate(&old, start, name, H5R_OBJECT, H5I_INVALID_HID) >= 0 && memcmp(&old, m->ref, sizeof old) == 0;
    if (H5Rget_type(m->ref) == H5R_OBJECT2) {
        herr_t same = H5Rcreate_object(start, name, H5P_DEFAULT, &ref) >= 0 && H5Requal(&ref, m->ref) > 0;
        H5Rdestroy(&ref);
        return same;
    }
    return 0;
}

bool refers_to_something(struct side *s, hid_t at, hid_t type, const void *ref)
{
    struct meant m    = {type, ref};
    hid_t        file = H5Iget_file_id(at);
    bool         is   = file >= 0 && H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_NATIVE, is_meant, &m, H5O_INFO_BASIC) > 0;
    if (file >= 0)
        H5Fclose(file);
    H5Eclear2(H5E_DEFAULT);
    return both_say(s, is);
}

void names_changed(struct side *s)
{
    s->unlinked = true;
    for (unsigned i = 0; i < REFS; i++) {
        if (s->has_ref[i])
            H5Rdestroy(&s->ref[i]);
        s->has_ref[i] = false;
    }
    for (unsigned i = 0; i < OBJECTS; i++)
        s->intact[i] = false;
}
