/* Programs may call H5close() and begin again, as often as they like: no memory stays of the stores of
 * before. */
#include <malloc.h>
#include <stdio.h>

#include "base/settings.h"
#include "helpers/check.h"
#include "storage/store.h"

static void one_life(int i)
{
    struct bkt_settings set = {0};
    struct bkt_store *st = NULL;
    char uri[64];
    (void)snprintf(uri, sizeof uri, "s3://bucket-%d", i);
    REQUIRE(bkt_settings_init(&set, "anonymous=yes;region=us-east-1", NULL) == BKT_OK, "no settings");
    CHECK(bkt_store_open(uri, &set, &st, NULL) == BKT_OK, "%s", uri);
    bkt_store_close(st);
    bkt_settings_fini(&set);
    bkt_store_shutdown();
}

int main(void)
{
    enum { LIVES = 200 };
    for (int i = 0; i < 20; i++)
        one_life(i);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < LIVES; i++)
        one_life(100 + i);
    size_t after = mallinfo2().uordblks;
    CHECK(after <= before + LIVES * 16, "%zu bytes stay of each life", (after - before) / LIVES);
    return failures ? 1 : 0;
}
