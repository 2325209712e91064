/* One exchange in libcurl's terms: options, callbacks, results.  See engine.h; all functions run on the I/O
 * thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "base/os/clock.h"
#include "storage/http/engine_impl.h"
#include "storage/http/tls.h"
#include "storage/stats.h"

/* Bytes that libcurl receives at once.  Smaller buffers cost CPU time, larger ones memory. */
#define RECEIVE_BUFFER (512L * 1024)
#define ANSWER_BUFFER  (16L * 1024) /* for a request with a body: its answer is hardly more than headers */
/* Bytes that libcurl sends at once.  Larger buffers are fresh memory, which costs more than a copy. */
#define UPLOAD_BUFFER  (64L * 1024)

/* ---- the way to a server ---- */

/* By default one I/O thread for every four processors: the others decode the data that it receives. */
static unsigned n_threads(const struct bkt_settings *set)
{
    long n = set->io_threads ? (long)set->io_threads : sysconf(_SC_NPROCESSORS_ONLN) / 4;
    return n < 1 ? 1 : n > BKT_IO_MAX ? BKT_IO_MAX : (unsigned)n;
}

int bkt_net_init(struct bkt_net *net, const char *origin, const struct bkt_settings *set, struct bkt_err *err)
{
    struct stat sb; /* libcurl would wait for a FIFO and block the I/O thread, and would never reach the end
                       of /dev/zero */
    *net = (struct bkt_net){0};
    BKT_FAIL_IF(err, set->ca_bundle && stat(set->ca_bundle, &sb) == 0 && !S_ISREG(sb.st_mode), BKT_EINVAL,
                "ca_bundle %.300s: not a file; name a file of CA certificates", set->ca_bundle);
    const struct bkt_net from = {
        .ca_bundle = set->ca_bundle,
        .connections = (unsigned)bkt_max_u64(1, bkt_min_u64(set->connections, BKT_MAX_CONNECTS)),
        .hedge = (unsigned)bkt_min_u64(set->hedge, 100),
        .io_threads = n_threads(set),
        .connect_ms = bkt_settings_connect_ms(set),
        .stall_ms = bkt_settings_stall_ms(set)};
    BKT_PASS_MEM(err, bkt_net_copy(net, &from, origin));
    return BKT_OK;
}

int bkt_net_copy(struct bkt_net *net, const struct bkt_net *from, const char *origin)
{
    *net = *from;
    net->origin = strdup(origin);
    net->ca_bundle = from->ca_bundle ? strdup(from->ca_bundle) : NULL;
    net->pace = calloc(1, sizeof *net->pace);
    if (net->origin && net->pace && (net->ca_bundle || !from->ca_bundle))
        return BKT_OK;
    bkt_net_fini(net);
    return BKT_ENOMEM;
}

void bkt_net_fini(struct bkt_net *net)
{
    free(net->origin);
    free(net->ca_bundle);
    free(net->pace);
    net->origin = net->ca_bundle = NULL;
    net->pace = NULL;
}

/* ---- whether an answer is complete ---- */

static void status_line(struct bkt_whole *w, const char *line, size_t n)
{
    char status[4] = "";
    const char *blank = memchr(line, ' ', n);
    if (blank && (size_t)(line + n - blank) > 3)
        memcpy(status, blank + 1, 3);
    long code = strtol(status, NULL, 10);
    bkt_whole_fini(w);
    w->begun = true;
    w->headed = false;
    w->framed = code < 200 || code == 204 || code == 304;
}

static bool is_header(const char *line, size_t n, const char *name)
{
    size_t k = strlen(name);
    return n > k && strncasecmp(line, name, k) == 0;
}

static bool says_chunked(const char *line, size_t n)
{
    static const char word[] = "chunked";
    for (size_t i = 0; i + sizeof word - 1 <= n; i++)
        if (strncasecmp(line + i, word, sizeof word - 1) == 0)
            return true;
    return false;
}

