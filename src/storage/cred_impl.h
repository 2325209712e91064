/* Parts of the credential chain; for cred*.c and their tests only. */
#ifndef BKT_CRED_IMPL_H
#define BKT_CRED_IMPL_H

#include <stdatomic.h>
#include <stddef.h>

#include "aws_config.h"
#include "buf.h"
#include "cred.h"

/* Every variable that has a say, so that a provider is known by their values. */
#define BKT_CRED_ENV(X)                                                                                      \
    X(AWS_ACCESS_KEY_ID)                                                                                     \
    X(AWS_SECRET_ACCESS_KEY)                                                                                 \
    X(AWS_SESSION_TOKEN)                                                                                     \
    X(AWS_SECURITY_TOKEN)                                                                                    \
    X(AWS_PROFILE)                                                                                           \
    X(AWS_DEFAULT_PROFILE)                                                                                   \
    X(AWS_SHARED_CREDENTIALS_FILE)                                                                           \
    X(AWS_CONFIG_FILE)                                                                                       \
    X(AWS_WEB_IDENTITY_TOKEN_FILE)                                                                           \
    X(AWS_ROLE_ARN)                                                                                          \
    X(AWS_ROLE_SESSION_NAME)                                                                                 \
    X(AWS_CONTAINER_CREDENTIALS_RELATIVE_URI)                                                                \
    X(AWS_CONTAINER_CREDENTIALS_FULL_URI)                                                                    \
    X(AWS_CONTAINER_AUTHORIZATION_TOKEN)                                                                     \
    X(AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE)                                                                \
    X(AWS_EC2_METADATA_DISABLED)                                                                             \
    X(AWS_EC2_METADATA_SERVICE_ENDPOINT)                                                                     \
    X(AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE)                                                                \
    X(AWS_METADATA_SERVICE_TIMEOUT)                                                                          \
    X(AWS_METADATA_SERVICE_NUM_ATTEMPTS)                                                                     \
    X(AWS_ENDPOINT_URL)                                                                                      \
    X(AWS_ENDPOINT_URL_STS)                                                                                  \
    X(AWS_IGNORE_CONFIGURED_ENDPOINT_URLS)                                                                   \
    X(HOME)

enum bkt_cred_var {
#define X(name) BKT_VAR_##name,
    BKT_CRED_ENV(X)
#undef X
        BKT_CRED_VARS
};

/** Where to look; fixed for a provider's life. */
struct bkt_cred_place {
    char       *env[BKT_CRED_VARS]; /* NULL: unset or empty */
    char       *profile;            /* never NULL */
    bool        profile_named;      /* chosen by setting or environment, not just the default one */
    bool        profile_first;      /* named by a setting: the environment's keys do not count */
    char       *region, *ca_bundle; /* may be NULL */
    atomic_bool cancel;             /* ends fetches */
};
/** Copies what it needs of @p set and of the environment, so that later walks see the same.  BKT_ENOMEM. */
BKT_NODISCARD int bkt_cred_place_init(struct bkt_cred_place *pl, const struct bkt_settings *set, struct bkt_err *err);
void              bkt_cred_place_fini(struct bkt_cred_place *pl);

/** One walk along the chain. */
struct bkt_cred_fetch {
    const struct bkt_cred_place *place;
    struct bkt_aws_config        config;
    struct bkt_buf               looked; /* for the message when nothing is found */
    bool                         fixed;  /* found in the environment: asking again gives the same */
    bool                         asked;  /* somebody was: a server or a program */
};

/** What a walk rested on: how often it may be made again. */
enum bkt_cred_from {
    BKT_CRED_FIXED, /* the environment as it was: always gives the same */
    BKT_CRED_FILES, /* the shared files: others may stand there at any time, and looking costs next to nothing */
    BKT_CRED_ASKED, /* a server or a program, which may have limits */
};

/** Walk the chain: as bkt_cred_get().  @p from also for one that fails. */
BKT_NODISCARD int bkt_cred_fetch(const struct bkt_cred_place *pl, struct bkt_creds **out, enum bkt_cred_from *from,
                                 struct bkt_err *err);

