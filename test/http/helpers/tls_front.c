#include "http/helpers/tls_front.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/ssl.h>

struct tls_front {
    SSL_CTX *ctx;
    pthread_t thread;
    int listener;
    unsigned port, backend;
    atomic_bool stop;
    atomic_uint live, handshakes, resumed; /* live: connections */
    tls_cut_fn *cut;                       /* NULL: none is */
    void *cut_arg;
};

struct connection {
    struct tls_front *front;
    int fd;
    bool cuts; /* this answer, in: */
    struct tls_cut cut;
};

static int connect_to(unsigned port)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) < 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* Bytes that the TLS library sends from now on come to memory. */
static BIO *to_memory(SSL *ssl)
{
    BIO *memory = BIO_new(BIO_s_mem());
    if (memory)
        SSL_set0_wbio(ssl, memory);
    return memory;
}

/* The TLS library gets no more than the bytes so far: it doesn't wait for more. */
static void from_memory(const struct connection *c, SSL *ssl)
{
    char hello[16384];
    ssize_t n = recv(c->fd, hello, sizeof hello, 0);
    BIO *memory = BIO_new(BIO_s_mem());
    if (!memory)
        return;
    if (n > 0)
        (void)BIO_write(memory, hello, (int)n);
    SSL_set0_rbio(ssl, memory);
}

static void send_part(const struct connection *c, BIO *memory, unsigned divisor)
{
    char *p = NULL;
    long n = BIO_get_mem_data(memory, &p);
    if (n > 0)
        (void)write_all(c->fd, p, (size_t)n / divisor);
}

