/* Two writers made equal entries by one name: the results for names, references and counts. */
#include "unit/schema/edit/flush_testing.h"
#include "schema/domain/object_cache.h"
#include "schema/json/reference_text.h"

/* A new name that another writer has taken: the old name stays stored, whatever happened to it here. */
static void attributes_renamed_to_taken_names(void)
{
    for (int how = 0; how < 3; how++) {
        struct bkt_id a, b, ds;
        struct bkt_domain *d = sample(&a, &b, &ds), *e, *f;
        set_attr(d, &b, "old", 1, ATTR_CREATE);
        set_attr(d, &b, "other", 2, ATTR_CREATE);
        OK(bkt_domain_flush(d, err));
        e = open_other(name);
        (void)get(e, &b);
        set_attr(d, &b, "new", 10, ATTR_CREATE);
        OK(bkt_domain_flush(d, err));
        OK(bkt_edit_attr_rename(e, &b, "old", "between", err));
        OK(bkt_edit_attr_rename(e, &b, "between", "new", err));
        if (how == 1) /* the old name is another's by now, */
            OK(bkt_edit_attr_rename(e, &b, "other", "old", err));
        if (how == 2) /* or a new one's */
            set_attr(e, &b, "old", 3, ATTR_CREATE);
        for (int i = 0; i < 2; i++) {
            FAILS(BKT_EEXIST, "attribute new of /b, renamed from old", bkt_domain_flush(e, err));
            const struct bkt_object *o = fresh_look(&b, &f);
            CHECK(attr_value(o, "old") == 1 && attr_value(o, "other") == 2 && attr_value(o, "new") == 10,
                  "%d: all by their names", how);
            CHECK(o->attrs.n == 3, "%d: %d attributes", how, (int)o->attrs.n);
            bkt_domain_close(f);
        }
        CHECK(attr_value(get(e, &b), "new") == 1, "%d: here it has its new one", how);
        OK(bkt_edit_attr_rename(e, &b, "new", "free", err));
        OK(bkt_domain_flush(e, err));
        const struct bkt_object *o = fresh_look(&b, &f);
        CHECK(attr_value(o, "free") == 1 && attr_value(o, "new") == 10, "%d: both", how);
        CHECK(attr_value(o, "old") == (how == 1 ? 2 : how == 2 ? 3 : -1), "%d: old", how);
        CHECK(attr_value(o, "other") == (how == 1 ? -1 : 2), "%d: other", how);
        close_all(d, e, f);
    }
}

/* The same of soft and external links, which have no object that identifies them. */
static void links_renamed_to_taken_names(void)
{
    for (int external = 0; external < 2; external++) {
        struct bkt_id a, b, ds;
        struct bkt_domain *d = sample(&a, &b, &ds), *e, *f;
        enum bkt_link_class cls = external ? BKT_L_EXTERNAL : BKT_L_SOFT;
        struct bkt_link old = {.name = strdup("old"),
                               .cls = cls,
                               .path = strdup("/x"),
                               .file = external ? strdup("f.h5") : NULL};
        struct bkt_link taken = {.name = strdup("new"), .cls = BKT_L_SOFT, .path = strdup("/y")};
        struct bkt_link moved = {.name = strdup("new"),
                                 .cls = cls,
                                 .path = strdup("/x"),
                                 .file = external ? strdup("f.h5") : NULL};
        OK(bkt_edit_link(d, &b, &old, err));
        OK(bkt_domain_flush(d, err));
        e = open_other(name);
        (void)get(e, &b);
        OK(bkt_edit_link(d, &b, &taken, err));
        OK(bkt_domain_flush(d, err));
        OK(bkt_edit_link(e, &b, &moved, err));
        release_all();
        OK(bkt_edit_unlink(e, &b, "old", err));
        for (int i = 0; i < 2; i++) {
            FAILS(BKT_EEXIST, "/b/new", bkt_domain_flush(e, err));
            const struct bkt_link *l = bkt_links_find(&fresh_look(&b, &f)->group.links, "old");
            CHECK(l && l->cls == cls && strcmp(l->path, "/x") == 0, "%d: its old name is stored", external);
            bkt_domain_close(f);
        }
        release_all();
        OK(bkt_edit_unlink(e, &b, "new", err));
        OK(bkt_domain_flush(e, err));
        const struct bkt_links *l = &fresh_look(&b, &f)->group.links;
        CHECK(!bkt_links_find(l, "old") && strcmp(bkt_links_find(l, "new")->path, "/y") == 0, "%d: given up",
              external);
        close_all(d, e, f);
    }
}

