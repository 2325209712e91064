/* TLS: the trusted certificates, how often they are parsed, which connections resume a session.  A
 * certificate that isn't trusted is refused, without a second try, by the engine and by the client for
 * credentials.  The server is the scripted one behind TLS; the program openssl makes the certificates.
 *
 * If the system lets a process have its own mounts, its folder of certificates is ours while the test
 * runs. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>

#include "helpers/store_testing.h"
#include "storage/aws/cred/cred_impl.h"
#include "http/helpers/server.h"
#include "storage/http/tls.h"
#include "http/helpers/tls_front.h"
#include "http/helpers/tls_races.h"
#include "helpers/own_mounts.h"

#define TEXT  "over TLS\n"
#define BURST 32

static char dir[] = "/tmp/bkt-tls-XXXXXX";
static atomic_bool together; /* answers wait for BURST requests */

static int shell(const char *text)
{
    char cmd[4000];
    (void)snprintf(cmd, sizeof cmd, "cd %s && { %s; } >log 2>&1", dir, text);
    return system(cmd);
}

/* ---- certificates ---- */

/* our: the CA that signs good and expired; other: an unrelated CA; self: signed by itself.  "mixed": both
 * CAs.  twin: another CA with the name of our.  "marked": our with OpenSSL's trust settings; "denied": our
 * with settings that refuse all servers. */
static const char make[] =
    "new='openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'\n"
    "for ca in our other; do $new -x509 -days 2 -subj /CN=$ca -keyout $ca.key -out $ca.pem || exit 1; done\n"
    "$new -x509 -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout self.key -out "
    "self.pem || exit 1\n"
    "echo subjectAltName=DNS:localhost >names\n"
    "sign() { $new -subj /CN=localhost -keyout $1.key -out $1.csr &&\n"
    "  openssl x509 -req -in $1.csr -CA our.pem -CAkey our.key -CAcreateserial $2 -extfile names -out $1.pem; }\n"
    /* OpenSSL 3.4 refuses negative days; the versions before have no -not_after */
    "past='-not_before 20240101000000Z -not_after 20240102000000Z'\n"
    "sign good '-days 2' && { sign expired '-days -1' || sign expired \"$past\"; } &&\n"
    "cat other.pem our.pem >mixed.pem && cp our.pem live.pem || exit 1\n"
    "$new -x509 -days 2 -subj /CN=our -keyout twin.key -out twin.pem && cat twin.pem our.pem >twins.pem &&\n"
    "openssl x509 -in our.pem -trustout -addtrust serverAuth -out marked.pem &&\n"
    "openssl x509 -in our.pem -trustout -addreject serverAuth -out denied.pem &&\n"
    "cat other.pem our.key our.pem >keyed.pem && { echo a comment; sed 's/$/\\r/' mixed.pem; } >lines.pem &&\n"
    "{ cat our.pem; sed -n 1,4p other.pem; } >torn.pem &&\n"
    "{ cat our.pem; echo '-----BEGIN CERTIFICATE-----'; echo bm90IGEgY2VydGlmaWNhdGU=;\n"
    "  echo '-----END CERTIFICATE-----'; } >damaged.pem";

static const char *file(const char *name)
{
    static char path[4][200];
    static int i;
    char *p = path[i++ % 4];
    (void)snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

/* The system's folder holds our.pem, its file other.pem only. */
static bool own_system(void)
{
    const curl_version_info_data *v = curl_version_info(CURLVERSION_NOW);
    size_t n = v->capath ? strlen(v->capath) : 0;
    bool both = n && v->cainfo && strncmp(v->cainfo, v->capath, n) == 0 && v->cainfo[n] == '/' &&
                !strchr(v->cainfo + n + 1, '/');
    char text[300];
    if (!both || !own_mounts())
        return false;
    (void)snprintf(text, sizeof text,
                   "mkdir system && cp our.pem system && openssl rehash system && cp other.pem 'system/%s'",
                   v->cainfo + n + 1);
    return shell(text) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount(file("system"), v->capath, NULL, MS_BIND, NULL) == 0;
}

/* ---- requests ---- */

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    (void)arg;
    answer_object(r, a, TEXT, strlen(TEXT), "\"e\"");
    a->until = atomic_load(&together) ? r->index / BURST * BURST + BURST : 0;
}

