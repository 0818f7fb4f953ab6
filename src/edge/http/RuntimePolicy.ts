/**
 * The features that a venue has enabled, with a version: a short digest, equal for equal policies, which the answers of dependent
 * routes carry.
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
  /** The answer where a feature is disabled: as if there were no such route. */
  readonly hidden: Errors.Failure
}

export const make = (policy: Policy): RuntimePolicy => {
  const text = canonicalize(policy)
  assert(text !== undefined, "a policy is JSON")
  const headers = { "x-service-runtime-policy-version": createHash("sha256").update(text).digest("hex").slice(0, versionLength) }
  const on: Readonly<Record<FeatureName, boolean>> = { affiliate: policy.affiliateEnabled }
  return { isOn: (feature) => on[feature], headers, hidden: { ...Errors.routeNotFound, headers } }
}
