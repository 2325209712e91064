/* Headers of an answer; pure functions. */
#ifndef BKT_HTTP_REPLY_H
#define BKT_HTTP_REPLY_H

#include "storage/http/request.h"

/** Copy the value of one header to @p r, if it is needed. */
void bkt_http_reply_header(struct bkt_http_reply *r, const char *name, const char *value);

/** Parse "bytes 0-99/1234", "bytes 0-99/" followed by an asterisk, or, with status 416, an asterisk for the
 *  range.  False: malformed. */
bool bkt_http_parse_range(const char *value, uint64_t *first, uint64_t *last, uint64_t *total);

#endif