static struct bkt_store *open_front(const struct tls_front *f, const char *host, const char *ca)
{
    char uri[100], set[300];
    (void)snprintf(uri, sizeof uri, "https://%s:%u", host, tls_front_port(f));
    (void)snprintf(set, sizeof set, "test.io_threads=4;retries=3;test.hedge=0%s%s", ca ? ";ca_bundle=" : "",
                   ca ? ca : "");
    return open_store(uri, set);
}

static int get(struct bkt_store *st, struct bkt_err *err)
{
    struct bkt_buf out = {0};
    int rc = bkt_store_get(st, "file", 0, BKT_WHOLE, &out, err);
    CHECK(rc < 0 || strcmp(bkt_buf_str(&out), TEXT) == 0, "'%s'", bkt_buf_str(&out));
    bkt_buf_fini(&out);
    return rc;
}

/* The same by the client for credentials. */
static int get_cred(const struct tls_front *f, const char *host, const char *ca, struct bkt_err *err)
{
    struct bkt_cred_place place = {.ca_bundle = ca ? strdup(ca) : NULL};
    struct bkt_buf body = {0};
    char url[100];
    long status;
    (void)snprintf(url, sizeof url, "https://%s:%u/file", host, tls_front_port(f));
    struct bkt_cred_http req = {
        .method = "GET", .url = url, .timeout_ms = 10000, .connect_ms = 10000, .tries = 1};
    int rc = bkt_cred_http(&place, &req, &status, &body, err);
    CHECK(rc < 0 || (status == 200 && strcmp(bkt_buf_str(&body), TEXT) == 0), "HTTP %ld '%s'", status,
          bkt_buf_str(&body));
    bkt_secret_fini(&body);
    free(place.ca_bundle);
    return rc;
}

/* @p says NULL: the certificate is accepted; else words of both clients' messages. */
static void check(const char *what, const struct tls_front *f, const char *host, const char *ca,
                  const char *says)
{
    struct bkt_store *st = open_front(f, host, ca);
    struct bkt_err err = {0}, cred = {0};
    int want = says ? BKT_ENET : BKT_OK;
    (void)stats_since();
    int rc = get(st, &err);
    CHECK(rc == want, "%s: %s (%s)", what, bkt_err_text(rc), first_line(&err));
    CHECK(!says || (strstr(first_line(&err), says) && strstr(first_line(&err), "ca_bundle")), "%s: %s", what,
          first_line(&err));
    CHECK(stats_since().attempts == 1, "%s: not one attempt", what);
    rc = get_cred(f, host, ca, &cred);
    CHECK(rc == want, "%s, for credentials: %s (%s)", what, bkt_err_text(rc), first_line(&cred));
    CHECK(!says || strstr(first_line(&cred), says), "%s, for credentials: %s", what, first_line(&cred));
    bkt_store_close(st);
}

static void burst(struct bkt_store *st, unsigned n)
{
    struct bkt_req *r = calloc(n, sizeof *r);
    char to[BURST][sizeof TEXT];
    struct bkt_err err = {0};
    for (unsigned i = 0; i < n; i++)
        r[i] = (struct bkt_req){.op = BKT_GET, .key = "file", .len = strlen(TEXT), .dst = to[i]};
    CHECK(bkt_store_perform(st, r, n, &err) == BKT_OK, "%u requests: %s", n, first_line(&err));
    for (unsigned i = 0; i < n; i++)
        bkt_req_fini(&r[i]);
    free(r);
}

/* ---- tests ---- */

