/* The credential chain: the order of the sources, and the meaning of a profile in the shared files.  Source:
 * "AWS SDKs and Tools standardized credential providers", "Assume role credential provider" in AWS's SDK
 * guide. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "storage/aws/cred/cred_impl.h"
#include "base/trace.h"

#define MAX_HOPS 8 /* roles assumed from roles */

/* ---- where to look ---- */

static const char *const var_names[BKT_CRED_VARS] = {
#define X(name) #name,
    BKT_CRED_ENV(X)
#undef X
};

static bool differs(const char *a, const char *b)
{
    return a && (!b || strcmp(a, b) != 0);
}

/* Keys that the program gave itself take the place of the environment's. */
static bool take_keys(struct bkt_cred_place *pl, const char *keys)
{
    static const enum bkt_cred_var vars[] = {BKT_VAR_AWS_ACCESS_KEY_ID, BKT_VAR_AWS_SECRET_ACCESS_KEY,
                                             BKT_VAR_AWS_SESSION_TOKEN, BKT_VAR_AWS_SECURITY_TOKEN};
    bool ok = true;
    for (size_t i = 0; i < BKT_COUNT(vars); i++) {
        size_t n = strcspn(keys, "\n");
        bkt_secret_free(pl->env[vars[i]]);
        pl->env[vars[i]] = n ? strndup(keys, n) : NULL;
        ok &= !n || pl->env[vars[i]];
        keys += n + (keys[n] == '\n');
    }
    pl->profile_first = false;
    return ok;
}

int bkt_cred_place_init(struct bkt_cred_place *pl, const struct bkt_settings *set, struct bkt_err *err)
{
    bool ok = true;
    *pl = (struct bkt_cred_place){0};
    for (int i = 0; i < BKT_CRED_VARS; i++) {
        const char *v = getenv(var_names[i]);
        pl->env[i] = v && *v ? strdup(v) : NULL;
        ok &= !v || !*v || pl->env[i];
    }
    bool named = set->profile && *set->profile;
    pl->profile = strdup(named ? set->profile : "default");
    pl->profile_named = named;
    pl->profile_first = named && differs(set->profile, pl->env[BKT_VAR_AWS_PROFILE]) &&
                        differs(set->profile, pl->env[BKT_VAR_AWS_DEFAULT_PROFILE]);
    ok &= !set->keys || !*set->keys || take_keys(pl, set->keys);
    pl->region = set->region && *set->region ? strdup(set->region) : NULL;
    pl->ca_bundle = set->ca_bundle && *set->ca_bundle ? strdup(set->ca_bundle) : NULL;
    atomic_init(&pl->cancel, false);
    ok &= pl->profile && (!set->region || !*set->region || pl->region) &&
          (!set->ca_bundle || !*set->ca_bundle || pl->ca_bundle);
    if (ok)
        return BKT_OK;
    bkt_cred_place_fini(pl);
    BKT_NOMEM(err);
}

void bkt_cred_place_fini(struct bkt_cred_place *pl)
{
    for (int i = 0; i < BKT_CRED_VARS; i++)
        bkt_secret_free(pl->env[i]);
    free(pl->profile);
    free(pl->region);
    free(pl->ca_bundle);
    memset(pl->env, 0, sizeof pl->env);
    pl->profile = pl->region = pl->ca_bundle = NULL;
}

int bkt_cred_looked(struct bkt_cred_fetch *f, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap); /* NOLINT(clang-analyzer-valist.Uninitialized): it is set */
    va_end(ap);
    bkt_trace(BKT_TRACE_CRED, "nothing from the %s", text);
    return bkt_buf_addf(&f->looked, "%s%s", f->looked.len ? ", " : "", text);
}

/* Expand a path from the user: "~/" is the home directory.  Without a path: NULL and BKT_OK. */
static int expand(const struct bkt_cred_place *pl, const char *path, char **out, struct bkt_err *err)
{
    const char *home = pl->env[BKT_VAR_HOME];
    bool tilde = strncmp(path, "~/", 2) == 0;
    *out = NULL;
    if (tilde && !home)
        return BKT_OK;
    BKT_CLEANUP(bkt_buf_fini) struct bkt_buf b = {0};
    BKT_PASS_MEM(err, bkt_buf_addf(&b, "%s%s", tilde ? home : "", tilde ? path + 1 : path));
    *out = bkt_buf_steal(&b);
    return BKT_OK;
}

