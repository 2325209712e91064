/* Random calls on the tree: attributes, types and values. */
#include "h5tests/random/tree.h"
#include "h5tests/helpers/type_zoo.h"

/* ---- types ---- */

static hid_t compound(void)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, 24), text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    H5Tinsert(t, "a", 0, H5T_STD_I16LE);
    H5Tinsert(t, "text", 8, text);
    H5Tinsert(t, "b", 16, H5T_IEEE_F32LE);
    H5Tclose(text);
    return t;
}

static hid_t padded(void)
{
    hid_t t = H5Tcreate(H5T_COMPOUND, 16);
    H5Tinsert(t, "i", 0, H5T_STD_I8LE);
    H5Tinsert(t, "f", 4, H5T_IEEE_F64LE);
    return t;
}

static hid_t enumeration(void)
{
    hid_t       t     = H5Tenum_create(H5T_STD_I16LE);
    short       v     = 0;
    const char *names[] = {"red", "green", "b l u e"};
    for (size_t i = 0; i < COUNT(names); i++, v = (short)(v + 7))
        H5Tenum_insert(t, names[i], &v);
    return t;
}

static hid_t opaque(void)
{
    hid_t t = H5Tcreate(H5T_OPAQUE, 5);
    H5Tset_tag(t, "a \"tag\"");
    return t;
}

hid_t some_type(struct side *s, struct rnd *r, hid_t loc)
{
    hsize_t dims[2] = {2, 3};
    int     slot    = (int)rnd_below(r, OBJECTS);
    if (rnd_chance(r, 25) && s->obj[slot] >= 0 && H5Iget_type(s->obj[slot]) == H5I_DATATYPE && !other_handle(s, s->obj[slot], loc)) {
        say(s->o, "of type o%d", slot);
        H5Iinc_ref(s->obj[slot]);
        return s->obj[slot];
    }
    switch (rnd_below(r, 18)) {
        case 0: return H5Tcopy(H5T_STD_I8LE);
        case 1: return H5Tcopy(H5T_STD_U64BE);
        case 2: return H5Tcopy(H5T_IEEE_F32LE);
        case 3: return H5Tcopy(H5T_IEEE_F64BE);
        case 4: return zoo_text(5, H5T_STR_NULLPAD, H5T_CSET_ASCII);
        case 5: return zoo_text(8, H5T_STR_NULLTERM, H5T_CSET_UTF8);
        case 6: return zoo_text(4, H5T_STR_SPACEPAD, H5T_CSET_ASCII);
        case 7: return zoo_text(H5T_VARIABLE, H5T_STR_NULLTERM, H5T_CSET_UTF8);
        case 8: return H5Tvlen_create(H5T_STD_I16LE);
        case 9: return compound();
        case 10: return padded();
        case 11: return enumeration();
        case 12: return H5Tarray_create2(H5T_STD_I16BE, 2, dims);
        case 13: return opaque();
        case 14: return H5Tcopy(H5T_STD_B8LE);
        case 15: return H5Tcopy(H5T_STD_REF_OBJ);
        case 16: return H5Tcopy(H5T_STD_REF);
        default: return H5Tcopy(H5T_STD_I32LE);
    }
}

/* ---- values ---- */

static void fill_reference(struct side *s, struct rnd *r, hid_t type, unsigned char *p)
{
    const char *path = some_path(r);
    bool        none = rnd_chance(r, 20);
    if (none)
        return;
    if (H5Tequal(type, H5T_STD_REF_OBJ) > 0) {
        if (H5Rcreate(p, s->at, path, H5R_OBJECT, H5I_INVALID_HID) < 0)
            memset(p, 0, sizeof(hobj_ref_t));
    } else if (H5Rcreate_object(s->at, path, H5P_DEFAULT, (H5R_ref_t *)p) < 0) {
        memset(p, 0, sizeof(H5R_ref_t));
    }
    H5Eclear2(H5E_DEFAULT);
}

