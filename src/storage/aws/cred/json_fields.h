/* Text fields of one JSON object, the format of credential sources' answers.  Nested values are
 * checked and skipped (base/text/json_scan.h). */
#ifndef BKT_CRED_JSON_H
#define BKT_CRED_JSON_H

#include "base/bytes.h"
#include "base/err.h"

struct bkt_json_field {
    const char    *name;
    bool           present; /* present and not null */
    bool           text;    /* a string; else value holds the spelling of a number or literal; nested values
                               are not kept */
    struct bkt_buf value;   /* UTF-8; bkt_json_fields_fini() wipes it */
};

/** Read the named fields; if a name occurs several times, the last one counts.
 * @return BKT_OK; BKT_EFORMAT: not one well-formed object, or a string with a NUL in it; BKT_ENOMEM.  The
 *     message never quotes the text. */
BKT_NODISCARD int bkt_json_fields(const void *text, size_t n, struct bkt_json_field *fields, size_t n_fields,
                                  struct bkt_err *err);
void              bkt_json_fields_fini(struct bkt_json_field *fields, size_t n_fields);

#endif
