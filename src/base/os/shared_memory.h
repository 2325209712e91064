/* Memory that several processes of this machine have in common, by a name (POSIX shared memory). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Characters of a name, with its NUL. */
#define BKT_SHARED_NAME 64

/** Make memory of @p bytes zeros.  Its room is reserved, since a write without room would end the process.
 *  @param name  gets a new name, under which others find the memory until bkt_shared_memory_hide()
 *  @return bkt_shared_memory_free(); NULL: the system has no room for it */
void *bkt_shared_memory_make(size_t bytes, char name[BKT_SHARED_NAME]);
/** Get the memory of that name.  As above. */
void *bkt_shared_memory_find(const char *name, size_t bytes);
/** Nobody finds the memory any more.  It lasts until the last process has freed it.  "" is fine. */
void bkt_shared_memory_hide(const char *name);
void bkt_shared_memory_free(void *memory, size_t bytes); /* NULL is fine */