void bkt_whole_line(struct bkt_whole *w, void *easy, const char *line, size_t n)
{
    if (n > 5 && memcmp(line, "HTTP/", 5) == 0) {
        status_line(w, line, n);
    } else if (is_header(line, n, "content-length:") ||
               (is_header(line, n, "transfer-encoding:") && says_chunked(line, n))) {
        w->framed = true;
    } else if (n && (line[0] == '\r' || line[0] == '\n')) {
        w->headed = true;
        if (!w->framed && !w->bodyless && !w->end)
            w->end = bkt_tls_end_of(easy);
    }
}

const char *bkt_whole_missing(const struct bkt_whole *w)
{
    if (w->begun && !w->headed)
        return "the connection ended in the answer's header";
    return w->end && !bkt_tls_ended_well(w->end) ? "the connection ended without TLS's close_notify" : NULL;
}

void bkt_whole_fini(struct bkt_whole *w)
{
    bkt_tls_end_drop(w->end);
    w->end = NULL;
}

/* ---- callbacks ---- */

/* The first leg that answers is the exchange from now on.  The other leg is given up as soon as libcurl's
 * callbacks have returned. */
static void decide(struct bkt_leg *leg)
{
    struct bkt_xfer *x = leg->x;
    if (!x->twin || x->decided)
        return;
    if (leg->easy == x->twin) {
        x->twin = x->easy;
        x->easy = leg->easy;
    }
    x->decided              = true;
    x->next_decided         = x->engine->decided;
    x->engine->decided      = x;
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
    struct bkt_leg  *leg   = arg;
    struct bkt_xfer *x     = leg->x;
    size_t           total = size * n;
    x->last_ms = bkt_ms_now();
    bkt_pace_first_byte(x->host, x);
    decide(leg);
    if (leg->easy != x->easy)
        return 0;
    bkt_whole_line(&x->whole, x->easy, p, total);
    if (total > 5 && memcmp(p, "HTTP/", 5) == 0) { /* of any length: a reason phrase may repeat all that was
                                                      sent */
        (void)curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &x->status);
        return total;
    }
    char line[2048];
    if (total >= sizeof line) /* longer than any header that is used */
        return total;
    memcpy(line, p, total);
    line[total] = 0;
    line[strcspn(line, "\r\n")] = 0;
    char *colon = strchr(line, ':');
    if (!colon || x->status < 200)
        return total;
    *colon = 0;
    x->header(x, line, colon + 1 + strspn(colon + 1, " \t"));
    return total;
}

static size_t on_data(char *p, size_t size, size_t n, void *arg)
{
    struct bkt_leg  *leg = arg;
    struct bkt_xfer *x   = leg->x;
    if (leg->easy != x->easy)
        return 0;
    x->last_ms = bkt_ms_now();
    x->body_bytes += size * n;
    if (x->status < 300)
        bkt_stats_add(BKT_STAT(bytes_in), size * n);
    if (x->data(x, p, size * n))
        return size * n;
    x->enough = true;
    return 0;
}

static size_t on_upload(char *p, size_t size, size_t n, void *arg)
{
    struct bkt_xfer *x    = arg;
    size_t           room = size * n, left = x->put_len - x->put_at;
    size_t           k    = left < room ? left : room;
    x->last_ms = bkt_ms_now();
    if (k)
        memcpy(p, (const char *)x->put + x->put_at, k);
    x->put_at += k;
    x->engine->more = x->put_at < x->put_len;
    if (!x->upload_ms)
        x->upload_ms = x->last_ms;
    if (!x->sent_ms && x->put_at == x->put_len)
        x->sent_ms = x->last_ms;
    bkt_stats_add(BKT_STAT(bytes_out), k);
    return k;
}

static int on_seek(void *arg, curl_off_t off, int origin)
{
    struct bkt_xfer *x = arg;
    if (origin != SEEK_SET || off < 0 || (uint64_t)off > x->put_len)
        return CURL_SEEKFUNC_CANTSEEK;
    /* libcurl would repeat the request by itself when a kept connection breaks.  But a PUT that may have
     * arrived is judged by change_outcome.c */
    if (x->put_at)
        return CURL_SEEKFUNC_FAIL;
    x->put_at = (size_t)off;
    return CURL_SEEKFUNC_OK;
}

