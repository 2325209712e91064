/* AWS's partitions: clouds of their own, each with its regions and its domain name. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** The domain name of the hosts in a region, e.g. "amazonaws.com". */
const char *bkt_aws_domain(const char *region);

/** Whether the name of a host, @p n bytes, ends with the domain name of a partition. */
bool bkt_aws_has_host(const char *host, size_t n);
