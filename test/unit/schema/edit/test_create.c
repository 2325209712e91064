/* Domains made, replaced and deleted: names, folders, owners, both versions of the schema, and refused calls. */
#include "schema/name/bucket_dir.h"
#include "unit/schema/edit/edit_testing.h"

#include <sys/stat.h>
#include <unistd.h>


static char dir[64];

static bool there(const char *path)
{
    char        full[256];
    struct stat sb;
    (void)snprintf(full, sizeof full, "%s/%s", dir, path);
    return stat(full, &sb) == 0;
}

static char *in_dir(const char *path)
{
    static char full[4][256];
    static unsigned next;
    char *at = full[next++ % 4];
    (void)snprintf(at, sizeof full[0], "%s/%s", dir, path);
    return at;
}

static void make_marked(const char *name, bool truncate, int64_t mark)
{
    struct bkt_domain *d = create(name, truncate);
    set_attr(d, bkt_domain_root(d), "mark", mark, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    bkt_domain_close(d);
}

static int64_t mark_of(const char *name)
{
    struct bkt_domain *d = open_it(name);
    int64_t            v = attr_value(get(d, bkt_domain_root(d)), "mark");
    bkt_domain_close(d);
    return v;
}

static int try_create(const char *name, bool truncate, struct bkt_err *err)
{
    struct bkt_domain *d  = NULL;
    int                rc = bkt_domain_create(name, &set, &(struct bkt_new_domain){.truncate = truncate}, &d, err);
    if (rc == BKT_OK)
        bkt_domain_close(d);
    return rc;
}

/* ---- plain paths ---- */

static void a_directory_becomes_a_bucket(void)
{
    make_marked(in_dir("a.h5"), false, 1);
    CHECK(there("a.h5/.domain.json") && there("db"), "the directory that holds it is the bucket");
    CHECK(mkdir(in_dir("sub"), 0777) == 0, "sub");
    make_marked(in_dir("sub/b.h5"), false, 2);
    CHECK(there("sub/b.h5/.domain.json") && !there("sub/db") && there("sub/.domain.json"), "the bucket above is used");
    CHECK(mark_of(in_dir("a.h5")) == 1 && mark_of(in_dir("sub/../sub/b.h5")) == 2, "both open");
    FAILS(BKT_ENOENT, "no directory", try_create(in_dir("none/c.h5"), false, err));
    FAILS(BKT_EEXIST, "exists", try_create(in_dir("a.h5"), false, err));
    FAILS(BKT_EEXIST, "folder", try_create(in_dir("sub"), true, err));
    FAILS(BKT_EINVAL, "a domain, not a folder", try_create(in_dir("a.h5/x.h5"), false, err));
    FILE *f = fopen(in_dir("plain"), "w");
    if (f)
        (void)fclose(f);
    FAILS(BKT_EEXIST, "not a domain", try_create(in_dir("plain"), true, err));
    CHECK(bkt_domain_probe(in_dir("a.h5"), &set, NULL) == 1, "what a probe keeps open");
    OK(bkt_domain_delete(in_dir("a.h5"), &set, false, err));
    CHECK(!there("a.h5") && mark_of(in_dir("sub/b.h5")) == 2, "gone without a trace, the other stays");
    FAILS(BKT_ENOENT, "no", bkt_domain_delete(in_dir("a.h5"), &set, false, err));
}

static void replacing(void)
{
    make_marked("mem:c1/t.h5", false, 1);
    struct bkt_domain *d = open_it("mem:c1/t.h5");
    FAILS(BKT_EBUSY, "open", try_create("mem:c1/t.h5", true, err));
    FAILS(BKT_EBUSY, "open", bkt_domain_delete("mem:c1/t.h5", &set, false, err));
    bkt_domain_close(d);
    d = create("mem:c1/t.h5", true);
    struct bkt_domain *other = open_other("mem:c1/t.h5");
    CHECK(attr_value(get(other, bkt_domain_root(other)), "mark") == 1, "the old one stays until the first flush");
    bkt_domain_close(other);
    bkt_domain_close(d); /* and for good if no domain exists */
    CHECK(mark_of("mem:c1/t.h5") == 1, "nothing happened");
    size_t n = 0;
    make_marked("mem:c1/t.h5", true, 2);
    CHECK(mark_of("mem:c1/t.h5") == 2, "the new one");
    struct bkt_store *st = NULL;
    OK(bkt_store_open("mem:c1", &set, &st, err));
    struct bkt_buf key = {0};
    d = open_it("mem:c1/t.h5");
    if (bkt_id_key(bkt_domain_root(d), &key) < 0)
        abort();
    OK(bkt_store_get(st, bkt_buf_str(&key), 0, BKT_WHOLE, &key, err));
    bkt_domain_close(d);
    bkt_buf_fini(&key);
    bkt_store_close(st);
    (void)n;
}

/* Two make the same name, neither sees the other's before its flush. */
static void two_make_one_name(void)
{
    struct bkt_settings other = {0};
    struct bkt_domain  *d = create("mem:c2/n.h5", false), *e = NULL;
    OK(bkt_settings_copy(&other, &set, err));
    other.max_object -= 99;
    OK(bkt_domain_create("mem:c2/n.h5", &other, &(struct bkt_new_domain){.truncate = false}, &e, err));
    OK(bkt_domain_flush(d, err));
    FAILS(BKT_EEXIST, "another writer has created this domain since", bkt_domain_flush(e, err));
    bkt_domain_close(e);
    e = NULL;
    set_attr(d, bkt_domain_root(d), "mark", 7, ATTR_CREATE);
    OK(bkt_domain_flush(d, err));
    bkt_domain_close(d);
    CHECK(mark_of("mem:c2/n.h5") == 7, "the first one's");
    bkt_settings_fini(&other);
}

/* ---- owners and folders ---- */

static void owners_and_folders(void)
{
    set.user = strdup("joe");
    make_marked("mem:c3/home/joe/x.h5", false, 1);
    struct bkt_domain           *d   = open_it("mem:c3/home/joe/x.h5");
    const struct bkt_domain_doc *doc = bkt_domain_doc(d);
    CHECK(strcmp(doc->owner, "joe") == 0 && doc->n_acls == 1 && doc->acls[0].allow == 0x3f, "the owner may do all");
    OK(bkt_domain_may_write(d, BKT_ACL_UPDATE, err));
    struct bkt_store *st = bkt_domain_store(d);
    uint64_t          size;
    OK(bkt_store_head(st, "home/.domain.json", &size, err));
    OK(bkt_store_head(st, "home/joe/.domain.json", &size, err));
    bkt_domain_close(d);
    free(set.user);
    set.user = strdup("ann");
    FAILS(BKT_EACCES, "ann", try_create("mem:c3/home/joe/y.h5", false, err));
    FAILS(BKT_EACCES, "ann", bkt_domain_delete("mem:c3/home/joe/x.h5", &set, false, err));
    d = open_it("mem:c3/home/joe/x.h5");
    FAILS(BKT_EACCES, "ann", bkt_domain_may_write(d, BKT_ACL_UPDATE, err));
    bkt_domain_close(d);
    free(set.user);
    set.user = NULL;
}

/* ---- version 1 ---- */

static int count_keys(const struct bkt_listed *e, void *arg)
{
    CHECK(strncmp(e->key, "db/", 3) != 0, "%s is no key of version 1", e->key);
    ++*(size_t *)arg;
    return BKT_OK;
}

static void version_1(void)
{
    free(set.schema);
    set.schema = strdup("v1");
    struct bkt_domain *d    = create("mem:c4/old.h5", false);
    struct bkt_id      root = *bkt_domain_root(d), g = add_group(d), ds = add_dset(d, 25);
    CHECK(!bkt_id_is_v2(&root) && !bkt_id_is_v2(&g) && bkt_id_valid(g.text) && bkt_id_valid(ds.text), "%s",
          g.text);
    link_it(d, &root, "g", &g);
    link_it(d, &g, "ds", &ds);
    link_it(d, &g, "up", &root);
    OK(bkt_domain_flush(d, err));
    struct bkt_buf key = {0};
    if (bkt_chunk_key(&ds, &get(d, &ds)->dset.layout, (uint64_t[]){2}, &key) < 0)
        abort();
    OK(bkt_store_put(bkt_domain_store(d), bkt_buf_str(&key), "x", 1, NULL, NULL, NULL, err));
    bkt_domain_close(d);
    free(set.schema);
    set.schema = strdup("v2");
    d = open_it("mem:c4/old.h5");
    struct bkt_id h = add_group(d);
    CHECK(!bkt_id_is_v2(&h), "the domain's own version holds");
    CHECK(get(d, &ds)->dset.space.dims[0] == 25, "it opens");
    size_t n = 0;
    OK(bkt_store_list(bkt_domain_store(d), "", "", count_keys, &n, err));
    CHECK(n == 5, "document, three objects, a chunk: %zu", n);
    bkt_domain_close(d);
    OK(bkt_domain_delete("mem:c4/old.h5", &set, false, err));
    struct bkt_store *st = NULL;
    n                    = 0;
    OK(bkt_store_open("mem:c4", &set, &st, err));
    OK(bkt_store_list(st, "", "", count_keys, &n, err));
    CHECK(n == 0, "all deleted: %zu", n);
    bkt_store_close(st);
    bkt_buf_fini(&key);
}

static int count_all(const struct bkt_listed *e, void *arg) { return (void)e, ++*(size_t *)arg, BKT_OK; }

/* A domain that is created over one of version 1 leaves nothing of that. */
static void replaced_version_1(void)
{
    static const char *const over[] = {"v1", "v2"};
    for (size_t i = 0; i < BKT_COUNT(over); i++) {
        size_t n = 0;
        free(set.schema);
        set.schema = strdup("v1");
        struct bkt_domain *d    = create("mem:c5/old.h5", i > 0);
        struct bkt_id      root = *bkt_domain_root(d), g = add_group(d), type = {{0}};
        struct bkt_object *t    = bkt_object_make(BKT_DATATYPE);
        t->type                 = int_type(4);
        OK(bkt_edit_add(d, t, &type, err));
        struct bkt_object *o = bkt_object_make(BKT_DATASET);
        o->dset.type         = int_type(4);
        o->dset.type->committed = type; /* which no link leads to */
        o->dset.space        = (struct bkt_space){.cls = BKT_S_SIMPLE, .rank = 1, .dims = {25}, .maxdims = {25}};
        o->dset.layout       = (struct bkt_layout){
            .cls = BKT_D_CHUNKED, .rank = 1, .dims = {10}, .user_cls = BKT_D_CHUNKED, .user_rank = 1, .user_dims = {10}};
        struct bkt_id ds = {{0}};
        OK(bkt_edit_add(d, o, &ds, err));
        link_it(d, &root, "g", &g);
        link_it(d, &g, "ds", &ds);
        link_it(d, &g, "up", &root);
        OK(bkt_domain_flush(d, err));
        BKT_CLEANUP(bkt_buf_fini) struct bkt_buf key = {0};
        if (bkt_chunk_key(&ds, &get(d, &ds)->dset.layout, (uint64_t[]){1}, &key) < 0)
            abort();
        OK(bkt_store_put(bkt_domain_store(d), bkt_buf_str(&key), "x", 1, NULL, NULL, NULL, err));
        OK(bkt_store_list(bkt_domain_store(d), "", "", count_all, &n, err));
        CHECK(n == 6, "document, four objects, a chunk: %zu", n);
        bkt_domain_close(d);
        free(set.schema);
        set.schema = strdup(over[i]);
        d          = create("mem:c5/old.h5", true);
        OK(bkt_domain_flush(d, err));
        n = 0;
        OK(bkt_store_list(bkt_domain_store(d), "", "", count_all, &n, err));
        CHECK(n == 2, "document and root: %zu", n);
        bkt_domain_close(d);
    }
    free(set.schema);
    set.schema = strdup("v2");
}

static void lies_in(const char *name, const char *bucket)
{
    char uri[300];
    (void)snprintf(uri, sizeof uri, "file://%s", bucket);
    struct bkt_domain *d = open_it(name);
    CHECK(strcmp(bkt_store_uri(bkt_domain_store(d)), uri) == 0, "%s is in %s, not %s", name, bkt_store_uri(bkt_domain_store(d)), uri);
    bkt_domain_close(d);
}

/* A PUT is a rename, which can't lead to another file system. */
static void a_bucket_ends_with_its_file_system(void)
{
    char        other[] = "/dev/shm/bkt-s-create-XXXXXX";
    struct stat here, far;
    CHECK(there("db"), "the folder above is a bucket");
    if (!mkdtemp(other)) {
        puts("no other file system: /dev/shm can't be written to");
        return;
    }
    if (stat(dir, &here) < 0 || stat(other, &far) < 0 || here.st_dev == far.st_dev) {
        puts("no other file system: /dev/shm is none");
    } else {
        CHECK(symlink(other, in_dir("mounted")) == 0, "symlink");
        make_marked(in_dir("mounted/c.h5"), false, 5);
        lies_in(in_dir("mounted/c.h5"), in_dir("mounted"));
    }
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r %s", other);
    CHECK(system(command) == 0, "%s", command);
}

/* Files that another user has put into a folder like /tmp don't make it a bucket for everybody. */
static void a_folder_for_everybody_is_not_a_bucket(void)
{
    CHECK(mkdir(in_dir("all"), 0777) == 0 && chmod(in_dir("all"), 01777) == 0 && mkdir(in_dir("all/db"), 0777) == 0 &&
              mkdir(in_dir("all/db/01234567-89abcdef"), 0777) == 0 && mkdir(in_dir("all/mine"), 0777) == 0,
          "folders");
    make_marked(in_dir("all/d.h5"), false, 6);
    make_marked(in_dir("all/mine/e.h5"), false, 7);
    lies_in(in_dir("all/d.h5"), in_dir("all"));
    lies_in(in_dir("all/mine/e.h5"), dir);

    /* but it is that of an existing domain */
    char at[300];
    CHECK(mkdir(in_dir("all/mine/too"), 0777) == 0 && mkdir(in_dir("all/mine/too/f.h5"), 0777) == 0, "folders");
    FILE *f = fopen(in_dir("all/mine/too/f.h5/.domain.json"), "w");
    CHECK(f && fclose(f) == 0, "document");
    (void)snprintf(at, sizeof at, "%s", in_dir("all/mine/too/f.h5"));
    CHECK(bkt_bucket_find(at) && strcmp(at, in_dir("all")) == 0, "%s", at);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0, "%s", path);
}

