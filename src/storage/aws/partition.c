#include "storage/aws/partition.h"

#include <string.h>
#include <strings.h>

#include "base/err.h"

/* By the beginning of a region's name, as in partitions.json of AWS's SDKs.  The last one has all others. */
static const struct {
    const char *regions, *domain;
} partitions[] = {
    {"cn-", "amazonaws.com.cn"},   {"eusc-", "amazonaws.eu"},      {"us-iso-", "c2s.ic.gov"},
    {"us-isob-", "sc2s.sgov.gov"}, {"us-isof-", "csp.hci.ic.gov"}, {"eu-isoe-", "cloud.adc-e.uk"},
    {"", "amazonaws.com"},
};

const char *bkt_aws_domain(const char *region)
{
    size_t i = 0;
    while (strncmp(region, partitions[i].regions, strlen(partitions[i].regions)) != 0)
        i++;
    return partitions[i].domain;
}

bool bkt_aws_has_host(const char *host, size_t n)
{
    for (size_t i = 0; i < BKT_COUNT(partitions); i++) {
        size_t k = strlen(partitions[i].domain);
        if (n > k && host[n - k - 1] == '.' && strncasecmp(host + n - k, partitions[i].domain, k) == 0)
            return true;
    }
    return false;
}