static curl_socket_t on_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
    struct bkt_xfer *x = ((struct bkt_leg *)arg)->x;
    (void)purpose;
    atomic_store(&x->host->known, true);
    x->last_ms = bkt_ms_now() + x->net->connect_ms; /* connecting has its own limit */
    x->opened |= arg == x->legs; /* not for a second request beside a late one */
    int fd         = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
    if (fd >= 0) {
        bkt_engine_track(fd, true);
        atomic_fetch_add(&x->host->at[x->engine->index].kept, 1);
    } else {
        x->no_file = errno == EMFILE || errno == ENFILE;
    }
    return fd;
}

static int on_close_socket(void *arg, curl_socket_t fd)
{
    _Atomic unsigned *kept = arg; /* its exchange has long ended */
    atomic_fetch_sub(kept, 1);
    bkt_engine_track(fd, false);
    return close(fd);
}

#if LIBCURL_VERSION_NUM >= 0x075000
static int on_connected(void *arg, char *ip, char *local, int port, int local_port)
{
    (void)ip, (void)local, (void)port, (void)local_port;
    struct bkt_xfer *x = ((struct bkt_leg *)arg)->x;
    x->last_ms = bkt_ms_now();
    if (arg == x->legs) /* again, if libcurl repeats a request whose kept connection was broken */
        x->asked_ms = x->last_ms;
    atomic_store(&x->host->known, true); /* exchanges that wait for the first look-up need not wait for its
                                            answer too */
    return CURL_PREREQFUNC_OK;
}
#endif

int bkt_engine_on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
    struct bkt_engine *e = arg;
    struct epoll_event ev = {.data.fd = fd};
    struct bkt_leg    *leg = NULL;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&leg);
    if (leg && what != CURL_POLL_REMOVE)
        leg->x->fd = (int)fd;
    else if (leg && leg->x->fd == (int)fd)
        leg->x->fd = -1;
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(e->epoll, EPOLL_CTL_DEL, fd, &ev);
        return 0;
    }
    ev.events = (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
    if (known && epoll_ctl(e->epoll, EPOLL_CTL_MOD, fd, &ev) == 0)
        return 0;
    if (epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &ev) < 0 && errno == EEXIST)
        (void)epoll_ctl(e->epoll, EPOLL_CTL_MOD, fd, &ev);
    (void)curl_multi_assign(e->multi, fd, e); /* the socket is known from now on, until libcurl removes it */
    return 0;
}

int bkt_engine_on_timer(CURLM *multi, long ms, void *arg)
{
    struct bkt_engine *e = arg;
    (void)multi;
    e->timer_at = ms < 0 ? UINT64_MAX : bkt_ms_now() + (uint64_t)ms;
    return 0;
}

/* ---- one exchange ---- */

static const struct {
    CURLcode      code;
    enum bkt_wire wire;
} wires[] = {
    {CURLE_OK, BKT_WIRE_OK},
    {CURLE_COULDNT_CONNECT, BKT_WIRE_CONNECT},
    {CURLE_OPERATION_TIMEDOUT, BKT_WIRE_CONNECT}, /* libcurl's other time limits are not used */
    {CURLE_COULDNT_RESOLVE_HOST, BKT_WIRE_CONNECT},
    {CURLE_COULDNT_RESOLVE_PROXY, BKT_WIRE_CONNECT},
    {CURLE_SSL_CONNECT_ERROR, BKT_WIRE_CONNECT},
    {CURLE_PARTIAL_FILE, BKT_WIRE_SHORT},
    {CURLE_GOT_NOTHING, BKT_WIRE_RESET},
    {CURLE_SEND_ERROR, BKT_WIRE_RESET},
    {CURLE_SEND_FAIL_REWIND, BKT_WIRE_RESET},
    {CURLE_RECV_ERROR, BKT_WIRE_RESET},
};

