/* Logins at web servers: the server that gets the token, or user and password of ~/.netrc, also when one server
 * redirects to another.  Two servers, each over http and https: "127.0.0.1" and "localhost". */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/trace.h"
#include "http/helpers/tls_front.h"
#include "http/helpers/url_testing.h"
#include "storage/web/login.h"

#define SIZE 5000
static unsigned char *data;
static char           dir[] = "/tmp/bkt-login-XXXXXX";

/* The servers redirect to each other. */
static struct bkt_engine_host {
    const char       *name;
    struct server    *plain;
    struct tls_front *front;
    char              next[200]; /* "": it has the file */
} host[2] = {{.name = "127.0.0.1"}, {.name = "localhost"}};

static void handle(const struct seen *r, struct answer *a, void *arg)
{
    static char head[2][300];
    struct bkt_engine_host *h = arg;
    if (*h->next && strcmp(r->target, "/begin") == 0) {
        (void)snprintf(head[h - host], sizeof head[0], "Location: %s\r\n", h->next);
        a->status = 302, a->headers = head[h - host];
    } else {
        answer_object(r, a, data, SIZE, "\"e\"");
    }
}

static unsigned port_of(const struct bkt_engine_host *h, bool tls)
{
    return tls ? tls_front_port(h->front) : server_port(h->plain);
}

static void address(char *to, size_t room, const struct bkt_engine_host *h, bool tls, const char *path)
{
    (void)snprintf(to, room, "%s://%s:%u%s", tls ? "https" : "http", h->name, port_of(h, tls), path);
}

/* The Authorization that a server got in its request @p i; "-": it got fewer requests. */
static const char *got(const struct bkt_engine_host *h, unsigned i)
{
    static struct seen r;
    return server_seen(h->plain, i, &r) ? seen_header(&r, "Authorization") : "-";
}

static void set_netrc(const char *text)
{
    char  path[100];
    FILE *f;
    (void)snprintf(path, sizeof path, "%s/.netrc", dir);
    if (!(f = fopen(path, "w")) || fputs(text, f) < 0 || fclose(f) != 0)
        exit(1);
}

/* Logins of the user "u" with the passwords pw1 and pw2, and of "v" with "p w". */
#define BASIC1 "Basic dTpwdzE="
#define BASIC2 "Basic dTpwdzI="
#define BASIC3 "Basic djpwIHc="
#define ONE    "machine 127.0.0.1 login u password pw1\n"
#define TWO    "machine localhost login u password pw2\n"

static const struct {
    const char *what, *netrc, *token; /* token: with %u for the port of the first server */
    bool        tls, redirects, to_tls, back;
    const char *first, *second, *again; /* again: after a redirect back to the first server */
} cases[] = {
    {"no login", "", "", true, false, false, false, "", "-", "-"},
    {"netrc names the host", ONE TWO, "", true, false, false, false, BASIC1, "-", "-"},
    {"netrc names the host, http", TWO ONE, "", false, false, false, false, BASIC1, "-", "-"},
    {"netrc names another host", TWO, "", true, false, false, false, "", "-", "-"},
    {"a default entry", "default login u password pw1\n", "", true, false, false, false, "", "-", "-"},
    {"quotes and escapes", "# machine 127.0.0.1\nmachine\t127.0.0.1\r\n login \"v\" password \"p\\ w\"", "", true, false, false, false, BASIC3,
     "-", "-"},
    {"to a host in netrc", TWO, "", true, true, true, false, "", BASIC2, "-"},
    {"both hosts in netrc", ONE TWO, "", true, true, true, false, BASIC1, BASIC2, "-"},
    {"from a host in netrc", ONE, "", true, true, true, false, BASIC1, "", "-"},
    {"to a host in netrc, without TLS", TWO, "", false, true, false, false, "", "", "-"},
    {"from http to https, in netrc", TWO, "", false, true, true, false, "", BASIC2, "-"},
    {"a token", "", "127.0.0.1:%u:pwT", true, false, false, false, "Bearer pwT", "-", "-"},
    {"a token, http", "", "127.0.0.1:%u:pwT", false, false, false, false, "Bearer pwT", "-", "-"},
    {"one of several tokens", "", "a.org:pwA, 127.0.0.1:%u:pwT b.org:pwB", true, false, false, false, "Bearer pwT", "-", "-"},
    {"a token before netrc", ONE, "127.0.0.1:%u:pwT", true, false, false, false, "Bearer pwT", "-", "-"},
    {"a token for another port", "", "127.0.0.1:pwT", true, false, false, false, "", "-", "-"},
    {"a token for another host", "", "localhost:%u:pwT", true, false, false, false, "", "-", "-"},
    {"a token and a redirect", "", "127.0.0.1:%u:pwT", true, true, true, false, "Bearer pwT", "", "-"},
    {"a token and a redirect, http", "", "127.0.0.1:%u:pwT", false, true, false, false, "Bearer pwT", "", "-"},
    {"a token that a redirect must not get", "", "localhost:%u:pwT localhost:pwT", true, true, true, false, "", "", "-"},
    {"a token, there and back", TWO, "127.0.0.1:%u:pwT", true, true, true, true, "Bearer pwT", BASIC2, "Bearer pwT"},
};

