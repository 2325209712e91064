#include "base/os/shared_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/random.h"

/* Memory is made only if this many times as much is free. */
#define SPARED 4

static void *map(int fd, size_t bytes)
{
    void *p = fd >= 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    return p == MAP_FAILED ? NULL : p;
}

/* The room has other users: MPI needs it, too, and a write of another program without room would end it. */
static bool reserve(int fd, size_t bytes)
{
    struct statvfs st;
    return fstatvfs(fd, &st) == 0 && st.f_bavail / SPARED >= bytes / st.f_frsize + 1 &&
           posix_fallocate(fd, 0, (off_t)bytes) == 0;
}

void *bkt_shared_memory_make(size_t bytes, char name[BKT_SHARED_NAME])
{
    (void)snprintf(name, BKT_SHARED_NAME, "/h5bucket-%ld-%016llx", (long)getpid(),
                   (unsigned long long)bkt_random());
    int fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    void *p = fd >= 0 && reserve(fd, bytes) ? map(fd, bytes) : NULL;
    if (fd >= 0)
        (void)close(fd);
    if (!p) {
        bkt_shared_memory_hide(fd >= 0 ? name : "");
        name[0] = 0;
    }
    return p;
}

void *bkt_shared_memory_find(const char *name, size_t bytes)
{
    struct stat st;
    int fd = name[0] ? shm_open(name, O_RDWR | O_CLOEXEC, 0) : -1;
    bool whole = fd >= 0 && fstat(fd, &st) == 0 && (unsigned long long)st.st_size >= bytes;
    void *p = whole ? map(fd, bytes) : NULL;
    if (fd >= 0)
        (void)close(fd);
    return p;
}

void bkt_shared_memory_hide(const char *name)
{
    if (name[0])
        (void)shm_unlink(name);
}

void bkt_shared_memory_free(void *memory, size_t bytes)
{
    if (memory)
        (void)munmap(memory, bytes);
}
