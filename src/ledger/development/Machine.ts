/**
 * The development ledger as a state machine: a pure function of state and input, without clock, randomness or disk. Accepted submissions
 * are sequenced, each at a record time of its own, and decided in that order; a decision is reported as a completion at the next offset.
 * The record time that is shown never passes one whose decision has not been reported: only so can a gap-free scan of completions prove
 * that a command will never be accepted.
 */
import { createHash } from "node:crypto"
import { assert } from "../../domain/Assert.js"
import { commandOf, interpret, minted } from "./Interpret.js"
import { fault, LedgerFault, scripted } from "./LedgerFault.js"
import * as Prepared from "../prepared/PreparedTransaction.js"
import { Malformed } from "../prepared/Wire.js"
import type { Setting } from "./Setting.js"
import { changeId, type Completion, type Contract, type Handling, type Input, type State, type Undecided } from "./State.js"

const microsPerMs = 1_000

/** The create node of a stored contract. */
export const createOf = (encoded: string): Prepared.Create => {
  const node = Prepared.decodeNode(Buffer.from(encoded, "base64"))
  assert(!(node instanceof Malformed) && node.case === "create", "a contract is kept as its create node")
  return node.value
}

const kept = (create: Prepared.Create): string => Buffer.from(Prepared.encodeNode({ case: "create", value: create })).toString("base64")

/** The transaction of an accepted submission, whose bytes were decoded before. */
const preparedOf = (encoded: string): Prepared.PreparedTransaction => {
  const prepared = Prepared.decode(Buffer.from(encoded, "base64"))
  assert(!(prepared instanceof Malformed), "what was taken was understood")
  return prepared
}

/** The contracts that a transaction spends. */
const spentBy = ({ nodes }: Prepared.DamlTransaction): ReadonlyArray<string> =>
  nodes.flatMap(({ v1 }) => v1.case === "exercise" ? [v1.value.contractId] : [])

/** The update id of a decision at an offset. */
const updateIdOf = (hash: string, offset: number): string => `1220${createHash("sha256").update(`${hash}|${offset}`).digest("hex")}`

export class Machine {
  constructor(readonly setting: Setting, readonly state: State) {}

  /** The contracts that were active at an offset, which must be within the history that is kept. */
  activeAt(offset: number): ReadonlyArray<Contract> {
    const { contracts, ended } = this.state
    const since = ended.filter(({ endedAtOffset }) => endedAtOffset > offset)
    return [...contracts.values(), ...since].filter((contract) => contract.offset <= offset)
  }

  /** The state for interpreting a command: the contracts as they are now. */
  against(ids: { readonly contractId: (index: number) => string; readonly seed: (index: number) => Uint8Array }) {
    const { parties } = this.state
    return {
      setting: this.setting,
      contract: (contractId: string) => {
        const contract = this.state.contracts.get(contractId)
        return contract && createOf(contract.create)
      },
      isParty: (party: string) => parties.has(party) || party === this.setting.token.admin,
      ...ids
    }
  }

  apply(input: Input): void {
    if (input._tag !== "Allocated") this.advance(input.atMicros)
    switch (input._tag) {
      case "Allocated":
        if (!this.state.parties.has(input.partyId)) this.state.parties.set(input.partyId, input.publicKey)
        this.advance(input.atMicros)
        this.state.offset++
        return
      case "Minted": {
        const create = minted(this.setting, input.contractId, input.owner, BigInt(input.amountAtoms))
        this.state.offset++
        this.add(create, input.atMicros)
        return
      }
      case "Taken":
        return this.take(input)
      case "Advanced":
        return
      case "Invented":
        return this.tell({
          recordTimeMicros: this.state.recordTimeMicros,
          commandId: input.commandId,
          submissionId: "",
          userId: input.userId,
          actAs: [input.party],
          hash: "",
          updateId: updateIdOf(input.commandId, this.state.offset + 1),
          statusCode: 0,
          message: ""
        })
      case "Pruned":
        return this.prune(this.state.offset)
    }
  }

