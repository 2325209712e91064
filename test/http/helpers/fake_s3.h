/* A small S3 in a scripted server: objects, conditions of several kinds, uploads in parts, and PUTs that go
 * wrong. */
#ifndef BKT_TEST_FAKE_S3_H
#define BKT_TEST_FAKE_S3_H

#include "http/helpers/server.h"

enum fake_kind {
    FAKE_QUOTED,  /* as HTTP says */
    FAKE_BARE,    /* If-Match without quotes only */
    FAKE_REFUSES, /* 501 to any condition */
    FAKE_DEAF,    /* ignores conditions */
    FAKE_HALF,    /* ignores If-Match */
    FAKE_DENIES,  /* as in HTTP, but 403 for PUTs below .h5bucket/ */
};

/** The fate of one PUT (or POST) of an object; scratch objects of a probe are left alone. */
struct fake_fault {
    unsigned    nth;       /* the how many-th, from 1; 0: none */
    unsigned    times;     /* 0 is 1 */
    bool        carry_out; /* it is done before it goes wrong */
    int         status;    /* of the answer; 0: the connection is reset instead */
    bool        overtaken; /* another writer puts "other" there, after the request was carried out */
    const char *part;      /* only of requests whose target contains this; NULL: any */
    const char *body;      /* of the answer, with status; NULL: an error document */
};

/** A hostile answer to requests of any kind; scratch objects of a probe are left alone. */
struct fake_odd {
    const char *method;    /* NULL: none */
    const char *part, *end; /* only of targets that contain this, and end with that; NULL: any */
    unsigned    times;     /* the first so many; 0: all */
    bool        carry_out; /* the request is carried out before */
    int         status;
    const char *headers, *body;
    const char *instead;   /* this key's object is the answer, with its ETag; NULL: the above */
    unsigned    count;     /* of those that came so far */
};

struct fake_object {
    char   key[200], etag[80], id[40], sum[40];
    char  *data;
    size_t len;
};

struct fake_s3 {
    enum fake_kind     kind;
    bool               no_meta;  /* forgets x-amz-meta- headers */
    bool               no_etag;  /* answers a PUT without ETag */
    bool               random_etag; /* ETags aren't MD5 sums */
    int                losers;   /* the answer to a request whose condition fails; 0: 412 */
    unsigned           lose_every; /* so many-th PUT is carried out and its answer lost; 0: none */
    int                lose_as;  /* that answer; 0: the connection is reset */
    bool               rounds;   /* a probe's PUTs are answered when all of their round have come, unless
                                    other requests are waiting */
    struct fake_fault  fault;
    struct fake_odd    odd;
    int                sums;       /* PUTs with x-amz-checksum-crc32c: 0: it must be right, else this status, with sums_code */
    const char        *sums_code;
    unsigned           flip_puts;  /* of so many PUTs of objects, from now on, a bit arrives wrong */
    unsigned           flip_gets;  /* the same for answers to GET; UINT_MAX: all */
    unsigned           summed;     /* PUTs that came with x-amz-checksum-crc32c */
    struct fake_object object[64], part[64];
    char               upload_id[40], upload_put[40], upload_sum[40]; /* of the upload under way; "" if none */
    unsigned           writes, applied, probes, version, hidden; /* seen; carried out; of a probe; parts at once */
};

/** server_start(fake_s3_handle, &fake) */
void                fake_s3_handle(const struct seen *r, struct answer *a, void *arg);
struct fake_object *fake_s3_find(struct fake_s3 *f, const char *key); /* NULL: absent */
/** Objects there are, scratch included. */
unsigned            fake_s3_count(const struct fake_s3 *f);
void                fake_s3_fini(struct fake_s3 *f);

#endif
