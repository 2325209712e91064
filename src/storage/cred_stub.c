/* Until cred.c is there. */
#include "cred.h"

#include <stdlib.h>

void bkt_creds_unref(const struct bkt_creds *c) { (void)c; }
int  bkt_cred_open(const struct bkt_settings *set, struct bkt_cred **out, struct bkt_err *err)
{
    (void)set, (void)err;
    *out = NULL;
    return BKT_OK;
}
void bkt_cred_close(struct bkt_cred *p) { (void)p; }
int  bkt_cred_peek(struct bkt_cred *p, const struct bkt_creds **out, struct bkt_err *err)
{
    (void)p, (void)out;
    BKT_FAIL(err, BKT_EACCES, "no credentials");
}
void bkt_cred_want(struct bkt_cred *p, void (*ready)(void *arg, int rc, const struct bkt_err *err), void *arg)
{
    (void)p;
    ready(arg, BKT_EACCES, NULL);
}
bool bkt_cred_invalidate(struct bkt_cred *p, const char *access_key)
{
    (void)p, (void)access_key;
    return false;
}
void bkt_cred_source(struct bkt_cred *p, char *out, size_t room) { (void)p, (void)out, (void)room; }
void bkt_cred_shutdown(void) {}
int  bkt_cred_region(const struct bkt_settings *set, char **out, struct bkt_err *err)
{
    (void)set, (void)err;
    *out = NULL;
    return BKT_OK;
}
int bkt_cred_endpoint(const struct bkt_settings *set, char **out, struct bkt_err *err)
{
    (void)set, (void)err;
    *out = NULL;
    return BKT_OK;
}
