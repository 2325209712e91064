/* AWS credentials, which sign requests.  cred.h finds them. */
#ifndef BKT_CREDS_H
#define BKT_CREDS_H

#include <stdatomic.h>
#include <stdint.h>

/** Immutable, counted.  Filled in by hand only in tests. */
struct bkt_creds {
    char       *access_key, *secret_key;
    char       *session_token; /* NULL: none */
    int64_t     expires;       /* Unix seconds; 0: never */
    char *source; /* for messages: "environment variables", "profile x in /home/u/.aws/credentials", … */
    uint64_t    fetch, same_as; /* numbers of the provider's fetches: the one that returned them, and the
                                   first that returned the same; 0: not fetched */
    atomic_uint refs;
};
void bkt_creds_unref(const struct bkt_creds *c); /* NULL is allowed */

#endif
