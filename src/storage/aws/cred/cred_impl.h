/* Parts of the credential chain; for the files of storage/aws/cred and their tests only. */
#pragma once

#include <stdatomic.h>
#include <stddef.h>

#include "storage/aws/profile_files.h"
#include "base/bytes.h"
#include "storage/aws/cred/cred.h"

/* All variables that matter.  A provider is identified by their values. */
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
    X(AWS_USE_FIPS_ENDPOINT)                                                                                 \
    X(AWS_USE_DUALSTACK_ENDPOINT)                                                                            \
    X(HOME)

enum bkt_cred_var {
#define X(name) BKT_VAR_##name,
    BKT_CRED_ENV(X)
#undef X
        BKT_CRED_VARS
};

/** The places to look at; fixed for a provider's life. */
struct bkt_cred_place {
    char       *env[BKT_CRED_VARS]; /* NULL: unset or empty */
    char       *profile;            /* never NULL */
    bool        profile_named;      /* chosen by setting or environment, not just the default one */
    bool        profile_first;      /* named by a setting: the environment's keys are ignored */
    char       *region, *ca_bundle; /* may be NULL */
    atomic_bool cancel;             /* ends fetches */
};
/** Copy the values needed from @p set and the environment, so that later walks see the same values.
 *  BKT_ENOMEM. */
BKT_NODISCARD int bkt_cred_place_init(struct bkt_cred_place *pl, const struct bkt_settings *set,
                                      struct bkt_err *err);
/** Free the texts, and wipe those of the environment.  No walk is under way. */
void              bkt_cred_place_fini(struct bkt_cred_place *pl);

/** One walk along the chain. */
struct bkt_cred_fetch {
    const struct bkt_cred_place *place;
    struct bkt_aws_config        config;
    struct bkt_buf               looked; /* the places looked at, for the message when nothing is found */
    bool                         fixed;  /* found in the environment: asking again gives the same result */
    bool                         asked;  /* a server or a program was asked */
};

/** The kind of source that a walk used.  It determines how often a walk may be repeated. */
enum bkt_cred_from {
    BKT_CRED_FIXED, /* the environment as it was: always gives the same result */
    BKT_CRED_FILES, /* the shared files: they may change at any time, and reading them costs little */
    BKT_CRED_ASKED, /* a server or a program, which may have limits */
};

/** Walk the chain; otherwise as bkt_cred_want().  @p from is set also if the walk fails. */
BKT_NODISCARD int bkt_cred_fetch(const struct bkt_cred_place *pl, struct bkt_creds **out,
                                 enum bkt_cred_from *from, struct bkt_err *err);

/** bkt_cred_from_*() ask one source; @p out belongs to the caller.  BKT_ENOENT: not configured here; the
 * reason is added to f->looked, and the next source is asked.  Other failures end the walk. */
int bkt_cred_from_container(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err);
int bkt_cred_from_imds(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err);
/** Run a profile's @p command, for 60 s at most.  BKT_EINVAL: as bkt_cred_split(); BKT_EIO: it cannot run;
 * BKT_EACCES: it failed; BKT_ETIME; BKT_ECANCEL; BKT_EFORMAT; BKT_ENOMEM. */
int bkt_cred_from_process(struct bkt_cred_fetch *f, const char *command, const char *profile,
                          struct bkt_creds **out, struct bkt_err *err);

/** The arguments of AssumeRole; NULL: not given.  With token_file it is AssumeRoleWithWebIdentity, else the
 *  request is signed with `by`. */
struct bkt_cred_role {
    const char             *arn, *session_name, *external_id, *duration, *token_file;
    const char             *region, *endpoint;
    bool fips;                   /* AWS's endpoint with FIPS 140; without `endpoint` */
    const char             *who; /* for messages: "profile x" or "environment" */
    const struct bkt_creds *by;
};
/** Ask STS for the role's credentials; @p out belongs to the caller.  BKT_EACCES, BKT_ENET, with the answer
 * in the message; BKT_EINVAL: the endpoint is not a URL; otherwise as bkt_cred_read_file() and
 * bkt_cred_http(). */
