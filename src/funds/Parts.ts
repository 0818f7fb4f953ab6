/** What money on the ledger is driven with: the state as it is read, the way in, the two ports, and the settings that plans are made of. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Reads } from "../engine/Reads.js"
import type { SecureRandom } from "../identity/SecureRandom.js"
import type { Faucet } from "../ledger/development/Faucet.js"
import type { Ledger, LedgerError } from "../ledger/Ledger.js"
import type { Custody } from "../ledger/Planned.js"
import type { Barrier, Submit } from "../sequencer/Submit.js"
import type { PartySigner, SignerError } from "../signer/PartySigner.js"
import type { Pinning } from "./Pinning.js"
import { Spending } from "./Spending.js"
import { Unreachable } from "./Trouble.js"

/** Where and as whom the venue deals on the ledger, as it is set: the treasury's party is the one that the signer's key makes. */
export type Setting = Omit<Custody, "treasury">

export interface Parts {
  readonly reads: Reads
  readonly submit: Context.Tag.Service<Submit>["submit"]
  readonly barrier: Context.Tag.Service<Barrier>
  readonly ledger: Context.Tag.Service<Ledger>
  readonly signer: Context.Tag.Service<PartySigner>
  readonly random: Context.Tag.Service<SecureRandom>
  readonly setting: Setting
  readonly pinning: Pinning
  /** Settlement asset out of nothing; undefined but where the ledger is one of development. */
  readonly faucet?: Context.Tag.Service<Faucet> | undefined
}

/** What is known once the ledger and the signer were reached: by whom steps are executed, and with which key the treasury signs. */
export interface Bound {
  readonly custody: Custody
  readonly participantId: string
  readonly treasuryKeyId: string
  readonly spending: Spending
}

/** What the ledger's errors come to where nothing was executed: to be tried again. */
export const ofLedger = (error: LedgerError): Unreachable => new Unreachable({ whom: "ledger", detail: error.message })

/** The same of the signer where it did not refuse. */
export const ofSigner = (error: SignerError): Unreachable => new Unreachable({ whom: "signer", detail: error.message })

const treasuryHint = "treasury"

/**
 * The treasury's key. A venue whose accounts have parties had a treasury before them, and takes no other: what the ledger did with that
 * one would be looked for with another in vain, and what has been paid would be given back.
 */
const treasuryKeyOf = ({ reads, signer }: Pick<Parts, "reads" | "signer">) =>
  Effect.suspend(() => reads.hasParties ? signer.knownTreasuryKey : signer.treasuryKey).pipe(
    Effect.mapError((error) =>
      error._tag === "SignerRefused"
        ? new Unreachable({
          whom: "signer",
          detail: `its directory is not the venue's, or lacks keys, and has to be restored: ${error.message}`
        })
        : ofSigner(error)
    )
  )

/** Finds out by whom and with which key; repeating it changes nothing. */
export const bind = ({ ledger, reads, setting, signer }: Parts): Effect.Effect<Bound, Unreachable> =>
  Effect.gen(function*() {
    const { keyId: treasuryKeyId, publicKey } = yield* treasuryKeyOf({ reads, signer })
    const participantId = yield* Effect.mapError(ledger.participantId, ofLedger)
    const allocated = Effect.map(
      ledger.allocateParty(publicKey, treasuryHint, (multiHash, topologyTransactions) =>
        Effect.map(
          Effect.mapError(signer.signTopology({ keyId: treasuryKeyId, topologyTransactions, multiHash }), ofSigner),
          ({ signature }) => signature
        )),
      ({ partyId }) => partyId
    )
    const treasury = yield* Effect.mapError(allocated, (error) => error._tag === "Unreachable" ? error : ofLedger(error))
    return { custody: { ...setting, treasury }, participantId, treasuryKeyId, spending: new Spending(reads) }
  })
