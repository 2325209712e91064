/* Texts shared by processes: each is claimed once, and all processes get the same. */
#include "storage/node_reads.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/shared_memory.h"
#include "helpers/check.h"

#define CHILDREN 4
#define KEYS     2000

static struct bkt_node_table *table(char name[BKT_SHARED_NAME])
{
    struct bkt_node_table *t = (void *)bkt_shared_memory_make(BKT_NODE_TABLE_BYTES, name);
    REQUIRE(t, "no shared memory");
    return t;
}

static const char *key_of(unsigned i, char key[32])
{
    (void)snprintf(key, 32, "object-%u", i);
    return key;
}

/* A text that fits to its key. */
static size_t text_of(unsigned i, char *text, size_t size)
{
    return (size_t)snprintf(text, size, "{\"number\": %u, \"square\": %u}", i, i * i);
}

static void check_text(const struct bkt_node_table *t, uint32_t entry, unsigned i)
{
    char key[32], etag[4], want[64];
    struct bkt_buf got = {0};
    size_t n = text_of(i, want, sizeof want);
    CHECK(bkt_node_table_copy(t, entry, key_of(i, key), etag, sizeof etag, &got), "%s can't be copied", key);
    CHECK(got.len == n && memcmp(got.ptr, want, n) == 0 && strcmp(etag, "\"e\"") == 0, "%s: %s", key,
          bkt_buf_str(&got));
    bkt_buf_fini(&got);
}

/* One process: it claims and publishes, or waits.  @return how many it has claimed */
static unsigned work(struct bkt_node_table *t)
{
    char key[32], text[64];
    unsigned mine = 0;
    uint32_t entry;
    for (unsigned i = 0; i < KEYS; i++) {
        enum bkt_node_table_state s = bkt_node_table_ask(t, key_of(i, key), &entry);
        if (s == BKT_ENTRY_MINE) {
            bkt_node_table_publish(t, entry, key, "\"e\"", 4, text, text_of(i, text, sizeof text));
            mine++;
            continue;
        }
        while (s == BKT_ENTRY_WAIT)
            s = bkt_node_table_look(t, entry);
        CHECK(s == BKT_ENTRY_READY, "%s: state %d", key, (int)s);
        if (s == BKT_ENTRY_READY)
            check_text(t, entry, i);
    }
    return mine;
}

static void many_processes(void)
{
    char name[BKT_SHARED_NAME], other_name[BKT_SHARED_NAME];
    struct bkt_node_table *t = table(name);
    atomic_uint *claims = bkt_shared_memory_make(sizeof *claims, other_name);
    REQUIRE(claims, "no shared memory");
    for (unsigned c = 0; c < CHILDREN; c++) {
        if (fork() != 0)
            continue;
        struct bkt_node_table *mine =
            bkt_shared_memory_find(name, BKT_NODE_TABLE_BYTES); /* as another program */
        REQUIRE(mine, "%s isn't found", name);
        (void)atomic_fetch_add(claims, work(mine));
        _exit(failures != 0);
    }
    for (unsigned c = 0; c < CHILDREN; c++) {
        int status = -1;
        CHECK(wait(&status) > 0 && status == 0, "a process failed");
    }
    CHECK(atomic_load(claims) == KEYS, "%u claims of %u keys", atomic_load(claims), KEYS);
    CHECK(work(t) == 0, "a key is claimed again");
    bkt_shared_memory_hide(name);
    bkt_shared_memory_hide(other_name);
    CHECK(!bkt_shared_memory_find(name, BKT_NODE_TABLE_BYTES), "hidden memory is found");
    bkt_shared_memory_free(claims, sizeof *claims);
    bkt_shared_memory_free(t, BKT_NODE_TABLE_BYTES);
}

/* A key that was given up or forgotten, before or after its text came, is read by each process. */
static void not_shared(void)
{
    char name[BKT_SHARED_NAME];
    struct bkt_node_table *t = table(name);
    uint32_t entry;
    bkt_shared_memory_hide(name);
    CHECK(bkt_node_table_ask(t, "a", &entry) == BKT_ENTRY_MINE, "a is claimed");
    CHECK(bkt_node_table_ask(t, "a", &entry) == BKT_ENTRY_WAIT, "a is claimed by another");
    bkt_node_table_give_up(t, entry);
    CHECK(bkt_node_table_ask(t, "a", &entry) == BKT_ENTRY_NEVER, "a was given up");
    CHECK(bkt_node_table_ask(t, "b", &entry) == BKT_ENTRY_MINE, "b is claimed");
    bkt_node_table_forget(t, "b");
    bkt_node_table_publish(t, entry, "b", "", 0, "old", 3);
    CHECK(bkt_node_table_ask(t, "b", &entry) == BKT_ENTRY_NEVER, "b was forgotten while it was read");
    CHECK(bkt_node_table_ask(t, "c", &entry) == BKT_ENTRY_MINE, "c is claimed");
    bkt_node_table_publish(t, entry, "c", "", 0, "old", 3);
    bkt_node_table_forget(t, "c");
    CHECK(bkt_node_table_ask(t, "c", &entry) == BKT_ENTRY_NEVER, "c was forgotten");
    bkt_node_table_forget(t, "d");
    CHECK(bkt_node_table_ask(t, "d", &entry) == BKT_ENTRY_NEVER, "d was forgotten before anybody read it");
    bkt_shared_memory_free(t, BKT_NODE_TABLE_BYTES);
}

/* A full table takes nothing more, and what it has stays right. */
static void full(void)
{
    static char text[1 << 19];
    char name[BKT_SHARED_NAME], key[32];
    struct bkt_node_table *t = table(name);
    unsigned ready = 0;
    uint32_t entry, first = 0;
    struct bkt_buf got = {0};
    bkt_shared_memory_hide(name);
    for (unsigned i = 0; i < 30; i++) {
        memset(text, (int)('a' + i % 26), sizeof text);
        CHECK(bkt_node_table_ask(t, key_of(i, key), &entry) == BKT_ENTRY_MINE, "%s is claimed", key);
        first = i ? first : entry;
        bkt_node_table_publish(t, entry, key, "", 0, text, sizeof text);
        ready += bkt_node_table_look(t, entry) == BKT_ENTRY_READY;
    }
    CHECK(ready > 10 && ready < 16, "%u texts of 512 KiB fit", ready);
    CHECK(bkt_node_table_copy(t, first, key_of(0, key), NULL, 0, &got) && got.len == sizeof text &&
              got.ptr[1] == 'a',
          "the first text has changed");
    CHECK(!bkt_node_table_copy(t, first, "another", NULL, 0, &got), "a text of another key is given out");
    unsigned claimed = 0;
    for (unsigned i = 0; i < 100000; i++)
        claimed += bkt_node_table_ask(t, key_of(1000 + i, key), &entry) == BKT_ENTRY_MINE;
    CHECK(claimed > 4000 && claimed < 100000, "%u keys were claimed", claimed);
    bkt_buf_fini(&got);
    bkt_shared_memory_free(t, BKT_NODE_TABLE_BYTES);
}

int main(void)
{
    many_processes();
    not_shared();
    full();
    return failures != 0;
}
