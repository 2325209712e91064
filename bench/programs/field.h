/* The data that h5write writes, and plaindeflate sends without HDF5. */
#ifndef FIELD_H
#define FIELD_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#define SIDE 512 /* a chunk is SIDE x SIDE floats */

/* Smooth waves with quantised noise: something to do for a compressor. */
static inline float *field(size_t n)
{
    float   *v = malloc(n * sizeof *v);
    uint32_t s = 1;
    for (size_t i = 0; v && i < n; i++) {
        s ^= s << 13, s ^= s >> 17, s ^= s << 5;
        v[i] = roundf(1000.0F * sinf((float)i / 7000.0F) + (float)(s % 16)) / 16.0F;
    }
    return v;
}

#endif
