/* Ctrl-C (SIGINT), SIGTERM and SIGHUP in verbs that store something.  The first signal makes them stop at the
 * next step, and take back unfinished work.  The second one ends the program at once. */
#pragma once

#include "base/err.h"

/** Catch the signals from now on. */
void interrupt_catch(void);
/** Call @p fn at each interrupt_check(), too: its failure ends the work as well. */
void interrupt_also(int (*fn)(struct bkt_err *err));
/** BKT_ECANCEL if the program was asked to stop. */
BKT_NODISCARD int interrupt_check(struct bkt_err *err);
/** Ignore the signals from now on: the program is about to end with a result. */
void interrupt_ignore(void);
/** The exit status of a program that was stopped (128 + signal); 0: it wasn't. */
int interrupt_status(void);
