/* S3 as a store; process-wide parts. */
#ifndef BKT_S3_H
#define BKT_S3_H

/** Forget everything learned about buckets. */
void bkt_s3_shutdown(void);

#endif