static void reset_at_close(int fd)
{
    struct linger at_once = {1, 0};
    (void)usleep(2000); /* sent bytes arrive first */
    (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

/* The last bytes before the end, which the caller brings about. */
static void cut_answer(const struct connection *c, SSL *ssl, const char *p, size_t n)
{
    BIO *memory = c->cut.how == TLS_CUT_RECORD ? to_memory(ssl) : NULL;
    if (n)
        (void)SSL_write(ssl, p, (int)n);
    if (memory)
        send_part(c, memory, 2);
    if (c->cut.how == TLS_CUT_NOTIFY)
        (void)SSL_shutdown(ssl);
    if (c->cut.how == TLS_CUT_RESET)
        reset_at_close(c->fd);
}

/* The first flight, or half of it, and no more. */
static bool cut_handshake(struct connection *c, SSL *ssl)
{
    const struct tls_front *f = c->front;
    BIO *memory = f->cut && f->cut(NULL, 0, &c->cut, f->cut_arg) ? to_memory(ssl) : NULL;
    if (!memory)
        return false;
    from_memory(c, ssl);
    (void)SSL_accept(ssl);
    send_part(c, memory, c->cut.how == TLS_CUT_RECORD ? 2 : 1);
    if (c->cut.how == TLS_CUT_RESET)
        reset_at_close(c->fd);
    return true;
}

/* Bytes of an answer; @p first: its first ones.  False: that was the end. */
static bool pass_answer(struct connection *c, SSL *ssl, const char *p, size_t n, bool first)
{
    const struct tls_front *f = c->front;
    if (first)
        c->cuts = f->cut && f->cut(p, n, &c->cut, f->cut_arg);
    if (c->cuts && c->cut.at <= n) {
        cut_answer(c, ssl, p, c->cut.at);
        return false;
    }
    if (c->cuts)
        c->cut.at -= n;
    return SSL_write(ssl, p, (int)n) > 0;
}

/* Both directions, until either side ends. */
static void pass(struct connection *c, SSL *ssl, int inside)
{
    char buf[16384];
    bool first = true;
    struct pollfd fds[2] = {{.fd = c->fd, .events = POLLIN}, {.fd = inside, .events = POLLIN}};
    while (!atomic_load(&c->front->stop)) {
        if (!SSL_pending(ssl) && poll(fds, 2, 20) <= 0)
            continue;
        if (SSL_pending(ssl) || fds[0].revents) {
            int n = SSL_read(ssl, buf, sizeof buf);
            if (n <= 0 || !write_all(inside, buf, (size_t)n))
                break;
            first = true;
        }
        if (fds[1].revents) {
            ssize_t n = recv(inside, buf, sizeof buf, 0);
            if (n <= 0)
                break;
            if (!pass_answer(c, ssl, buf, (size_t)n, first))
                return;
            first = false;
        }
        fds[0].revents = fds[1].revents = 0;
    }
    (void)SSL_shutdown(ssl);
}

static void *serve(void *arg)
{
    struct connection *c = arg;
    struct tls_front *f = c->front;
    SSL *ssl = SSL_new(f->ctx);
    int in = -1;
    if (ssl && SSL_set_fd(ssl, c->fd) == 1 && !cut_handshake(c, ssl) && SSL_accept(ssl) == 1) {
        atomic_fetch_add(&f->handshakes, 1);
        atomic_fetch_add(&f->resumed, SSL_session_reused(ssl) ? 1 : 0);
        in = connect_to(f->backend);
        if (in >= 0)
            pass(c, ssl, in);
    }
    SSL_free(ssl);
    if (in >= 0)
        (void)close(in);
    (void)close(c->fd);
    free(c);
    atomic_fetch_sub(&f->live, 1);
    return NULL;
}

static void take(struct tls_front *f, int fd)
{
    pthread_t thread;
    struct connection *c = fd < 0 ? NULL : malloc(sizeof *c);
    if (c) {
        *c = (struct connection){.front = f, .fd = fd};
        atomic_fetch_add(&f->live, 1);
        if (pthread_create(&thread, NULL, serve, c) == 0) {
            (void)pthread_detach(thread);
            return;
        }
        atomic_fetch_sub(&f->live, 1);
    }
    free(c);
    if (fd >= 0)
        (void)close(fd);
}

static void *listen_on(void *arg)
{
    struct tls_front *f = arg;
    struct pollfd fd = {.fd = f->listener, .events = POLLIN};
    while (!atomic_load(&f->stop))
        if (poll(&fd, 1, 20) > 0)
            take(f, accept4(f->listener, NULL, NULL, SOCK_CLOEXEC));
    return NULL;
}

static bool set_up(struct tls_front *f, const char *cert, const char *key, int version)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int v = version == 2 ? TLS1_2_VERSION : TLS1_3_VERSION;
    (void)signal(SIGPIPE, SIG_IGN); /* SSL_write() has no MSG_NOSIGNAL */
    f->ctx = SSL_CTX_new(TLS_server_method());
    if (!f->ctx || SSL_CTX_use_certificate_chain_file(f->ctx, cert) != 1 ||
        SSL_CTX_use_PrivateKey_file(f->ctx, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_set_min_proto_version(f->ctx, v) != 1 || SSL_CTX_set_max_proto_version(f->ctx, v) != 1)
        return false;
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (f->listener < 0 || bind(f->listener, (struct sockaddr *)&a, n) < 0 || listen(f->listener, 256) < 0 ||
        getsockname(f->listener, (struct sockaddr *)&a, &n) < 0)
        return false;
    f->port = ntohs(a.sin_port);
    return pthread_create(&f->thread, NULL, listen_on, f) == 0;
}

struct tls_front *tls_front_start(const char *cert, const char *key, int version, unsigned port)
{
    struct tls_front *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    f->listener = -1;
    f->backend = port;
    if (set_up(f, cert, key, version))
        return f;
    (void)printf("no TLS with %s\n", cert);
    if (f->listener >= 0)
        (void)close(f->listener);
    SSL_CTX_free(f->ctx);
    free(f);
    return NULL;
}

void tls_front_stop(struct tls_front *f)
{
    atomic_store(&f->stop, true);
    (void)pthread_join(f->thread, NULL);
    while (atomic_load(&f->live))
        (void)usleep(1000);
    (void)close(f->listener);
    SSL_CTX_free(f->ctx);
    free(f);
}

unsigned tls_front_port(const struct tls_front *f)
{
    return f->port;
}

void tls_front_cut(struct tls_front *f, tls_cut_fn *fn, void *arg)
{
    f->cut_arg = arg;
    f->cut = fn;
}

unsigned tls_front_handshakes(struct tls_front *f, unsigned *resumed)
{
    *resumed = atomic_exchange(&f->resumed, 0);
    return atomic_exchange(&f->handshakes, 0);
}
