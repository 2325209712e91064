/* A program that uses OpenSSL itself can go on after HDF5 has unloaded the connector, which used TLS before. */
#include <hdf5.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

#include "helpers/check.h"

static int is_loaded(void)
{
    char  line[4096];
    int   found = 0;
    FILE *f     = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, "libhdf5_vol_bucket.so") != NULL;
    if (f)
        (void)fclose(f);
    return found;
}

/* Nobody listens there, and TLS is set up before that is found. */
static void ask_by_tls(void)
{
    H5E_BEGIN_TRY
    {
        hid_t f = H5Fopen("https://127.0.0.1:1/bucket/x.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
        CHECK(f < 0, "a domain where nobody listens");
    }
    H5E_END_TRY
}

static void connect_and_end(void)
{
    SSL_CTX *c = SSL_CTX_new(TLS_client_method());
    SSL     *s = c ? SSL_new(c) : NULL;
    CHECK(s, "no connection of the program's own");
    SSL_free(s);
    SSL_CTX_free(c);
}

int main(void)
{
    for (int i = 0; i < 2; i++) { /* loaded again, it sets TLS up again */
        ask_by_tls();
        CHECK(is_loaded(), "the connector was not used");
        CHECK(H5close() >= 0, "H5close");
        if (is_loaded())
            return skip("this connector stays in memory (a sanitizer's is loaded ahead)");
        connect_and_end();
    }
    return failures != 0;
}
