/* libcurl makes an OpenSSL context for each connection, and parses the certificates for each, too.  Its cache
 * is not used when a directory of certificates is set, as in Debian's build, and belongs to one thread.  So
 * libcurl's callback for contexts gives the context this library's store of certificates.  Sessions are kept
 * here as well: since 8.12 libcurl uses each of them once, which leaves most of 64 connections without one.
 *
 * libcurl compares CURLOPT_CAPATH when it looks for a kept connection.  That option gets a name here that
 * stands for the store and its version.  So a connection made under other certificates is never used, and no
 * certificate is read from that path. */
#include "storage/http/tls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include "base/os/clock.h"
#include "base/os/thread.h"
#include "storage/http/ca_file.h"
#include "storage/http/engine.h"

#define LOOK_MS 1000 /* between two looks at a file; a replaced file is noticed after this time */

/* The file and directory that were parsed; all bytes count, and the members have no bytes between them. */
struct stamp {
    struct {
        dev_t dev;
        ino_t ino;
        off_t size;
        struct timespec changed;
    } at[2];
};

/* One origin; lives as long as its trust. */
struct peer {
    struct peer *next;
    struct trust *trust;
    SSL_SESSION *session; /* the newest; NULL: none */
    char origin[];
};

/* Owned by its connection and by its other holders. */
struct bkt_tls_end {
    atomic_uint owners;
    atomic_bool notified;
};

/* Certificates from one place; lives until the shutdown. */
struct trust {
    struct trust *next;
    X509_STORE *store; /* NULL: the certificates cannot be parsed */
    struct stamp stamp;
    uint64_t look_at; /* time of the next check, bkt_ms_now() */
    unsigned version; /* of the certificates, from 1 */
    struct peer *peers;
    char *ca_bundle; /* NULL: the system's */
};

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards the lists, their entries, and the indices */
static struct trust *trusts;
static struct trust *abandoned;           /* in a forked child, those of the parent: kept reachable, never
                                             touched */
static int peer_at = -1, version_at = -1; /* indices of this library's data in a context */
static int end_at = -1;                   /* index of its data in a connection */
static _Atomic uint64_t n_parsed, n_handshakes, n_resumed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool same_openssl;
static const char *system_file, *system_dir;

/* ---- libcurl ---- */

/* libcurl's text lists backends; those in parentheses are not in use: "OpenSSL/3.0.17 (GnuTLS/3.7.9)". */
static bool uses_our_openssl(const char *backends)
{
    char ours[64];
    (void)snprintf(ours, sizeof ours, "OpenSSL/%s", OpenSSL_version(OPENSSL_VERSION_STRING));
    size_t n = strlen(ours);
    return backends && strncmp(backends, ours, n) == 0 && (backends[n] == 0 || backends[n] == ' ');
}

static void drop_end(void *parent, void *end, CRYPTO_EX_DATA *data, int index, long argl, void *argp)
{
    (void)parent, (void)data, (void)index, (void)argl, (void)argp;
    bkt_tls_end_drop(end);
}

/* OpenSSL calls drop_end() for every connection of the process, also when this library has been unloaded. */
__attribute__((destructor)) static void forget_ends(void)
{
    if (end_at >= 0)
        (void)CRYPTO_free_ex_index(CRYPTO_EX_INDEX_SSL, end_at);
}

/* Certificates of Fedora and Red Hat, SUSE, Alpine.  A libcurl in a Python wheel was built on another
 * distribution, and names a file of that distribution. */
static const char *const files_elsewhere[] = {
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
};

static void look_elsewhere(void)
{
    /* a directory beside a missing file may be there without the names of hashes that OpenSSL looks for */
    if (system_file ? access(system_file, R_OK) == 0 : system_dir && access(system_dir, X_OK) == 0)
        return;
    for (size_t i = 0; i < BKT_COUNT(files_elsewhere); i++)
        if (access(files_elsewhere[i], R_OK) == 0) {
            system_file = files_elsewhere[i];
            system_dir = NULL;
            return;
        }
}

