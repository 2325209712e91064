/* samplesread REPOSITORY RECORDS BATCH [OUT]: read samples in batches by libh5bucket_samples, as a training job does.
 *
 * RECORDS is a file with a record a line.  Each sample gets its own buffer, as long as it is; two sets of buffers are used
 * in turns.  Prints a checksum of each sample's first and last bytes, and the seconds of the reads.  With OUT, the bytes of
 * the samples are written there, and for each sample that failed there is a line on stdout. */
#include <h5bucket_samples.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seconds.h"

static struct h5bucket_sample *samples;
static size_t                  n_samples, batch;
static FILE                   *out;
static uint64_t                sum;

static void die(const char *what)
{
    fprintf(stderr, "samplesread: %s failed\n", what);
    H5Eprint2(H5E_DEFAULT, stderr);
    exit(1);
}

static void read_list(const char *name)
{
    char  line[512];
    FILE *f = fopen(name, "r");
    if (!f)
        die(name);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        samples = realloc(samples, (n_samples + 1) * sizeof *samples);
        samples[n_samples++] = (struct h5bucket_sample){.record = strdup(line)};
    }
    fclose(f);
}

/* Bytes of a sample: its record has the shape; the type's size is asked for once per file. */
static size_t size_of(h5bucket_repository *repo, const char *record)
{
    static char   uid[H5BUCKET_UID_MAX];
    static size_t elem;
    struct h5bucket_record r;
    hid_t type;
    size_t n = 1;
    if (h5bucket_sample_info(repo, record, NULL, &r) < 0)
        return 0;
    if (strcmp(uid, r.uid) != 0) {
        elem = h5bucket_sample_info(repo, record, &type, NULL) < 0 ? 0 : H5Tget_size(type);
        if (elem)
            H5Tclose(type);
        snprintf(uid, sizeof uid, "%s", r.uid);
    }
    for (int i = 0; i < r.rank; i++)
        n *= r.shape[i];
    return n * elem;
}

/* Buffers come from two pools in turns, as those of a loader with one batch in use. */
static void give_buffers(h5bucket_repository *repo, size_t from, size_t n)
{
    static struct {
        char  *p;
        size_t room;
    } pools[2];
    static unsigned turn;
    size_t total = 0, at = 0, i;
    for (i = from; i < from + n; i++)
        total += samples[i].size = size_of(repo, samples[i].record);
    turn ^= 1;
    if (total > pools[turn].room) {
        free(pools[turn].p);
        pools[turn].p    = malloc(total);
        pools[turn].room = total;
    }
    for (i = from; i < from + n; at += samples[i++].size)
        samples[i].buffer = pools[turn].p + at;
}

static void use(const struct h5bucket_sample *s)
{
    const unsigned char *p = s->buffer;
    for (size_t i = 0; s->status >= 0 && i < 16 && i < s->size; i++)
        sum = sum * 1099511628211U + p[i] * 256U + p[s->size - 1 - i];
    if (out && s->status < 0)
        printf("%s\n", s->error);
    else if (out)
        fwrite(p, 1, s->size, out);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return fprintf(stderr, "usage: samplesread REPOSITORY RECORDS BATCH [OUT]\n"), 2;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    read_list(argv[2]);
    batch = strtoul(argv[3], NULL, 10);
    out   = argc > 4 ? fopen(argv[4], "wb") : NULL;
    h5bucket_repository *repo = h5bucket_repository_open(argv[1], NULL);
    if (!repo)
        die("h5bucket_repository_open");
    double begin = seconds();
    for (size_t i = 0; i < n_samples; i += batch) {
        size_t n = n_samples - i < batch ? n_samples - i : batch;
        give_buffers(repo, i, n);
        if (h5bucket_sample_read_many(repo, n, samples + i, H5I_INVALID_HID) < 0 && !out)
            die("h5bucket_sample_read_many");
        for (size_t j = i; j < i + n; j++)
            use(&samples[j]);
    }
    double took = seconds() - begin;
    if (h5bucket_repository_close(repo) < 0 || (out && fclose(out) != 0))
        die("close");
    printf("%016" PRIx64 " %.6f\n", sum, took);
    return 0;
}
