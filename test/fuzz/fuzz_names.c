/* Fuzz target: lists of commits, and schemas as Python's literals.  Parsed ones are safe to use. */
#include <stdlib.h>
#include <string.h>

#include "samples/names/literal.h"
#include "samples/names/repository_names.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void use_schema(struct bkt_literal text)
{
    struct bkt_literal value;
    char               word[8];
    int                rank;
    hsize_t            shape[H5S_MAX_RANK];
    struct bkt_err     err = {.n = 0};
    if (bkt_literal_check(text, &err) < 0) {
        if (err.n == 0)
            abort();
        return;
    }
    if (bkt_literal_find(text, "shape", &value) && bkt_literal_shape(value, &rank, shape) && (rank < 0 || rank > H5S_MAX_RANK))
        abort();
    if (bkt_literal_find(text, "dtype", &value) && bkt_literal_text(value, word, sizeof word) && strlen(word) >= sizeof word)
        abort();
}

static void use_list(const unsigned char *data, size_t size)
{
    struct bkt_commit c;
    struct bkt_err    err = {.n = 0};
    size_t            n   = 0;
    if (bkt_commit_parse(data, size, &c, &err) < 0) {
        if (err.n == 0)
            abort();
    } else {
        for (size_t i = 0; i < c.n_columns; i++) {
            const struct bkt_sample_column *column = &c.columns[i];
            n += column->n;
            for (size_t k = column->first; k < column->first + column->n; k++)
                if (!bkt_commit_sample(&c, column, c.samples[k].sample, c.samples[k].sub))
                    abort();
        }
        if (n != c.n_samples)
            abort();
    }
    bkt_commit_fini(&c);
}

/* A list that is not compressed is a blosc frame of a header and the bytes. */
static void use_plain_list(const unsigned char *data, size_t size)
{
    unsigned char *frame = calloc(size + 16, 1);
    if (!frame || size > 4096) {
        free(frame);
        return;
    }
    frame[0] = 2, frame[1] = 1, frame[2] = 2, frame[3] = 1; /* copied, not compressed */
    bkt_put_le(frame + 4, 4, size);
    bkt_put_le(frame + 8, 4, size);
    bkt_put_le(frame + 12, 4, size + 16);
    memcpy(frame + 16, data, size);
    use_list(frame, size + 16);
    free(frame);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    use_schema((struct bkt_literal){(const char *)data, size});
    use_list(data, size);
    use_plain_list(data, size);
    return 0;
}
