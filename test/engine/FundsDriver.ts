/** Drives deposits, withdrawals and changes of party by hand: an owner with passkeys, and a ledger scripted by the test. */
import { Refusal } from "../../src/domain/Refusal.js"
import { Engine } from "../../src/engine/Engine.js"
import type { FundsBounds } from "../../src/engine/funds/Bounds.js"
import type { TransferView } from "../../src/engine/Reads.js"
import type { StepName } from "../../src/operations/funds/Transfers.js"
import type { CommandOfKind } from "../../src/operations/Operations.js"
import { Driver } from "./drive.js"
import { type AnyGiven, answerOf } from "./commands.js"

/** An owner who is signed in. */
export interface Owner {
  readonly account: number
  readonly session: number
  readonly passkey: string
}

type Answered = CommandOfKind<"NoteSubmission">["outcome"]

export class FundsDriver extends Driver {
  protected born = 0
  protected offset = 100

  /** `engine`: an existing one to drive. */
  constructor(protected readonly given: Partial<FundsBounds> = {}, engine?: Engine) {
    super(engine ?? Engine.make({ orders: 256, idempotencyKeys: 1_024, fills: 256, rows: 64, funds: given }))
  }

  get funds() {
    return this.engine.state.funds
  }

  /** The refusal of a command, with or without a record; 0 if it is accepted. */
  refusal(given: AnyGiven): Refusal {
    const outcome = this.send(given)
    return outcome.refusal === Refusal.none ? answerOf(outcome.entries[0]).refusal : outcome.refusal
  }

  /** Opens an account for somebody with a passkey. */
  owner(): Owner {
    const name = `passkey-${++this.born}`
    const { account, session } = this.ask({
      kind: "OpenOwnerAccount",
      credentialId: name,
      userHandle: `handle-${name}`,
      publicKey: `key-${name}`,
      signCount: 0,
      transports: "internal",
      displayName: name,
      tokenSha256: this.born.toString(16).padStart(64, "0"),
      remoteAddress: ""
    })
    return { account: account!, session: session!, passkey: name }
  }

  /** Adds a passkey to an account. */
  addPasskey({ account, passkey, session }: Owner): Owner {
    const name = `passkey-${++this.born}`
    const added = this.ask({
      kind: "AddPasskey",
      account,
      credential: session,
      credentialId: name,
      userHandle: `handle-${name}`,
      publicKey: `key-${name}`,
      signCount: 0,
      transports: "internal",
      displayName: name,
      tokenSha256: this.born.toString(16).padStart(64, "0"),
      remoteAddress: "",
      provedBy: passkey
    })
    return { account, session: added.session!, passkey: name }
  }

  /** Signs an owner in anew, since sessions end long before an unapproved step expires. */
  signIn({ account, passkey }: Owner, signCount = 0): Owner {
    const tokenSha256 = (++this.born).toString(16).padStart(64, "0")
    const { session } = this.ask({ kind: "SignIn", credentialId: passkey, signCount, tokenSha256, remoteAddress: "" })
    return { account, passkey, session: session! }
  }

  /** The account and credential with which an owner sends commands. */
  by({ account, session }: Owner): { readonly account: number; readonly credential: number } {
    return { account, credential: session }
  }

  deposit(owner: Owner, amountAtoms: number): number {
    return this.ask({ ...this.askDeposit(owner, amountAtoms) }).transfer!
  }

  askDeposit(owner: Owner, amountAtoms: number, asset: "USDC" | "unsupported" = "USDC") {
    return { kind: "RequestDeposit", ...this.by(owner), idempotencyKey: this.nextKey(), asset, amountAtoms, raw: "" } as const
  }

  withdrawal(owner: Owner, amountAtoms: number): number {
    return this.ask(this.askWithdrawal(owner, amountAtoms)).transfer!
  }

  askWithdrawal(owner: Owner, amountAtoms: number, asset: "USDC" | "unsupported" = "USDC") {
    return {
      kind: "RequestWithdrawal",
      ...this.by(owner),
      idempotencyKey: this.nextKey(),
      asset,
      amountAtoms,
      raw: "",
      destinationPartyId: "elsewhere::1220",
      remoteAddress: ""
    } as const
  }

  partyChange(owner: Owner): number {
    return this.ask(this.askPartyChange(owner)).transfer!
  }

  askPartyChange(owner: Owner) {
    return { kind: "RequestPartyChange", ...this.by(owner), idempotencyKey: this.nextKey(), remoteAddress: "" } as const
  }

  bind(owner: Owner, transfer = -1, partyId = `party-${owner.account}-${++this.born}::1220`): Refusal {
    return this.refusal({ kind: "BindParty", ofAccount: owner.account, transfer, partyId, keyId: `key-${partyId}` })
  }

  /** A kept transfer. */
  transfer(number: number): TransferView {
    const found = this.engine.transfer(number)
    if (found === undefined) throw new Error(`there is no transfer ${number}`)
    return found
  }