static void look_at_libcurl(void)
{
    bkt_engine_curl_init();
    const curl_version_info_data *v = curl_version_info(CURLVERSION_NOW);
    if (v->age >= CURLVERSION_SEVENTH) {
        system_file = v->cainfo;
        system_dir = v->capath;
    }
    look_elsewhere();
    peer_at = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    version_at = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
    end_at = SSL_get_ex_new_index(0, NULL, NULL, NULL, drop_end);
    same_openssl = uses_our_openssl(v->ssl_version) && peer_at >= 0 && version_at >= 0 && end_at >= 0;
}

bool bkt_tls_is_https(const char *url)
{
    return strncasecmp(url, "https:", 6) == 0;
}

/* The length of "https://host:port" of a URL, in bytes. */
static size_t origin_length(const char *url)
{
    const char *host = strstr(url, "://");
    return host ? (size_t)(host - url) + 3 + strcspn(host + 3, "/?#") : strlen(url);
}

/* ---- certificates ---- */

static void stamp_one(struct stamp *s, size_t i, const char *path)
{
    struct stat st;
    if (!path || stat(path, &st) < 0)
        return;
    s->at[i].dev = st.st_dev;
    s->at[i].ino = st.st_ino;
    s->at[i].size = st.st_size;
    s->at[i].changed = st.st_mtim;
}

static X509_STORE *parse(const char *file, const char *dir)
{
    X509_STORE *store = X509_STORE_new();
    atomic_fetch_add(&n_parsed, 1);
    (void)ERR_set_mark(); /* libcurl uses the thread's queue of errors, too */
    bool ok = store && (file || dir) && (!file || bkt_ca_file_add(store, file)) &&
              (!dir || X509_STORE_load_locations(store, NULL, dir) == 1);
    /* as in libcurl: an authority in the middle of a chain is trusted as well, if it is in the file */
    ok = ok && X509_STORE_set_flags(store, X509_V_FLAG_TRUSTED_FIRST | X509_V_FLAG_PARTIAL_CHAIN) == 1;
    (void)ERR_pop_to_mark();
    if (ok)
        return store;
    X509_STORE_free(store);
    return NULL;
}

static void forget_sessions(struct trust *t)
{
    for (struct peer *p = t->peers; p; p = p->next) {
        SSL_SESSION_free(p->session);
        p->session = NULL;
    }
}

/* Lock held. */
static void refresh(struct trust *t)
{
    struct stamp now = {0};
    const char *file = t->ca_bundle ? t->ca_bundle : system_file, *dir = t->ca_bundle ? NULL : system_dir;
    uint64_t ms = bkt_ms_now();
    if (t->version && ms < t->look_at)
        return;
    t->look_at = ms + LOOK_MS;
    stamp_one(&now, 0, file);
    stamp_one(&now, 1, dir);
    if (t->version && memcmp(&now, &t->stamp, sizeof now) == 0)
        return;
    X509_STORE_free(t->store);
    forget_sessions(t);
    t->stamp = now;
    t->store = parse(file, dir);
    t->version++;
}

/* Lock held.  NULL: out of memory. */
static struct trust *trust_of(const char *ca_bundle)
{
    for (struct trust *t = trusts; t; t = t->next)
        if (ca_bundle ? t->ca_bundle && strcmp(t->ca_bundle, ca_bundle) == 0 : !t->ca_bundle)
            return t;
    struct trust *t = calloc(1, sizeof *t);
    if (t && ca_bundle && !(t->ca_bundle = strdup(ca_bundle))) {
        free(t);
        return NULL;
    }
    if (t) {
        t->next = trusts;
        trusts = t;
    }
    return t;
}

/* Lock held.  NULL: out of memory. */
static struct peer *peer_of(struct trust *t, const char *url)
{
    size_t n = origin_length(url);
    for (struct peer *p = t->peers; p; p = p->next)
        if (strncmp(p->origin, url, n) == 0 && !p->origin[n])
            return p;
    struct peer *p = calloc(1, sizeof *p + n + 1);
    if (!p)
        return NULL;
    memcpy(p->origin, url, n);
    p->trust = t;
    p->next = t->peers;
    t->peers = p;
    return p;
}

