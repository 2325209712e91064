/* Real numbers as text. */
#ifndef BKT_REAL_TEXT_H
#define BKT_REAL_TEXT_H

#include <locale.h>

#include "base/bytes.h"

/** Append the shortest of 15 to 17 digits that gives the same double again, in the thread's locale. */
BKT_NODISCARD int bkt_buf_add_real(struct bkt_buf *b, double v);

/** The locale "C", for uselocale() and strtod_l(); made once.  (locale_t)0: out of memory. */
locale_t bkt_c_locale(void);

#endif