static void check_case(size_t i)
{
    char url[200], token[200], settings[500], *key = NULL;
    set_netrc(cases[i].netrc);
    host[0].next[0] = host[1].next[0] = 0;
    if (cases[i].redirects)
        address(host[0].next, sizeof host[0].next, &host[1], cases[i].to_tls, "/begin");
    if (cases[i].back)
        address(host[1].next, sizeof host[1].next, &host[0], cases[i].tls, "/end");
    address(url, sizeof url, &host[0], cases[i].tls, "/begin");
    const char *at = strstr(cases[i].token, "%u");
    (void)snprintf(token, sizeof token, "%.*s", (int)(at ? at - cases[i].token : (ptrdiff_t)strlen(cases[i].token)), cases[i].token);
    if (at)
        (void)snprintf(token + strlen(token), sizeof token - strlen(token), "%u%s", port_of(&host[0], cases[i].tls), at + 2);
    (void)snprintf(settings, sizeof settings, "ca_bundle=%s/cert.pem;token=%s", dir, token);
    server_reset(host[0].plain);
    server_reset(host[1].plain);
    struct bkt_store *st  = open_url(url, settings, &key);
    struct bkt_buf    out = {0};
    struct bkt_err    err = {0};
    for (unsigned k = 0; k < 2; k++) /* the second one goes to the remembered address */
        CHECK(bkt_store_get(st, key, 7, 100, &out, &err) == BKT_OK && memcmp(out.ptr, data + 7, 100) == 0, "%s: %s", cases[i].what,
              first_line(&err));
    CHECK(strcmp(got(&host[0], 0), cases[i].first) == 0, "%s: the first server got '%s'", cases[i].what, got(&host[0], 0));
    CHECK(strcmp(got(&host[1], 0), cases[i].second) == 0, "%s: the second server got '%s'", cases[i].what, got(&host[1], 0));
    CHECK(!cases[i].back || strcmp(got(&host[0], 1), cases[i].again) == 0, "%s: then the first server got '%s'", cases[i].what,
          got(&host[0], 1));
    const struct bkt_engine_host *last = cases[i].redirects && !cases[i].back ? &host[1] : &host[0];
    unsigned           n    = server_count(last->plain) - 1;
    CHECK(strcmp(got(last, n), got(last, n - 1)) == 0, "%s: a later range had '%s'", cases[i].what, got(last, n));
    bkt_buf_fini(&out);
    bkt_store_close(st);
    free(key);
}

static void no_redirect_from_https_to_http(void)
{
    char url[200], settings[300], *key = NULL;
    address(host[0].next, sizeof host[0].next, &host[1], false, "/begin");
    address(url, sizeof url, &host[0], true, "/begin");
    (void)snprintf(settings, sizeof settings, "ca_bundle=%s/cert.pem", dir);
    server_reset(host[1].plain);
    struct bkt_store *st  = open_url(url, settings, &key);
    struct bkt_buf    out = {0};
    struct bkt_err    err = {0};
    int               rc  = bkt_store_get(st, key, 0, 10, &out, &err);
    CHECK(rc == BKT_EACCES && strstr(first_line(&err), "from https to http") && server_count(host[1].plain) == 0, "%s", first_line(&err));
    bkt_buf_fini(&out);
    bkt_store_close(st);
    free(key);
}