static void shell(const char *command)
{
    char text[600];
    (void)snprintf(text, sizeof text, "cd %s && { %s; }", dir, command);
    CHECK(system(text) == 0, "%s", text);
}

/* A folder of HSDS's that holds folders with their documents, and no objects yet. */
static void documents_show_the_bucket(void)
{
    static const char folder[] = "{\"owner\": \"admin\", \"acls\": {\"admin\": {\"create\": true, \"read\": true, \"update\": true, "
                                 "\"delete\": true, \"readACL\": true, \"updateACL\": true}}, \"created\": 1.0, \"lastModified\": 1.0}";
    char at[300];
    shell("rm -rf db hs && mkdir -p hs/bkt/home/joe/deep/er hs/bkt/loose");
    write_text(in_dir("hs/bkt/home/.domain.json"), folder);
    write_text(in_dir("hs/bkt/home/joe/.domain.json"), folder);
    (void)snprintf(at, sizeof at, "%s", in_dir("hs/bkt/home/joe"));
    CHECK(bkt_bucket_find(at) && strcmp(at, in_dir("hs/bkt")) == 0, "%s", at);
    (void)snprintf(at, sizeof at, "%s", in_dir("hs/bkt/home/joe/deep/er"));
    CHECK(bkt_bucket_find(at) && strcmp(at, in_dir("hs/bkt")) == 0, "folders without a document below: %s", at);
    (void)snprintf(at, sizeof at, "%s", in_dir("hs/bkt/loose"));
    CHECK(!bkt_bucket_find(at) && strcmp(at, in_dir("hs/bkt/loose")) == 0, "none shows: %s", at);
    make_marked(in_dir("hs/bkt/home/joe/n.h5"), false, 8);
    lies_in(in_dir("hs/bkt/home/joe/n.h5"), in_dir("hs/bkt"));
    CHECK(there("hs/bkt/db") && !there("hs/bkt/home/db") && !there("hs/bkt/home/joe/db"), "its objects are where HSDS looks for them");
    make_marked(in_dir("hs/bkt/home/joe/deep/er/m.h5"), false, 9);
    lies_in(in_dir("hs/bkt/home/joe/deep/er/m.h5"), in_dir("hs/bkt"));

    /* not where just anybody may have put it */
    if (geteuid() != 0) {
        puts("without documents of other users: not root");
        return;
    }
    shell("mkdir -p pub/home/mine && chmod 1777 pub && chown 65002 pub/home");
    write_text(in_dir("pub/home/.domain.json"), folder);
    (void)snprintf(at, sizeof at, "%s", in_dir("pub/home/mine"));
    CHECK(!bkt_bucket_find(at) && strcmp(at, in_dir("pub/home/mine")) == 0, "%s", at);
    shell("mkdir -p open/db/01234567-89abcdef open/mine && chmod 0777 open && chown -R 65002 open/db");
    (void)snprintf(at, sizeof at, "%s", in_dir("open/mine"));
    CHECK(!bkt_bucket_find(at) && strcmp(at, in_dir("open/mine")) == 0, "a db that another user planted: %s", at);
    struct bkt_err why = {.n = 0};
    CHECK(try_create(in_dir("open/x.h5"), false, &why) == BKT_EACCES && strstr(why.frame[0].msg, "open/db belongs to user 65002"), "%s",
          why.n ? why.frame[0].msg : "");
}

