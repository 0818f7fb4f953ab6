/**
 * What a venue has on and off while it runs, with a version: a short digest, the same for the same policy, which the answers of
 * routes that depend on it carry.
 */
import canonicalize from "canonicalize"
import { createHash } from "node:crypto"
import { assert } from "../../domain/Assert.js"
import type { Environment } from "../../domain/Environment.js"
import * as Errors from "./Errors.js"
import type { FeatureName } from "./Features.js"

interface Policy {
  readonly environment: Environment
  readonly affiliateEnabled: boolean
}

/** Characters of the version, hex. */
const versionLength = 16

export interface RuntimePolicy {
  readonly isOn: (feature: FeatureName) => boolean
  readonly headers: Readonly<Record<string, string>>
  /** What is answered where a feature is off: as if there were no such route. */
  readonly hidden: Errors.Failure
}

export const make = (policy: Policy): RuntimePolicy => {
  const text = canonicalize(policy)
  assert(text !== undefined, "a policy is JSON")
  const headers = { "x-service-runtime-policy-version": createHash("sha256").update(text).digest("hex").slice(0, versionLength) }
  const on: Readonly<Record<FeatureName, boolean>> = { affiliate: policy.affiliateEnabled }
  return { isOn: (feature) => on[feature], headers, hidden: { ...Errors.routeNotFound, headers } }
}