/* A value of a type, in memory: from malloc(), given back by H5Treclaim(). */
static void fill_value(struct side *s, struct rnd *r, hid_t type, unsigned char *p)
{
    static const char *const texts[] = {"", "x", "some text", "gr\xc3\xbc\xc3\x9f", "\"\\\n\x01"};
    H5T_class_t cls  = H5Tget_class(type);
    size_t      size = H5Tget_size(type);
    hid_t       base;
    if (cls == H5T_REFERENCE) {
        fill_reference(s, r, type, p);
    } else if (cls == H5T_STRING) {
        const char *t = RND_OF(r, texts);
        if (H5Tis_variable_str(type) > 0)
            memcpy(p, &(char *){strdup(t)}, sizeof(char *));
        else
            for (size_t i = 0; i < size; i++)
                p[i] = (unsigned char)"abcdefgh"[(i + strlen(t)) % 8];
    } else if (cls == H5T_VLEN) {
        hvl_t v = {rnd_below(r, 4), NULL};
        base    = H5Tget_super(type);
        size    = H5Tget_size(base);
        v.p     = v.len ? calloc(v.len, size) : NULL;
        for (size_t i = 0; i < v.len; i++)
            fill_value(s, r, base, (unsigned char *)v.p + i * size);
        memcpy(p, &v, sizeof v);
        H5Tclose(base);
    } else if (cls == H5T_COMPOUND) {
        for (int i = 0; i < H5Tget_nmembers(type); i++) {
            base = H5Tget_member_type(type, (unsigned)i);
            fill_value(s, r, base, p + H5Tget_member_offset(type, (unsigned)i));
            H5Tclose(base);
        }
    } else if (cls == H5T_ENUM) {
        H5Tget_member_value(type, rnd_below(r, (unsigned)H5Tget_nmembers(type)), p);
    } else if (cls == H5T_FLOAT) {
        double v = (double)rnd_below(r, 1000) / 8;
        memcpy(p, &v, sizeof v < size ? sizeof v : size);
        if (size >= sizeof v)
            H5Tconvert(H5T_NATIVE_DOUBLE, type, 1, p, NULL, H5P_DEFAULT);
        else
            memset(p, 0, size);
    } else {
        for (size_t i = 0; i < size; i++)
            p[i] = (unsigned char)rnd_next(r);
    }
}