/* Stores of domains have the same rules, and don't leave their server. */
static void domains_log_in_as_well(void)
{
    static const struct {
        const char *netrc, *token, *want;
    } logins[] = {{ONE, "", BASIC1}, {TWO, "", ""}, {ONE, "127.0.0.1:%u:pwT", "Bearer pwT"}, {"", "localhost:pwT", ""}};
    for (size_t i = 0; i < BKT_COUNT(logins); i++) {
        char uri[200], settings[300];
        host[0].next[0] = 0;
        set_netrc(logins[i].netrc);
        address(uri, sizeof uri, &host[0], true, "");
        (void)snprintf(settings, sizeof settings, "ca_bundle=%s/cert.pem;token=", dir);
        if (strstr(logins[i].token, "%u"))
            (void)snprintf(settings + strlen(settings), 100, "127.0.0.1:%u:pwT", port_of(&host[0], true));
        else
            (void)snprintf(settings + strlen(settings), 100, "%s", logins[i].token);
        server_reset(host[0].plain);
        struct bkt_store *st  = open_store(uri, settings);
        struct bkt_buf    out = {0};
        CHECK(bkt_store_get(st, "any", 0, 10, &out, NULL) == BKT_OK && strcmp(got(&host[0], 0), logins[i].want) == 0, "login %zu: '%s'", i,
              got(&host[0], 0));
        bkt_buf_fini(&out);
        bkt_store_close(st);
    }
}

/* Whether an address gets a token that the setting has for the user's own address. */
static void tokens_have_hosts(void)
{
    static const struct {
        const char *own, *to, *token;
        bool        gets;
    } rules[] = {
        {"https://h.org/f", "https://h.org/g", "h.org:T", true},
        {"https://H.org/f", "https://h.ORG:443/g", "h.Org:T", true},
        {"https://h.org/f", "https://h.org/g", "h.org:443:T", true},
        {"https://h.org/f", "https://h.org/g", "h.org:80:T", false},
        {"https://h.org/f", "http://h.org/g", "h.org:T", false},
        {"http://h.org/f", "https://h.org/g", "h.org:T", true},
        {"http://h.org/f", "https://h.org:8443/g", "h.org:T", false},
        {"http://h.org:8080/f", "https://h.org/g", "h.org:8080:T", false},
        {"https://h.org:8443/f", "https://h.org:8443/g", "h.org:8443:T", true},
        {"https://h.org:8443/f", "https://h.org/g", "h.org:8443:T", false},
        {"https://h.org/f", "https://www.h.org/g", "h.org:T", false},
        {"https://www.h.org/f", "https://www.h.org/g", "h.org:T", false},
        {"https://[::1]:8443/f", "https://[::1]:8443/g", "[::1]:8443:T", true},
    };
    set_netrc("");
    for (size_t i = 0; i < BKT_COUNT(rules); i++) {
        struct bkt_settings set;
        struct bkt_web_url  own = {.port = 0}, to = {.port = 0};
        struct bkt_login    l   = {.token = NULL};
        char               *got_value = NULL;
        if (bkt_settings_init(&set, "", NULL) < 0 || bkt_settings_set(&set, "token", rules[i].token, "this test", NULL) < 0 ||
            bkt_web_url_parse(rules[i].own, &own, NULL) < 0 || bkt_web_url_parse(rules[i].to, &to, NULL) < 0 ||
            bkt_login_init(&l, &own, &set, NULL) < 0 || bkt_login_for(&l, &to, &got_value) < 0)
            exit(1);
        CHECK((got_value && strcmp(got_value, "Bearer T") == 0) == rules[i].gets, "rule %zu: %s", i, got_value ? got_value : "nothing");
        free(got_value);
        bkt_login_fini(&l);
        bkt_web_url_fini(&own);
        bkt_web_url_fini(&to);
        bkt_settings_fini(&set);
    }
}

