/**
 * The dependencies of the transfer driver: the state, command submission, the ports to ledger and signer, and the settings for
 * plans.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Reads } from "../engine/Reads.js"
import type { SecureRandom } from "../identity/SecureRandom.js"
import type { Faucet } from "../ledger/development/Faucet.js"
import type { Ledger, LedgerError } from "../ledger/Ledger.js"
import type { Custody } from "../ledger/Planned.js"
import type { Barrier, Submit } from "../sequencer/Submit.js"
import type { PartySigner, SignerError } from "../signer/PartySigner.js"
import { Offsets, wentBack } from "./Offsets.js"
import type { Pinning } from "./Pinning.js"
import { Spending } from "./Spending.js"
import { Unreachable } from "./Trouble.js"

/** The configured identity of the venue on the ledger; the treasury's party follows from the signer's key. */
export type Setting = Omit<Custody, "treasury">

export interface Parts {
  readonly reads: Reads
  readonly submit: Context.Tag.Service<Submit>["submit"]
  readonly barrier: Context.Tag.Service<Barrier>
  readonly ledger: Context.Tag.Service<Ledger>
  readonly signer: Context.Tag.Service<PartySigner>
  readonly random: Context.Tag.Service<SecureRandom>
  readonly setting: Setting
  /** By what the signer knows the venue: see `Claim`. */
  readonly venue: Effect.Effect<string, Unreachable>
  readonly pinning: Pinning
  /** Mints the settlement asset; undefined except on a development ledger. */
  readonly faucet?: Context.Tag.Service<Faucet> | undefined
}

/** What is known once the ledger and the signer have been reached: who submits steps, and the treasury's key. */
export interface Bound {
  readonly custody: Custody
  readonly participantId: string
  readonly treasuryKeyId: string
  readonly spending: Spending
  readonly offsets: Offsets
  /** The turn of completions that are journaled. */
  readonly completing: Effect.Semaphore
}

const natureOf = (error: LedgerError): Unreachable["nature"] => {
  if (error._tag !== "Refused" || error.isOfLedger !== true) return undefined
  return error.lacksRight === true ? "right" : "refusal"
}

/** The trouble for a ledger error where nothing was submitted: another attempt may succeed. */
export const ofLedger = (error: LedgerError): Unreachable =>
  new Unreachable({ whom: "ledger", detail: error.message, nature: natureOf(error) })

/** The trouble for a ledger error where the ledger was to make what a step needs, which it may fail at as long as nobody hears of it. */
export const ofUndone = (error: LedgerError): Unreachable =>
  new Unreachable({ whom: "ledger", detail: error.message, nature: natureOf(error) ?? "undone" })

/** The trouble for a signer error other than a refusal: another attempt may succeed. */
export const ofSigner = (error: SignerError): Unreachable => new Unreachable({ whom: "signer", detail: error.message })

/** The ledger's end, noted with its offsets: one before an earlier end shows that the ledger went back. */
export const endOf = (
  { ledger }: Pick<Parts, "ledger">,
  { offsets }: Pick<Bound, "offsets">
): Effect.Effect<Effect.Effect.Success<Ledger["Type"]["end"]>, Unreachable> =>
  Effect.suspend(() => {
    const { known } = offsets
    return Effect.mapBoth(ledger.end, {
      onFailure: ofLedger,
      onSuccess: (end) => {
        offsets.told(end.offset, known)
        return end
      }
    })
  })

/** The ledger's end for a step. Fails where it is before the offset to which the step is bound: nobody would look for its acceptance. */
export const endBehind = (parts: Pick<Parts, "ledger">, bound: Pick<Bound, "offsets">, ledgerEndOffset: number) =>
  Effect.filterOrFail(endOf(parts, bound), ({ offset }) => offset >= ledgerEndOffset, ({ offset }) =>
    wentBack(`its end is ${offset}, and the step is bound to ${ledgerEndOffset}`))

const treasuryHint = "treasury"

/** A request whose refusal by the signer means something of the signer as a whole. */
const ofWhole = <A>(request: Effect.Effect<A, SignerError>, meaning: string): Effect.Effect<A, Unreachable> =>
  Effect.mapError(request, (error) =>
    error._tag === "SignerRefused" ? new Unreachable({ whom: "signer", detail: `${meaning}: ${error.message}` }) : ofSigner(error))

/** A request for a key that must exist already: a signer that does not know it is not the venue's. */
export const ofKnown = <A>(request: Effect.Effect<A, SignerError>): Effect.Effect<A, Unreachable> =>
  ofWhole(request, "its directory is not the venue's, or lacks keys, and has to be restored")

/** A claim of the treasury: a signer that refuses it is in order, and another venue's. */
const ofClaim = (claim: Effect.Effect<void, SignerError>): Effect.Effect<void, Unreachable> =>
  ofWhole(claim, "it is another venue's: give this venue a signer of its own, or have that one give it its treasury")

/**
 * The treasury's key. A venue whose accounts have parties had a treasury before them and accepts no other: the results of the old
 * one's steps would be searched for in vain under a new one, and amounts already paid would be returned.
 */
const treasuryKeyOf = ({ reads, signer }: Pick<Parts, "reads" | "signer">) =>
  ofKnown(Effect.suspend(() => reads.hasParties ? signer.knownTreasuryKey : signer.treasuryKey))

/** Determines participant, user and keys; repeating it changes nothing. */
export const bind = ({ ledger, reads, setting, signer, venue }: Parts): Effect.Effect<Bound, Unreachable> =>
  Effect.gen(function*() {
    const { keyId: treasuryKeyId, publicKey } = yield* treasuryKeyOf({ reads, signer })
    yield* ofClaim(signer.claim({ venue: yield* venue }))
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
    return {
      custody: { ...setting, treasury },
      participantId,
      treasuryKeyId,
      spending: new Spending(reads),
      offsets: new Offsets(reads),
      completing: Effect.unsafeMakeSemaphore(1)
    }
  })