/* ---- sessions ---- */

static unsigned version_of(const SSL_CTX *ctx)
{
    return (unsigned)(uintptr_t)SSL_CTX_get_ex_data(ctx, version_at);
}

/* A server has sent a ticket.  Returning 1 keeps the reference. */
static int on_new_session(SSL *ssl, SSL_SESSION *session)
{
    const SSL_CTX *ctx = SSL_get_SSL_CTX(ssl);
    struct peer *p = SSL_CTX_get_ex_data(ctx, peer_at);
    BKT_HOLD(&lock);
    bool current = p->trust->version == version_of(ctx);
    if (current) {
        SSL_SESSION_free(p->session);
        p->session = session;
    }
    return current;
}

/* Resume a session at the last moment before a handshake.  So a connection that was opened beside others uses
 * the session of the first that is ready.  The session is copied, as the connection changes it. */
static void resume(SSL *ssl)
{
    const SSL_CTX *ctx = SSL_get_SSL_CTX(ssl);
    struct peer *p = SSL_CTX_get_ex_data(ctx, peer_at);
    SSL_SESSION *copy = NULL;
    (void)pthread_mutex_lock(&lock);
    if (p->session && p->trust->version == version_of(ctx) && SSL_SESSION_is_resumable(p->session))
        copy = SSL_SESSION_dup(p->session);
    (void)pthread_mutex_unlock(&lock);
    if (copy)
        (void)SSL_set_session(ssl, copy);
    SSL_SESSION_free(copy);
}

/* Attach an end to the connection.  Without memory it has no end, and never counts as well ended. */
static void add_end(SSL *ssl)
{
    struct bkt_tls_end *end = SSL_get_ex_data(ssl, end_at) ? NULL : calloc(1, sizeof *end);
    if (!end)
        return;
    atomic_init(&end->owners, 1);
    if (SSL_set_ex_data(ssl, end_at, end) != 1)
        free(end);
}

static void on_event(const SSL *ssl, int where, int ret)
{
    struct bkt_tls_end *end = SSL_get_ex_data(ssl, end_at);
    if (where == SSL_CB_READ_ALERT && end && (ret & 0xff) == SSL_AD_CLOSE_NOTIFY)
        atomic_store(&end->notified, true);
    if (where & SSL_CB_HANDSHAKE_START)
        add_end((SSL *)(uintptr_t)ssl);
    if (where & SSL_CB_HANDSHAKE_START && !SSL_is_init_finished(ssl) && !SSL_get_session(ssl))
        resume((SSL *)(uintptr_t)ssl); /* OpenSSL passes it as const; it is the connection's own */
    if (where & SSL_CB_HANDSHAKE_DONE) {
        atomic_fetch_add(&n_handshakes, 1);
        atomic_fetch_add(&n_resumed, (uint64_t)(SSL_session_reused(ssl) == 1));
    }
}

/* Set up the context of a new connection; no other connection uses it. */
static CURLcode on_context(CURL *easy, void *context, void *arg)
{
    SSL_CTX *ctx = context;
    struct peer *p = arg;
    X509_STORE *store = NULL;
    (void)easy;
    (void)pthread_mutex_lock(&lock);
    unsigned version = p->trust->version;
    if (p->trust->store && X509_STORE_up_ref(p->trust->store) == 1)
        store = p->trust->store;
    (void)pthread_mutex_unlock(&lock);
    if (!store) /* the file existed a moment ago */
        return CURLE_SSL_CACERT_BADFILE;
    SSL_CTX_set_cert_store(ctx, store); /* takes the reference */
    if (SSL_CTX_set_ex_data(ctx, peer_at, p) != 1 ||
        SSL_CTX_set_ex_data(ctx, version_at, (void *)(uintptr_t)version) != 1)
        return CURLE_OUT_OF_MEMORY;
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx, on_new_session);
    SSL_CTX_set_info_callback(ctx, on_event);
    return CURLE_OK;
}

/* ---- interface ---- */

#define SET(option, value) (curl_easy_setopt(easy, CURLOPT_##option, (value)) != CURLE_OUT_OF_MEMORY)

