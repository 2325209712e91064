/* Whether an answer is complete, where libcurl does not check it.  If a connection ends in the middle of a
 * header, libcurl takes that for the end of the answer.  It does the same for an end without TLS's
 * close_notify, which anybody on the way can cause. */
#ifndef BKT_WHOLE_H
#define BKT_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

struct bkt_tls_end;

/** One answer; zeroed before its first header line. */
struct bkt_whole {
    bool bodyless;           /* set by the caller: the request was HEAD */
    bool begun, headed;      /* its header has begun; its header is complete */
    bool framed;             /* the answer contains the length of its body */
    struct bkt_tls_end *end; /* of the connection whose end delimits the body; NULL: not known */
};

/** Record a line of the header as libcurl passes it, including the empty line.  @p easy: CURL *. */
void bkt_whole_line(struct bkt_whole *w, void *easy, const char *line, size_t n);

/** The missing part of an answer that libcurl reports as complete, or NULL. */
const char *bkt_whole_missing(const struct bkt_whole *w);

/** Free its members. */
void bkt_whole_fini(struct bkt_whole *w);

#endif
