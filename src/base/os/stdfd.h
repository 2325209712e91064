/* File descriptors 0, 1 and 2, in a program that runs without them. */
#ifndef BKT_STDFD_H
#define BKT_STDFD_H

/** Occupy those of the three descriptors that are closed.  Otherwise a connection or file of this library
 *  could get such a number, and the program would print to it or read from it.  Reading from and writing to
 *  these descriptors fail as before.  Programs started from this one find them closed. */
void bkt_stdfd_take(void);

#endif
