#include "http/helpers/server.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_SEEN  8192
#define MAX_CONNS 4096

enum state { LISTENS, WORKS, NAPS, HELD }; /* waits for the client; is about to do something; waits for a clock; for hold() or `until` */

struct connection {
    struct server       *s;
    int                  fd;
    pthread_t            thread;
    bool                 joined; /* the thread */
    enum state           state;
    uint64_t             due; /* of NAPS */
    const struct seen   *req; /* of HELD */
    const struct answer *answer;
};

struct server {
    handler_fn       *handler;
    void             *arg;
    int               fd;
    unsigned          port;
    char              url[64];
    pthread_t         thread;
    pthread_mutex_t   lock, turn; /* lock: all below; turn: the handler */
    pthread_cond_t    came;       /* another request, or the end */
    bool              stop, accepts; /* accepts: is about to */
    _Atomic size_t    piece;    /* of bodies received; 0: as they come */
    _Atomic unsigned  piece_ms; /* pause after each */
    struct seen      *seen[MAX_SEEN];
    unsigned          n_seen, n_conns, open, most;
    struct connection conns[MAX_CONNS];
};

/* All servers that share a clock; it stands still except for server_pass(). */
static pthread_mutex_t  all_lock = PTHREAD_MUTEX_INITIALIZER; /* before any server's */
static struct server   *all[8];
static _Atomic uint64_t the_clock; /* 0: real time */

static void set_state(struct connection *c, enum state state)
{
    (void)pthread_mutex_lock(&c->s->lock);
    c->state = state;
    (void)pthread_mutex_unlock(&c->s->lock);
}

static void nap(struct connection *c, unsigned ms)
{
    if (!atomic_load(&the_clock)) {
        struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
        (void)nanosleep(&t, NULL);
        return;
    }
    (void)pthread_mutex_lock(&c->s->lock);
    c->due   = atomic_load(&the_clock) + ms;
    c->state = NAPS;
    while (c->state == NAPS && !c->s->stop)
        (void)pthread_cond_wait(&c->s->came, &c->s->lock);
    c->state = WORKS;
    (void)pthread_mutex_unlock(&c->s->lock);
}

/* Bytes, or the end.  They stay where they are until the state shows that the server handles them. */
static void await_bytes(struct connection *c)
{
    struct pollfd p = {c->fd, POLLIN, 0};
    set_state(c, LISTENS);
    while (poll(&p, 1, -1) < 0 && errno == EINTR)
        continue;
    set_state(c, WORKS);
}

static bool has_bytes(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};
    return poll(&p, 1, 0) != 0;
}

static bool stopping(struct server *s)
{
    (void)pthread_mutex_lock(&s->lock);
    bool stop = s->stop;
    (void)pthread_mutex_unlock(&s->lock);
    return stop;
}

static bool send_all(int fd, const void *p, size_t n)
{
    const char *c = p;
    while (n) {
        ssize_t k = send(fd, c, n, MSG_NOSIGNAL);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        c += k;
        n -= (size_t)k;
    }
    return true;
}

/* Read up to the empty line; the bytes behind it stay in the buffer. */
static char *read_head(struct connection *c, char *buf, size_t room, size_t *have)
{
    for (;;) {
        buf[*have] = 0;
        char *end  = strstr(buf, "\r\n\r\n");
        if (end)
            return end + 4;
        if (*have + 1 >= room)
            return NULL;
        await_bytes(c);
        ssize_t k = recv(c->fd, buf + *have, room - *have - 1, 0);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return NULL;
        *have += (size_t)k;
    }
}

