/* AWS credentials from the whole chain, kept fresh.
 *
 * A provider (struct bkt_cred) stands for one way of looking: profile and environment as they were when it
 * was opened.  Providers are shared in the process and outlive their last close until bkt_cred_shutdown(), so
 * a second store does not ask again.  The order is AWS's: environment, web identity from the environment,
 * profile in the shared files (static keys, assume-role, web identity, credential_process), container
 * endpoint, EC2 instance metadata (IMDSv2).  A thread renews credentials within 5 minutes of their end, while
 * callers still get the old ones.  After their end, callers wait.  At most one fetch per provider is under
 * way, and all callers share its result.  Secrets are zeroed when freed and never traced. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "storage/aws/sigv4.h"
#include "base/err.h"
#include "base/settings.h"

struct bkt_cred; /* opaque */

/** Get the provider for @p set (profile, region, ca_bundle are used) and the environment.  Touches no file
 *  and no network.  To be released with bkt_cred_close().  The caller handles the anonymous setting.
 *  BKT_ENOMEM. */
BKT_NODISCARD int bkt_cred_open(const struct bkt_settings *set, struct bkt_cred **out, struct bkt_err *err);
void              bkt_cred_close(struct bkt_cred *p); /* NULL is allowed; the provider may stay cached */

/** bkt_cred_peek(): no credentials are known yet. */
#define BKT_CRED_LATER 1
/** Get the present credentials; never blocks, any thread.  Starts a renewal in the background if one is due.
 * @param out  on BKT_OK, a reference for the caller: bkt_creds_unref()
 * @return BKT_OK; BKT_CRED_LATER: no credentials are known yet, use bkt_cred_want(); negative: a
 *     fetch failed within the last second, with its error (and all places that were looked at) in @p err */
BKT_NODISCARD int bkt_cred_peek(struct bkt_cred *p, const struct bkt_creds **out, struct bkt_err *err);
void bkt_creds_unref(const struct bkt_creds *c); /* give a reference back; NULL is allowed */

/** Have credentials fetched, without waiting.  @p ready is called exactly once, on any thread (also before
 *  this returns), with BKT_OK (peek again) or the failure and its error.  It must not block.  The provider
 *  stays open until then.  Failures: BKT_EACCES: none found (the message lists all places) or refused;
 * BKT_EINVAL: a bad profile; BKT_EUNSUP: e.g. an SSO profile; BKT_ENET, BKT_ETIME, BKT_EFORMAT, BKT_EIO,
 * BKT_ENOMEM, BKT_ECANCEL */
void bkt_cred_want(struct bkt_cred *p, void (*ready)(void *arg, int rc, const struct bkt_err *err),
                   void *arg);

/** Report that a server refused a request signed with the credentials of this @p fetch.  They are fetched
 *  again before the next request is signed, unless that has happened since.  A caller that gets the same
 *  credentials again (same_as) need not ask the server.
 *  @param sure  the credentials are expired or unknown.  Else the refusal may have another reason: only the
 *      shared files are read again, since they may have changed.  The refused credentials stay in use if
 *      nothing else is found
 *  @return whether a fetch can give other credentials: not from the environment, and not from a source that
 *      was asked within the last second */
bool bkt_cred_refused(struct bkt_cred *p, uint64_t fetch, bool sure);

/** Copy the source of the credentials in use to @p out; "": none were found yet, or @p p is NULL. */
void bkt_cred_source(struct bkt_cred *p, char *out, size_t room);

/** Install handlers for fork(); see base/os/fork.h. */
void bkt_cred_hook_fork(void);

/** End fetches under way (they report BKT_ECANCEL), join their threads, forget all cached credentials. */
void bkt_cred_shutdown(void);

/** A value of the profile in use that isn't a credential. */
enum bkt_cred_what { BKT_CRED_REGION, BKT_CRED_ENDPOINT, BKT_CRED_FIPS, BKT_CRED_DUALSTACK };
/** Get such a value: the profile's region; its S3 endpoint, that of its services section or its own
 * endpoint_url; "true" if AWS's endpoints with FIPS 140, or those for IPv6, are wanted, by the environment or
 * the profile.
 * @param out  gets the value, the caller's; NULL: the profile has none
 * @return BKT_OK; BKT_ENOMEM; BKT_EINVAL */
BKT_NODISCARD int bkt_cred_of_profile(const struct bkt_settings *set, enum bkt_cred_what what, char **out,
                                      struct bkt_err *err);
