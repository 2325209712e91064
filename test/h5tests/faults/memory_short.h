/* Memory that runs out only for the connector and the libraries that it uses.  The program that links this
 * has its own malloc() and similar functions.  HDF5's allocations, and the program's, never fail. */
#ifndef BKT_H5_MEMORY_SHORT_H
#define BKT_H5_MEMORY_SHORT_H

#include <stdbool.h>

/** From now on: the @p nth allocation (from 1) fails, and the @p more after it.  The connector must have been
 *  loaded. */
void memory_short_begin(long nth, long more);
/** No more of it.  How many allocations there were since. */
long memory_short_end(void);
/** Whether @p code lies in libcurl. */
bool memory_short_is_curl(const void *code);

#endif