static const char *find_header(const char *headers, const char *name, char *out, size_t room)
{
    size_t n = strlen(name);
    out[0]   = 0;
    for (const char *p = headers; *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (strncasecmp(p, name, n) == 0 && p[n] == ':') {
            p += n + 1 + strspn(p + n + 1, " ");
            size_t len = strcspn(p, "\r\n");
            (void)snprintf(out, room, "%.*s", (int)len, p);
            return out;
        }
    return out;
}

const char *seen_header(const struct seen *req, const char *name)
{
    static _Thread_local char value[4][4096];
    static _Thread_local int  i;
    i = (i + 1) % 4;
    return find_header(req->headers, name, value[i], sizeof value[i]);
}

static bool read_request(struct connection *c, struct seen *r, char **body)
{
    struct server *s = c->s;
    char           buf[16384], version[16];
    size_t         have  = 0;
    char          *after = read_head(c, buf, sizeof buf, &have);
    if (!after || sscanf(buf, "%15s %4095s %15s", r->method, r->target, version) != 3)
        return false;
    size_t extra = have - (size_t)(after - buf), at = strcspn(buf, "\n") + 1;
    char   text[32], saved = *after;
    *after = 0;
    (void)snprintf(r->headers, sizeof r->headers, "%s", buf + at);
    *after       = saved;
    size_t want  = (size_t)strtoull(find_header(r->headers, "Content-Length", text, sizeof text), NULL, 10);
    *body        = malloc(want + 1);
    r->body      = *body;
    r->body_len  = want;
    if (!*body)
        return false;
    size_t got = extra < want ? extra : want;
    memcpy(*body, after, got);
    while (got < want) {
        size_t  most = s->piece && s->piece < want - got ? s->piece : want - got;
        await_bytes(c);
        ssize_t k    = recv(c->fd, *body + got, most, 0);
        if (k <= 0 || stopping(s))
            return false;
        got += (size_t)k;
        if (s->piece)
            nap(c, s->piece_ms);
    }
    return true;
}

static void record(struct server *s, struct seen *r)
{
    (void)pthread_mutex_lock(&s->lock);
    r->index = s->n_seen;
    if (s->n_seen < MAX_SEEN) {
        struct seen *copy = malloc(sizeof *copy);
        if (copy) {
            *copy      = *r;
            copy->body = NULL;
        }
        s->seen[s->n_seen] = copy;
    }
    s->n_seen++;
    (void)pthread_cond_broadcast(&s->came);
    (void)pthread_mutex_unlock(&s->lock);
}

/* Whether the answer waits for something still.  The lock is held. */
static bool is_held(const struct connection *c)
{
    return (c->answer->hold && c->answer->hold(c->req, c->s->arg)) || c->s->n_seen < c->answer->until;
}

/* Answers that wait for one another: on a machine of any speed the client has sent so many requests without
 * an answer.  If it never does, the test ends by its time limit. */
static void wait_until(struct connection *c, const struct seen *r, const struct answer *a)
{
    struct timespec soon;
    (void)pthread_mutex_lock(&c->s->lock);
    c->req    = r;
    c->answer = a;
    c->state  = HELD;
    while (is_held(c) && !c->s->stop) {
        (void)clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 1000000;
        if (soon.tv_nsec >= 1000000000)
            soon.tv_sec++, soon.tv_nsec -= 1000000000;
        (void)pthread_cond_timedwait(&c->s->came, &c->s->lock, &soon);
    }
    c->state = WORKS;
    (void)pthread_mutex_unlock(&c->s->lock);
}

static bool send_body(struct connection *c, const struct answer *a, size_t n)
{
    const char *p     = a->body;
    size_t      piece = a->slow_ms ? (a->piece ? a->piece : 1024) : n;
    for (size_t at = 0; at < n; at += piece) {
        if (!send_all(c->fd, p + at, n - at < piece ? n - at : piece))
            return false;
        if (a->slow_ms)
            nap(c, a->slow_ms);
    }
    return true;
}

static bool send_answer(struct connection *c, const struct seen *r, const struct answer *a)
{
    char   head[8192], length[64] = "";
    size_t n = a->len < a->cut ? a->len : a->cut;
    if (a->announce != -2)
        (void)snprintf(length, sizeof length, "Content-Length: %" PRId64 "\r\n",
                       a->announce < 0 ? (int64_t)a->len : a->announce);
    int k = snprintf(head, sizeof head, "HTTP/1.1 %d X\r\n%s%s%s\r\n", a->status, length, a->headers ? a->headers : "",
                     a->after == KEEP && a->announce != -2 ? "" : "Connection: close\r\n");
    if (!a->raw && !send_all(c->fd, head, (size_t)k))
        return false;
    if (strcmp(r->method, "HEAD") == 0 && !a->raw)
        return true;
    return send_body(c, a, n);
}

static void reset(int fd)
{
    struct linger l = {1, 0};
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
}

static void wait_for_end(struct connection *c)
{
    struct pollfd p = {c->fd, POLLIN, 0};
    set_state(c, LISTENS);
    while (!stopping(c->s) && poll(&p, 1, 20) == 0)
        continue;
    set_state(c, WORKS);
}

static bool serve_one(struct connection *c)
{
    struct server *s   = c->s;
    struct seen  *r    = calloc(1, sizeof *r);
    char         *body = NULL;
    bool          keep = false;
    struct answer a    = {.status = 200, .announce = -1, .cut = SIZE_MAX};
    if (r && read_request(c, r, &body)) {
        record(s, r);
        (void)pthread_mutex_lock(&s->turn);
        s->handler(r, &a, s->arg);
        (void)pthread_mutex_unlock(&s->turn);
        if (a.delay_ms)
            nap(c, a.delay_ms);
        if (a.hold || a.until)
            wait_until(c, r, &a);
        bool sent = a.silent || send_answer(c, r, &a);
        keep      = sent && a.after == KEEP && a.announce != -2 && !a.raw;
        if (sent && a.after == STALL)
            wait_for_end(c);
        if (a.after == RESET) {
            (void)usleep(5000); /* bytes sent before arrive first */
            reset(c->fd);
        }
        free(a.owned);
    }
    free(body);
    free(r);
    return keep;
}

static void *connection(void *arg)
{
    struct connection *c = arg;
    while (serve_one(c))
        continue;
    (void)pthread_mutex_lock(&c->s->lock);
    c->s->open--;
    (void)close(c->fd);
    c->fd = -1;
    (void)pthread_cond_broadcast(&c->s->came);
    (void)pthread_mutex_unlock(&c->s->lock);
    return NULL;
}

static void set_accepts(struct server *s, bool accepts)
{
    (void)pthread_mutex_lock(&s->lock);
    s->accepts = accepts;
    (void)pthread_mutex_unlock(&s->lock);
}

static void *accept_loop(void *arg)
{
    struct server *s = arg;
    for (;;) {
        struct pollfd p = {s->fd, POLLIN, 0};
        set_accepts(s, false);
        while (poll(&p, 1, -1) < 0 && errno == EINTR)
            continue;
        set_accepts(s, true);
        int fd = accept(s->fd, NULL, NULL);
        if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (fd < 0)
            return NULL;
        int one = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        (void)pthread_mutex_lock(&s->lock);
        if (s->stop || s->n_conns == MAX_CONNS) {
            (void)close(fd);
        } else {
            struct connection *c = &s->conns[s->n_conns];
            *c                   = (struct connection){.s = s, .fd = fd};
            s->open++;
            if (s->open > s->most)
                s->most = s->open;
            if (pthread_create(&c->thread, NULL, connection, c) == 0)
                s->n_conns++;
            else
                (void)close(fd);
        }
        (void)pthread_mutex_unlock(&s->lock);
    }
}

struct server *server_start(handler_fn *handler, void *arg)
{
    struct server     *s   = calloc(1, sizeof *s);
    struct sockaddr_in a   = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t          len = sizeof a;
    if (!s)
        return NULL;
    s->handler = handler;
    s->arg     = arg;
    s->fd      = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)pthread_mutex_init(&s->lock, NULL);
    (void)pthread_mutex_init(&s->turn, NULL);
    (void)pthread_cond_init(&s->came, NULL);
    if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(s->fd, 1024) < 0 ||
        getsockname(s->fd, (struct sockaddr *)&a, &len) < 0 || pthread_create(&s->thread, NULL, accept_loop, s) != 0) {
        perror("test server");
        free(s);
        return NULL;
    }
    (void)pthread_mutex_lock(&all_lock);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!all[i]) {
            all[i] = s;
            break;
        }
    (void)pthread_mutex_unlock(&all_lock);
    s->port = ntohs(a.sin_port);
    (void)snprintf(s->url, sizeof s->url, "http://127.0.0.1:%u", s->port);
    return s;
}