static void test_refused(struct server *s)
{
    struct tls_front *good = tls_front_start(file("good.pem"), file("good.key"), 3, server_port(s));
    struct tls_front *old = tls_front_start(file("expired.pem"), file("expired.key"), 3, server_port(s));
    struct tls_front *self = tls_front_start(file("self.pem"), file("self.key"), 3, server_port(s));
    if (!good || !old || !self)
        exit(1);
    check("who signed it is trusted", good, "localhost", file("our.pem"), NULL);
    check("it is one of two", good, "localhost", file("mixed.pem"), NULL);
    check("it is one of two with that name", good, "localhost", file("twins.pem"), NULL);
    check("only another one with that name", good, "localhost", file("twin.pem"), "certificate");
    check("with trust settings", good, "localhost", file("marked.pem"), NULL);
    check("trust settings deny it", good, "localhost", file("denied.pem"), "certificate");
    check("beside a key", good, "localhost", file("keyed.pem"), NULL);
    check("other ends of lines, and a comment", good, "localhost", file("lines.pem"), NULL);
    check("the file's end is missing", good, "localhost", file("torn.pem"), "certificate");
    check("something else is in the file", good, "localhost", file("damaged.pem"), "certificate");
    check("the certificate itself is trusted", self, "localhost", file("self.pem"), NULL);
    check("for another host", good, "127.0.0.1", file("our.pem"), "127.0.0.1");
    check("expired", old, "localhost", file("our.pem"), "expired");
    check("signed by itself", self, "localhost", file("our.pem"), "self");
    check("untrusted", good, "localhost", file("other.pem"), "certificate");
    check("no such file of CAs", good, "localhost", "/nonexistent/ca.pem", "certificate");
    check("a file without a CA", good, "localhost", file("good.key"), "certificate");
    check("trusted all the same", good, "localhost", file("our.pem"), NULL);
    tls_front_stop(good);
    tls_front_stop(old);
    tls_front_stop(self);
}

/* Without a ca_bundle both the system's file and its folder count; with one neither does. */
static void test_system(struct server *s, bool own)
{
    struct tls_front *f = tls_front_start(file("good.pem"), file("good.key"), 3, server_port(s));
    if (!f)
        exit(1);
    if (own) {
        check("in the system's folder", f, "localhost", NULL, NULL);
        check("in the system's folder, but another file is named", f, "localhost", file("other.pem"),
              "certificate");
    } else {
        (void)printf("no mounts of its own here: the system's folder of certificates is not tested\n");
        check("unknown to the system", f, "localhost", NULL, "certificate");
    }
    tls_front_stop(f);
}

static const char *const names[] = {"CURL_CA_BUNDLE", "SSL_CERT_FILE", "AWS_CA_BUNDLE"};

/* However many connections there are, and whatever other variables have. */
static void test_parsed_once(struct server *s, bool own)
{
    struct tls_front *f = tls_front_start(file("good.pem"), file("good.key"), 3, server_port(s));
    struct bkt_tls_counts a, b;
    struct bkt_err err = {0};
    if (!f)
        exit(1);
    bkt_store_shutdown(); /* what others parsed */
    bkt_tls_count(&a);
    (void)setenv("SSL_CERT_DIR", dir, 1);
    for (size_t i = 0; i < BKT_COUNT(names); i++) {
        (void)setenv(names[i], file("mixed.pem"), 1);
        struct bkt_store *st = open_front(f, "localhost", NULL);
        CHECK(get(st, &err) == BKT_OK, "%s: %s", names[i], first_line(&err));
        atomic_store(&together, true);
        server_reset(s);
        burst(st, BURST);
        atomic_store(&together, false);
        CHECK(get_cred(f, "localhost", file("mixed.pem"), &err) == BKT_OK, "%s: %s", names[i],
              first_line(&err));
        bkt_store_close(st);
        (void)unsetenv(names[i]);
    }
    bkt_tls_count(&b);
    CHECK(b.parsed - a.parsed == 1, "parsed %u times", (unsigned)(b.parsed - a.parsed));
    CHECK(b.certificates - a.certificates == 1, "%u of two certificates were parsed",
          (unsigned)(b.certificates - a.certificates));
    for (int i = 0; own && i < 3; i++)
        CHECK(get_cred(f, "localhost", NULL, &err) == BKT_OK, "by the system: %s", first_line(&err));
    bkt_tls_count(&a);
    CHECK(a.parsed - b.parsed == own, "the system's: parsed %u times", (unsigned)(a.parsed - b.parsed));
    (void)unsetenv("SSL_CERT_DIR");
    tls_front_stop(f);
}

/* The file is another one: a certificate that it no longer has isn't trusted, not even on a kept connection,
 * or in a session. */
