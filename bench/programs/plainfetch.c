/* plainfetch URL LIST CONNECTIONS: fetch ranges in parallel, and do nothing with them; readers are compared
 * with it.  LIST has lines "key offset length"; the bytes go one after the other into one buffer, as a
 * reader's would. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plain.h"

struct range {
    struct plain_job job;
    uint64_t         offset;
    char            *to;
};

static struct range *ranges;
static size_t        n_ranges, next_range;
static const char   *base;

static size_t take(char *p, size_t size, size_t n, void *ctx)
{
    struct range *r = ctx;
    n *= size;
    if (n > r->job.size - r->job.done)
        return 0;
    memcpy(r->to + r->job.done, p, n);
    r->job.done += n;
    return n;
}

static bool start(CURLM *multi, CURL *easy)
{
    if (next_range == n_ranges)
        return false;
    struct range *r = &ranges[next_range++];
    char          url[2048], range[64];
    snprintf(url, sizeof url, "%s/%s", base, r->job.key);
    snprintf(range, sizeof range, "%llu-%llu", (unsigned long long)r->offset, (unsigned long long)(r->offset + r->job.size - 1));
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_RANGE, range);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, r);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, r);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 512L * 1024);
    curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    return curl_multi_add_handle(multi, easy) == CURLM_OK;
}

static void read_list(const char *name)
{
    FILE    *f = fopen(name, "r");
    char     key[1024];
    uint64_t total = 0;
    unsigned long long offset, length;
    while (f && fscanf(f, "%1023s %llu %llu", key, &offset, &length) == 3) {
        ranges             = realloc(ranges, (n_ranges + 1) * sizeof *ranges);
        ranges[n_ranges++] = (struct range){{strdup(key), (size_t)length, 0}, offset, NULL};
        total += length;
    }
    char *to = malloc(total ? total : 1);
    for (size_t i = 0; i < n_ranges; to += ranges[i++].job.size)
        ranges[i].to = to;
    if (f)
        fclose(f);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return fprintf(stderr, "usage: plainfetch URL LIST CONNECTIONS\n"), 2;
    base = argv[1];
    read_list(argv[2]);
    plain_init();
    return n_ranges == 0 || plain_run(start, strtol(argv[3], NULL, 10));
}
