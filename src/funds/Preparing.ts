/**
 * What precedes the approval of a step: the acting party, and the transaction, which is checked against the plan before it is
 * journaled.
 */
import { createHash } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { TransferView } from "../engine/Reads.js"
import * as Ledger from "../ledger/Ledger.js"
import * as Planned from "../ledger/Planned.js"
import { check } from "../ledger/prepared/Check.js"
import { unpreparable } from "./Elsewhere.js"
import { factsOf, type StepView } from "./Facts.js"
import { note } from "./Journaled.js"
import { type Bound, endOf, ofSigner, ofUndone, type Parts } from "./Parts.js"
import { Declined, Stopped, type Trouble, Unreachable } from "./Trouble.js"

/** For how long a prepared transaction may be recorded, by the ledger's time, in ms. */
const recordableMs = 10 * 60 * 1000

/** The passkeys pinned to a new key: for the account's first key all of the account's, later those that are pinned already. */
const pinned = ({ pinning, reads, signer }: Parts, account: number) =>
  signer.accountKeys(reads.accountId(account)).pipe(
    Effect.map(({ credentialIds }) => credentialIds),
    Effect.catchTag("SignerRefused", () => Effect.succeed(undefined)),
    Effect.map((credentialIds) => {
      if (credentialIds === undefined) pinning.begin(account)
      return reads.passkeys(account)
        .filter(({ credentialId }) => credentialIds === undefined || credentialIds.includes(credentialId))
        .map(({ credentialId, publicKey }) => ({ credentialId, publicKey }))
    })
  )

/**
 * The reference of a key that replaces another party's. It is the same for every change of that party on a participant, so that a
 * change reuses the key and the party of failed ones before it, since the signer holds few keys per account. On another participant
 * the party would have another topology, and a key is only signed into one.
 */
export const referenceAfter = (partyId: string, participantId: string): string =>
  `after_${createHash("sha256").update(`${partyId}|${participantId}`).digest("hex").slice(0, 16)}`

/**
 * Has the signer create a key for the transfer's account and the ledger a party for it, and binds the party. Repeating it has the
 * same result.
 */
export const bindParty = (parts: Parts, { participantId }: Bound, { account, kind, number }: TransferView): Effect.Effect<void, Trouble> =>
  Effect.gen(function*() {
    const { ledger, reads, signer, submit } = parts
    const accountId = reads.accountId(account)
    const isChange = kind === "party_change"
    const reference = isChange ? referenceAfter(reads.party(account)?.partyId ?? "", participantId) : "first"
    const passkeys = yield* Effect.mapError(pinned(parts, account), ofSigner)
    if (passkeys.length === 0) {
      return yield* new Stopped({
        reason: "passkeys_not_pinned",
        detail: `the signer's record of ${accountId} has pinned none of its passkeys: it is older, or of an account that is lost`
      })
    }
    const refused = (error: { readonly message: string }) => new Stopped({ reason: "signer_refused", detail: error.message })
    const { keyId, publicKey } = yield* signer.newParty({ accountId, reference, passkeys }).pipe(
      Effect.mapError((error): Trouble => error._tag === "SignerRefused" ? refused(error) : ofSigner(error))
    )
    const { partyId } = yield* ledger.allocateParty(
      publicKey,
      isChange ? `${accountId}-${reference}` : accountId,
      (multiHash, topologyTransactions) =>
        Effect.map(signer.signTopology({ keyId, topologyTransactions, multiHash }), ({ signature }) => signature)
    ).pipe(Effect.mapError((error): Trouble => {
      switch (error._tag) {
        case "SignerRefused":
          return refused(error)
        case "SignerUnavailable":
        case "SignerUnknown":
          return ofSigner(error)
        default:
          return ofUndone(error)
      }
    }))
    yield* note({ submit }, "BindParty", { ofAccount: account, transfer: isChange ? number : -1, partyId, keyId })
  })

/** Whether the step's inputs are chosen among the treasury's holdings, which is done for one transfer at a time, in its turn. */
export const needsTurn = ({ name }: StepView): boolean => name === "treasury_withdrawal"

/**
 * Has the ledger prepare the current step, checks the result against the plan, and journals it, or that it differs. A step that this
 * binds is searched for behind the ledger's present end, or behind `readThrough` where completions have been read only so far: those
 * behind it may have done the step already.
 */