static void test_changed(struct server *s)
{
    struct tls_front *f = tls_front_start(file("good.pem"), file("good.key"), 3, server_port(s));
    struct bkt_store *st = f ? open_front(f, "localhost", file("live.pem")) : NULL;
    struct bkt_err err = {0};
    struct bkt_tls_counts a, b;
    unsigned resumed;
    if (!f)
        exit(1);
    bkt_tls_count(&a);
    CHECK(get(st, &err) == BKT_OK, "before: %s", first_line(&err));
    CHECK(shell("cp other.pem new.pem && mv new.pem live.pem") == 0, "cp");
    (void)usleep(1100000);
    CHECK(get(st, &err) == BKT_ENET, "it isn't in the file any more");
    CHECK(shell("cp our.pem new.pem && mv new.pem live.pem") == 0, "cp");
    (void)usleep(1100000);
    bkt_err_clear(&err);
    (void)tls_front_handshakes(f, &resumed);
    CHECK(get(st, &err) == BKT_OK, "it is back: %s", first_line(&err));
    (void)tls_front_handshakes(f, &resumed);
    CHECK(resumed == 0, "a session from before was resumed");
    bkt_tls_count(&b);
    CHECK(b.parsed - a.parsed == 3, "parsed %u times", (unsigned)(b.parsed - a.parsed));
    bkt_store_close(st);
    tls_front_stop(f);
}

/* All connections but the first resume; of those that are opened at once, all but a few. */
static void test_resumed(struct server *s, int version)
{
    struct tls_front *f = tls_front_start(file("good.pem"), file("good.key"), version, server_port(s));
    struct bkt_err err = {0};
    unsigned resumed, all;
    if (!f)
        exit(1);
    bkt_store_shutdown();
    struct bkt_store *st = open_front(f, "localhost", file("our.pem"));
    CHECK(get(st, &err) == BKT_OK, "%s", first_line(&err));
    atomic_store(&together, true);
    server_reset(s);
    burst(st, BURST); /* one of them on the first's connection */
    atomic_store(&together, false);
    all = tls_front_handshakes(f, &resumed);
    CHECK(all == BURST && resumed == BURST - 1, "TLS 1.%d: %u of %u resumed", version, resumed, all);
    for (int i = 0; i < 3; i++)
        CHECK(get_cred(f, "localhost", file("our.pem"), &err) == BKT_OK, "%s", first_line(&err));
    all = tls_front_handshakes(f, &resumed);
    CHECK(all == 3 && resumed == 3, "TLS 1.%d, credentials: %u of %u resumed", version, resumed, all);
    CHECK(get_cred(f, "localhost", file("mixed.pem"), &err) == BKT_OK, "%s", first_line(&err));
    all = tls_front_handshakes(f, &resumed);
    CHECK(all == 1 && resumed == 0, "TLS 1.%d: resumed what was trusted for another reason", version);
    bkt_store_close(st);
    bkt_store_shutdown();
    st = open_front(f, "localhost", file("our.pem"));
    burst(st, BURST); /* nothing is known of the server */
    all = tls_front_handshakes(f, &resumed);
    CHECK(all - resumed <= 8, "TLS 1.%d, at once: %u of %u resumed", version, resumed, all);
    bkt_store_close(st);
    tls_front_stop(f);
}

int main(void)
{
    if (system("openssl version >/dev/null 2>&1") != 0)
        return skip("no openssl program");
    for (size_t i = 0; i < BKT_COUNT(names); i++)
        (void)unsetenv(names[i]);
    if (!mkdtemp(dir) || shell(make) != 0) {
        (void)printf("no certificates: see %s/log\n", dir);
        return 1;
    }
    bool own = own_system(); /* before there are threads */
    struct server *s = server_start(handle, NULL);
    if (!s)
        return 1;
    test_refused(s);
    test_system(s, own);
    test_parsed_once(s, own);
    test_changed(s);
    test_resumed(s, 3);
    test_resumed(s, 2);
    bkt_store_shutdown();
    server_stop(s);
    (void)shell("rm -rf -- *");
    (void)rmdir(dir);
    return failures != 0;
}
