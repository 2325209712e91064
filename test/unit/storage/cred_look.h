/* For the tests of the chain of credentials: one look, and what was found. */
#ifndef BKT_CRED_LOOK_H
#define BKT_CRED_LOOK_H

#include "unit/storage/cred_testing.h"

/* The result of one look. */
struct found {
    int            rc;
    char           key[64], token[64], source[300];
    struct bkt_err err;
};

static inline struct found look(const char *info)
{
    struct found            f = {0};
    struct bkt_cred        *p = provider(info);
    const struct bkt_creds *c = NULL;
    f.rc                      = cred_get(p, &c, &f.err);
    if (f.rc == BKT_OK) {
        (void)snprintf(f.key, sizeof f.key, "%s", c->access_key);
        (void)snprintf(f.token, sizeof f.token, "%s", c->session_token ? c->session_token : "");
        (void)snprintf(f.source, sizeof f.source, "%s", c->source);
    }
    bkt_creds_unref(c);
    bkt_cred_close(p);
    bkt_cred_shutdown();
    return f;
}

static inline void is_key(const struct found *f, const char *key, const char *source)
{
    if (f->rc != BKT_OK || strcmp(f->key, key) != 0 || !strstr(f->source, source))
        fail_msg("%d '%s' from '%s', should be '%s' from '%s'; %s", f->rc, f->key, f->source, key, source,
                 f->err.n ? f->err.frame[0].msg : "");
    if (world.bad)
        fail_msg("%s", world.bad);
}

static inline void is_failure(const struct found *f, int rc, const char *says)
{
    bool said = false;
    for (unsigned i = 0; i < f->err.n; i++) {
        said |= strstr(f->err.frame[i].msg, says) != NULL;
        if (strstr(f->err.frame[i].msg, "TOPSECRET"))
            fail_msg("a secret in: %s", f->err.frame[i].msg);
    }
    if (f->rc != rc || !said)
        fail_msg("%d '%s', should be %d '%s'", f->rc, f->err.n ? f->err.frame[0].msg : "", rc, says);
}

#define KEYS(id) "aws_access_key_id = " id "\naws_secret_access_key = secret-of-" id "\n"

static inline void set_url(const char *var, const char *path)
{
    char url[200];
    (void)snprintf(url, sizeof url, "%s%s", server_url(world.server), path);
    (void)setenv(var, url, 1);
}

#endif