export const prepare = (
  parts: Parts,
  bound: Bound,
  transfer: TransferView,
  step: StepView,
  readThrough: number | undefined
): Effect.Effect<void, Trouble> =>
  Effect.gen(function*() {
    const { reads, submit } = parts
    const { custody } = bound
    const { account, number } = transfer
    const { name } = step
    yield* Effect.suspend(() => unpreparable(bound, step) ?? Effect.void)
    const facts = factsOf(name, { ...transfer, accountId: reads.accountId(account) })
    // The withdrawal was requested before the treasury's party was known.
    if (Planned.paysItself(custody.treasury, facts)) {
      yield* note({ submit }, "RejectStep", { transfer: number, step: name, stage: "approval", guard: "receiver_is_treasury" })
      return
    }
    // Read before the preparation: whatever becomes of the transaction comes after it.
    const end = yield* endOf(parts, bound)
    const claims = needsTurn(step) ? yield* bound.spending.claims : undefined
    yield* preparedAs(parts, bound, transfer, step, { facts, claims, end, behindOffset: Math.min(end.offset, readThrough ?? end.offset) })
  })

/**
 * What a step is prepared from: its planned facts, the holdings claimed by others, the ledger's end before, and the offset behind which
 * a step that is not bound yet is searched for.
 */
interface Basis {
  readonly facts: Planned.Facts
  readonly claims: Ledger.Claims | undefined
  readonly end: Effect.Effect.Success<Parts["ledger"]["end"]>
  readonly behindOffset: number
}

/**
 * The trouble where the ledger does not prepare a step. An owner is told of what he can do something about, and may try again. A step of
 * the venue's own after the end of its transfer is reported to an operator, since nobody else could look into it. The payer is not blamed
 * for the ledger's own trouble, for a right that the venue lacks there, for an answer that is missing or says nothing definite, nor for a
 * treasury whose party the ledger does not know.
 */
const unprepared = ({ custody: { treasury } }: Bound, facts: Planned.Facts, { end }: TransferView, error: Ledger.LedgerError): Trouble => {
  if (error._tag !== "Refused" || error.isOfLedger === true) return ofUndone(error)
  const { cause, code, context } = error
  // A receiver whose name has the treasury's in it stays the owner's matter.
  const ofTreasury = facts.step === "treasury_withdrawal" && Ledger.unknownParty.has(code)
    && cause.replaceAll(facts.receiver, "").includes(treasury)
  if (ofTreasury) return ofUndone(error)
  if (end === null) return new Declined({ code, detail: cause, largestAtoms: context["largestAtoms"] })
  return code === Ledger.codes.notFound
    ? new Stopped({ reason: "offer_not_found", detail: cause })
    : new Stopped({ reason: "ledger_declines", detail: `${code}: ${cause}` })
}

/** Prepares a step on a given basis, and has the result journaled. */
const preparedAs = (
  { ledger, submit }: Parts,
  bound: Bound,
  transfer: TransferView,
  { binding, name }: StepView,
  { behindOffset, claims, end, facts }: Basis
): Effect.Effect<void, Trouble> =>
  Effect.gen(function*() {
    const { custody, participantId } = bound
    const { number } = transfer
    const maxRecordTimeEpochMs = (end.recordTimeEpochMs ?? (yield* Clock.currentTimeMillis)) + recordableMs
    const planned = Planned.plan(custody, facts)
    const made = yield* Effect.mapError(ledger.prepare(planned, maxRecordTimeEpochMs, claims),
      (error) => unprepared(bound, facts, transfer, error))
    const found = check({ ...made, maxRecordTimeEpochMs }, planned)
    if ("_tag" in found) {
      yield* Effect.logError(`${transfer.id}: the ledger prepared something else than ${name}: ${found.text}`)
      // The venue's own step after the end of its transfer cannot be rejected: the offer stands until it is withdrawn.
      if (transfer.end !== null) return yield* new Stopped({ reason: "prepared_mismatch", detail: found.text })
      yield* note({ submit }, "RejectStep", { transfer: number, step: name, stage: "approval", guard: "prepared_mismatch" })
      return
    }
    const { hash, preparedTransaction, scheme } = made
    const noted = yield* note({ submit }, "PrepareStep", {
      transfer: number,
      step: name,
      commandId: planned.commandId,
      preparedTransaction: Buffer.from(preparedTransaction).toString("base64"),
      hash: Buffer.from(hash).toString("hex"),
      hashingScheme: scheme,
      userId: planned.userId,
      synchronizerId: planned.synchronizerId,
      participantId,
      ledgerEndOffset: binding?.ledgerEndOffset ?? behindOffset,
      maxRecordTimeEpochMs
    })
    if (noted === "conflict") return yield* new Unreachable({ whom: "ledger", detail: "the step has gone on meanwhile" })
  })
