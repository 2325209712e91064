/* Templates of a reference set: text with {{ expressions }}.
 *
 * An expression is a small part of Jinja's:
 *   whole numbers, texts in quotes, names
 *   + - * // % and parentheses
 *   ~ and + to join texts
 *   '%03d' % i, '%03d'|format(i)
 *   NAME(a=…, b=…): a call of another template
 * Anything else is refused and named. */
#pragma once

#include "tools/kerchunk/format/json_doc.h"

#define KERCHUNK_TEMPLATE_DEPTH 16    /* templates in templates */
#define KERCHUNK_TEMPLATE_BYTES 65536 /* of one result */

/** Names with whole numbers or texts, which precede the templates of the set. */
struct kerchunk_var {
    const char *name;
    bool is_text;
    int64_t i;
    const char *text;
    const struct kerchunk_var *outer; /* further ones; NULL: none */
};

/** Append the text with its expressions replaced.
 * @param templates  the set's object of templates; NULL: none
 * @return BKT_OK; BKT_EFORMAT: a fault, or a name that is not there; BKT_EUNSUP: beyond this subset */
BKT_NODISCARD int kerchunk_template(const char *text, const struct kerchunk_doc *templates,
                                    const struct kerchunk_var *vars, struct bkt_buf *out,
                                    struct bkt_err *err);
