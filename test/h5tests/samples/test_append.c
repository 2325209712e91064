/* Writers and readers of one program: samples are read by their records as soon as they are flushed.
 *
 *     test_append FOLDER|s3://... [plain] */
#include <string.h>

#include "h5bucket_samples.h"
#include "h5tests/helpers/must_succeed.h"

#define N    40
#define MOST 24 /* elements of a sample */

static h5bucket_repository *repo;

/* A writer, its records, and the shapes of its samples. */
struct stream {
    struct h5bucket_samples_schema schema;
    h5bucket_samples *writer;
    int salt;
    char record[N][H5BUCKET_RECORD_MAX];
};

static struct stream streams[] = {
    {.schema = {.rank = 2, .shape = {4, 6}, .variable = true}, .salt = 1},
    {.schema = {.rank = 3, .shape = {2, 3, 4}, .backend = 1, .complib = "gzip", .complevel = 6}, .salt = 2},
    {.schema = {.rank = 0, .complib = "lzf"}, .salt = 3},
    {.schema = {.rank = 0, .backend = 1}, .salt = 4},
    {.schema = {.rank = 1, .shape = {0}, .backend = 1, .complib = "none"}, .salt = 5},
};
#define STREAMS (sizeof streams / sizeof *streams)

static size_t shape_of(const struct stream *s, int i, hsize_t *shape)
{
    size_t n = 1;
    for (int d = 0; d < s->schema.rank; d++) {
        shape[d] =
            s->schema.shape[d] - (s->schema.variable ? (hsize_t)(i + d) % (s->schema.shape[d] + 1) : 0);
        n *= shape[d];
    }
    return n;
}

static int value_of(const struct stream *s, int i, size_t k)
{
    return s->salt * 100000 + i * 100 + (int)k;
}

static void append(struct stream *s, int i)
{
    hsize_t shape[H5S_MAX_RANK];
    int v[MOST];
    size_t n = shape_of(s, i, shape);
    for (size_t k = 0; k < n; k++)
        v[k] = value_of(s, i, k);
    TRY(h5bucket_samples_append(s->writer, n ? v : NULL, s->schema.variable ? shape : NULL, s->record[i]));
}

static void check_values(const struct stream *s, int i, const int *got, const char *by)
{
    hsize_t shape[H5S_MAX_RANK];
    size_t n = shape_of(s, i, shape);
    for (size_t k = 0; k < n; k++)
        CHECK(got[k] == value_of(s, i, k), "%s, by %s: element %zu is %d", s->record[i], by, k, got[k]);
}

static void read_one(const struct stream *s, int i)
{
    int got[MOST] = {0};
    double as_double[MOST] = {0};
    TRY(h5bucket_sample_read(repo, s->record[i], -1, got, sizeof got));
    check_values(s, i, got, "one");
    TRY(h5bucket_sample_read(repo, s->record[i], H5T_NATIVE_DOUBLE, as_double, sizeof as_double));
    for (size_t k = 0; k < MOST; k++)
        got[k] = (int)as_double[k];
    check_values(s, i, got, "a converting call");
}

static void read_all(void)
{
    static int got[STREAMS * N][MOST];
    static struct h5bucket_sample batch[STREAMS * N];
    for (size_t j = 0; j < STREAMS * N; j++) /* in another order than they were written */
        batch[j] = (struct h5bucket_sample){.record = streams[j % STREAMS].record[(j * 7 / STREAMS) % N],
                                            .buffer = got[j],
                                            .size = sizeof got[j]};
    TRY(h5bucket_sample_read_many(repo, STREAMS * N, batch, -1));
    for (size_t j = 0; j < STREAMS * N; j++)
        check_values(&streams[j % STREAMS], (int)((j * 7 / STREAMS) % N), got[j], "many");
}

/* A refused append uses no place. */
static void refuse(struct stream *s)
{
    hsize_t too_large[H5S_MAX_RANK] = {99, 99, 99};
    int v[MOST] = {0};
    char record[H5BUCKET_RECORD_MAX];
    H5E_BEGIN_TRY
    {
        if (s->schema.rank)
            CHECK(h5bucket_samples_append(s->writer, v, too_large, record) < 0, "a shape that doesn't fit");
        if (s->schema.rank != 1)
            CHECK(h5bucket_samples_append(s->writer, NULL, NULL, record) < 0, "no elements");
    }
    H5E_END_TRY
}

static void open_all(void)
{
    for (size_t j = 0; j < STREAMS; j++) {
        streams[j].schema.type = H5T_NATIVE_INT;
        streams[j].writer = h5bucket_samples_open(repo, &streams[j].schema);
        if (!streams[j].writer)
            die("h5bucket_samples_open");
        TRY(h5bucket_samples_flush(streams[j].writer)); /* no file yet */
    }
}

static void write_all(void)
{
    for (int i = 0; i < N; i++)
        for (size_t j = 0; j < STREAMS; j++) {
            append(&streams[j], i);
            if (i % 8 == 3)
                refuse(&streams[j]);
            if (i % 8 != 7)
                continue;
            TRY(h5bucket_samples_flush(streams[j].writer));
            read_one(&streams[j], i);
            read_one(&streams[j], i / 2);
        }
}

/* Places are used one after the other. */
static void check_places(void)
{
    struct h5bucket_record r;
    for (size_t j = 0; j < STREAMS; j++)
        for (int i = 0; i < N; i++) {
            TRY(h5bucket_record_parse(streams[j].record[i], strlen(streams[j].record[i]), &r));
            CHECK(r.dataset == 0 && (int)r.row == i, "%s: sample %d", streams[j].record[i], i);
        }
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    const char *info = argc > 2 && strcmp(argv[2], "plain") == 0 ? "backend=file" : "";
    repo = h5bucket_repository_open(argv[1], info);
    if (!repo)
        die("h5bucket_repository_open");
    open_all();
    write_all();
    for (size_t j = 0; j < STREAMS; j++)
        TRY(h5bucket_samples_close(streams[j].writer));
    check_places();
    read_all();
    TRY(h5bucket_repository_close(repo));
    repo = h5bucket_repository_open(argv[1], "");
    if (!repo)
        die("h5bucket_repository_open");
    read_all();
    TRY(h5bucket_repository_close(repo));
    return failures != 0;
}
