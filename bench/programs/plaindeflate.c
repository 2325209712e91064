/* plaindeflate URL MIB CONNECTIONS: deflate chunks of 1 MiB by level 1 and PUT them, with the connector's
 * encoder and plain libcurl, as a program could do by itself.  Each of CONNECTIONS threads takes the next
 * chunk, deflates it and sends it.  As many chunks are deflated at once as there are processors.  Prints the
 * seconds that this took, and CPU seconds. */
#include <curl/curl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "field.h"
#include "chunk/filter/filters_impl.h"
#include "plain.h"

#define CHUNK ((size_t)SIDE * SIDE * sizeof(float))

static const char        *base;
static const float       *data;
static size_t             n_chunks;
static atomic_size_t      next_chunk;
static atomic_bool        failed;
static sem_t              processors;
static struct curl_slist *no_expect;

struct body {
    const unsigned char *p;
    size_t               left;
};

static size_t give(char *to, size_t size, size_t n, void *ctx)
{
    struct body *b = ctx;
    n = n * size < b->left ? n * size : b->left;
    memcpy(to, b->p, n);
    b->p += n, b->left -= n;
    return n;
}

static size_t ignore(char *p, size_t size, size_t n, void *ctx)
{
    (void)p, (void)ctx;
    return size * n;
}

static int deflate_one(size_t k, struct bkt_buf *out)
{
    struct bkt_err  err = {.n = 0};
    struct bkt_span in  = {(const unsigned char *)data + k * CHUNK, CHUNK};
    (void)sem_wait(&processors);
    int rc = bkt_zlib_encode(in, 1, out, &err);
    (void)sem_post(&processors);
    return rc;
}

static void *work(void *arg)
{
    CURL *easy = plain_handle();
    (void)arg;
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, give);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 256L * 1024);
    curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, no_expect);
    for (size_t k; !atomic_load(&failed) && (k = atomic_fetch_add(&next_chunk, 1)) < n_chunks;) {
        struct bkt_buf out = {.len = 0};
        char           url[2048];
        if (deflate_one(k, &out) < 0)
            atomic_store(&failed, true);
        struct body b = {out.ptr, out.len};
        (void)snprintf(url, sizeof url, "%s/%zu", base, k);
        curl_easy_setopt(easy, CURLOPT_URL, url);
        curl_easy_setopt(easy, CURLOPT_READDATA, &b);
        curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)out.len);
        if (curl_easy_perform(easy) != CURLE_OK)
            atomic_store(&failed, true);
        bkt_buf_fini(&out);
    }
    curl_easy_cleanup(easy);
    return NULL;
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    pthread_t threads[1024];
    if (argc != 4)
        return fprintf(stderr, "usage: plaindeflate URL MIB CONNECTIONS\n"), 2;
    size_t n  = strtoul(argv[3], NULL, 10);
    base      = argv[1];
    n_chunks  = strtoul(argv[2], NULL, 10);
    data      = field(n_chunks * SIDE * SIDE);
    no_expect = curl_slist_append(NULL, "Expect:");
    plain_init();
    if (!data || n > 1024 || sem_init(&processors, 0, (unsigned)sysconf(_SC_NPROCESSORS_ONLN)) != 0)
        return 1;
    double begin = seconds(CLOCK_MONOTONIC), worked = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            return 1;
    for (size_t i = 0; i < n; i++)
        (void)pthread_join(threads[i], NULL);
    printf("%.3f %.3f\n", seconds(CLOCK_MONOTONIC) - begin, seconds(CLOCK_PROCESS_CPUTIME_ID) - worked);
    return atomic_load(&failed);
}