/* Given up, by the writer that renamed it or by the one that took the name. */
static void a_renamed_attribute_is_given_up(void)
{
    for (int how = 0; how < 2; how++) {
        struct bkt_id a, b, ds;
        struct bkt_domain *d = sample(&a, &b, &ds), *e, *f;
        set_attr(d, &b, "old", 1, ATTR_CREATE);
        OK(bkt_domain_flush(d, err));
        e = open_other(name);
        OK(bkt_edit_attr_rename(e, &b, "old", "new", err));
        set_attr(d, &b, "new", 10, ATTR_CREATE);
        OK(bkt_domain_flush(d, err));
        FAILS(BKT_EEXIST, "renamed from old", bkt_domain_flush(e, err));
        if (how)
            OK(bkt_edit_attr_delete(d, &b, "new", err));
        else
            OK(bkt_edit_attr_delete(e, &b, "new", err));
        OK(bkt_domain_flush(d, err));
        OK(bkt_domain_flush(e, err));
        const struct bkt_object *o = fresh_look(&b, &f);
        CHECK(o->attrs.n == 1 && attr_value(o, "new") == (how ? 1 : 10), "%d: %d", how,
              (int)attr_value(o, "new"));
        close_all(d, e, f);
    }
}

static void set_typed(struct bkt_domain *d, const struct bkt_id *obj, const char *of,
                      const struct bkt_id *type)
{
    struct bkt_attr a = int_attr(of, 7);
    a.type->committed = *type;
    OK(bkt_edit_attr(d, obj, &a, err));
}

static struct bkt_id add_type(struct bkt_domain *d)
{
    struct bkt_id id = {{0}};
    struct bkt_object *t = bkt_object_make(BKT_DATATYPE);
    t->type = int_type(8);
    OK(bkt_edit_add(d, t, &id, err));
    return id;
}

static int64_t stored_uses(const struct bkt_id *type)
{
    struct bkt_domain *f;
    int64_t uses = fresh_look(type, &f)->uses;
    bkt_domain_close(f);
    return uses;
}

/* An attribute of a committed type counts there once, even if two writers made it. */
static void an_equal_attribute_is_one_use(void)
{
    struct bkt_id a, b, ds, type;
    struct bkt_domain *d = sample(&a, &b, &ds), *e;
    struct bkt_id root = *bkt_domain_root(d);
    type = add_type(d);
    link_it(d, &root, "type", &type);
    OK(bkt_domain_flush(d, err));
    e = open_other(name);
    set_typed(d, &b, "same", &type);
    set_typed(e, &b, "same", &type);
    set_typed(e, &b, "own", &type);
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_flush(e, err));
    CHECK(stored_uses(&type) == 2, "%d uses", (int)stored_uses(&type));
    CHECK(get(e, &type)->uses == 2, "%d uses in memory", (int)get(e, &type)->uses);
    OK(bkt_edit_attr_delete(e, &b, "same", err));
    OK(bkt_domain_flush(e, err));
    CHECK(stored_uses(&type) == 1, "%d uses", (int)stored_uses(&type));
    close_all(d, e, NULL);
}

/* So it does if two writers delete an attribute; or delete it, and one of them has made it again. */
static void a_deleted_attribute_is_one_use(bool again)
{
    struct bkt_id a, b, ds, type;
    struct bkt_domain *d = sample(&a, &b, &ds), *e;
    struct bkt_id root = *bkt_domain_root(d);
    type = add_type(d);
    link_it(d, &root, "type", &type);
    set_typed(d, &b, "same", &type);
    set_typed(d, &b, "other", &type);
    OK(bkt_domain_flush(d, err));
    e = open_other(name);
    (void)get(e, &b), (void)get(e, &type);
    release_all();
    OK(bkt_edit_attr_delete(d, &b, "same", err));
    OK(bkt_edit_attr_delete(e, &b, "same", err));
    if (again)
        set_typed(d, &b, "same", &type);
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_flush(e, err));
    CHECK(stored_uses(&type) == 1 + again, "%d: %d uses", again, (int)stored_uses(&type));
    OK(bkt_domain_flush(e, err));
    CHECK(!bkt_domain_is_dirty(e), "all is stored");
    close_all(d, e, NULL);
}

