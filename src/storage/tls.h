/* Whom TLS trusts, and which of its sessions can be resumed: once for all connections of the process.
 *
 * Certificates of authorities are parsed once, and again when their file or folder has changed (looked at
 * once a second at most).  Without a `ca_bundle` they are those that libcurl was built to trust, a file and a
 * folder; with one, only that file's. A session of one origin is resumed by all later connections to it that
 * trust the same.
 *
 * libcurl doesn't say whether a connection ended as TLS wants it, by a close_notify; that is noted here.
 *
 * All of it needs libcurl and this library to use the same OpenSSL.  Where they don't, libcurl parses,
 * remembers and judges ends by itself; whom it trusts is the same. */
#ifndef BKT_TLS_H
#define BKT_TLS_H

#include <stdbool.h>
#include <stdint.h>

/** Set up a handle of libcurl (CURL *) for @p url, before it is used.  @p ca_bundle NULL or "": the system's.
 * Does nothing for a URL without TLS.  Any thread.  False: out of memory. */
bool bkt_tls_options(void *easy, const char *ca_bundle, const char *url);

/** A connection for @p url failed: its session is forgotten, lest it was the reason.  Any thread. */
void bkt_tls_failed(const char *ca_bundle, const char *url);

/** Whether the URL's scheme is https. */
bool bkt_tls_is_https(const char *url);

/** How a connection ends; lives as long as whoever has taken it. */
struct bkt_tls_end;
/** Of the connection that a handle (CURL *) has just now; taken.  NULL: without TLS, or not known. */
struct bkt_tls_end *bkt_tls_end_of(void *easy);
/** Whether the server said that it was the end (close_notify). */
bool bkt_tls_ended_well(const struct bkt_tls_end *end);
void bkt_tls_end_drop(struct bkt_tls_end *end);

struct bkt_tls_counts {
    uint64_t parsed;              /* sets of certificates */
    uint64_t handshakes, resumed; /* that ended well; those of them that resumed a session */
};
/** What happened in this process; any thread. */
void bkt_tls_count(struct bkt_tls_counts *out);

/** Forget everything; no connection may be open. */
void bkt_tls_shutdown(void);

/** In a forked child: what the parent's threads may have held locked is left alone, and begun anew. */
void bkt_tls_after_fork_child(void);

#endif