enum bkt_wire bkt_engine_wire(struct bkt_xfer *x, CURLcode code)
{
    if (x->enough && code == CURLE_WRITE_ERROR)
        return BKT_WIRE_STOPPED;
    if (x->no_file && code == CURLE_COULDNT_CONNECT) {
        (void)snprintf(x->why, sizeof x->why, "too many files are open");
        return BKT_WIRE_CROWDED;
    }
    const char *missing = code == CURLE_OK ? bkt_whole_missing(&x->whole) : NULL;
    if (missing) {
        (void)snprintf(x->why, sizeof x->why, "%s", missing);
        return BKT_WIRE_SHORT;
    }
    for (size_t i = 0; i < BKT_COUNT(wires); i++)
        if (wires[i].code == code)
            return wires[i].wire;
    return BKT_WIRE_FATAL;
}

#define SET(option, value) ok = curl_easy_setopt(h, CURLOPT_##option, (value)) != CURLE_OUT_OF_MEMORY && ok

bool bkt_engine_usual_options(void *easy, const char *url, const char *ca_bundle)
{
    CURL *h  = easy;
    bool  ok = bkt_tls_options(h, ca_bundle, url);
    SET(URL, url);
    SET(NOSIGNAL, 1L);
    SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(PATH_AS_IS, 1L); /* S3 keys may hold // and .. */
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK && ok;
#else
    return curl_easy_setopt(h, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS)) == CURLE_OK && ok;
#endif
}

bool bkt_engine_options(struct bkt_engine *e, struct bkt_leg *leg)
{
    struct bkt_xfer *x = leg->x;
    CURL            *h = leg->easy;
    bool             ok = bkt_engine_usual_options(h, x->url, x->net->ca_bundle);
    /* without its method a DELETE would be a GET: each result counts */
    SET(PRIVATE, leg);
    SET(SHARE, e->all->share);
    SET(ERRORBUFFER, leg == x->legs ? x->why : NULL);
    SET(HTTPHEADER, x->headers);
    SET(SUPPRESS_CONNECT_HEADERS, 1L); /* a proxy's */
    SET(BUFFERSIZE, x->put_len ? ANSWER_BUFFER : RECEIVE_BUFFER);
    SET(TCP_NODELAY, 1L);
    SET(TCP_KEEPALIVE, 1L);
    SET(CONNECTTIMEOUT_MS, (long)x->net->connect_ms);
    SET(HEADERFUNCTION, on_header);
    SET(HEADERDATA, leg);
    SET(WRITEFUNCTION, on_data);
    SET(WRITEDATA, leg);
    SET(OPENSOCKETFUNCTION, on_open_socket);
    SET(OPENSOCKETDATA, leg);
    SET(CLOSESOCKETFUNCTION, on_close_socket);
    SET(CLOSESOCKETDATA, &x->host->at[e->index].kept);
#if LIBCURL_VERSION_NUM >= 0x075000
    SET(PREREQFUNCTION, on_connected);
    SET(PREREQDATA, leg);
#endif
    if (x->cookies || x->keep_cookies)
        SET(COOKIEFILE, ""); /* no file, but cookies are taken and sent */
    for (const struct curl_slist *l = x->cookies; l; l = l->next)
        SET(COOKIELIST, l->data);
    if (strcmp(x->method, "HEAD") == 0) {
        SET(NOBODY, 1L);
    } else if (strcmp(x->method, "PUT") == 0 || strcmp(x->method, "POST") == 0) {
        SET(UPLOAD, 1L);
        SET(CUSTOMREQUEST, x->method);
        SET(READFUNCTION, on_upload);
        SET(READDATA, x);
        SET(SEEKFUNCTION, on_seek);
        SET(SEEKDATA, x);
        SET(INFILESIZE_LARGE, (curl_off_t)x->put_len);
        SET(UPLOAD_BUFFERSIZE, UPLOAD_BUFFER);
    } else if (strcmp(x->method, "GET") != 0) {
        SET(CUSTOMREQUEST, x->method);
    }
#undef SET
    return ok;
}
