/* Runs a fuzz target without libFuzzer: on each file named (or in and below each folder named), as it is and
 * then changed in reproducible ways.  Usage: PROGRAM ROUNDS FILE-OR-FOLDER... */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "helpers/xorshift.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX (1 << 20)

static unsigned long rounds, files;
static uint32_t      state = 2463534242u;

static uint32_t rnd(void) { return xorshift32(&state); }

/* On a copy of exactly this size, so that a sanitizer sees each step outside. */
static void run(const uint8_t *data, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    if (!copy)
        abort();
    memcpy(copy, data, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

static void run_changed(const uint8_t *data, size_t n)
{
    static uint8_t       bad[MAX];
    static const uint8_t odd[] = {0, 1, 0x7f, 0x80, 0xff};
    memcpy(bad, data, n);
    for (uint32_t k = rnd() % 5 + 1; n && k > 0; k--) {
        size_t at = rnd() % 3 ? rnd() % n : rnd() % (n < 40 ? n : 40);
        switch (rnd() % 4) {
        case 0:
            bad[at] = odd[rnd() % sizeof odd];
            break;
        case 1:
            bad[at] ^= (uint8_t)(1u << rnd() % 8);
            break;
        case 2:
            bad[at] = (uint8_t)rnd();
            break;
        default:
            n = rnd() % 4 ? n : at;
        }
    }
    run(bad, n);
}

static int run_file(const char *path)
{
    static uint8_t data[MAX];
    FILE          *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        return 1;
    }
    size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    files++;
    run(data, n);
    for (unsigned long i = 0; i < rounds; i++)
        run_changed(data, n);
    return 0;
}

static int run_path(const char *path)
{
    DIR *d = opendir(path);
    if (!d)
        return run_file(path);
    int bad = 0;
    for (struct dirent *e; (e = readdir(d));) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.')
            bad |= run_path(file);
    }
    closedir(d);
    return bad;
}

int main(int argc, char **argv)
{
    int bad = argc < 3;
    rounds  = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    for (int i = 2; i < argc; i++)
        bad |= run_path(argv[i]);
    printf("%lu inputs, each changed %lu times\n", files, rounds);
    return bad || files == 0;
}
