/* tls_cutter CERTIFICATE KEY PORT: TLS on a free port of 127.0.0.1, in front of the server on PORT.  It
 * cuts one answer in twenty and one handshake in fifty, at any place and in any way.  It prints "port N", and
 * at its end the number of cuts; it ends with its input. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "http/helpers/tls_front.h"

static atomic_uint turn, answers, handshakes;

/* Spread evenly, and the same in each run, except for the order of several at once. */
static bool sometimes(const char *head, size_t n, struct tls_cut *out, void *arg)
{
    unsigned r = (atomic_fetch_add(&turn, 1) * 2654435761U) >> 8;
    (void)arg;
    if (r % (head ? 20 : 50))
        return false;
    out->how = r / 1000 % 4;
    out->at = r % 3 ? r / 5000 % (n + 1) : r / 7 % (64U << 10); /* in the bytes so far, or further on */
    atomic_fetch_add(head ? &answers : &handshakes, 1);
    return true;
}

int main(int argc, char **argv)
{
    char c;
    struct tls_front *f =
        argc == 4 ? tls_front_start(argv[1], argv[2], 3, (unsigned)strtoul(argv[3], NULL, 10)) : NULL;
    if (!f)
        return 1;
    tls_front_cut(f, sometimes, NULL);
    (void)printf("port %u\n", tls_front_port(f));
    (void)fflush(stdout);
    while (read(0, &c, 1) > 0)
        continue;
    (void)printf("cut: %u answers, %u handshakes\n", atomic_load(&answers), atomic_load(&handshakes));
    tls_front_stop(f);
    return 0;
}