int bkt_cred_assume(struct bkt_cred_fetch *f, const struct bkt_cred_role *role, struct bkt_creds **out,
                    struct bkt_err *err);

/** Add to the list of places looked at. */
int bkt_cred_looked(struct bkt_cred_fetch *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** Create credentials with one reference; strings are copied.  BKT_EFORMAT: a key is empty or has control
 *  characters; BKT_EACCES: they have expired. */
BKT_NODISCARD int bkt_creds_make(const char *id, const char *secret, const char *token, int64_t expires,
                                 const char *source, struct bkt_creds **out, struct bkt_err *err);

/** A text field of one JSON object, the format of credential sources' answers.  Nested values are checked and
 *  skipped (base/text/json_scan.h). */
struct bkt_cred_json_field {
    const char    *name;
    bool           present; /* present and not null */
    bool           text;    /* a string; else value holds the spelling of a number or literal; nested values
                               are not kept */
    struct bkt_buf value;   /* UTF-8; bkt_cred_json_fields_fini() wipes it */
};

/** Read the named fields; if a name occurs several times, the last one counts.
 * @return BKT_OK; BKT_EFORMAT: not one well-formed object, or a string with a NUL in it; BKT_ENOMEM.  The
 *     message never quotes the text. */
BKT_NODISCARD int bkt_cred_json_fields(const void *text, size_t n, struct bkt_cred_json_field *fields,
                                       size_t n_fields, struct bkt_err *err);
/** Wipe and free the values.  The names stay, so the fields can be read again. */
void bkt_cred_json_fields_fini(struct bkt_cred_json_field *fields, size_t n_fields);

/** Parse the JSON of container endpoint, IMDS and credential_process.  @p token_name: "Token" or
 *  "SessionToken". */
BKT_NODISCARD int bkt_creds_from_json(const void *text, size_t n, const char *token_name, const char *source,
                                      struct bkt_creds **out, struct bkt_err *err);

/** Parse the XML of STS. */
BKT_NODISCARD int bkt_creds_from_sts(const void *xml, size_t n, const char *source, struct bkt_creds **out,
                                     struct bkt_err *err);

/** Parse ISO 8601 in UTC or with an offset, "2026-01-31T23:59:59Z".  False: another format. */
bool bkt_cred_time(const char *text, int64_t *out);

/** Unix seconds; tests shift it. */
int64_t               bkt_cred_now(void);
extern _Atomic int64_t bkt_cred_clock_shift;

/** Read a file of at most 1 MiB as text, which the caller wipes.  BKT_ENOENT; BKT_EACCES; BKT_EIO;
 * BKT_EFORMAT: it is longer; BKT_ENOMEM. */
BKT_NODISCARD int bkt_cred_read_file(const char *path, struct bkt_buf *out, struct bkt_err *err);

/** A small request: no redirects, verified TLS, an answer of at most 1 MiB. */
struct bkt_cred_http {
    const char        *method, *url;
    const char *const *headers; /* "Name: value", NULL-terminated; may be NULL */
    const char        *body;    /* NULL: none */
    unsigned timeout_ms, connect_ms, tries; /* tries: without an answer, or after a status that
                                               bkt_retry_classify() names, the request is repeated */
    bool               direct;  /* not through a proxy */
};
/** Send a small request and wait for the answer.
 * @param body  emptied first; to be released with bkt_secret_fini()
 * @return BKT_OK with any status; BKT_ENET, BKT_ETIME: no answer; BKT_ECANCEL; BKT_EFORMAT: too long;
 *     BKT_EINVAL; BKT_ENOMEM */
BKT_NODISCARD int bkt_cred_http(const struct bkt_cred_place *pl, const struct bkt_cred_http *req,
                                long *status, struct bkt_buf *body, struct bkt_err *err);

/** Split a command as a shell would, without expansions: blanks, '…', "…" and \.  *argv is one block for
 * free().  BKT_EINVAL: no words, or a quote does not end; BKT_ENOMEM. */
BKT_NODISCARD int bkt_cred_split(const char *command, char ***argv, struct bkt_err *err);

/** Whether credentials may be requested from this URL: https, or http to this machine and the container
 *  hosts' addresses. */
bool bkt_cred_full_uri_ok(const char *url);
