/* Ctrl-C (SIGINT) and SIGTERM in verbs that store something: the first one makes them stop at the next step, and take back what
 * is half done; the second one ends the program where it is. */
#ifndef INTERRUPT_H
#define INTERRUPT_H

#include "err.h"

/** From now on. */
void interrupt_catch(void);
/** BKT_ECANCEL when the program was asked to stop. */
BKT_NODISCARD int interrupt_check(struct bkt_err *err);
/** The exit status of a program that was stopped (128 + signal); 0: it wasn't. */
int interrupt_status(void);

#endif
