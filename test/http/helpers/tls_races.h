/* Races that ThreadSanitizer ignores in a test of TLS; included by the test's only file. */
#ifndef BKT_TEST_TLS_RACES_H
#define BKT_TEST_TLS_RACES_H

/* OpenSSL synchronises its tables in ways that ThreadSanitizer doesn't see: reports from there are ignored.
 * And libcurl may close the descriptor that wakes it from its resolver's thread before it has removed it.
 * Another thread may have the same number already. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libcrypto.so.3\ncalled_from_lib:libssl.so.3\nrace:bkt_engine_on_socket\n";
}

#endif