static int load_file(struct bkt_cred_fetch *f, enum bkt_cred_var var, const char *usual, bool credentials,
                     char **path, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_secret_fini) struct bkt_buf text = {0};
    const char *own = f->place->env[var];
    BKT_PASS(expand(f->place, own ? own : usual, path, err));
    if (!*path)
        return BKT_OK;
    int rc = bkt_cred_read_file(*path, &text, err);
    if (rc == BKT_ENOENT)
        return BKT_OK;
    BKT_PASS(rc);
    return bkt_aws_config_parse(&f->config, bkt_buf_str(&text), text.len, credentials, err);
}

static int load(struct bkt_cred_fetch *f, struct bkt_err *err)
{
    BKT_PASS(load_file(f, BKT_VAR_AWS_CONFIG_FILE, "~/.aws/config", false, &f->config.config_path, err));
    return load_file(f, BKT_VAR_AWS_SHARED_CREDENTIALS_FILE, "~/.aws/credentials", true,
                     &f->config.credentials_path, err);
}

static const char *path_text(const char *path)
{
    return path ? path : "(no HOME)";
}

static const char *of_profile(const struct bkt_cred_fetch *f, const char *profile, const char *key)
{
    return bkt_aws_config_profile(&f->config, profile, key);
}

/* ---- environment ---- */

