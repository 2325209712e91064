/* The bucket of a domain, the reach of its references and external links, and the users that its access list
 * lets in. */
#include "unit/schema/domain/domain_testing.h"

#include <sys/stat.h>
#include <unistd.h>

/* ---- policy ---- */

/* store NULL: refused; with a key: as malformed */
static const struct {
    const char *what, *domain, *allow, *uri, *store, *key;
} rules[] = {
    {"own bucket", "mem:pol", NULL, "pol/h5/f.h5", "mem:pol", "h5/f.h5"},
    {"own bucket as S3", "mem:pol", NULL, "s3://pol/h5/f.h5", "mem:pol", "h5/f.h5"},
    {"own bucket by file://", "mem:pol", NULL, "file://pol/h5/f.h5", "mem:pol", "h5/f.h5"},
    {"own bucket in Azure's spelling", "mem:pol", NULL, "https://acct.blob.core.windows.net/pol/h5/f.h5",
     "mem:pol", "h5/f.h5"},
    {"another bucket", "mem:pol", NULL, "other/f.h5", NULL, NULL},
    {"another bucket, allowed", "mem:pol", "mem:x mem:other", "other/f.h5", "mem:other", "f.h5"},
    {"bucket with a longer name", "mem:pol", NULL, "pol-evil/f.h5", NULL, NULL},
    {"bucket with a longer name, another allowed", "mem:pol", "s3://good", "s3://good-evil/f.h5", NULL, NULL},
    {"S3, allowed", "mem:pol", "https://x, s3://good", "s3://good/f.h5", "s3://good", "f.h5"},
    {"S3, allowed below a prefix", "mem:pol", "s3://good/data/", "s3://good/data/f.h5", "s3://good",
     "data/f.h5"},
    {"S3, outside the prefix", "mem:pol", "s3://good/data", "s3://good/data2/f.h5", NULL, NULL},
    {"anything remote", "mem:pol", "*", "https://host/f.h5", "https://host", "f.h5"},
    {"host with a longer name", "mem:pol", "https://host", "https://host.evil/f.h5", NULL, NULL},
    {"host with a port", "mem:pol", "https://host", "https://host:81/f.h5", NULL, NULL},
    {"host as a user", "mem:pol", "*", "https://host@evil/f.h5", NULL, NULL},
    {"host in capitals, path escaped", "mem:pol", "https://host", "https://HOST/a%20b.h5", "https://host",
     "a b.h5"},
    {"escaped way up", "mem:pol", "https://host/a", "https://host/a/%2e%2e/f.h5", NULL, ""},
    {"escaped NUL", "mem:pol", "*", "https://host/a%00", NULL, NULL},
    {"query", "mem:pol", "*", "https://host/a?b", NULL, NULL},
    {"way up", "mem:pol", "*", "pol/../f.h5", NULL, ""},
    {"way up at once", "mem:pol", "*", "../pol/f.h5", NULL, ""},
    {"absolute", "mem:pol", "*", "/etc/passwd", NULL, ""},
    {"absolute by URI", "mem:pol", "* file:///", "file:///etc/passwd", NULL, NULL},
    {"a local file from a remote domain", "mem:pol", "file:///tmp", "file://tmp/f.h5", NULL, NULL},
    {"no key", "mem:pol", "*", "pol", NULL, ""},
    {"empty key", "mem:pol", "*", "pol/", NULL, ""},
    {"control characters", "mem:pol", "*", "pol/a\nb", NULL, ""},
    {"empty", "mem:pol", "*", "", NULL, ""},
    {"local: own", "file", NULL, "bk/ext/f.h5", "file://%s/bk", "ext/f.h5"},
    {"local: own as S3", "file", NULL, "s3://bk/ext/f.h5", "file://%s/bk", "ext/f.h5"},
    {"local: sibling", "file", NULL, "sib/f.h5", NULL, NULL},
    {"local: sibling, anything remote allowed", "file", "*", "sib/f.h5", NULL, NULL},
    {"local: sibling, allowed", "file", "file://%s/sib", "sib/f.h5", "file://%s/sib", "f.h5"},
    {"local: sibling, longer name", "file", "file://%s/si", "sib/f.h5", NULL, NULL},
    {"local: absolute", "file", "*", "file:///etc/hosts", NULL, NULL},
    {"local: absolute, allowed", "file", "file:///etc", "file:///etc/hosts", "file:///etc", "hosts"},
    {"local: absolute, capitals", "file", "file:///etc", "FILE:///etc/hosts", "file:///etc", "hosts"},
    {"local: absolute with a way up", "file", "file:///etc", "file:///etc/../etc/hosts", NULL, ""},
    {"local: S3 of the same name, allowed", "file", "s3://bk", "s3://bk/ext/f.h5", "s3://bk", "ext/f.h5"},
};