  /** Whether something is due by a time, or the shown record time has fallen a second behind it. */
  isDue(atMicros: number): boolean {
    const { recordTimeMicros, sequenced, submitted } = this.state
    if (submitted.some((one) => this.sequencingTime(one) <= atMicros)) return true
    const head = sequenced[0]
    return head === undefined ? atMicros - recordTimeMicros >= 1_000_000 : head.decidedAtMicros <= atMicros
  }

  /** Why a submission is not accepted; undefined where it is. */
  refusal(prepared: Prepared.PreparedTransaction, userId: string, deduplicateFrom: number): LedgerFault | undefined {
    const { accepted, completions, offset, prunedThrough, sequenced, submitted } = this.state
    const { actAs, commandId } = prepared.metadata.submitterInfo
    const change = changeId(userId, actAs, commandId)
    if (deduplicateFrom < prunedThrough || deduplicateFrom > offset) {
      const cause = "The submitted command had an invalid deduplication period"
      return fault("INVALID_DEDUPLICATION_PERIOD", cause, { earliest_offset: String(prunedThrough) })
    }
    const pending = [...submitted, ...sequenced].find((one) => one.changeId === change)
    if (pending !== undefined) {
      return fault("SUBMISSION_ALREADY_IN_FLIGHT", "The submission is already in-flight", { existing_submission_id: pending.submissionId })
    }
    const acceptedAt = accepted.get(change)
    if (acceptedAt !== undefined && acceptedAt > deduplicateFrom) {
      const existing = completions.find((completion) => completion.offset === acceptedAt)
      return fault("DUPLICATE_COMMAND", "A command with the given command id has already been successfully processed", {
        completion_offset: String(acceptedAt),
        existing_submission_id: existing?.submissionId ?? ""
      })
    }
    if (submitted.length + sequenced.length >= this.setting.most.undecided) {
      return fault("PARTICIPANT_BACKPRESSURE", "The participant is overloaded: too many submissions are not decided yet")
    }
    return undefined
  }

  /** Why a transaction is not accepted: another one that is not decided yet spends the same contracts. Undefined where none does. */
  locked({ transaction }: Prepared.PreparedTransaction): LedgerFault | undefined {
    const { sequenced, submitted } = this.state
    if (submitted.length + sequenced.length === 0) return undefined
    const spent = new Set(spentBy(transaction))
    const isLocked = [...submitted, ...sequenced].some((one) => spentBy(preparedOf(one.prepared).transaction).some((id) => spent.has(id)))
    return isLocked
      ? fault("LOCAL_VERDICT_LOCKED_CONTRACTS", "Rejected transaction is referring to locked contracts")
      : undefined
  }

  private take(input: Extract<Input, { readonly _tag: "Taken" }>): void {
    const { atMicros, handling, hash, prepared: encoded, submissionId, userId } = input
    const { metadata } = preparedOf(encoded)
    const { actAs, commandId } = metadata.submitterInfo
    const maximum = metadata.maxRecordTime === undefined ? null : Number(metadata.maxRecordTime)
    const begun = Math.max(atMicros, this.state.recordTimeMicros)
    const sequencedAtMicros = this.scheduled(begun + handling.sequenceAfterMs * microsPerMs, maximum, handling)
    this.state.submitted.push({
      prepared: encoded,
      hash,
      submissionId,
      userId,
      handling,
      changeId: changeId(userId, actAs, commandId),
      maxRecordTimeMicros: maximum,
      sequencedAtMicros,
      // Reported only once the maximum has passed on every clock, although it was sequenced before.
      decidedAtMicros: handling.sequence === "beforeMaximum" && maximum !== null ? Math.max(begun, maximum + 100_000) : 0
    })
    this.advance(atMicros)
  }

