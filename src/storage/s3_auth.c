#include "s3_auth.h"

#include <stdlib.h>
#include <string.h>

struct bkt_s3_auth {
    bool anonymous;
};

int bkt_s3_auth_open(const struct bkt_settings *set, struct bkt_s3_auth **out, struct bkt_err *err)
{
    struct bkt_s3_auth *a = calloc(1, sizeof *a);
    if (!a)
        BKT_NOMEM(err);
    a->anonymous = set->anonymous;
    *out         = a;
    return BKT_OK;
}

void bkt_s3_auth_close(struct bkt_s3_auth *a) { free(a); }

int bkt_s3_auth_sign(struct bkt_s3_auth *a, struct bkt_http_op *op, const struct bkt_s3_target *t)
{
    (void)a;
    return t->requester_pays ? bkt_http_header(op, "x-amz-request-payer", "requester") : BKT_OK;
}

bool bkt_s3_auth_refused(struct bkt_s3_auth *a, struct bkt_http_op *op, const char *code)
{
    (void)a, (void)op, (void)code;
    return false;
}

void bkt_s3_auth_source(struct bkt_s3_auth *a, char *out, size_t room)
{
    (void)a;
    if (room)
        out[0] = 0;
}
