/* A scripted HTTP server for tests: loopback, a free port, a thread per connection.
 *
 * If a program is linked with helpers/virtual_clock.c, time passes only while the client waits for it, and delays are
 * delays of that time.
 *
 * The handler sees every request, and sets the answer and any misbehaviour.  All requests are recorded.  It
 * speaks just enough HTTP/1.1 for libcurl: no pipelining, no chunked requests. */
#ifndef BKT_TEST_SERVER_H
#define BKT_TEST_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;

struct seen;

/** Whether an answer is held back still; asked every millisecond or so, with the handler's argument.  It may
 *  not ask the server. */
typedef bool hold_fn(const struct seen *req, void *arg);

struct seen {
    unsigned    index; /* from 0, in order of arrival */
    char        method[16], target[4096];
    char        headers[8192]; /* as sent, without the request line */
    const void *body;          /* valid during the handler only */
    size_t      body_len;
};

enum after { KEEP, CLOSE, RESET, STALL };

struct answer {
    int         status;      /* 200 */
    const char *headers;     /* further header lines, each with "\r\n"; "" */
    const void *body;        /* copied at once if `owned`, else must stay */
    size_t      len;
    int64_t     announce;    /* Content-Length: -1: len; -2: none is sent (the end is the end of the connection) */
    size_t      cut;         /* send only so many body bytes; SIZE_MAX: all */
    enum after  after;       /* the bytes behind those */
    hold_fn    *hold;        /* not NULL: nothing is sent while it returns true */
    unsigned    delay_ms;    /* before the status line */
    unsigned    until;       /* nor before so many requests have come in all (server_count()) */
    unsigned    slow_ms;     /* pause after each `piece` bytes of the body */
    size_t      piece;
    bool        raw;         /* the body is all that is sent: no status line, no headers */
    bool        silent;      /* nothing is sent; `after` follows at once */
    void       *owned;       /* freed after use */
};

/** Called on the connection's thread, one at a time. */
typedef void handler_fn(const struct seen *req, struct answer *a, void *arg);

/** Start; NULL: the test cannot go on (message printed). */
struct server *server_start(handler_fn *handler, void *arg);
void           server_stop(struct server *s);
/** "http://127.0.0.1:PORT" */
const char    *server_url(const struct server *s);
unsigned       server_port(const struct server *s);

/** A port of this machine without a listener, reserved until the returned socket is closed; its address to @p
 *  url. */
int            server_nobody(char *url, size_t room);

/** From now on take bodies in pieces of so many bytes, with a pause after each, on connections that little
 *  fits into.  Once. */
void           server_read_slowly(struct server *s, size_t piece, unsigned ms);

/** For helpers/virtual_clock.c: nap() of all servers from now on is this clock's, which begins at @p ms. */
void           server_clock_start(uint64_t ms);
uint64_t       server_clock(void);
/** The ms until the first sleeping thread wakes up, @p most at most. */
int            server_next(int most);
/** All servers only wait: all requests are recorded. */
bool           server_quiet(void);
/** So many ms have passed: threads that slept until now go on. */
void           server_pass(unsigned ms);

/** Requests so far; connections accepted, and open at once at most; requests in progress at once at most. */
unsigned server_count(struct server *s);
unsigned server_connections(struct server *s);
unsigned server_most_connections(struct server *s);
/** A copy of request @p i; false: no such request. */
bool     server_seen(struct server *s, unsigned i, struct seen *out);
/** Forget the recorded requests. */
void     server_reset(struct server *s);
/** Its clients have ended, or closed all connections: wait until their requests are recorded, and no thread
 *  serves them. */
void     server_settle(struct server *s);

/** A header's value in a request ("" absent), in a buffer of the calling thread. */
const char *seen_header(const struct seen *req, const char *name);

/** Answer a GET or HEAD for an object as S3 does: ranges, If-Match, If-None-Match. */
void answer_object(const struct seen *req, struct answer *a, const void *data, size_t len, const char *etag);
/** Answer with an S3 error document. */
void answer_error(struct answer *a, int status, const char *code, const char *more);

#endif