static int from_env(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err)
{
    char *const *env = f->place->env;
    const char *id = env[BKT_VAR_AWS_ACCESS_KEY_ID];
    const char *secret = env[BKT_VAR_AWS_SECRET_ACCESS_KEY];
    const char *token = env[BKT_VAR_AWS_SESSION_TOKEN];
    if (!id && !secret) {
        BKT_PASS(bkt_cred_looked(f, "environment (no AWS_ACCESS_KEY_ID)"));
        return BKT_ENOENT;
    }
    BKT_FAIL_IF(err, !id || !secret, BKT_EINVAL, "environment variable %s is set, but %s is not",
                id ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY",
                id ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID");
    return bkt_creds_make(id, secret, token ? token : env[BKT_VAR_AWS_SECURITY_TOKEN], 0,
                          "environment variables", out, err);
}

/* ---- roles ---- */

static bool ignores_endpoints(const struct bkt_cred_place *pl)
{
    const char *v = pl->env[BKT_VAR_AWS_IGNORE_CONFIGURED_ENDPOINT_URLS];
    return v && strcasecmp(v, "true") == 0;
}

static const char *sts_endpoint(const struct bkt_cred_fetch *f, const char *profile)
{
    char *const *env = f->place->env;
    if (ignores_endpoints(f->place))
        return NULL;
    if (env[BKT_VAR_AWS_ENDPOINT_URL_STS])
        return env[BKT_VAR_AWS_ENDPOINT_URL_STS];
    if (env[BKT_VAR_AWS_ENDPOINT_URL])
        return env[BKT_VAR_AWS_ENDPOINT_URL];
    return bkt_aws_config_endpoint(&f->config, profile, "sts");
}

/* The environment's value, else the profile's; NULL unless it is "true". */
static const char *flag(const struct bkt_cred_fetch *f, const char *profile, enum bkt_cred_var var,
                        const char *key)
{
    const char *v = f->place->env[var] ? f->place->env[var] : of_profile(f, profile, key);
    return v && strcasecmp(v, "true") == 0 ? "true" : NULL;
}

static const char *fips_flag(const struct bkt_cred_fetch *f, const char *profile)
{
    return flag(f, profile, BKT_VAR_AWS_USE_FIPS_ENDPOINT, "use_fips_endpoint");
}

/* A role with the profile's values for it. */
static struct bkt_cred_role role_of(const struct bkt_cred_fetch *f, const char *profile, const char *arn,
                                    const char *who)
{
    return (struct bkt_cred_role){.arn = arn,
                                  .session_name = of_profile(f, profile, "role_session_name"),
                                  .duration = of_profile(f, profile, "duration_seconds"),
                                  .region =
                                      f->place->region ? f->place->region : of_profile(f, profile, "region"),
                                  .endpoint = sts_endpoint(f, profile),
                                  .fips = fips_flag(f, profile) != NULL,
                                  .who = who};
}

static int from_web_env(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err)
{
    char *const *env = f->place->env;
    struct bkt_cred_role role = role_of(f, f->place->profile, env[BKT_VAR_AWS_ROLE_ARN], "environment");
    role.session_name = env[BKT_VAR_AWS_ROLE_SESSION_NAME];
    role.duration = NULL;
    role.token_file = env[BKT_VAR_AWS_WEB_IDENTITY_TOKEN_FILE];
    if (!role.token_file) {
        BKT_PASS(bkt_cred_looked(f, "web identity (no AWS_WEB_IDENTITY_TOKEN_FILE)"));
        return BKT_ENOENT;
    }
    BKT_FAIL_IF(err, !role.arn, BKT_EINVAL, "AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not");
    return bkt_cred_assume(f, &role, out, err);
}

/* ---- profiles ---- */

struct hop {
    const char *profile;
    const struct hop *from; /* the profile that refers to it; NULL: the user */
    unsigned depth;
};

static int resolve(struct bkt_cred_fetch *f, const struct hop *hop, struct bkt_creds **out,
                   struct bkt_err *err);

static int static_keys(struct bkt_cred_fetch *f, const char *profile, struct bkt_creds **out,
                       struct bkt_err *err)
{
    const char *id = of_profile(f, profile, "aws_access_key_id"),
               *token = of_profile(f, profile, "aws_session_token");
    const char *secret = of_profile(f, profile, "aws_secret_access_key");
    const struct bkt_aws_entry *e = bkt_aws_config_find(&f->config, "profile", profile, "aws_access_key_id");
    const char *path =
        path_text(e && e->from_credentials ? f->config.credentials_path : f->config.config_path);
    char source[400];
    if (!id && !secret)
        return BKT_ENOENT;
    BKT_FAIL_IF(err, !id || !secret, BKT_EINVAL, "profile %.80s has %s without %s", profile,
                id ? "aws_access_key_id" : "aws_secret_access_key",
                id ? "aws_secret_access_key" : "aws_access_key_id");
    (void)snprintf(source, sizeof source, "profile %.80s in %.250s", profile, path);
    return bkt_creds_make(id, secret, token ? token : of_profile(f, profile, "aws_security_token"), 0, source,
                          out, err);
}

static const struct {
    const char *name;
    int (*get)(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err);
} credential_sources[] = {
    {"Environment", from_env},
    {"EcsContainer", bkt_cred_from_container},
    {"Ec2InstanceMetadata", bkt_cred_from_imds},
};

static int from_credential_source(struct bkt_cred_fetch *f, const char *profile, const char *kind,
                                  struct bkt_creds **out, struct bkt_err *err)
{
    for (size_t i = 0; i < BKT_COUNT(credential_sources); i++)
        if (strcasecmp(kind, credential_sources[i].name) == 0) {
            int rc = credential_sources[i].get(f, out, err);
            BKT_FAIL_IF(err, rc == BKT_ENOENT, BKT_EACCES,
                        "profile %.80s: credential_source %s has no credentials: %.200s", profile,
                        credential_sources[i].name, bkt_buf_str(&f->looked));
            return rc;
        }
    BKT_FAIL(err, BKT_EINVAL,
             "profile %.80s: unknown credential_source '%.60s'; use Environment, EcsContainer or "
             "Ec2InstanceMetadata",
             profile, kind);
}

static int from_source_profile(struct bkt_cred_fetch *f, const struct hop *hop, const char *name,
                               struct bkt_creds **out, struct bkt_err *err)
{
    if (strcmp(name, hop->profile) == 0) { /* a profile may be its own source if it has keys */
        int own = static_keys(f, name, out, err);
        BKT_FAIL_IF(err, own == BKT_ENOENT, BKT_EINVAL,
                    "profile %.80s is its own source_profile but has no keys", name);
        return own;
    }
    BKT_FAIL_IF(err, !bkt_aws_config_find(&f->config, "profile", name, NULL), BKT_EINVAL,
                "profile %.80s: its source_profile %.80s does not exist", hop->profile, name);
    for (const struct hop *h = hop; h; h = h->from)
        BKT_FAIL_IF(err, strcmp(h->profile, name) == 0, BKT_EINVAL,
                    "profiles %.80s and %.80s refer to each other as source_profile", hop->profile, name);
    BKT_FAIL_IF(err, hop->depth >= MAX_HOPS, BKT_EINVAL, "profile %.80s: more than %d profiles in a row",
                hop->profile, MAX_HOPS);
    struct hop next = {name, hop, hop->depth + 1};
    int rc = resolve(f, &next, out, err);
    BKT_FAIL_IF(err, rc == BKT_ENOENT, BKT_EINVAL,
                "profile %.80s: its source_profile %.80s has no credentials", hop->profile, name);
    return rc;
}

static int assume(struct bkt_cred_fetch *f, const struct hop *hop, const char *arn, struct bkt_creds **out,
                  struct bkt_err *err)
{
    const char *name = hop->profile;
    const char *source_profile = of_profile(f, name, "source_profile");
    const char *source = of_profile(f, name, "credential_source");
    struct bkt_creds *by = NULL;
    char who[100];
    int rc;
    (void)snprintf(who, sizeof who, "profile %.80s", name);
    BKT_FAIL_IF(err, of_profile(f, name, "mfa_serial"), BKT_EUNSUP,
                "profile %.80s needs an MFA code, which can't be entered here; use \"aws configure "
                "export-credentials --profile %.80s --format process\" as credential_process",
                name, name);
    BKT_FAIL_IF(err, source_profile && source, BKT_EINVAL,
                "profile %.80s has both source_profile and credential_source", name);
    BKT_FAIL_IF(err, !source_profile && !source, BKT_EINVAL,
                "profile %.80s has role_arn without source_profile, credential_source or "
                "web_identity_token_file",
                name);
    rc = source ? from_credential_source(f, name, source, &by, err)
                : from_source_profile(f, hop, source_profile, &by, err);
    BKT_PASS(rc);
    struct bkt_cred_role role = role_of(f, name, arn, who);
    role.external_id = of_profile(f, name, "external_id");
    role.by = by;
    rc = bkt_cred_assume(f, &role, out, err);
    bkt_creds_unref(by);
    return rc;
}

static int web_identity(struct bkt_cred_fetch *f, const char *name, const char *arn, const char *file,
                        struct bkt_creds **out, struct bkt_err *err)
{
    BKT_CLEANUP(bkt_freep) char *path = NULL;
    char who[100];
    (void)snprintf(who, sizeof who, "profile %.80s", name);
    BKT_PASS(expand(f->place, file, &path, err));
    BKT_FAIL_IF(err, !path, BKT_EINVAL, "%s: web_identity_token_file begins with ~, but HOME is not set",
                who);
    struct bkt_cred_role role = role_of(f, name, arn, who);
    role.token_file = path;
    return bkt_cred_assume(f, &role, out, err);
}

/* Resolve a profile.  A profile that the user names means its role; its own keys are at most the source for
 * that role.  A source_profile means its keys. */
static int resolve(struct bkt_cred_fetch *f, const struct hop *hop, struct bkt_creds **out,
                   struct bkt_err *err)
{
    const char *name = hop->profile, *arn = of_profile(f, name, "role_arn");
    const char *file = of_profile(f, name, "web_identity_token_file"),
               *command = of_profile(f, name, "credential_process");
    int rc = arn && !hop->from ? BKT_ENOENT : static_keys(f, name, out, err);
    if (rc != BKT_ENOENT)
        return rc;
    if (arn)
        return file ? web_identity(f, name, arn, file, out, err) : assume(f, hop, arn, out, err);
    if (command)
        return bkt_cred_from_process(f, command, name, out, err);
    BKT_FAIL_IF(err,
                bkt_aws_config_has_prefix(&f->config, name, "sso_") || of_profile(f, name, "login_session"),
                BKT_EUNSUP,
                "profile %.60s signs in through the browser (SSO), which is not supported here; give a "
                "profile this line: credential_process = aws configure export-credentials --profile %.60s "
                "--format process",
                name, name);
    return BKT_ENOENT;
}

static int from_profile(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err)
{
    const struct bkt_aws_config *c = &f->config;
    const char *name = f->place->profile;
    struct hop hop = {name, NULL, 0};
    if (bkt_aws_config_find(c, "profile", name, NULL)) {
        int rc = resolve(f, &hop, out, err);
        if (rc != BKT_ENOENT)
            return rc;
        BKT_PASS(bkt_cred_looked(f, "profile %.60s (no keys in %.90s or %.90s)", name,
                                 path_text(c->credentials_path), path_text(c->config_path)));
        return BKT_ENOENT;
    }
    BKT_FAIL_IF(err, f->place->profile_named, BKT_EINVAL,
                "profile %.60s is neither in %.110s nor, as [profile %.60s], in %.110s", name,
                path_text(c->credentials_path), name, path_text(c->config_path));
    BKT_PASS(bkt_cred_looked(f, "profile default (not in %.90s or %.90s)", path_text(c->credentials_path),
                             path_text(c->config_path)));
    return BKT_ENOENT;
}

/* ---- the chain ---- */

static const struct source {
    int (*get)(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err);
    bool environment; /* skipped when a setting names a profile */
    bool fixed;       /* read once: asking again gives the same result */
    bool files;       /* skipped when the shared files could not be read */
} sources[] = {
    {from_env, true, true, false},      {from_web_env, true, false, false},
    {from_profile, false, false, true}, {bkt_cred_from_container, false, false, false},
    {bkt_cred_from_imds, false, false, false},
};

static int walk(struct bkt_cred_fetch *f, struct bkt_creds **out, struct bkt_err *err)
{
    struct bkt_err unread = {0};
    int loaded = load(f, &unread);
    for (size_t i = 0; i < BKT_COUNT(sources); i++) {
        const struct source *s = &sources[i];
        if (s->environment && f->place->profile_first)
            continue;
        if (s->files && loaded < 0)
            return bkt_err_copy(err, loaded, &unread);
        int rc = s->get(f, out, err);
        if (rc != BKT_ENOENT) {
            f->fixed = s->fixed;
            return rc;
        }
        BKT_FAIL_IF(err, atomic_load(&f->place->cancel), BKT_ECANCEL,
                    "the search for credentials was cancelled");
    }
    BKT_FAIL(err, BKT_EACCES,
             "no AWS credentials found (for a public bucket set AWS_NO_SIGN_REQUEST=1); looked at: %s",
             bkt_buf_str(&f->looked));
}

int bkt_cred_fetch(const struct bkt_cred_place *pl, struct bkt_creds **out, enum bkt_cred_from *from,
                   struct bkt_err *err)
{
    struct bkt_cred_fetch f = {.place = pl};
    int rc = walk(&f, out, err);
    *from = f.fixed ? BKT_CRED_FIXED : f.asked ? BKT_CRED_ASKED : BKT_CRED_FILES;
    bkt_aws_config_fini(&f.config);
    bkt_buf_fini(&f.looked);
    return rc;
}

/* ---- other settings of the profile ---- */

int bkt_cred_of_profile(const struct bkt_settings *set, enum bkt_cred_what what, char **out,
                        struct bkt_err *err)
{
    struct bkt_cred_place pl;
    BKT_PASS(bkt_cred_place_init(&pl, set, err));
    struct bkt_cred_fetch f = {.place = &pl};
    const char *value = NULL;
    bool by_env = (what == BKT_CRED_FIPS && pl.env[BKT_VAR_AWS_USE_FIPS_ENDPOINT]) ||
                  (what == BKT_CRED_DUALSTACK && pl.env[BKT_VAR_AWS_USE_DUALSTACK_ENDPOINT]);
    int rc = by_env ? BKT_OK : load(&f, err);
    if (rc == BKT_OK && what == BKT_CRED_REGION)
        value = of_profile(&f, pl.profile, "region");
    else if (rc == BKT_OK && what == BKT_CRED_FIPS)
        value = fips_flag(&f, pl.profile);
    else if (rc == BKT_OK && what == BKT_CRED_DUALSTACK)
        value = flag(&f, pl.profile, BKT_VAR_AWS_USE_DUALSTACK_ENDPOINT, "use_dualstack_endpoint");
    else if (rc == BKT_OK && !ignores_endpoints(&pl))
        value = bkt_aws_config_endpoint(&f.config, pl.profile, "s3");
    *out = value ? strdup(value) : NULL;
    if (value && !*out)
        rc = BKT_ERR(err, BKT_ENOMEM, "out of memory");
    bkt_aws_config_fini(&f.config);
    bkt_cred_place_fini(&pl);
    return rc;
}