  private scheduled(atMicros: number, maximum: number | null, { sequence }: Handling): number {
    if (maximum === null || sequence === "asTaken" || sequence === "beforeMaximum") return atMicros
    return Math.max(atMicros, sequence === "atMaximum" ? maximum : maximum + 1)
  }

  /** When a submission is sequenced: one that has not been by its maximum record time never takes effect, and is given up just after it. */
  private sequencingTime({ maxRecordTimeMicros, sequencedAtMicros }: Undecided): number {
    return maxRecordTimeMicros === null ? sequencedAtMicros : Math.min(sequencedAtMicros, maxRecordTimeMicros + 1)
  }

  private advance(atMicros: number): void {
    const { state } = this
    const due = state.submitted.filter((one) => this.sequencingTime(one) <= atMicros)
    if (due.length > 0) {
      state.submitted = state.submitted.filter((one) => this.sequencingTime(one) > atMicros)
      for (const one of due.toSorted((a, b) => this.sequencingTime(a) - this.sequencingTime(b))) this.sequence(one)
    }
    while (state.sequenced.length > 0 && state.sequenced[0]!.decidedAtMicros <= atMicros) this.decide(state.sequenced.shift()!)
    const head = state.sequenced[0]
    const shown = head === undefined ? atMicros : Math.min(atMicros, head.sequencedAtMicros - 1)
    state.recordTimeMicros = Math.max(state.recordTimeMicros, shown)
  }

  private sequence(one: Undecided): void {
    const last = this.state.sequenced.at(-1)?.sequencedAtMicros ?? this.state.recordTimeMicros
    const at = this.sequencingTime(one)
    // No two record times are equal; a submission sequenced exactly at its maximum keeps that time where nothing else has it.
    const sequencedAtMicros = at > last ? at : last + 1
    const decidedAtMicros = Math.max(one.decidedAtMicros, sequencedAtMicros + one.handling.completeAfterMs * microsPerMs)
    this.state.sequenced.push({ ...one, sequencedAtMicros, decidedAtMicros })
  }

  private decide(one: Undecided): void {
    const { metadata, transaction } = preparedOf(one.prepared)
    this.state.recordTimeMicros = Math.max(this.state.recordTimeMicros, one.sequencedAtMicros)
    const told = {
      recordTimeMicros: one.sequencedAtMicros,
      commandId: metadata.submitterInfo.commandId,
      submissionId: one.submissionId,
      userId: one.userId,
      actAs: metadata.submitterInfo.actAs,
      hash: one.hash
    }
    const verdict = this.verdict(one, transaction)
    if (verdict !== undefined) {
      return this.tell({ ...told, updateId: "", statusCode: verdict.kind.grpc, message: verdict.message })
    }
    const offset = this.state.offset + 1
    this.effect(transaction, one.sequencedAtMicros, offset)
    this.state.accepted.set(one.changeId, offset)
    this.tell({ ...told, updateId: updateIdOf(one.hash, offset), statusCode: 0, message: "" })
    if (one.handling.isToldTwice) this.tell({ ...told, updateId: updateIdOf(one.hash, offset + 1), statusCode: 0, message: "" })
  }

  /** Why a sequenced transaction has no effect; undefined where it has. */
  private verdict(one: Undecided, transaction: Prepared.DamlTransaction): LedgerFault | undefined {
    const { handling, maxRecordTimeMicros, sequencedAtMicros } = one
    if (handling.rejection !== null) return scripted(handling.rejection.code, handling.rejection.cause, true)
    if (maxRecordTimeMicros !== null && sequencedAtMicros > maxRecordTimeMicros) {
      return fault("NOT_SEQUENCED_TIMEOUT", "The submission was not sequenced within its maximum record time")
    }
    const created = transaction.nodes.filter(({ v1 }) => v1.case === "create").length
    if (this.state.contracts.size + created > this.setting.most.contracts) {
      return fault("PARTICIPANT_BACKPRESSURE", "The development ledger holds as many contracts as it can")
    }
    const gone = spentBy(transaction).find((contractId) => !this.state.contracts.has(contractId))
    return gone === undefined
      ? undefined
      : fault("LOCAL_VERDICT_INACTIVE_CONTRACTS", `Rejected transaction is referring to inactive contracts ${gone}`)
  }

