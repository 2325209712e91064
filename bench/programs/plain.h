/* Shared by plainfetch and plainput: transfers over a fixed number of connections.  Each takes the next job
 * when it has finished one. */
#ifndef PLAIN_H
#define PLAIN_H

#include <curl/curl.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct plain_job { /* the first member of a program's own; CURLOPT_PRIVATE */
    char  *key;
    size_t size, done; /* bytes */
};

static X509_STORE     *plain_trusted; /* CURL_CA_BUNDLE's certificates; NULL: those that libcurl trusts */
static CURLSH         *plain_share;
static pthread_mutex_t plain_lock = PTHREAD_MUTEX_INITIALIZER;

static inline void plain_on_lock(CURL *easy, curl_lock_data what, curl_lock_access how, void *arg)
{
    (void)easy, (void)what, (void)how, (void)arg;
    (void)pthread_mutex_lock(&plain_lock);
}

static inline void plain_on_unlock(CURL *easy, curl_lock_data what, void *arg)
{
    (void)easy, (void)what, (void)arg;
    (void)pthread_mutex_unlock(&plain_lock);
}

static inline CURLcode plain_on_context(CURL *easy, void *context, void *arg)
{
    (void)easy, (void)arg;
    SSL_CTX_set1_cert_store(context, plain_trusted);
    return CURLE_OK;
}

/** Call first, in main(). */
static inline void plain_init(void)
{
    const char *ca = getenv("CURL_CA_BUNDLE");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    plain_share = curl_share_init();
    curl_share_setopt(plain_share, CURLSHOPT_LOCKFUNC, plain_on_lock);
    curl_share_setopt(plain_share, CURLSHOPT_UNLOCKFUNC, plain_on_unlock);
    curl_share_setopt(plain_share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    plain_trusted = ca ? X509_STORE_new() : NULL;
    if (plain_trusted && X509_STORE_load_locations(plain_trusted, ca, NULL) != 1)
        exit(3);
}

/** A handle as a program would have it that means to be fast over https: certificates are parsed once for all
 * connections, and sessions are resumed. */
static inline CURL *plain_handle(void)
{
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_SHARE, plain_share);
    if (plain_trusted) {
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
        curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
        curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, plain_on_context);
    }
    return easy;
}

/** @p start sets a handle up for the next job and adds it; false: no job is left.  @return exit code */
static inline int plain_run(bool (*start)(CURLM *multi, CURL *easy), long connections)
{
    CURLM *multi   = curl_multi_init();
    int    running = 0, left;
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, connections);
    while (running < connections && start(multi, plain_handle()))
        running++;
    while (running) {
        curl_multi_perform(multi, &running);
        for (CURLMsg *m; (m = curl_multi_info_read(multi, &left));) {
            CURL             *easy = m->easy_handle;
            struct plain_job *j    = NULL;
            curl_easy_getinfo(easy, CURLINFO_PRIVATE, &j);
            if (m->data.result != CURLE_OK || j->done != j->size)
                return fprintf(stderr, "%s: %s\n", j->key, curl_easy_strerror(m->data.result)), 1;
            curl_multi_remove_handle(multi, easy);
            if (start(multi, easy))
                running = 1;
        }
        if (running)
            curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
    return 0;
}

#endif