void write_values(struct side *s, struct rnd *r, hid_t of, hid_t type, hid_t space)
{
    hid_t          mem  = H5Tcopy(type); /* not a committed one */
    size_t         size = H5Tget_size(mem);
    hssize_t       n    = H5Sget_simple_extent_npoints(space);
    unsigned char *v    = calloc(n > 0 ? (size_t)n : 1, size);
    s->at               = of;
    for (hssize_t i = 0; i < n; i++)
        fill_value(s, r, mem, v + (size_t)i * size);
    if (H5Iget_type(of) == H5I_ATTR)
        gave(s, "H5Awrite", H5Awrite(of, mem, v));
    else
        gave(s, "H5Dwrite", H5Dwrite(of, mem, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    if (n > 0)
        H5Treclaim(mem, space, H5P_DEFAULT, v);
    free(v);
    H5Tclose(mem);
}

static void say_reference(struct side *s, hid_t type, const unsigned char *p)
{
    bool  old = H5Tequal(type, H5T_STD_REF_OBJ) > 0;
    if (s->unlinked && !refers_to_something(s, s->at, type, p))
        return;
    hid_t id  = old ? H5Rdereference2(s->at, H5P_DEFAULT, H5R_OBJECT, p)
                    : H5Ropen_object((H5R_ref_t *)(uintptr_t)p, H5P_DEFAULT, H5P_DEFAULT);
    if (s->unlinked)
        say(s->o, "%s%d", id < 0 ? NO_REF : HAS_REF, id < 0 ? 0 : (int)H5Iget_type(id));
    else {
        say(s->o, "reference to a thing of type %d", id < 0 ? -1 : (int)H5Iget_type(id));
        if (id >= 0)
            say_name(s, "dereferenced", id, false);
    }
    if (id >= 0)
        H5Oclose(id);
    H5Eclear2(H5E_DEFAULT);
}

void say_value(struct side *s, hid_t type, const unsigned char *p)
{
    H5T_class_t cls = H5Tget_class(type);
    hid_t       base;
    if (cls == H5T_REFERENCE) {
        say_reference(s, type, p);
    } else if (cls == H5T_STRING && H5Tis_variable_str(type) > 0) {
        char *t;
        memcpy(&t, p, sizeof t);
        say(s->o, "text %s", t ? t : "NULL");
    } else if (cls == H5T_VLEN) {
        hvl_t v;
        memcpy(&v, p, sizeof v);
        base = H5Tget_super(type);
        say(s->o, "%zu elements", v.len);
        for (size_t i = 0; i < v.len; i++)
            say_value(s, base, (unsigned char *)v.p + i * H5Tget_size(base));
        H5Tclose(base);
    } else if (cls == H5T_COMPOUND) {
        for (int i = 0; i < H5Tget_nmembers(type); i++) {
            base = H5Tget_member_type(type, (unsigned)i);
            say_value(s, base, p + H5Tget_member_offset(type, (unsigned)i));
            H5Tclose(base);
        }
    } else {
        say_bytes(s->o, "value", p, H5Tget_size(type));
    }
}

/* All of an attribute or a dataset.  Some attributes have many elements; numbers print them all, in one line. */
static void say_values(struct side *s, hid_t of, hid_t type, hid_t space)
{
    hid_t          mem  = H5Tcopy(type);
    size_t         size = H5Tget_size(mem);
    hssize_t       n    = H5Sget_simple_extent_npoints(space);
    unsigned char *v    = calloc(n > 0 ? (size_t)n : 1, size);
    bool           attr = H5Iget_type(of) == H5I_ATTR;
    s->at               = of;
    bool got = attr ? gave(s, "H5Aread", H5Aread(of, mem, v)) : gave(s, "H5Dread", H5Dread(of, mem, H5S_ALL, H5S_ALL, H5P_DEFAULT, v));
    if (got && n > 0) {
        if (n > 100 && H5Tget_class(mem) == H5T_INTEGER)
            say_bytes(s->o, "values", v, (size_t)n * size);
        else
            for (hssize_t i = 0; i < n; i++)
                say_value(s, mem, v + (size_t)i * size);
        H5Treclaim(mem, space, H5P_DEFAULT, v);
    }
    free(v);
    H5Tclose(mem);
}

void say_attribute(struct side *s, hid_t a)
{
    hid_t t = H5Aget_type(a), space = H5Aget_space(a);
    if (!gave(s, "H5Aget_type", t) || !gave(s, "H5Aget_space", space))
        return;
    say(s->o, "committed %d", H5Tcommitted(t));
    say_type(s->o, t);
    say_space(s->o, space);
    say_values(s, a, t, space);
    H5Sclose(space);
    H5Tclose(t);
    H5Eclear2(H5E_DEFAULT);
}

/* ---- calls ---- */

static const char *attr_name(struct rnd *r)
{
    static char names[4][16];
    static unsigned next;
    if (rnd_chance(r, 25))
        return some_name(r);
    char *to = names[next++ % COUNT(names)];
    (void)snprintf(to, sizeof names[0], "n%u", rnd_below(r, 12));
    return to;
}

static void write_attribute(struct side *s, struct rnd *r, hid_t a)
{
    hid_t type = H5Aget_type(a), space = H5Aget_space(a);
    write_values(s, r, a, type, space);
    H5Sclose(space);
    H5Tclose(type);
}

static void keep_attr(struct side *s, struct rnd *r, hid_t a)
{
    unsigned slot = rnd_below(r, ATTRS);
    if (rnd_chance(r, 70)) {
        gave(s, "H5Aclose", H5Aclose(a));
        return;
    }
    if (s->attr[slot] >= 0)
        gave(s, "H5Aclose", H5Aclose(s->attr[slot]));
    s->attr[slot]  = a;
    s->stale[slot] = false;
    say(s->o, "kept as a%u", slot);
}

/* An open attribute that was deleted, and another of that name: HDF5 takes one for the other. */
static bool has_namesake(struct side *s, const char *name)
{
    char other[PATH_ROOM];
    for (unsigned i = 0; i < ATTRS; i++)
        if (s->attr[i] >= 0 && s->stale[i] && H5Aget_name(s->attr[i], sizeof other, other) >= 0 && strcmp(name, other) == 0)
            return true;
    return false;
}

static bool is_type(hid_t loc, const char *path)
{
    H5O_info2_t info;
    bool        is = H5Oget_info_by_name3(loc, path, &info, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 && info.type == H5O_TYPE_NAMED_DATATYPE;
    H5Eclear2(H5E_DEFAULT);
    return is;
}

static void created(struct side *s, struct rnd *r)
{
    hid_t       loc  = some_loc(s, r);
    const char *path = some_path(r), *name = attr_name(r);
    hid_t       type = some_type(s, r, loc), p = H5Pcreate(H5P_ATTRIBUTE_CREATE);
    bool        big  = H5Tget_class(type) == H5T_INTEGER && rnd_chance(r, 15);
    hsize_t     dims[2] = {rnd_below(r, 4), rnd_in(r, 1, 2)}, many = rnd_in(r, 1000, 4000);
    unsigned    form  = rnd_below(r, 10);
    hid_t       space = big        ? H5Screate_simple(1, &many, NULL)
                        : form < 1 ? H5Screate(H5S_NULL)
                        : form < 7 ? H5Screate(H5S_SCALAR)
                                   : H5Screate_simple(2, dims, NULL);
    if (rnd_chance(r, 40) || !is_ascii(name))
        H5Pset_char_encoding(p, H5T_CSET_UTF8);
    say(s->o, "'%s' '%s'", path, name);
    hid_t a = has_namesake(s, name)  ? H5I_INVALID_HID
              : rnd_chance(r, 50) ? H5Acreate2(loc, name, type, space, p, H5P_DEFAULT)
                                : H5Acreate_by_name(loc, path, name, type, space, p, H5P_DEFAULT, H5P_DEFAULT);
    if (gave(s, "H5Acreate", a)) {
        if (rnd_chance(r, 80))
            write_attribute(s, r, a);
        keep_attr(s, r, a);
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Pclose(p);
}

static void opened(struct side *s, struct rnd *r)
{
    hid_t           loc   = some_loc(s, r), a;
    const char     *path  = some_path(r), *name = attr_name(r), *in = rnd_chance(r, 50) ? "." : path;
    H5_index_t      index = some_index(r, loc, in, true);
    H5_iter_order_t order = some_order(r);
    hsize_t         n     = rnd_below(r, 4);
    say(s->o, "'%s' '%s' '%s' %d %d %llu", path, name, in, index, order, (unsigned long long)n);
    /* HDF5 mistakes an attribute that was opened from another object for one of that object.  If the object
     * has such an attribute, that is written, and read. */
    unsigned way   = rnd_below(r, 3);
    bool     twins = way == 1 && H5Aexists(loc, name) > 0;
    switch (way) {
        case 0: a = H5Aopen(loc, name, H5P_DEFAULT); break;
        case 1: a = H5Aopen_by_name(loc, path, name, H5P_DEFAULT, H5P_DEFAULT); break;
        default: a = H5Aopen_by_idx(loc, in, index, order, n, H5P_DEFAULT, H5P_DEFAULT); break;
    }
    if (!gave(s, "H5Aopen", a))
        return;
    twins |= way > 0 && is_type(loc, way == 1 ? path : in);
    if (rnd_chance(r, 40) && s->rw && !twins) /* HDF5 refuses to write, and keeps the value all the same */
        write_attribute(s, r, a);
    say_attribute(s, a);
    if (way == 1)
        gave(s, "H5Aclose", H5Aclose(a));
    else
        keep_attr(s, r, a);
}

/* One that was opened before, and may be deleted or renamed by now. */
static void used(struct side *s, struct rnd *r)
{
    unsigned slot = rnd_below(r, ATTRS);
    hid_t    a    = s->attr[slot];
    char     name[PATH_ROOM] = "";
    H5A_info_t info = {0};
    if (a < 0)
        return;
    say(s->o, "a%u", slot);
    ssize_t n = H5Aget_name(a, sizeof name, name);
    say(s->o, "%zd '%s'", n, name);
    if (gave(s, "H5Aget_info", H5Aget_info(a, &info)))
        say(s->o, "set %d size %llu", info.cset, (unsigned long long)info.data_size);
    if (rnd_chance(r, 30) && s->rw && !s->stale[slot]) /* HDF5 refuses, and the buffer is changed all the same */
        write_attribute(s, r, a);
    say_attribute(s, a);
    if (rnd_chance(r, 50)) {
        gave(s, "H5Aclose", H5Aclose(a));
        s->attr[slot] = H5I_INVALID_HID;
    }
}

static void renamed(struct side *s, struct rnd *r)
{
    hid_t       loc  = some_loc(s, r);
    const char *path = some_path(r), *a = attr_name(r), *b = attr_name(r);
    say(s->o, "'%s' '%s' '%s'", path, a, b);
    if (!is_ascii(b))
        return;
    if (rnd_chance(r, 50))
        gave(s, "H5Arename", H5Arename(loc, a, b));
    else
        gave(s, "H5Arename_by_name", H5Arename_by_name(loc, path, a, b, H5P_DEFAULT));
}

static void deleted(struct side *s, struct rnd *r)
{
    hid_t           loc   = some_loc(s, r);
    const char     *path  = some_path(r), *name = attr_name(r), *in = rnd_chance(r, 50) ? "." : path;
    H5_index_t      index = some_index(r, loc, in, true);
    H5_iter_order_t order = some_order(r);
    hsize_t         n     = rnd_below(r, 5);
    say(s->o, "'%s' '%s' '%s' %d %d %llu", path, name, in, index, order, (unsigned long long)n);
    for (unsigned i = 0; i < ATTRS; i++)
        s->stale[i] = true;
    switch (rnd_below(r, 3)) {
        case 0: gave(s, "H5Adelete", H5Adelete(loc, name)); break;
        case 1: gave(s, "H5Adelete_by_name", H5Adelete_by_name(loc, path, name, H5P_DEFAULT)); break;
        default: gave(s, "H5Adelete_by_idx", H5Adelete_by_idx(loc, in, index, order, n, H5P_DEFAULT)); break;
    }
}

static void asked(struct side *s, struct rnd *r)
{
    hid_t           loc   = some_loc(s, r);
    const char     *path  = some_path(r), *name = attr_name(r), *in = rnd_chance(r, 50) ? "." : path;
    H5_index_t      index = some_index(r, loc, in, true);
    H5_iter_order_t order = some_order(r);
    hsize_t         n     = rnd_below(r, 5);
    H5A_info_t      info  = {0};
    char            text_[PATH_ROOM] = "";
    size_t          room = rnd_chance(r, 80) ? sizeof text_ : rnd_below(r, 4);
    say(s->o, "'%s' '%s' '%s' %d %d %llu", path, name, in, index, order, (unsigned long long)n);
    say(s->o, "exists %d, by name %d", H5Aexists(loc, name), H5Aexists_by_name(loc, path, name, H5P_DEFAULT));
    ssize_t len = H5Aget_name_by_idx(loc, in, index, order, n, room ? text_ : NULL, room, H5P_DEFAULT);
    say(s->o, "name %zd '%s'", len < 0 ? -1 : len, text_);
    if (gave(s, "H5Aget_info_by_idx", H5Aget_info_by_idx(loc, in, index, order, n, &info, H5P_DEFAULT)))
        say(s->o, "order %d set %d size %llu", info.corder_valid, info.cset, (unsigned long long)info.data_size);
    if (gave(s, "H5Aget_info_by_name", H5Aget_info_by_name(loc, path, name, &info, H5P_DEFAULT)))
        say(s->o, "order %d set %d size %llu", info.corder_valid, info.cset, (unsigned long long)info.data_size);
}

struct walk {
    struct side *s;
    unsigned     left;
    int          give;
};

static herr_t on_attr(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    struct walk *w = arg;
    (void)obj;
    say(w->s->o, "attribute '%s' order %d set %d size %llu", name, info->corder_valid, info->cset, (unsigned long long)info->data_size);
    return w->left && --w->left == 0 ? w->give : 0;
}

static void iterated(struct side *s, struct rnd *r)
{
    static const int gives[] = {1, 5, -1};
    hid_t           loc   = some_loc(s, r);
    const char     *path  = rnd_chance(r, 50) ? "." : some_path(r);
    H5_index_t      index = some_index(r, loc, path, true);
    H5_iter_order_t order = some_order(r);
    hsize_t         at    = rnd_chance(r, 70) ? 0 : rnd_below(r, 5);
    struct walk     w     = {.s = s};
    if (rnd_chance(r, 40))
        w = (struct walk){s, rnd_in(r, 1, 4), RND_OF(r, gives)};
    say(s->o, "'%s' %d %d from %llu", path, index, order, (unsigned long long)at);
    herr_t rc = H5Aiterate_by_name(loc, path, index, order, &at, on_attr, &w, H5P_DEFAULT);
    say(s->o, "H5Aiterate_by_name gives %d", rc < 0 ? -1 : rc);
    if (rc >= 0)
        say(s->o, "at %llu", (unsigned long long)at);
    if (rc > 0)
        say(s->o, "and on %d", H5Aiterate_by_name(loc, path, index, order, &at, on_attr, &w, H5P_DEFAULT));
}

const struct tree_op attr_ops[] = {
    {"H5Acreate", 16, created},
    {"H5Aopen", 8, opened},
    {"an open attribute", 5, used},
    {"H5Arename", 5, renamed},
    {"H5Adelete", 6, deleted},
    {"H5Aexists, H5Aget_info", 5, asked},
    {"H5Aiterate", 4, iterated},
    {0},
};

/* ---- everything ---- */

static herr_t attr_values(hid_t obj, const char *name, const H5A_info_t *info, void *arg)
{
    struct side *s = arg;
    (void)info;
    hid_t a = H5Aopen(obj, name, H5P_DEFAULT);
    say(s->o, "attribute '%s'", name);
    if (gave(s, "H5Aopen", a)) {
        say_attribute(s, a);
        H5Aclose(a);
    }
    return 0;
}

/* Those that say_objects() leaves out. */
static void dataset_values(struct side *s, hid_t d)
{
    hid_t t = H5Dget_type(d), space = H5Dget_space(d);
    bool  far = H5Tdetect_class(t, H5T_VLEN) > 0 || H5Tdetect_class(t, H5T_REFERENCE) > 0 || H5Tdetect_class(t, H5T_STRING) > 0;
    if (far && H5Sget_simple_extent_npoints(space) > 0)
        say_values(s, d, t, space);
    H5Sclose(space);
    H5Tclose(t);
}

static herr_t object_values(hid_t start, const char *name, const H5O_info2_t *info, void *arg)
{
    struct side *s = arg;
    (void)info;
    hid_t   id = H5Oopen(start, name, H5P_DEFAULT);
    hsize_t at = 0;
    say(s->o, "values of '%s'", name);
    H5Aiterate2(id, H5_INDEX_NAME, H5_ITER_INC, &at, attr_values, s);
    if (H5Iget_type(id) == H5I_DATASET)
        dataset_values(s, id);
    H5Oclose(id);
    return 0;
}

void say_everything(struct side *s, hid_t file)
{
    say_links(s, file);
    say_objects(file, s->o);
    gave(s, "visiting values", H5Ovisit3(file, H5_INDEX_NAME, H5_ITER_INC, object_values, s, H5O_INFO_BASIC));
}
