#include "h5tests/faults/memory_short.h"
#include "helpers/sanitizer.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* glibc's own functions, under names that no program replaces, or a sanitizer's */
#if UNDER_ASAN
#define __libc_malloc   __interceptor_malloc
#define __libc_calloc   __interceptor_calloc
#define __libc_realloc  __interceptor_realloc
#define __libc_memalign __interceptor_memalign
#endif
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static atomic_bool armed;
static atomic_long count, first, last;
static struct {
    uintptr_t from, to;
    bool      curl;
} code[32];
static size_t n_code;

static int add_code(struct dl_phdr_info *info, size_t size, void *arg)
{
    static const char *const names[] = {"libhdf5_vol_bucket", "libjansson", "libcurl", "libexpat", "libcrypto"};
    (void)size, (void)arg;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; info->dlpi_name && strstr(info->dlpi_name, names[i]) && k < info->dlpi_phnum; k++) {
            const ElfW(Phdr) *p = &info->dlpi_phdr[k];
            if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || n_code == sizeof code / sizeof *code)
                continue;
            code[n_code].from = info->dlpi_addr + p->p_vaddr;
            code[n_code].to   = code[n_code].from + p->p_memsz;
            code[n_code].curl = strstr(info->dlpi_name, "libcurl") != NULL;
            n_code++;
        }
    return 0;
}

void memory_short_begin(long nth, long more)
{
    n_code = 0;
    (void)dl_iterate_phdr(add_code, NULL);
    atomic_store(&count, 0);
    atomic_store(&first, nth);
    atomic_store(&last, nth + more);
    atomic_store(&armed, true);
}

long memory_short_end(void)
{
    atomic_store(&armed, false);
    return atomic_load(&count);
}

bool memory_short_is_curl(const void *at)
{
    for (size_t i = 0; i < n_code; i++)
        if (code[i].curl && (uintptr_t)at >= code[i].from && (uintptr_t)at < code[i].to)
            return true;
    return false;
}

static bool fails(const void *caller)
{
    if (!atomic_load(&armed))
        return false;
    for (size_t i = 0; i < n_code; i++)
        if ((uintptr_t)caller >= code[i].from && (uintptr_t)caller < code[i].to) {
            long n = atomic_fetch_add(&count, 1) + 1;
            if (n < atomic_load(&first) || n > atomic_load(&last))
                return false;
            errno = ENOMEM;
            return true;
        }
    return false;
}

#pragma GCC visibility push(default) /* the connector's calls come here, too */
#define CALLER __builtin_return_address(0)

void *malloc(size_t n) { return fails(CALLER) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails(CALLER) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return fails(CALLER) ? NULL : __libc_realloc(p, n); }
void *reallocarray(void *p, size_t n, size_t size)
{
    size_t all;
    if (__builtin_mul_overflow(n, size, &all) || fails(CALLER))
        return NULL;
    return __libc_realloc(p, all);
}
int posix_memalign(void **p, size_t align, size_t n)
{
    void *got = fails(CALLER) ? NULL : __libc_memalign(align, n);
    if (got)
        *p = got;
    return got ? 0 : ENOMEM;
}
char *strndup(const char *s, size_t n)
{
    size_t len = strnlen(s, n);
    char  *p   = fails(CALLER) ? NULL : __libc_malloc(len + 1);
    if (p) {
        memcpy(p, s, len);
        p[len] = 0;
    }
    return p;
}
char *strdup(const char *s)
{
    size_t len = strlen(s);
    char  *p   = fails(CALLER) ? NULL : __libc_malloc(len + 1);
    return p ? memcpy(p, s, len + 1) : NULL;
}
#pragma GCC visibility pop