static void malformed_tokens_are_secret(void)
{
    static const char *const tokens[] = {"pwT", "host:", ":pwT", "https://host:pwT", "https://host", "host:pw\x01T", "host:pwT,pwU"};
    for (size_t i = 0; i < BKT_COUNT(tokens); i++) {
        struct bkt_settings set;
        struct bkt_err      err = {0};
        struct bkt_store   *st  = NULL;
        char               *key = NULL;
        if (bkt_settings_init(&set, "", NULL) < 0 || bkt_settings_set(&set, "token", tokens[i], "this test", NULL) < 0)
            exit(1);
        CHECK(bkt_url_open("https://host/f.h5", &set, &st, &key, &err) == BKT_EINVAL && strstr(first_line(&err), "HOST:TOKEN") &&
                  !strstr(first_line(&err), "pw"), "%s: %s", tokens[i], first_line(&err));
        bkt_settings_fini(&set);
    }
}

/* Neither a device without end, nor a FIFO without a writer, nor a missing file hinders. */
static void odd_netrc_files(void)
{
    char fifo[100];
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", dir);
    const char *const names[] = {"/dev/zero", "/nonexistent/netrc", dir, fifo, "/dev/null"};
    if (mkfifo(fifo, 0600) < 0)
        exit(1);
    set_netrc(ONE); /* not used when NETRC names another one */
    host[0].next[0] = 0;
    for (size_t i = 0; i < BKT_COUNT(names); i++) {
        char *key = NULL;
        (void)setenv("NETRC", names[i], 1);
        (void)alarm(60);
        server_reset(host[0].plain);
        struct bkt_store *st  = open_url(url_of(host[0].plain, "/f.h5"), "", &key);
        struct bkt_buf    out = {0};
        CHECK(bkt_store_get(st, key, 0, 10, &out, NULL) == BKT_OK && strcmp(got(&host[0], 0), "") == 0, "%s", names[i]);
        bkt_buf_fini(&out);
        bkt_store_close(st);
        free(key);
    }
    (void)unsetenv("NETRC");
}

/* Both servers, and a certificate with both names. */
static bool start(void)
{
    char cmd[600], cert[100], key[100];
    if (!mkdtemp(dir))
        return false;
    (void)snprintf(cmd, sizeof cmd,
                   "cd %s && openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -x509 -days 2 -subj /CN=localhost "
                   "-addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout key.pem -out cert.pem >log 2>&1", dir);
    if (system(cmd) != 0)
        return false;
    (void)snprintf(cert, sizeof cert, "%s/cert.pem", dir);
    (void)snprintf(key, sizeof key, "%s/key.pem", dir);
    for (size_t i = 0; i < 2; i++)
        if (!(host[i].plain = server_start(handle, &host[i])) ||
            !(host[i].front = tls_front_start(cert, key, 3, server_port(host[i].plain))))
            return false;
    (void)setenv("HOME", dir, 1);
    (void)unsetenv("NETRC");
    return true;
}

static void check_trace(int fd)
{
    static char text[400000];
    CHECK(pread(fd, text, sizeof text - 1, 0) > 1000 && !strstr(text, "pw") && !strstr(text, "Basic"), "a secret in the trace");
    for (char *rest = NULL, *l = strtok_r(text, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest))
        if (strncmp(l, "h5bucket", 8) != 0) /* a failure's message */
            (void)fprintf(stderr, "%s\n", l);
}

int main(void)
{
    char cmd[100], trace[] = "/tmp/bkt-login-trace-XXXXXX";
    int  fd = mkstemp(trace), err = dup(STDERR_FILENO);
    data = pattern(SIZE);
    if (!start() || fd < 0 || unlink(trace) < 0 || dup2(fd, STDERR_FILENO) < 0 || bkt_trace_set("all", NULL) < 0)
        return 1;
    for (size_t i = 0; i < BKT_COUNT(cases); i++)
        check_case(i);
    no_redirect_from_https_to_http();
    domains_log_in_as_well();
    odd_netrc_files();
    bkt_store_shutdown();
    (void)dup2(err, STDERR_FILENO);
    tokens_have_hosts();
    malformed_tokens_are_secret();
    check_trace(fd);
    for (size_t i = 0; i < 2; i++) {
        tls_front_stop(host[i].front);
        server_stop(host[i].plain);
    }
    (void)snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    CHECK(system(cmd) == 0, "%s", cmd);
    free(data);
    return failures != 0;
}
