/* Fuzz target: parsed and emitted JSON parses to the same object, and emitting that gives the same text. */
#include <stdlib.h>
#include <string.h>

#include "schema/json/documents.h"
#include "unit/schema/json/model_equal.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(const struct bkt_object *o)
{
    struct bkt_object *again = NULL;
    struct bkt_buf     text = {0}, text2 = {0};
    struct bkt_err     err = {.n = 0};
    int                rc  = bkt_object_emit(o, &text, &err);
    if (rc < 0) { /* anything else than a value or a link of a known class can't be made again */
        if (rc != BKT_EFORMAT && rc != BKT_EUNSUP && rc != BKT_EINVAL)
            abort();
        bkt_buf_fini(&text);
        return;
    }
    rc = bkt_object_parse(text.ptr, text.len, &o->id, &again, &err);
    const char *differs = rc < 0 ? (err.n ? err.frame[0].msg : "?") : object_differs(o, again);
    if (differs) {
        (void)fprintf(stderr, "%s\n%s\n", differs, bkt_buf_str(&text));
        abort();
    }
    if (bkt_object_emit(again, &text2, NULL) < 0 || !same_bytes(&text, &text2))
        abort();
    bkt_object_free(again);
    bkt_buf_fini(&text);
    bkt_buf_fini(&text2);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    struct bkt_object *o = NULL;
    if (bkt_object_parse(data, size, NULL, &o, NULL) < 0)
        return 0;
    check(o);
    bkt_object_free(o);
    return 0;
}