static char dir[] = "/tmp/bkt-domain-XXXXXX";

static const char *with_dir(const char *text, char *out, size_t n)
{
    const char *at = text ? strstr(text, "%s") : NULL;
    if (!at)
        return text;
    (void)snprintf(out, n, "%.*s%s%s", (int)(at - text), text, dir, at + 2);
    return out;
}

static void check_rule(size_t i)
{
    char allow[512], want[512], name[512];
    struct bkt_store *store = NULL;
    char *key = NULL;
    struct bkt_err err = {.n = 0};
    const char *uri = with_dir(rules[i].store, want, sizeof want);
    set.allow = (char *)(uintptr_t)with_dir(rules[i].allow, allow, sizeof allow);
    struct bkt_domain *d = open_domain(with_dir(
        strcmp(rules[i].domain, "file") == 0 ? "%s/bk/home/x.h5" : "mem:pol/home/x.h5", name, sizeof name));
    set.allow = NULL;
    int rc = bkt_domain_resolve_uri(d, rules[i].uri, &store, &key, &err);
    CHECK(rc == (uri ? BKT_OK : rules[i].key ? BKT_EINVAL : BKT_EACCES), "%s: %d %s", rules[i].what, rc, err.n ? err.frame[0].msg : key);
    if (rc == BKT_OK && uri)
        CHECK(strcmp(bkt_store_uri(store), uri) == 0 && strcmp(key, rules[i].key) == 0, "%s: %s %s",
              rules[i].what, bkt_store_uri(store), key);
    free(key);
    bkt_domain_close(d);
}

/* The reach of external links of a domain in an S3 bucket, on a web server, in the root directory. */
static const struct {
    const char *what, *store, *allow, *uri;
    int         want;
} links[] = {
    {"own bucket", "s3://bk", NULL, "s3://bk/home/y.h5", BKT_OK},
    {"own bucket as HSDS spells it", "s3://bk", NULL, "HSDS+S3://bk/home/y.h5", BKT_OK},
    {"a local file", "s3://bk", NULL, "file:///home/y.h5", BKT_EACCES},
    {"a local file, anything remote allowed", "s3://bk", "*", "File:///home/y.h5", BKT_EACCES},
    {"a local file, allowed for local domains", "s3://bk", "file:///home", "file:///home/y.h5", BKT_EACCES},
    {"another bucket", "s3://bk", NULL, "s3://other/y.h5", BKT_EACCES},
    {"bucket with a longer name", "s3://bk", NULL, "s3://bk2/y.h5", BKT_EACCES},
    {"another bucket, allowed", "s3://bk", "s3://other", "S3://other/y.h5", BKT_OK},
    {"outside what is allowed", "s3://bk", "s3://other/a", "s3://other/a/../b/y.h5", BKT_EACCES},
    {"a host", "s3://bk", NULL, "http://127.0.0.1:8080/y.h5", BKT_EACCES},
    {"a host, allowed", "s3://bk", "https://[::1]:81", "https://[::1]:81/y.h5", BKT_OK},
    {"host with a longer name", "s3://bk", "https://host", "https://host.evil/y.h5", BKT_EACCES},
    {"host as a user", "s3://bk", "*", "https://host@evil/y.h5", BKT_EACCES},
    {"query", "s3://bk", "*", "https://host/y.h5?x", BKT_EACCES},
    {"no scheme of ours", "s3://bk", "*", "gopher://host/y.h5", BKT_ENOENT},
    {"own host", "https://host/data", NULL, "https://HOST/data/y.h5", BKT_OK},
    {"escaped way up", "https://host/data", NULL, "https://host/data/%2e%2e/y.h5", BKT_EACCES},
    {"local: a local file", "file:///", NULL, "file:///home/y.h5", BKT_OK},
    {"local: a bucket", "file:///", NULL, "s3://bk/y.h5", BKT_EACCES},
};

static void external_links_are_under_the_policy(void)
{
    for (size_t i = 0; i < BKT_COUNT(links); i++) {
        struct bkt_domain d   = {.name = (char *)(uintptr_t)"it", .set.allow = (char *)(uintptr_t)links[i].allow};
        struct bkt_err    err = {.n = 0};
        CHECK(bkt_store_open(links[i].store, &set, &d.store, &err) == BKT_OK, "%s: %s", links[i].what, err.frame[0].msg);
        if (!d.store)
            continue;
        int rc = bkt_domain_may_link(&d, links[i].uri, &err);
        CHECK(rc == links[i].want && (rc == BKT_OK || strstr(err.frame[0].msg, "//") || strstr(err.frame[0].msg, "user, query")), "%s: %d", links[i].what, rc);
        bkt_store_close(d.store);
    }
}

