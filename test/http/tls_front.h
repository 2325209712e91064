/* TLS in front of a scripted server (server.h): each connection is taken by TLS, and passed on as it is. */
#ifndef BKT_TEST_TLS_FRONT_H
#define BKT_TEST_TLS_FRONT_H

struct tls_front;

/** Start, with a certificate's file and its key's, before the port of 127.0.0.1.  @p version: 2 or 3, for
 * TLS 1.2 or 1.3 only. NULL: the test cannot go on (message printed). */
struct tls_front *tls_front_start(const char *cert, const char *key, int version, unsigned port);
void tls_front_stop(struct tls_front *f);
unsigned tls_front_port(const struct tls_front *f);

/** Handshakes that ended well since the last call; those of them that resumed a session. */
unsigned tls_front_handshakes(struct tls_front *f, unsigned *resumed);

#endif
