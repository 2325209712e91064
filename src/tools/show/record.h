/* A record that a verb states once: members of an object of JSON, or rows of text. */
#ifndef BKT_RECORD_H
#define BKT_RECORD_H

#include "tools/show/show.h"

struct bkt_record {
    struct bkt_jout *j;      /* silent: the record is text */
    int              indent, width; /* of the names of rows */
    bool             human;  /* sizes as 1.2M */
};

/* One value.  @p key: its name in JSON, NULL: it is left out there.  @p name: its name as a row, NULL: it is
 * left out there; "": the row continues the one above.  A text of NULL is null, or "-".  URLs are written
 * without their secrets. */
void bkt_record_str(const struct bkt_record *r, const char *key, const char *name, const char *text);
void bkt_record_url(const struct bkt_record *r, const char *key, const char *name, const char *text);
void bkt_record_u64(const struct bkt_record *r, const char *key, const char *name, uint64_t v);
void bkt_record_bytes(const struct bkt_record *r, const char *key, const char *name, uint64_t v);
void bkt_record_time(const struct bkt_record *r, const char *key, const char *name, double seconds);
void bkt_record_type(const struct bkt_record *r, const char *key, const char *name, const struct bkt_type *t);
/** The places of a dataset's data, and its files if there are several: rows alone. */
void bkt_record_where(const struct bkt_record *r, const struct bkt_extent_use *where);
/** A row of text alone; @p b is empty afterwards. */
void bkt_record_row(const struct bkt_record *r, const char *name, struct bkt_buf *b);

#endif