/* Use this library's store and sessions.  A TLS proxy has no separate CAs: its context comes from
 * on_context(), too. */
static bool set_ours(CURL *easy, struct peer *p, const char *name)
{
    return SET(CAINFO, NULL) && SET(CAPATH, name) && SET(PROXY_CAINFO, NULL) && SET(PROXY_CAPATH, name) &&
           SET(SSL_SESSIONID_CACHE, 0L) && SET(SSL_CTX_FUNCTION, on_context) && SET(SSL_CTX_DATA, p);
}

static bool set_libcurls(CURL *easy, const char *ca_bundle)
{
    return !ca_bundle || (SET(CAINFO, ca_bundle) && SET(CAPATH, NULL) && SET(PROXY_CAINFO, ca_bundle) &&
                          SET(PROXY_CAPATH, NULL));
}

#undef SET

bool bkt_tls_options(void *easy, const char *ca_bundle, const char *url)
{
    char name[300];
    struct peer *p = NULL;
    (void)pthread_once(&once, look_at_libcurl);
    if (ca_bundle && !*ca_bundle)
        ca_bundle = NULL;
    if (!bkt_tls_is_https(url) || !same_openssl)
        return set_libcurls(easy, ca_bundle);
    (void)pthread_mutex_lock(&lock);
    struct trust *t = trust_of(ca_bundle);
    if (t)
        refresh(t);
    bool usable = t && t->store;
    if (usable && (p = peer_of(t, url)))
        (void)snprintf(name, sizeof name, "/dev/null/%u/%p", t->version, (void *)t);
    (void)pthread_mutex_unlock(&lock);
    if (t && !usable) /* libcurl reports the error in the file */
        return set_libcurls(easy, ca_bundle);
    return p && set_ours(easy, p, name);
}

void bkt_tls_failed(const char *ca_bundle, const char *url)
{
    if (!bkt_tls_is_https(url))
        return;
    BKT_HOLD(&lock);
    struct trust *t = trust_of(ca_bundle && *ca_bundle ? ca_bundle : NULL);
    struct peer *p = t ? peer_of(t, url) : NULL;
    if (p) {
        SSL_SESSION_free(p->session);
        p->session = NULL;
    }
}

struct bkt_tls_end *bkt_tls_end_of(void *easy)
{
    static struct bkt_tls_end unknown = {.owners = 1}; /* used if there was no memory for an end */
    struct curl_tlssessioninfo *tls = NULL;
    if (!same_openssl || curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &tls) != CURLE_OK || !tls ||
        tls->backend != CURLSSLBACKEND_OPENSSL || !tls->internals)
        return NULL;
    struct bkt_tls_end *end = SSL_get_ex_data(tls->internals, end_at);
    if (!end)
        end = &unknown;
    atomic_fetch_add(&end->owners, 1);
    return end;
}

bool bkt_tls_ended_well(const struct bkt_tls_end *end)
{
    return atomic_load(&end->notified);
}

void bkt_tls_end_drop(struct bkt_tls_end *end)
{
    if (end && atomic_fetch_sub(&end->owners, 1) == 1)
        free(end);
}

void bkt_tls_count(struct bkt_tls_counts *out)
{
    *out = (struct bkt_tls_counts){atomic_load(&n_parsed), bkt_ca_file_parsed(), atomic_load(&n_handshakes),
                                   atomic_load(&n_resumed)};
}

void bkt_tls_shutdown(void)
{
    (void)pthread_mutex_lock(&lock);
    struct trust *t = BKT_TAKE(trusts);
    (void)pthread_mutex_unlock(&lock);
    for (struct trust *next; t; t = next) {
        next = t->next;
        forget_sessions(t);
        for (struct peer *p = t->peers, *after; p; p = after) {
            after = p->next;
            free(p);
        }
        X509_STORE_free(t->store);
        free(t->ca_bundle);
        free(t);
    }
    bkt_ca_file_shutdown();
}

void bkt_tls_after_fork_child(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    abandoned = BKT_TAKE(trusts);
}
