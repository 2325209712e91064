/* A world for credential tests: an empty home folder, no AWS variables, and one server that plays STS, a
 * container endpoint and EC2's metadata service. */
#ifndef BKT_CRED_TESTING_H
#define BKT_CRED_TESTING_H

#include <curl/curl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "http/helpers/server.h"
#include "helpers/cmocka_includes.h"
#include "storage/aws/cred/cred.h"
#include "storage/aws/cred/cred_impl.h"
#include "storage/aws/sigv4.h"

static struct {
    char           home[64];
    struct server *server;
    /* how the server behaves; changed only while no request is under way */
    int         status;   /* not 0: every answer's */
    const char *body;     /* not NULL: every answer's */
    unsigned fail_first;  /* answer fail_status so many times; 0: 503 */
    int fail_status;
    size_t      cut;      /* not 0: send only so many bytes */
    long        lives;    /* seconds until its keys expire */
    bool        no_role, no_token;
    const char *want_authorization; /* container */
    const char *bad;      /* the fault that the server found in a request; NULL: none */
    unsigned    serial;   /* of the keys it gives */
} world;

/* The time limit of a source, in ms.  Here it is a minute, unless a test waits for the limit: on a busy
 * machine the server may be stopped for longer than the usual second or two.  Linked with
 * --wrap=curl_easy_setopt. */
static _Atomic long given_ms;
static atomic_bool  impatient;

CURLcode __real_curl_easy_setopt(CURL *curl, CURLoption option, ...);
CURLcode __wrap_curl_easy_setopt(CURL *curl, CURLoption option, ...);
CURLcode __wrap_curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
    va_list  more;
    CURLcode rc;
    va_start(more, option);
    if (option < CURLOPTTYPE_OBJECTPOINT) {
        long v = va_arg(more, long);
        if (option == CURLOPT_TIMEOUT_MS)
            atomic_store(&given_ms, v);
        bool patient = (option == CURLOPT_TIMEOUT_MS || option == CURLOPT_CONNECTTIMEOUT_MS) && !atomic_load(&impatient);
        rc           = __real_curl_easy_setopt(curl, option, patient ? 60000L : v);
    } else if (option < CURLOPTTYPE_OFF_T) {
        rc = __real_curl_easy_setopt(curl, option, va_arg(more, void *));
    } else {
        rc = __real_curl_easy_setopt(curl, option, va_arg(more, curl_off_t));
    }
    va_end(more);
    return rc;
}

static void complain(const char *what)
{
    if (!world.bad)
        world.bad = what;
}

