/* A web server's answers are whole: a document that isn't JSON is read once, and a page in its place is not a
 * domain. */
#include "helpers/store_testing.h"
#include "http/helpers/server.h"

#include "schema/domain/domain.h"
#include "base/os/pool.h"

#define ROOT "g-b03b24ef-69f244b6-b03b-a4ef69-f244b6"

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    static const char page[] = "<html>\nWelcome</html>", good[] = "{\"root\": \"" ROOT "\"}";
    const char       *body = NULL;
    (void)arg;
    if (strcmp(r->target, "/page/.domain.json") == 0 || strstr(r->target, ".group.json"))
        body = page;
    else if (strcmp(r->target, "/x.h5/.domain.json") == 0)
        body = good;
    a->status = body ? 200 : 404;
    a->body   = body;
    a->len    = body ? strlen(body) : 0;
}

int main(void)
{
    struct server      *s = server_start(handle, NULL);
    struct bkt_settings set;
    struct bkt_err      err = {0};
    struct bkt_domain  *d   = NULL;
    char                name[100];
    if (!s || bkt_settings_init(&set, "retries=2;test.backoff_ms=1", &err) < 0)
        return 1;
    (void)snprintf(name, sizeof name, "%s/page", server_url(s));
    CHECK(bkt_domain_probe(name, &set, &err) == 0 && server_count(s) == 1, "%s: %u requests", first_line(&err), server_count(s));
    server_reset(s);
    CHECK(bkt_domain_open(name, &set, &d, &err) == BKT_EFORMAT && server_count(s) == 1, "%s: %u requests", first_line(&err),
          server_count(s));
    server_reset(s);
    (void)snprintf(name, sizeof name, "%s/x.h5", server_url(s));
    CHECK(bkt_domain_open(name, &set, &d, NULL) == BKT_OK, "open");
    if (d) {
        const struct bkt_object *o = NULL;
        CHECK(bkt_domain_get(d, bkt_domain_root(d), &o, NULL) == BKT_EFORMAT, "the root is not JSON");
        /* the document, the root in the one folder above, and the root again as an object */
        CHECK(server_count(s) == 3, "%u requests", server_count(s));
        bkt_domain_close(d);
    }
    bkt_domain_forget_probe();
    bkt_store_shutdown();
    bkt_pool_shutdown();
    bkt_settings_fini(&set);
    server_stop(s);
    return failures != 0;
}
