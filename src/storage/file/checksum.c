/* Whether the bytes of a file are those that were stored: see storage/http/answer.c.
 *
 * The CRC-32C lies in an extended attribute, set before the file gets its name, so that a copy with
 * attributes keeps it.  Other programs write into such a file in place (HSDS's POSIX driver does).  So the
 * attribute also holds the file's size and time.  If these are not the file's any more, the sum is ignored.
 * A file system without extended attributes has no sums. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/crc32c.h"
#include "storage/file/file_impl.h"

#define NAME "user.h5bucket.crc32c"
#define TEXT 48 /* sum, size, time in ns: 8, 16 and 16 digits, and blanks */

static void text_of(uint32_t sum, const struct stat *sb, char text[TEXT])
{
    (void)snprintf(text, TEXT, "%08x %llx %llx", sum, (unsigned long long)sb->st_size,
                   (unsigned long long)sb->st_mtim.tv_sec * 1000000000ULL +
                       (unsigned long long)sb->st_mtim.tv_nsec);
}

/* Note whether the file system has no attributes, so that no further file is asked. */
static void has_none(struct bkt_file_store *st)
{
    if (errno == EOPNOTSUPP || errno == ENOSYS)
        atomic_store(&st->no_sums, true);
}

void bkt_file_sum_set(struct bkt_file_store *st, int fd, uint32_t sum, const struct stat *sb)
{
    char text[TEXT];
    if (atomic_load(&st->no_sums))
        return;
    text_of(sum, sb, text);
    if (fsetxattr(fd, NAME, text, strlen(text), 0) < 0)
        has_none(st);
}

bool bkt_file_sum_get(struct bkt_file_store *st, int fd, const struct stat *sb, uint32_t *sum)
{
    char text[TEXT] = "", digits[9] = "", want[TEXT];
    if (atomic_load(&st->no_sums))
        return false;
    if (fgetxattr(fd, NAME, text, sizeof text - 1) < 0) {
        has_none(st);
        return false;
    }
    memcpy(digits, text, 8);
    if (!bkt_crc32c_parse(digits, sum))
        return false;
    text_of(*sum, sb, want);
    return strcmp(text, want) == 0;
}
