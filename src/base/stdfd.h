/* File descriptors 0, 1 and 2, where a program runs without them. */
#ifndef BKT_STDFD_H
#define BKT_STDFD_H

/** Take those of the three that are closed, so that no connection and no file of ours becomes what the program prints to or reads
 *  from.  Reading and writing there fail as before, and a program that is started from here finds them closed. */
void bkt_stdfd_take(void);

#endif
