/* TLS in front of a server: each connection is taken by TLS, and passed on as it is; or it is cut. */
#ifndef BKT_TEST_TLS_FRONT_H
#define BKT_TEST_TLS_FRONT_H

#include <stdbool.h>
#include <stddef.h>

struct tls_front;

/** How a connection ends in the middle. */
enum tls_cut_how {
    TLS_CUT_END,    /* TCP's end, between two records; no close_notify */
    TLS_CUT_RECORD, /* the same in the middle of a record */
    TLS_CUT_RESET,  /* TCP's reset */
    TLS_CUT_NOTIFY, /* a close_notify and TCP's end: in order, but too early */
};

struct tls_cut {
    enum tls_cut_how how;
    size_t at; /* so many bytes of the answer come before; of a handshake only a part of its first flight */
};

/** Start, with the files of a certificate and its key, before the port of 127.0.0.1.  @p version: 2 or 3, for
 *  TLS 1.2 or 1.3 only.  NULL: the test cannot go on (message printed). */
struct tls_front *tls_front_start(const char *cert, const char *key, int version, unsigned port);
void tls_front_stop(struct tls_front *f);
unsigned tls_front_port(const struct tls_front *f);

/** Whether this answer is to be cut, and at which byte.  @p head: its first bytes, the whole header with
 *  luck; NULL: it is a handshake.  Called on the connections' threads. */
typedef bool tls_cut_fn(const char *head, size_t n, struct tls_cut *out, void *arg);

/** From now on; before there are connections. */
void tls_front_cut(struct tls_front *f, tls_cut_fn *fn, void *arg);

/** Successful handshakes since the last call; those of them that resumed a session. */
unsigned tls_front_handshakes(struct tls_front *f, unsigned *resumed);

#endif