static void a_bucket_may_be_the_root_directory(void)
{
    struct bkt_domain d   = {.name = (char *)(uintptr_t)"it"};
    struct bkt_store *to  = NULL;
    char             *key = NULL;
    CHECK(bkt_store_open("file:///", &set, &d.store, NULL) == BKT_OK, "file:///");
    CHECK(d.store && bkt_domain_resolve_uri(&d, "home/f.h5", &to, &key, NULL) == BKT_OK && to == d.store &&
              strcmp(key, "home/f.h5") == 0, "%s", key ? key : "refused");
    free(key);
    bkt_store_close(d.store);
}

static void advice_on_acls(void)
{
    static const struct {
        const char *user;
        unsigned need;
        int want;
    } acls[] = {{NULL, BKT_ACL_DELETE, BKT_OK},
                {"ann", BKT_ACL_READ, BKT_OK},
                {"ann", BKT_ACL_UPDATE, BKT_EACCES},
                {"joe", BKT_ACL_READ, BKT_EACCES}};
    struct bkt_store *st = sample("mem:acl");
    for (size_t i = 0; i < BKT_COUNT(acls); i++) {
        set.user = (char *)(uintptr_t)acls[i].user;
        struct bkt_domain *d = open_domain("mem:acl/home/x.h5");
        CHECK(bkt_domain_check_acl(d, acls[i].need, NULL) == acls[i].want, "%s %u", acls[i].user,
              acls[i].need);
        bkt_domain_close(d);
    }
    set.user = NULL;
    bkt_store_close(st);
}

static void a_directory_needs_no_configuration(void)
{
    char cmd[600], name[300];
    (void)snprintf(cmd, sizeof cmd, "file://%s/bk", dir);
    struct bkt_store *st = sample(cmd);
    mark();
    (void)snprintf(name, sizeof name, "%s/bk/home/x.h5", dir);
    struct bkt_domain *d = open_domain(name);
    bkt_object_release(get(d, ROOT_ID));
    CHECK(gets() == 2, "%" PRIu64 " GETs", gets());
    CHECK(strcmp(bkt_domain_path(d), "home/x.h5") == 0 &&
              strcmp(bkt_store_uri(bkt_domain_store(d)), cmd) == 0,
          "%s in %s", bkt_domain_path(d), bkt_store_uri(bkt_domain_store(d)));
    bkt_domain_close(d);
    /* the nearest ancestor that holds the root group, not the nearest with a db */
    (void)snprintf(name, sizeof name, "%s/bk/home/db", dir);
    CHECK(mkdir(name, 0777) == 0, "mkdir");
    (void)snprintf(name, sizeof name, "%s/bk/home/x.h5", dir);
    d = open_domain(name);
    CHECK(strcmp(bkt_domain_path(d), "home/x.h5") == 0, "%s", bkt_domain_path(d));
    bkt_domain_close(d);
    bkt_store_close(st);
    /* a domain whose bucket is not above it */
    (void)snprintf(name, sizeof name, "mkdir -p %s/sib && cp -r %s/bk/home/x.h5 %s/sib/", dir, dir, dir);
    CHECK(system(name) == 0, "cp");
    struct bkt_err err = {.n = 0};
    (void)snprintf(name, sizeof name, "%s/sib/x.h5", dir);
    CHECK(bkt_domain_open(name, &set, &d, &err) == BKT_ENOENT && strstr(err.frame[0].msg, "root group"), "%s",
          err.frame[0].msg);
}

int main(void)
{
    char sub[64], rm[64];
    if (!domains_begin() || !mkdtemp(dir))
        return 1;
    (void)snprintf(sub, sizeof sub, "%s/bk", dir);
    if (mkdir(sub, 0777))
        return 1;
    a_directory_needs_no_configuration();
    struct bkt_store *pol = sample("mem:pol");
    for (size_t i = 0; i < BKT_COUNT(rules); i++)
        check_rule(i);
    bkt_store_close(pol);
    external_links_are_under_the_policy();
    a_bucket_may_be_the_root_directory();
    advice_on_acls();
    domains_end();
    (void)snprintf(rm, sizeof rm, "rm -rf %s", dir);
    CHECK(system(rm) == 0, "rm");
    return failures != 0;
}
