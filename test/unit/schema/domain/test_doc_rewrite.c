/* A document is stored again and again only while other writers change it. */
#include <stdio.h>
#include <string.h>

#include "helpers/check.h"
#include "schema/domain/doc_rewrite.h"

struct server {
    int calls, lets; /* the call that is let through; 0: none */
    bool changes;    /* another writer is faster each time */
};

static int once(void *arg, char version[BKT_ETAG_MAX], struct bkt_err *err)
{
    struct server *s = arg;
    s->calls++;
    (void)snprintf(version, BKT_ETAG_MAX, "\"%d\"", s->changes ? s->calls : 1);
    BKT_FAIL_IF(err, s->calls != s->lets, BKT_EPRECOND, "PUT x: the object has changed");
    return BKT_OK;
}

static void ends_after(struct server s, int calls, int code, const char *words)
{
    struct bkt_err err = {.n = 0};
    bool said = !words;
    int rc = bkt_doc_change(once, &s, &err);
    for (unsigned i = 0; words && i < err.n; i++)
        said |= strstr(err.frame[i].msg, words) != NULL;
    CHECK(rc == code && said, "%d %s", rc, err.n ? err.frame[0].msg : "");
    CHECK(s.calls == calls, "%d calls", s.calls);
}

int main(void)
{
    ends_after((struct server){.lets = 1}, 1, BKT_OK, NULL);
    ends_after((struct server){.lets = 4}, 4, BKT_OK, NULL); /* a cache showed an old version */
    ends_after((struct server){.lets = 0}, 5, BKT_EPRECOND, "refused 5 times");
    ends_after((struct server){.lets = 40, .changes = true}, 40, BKT_OK, NULL);
    ends_after((struct server){.lets = 0, .changes = true}, 100, BKT_EPRECOND, "has changed");
    return failures ? 1 : 0;
}
