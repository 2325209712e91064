/* The AWS shared config and credentials files: INI with a few extensions.
 *
 * Sections of the config file are [default], [profile NAME], [services NAME], …; those of the credentials
 * file are bare profile names.  An indented line after "key =" is a sub-property, known here as "key.sub".
 * After "key = value" it continues the value.  Names of keys ignore case.  Odd lines are skipped, as they may
 * be meant for newer tools.  Source: "Configuration and credential file settings" and "Shared config and
 * credentials files" in AWS's SDK guide. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct bkt_aws_entry {
    char *section; /* "profile default", "services s" */
    char *key;     /* lower case; NULL: the section's head */
    char *value;
    bool  from_credentials;
    bool  weak; /* [default] in the config file: [profile default] wins */
};

/** A zeroed struct is empty. */
struct bkt_aws_config {
    struct bkt_aws_entry *v;
    size_t                n, room;
    char                 *config_path, *credentials_path; /* for messages; set by the caller */
};

/** Add the entries of @p text.  Never fails on its syntax; BKT_ENOMEM. */
BKT_NODISCARD int bkt_aws_config_parse(struct bkt_aws_config *c, const char *text, size_t n, bool credentials,
                                       struct bkt_err *err);
/** Wipe and free the entries, as they contain secrets. */
void bkt_aws_config_fini(struct bkt_aws_config *c);

/** The entry of a key in the section "KIND NAME", or with @p key NULL any entry of the section; borrowed.
 * NULL: absent or empty.  The credentials file comes before the config file.  In one file the last entry of a
 * name counts. */
const struct bkt_aws_entry *bkt_aws_config_find(const struct bkt_aws_config *c, const char *kind,
                                                const char *name, const char *key);
/** A value of a profile; otherwise as above. */
const char *bkt_aws_config_profile(const struct bkt_aws_config *c, const char *profile, const char *key);
/** Whether any key of the profile begins with @p prefix. */
bool bkt_aws_config_has_prefix(const struct bkt_aws_config *c, const char *profile, const char *prefix);
/** A service's endpoint: "endpoint_url" of @p service in the profile's services section, else the profile's
 *  endpoint_url. */
const char *bkt_aws_config_endpoint(const struct bkt_aws_config *c, const char *profile, const char *service);
