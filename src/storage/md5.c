#include "storage/md5.h"

#include <openssl/evp.h>
#include <openssl/provider.h>

#include "storage/store_impl.h"

/* A context of our own: the program's may allow FIPS algorithms only, by configuration. */
static OSSL_LIB_CTX *ctx;
static OSSL_PROVIDER *provider;
static EVP_MD        *md5;

static EVP_MD *fetched(void)
{
    bkt_state_lock();
    if (!ctx && (ctx = OSSL_LIB_CTX_new()) && (provider = OSSL_PROVIDER_load(ctx, "default")))
        md5 = EVP_MD_fetch(ctx, "MD5", "-fips");
    EVP_MD *got = md5;
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

void bkt_md5_shutdown(void)
{
    EVP_MD_free(md5);
    if (provider)
        (void)OSSL_PROVIDER_unload(provider);
    OSSL_LIB_CTX_free(ctx);
    md5      = NULL;
    provider = NULL;
    ctx      = NULL;
}
