/* One source into one domain: what cmd_load.c calls. */
#ifndef LOAD_ONE_H
#define LOAD_ONE_H

#include "load_map.h"

/** SIGINT and SIGTERM make load_go_on() fail, once; the second ends the program. */
void load_catch_signals(void);
/** Load a whole source into a new domain; @p source NULL: what l->map has.
 *  @p l: options, settings and progress are set.  A failure leaves no domain. */
BKT_NODISCARD int load_one(struct load *l, const char *source, const char *domain, hid_t fapl, struct bkt_err *err);

#endif
