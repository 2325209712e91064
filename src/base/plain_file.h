/* Files that a setting names: settings, credentials, tokens.  A FIFO would hold the reader up, a folder has no bytes. */
#ifndef BKT_PLAIN_FILE_H
#define BKT_PLAIN_FILE_H

/** Open a file, or a character device such as /dev/null, for reading.
 * @return the descriptor, the caller's; -1: errno says why, EMEDIUMTYPE that it is something else */
int bkt_plain_file_open(const char *path);

#endif
