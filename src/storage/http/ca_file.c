#include "storage/http/ca_file.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/asn1.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "base/list.h"

struct entry {
    X509_NAME *subject;
    unsigned char *der; /* the certificate, OpenSSL's memory */
    long size;
    X509 *cert; /* NULL: not asked for, or not a valid certificate */
};

/* Released by its store. */
struct ca_file {
    struct entry *entries; /* only `cert` changes once a store has the file */
    size_t n, space;
    pthread_mutex_t lock; /* guards each `cert` */
};

static X509_LOOKUP_METHOD *method;
static _Atomic uint64_t n_parsed;

/* ---- the file ---- */

static void file_free(struct ca_file *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->n; i++) {
        X509_NAME_free(f->entries[i].subject);
        OPENSSL_free(f->entries[i].der);
        X509_free(f->entries[i].cert);
    }
    (void)pthread_mutex_destroy(&f->lock);
    free(f->entries);
    free(f);
}

/* Enter an element of BER at @p at, or pass it.  False: there is no element of that kind. */
static bool element(const unsigned char **at, const unsigned char *end, int tag, int class, bool enter)
{
    long size = 0;
    int got_tag = 0, got_class = 0;
    const unsigned char *p = *at;
    int flags = ASN1_get_object(&p, &size, &got_tag, &got_class, end - p);
    if (flags & 0x80 || flags & 1 || got_tag != tag || got_class != class || size > end - p)
        return false;
    *at = enter ? p : p + size;
    return true;
}

/* The subject of a certificate (RFC 5280, 4.1: Certificate, TBSCertificate).  NULL: not a certificate, or out
 * of memory. */
static X509_NAME *subject_of(const unsigned char *at, long size)
{
    const unsigned char *end = at + size;
    bool ok = element(&at, end, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL, true) &&
              element(&at, end, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL, true);
    if (ok)
        (void)element(&at, end, 0, V_ASN1_CONTEXT_SPECIFIC, false); /* version; absent in version 1 */
    ok = ok && element(&at, end, V_ASN1_INTEGER, V_ASN1_UNIVERSAL, false) && /* serial number */
         element(&at, end, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL, false) &&      /* signature's algorithm */
         element(&at, end, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL, false) &&      /* issuer */
         element(&at, end, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL, false);        /* validity */
    return ok ? d2i_X509_NAME(NULL, &at, end - at) : NULL;
}

/* Takes the bytes in any case. */
static bool add_entry(struct ca_file *f, unsigned char *der, long size)
{
    X509_NAME *subject = subject_of(der, size);
    if (!subject || bkt_list_room(&f->entries, f->n, &f->space, sizeof *f->entries) < 0) {
        X509_NAME_free(subject);
        OPENSSL_free(der);
        return false;
    }
    f->entries[f->n++] = (struct entry){subject, der, size, NULL};
    return true;
}

/* Whether the file could be read up to its end and holds certificates only. */
static bool read_entries(struct ca_file *f, BIO *in)
{
    char *kind = NULL, *header = NULL;
    unsigned char *der = NULL;
    long size = 0;
    bool only_certs = true;
    while (only_certs && PEM_read_bio(in, &kind, &header, &der, &size) == 1) {
        only_certs =
            (strcmp(kind, PEM_STRING_X509) == 0 || strcmp(kind, PEM_STRING_X509_OLD) == 0) && !*header;
        if (only_certs)
            only_certs = add_entry(f, der, size);
        else
            OPENSSL_free(der);
        OPENSSL_free(kind);
        OPENSSL_free(header);
    }
    return only_certs && f->n && ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
}

/* NULL: the file has to be loaded whole. */
static struct ca_file *file_read(const char *path)
{
    struct ca_file *f = calloc(1, sizeof *f);
    if (!f || pthread_mutex_init(&f->lock, NULL) != 0) {
        free(f);
        return NULL;
    }
    BIO *in = BIO_new_file(path, "r");
    bool ok = in && read_entries(f, in);
    BIO_free(in);
    if (ok)
        return f;
    file_free(f);
    return NULL;
}

/* ---- OpenSSL's lookup ---- */

/* The certificate of an entry, parsed and added to the store at most once.  NULL: it is not valid.  File's
 * lock held. */
static X509 *entry_cert(struct entry *e, X509_STORE *store)
{
    const unsigned char *der = e->der;
    if (e->cert)
        return e->cert;
    atomic_fetch_add(&n_parsed, 1);
    X509 *cert = d2i_X509(NULL, &der, e->size);
    if (cert && X509_STORE_add_cert(store, cert) == 1)
        return e->cert = cert;
    X509_free(cert);
    return NULL;
}

/* All certificates with this subject go to the store, since OpenSSL tries each of them there.  The first is
 * the result.  OpenSSL's caller of this function takes a reference to the result once more: the manual page
 * X509_LOOKUP_meth_set_get_by_subject() asks to drop the first. */
static int by_subject(X509_LOOKUP *lookup, X509_LOOKUP_TYPE type, const X509_NAME *name, X509_OBJECT *out)
{
    struct ca_file *f = X509_LOOKUP_get_method_data(lookup);
    X509 *first = NULL;
    if (type != X509_LU_X509)
        return 0;
    (void)ERR_set_mark();
    (void)pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < f->n; i++)
        if (X509_NAME_cmp(f->entries[i].subject, name) == 0) {
            X509 *cert = entry_cert(&f->entries[i], X509_LOOKUP_get_store(lookup));
            first = first ? first : cert;
        }
    (void)pthread_mutex_unlock(&f->lock);
    int found = first && X509_OBJECT_set1_X509(out, first) == 1;
    if (found)
        X509_free(first);
    (void)ERR_pop_to_mark();
    return found;
}

static void on_free(X509_LOOKUP *lookup)
{
    file_free(X509_LOOKUP_get_method_data(lookup));
}

static X509_LOOKUP_METHOD *method_new(void)
{
    X509_LOOKUP_METHOD *m = X509_LOOKUP_meth_new("certificates of a file, by subject");
    if (m && X509_LOOKUP_meth_set_get_by_subject(m, by_subject) == 1 &&
        X509_LOOKUP_meth_set_free(m, on_free) == 1)
        return m;
    X509_LOOKUP_meth_free(m);
    return NULL;
}

/* ---- interface ---- */

bool bkt_ca_file_add(X509_STORE *store, const char *path)
{
    (void)ERR_set_mark();
    if (!method)
        method = method_new();
    struct ca_file *f = method ? file_read(path) : NULL;
    X509_LOOKUP *lookup = f ? X509_STORE_add_lookup(store, method) : NULL;
    (void)ERR_pop_to_mark();
    if (lookup)
        return X509_LOOKUP_set_method_data(lookup, f) == 1;
    file_free(f);
    return X509_STORE_load_locations(store, path, NULL) == 1;
}

uint64_t bkt_ca_file_parsed(void)
{
    return atomic_load(&n_parsed);
}

void bkt_ca_file_shutdown(void)
{
    X509_LOOKUP_meth_free(method);
    method = NULL;
}