void server_stop(struct server *s)
{
    if (!s)
        return;
    (void)pthread_mutex_lock(&all_lock);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        all[i] = all[i] == s ? NULL : all[i];
    (void)pthread_mutex_unlock(&all_lock);
    (void)pthread_mutex_lock(&s->lock);
    s->stop = true;
    (void)pthread_cond_broadcast(&s->came);
    (void)shutdown(s->fd, SHUT_RDWR);
    for (unsigned i = 0; i < s->n_conns; i++)
        if (s->conns[i].fd >= 0)
            (void)shutdown(s->conns[i].fd, SHUT_RDWR);
    (void)pthread_mutex_unlock(&s->lock);
    (void)pthread_join(s->thread, NULL);
    for (unsigned i = 0; i < s->n_conns; i++)
        if (!s->conns[i].joined)
            (void)pthread_join(s->conns[i].thread, NULL);
    (void)close(s->fd);
    server_reset(s);
    (void)pthread_mutex_destroy(&s->lock);
    (void)pthread_mutex_destroy(&s->turn);
    (void)pthread_cond_destroy(&s->came);
    free(s);
}

int server_nobody(char *url, size_t room)
{
    struct sockaddr_in a   = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t          len = sizeof a;
    int                fd  = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || getsockname(fd, (struct sockaddr *)&a, &len) < 0)
        perror("a port where nobody listens");
    (void)snprintf(url, room, "http://127.0.0.1:%u", ntohs(a.sin_port));
    return fd;
}

