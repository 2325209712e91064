#include "tls_front.h"

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

#define MAX_CONNECTIONS 512

struct tls_front {
    SSL_CTX *ctx;
    pthread_t thread, connections[MAX_CONNECTIONS];
    size_t n_connections;
    int listener;
    unsigned port, backend;
    atomic_bool stop;
    atomic_uint handshakes, resumed;
};

struct connection {
    struct tls_front *front;
    int fd;
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

/* Both directions, until either side ends. */
static void pass(struct tls_front *f, SSL *ssl, int outside, int inside)
{
    char buf[16384];
    struct pollfd fds[2] = {{.fd = outside, .events = POLLIN}, {.fd = inside, .events = POLLIN}};
    while (!atomic_load(&f->stop)) {
        if (!SSL_pending(ssl) && poll(fds, 2, 20) <= 0)
            continue;
        if (SSL_pending(ssl) || fds[0].revents) {
            int n = SSL_read(ssl, buf, sizeof buf);
            if (n <= 0 || !write_all(inside, buf, (size_t)n))
                return;
        }
        if (fds[1].revents) {
            ssize_t n = recv(inside, buf, sizeof buf, 0);
            if (n <= 0 || SSL_write(ssl, buf, (int)n) <= 0)
                return;
        }
        fds[0].revents = fds[1].revents = 0;
    }
}

static void *serve(void *arg)
{
    struct connection *c = arg;
    struct tls_front *f = c->front;
    SSL *ssl = SSL_new(f->ctx);
    int in = -1;
    if (ssl && SSL_set_fd(ssl, c->fd) == 1 && SSL_accept(ssl) == 1) {
        atomic_fetch_add(&f->handshakes, 1);
        atomic_fetch_add(&f->resumed, SSL_session_reused(ssl) ? 1 : 0);
        in = connect_to(f->backend);
        if (in >= 0)
            pass(f, ssl, c->fd, in);
        (void)SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    if (in >= 0)
        (void)close(in);
    (void)close(c->fd);
    free(c);
    return NULL;
}

static void *listen_on(void *arg)
{
    struct tls_front *f = arg;
    struct pollfd fd = {.fd = f->listener, .events = POLLIN};
    while (!atomic_load(&f->stop)) {
        if (poll(&fd, 1, 20) <= 0)
            continue;
        struct connection *c = malloc(sizeof *c);
        if (!c)
            continue;
        *c = (struct connection){f, accept4(f->listener, NULL, NULL, SOCK_CLOEXEC)};
        if (c->fd < 0 || f->n_connections == MAX_CONNECTIONS ||
            pthread_create(&f->connections[f->n_connections], NULL, serve, c) != 0) {
            (void)close(c->fd);
            free(c);
            continue;
        }
        f->n_connections++;
    }
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
    for (size_t i = 0; i < f->n_connections; i++)
        (void)pthread_join(f->connections[i], NULL);
    (void)close(f->listener);
    SSL_CTX_free(f->ctx);
    free(f);
}

unsigned tls_front_port(const struct tls_front *f)
{
    return f->port;
}

unsigned tls_front_handshakes(struct tls_front *f, unsigned *resumed)
{
    *resumed = atomic_exchange(&f->resumed, 0);
    return atomic_exchange(&f->handshakes, 0);
}
