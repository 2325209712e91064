/* The table of verbs; each row is in the file of its verb. */
#include <string.h>

#include "tools/cli/tool.h"

const struct bkt_verb *const bkt_verbs[] = {
#define X(name) &bkt_verb_##name,
    BKT_VERBS(X)
#undef X
};
const size_t bkt_n_verbs =
    sizeof bkt_verbs / sizeof(bkt_verbs[0]); /* NOLINT(bugprone-sizeof-expression): pointers */

const struct bkt_verb *bkt_verb_find(const char *name)
{
    for (size_t i = 0; i < bkt_n_verbs; i++)
        if (strcmp(bkt_verbs[i]->name, name) == 0)
            return bkt_verbs[i];
    return NULL;
}