  private effect(transaction: Prepared.DamlTransaction, atMicros: number, offset: number): void {
    for (const { v1 } of transaction.nodes) {
      if (v1.case === "exercise" && v1.value.consuming) this.end(v1.value.contractId, offset)
    }
    for (const { v1 } of transaction.nodes) if (v1.case === "create") this.add(v1.value, atMicros, offset)
  }

  private end(contractId: string, endedAtOffset: number): void {
    const { contracts, ended } = this.state
    ended.push({ ...contracts.get(contractId)!, endedAtOffset })
    contracts.delete(contractId)
    if (ended.length > this.setting.most.ended) this.forgetEnded(ended[0]!.endedAtOffset)
  }

  private forgetEnded(through: number): void {
    const { ended } = this.state
    const kept = ended.findIndex(({ endedAtOffset }) => endedAtOffset > through)
    ended.splice(0, kept === -1 ? ended.length : kept)
    this.state.knownFromOffset = Math.max(this.state.knownFromOffset, through)
  }

  private add(create: Prepared.Create, createdAtMicros: number, offset = this.state.offset): void {
    this.state.contracts.set(create.contractId, { contractId: create.contractId, create: kept(create), createdAtMicros, offset })
  }

  private tell(completion: Omit<Completion, "offset">): void {
    this.state.offset++
    this.state.completions.push({ ...completion, offset: this.state.offset })
    if (this.state.completions.length > this.setting.most.completions) this.prune(this.state.completions[0]!.offset)
  }

  private prune(through: number): void {
    const { accepted, completions } = this.state
    this.state.prunedThrough = Math.max(this.state.prunedThrough, through)
    const kept = completions.findIndex(({ offset }) => offset > through)
    completions.splice(0, kept === -1 ? completions.length : kept)
    for (const [change, offset] of accepted) if (offset <= through) accepted.delete(change)
    this.forgetEnded(through)
  }
}

/**
 * Whether a transaction is what its root command yields now, so that signing a fabricated one achieves nothing. Returns undefined where it
 * is, and otherwise the difference.
 */
export const foreignness = (machine: Machine, prepared: Prepared.PreparedTransaction): LedgerFault | undefined => {
  const { metadata, transaction } = prepared
  const foreign = fault("INVALID_ARGUMENT", "The transaction is not what its command comes to")
  const command = commandOf(machine.setting, transaction)
  const [actAs] = metadata.submitterInfo.actAs
  if (command === undefined || actAs === undefined) return foreign
  const given = (index: number): Prepared.Node | undefined => transaction.nodes[index]?.v1
  const again = interpret(
    actAs,
    command,
    machine.against({
      contractId: (index) => {
        const node = given(index)
        return node?.case === "create" ? node.value.contractId : ""
      },
      seed: (index) => transaction.nodeSeeds[index]?.seed ?? new Uint8Array()
    })
  )
  if (again instanceof LedgerFault) return again
  const metadataAgain = { ...metadata, inputContracts: inputsOf(machine, again.inputs) }
  const bytes = Prepared.encode({ transaction: again.transaction, metadata: metadataAgain })
  return Buffer.compare(bytes, Prepared.encode(prepared)) === 0 ? undefined : foreign
}

/** Contracts in the form in which a transaction carries its inputs. */
export const inputsOf = (machine: Machine, creates: ReadonlyArray<Prepared.Create>): ReadonlyArray<Prepared.InputContract> =>
  creates.map((v1) => {
    const contract = machine.state.contracts.get(v1.contractId)!
    return { v1, createdAt: BigInt(contract.createdAtMicros), eventBlob: Buffer.from(contract.create, "base64") }
  })