static int try_open(const char *name)
{
    struct bkt_domain *d  = NULL;
    int                rc = bkt_domain_open(name, &set, &d, NULL);
    bkt_domain_close(d);
    return rc;
}

/* A program's name leads through links that are ours, not through those of others in a bucket.  Nothing is
 * deleted through any link. */
static void links_in_names(void)
{
    struct bkt_err why = {.n = 0};
    shell("rm -rf db && mkdir -p ln/b/home ln/b/db/00000000-00000000 ln/far/db/00000000-00000000");
    make_marked(in_dir("ln/b/home/a.h5"), false, 4);
    make_marked(in_dir("ln/far/v.h5"), false, 5);
    lies_in(in_dir("ln/far/v.h5"), in_dir("ln/far"));
    shell("ln -s home/a.h5 ln/b/alias.h5 && ln -s ../far/v.h5 ln/b/far.h5 && ln -s b ln/to_b");
    CHECK(mark_of(in_dir("ln/b/alias.h5")) == 4 && mark_of(in_dir("ln/b/far.h5")) == 5, "our own links in a name");
    CHECK(mark_of(in_dir("ln/to_b/home/a.h5")) == 4, "above the bucket");
    FAILS(BKT_EACCES, "nothing is deleted through one", bkt_domain_delete(in_dir("ln/b/far.h5"), &set, false, err));
    FAILS(BKT_EACCES, "nothing is deleted through one", bkt_domain_delete(in_dir("ln/b/alias.h5"), &set, false, err));
    CHECK(try_create(in_dir("ln/b/far.h5"), true, &why) == BKT_EACCES && strstr(why.frame[0].msg, "far.h5 is a symbolic link"), "%s",
          why.n ? why.frame[0].msg : "");
    CHECK(mark_of(in_dir("ln/far/v.h5")) == 5, "what it leads to is whole");
    if (geteuid() == 0) {
        shell("chown -h 65002 ln/b/far.h5 ln/b/alias.h5 ln/to_b");
        CHECK(try_open(in_dir("ln/b/far.h5")) == BKT_EACCES && try_open(in_dir("ln/b/alias.h5")) == BKT_EACCES, "others' links in a bucket");
        CHECK(try_open(in_dir("ln/to_b/home/a.h5")) == BKT_OK, "not in a bucket");
        free(set.links);
        set.links = strdup("follow");
        CHECK(try_open(in_dir("ln/b/far.h5")) == BKT_OK && try_open(in_dir("ln/b/alias.h5")) == BKT_OK, "links=follow");
        FAILS(BKT_EACCES, "nothing is deleted through one", bkt_domain_delete(in_dir("ln/b/far.h5"), &set, false, err));
        free(set.links);
        set.links = strdup("refuse");
    } else {
        puts("without links of other users: not root");
    }
    OK(bkt_domain_delete(in_dir("ln/to_b/home/a.h5"), &set, false, err));
    CHECK(!there("ln/b/home/a.h5") && there("ln/far/v.h5/.domain.json"), "above a bucket a link is part of its name");
}

int main(void)
{
    (void)strcpy(dir, "/tmp/bkt-s-create-XXXXXX");
    OK(bkt_settings_init(&set, "", err));
    CHECK(mkdtemp(dir) != NULL, "%s", dir);
    a_directory_becomes_a_bucket();
    a_bucket_ends_with_its_file_system();
    a_folder_for_everybody_is_not_a_bucket();
    documents_show_the_bucket();
    links_in_names();
    replacing();
    two_make_one_name();
    owners_and_folders();
    version_1();
    replaced_version_1();
    domains_end();
    char command[128];
    (void)snprintf(command, sizeof command, "rm -r %s", dir);
    CHECK(system(command) == 0, "%s", command);
    return failures ? 1 : 0;
}