/* Sources.  BKT_ENOENT, not configured here: why goes to f->looked, and the next one is asked. */
int bkt_cred_from_env(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err);
int bkt_cred_from_profile(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err);
int bkt_cred_from_container(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err);
int bkt_cred_from_imds(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err);
int bkt_cred_from_process(struct bkt_cred_fetch *f, const char *command, const char *profile, struct bkt_creds **out,
                          struct bkt_err *err);

/** What AssumeRole wants; NULL where not given.  With token_file it is AssumeRoleWithWebIdentity, else signed with by. */
struct bkt_cred_role {
    const char             *arn, *session_name, *external_id, *duration, *token_file;
    const char             *region, *endpoint;
    const char             *who; /* for messages: "profile x" or "environment" */
    const struct bkt_creds *by;
};
/** Ask STS for the role's credentials; @p out is the caller's.  BKT_EACCES, BKT_ENET with the answer in the message. */
int bkt_cred_assume(struct bkt_cred_fetch *f, const struct bkt_cred_role *role, struct bkt_creds **out,
                    struct bkt_err *err);

/** Add to the list of what was looked at. */
int bkt_cred_looked(struct bkt_cred_fetch *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** New credentials with one reference; strings are copied.  BKT_EFORMAT: a key is empty or has control characters;
 *  BKT_EACCES: they ended already. */
BKT_NODISCARD int bkt_creds_make(const char *id, const char *secret, const char *token, int64_t expires,
                                 const char *source, struct bkt_creds **out, struct bkt_err *err);

/** The JSON that container endpoint, IMDS and credential_process give.  @p token_name: "Token" or "SessionToken". */
BKT_NODISCARD int bkt_creds_from_json(const void *text, size_t n, const char *token_name, const char *source,
                                      struct bkt_creds **out, struct bkt_err *err);

/** The XML of STS. */
BKT_NODISCARD int bkt_creds_from_sts(const void *xml, size_t n, const char *source, struct bkt_creds **out,
                                     struct bkt_err *err);

/** ISO 8601 in UTC or with an offset, "2026-01-31T23:59:59Z"; false: it is not. */
bool bkt_cred_time(const char *text, int64_t *out);

/** Unix seconds; tests shift it. */
int64_t               bkt_cred_now(void);
extern _Atomic int64_t bkt_cred_clock_shift;

/** A file of at most 1 MiB as text, to be wiped.  BKT_ENOENT; BKT_EACCES; BKT_EIO; BKT_ENOMEM. */
BKT_NODISCARD int bkt_cred_read_file(const char *path, struct bkt_buf *out, struct bkt_err *err);

/** Buffers that held secrets: growing and freeing leave nothing behind. */
BKT_NODISCARD int bkt_secret_add(struct bkt_buf *b, const void *p, size_t n);
BKT_NODISCARD int bkt_secret_addf(struct bkt_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void              bkt_secret_fini(struct bkt_buf *b);
void              bkt_secret_free(char *text); /* NULL is fine */

/** A small request: no redirects, verified TLS, an answer of at most 1 MiB. */
struct bkt_cred_http {
    const char        *method, *url;
    const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
    const char        *body;    /* NULL: none */
    unsigned           timeout_ms, connect_ms, tries; /* tries: no answer, 429 and 5xx are tried again */
    bool               direct;  /* not through a proxy */
};
/** @param body  emptied first; bkt_secret_fini()
 *  @return BKT_OK with any status; BKT_ENET, BKT_ETIME: no answer; BKT_ECANCEL; BKT_EFORMAT, too long; BKT_EINVAL; BKT_ENOMEM */
BKT_NODISCARD int bkt_cred_http(const struct bkt_cred_place *pl, const struct bkt_cred_http *req, long *status,
                                struct bkt_buf *body, struct bkt_err *err);

/** Wait, or not if cancelled. */
void bkt_cred_sleep(const struct bkt_cred_place *pl, unsigned ms);

/** Split a command as a shell would, without expansions: blanks, '…', "…" and \.  *argv is one block for free(). */
BKT_NODISCARD int bkt_cred_split(const char *command, char ***argv, struct bkt_err *err);

/** Whether credentials may be asked of this URL: https, or http to this machine and the container hosts' addresses. */
bool bkt_cred_full_uri_ok(const char *url);

#endif
