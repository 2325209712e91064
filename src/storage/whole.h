/* Whether an answer came whole, where libcurl doesn't see that.  It takes the end of a connection in the
 * middle of a header for the end of an answer, and so it takes an end without TLS's close_notify, which
 * anybody on the way can bring about. */
#ifndef BKT_WHOLE_H
#define BKT_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

struct bkt_tls_end;

/** One answer; zeroed before its first header line. */
struct bkt_whole {
    bool bodyless;           /* set by the caller: only the header was asked for (HEAD) */
    bool begun, headed;      /* its header has begun; has come to its end */
    bool framed;             /* the answer says how long its body is */
    struct bkt_tls_end *end; /* of the connection that delimits the body; NULL: not known */
};

/** A line of the header as libcurl passes it, the empty one included.  @p easy: CURL *. */
void bkt_whole_line(struct bkt_whole *w, void *easy, const char *line, size_t n);

/** libcurl says that all went well; what is missing nevertheless, or NULL. */
const char *bkt_whole_missing(const struct bkt_whole *w);

/** Free what it holds. */
void bkt_whole_fini(struct bkt_whole *w);

#endif