/* The answer to the PUT of an attribute is lost.  Until it is repeated, another writer may have replaced the
 * attribute by an equal one: the type must not count too few. */
static void ours_may_be_replaced(void)
{
    struct bkt_id a, b, ds, type;
    struct bkt_domain *d = sample(&a, &b, &ds), *e;
    struct bkt_id root = *bkt_domain_root(d);
    type = add_type(d);
    link_it(d, &root, "type", &type);
    OK(bkt_domain_flush(d, err));
    e = open_other(name);
    set_typed(e, &b, "same", &type);
    with_faults(e,
                &(struct bkt_fault){
                    .op = BKT_PUT, .key_part = b.text + 20, .times = 1, .code = BKT_ENET, .carry_out = true},
                1);
    FAILS(BKT_ENET, "lost", bkt_domain_flush(e, err));
    OK(bkt_domain_refresh(d, &b, err));
    OK(bkt_domain_refresh(d, &type, err));
    int64_t before = get(d, &type)->uses;
    release_all();
    OK(bkt_edit_attr_delete(d, &b, "same", err));
    set_typed(d, &b, "same", &type);
    OK(bkt_domain_flush(d, err));
    OK(bkt_domain_flush(e, err));
    CHECK(stored_uses(&type) >= 1, "%d uses, %d before", (int)stored_uses(&type), (int)before);
    close_all(d, e, NULL);
}

/* Its answer is lost: it is ours all the same. */
static void ours_is_a_use_of_ours(void)
{
    struct bkt_id a, b, ds, type;
    struct bkt_domain *d = sample(&a, &b, &ds);
    struct bkt_id root = *bkt_domain_root(d);
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    type = add_type(d);
    link_it(d, &root, "type", &type);
    OK(bkt_domain_flush(d, err));
    set_typed(d, &b, "mine", &type);
    CHECK(bkt_id_key(&b, &key) == BKT_OK, "no key");
    with_faults(d,
                &(struct bkt_fault){.op = BKT_PUT,
                                    .key_part = bkt_buf_str(&key),
                                    .times = 1,
                                    .code = BKT_EPRECOND,
                                    .carry_out = true},
                1);
    OK(bkt_domain_flush(d, err));
    CHECK(stored_uses(&type) == 1, "%d uses", (int)stored_uses(&type));
    close_all(d, NULL, NULL);
}

/* Both committed the type, too. */
static void a_type_and_what_is_of_it(void)
{
    struct bkt_id a, b, ds, type[2];
    struct bkt_domain *d[2] = {sample(&a, &b, &ds)};
    d[1] = open_other(name);
    for (int i = 0; i < 2; i++) {
        type[i] = add_type(d[i]);
        link_it(d[i], &b, "type", &type[i]);
        set_typed(d[i], &b, "same", &type[i]);
        set_typed(d[i], &b, i ? "second" : "first", &type[i]);
    }
    OK(bkt_domain_flush(d[0], err));
    OK(bkt_domain_flush(d[1], err));
    CHECK(stored_uses(&type[0]) == 3, "%d uses", (int)stored_uses(&type[0]));
    set_typed(d[1], &ds, "more", &type[1]);
    OK(bkt_domain_flush(d[1], err));
    CHECK(stored_uses(&type[0]) == 4, "%d uses", (int)stored_uses(&type[0]));
    close_all(d[0], d[1], NULL);
}

/* ---- references, and their targets ---- */

static struct bkt_type *ref_type(void)
{
    struct bkt_type *t = calloc(1, sizeof *t);
    if (!t)
        abort();
    *t = (struct bkt_type){.cls = BKT_T_OBJREF, .size = 48};
    return t;
}

/* A reference beside a number that JSON can't express: the value is stored as base64. */
static struct bkt_type *pair_type(void)
{
    struct bkt_type *t = calloc(1, sizeof *t), *f = calloc(1, sizeof *f);
    if (!t || !f)
        abort();
    *f = (struct bkt_type){.cls = BKT_T_FLOAT, .size = 8};
    *t = (struct bkt_type){
        .cls = BKT_T_COMPOUND, .size = 56, .n_fields = 2, .fields = calloc(2, sizeof *t->fields)};
    if (!t->fields)
        abort();
    t->fields[0] = (struct bkt_field){strdup("ref"), ref_type(), 0};
    t->fields[1] = (struct bkt_field){strdup("nan"), f, 48};
    return t;
}

