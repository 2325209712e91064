/* Files that a setting names: settings, credentials, tokens.  Anything else is refused: a FIFO would block
 * the reader, and a folder has no bytes. */
#ifndef BKT_PLAIN_FILE_H
#define BKT_PLAIN_FILE_H

/** Open a file, or a character device such as /dev/null, for reading.
 * @return the descriptor, owned by the caller; -1: errno has the reason, EMEDIUMTYPE for any other kind of
 *     file */
int bkt_plain_file_open(const char *path);

#endif
