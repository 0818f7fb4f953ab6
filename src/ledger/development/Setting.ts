/**
 * The fixed configuration of a development ledger: one participant on one synchronizer, with the venue's package and a settlement asset of
 * its own. It is the same everywhere, so that a venue and a signer know it without being told.
 */
import { createHash } from "node:crypto"
import type { Custody } from "../Planned.js"
import { partyId } from "../prepared/Topology.js"
import type { HashingScheme } from "../prepared/PreparedTransaction.js"
import { packageNames } from "../Templates.js"

const digest = (text: string): Buffer => createHash("sha256").update(`perpetuum development ledger: ${text}`).digest()

/** A party whose key nobody has: it counts as having signed whatever it has to. */
const standing = (hint: string): string => partyId(hint, digest(hint))

export interface Setting {
  readonly participantId: string
  readonly synchronizerId: string
  readonly custodyPackageId: string
  readonly token: Custody["token"]
  /** The hashing scheme of transactions for which none is requested. */
  readonly scheme: HashingScheme
  /** How many inputs are stored before a snapshot of the state replaces them. */
  readonly inputsPerState: number
  /** The most that is kept of each. */
  readonly most: {
    readonly parties: number
    readonly contracts: number
    /** Contracts that have been archived. */
    readonly ended: number
    readonly undecided: number
    readonly completions: number
  }
}

export const setting: Setting = {
  participantId: standing("PAR-development").replace("PAR-", "PAR::"),
  synchronizerId: standing("development"),
  custodyPackageId: digest(packageNames.custody).toString("hex"),
  token: { packageId: digest(packageNames.token).toString("hex"), admin: standing("usdc-issuer"), id: "USDC" },
  scheme: 3,
  inputsPerState: 500,
  most: { parties: 10_000, contracts: 100_000, ended: 1_000, undecided: 1_000, completions: 20_000 }
}

/** A venue's custody settings on a development ledger. */
export const custody = (of: Pick<Custody, "environment" | "treasury" | "userId">): Custody => ({
  ...of,
  synchronizerId: setting.synchronizerId,
  custodyPackageId: setting.custodyPackageId,
  token: setting.token
})
