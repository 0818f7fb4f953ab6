/** What this process knows about those who ask to act: open challenges, waiting agents, and counts for rate limits. */
import type * as Context from "effect/Context"
import type { Reached } from "../domain/Branches.js"
import { AgentConnect, mostOfAddress as mostAgents } from "./AgentConnect.js"
import { Challenges, mostOfAddress as mostChallenges } from "./Passkeys.js"
import type { PasskeyVerifier } from "./PasskeyVerifier.js"
import type { SecureRandom } from "./SecureRandom.js"
import type { Windows } from "./RateLimits.js"
import * as SecurityNotes from "./SecurityNotes.js"
import { Tickets } from "./Tickets.js"
import type { WorkloadIdentity } from "./WorkloadIdentity.js"

/** Where the owner's pages are, as configured. Without an origin it is `localhost`, at the port on which the venue listens. */
export interface SiteSetting {
  readonly publicOrigin?: string
  /** The scheme of the default origin. */
  readonly scheme?: "http" | "https"
  readonly rpId: string
}

/** The site of a venue that listens on a port. */
export const siteAt = ({ publicOrigin, rpId, scheme = "http" }: SiteSetting, port: number): Site => ({
  publicOrigin: publicOrigin ?? `${scheme}://localhost:${port}`,
  rpId
})

/** Where the owner's pages are. */
export interface Site {
  /** The only origin that may ask for passkeys: scheme, host and port. */
  readonly publicOrigin: string
  /** The domain that passkeys are bound to. */
  readonly rpId: string
}

/** How much one remote address may start and leave open without a credential. */
export interface OfAddress {
  readonly challenges: number
  readonly agents: number
}
const usualOfAddress: OfAddress = { challenges: mostChallenges, agents: mostAgents }

export interface Identity extends Site {
  readonly challenges: Challenges
  readonly agents: AgentConnect
  /** Limits the notes of failed sign-ins, by account. */
  readonly notes: Windows
  readonly tickets: Tickets
  readonly verifier: Context.Tag.Service<PasskeyVerifier>
  readonly workloads: Context.Tag.Service<WorkloadIdentity>
  readonly random: Context.Tag.Service<SecureRandom>
  /** Called for rarely taken branches, where a test harness counts them. */
  readonly reached: Reached | undefined
}

export const make = (
  site: Site,
  signerSecret: string,
  verifier: Context.Tag.Service<PasskeyVerifier>,
  workloads: Context.Tag.Service<WorkloadIdentity>,
  random: Context.Tag.Service<SecureRandom>,
  reached: Reached | undefined,
  ofAddress: OfAddress = usualOfAddress
): Identity => ({
  ...site,
  challenges: new Challenges(random, ofAddress.challenges, reached),
  agents: new AgentConnect(signerSecret, random, ofAddress.agents, reached),
  notes: SecurityNotes.make(),
  tickets: new Tickets(signerSecret),
  verifier,
  workloads,
  random,
  reached
})
