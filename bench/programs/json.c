/* bench_json [LINKS]: the CPU time of parsing, as usual and with the links as a tree; the best of 5.
 *
 * The documents are a group with LINKS links (100,000), and 10,000 small datasets as `h5bucket load --link`
 * stores them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "schema/json/schema_json.h"

#define HALF "b03b24ef-69f244b6"

static double cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void make_group(struct bkt_buf *out, unsigned n)
{
    int rc = bkt_buf_addf(out, "{\"id\": \"g-" HALF "-38b3-ac67e1-7acc3e\", \"root\": \"g-" HALF "-38b3-ac67e1-7acc3e\", "
                               "\"created\": 1763800000.123456, \"lastModified\": 1763800000.123456, \"links\": {");
    for (unsigned i = 0; rc == BKT_OK && i < n; i++)
        rc = bkt_buf_addf(out, "%s\"d%06u\": {\"id\": \"d-" HALF "-%04x-%06x-89ba79\", \"class\": \"H5L_TYPE_HARD\", \"created\": %.7f}",
                          i ? ", " : "", i, i & 0xffff, i, 1763800000 + i * 0.0001234);
    if (rc < 0 || bkt_buf_add_str(out, "}, \"attributes\": {}}") < 0)
        abort();
}

static void make_dataset(struct bkt_buf *out)
{
    if (bkt_buf_add_str(out,
                        "{\"id\": \"d-" HALF "-56e5-25125a-89ba79\", \"root\": \"g-" HALF "-38b3-ac67e1-7acc3e\", "
                        "\"created\": 1763800000.123456, \"lastModified\": 1763800000.123456, "
                        "\"type\": {\"class\": \"H5T_FLOAT\", \"base\": \"H5T_IEEE_F32LE\"}, "
                        "\"shape\": {\"class\": \"H5S_SIMPLE\", \"dims\": [16]}, \"attributes\": {}, "
                        "\"creationProperties\": {\"fillTime\": \"H5D_FILL_TIME_IFSET\", \"allocTime\": \"H5D_ALLOC_TIME_LATE\", "
                        "\"layout\": {\"class\": \"H5D_CONTIGUOUS\"}}, "
                        "\"layout\": {\"class\": \"H5D_CONTIGUOUS_REF\", \"file_uri\": \"bucket/data/tiny.h5\", \"offset\": 2048, "
                        "\"size\": 64, \"file_etag\": \"0123456789abcdef\"}}") < 0)
        abort();
}

static double best(const struct bkt_buf *json, unsigned times, int tree)
{
    double least = 1e9;
    for (int round = 0; round < 5; round++) {
        double from = cpu();
        for (unsigned i = 0; i < times; i++) {
            struct bkt_object *o  = NULL;
            int                rc = (tree ? bkt_object_parse_tree : bkt_object_parse)(json->ptr, json->len, NULL, &o, NULL);
            if (rc < 0)
                abort();
            bkt_object_free(o);
        }
        double took = cpu() - from;
        least       = took < least ? took : least;
    }
    return least * 1e3;
}

int main(int argc, char **argv)
{
    unsigned       n     = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 100000;
    struct bkt_buf group = {0}, dset = {0};
    make_group(&group, n);
    make_dataset(&dset);
    printf("%u links (%zu bytes): %.1f ms, as a tree %.1f ms\n", n, group.len, best(&group, 1, 0), best(&group, 1, 1));
    printf("10000 datasets of %zu bytes: %.1f ms, as a tree %.1f ms\n", dset.len, best(&dset, 10000, 0), best(&dset, 10000, 1));
    bkt_buf_fini(&group);
    bkt_buf_fini(&dset);
    return 0;
}
