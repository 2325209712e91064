/* Ctrl-C (SIGINT) and SIGTERM in verbs that store something.  The first signal makes them stop at the next
 * step, and take back unfinished work.  The second one ends the program at once. */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include "base/err.h"

/** Catch the signals from now on. */
void interrupt_catch(void);
/** BKT_ECANCEL if the program was asked to stop. */
BKT_NODISCARD int interrupt_check(struct bkt_err *err);
/** The exit status of a program that was stopped (128 + signal); 0: it wasn't. */
int interrupt_status(void);

#endif