void server_read_slowly(struct server *s, size_t piece, unsigned ms)
{
    int room = 4096;
    (void)setsockopt(s->fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof room); /* accepted sockets have it too */
    s->piece_ms = ms;
    s->piece    = piece;
}

const char *server_url(const struct server *s) { return s->url; }
unsigned    server_port(const struct server *s) { return s->port; }

static unsigned peek(struct server *s, const unsigned *field)
{
    (void)pthread_mutex_lock(&s->lock);
    unsigned v = *field;
    (void)pthread_mutex_unlock(&s->lock);
    return v;
}
unsigned server_count(struct server *s) { return peek(s, &s->n_seen); }
unsigned server_connections(struct server *s) { return peek(s, &s->n_conns); }
unsigned server_most_connections(struct server *s) { return peek(s, &s->most); }

bool server_seen(struct server *s, unsigned i, struct seen *out)
{
    (void)pthread_mutex_lock(&s->lock);
    bool ok = i < s->n_seen && i < MAX_SEEN && s->seen[i];
    if (ok)
        *out = *s->seen[i];
    (void)pthread_mutex_unlock(&s->lock);
    return ok;
}

void server_reset(struct server *s)
{
    (void)pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; i < s->n_seen && i < MAX_SEEN; i++)
        free(s->seen[i]);
    s->n_seen = 0;
    (void)pthread_mutex_unlock(&s->lock);
}

void server_settle(struct server *s)
{
    (void)pthread_mutex_lock(&s->lock);
    while (s->accepts || has_bytes(s->fd)) {
        (void)pthread_mutex_unlock(&s->lock);
        (void)usleep(1000);
        (void)pthread_mutex_lock(&s->lock);
    }
    for (unsigned i = 0; i < s->n_conns; i++) {
        struct connection *c = &s->conns[i];
        while (c->fd >= 0)
            (void)pthread_cond_wait(&s->came, &s->lock);
        if (c->joined)
            continue;
        c->joined = true;
        (void)pthread_mutex_unlock(&s->lock);
        (void)pthread_join(c->thread, NULL);
        (void)pthread_mutex_lock(&s->lock);
    }
    (void)pthread_mutex_unlock(&s->lock);
}

/* ---- a clock of their own ---- */

void     server_clock_start(uint64_t ms) { atomic_store(&the_clock, ms); }
uint64_t server_clock(void) { return atomic_load(&the_clock); }

static bool is_quiet(struct server *s)
{
    (void)pthread_mutex_lock(&s->lock);
    bool quiet = !s->accepts && !has_bytes(s->fd);
    for (unsigned i = 0; quiet && i < s->n_conns; i++) {
        const struct connection *c = &s->conns[i];
        quiet = c->fd < 0 || c->state == NAPS || (c->state == LISTENS && !has_bytes(c->fd)) || (c->state == HELD && is_held(c));
    }
    (void)pthread_mutex_unlock(&s->lock);
    return quiet;
}

bool server_quiet(void)
{
    bool quiet = true;
    (void)pthread_mutex_lock(&all_lock);
    for (size_t i = 0; quiet && i < sizeof all / sizeof *all; i++)
        quiet = !all[i] || is_quiet(all[i]);
    (void)pthread_mutex_unlock(&all_lock);
    return quiet;
}

int server_next(int most)
{
    uint64_t now = atomic_load(&the_clock), next = now + (uint64_t)most;
    (void)pthread_mutex_lock(&all_lock);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i])
            continue;
        (void)pthread_mutex_lock(&all[i]->lock);
        for (unsigned k = 0; k < all[i]->n_conns; k++)
            if (all[i]->conns[k].state == NAPS && all[i]->conns[k].due < next)
                next = all[i]->conns[k].due;
        (void)pthread_mutex_unlock(&all[i]->lock);
    }
    (void)pthread_mutex_unlock(&all_lock);
    return next > now ? (int)(next - now) : 0;
}

void server_pass(unsigned ms)
{
    (void)pthread_mutex_lock(&all_lock);
    uint64_t now = atomic_fetch_add(&the_clock, ms) + ms;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!all[i])
            continue;
        (void)pthread_mutex_lock(&all[i]->lock);
        for (unsigned k = 0; k < all[i]->n_conns; k++)
            if (all[i]->conns[k].state == NAPS && all[i]->conns[k].due <= now)
                all[i]->conns[k].state = WORKS;
        (void)pthread_cond_broadcast(&all[i]->came);
        (void)pthread_mutex_unlock(&all[i]->lock);
    }
    (void)pthread_mutex_unlock(&all_lock);
}
