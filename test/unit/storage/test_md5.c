/* MD5 by RFC 1321's vectors, also where the program has restricted OpenSSL to FIPS algorithms. */
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "helpers/store_testing.h"
#include "storage/md5.h"

static void vectors(const char *when)
{
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "d41d8cd98f00b204e9800998ecf8427e"},
        {"a", "0cc175b9c0f1b6a831c399e269772661"},
        {"abc", "900150983cd24fb0d6963f7d28e17f72"},
        {"message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {"12345678901234567890123456789012345678901234567890123456789012345678901234567890", "57edf4a22be3c955ac49da2e2107b67a"},
    };
    for (size_t i = 0; i < BKT_COUNT(cases); i++) {
        unsigned char md[BKT_MD5_BYTES] = {0};
        char          hex[2 * BKT_MD5_BYTES + 1];
        CHECK(bkt_md5(cases[i].text, strlen(cases[i].text), md) == BKT_OK, "%s", when);
        for (size_t k = 0; k < sizeof md; k++)
            (void)snprintf(hex + 2 * k, 3, "%02x", md[k]);
        CHECK(strcmp(hex, cases[i].digest) == 0, "%s: '%s' has %s", when, cases[i].text, hex);
    }
}

int main(void)
{
    unsigned char md[EVP_MAX_MD_SIZE];
    unsigned      n = 0;
    vectors("as usual");
    bkt_store_shutdown();
    vectors("after the end");
    bkt_store_shutdown();
    CHECK(EVP_set_default_properties(NULL, "fips=yes") == 1, "the program restricts OpenSSL");
    CHECK(EVP_Digest("a", 1, md, &n, EVP_md5(), NULL) != 1, "the program has no MD5");
    vectors("FIPS only");
    bkt_store_shutdown();
    return failures != 0;
}