static void when(char out[32])
{
    time_t    t = (time_t)(bkt_cred_now() + world.lives);
    struct tm tm;
    (void)gmtime_r(&t, &tm);
    (void)strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static void give(struct answer *a, const char *text)
{
    a->owned = strdup(text);
    a->body  = a->owned;
    a->len   = strlen(text);
}

static void give_json(struct answer *a, const char *kind)
{
    char text[512], end[32];
    when(end);
    (void)snprintf(text, sizeof text,
                   "{\"Code\":\"Success\",\"Type\":\"AWS-HMAC\",\"AccessKeyId\":\"%s%u\",\"SecretAccessKey\":\"secret\","
                   "\"Token\":\"token\",\"Expiration\":\"%s\"}",
                   kind, ++world.serial, end);
    give(a, text);
}

static void give_sts(struct answer *a, const char *action)
{
    char text[900], end[32];
    when(end);
    (void)snprintf(text, sizeof text,
                   "<%sResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><%sResult><AssumedRoleUser><Arn>x</Arn>"
                   "<AccessKeyId>wrong</AccessKeyId></AssumedRoleUser><Credentials><AccessKeyId>STS%u</AccessKeyId>"
                   "<SecretAccessKey>s&#47;e</SecretAccessKey><SessionToken>tok+en==</SessionToken>"
                   "<Expiration>%s</Expiration></Credentials></%sResult></%sResponse>",
                   action, action, ++world.serial, end, action, action);
    give(a, text);
}

/* AssumeRole must come signed with "secret-of-KEY"; sign it again and compare. */
static void check_signature(const struct seen *req)
{
    char                   id[64] = "", secret[80], hash[BKT_SHA256_HEX], host[64], date[20], authorization[512], token[64];
    struct bkt_sign_pair   type = {"content-type", "application/x-www-form-urlencoded"};
    struct bkt_sign_output out  = {0};
    struct tm              tm   = {0};
    (void)snprintf(authorization, sizeof authorization, "%s", seen_header(req, "Authorization"));
    (void)snprintf(date, sizeof date, "%s", seen_header(req, "X-Amz-Date"));
    (void)snprintf(token, sizeof token, "%s", seen_header(req, "X-Amz-Security-Token"));
    (void)snprintf(host, sizeof host, "%s", seen_header(req, "Host"));
    if (sscanf(authorization, "AWS4-HMAC-SHA256 Credential=%63[^/]", id) != 1 || !strptime(date, "%Y%m%dT%H%M%SZ", &tm)) {
        complain("AssumeRole is not signed");
        return;
    }
    (void)snprintf(secret, sizeof secret, strncmp(id, "STS", 3) == 0 ? "s/e" : strncmp(id, "ECS", 3) == 0 ? "secret" : "secret-of-%s", id);
    struct bkt_creds      creds = {.access_key = id, .secret_key = secret, .session_token = *token ? token : NULL};
    struct bkt_sign_input in    = {.method = "POST", .host = host, .path = req->target, .headers = &type, .n_headers = 1,
                                   .payload_hash = hash, .now = timegm(&tm), .region = "eu-north-1", .service = "sts",
                                   .creds = &creds, .no_sha256 = true};
    if (bkt_sha256_hex(req->body, req->body_len, hash) < 0 || bkt_sign(&in, NULL, &out, NULL) < 0 ||
        strcmp(bkt_buf_str(&out.authorization), authorization) != 0)
        complain("AssumeRole's signature is wrong");
    bkt_sign_output_fini(&out);
}

static char form[4096]; /* the last one that STS got */

static void play_sts(const struct seen *req, struct answer *a)
{
    size_t n = req->body_len < sizeof form - 1 ? req->body_len : sizeof form - 1;
    memcpy(form, req->body, n);
    form[n]  = 0;
    bool web = strstr(form, "Action=AssumeRoleWithWebIdentity") != NULL;
    if (!strstr(form, "Version=2011-06-15"))
        complain("STS: no Version");
    if (web && *seen_header(req, "Authorization"))
        complain("web identity must not be signed");
    if (!web)
        check_signature(req);
    give_sts(a, web ? "AssumeRoleWithWebIdentity" : "AssumeRole");
}

static void play_imds(const struct seen *req, struct answer *a)
{
    static const char roles[] = "/latest/meta-data/iam/security-credentials/";
    if (strcmp(req->method, "PUT") == 0) {
        if (strcmp(req->target, "/latest/api/token") != 0 || !*seen_header(req, "X-aws-ec2-metadata-token-ttl-seconds"))
            complain("IMDS: not how a token is asked for");
        if (world.no_token)
            a->status = 403;
        give(a, "IMDS-TOKEN");
        return;
    }
    if (strcmp(seen_header(req, "X-aws-ec2-metadata-token"), "IMDS-TOKEN") != 0)
        a->status = 401;
    else if (world.no_role)
        a->status = 404;
    else if (strcmp(req->target, roles) == 0)
        give(a, "my-role\n");
    else if (strncmp(req->target, roles, sizeof roles - 1) == 0 && strcmp(req->target + sizeof roles - 1, "my-role") == 0)
        give_json(a, "IMDS");
    else
        a->status = 404;
}

static pthread_mutex_t playing = PTHREAD_MUTEX_INITIALIZER;

/* The server is not in the middle of a request that we gave up: the world can be changed. */
static void world_settle(void)
{
    (void)pthread_mutex_lock(&playing);
    (void)pthread_mutex_unlock(&playing);
}

static atomic_bool world_holds; /* its answers, until this is false */

static bool held_back(const struct seen *req, void *arg)
{
    (void)req, (void)arg;
    return atomic_load(&world_holds);
}

static void play_it(const struct seen *req, struct answer *a)
{
    a->hold = held_back;
    if (world.fail_first) {
        world.fail_first--;
        a->status = world.fail_status ? world.fail_status : 503;
    } else if (world.status || world.body) {
        a->status = world.status ? world.status : 200;
        if (world.body)
            give(a, world.body);
        if (a->status / 100 == 3) /* to a target that would answer 404; it must not be followed */
            world.status = 0, world.body = NULL, a->headers = "Location: /elsewhere\r\n";
    } else if (strncmp(req->target, "/latest/", 8) == 0) {
        play_imds(req, a);
    } else if (strcmp(req->method, "POST") == 0) {
        play_sts(req, a);
    } else if (strncmp(req->target, "/ecs", 4) == 0) {
        if (world.want_authorization && strcmp(seen_header(req, "Authorization"), world.want_authorization) != 0)
            a->status = 401;
        else
            give_json(a, "ECS");
    } else {
        a->status = 404;
    }
    if (world.cut) {
        a->cut   = world.cut < a->len ? world.cut : a->len;
        a->after = CLOSE;
    }
}

static void play(const struct seen *req, struct answer *a, void *arg)
{
    (void)arg;
    (void)pthread_mutex_lock(&playing);
    play_it(req, a);
    (void)pthread_mutex_unlock(&playing);
}

static const char *const variables[] = {
#define X(name) #name,
    BKT_CRED_ENV(X)
#undef X
    "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CA_BUNDLE", "http_proxy", "XDG_CONFIG_HOME", "H5BUCKET_CONFIG",
};

/* The server goes on; everything else is reset. */
static void world_reset(void)
{
    bkt_cred_shutdown();
    for (size_t i = 0; i < BKT_COUNT(variables); i++)
        (void)unsetenv(variables[i]);
    (void)setenv("HOME", world.home, 1);
    (void)setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    world_settle();
    struct server *s = world.server;
    char           home[sizeof world.home];
    memcpy(home, world.home, sizeof home);
    memset(&world, 0, sizeof world);
    memcpy(world.home, home, sizeof home);
    world.server = s;
    world.lives  = 3600;
    atomic_store(&world_holds, false);
    atomic_store(&impatient, false);
    atomic_store(&bkt_cred_clock_shift, 0);
    server_reset(s);
}

static const char *const files[] = {"config", "credentials", "token", "auth", "tool"};

static void path_of(const char *name, char out[128])
{
    (void)snprintf(out, 128, "%s/.aws/%s", world.home, name);
}

static void write_file(const char *name, const char *text)
{
    char path[128];
    path_of(name, path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static int world_clean(void **state)
{
    char path[128];
    (void)state;
    for (size_t i = 0; i < BKT_COUNT(files); i++) {
        path_of(files[i], path);
        (void)unlink(path);
    }
    world_reset();
    return 0;
}

static int world_begin(void **state)
{
    char        path[128];
    const char *tmp = getenv("TMPDIR");
    (void)state;
    (void)snprintf(world.home, sizeof world.home, "%.40s/bkt-cred-XXXXXX", tmp && *tmp && strlen(tmp) < 40 ? tmp : "/tmp");
    if (!mkdtemp(world.home))
        return -1;
    path_of("", path);
    world.server = server_start(play, NULL);
    return mkdir(path, 0700) < 0 || !world.server ? -1 : world_clean(NULL);
}

static int world_end(void **state)
{
    char path[128];
    (void)state;
    (void)world_clean(NULL);
    server_stop(world.server);
    path_of("", path);
    return rmdir(path) < 0 || rmdir(world.home) < 0 ? -1 : 0;
}

/* A provider; @p info are settings or NULL. */
static inline struct bkt_cred *provider(const char *info)
{
    struct bkt_settings set;
    struct bkt_cred    *p   = NULL;
    struct bkt_err      err = {0};
    assert_int_equal(bkt_settings_init(&set, info, &err), BKT_OK);
    assert_int_equal(bkt_cred_open(&set, &p, &err), BKT_OK);
    bkt_settings_fini(&set);
    return p;
}

/* ---- waiting for credentials ---- */

struct cred_wait {
    pthread_mutex_t lock;
    pthread_cond_t  wake;
    bool            over;
    int             rc;
    struct bkt_err *err; /* gets the failure's */
};

static void cred_came(void *arg, int rc, const struct bkt_err *err)
{
    struct cred_wait *w = arg;
    (void)pthread_mutex_lock(&w->lock);
    w->over = true;
    w->rc   = rc < 0 ? bkt_err_copy(w->err, rc, err) : rc;
    (void)pthread_cond_signal(&w->wake);
    (void)pthread_mutex_unlock(&w->lock);
}

/* As bkt_cred_peek(), but waits for the credentials. */
static inline int cred_get(struct bkt_cred *p, const struct bkt_creds **out, struct bkt_err *err)
{
    struct cred_wait w  = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER, .err = err};
    int              rc = bkt_cred_peek(p, out, err);
    if (rc != BKT_CRED_LATER)
        return rc;
    bkt_cred_want(p, cred_came, &w);
    (void)pthread_mutex_lock(&w.lock);
    while (!w.over)
        (void)pthread_cond_wait(&w.wake, &w.lock);
    (void)pthread_mutex_unlock(&w.lock);
    return w.rc < 0 ? w.rc : bkt_cred_peek(p, out, err);
}

#endif