static void refer(struct bkt_domain *d, const struct bkt_id *obj, const char *of, const struct bkt_id *to,
                  bool pair)
{
    static const unsigned char nan[8] = {1, 2, 3, 0, 0, 0, 0xf8, 0x7f};
    struct bkt_attr a = {.name = strdup(of),
                         .type = pair ? pair_type() : ref_type(),
                         .space = {.cls = BKT_S_SCALAR},
                         .has_value = true};
    char text[48];
    bkt_ref_emit(to, text);
    if (bkt_buf_add(&a.value, text, sizeof text) < 0 || (pair && bkt_buf_add(&a.value, nan, sizeof nan) < 0))
        abort();
    OK(bkt_edit_attr(d, obj, &a, err));
}

static bool refers(const struct bkt_object *o, const char *of, const struct bkt_id *to)
{
    const struct bkt_attr *a = bkt_attrs_find(&o->attrs, of);
    char text[48];
    bkt_ref_emit(to, text);
    return a && a->value.len >= sizeof text && memcmp(a->value.ptr, text, sizeof text) == 0;
}

/* Attributes name the earlier writer's object, whatever their form, and whether they were stored before. */
static void attributes_name_theirs(void)
{
    for (int how = 0; how < 2; how++) {
        struct bkt_id a, b, ds, m[2], h;
        struct bkt_domain *d[2] = {sample(&a, &b, &ds)}, *f;
        d[1] = open_other(name);
        m[0] = add_dset(d[0], 10);
        link_it(d[0], &b, "m", &m[0]);
        h = add_group(d[1]);
        m[1] = add_dset(d[1], 10);
        link_it(d[1], &a, "holder", &h);
        refer(d[1], &h, "plain", &m[1], false);
        refer(d[1], &h, "pair", &m[1], true);
        refer(d[1], &ds, "plain", &m[1], false);
        refer(d[1], &ds, "pair", &m[1], true);
        if (how) { /* they are stored, and the cache has released their objects, before the link is made */
            OK(bkt_edit_keep(d[1], &m[1], err));
            OK(bkt_domain_flush(d[1], err));
            release_all();
            bkt_objects_drop(d[1]->objects, &h, false);
            bkt_objects_drop(d[1]->objects, &ds, false);
        }
        OK(bkt_domain_flush(d[0], err));
        link_it(d[1], &b, "m", &m[1]);
        OK(bkt_domain_flush(d[1], err));
        CHECK(!is_in_store(d[1], &m[1]), "%d: ours is deleted", how);
        const struct bkt_object *o = fresh_look(&h, &f);
        CHECK(refers(o, "plain", &m[0]) && refers(o, "pair", &m[0]), "%d: of what was made", how);
        o = get(f, &ds);
        CHECK(refers(o, "plain", &m[0]) && refers(o, "pair", &m[0]), "%d: of what was there", how);
        close_all(d[0], d[1], f);
    }
}

/* The answers to PUTs are lost that have stored a link and a reference to ours: they become ones to theirs. */
static void lost_answers_name_theirs(void)
{
    struct bkt_id a, b, ds, m[2];
    struct bkt_domain *d[2] = {sample(&a, &b, &ds)}, *f;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf group = {0}, dset = {0};
    d[1] = open_other(name);
    for (int i = 0; i < 2; i++) {
        m[i] = add_dset(d[i], 10);
        link_it(d[i], &b, "m", &m[i]);
    }
    link_it(d[1], &a, "again", &m[1]);
    refer(d[1], &ds, "plain", &m[1], false);
    CHECK(bkt_id_key(&a, &group) == BKT_OK && bkt_id_key(&ds, &dset) == BKT_OK, "no key");
    const struct bkt_fault lost[] = {
        {.op = BKT_PUT, .key_part = bkt_buf_str(&group), .times = 1, .code = BKT_ENET, .carry_out = true},
        {.op = BKT_PUT, .key_part = bkt_buf_str(&dset), .times = 1, .code = BKT_ENET, .carry_out = true}};
    with_faults(d[1], lost, BKT_COUNT(lost));
    OK(bkt_domain_flush(d[0], err));
    FAILS(BKT_ENET, "lost", bkt_domain_flush(d[1], err));
    OK(bkt_domain_flush(d[1], err));
    const struct bkt_object *o = fresh_look(&a, &f);
    const struct bkt_link *l = bkt_links_find(&o->group.links, "again");
    CHECK(l && strcmp(l->id.text, m[0].text) == 0, "the link");
    CHECK(refers(get(f, &ds), "plain", &m[0]) && !is_in_store(d[1], &m[1]), "the reference, and ours is deleted");
    close_all(d[0], d[1], f);
}

