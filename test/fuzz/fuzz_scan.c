/* Fuzz target: our scanner of JSON and jansson's parser agree on any bytes. */
#include <stdlib.h>

#include "unit/schema/json/scan_same.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    const char *what = ways_differ(data, size);
    if (what) {
        (void)fprintf(stderr, "%s: %.*s\n", what, (int)size, (const char *)data);
        abort();
    }
    return 0;
}
