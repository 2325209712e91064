/* The certificates that TLS trusts, and the sessions that can be resumed: once for all connections of the
 * process.
 *
 * Authorities' certificates are read once, and again when their file or folder has changed (checked once a
 * second at most).  Only those that a server's chain asks for are parsed.  With a `ca_bundle` only that
 * file's certificates count.  Without one they are those that libcurl was built to trust, a file and a
 * folder.  All later connections to an origin that trust the same certificates resume its session.
 *
 * libcurl does not report whether a connection ended as TLS requires, by a close_notify.  That is recorded
 * here.
 *
 * All this requires that libcurl and this library use the same OpenSSL.  Otherwise libcurl parses, remembers
 * and judges ends by itself; the trusted certificates are the same. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Set up a handle of libcurl (CURL *) for @p url, before it is used.  Without TLS nothing is done.  Any
 * thread.  False: out of memory.
 * @param ca_bundle  NULL or "": the system's certificates */
bool bkt_tls_options(void *easy, const char *ca_bundle, const char *url);

/** Forget the session of a connection for @p url that failed, as it may be the reason.  Any thread. */
void bkt_tls_failed(const char *ca_bundle, const char *url);

/** Whether the URL's scheme is https. */
bool bkt_tls_is_https(const char *url);

/** The end of a connection, counted: it lives as long as anyone holds it. */
struct bkt_tls_end;
/** The end of the connection that a handle (CURL *) has now, to be released with bkt_tls_end_drop().  NULL:
 * without TLS, or not known. */
struct bkt_tls_end *bkt_tls_end_of(void *easy);
/** Whether the server announced the end (close_notify). */
bool bkt_tls_ended_well(const struct bkt_tls_end *end);
void bkt_tls_end_drop(struct bkt_tls_end *end); /* NULL is allowed */

struct bkt_tls_counts {
    uint64_t parsed;              /* sets of certificates that were read */
    uint64_t certificates;        /* certificates of them that a chain asked for */
    uint64_t handshakes, resumed; /* successful handshakes; those of them that resumed a session */
};
/** Counts of this process; any thread.  For tests. */
void bkt_tls_count(struct bkt_tls_counts *out);

/** Forget everything; no connection may be open. */
void bkt_tls_shutdown(void);

/** In a forked child: start again, and do not touch the data that the parent's threads may have locked. */
void bkt_tls_after_fork_child(void);
