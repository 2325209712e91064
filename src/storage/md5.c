#include "storage/md5.h"

#include <stdatomic.h>

#include <openssl/evp.h>
#include <openssl/provider.h>

#include "base/bytes.h"
#include "storage/store_impl.h"

/* A separate context: the program's may allow FIPS algorithms only, by configuration. */
static OSSL_LIB_CTX *ctx;
static OSSL_PROVIDER *provider;
static _Atomic(EVP_MD *) md5; /* set once; if it failed, the next digest tries again */

static EVP_MD *fetched(void)
{
    EVP_MD *got = atomic_load(&md5);
    if (got)
        return got;
    bkt_state_lock();
    if (!ctx)
        ctx = OSSL_LIB_CTX_new();
    if (ctx && !provider)
        provider = OSSL_PROVIDER_load(ctx, "default");
    if (provider && !(got = atomic_load(&md5)))
        atomic_store(&md5, got = EVP_MD_fetch(ctx, "MD5", "-fips"));
    bkt_state_unlock();
    return got;
}

int bkt_md5(const void *p, size_t n, unsigned char digest[BKT_MD5_BYTES])
{
    const EVP_MD *md = fetched();
    if (!md)
        return BKT_EUNSUP;
    return EVP_Digest(n ? p : "", n, digest, NULL, md, NULL) == 1 ? BKT_OK : BKT_ENOMEM;
}

int bkt_md5_hex(const void *p, size_t n, char hex[2 * BKT_MD5_BYTES + 1])
{
    unsigned char digest[BKT_MD5_BYTES];
    BKT_PASS(bkt_md5(p, n, digest));
    bkt_hex(digest, sizeof digest, hex);
    return BKT_OK;
}

void bkt_md5_shutdown(void)
{
    EVP_MD_free(atomic_exchange(&md5, NULL));
    if (provider)
        (void)OSSL_PROVIDER_unload(provider);
    OSSL_LIB_CTX_free(ctx);
    provider = NULL;
    ctx      = NULL;
}
