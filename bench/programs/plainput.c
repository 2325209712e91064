/* plainput URL LIST CONNECTIONS [copy]: PUT files in parallel; writers are compared with it.  LIST has lines
 * "key path"; all files are read into memory first.  "copy": each file is copied before it is sent.  A writer
 * has to do so if its caller may use the buffer again.  Prints the seconds that the PUTs took, and their CPU
 * seconds. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plain.h"

struct object {
    struct plain_job job;
    char            *data, *sent; /* the same, or a copy */
};

static struct object *objects;
static size_t         n_objects, next_object;
static const char    *base;
static bool           copies;

static size_t give(char *p, size_t size, size_t n, void *ctx)
{
    struct object *o = ctx;
    n *= size;
    n = n < o->job.size - o->job.done ? n : o->job.size - o->job.done;
    memcpy(p, o->sent + o->job.done, n);
    o->job.done += n;
    return n;
}

static size_t ignore(char *p, size_t size, size_t n, void *ctx)
{
    (void)p, (void)ctx;
    return size * n;
}

static bool start(CURLM *multi, CURL *easy)
{
    struct object *before = NULL;
    char           url[2048];
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &before);
    if (before && copies)
        free(before->sent);
    if (next_object == n_objects)
        return false;
    struct object *o = &objects[next_object++];
    o->sent          = copies ? malloc(o->job.size + 1) : o->data;
    if (copies)
        memcpy(o->sent, o->data, o->job.size);
    snprintf(url, sizeof url, "%s/%s", base, o->job.key);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, give);
    curl_easy_setopt(easy, CURLOPT_READDATA, o);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)o->job.size);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, o);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, 256L * 1024);
    curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    static struct curl_slist *no_expect;
    if (!no_expect)
        no_expect = curl_slist_append(NULL, "Expect:");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, no_expect);
    return curl_multi_add_handle(multi, easy) == CURLM_OK;
}

static void read_list(const char *name)
{
    FILE *f = fopen(name, "r");
    char  key[1024], path[1024];
    while (f && fscanf(f, "%1023s %1023s", key, path) == 2) {
        FILE *in = fopen(path, "rb");
        if (!in)
            exit(1);
        objects          = realloc(objects, (n_objects + 1) * sizeof *objects);
        struct object *o = &objects[n_objects++];
        (void)fseek(in, 0, SEEK_END);
        *o = (struct object){{strdup(key), (size_t)ftell(in), 0}, NULL, NULL};
        rewind(in);
        o->data = malloc(o->job.size + 1);
        if (fread(o->data, 1, o->job.size, in) != o->job.size)
            exit(1);
        fclose(in);
    }
    if (f)
        fclose(f);
}

static double seconds(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

int main(int argc, char **argv)
{
    struct timespec a, b, worked, work;
    if (argc != 4 && (argc != 5 || strcmp(argv[4], "copy") != 0))
        return fprintf(stderr, "usage: plainput URL LIST CONNECTIONS [copy]\n"), 2;
    base   = argv[1];
    copies = argc == 5;
    read_list(argv[2]);
    plain_init();
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &worked);
    (void)clock_gettime(CLOCK_MONOTONIC, &a);
    int rc = plain_run(start, strtol(argv[3], NULL, 10));
    (void)clock_gettime(CLOCK_MONOTONIC, &b);
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &work);
    printf("%.3f %.3f\n", seconds(&a, &b), seconds(&worked, &work));
    return rc;
}