  /** The name of the current step. */
  atHand(number: number): StepName {
    return this.transfer(number).stepAtHand!.name
  }

  /** The command id of a step: of the account for an account's first step, otherwise of the transfer. */
  commandOf(number: number, step: StepName): string {
    const { account, kind, partyId } = this.transfer(number)
    return step === "owner_account_acceptance" ? `accept-${account}-${kind === "party_change" ? partyId : ""}` : `${step}-${number}`
  }

  /** The hash of a step's transaction at its `times`th preparation. */
  hashOf(number: number, step: StepName, times: number): string {
    return `hash-${number}-${step}-${times}`
  }

  prepare(number: number, step: StepName = this.atHand(number), more: Partial<CommandOfKind<"PrepareStep">> = {}): Refusal {
    return this.refusal(this.preparation(number, step, more))
  }

  preparation(number: number, step: StepName = this.atHand(number), more: Partial<CommandOfKind<"PrepareStep">> = {}) {
    const times = this.transfer(number).steps.find(({ name }) => name === step)?.preparations ?? 0
    return {
      kind: "PrepareStep",
      transfer: number,
      step,
      commandId: this.commandOf(number, step),
      preparedTransaction: "AAAA",
      hash: this.hashOf(number, step, times + 1),
      hashingScheme: 3,
      userId: "venue",
      synchronizerId: "synchronizer::1220",
      participantId: "participant::1220",
      ledgerEndOffset: 50,
      maxRecordTimeEpochMs: this.atEpochMs + 600_000,
      ...more
    } as const
  }

  approve(owner: Owner, number: number, step: StepName = this.atHand(number), more: Partial<CommandOfKind<"ApproveStep">> = {}): Refusal {
    return this.refusal(this.approval(owner, number, step, more))
  }

  approval(owner: Owner, number: number, step: StepName, more: Partial<CommandOfKind<"ApproveStep">> = {}) {
    const times = this.transfer(number).steps.find(({ name }) => name === step)?.preparations ?? 0
    const hash = this.hashOf(number, step, times)
    return {
      kind: "ApproveStep",
      ...this.by(owner),
      transfer: number,
      step,
      hash,
      credentialId: owner.passkey,
      signCount: 0,
      clientData: "client",
      authenticatorData: "authenticator",
      signature: "signature",
      nonce: `nonce-${hash}`,
      remoteAddress: "",
      ...more
    } as const
  }

  begin(number: number, submissionId: string, step: StepName = this.atHand(number)): Refusal {
    return this.refusal({ kind: "BeginSubmission", transfer: number, step, submissionId })
  }

  note(number: number, step: StepName, submissionId: string, outcome: Answered, guard = ""): Refusal {
    return this.refusal({ kind: "NoteSubmission", transfer: number, step, submissionId, outcome, guard })
  }

  /** A completion, by default at the next offset. */
  complete(number: number, step: StepName, submissionId: string, more: Partial<CommandOfKind<"NoteCompletion">> = {}): Refusal {
    const offset = more.offset ?? ++this.offset
    return this.refusal({
      kind: "NoteCompletion",
      commandId: this.commandOf(number, step),
      submissionId,
      outcome: "accepted",
      guard: "",
      updateId: (more.outcome ?? "accepted") === "accepted" ? `update-${offset}` : "",
      recordTimeEpochMs: 0,
      ...more,
      offset
    })
  }

  scan(number: number, step: StepName = this.atHand(number), recordTimeEpochMs = 0, throughOffset = 1_000_000): Refusal {
    const times = this.transfer(number).steps.find(({ name }) => name === step)?.preparations ?? 0
    return this.refusal({
      kind: "NoteScan",
      transfer: number,
      step,
      hash: this.hashOf(number, step, times),
      throughOffset,
      recordTimeEpochMs
    })
  }

  /** Brings the current step to its completion. */
  finishStep(owner: Owner, number: number): void {
    const step = this.atHand(number)
    const submissionId = `submission-${step}-${number}`
    const refusals = [
      this.prepare(number, step),
      ...(step === "treasury_offer_withdrawal" ? [] : [this.approve(owner, number, step)]),
      this.begin(number, submissionId, step),
      this.note(number, step, submissionId, "accepted"),
      this.complete(number, step, submissionId)
    ]
    if (refusals.some((refusal) => refusal !== Refusal.none)) throw new Error(`a step was refused: ${refusals.join(" ")}`)
  }

  /** Brings a transfer to its end. */
  finish(owner: Owner, number: number): void {
    while (this.transfer(number).end === null) this.finishStep(owner, number)
  }

  /** An owner with a confirmed party and a balance of `amountAtoms`. */
  funded(amountAtoms: number): Owner {
    const owner = this.owner()
    const number = this.deposit(owner, amountAtoms)
    this.bind(owner)
    this.finish(owner, number)
    return owner
  }
}
