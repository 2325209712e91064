/* A file of authorities' certificates.  Only the certificates that a chain asks for are parsed.
 *
 * A system's bundle has about 140 certificates, and OpenSSL parses all of them when the file is loaded.  A
 * server's chain needs one.  So only the subjects are read here, and OpenSSL asks by subject
 * (X509_LOOKUP_METHOD, as it does with a folder of certificates). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct x509_store_st; /* OpenSSL's X509_STORE */

/** Let @p store look for certificates in a PEM file.  The file is read now, once.
 * A file with anything but certificates (trust settings, revocation lists, keys) is loaded whole by
 * OpenSSL.  So is a file that cannot be read, whose error OpenSSL leaves in the thread's queue.
 * Only one thread may call this at a time; afterwards any thread may use the store, as any store of OpenSSL.
 * @return false: nothing can be trusted from this file, or out of memory; the store is as before */
bool bkt_ca_file_add(struct x509_store_st *store, const char *path);

/** The number of certificates that this process has parsed because a chain asked for them.  Any thread. */
uint64_t bkt_ca_file_parsed(void);

/** Release the state that all files share.  No store that was passed to bkt_ca_file_add() may be in use. */
void bkt_ca_file_shutdown(void);