/* Links and references to ours are stored first; as long as that fails, ours stays. */
static void ours_goes_last(void)
{
    struct bkt_id a, b, ds, m[2];
    struct bkt_domain *d[2] = {sample(&a, &b, &ds)}, *f;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
    d[1] = open_other(name);
    for (int i = 0; i < 2; i++) {
        m[i] = add_dset(d[i], 10);
        link_it(d[i], &b, "m", &m[i]);
    }
    link_it(d[1], &a, "again", &m[1]);
    refer(d[1], &ds, "ref", &m[1], false);
    OK(bkt_domain_flush(d[0], err));
    CHECK(bkt_id_key(&a, &key) == BKT_OK, "no key");
    with_faults(d[1],
                &(struct bkt_fault){
                    .op = BKT_PUT, .key_part = bkt_buf_str(&key), .skip = 1, .times = 1, .code = BKT_EACCES},
                1);
    FAILS(BKT_EACCES, "/a", bkt_domain_flush(d[1], err));
    CHECK(is_in_store(d[1], &m[1]), "its link is still stored");
    const struct bkt_link *l = bkt_links_find(&fresh_look(&a, &f)->group.links, "again");
    CHECK(l && strcmp(l->id.text, m[1].text) == 0, "as it was");
    bkt_domain_close(f);
    OK(bkt_domain_flush(d[1], err));
    CHECK(!is_in_store(d[1], &m[1]) && !bkt_domain_is_dirty(d[1]), "then it goes");
    l = bkt_links_find(&fresh_look(&a, &f)->group.links, "again");
    CHECK(l && strcmp(l->id.text, m[0].text) == 0 && refers(get(f, &ds), "ref", &m[0]), "theirs");
    close_all(d[0], d[1], f);
}

/* A fill value can't be changed, so ours isn't given up. */
static void a_fill_value_names_ours(void)
{
    struct bkt_id a, b, ds, m[2], of = {{0}};
    struct bkt_domain *d[2] = {sample(&a, &b, &ds)};
    char text[48];
    d[1] = open_other(name);
    for (int i = 0; i < 2; i++) {
        m[i] = add_dset(d[i], 10);
        link_it(d[i], &b, "m", &m[i]);
    }
    struct bkt_object *o = bkt_object_make(BKT_DATASET);
    o->dset.type = ref_type();
    o->dset.space = (struct bkt_space){.cls = BKT_S_SCALAR};
    o->dset.layout =
        (struct bkt_layout){.cls = BKT_D_CHUNKED, .rank = 1, .dims = {1}, .user_cls = BKT_D_CONTIGUOUS};
    o->dset.has_fill = true;
    bkt_ref_emit(&m[1], text);
    if (bkt_buf_add(&o->dset.fill, text, sizeof text) < 0)
        abort();
    OK(bkt_edit_add(d[1], o, &of, err));
    link_it(d[1], &a, "of", &of);
    OK(bkt_domain_flush(d[0], err));
    FAILS(BKT_EEXIST, "/b/m", bkt_domain_flush(d[1], err));
    CHECK(is_in_store(d[1], &m[1]), "it stays");
    close_all(d[0], d[1], NULL);
}

int main(void)
{
    OK(bkt_settings_init(&set, "", err));
    attributes_renamed_to_taken_names();
    links_renamed_to_taken_names();
    a_renamed_attribute_is_given_up();
    an_equal_attribute_is_one_use();
    a_deleted_attribute_is_one_use(false);
    a_deleted_attribute_is_one_use(true);
    ours_may_be_replaced();
    ours_is_a_use_of_ours();
    a_type_and_what_is_of_it();
    attributes_name_theirs();
    lost_answers_name_theirs();
    ours_goes_last();
    a_fill_value_names_ours();
    domains_end();
    return failures ? 1 : 0;
}
