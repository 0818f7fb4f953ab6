/**
 * The development ledger behind its API: decodes a request, has the state machine decide, and answers as Canton's JSON Ledger API would,
 * subject to a script of faults. Synchronous, without clock or randomness of its own: each request comes with both.
 */
import { createHash, createPublicKey, verify } from "node:crypto"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { type Fault, Play, Script } from "./Faults.js"
import { type Command, commandOf, interpret } from "./Interpret.js"
import { fault, LedgerFault, scripted } from "./LedgerFault.js"
import { createOf, foreignness, inputsOf, Machine } from "./Machine.js"
import { partyIdPattern, type Step, templates } from "../Planned.js"
import * as Hash from "../prepared/Hash.js"
import * as PartyTopology from "../prepared/PartyTopology.js"
import * as Prepared from "../prepared/PreparedTransaction.js"
import { fingerprint, multiHash, partyId } from "../prepared/Topology.js"
import { Malformed } from "../prepared/Wire.js"
import type { Setting } from "./Setting.js"
import * as Shapes from "../Shapes.js"
import { changeId, type Completion, empty, type Handling, type Input, keep, plainHandling, restore } from "./State.js"
import type { Store } from "./Store.js"
import { tampered } from "./Tampering.js"
import * as Templates from "../Templates.js"
import type { Question, Reply } from "../Transport.js"

/** The time and the randomness for one request. */
export interface Given {
  readonly epochMs: number
  readonly bytes: (count: number) => Uint8Array
}

/** What becomes of a request: an answer, possibly delayed, or none. */
export type Handled = { readonly reply: Reply; readonly afterMs: number } | { readonly reply: undefined }

/** The control routes of a development ledger, beside the API. */
export const controls = {
  /** `{party, amountAtoms}`: creates a holding of the settlement asset for the party. */
  faucet: "/development/faucet",
  /** POST replaces the script of faults; GET returns what is left of it. */
  script: "/development/script"
} as const

/** The faucet gives at most a billion USDC at once. */
const mostMintedAtoms = 1_000_000_000_000_000

const FaucetRequest = Schema.Struct({
  party: Schema.String.pipe(Schema.pattern(partyIdPattern)),
  amountAtoms: Schema.Number.pipe(Schema.int(), Schema.between(1, mostMintedAtoms))
})

/** The DER prefix before the 32 bytes of an Ed25519 public key, for Node. */
const keyPrefix = Buffer.from("302a300506032b6570032100", "hex")

const sha256Hex = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const digest = createHash("sha256")
  for (const part of parts) digest.update(part)
  return digest.digest("hex")
}

const ok = (body: unknown): Reply => ({ status: 200, body })

const refused = ({ cause, code, context, kind }: LedgerFault): Reply => ({
  status: kind.status,
  body: {
    code,
    cause,
    correlationId: null,
    traceId: null,
    context,
    resources: [],
    errorCategory: kind.category,
    grpcCodeValue: kind.grpc,
    retryInfo: kind.category <= 3 ? "1 second" : null,
    definiteAnswer: kind.isDefinite
  }
})

const invalid = (cause: string): LedgerFault => fault("INVALID_ARGUMENT", cause)

/** Refusals for which the request is not to blame. */
const ownFaults = {
  load: fault("PARTICIPANT_BACKPRESSURE", "The participant is overloaded"),
  right: fault("PERMISSION_DENIED", "The caller lacks a right"),
  token: fault("UNAUTHENTICATED", "The caller has no valid token")
} as const

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")

/** Whether the signature is that of this key over these bytes. */
const isSignedBy = (publicKey: Uint8Array, bytes: Uint8Array, signature: Uint8Array): boolean => {
  try {
    return verify(null, bytes, createPublicKey({ key: Buffer.concat([keyPrefix, publicKey]), format: "der", type: "spki" }), signature)
  } catch {
    // A key of the wrong length, or one that is not a point of the curve, has signed nothing.
    return false
  }
}

const Account = Schema.Struct({ treasury: Schema.String, owner: Schema.String, accountId: Schema.String })
const Offer = Schema.Struct({
  treasury: Schema.String,
  owner: Schema.String,
  admin: Schema.String,
  instrument: Schema.String,
  amount: Schema.String,
  reference: Schema.String
})
const Acceptance = Schema.Struct({ holdings: Schema.Array(Schema.String).pipe(Schema.maxItems(32)) })
const TransferArgument = Schema.Struct({
  receiver: Schema.String,
  amount: Schema.String,
  reference: Schema.String,
  others: Schema.Array(Schema.String).pipe(Schema.maxItems(32))
})

const exact = { onExcessProperty: "error" } as const

const stepsByCommand: Readonly<Record<Command["_tag"], Step>> = {
  CreateAccount: "owner_account_acceptance",
  CreateOffer: "treasury_offer",
  AcceptOffer: "owner_offer_acceptance",
  WithdrawOffer: "treasury_offer_withdrawal",
  Transfer: "treasury_withdrawal"
}

/** A request to one of the API's routes, decoded as far as fault scripts need it. */
interface Asked {
  readonly route: Shapes.Route
  readonly body: unknown
  readonly query: Readonly<Record<string, string>>
  readonly step: Step | undefined
  readonly isResubmission: boolean
}

export class DevelopmentLedger {
  private machine: Machine
  private sinceState = 0
  private readonly play: Play

  constructor(readonly setting: Setting, private readonly store: Store, script: Script = []) {
    this.machine = this.recovered()
    this.play = new Play(script)
  }

  /** The last offset. */
  get offset(): number {
    return this.machine.state.offset
  }

  private recovered(): Machine {
    const { inputs, kept } = this.store.recover()
    const machine = new Machine(this.setting, kept === undefined ? empty() : restore(kept))
    for (const input of inputs) machine.apply(input)
    this.sinceState = inputs.length
    return machine
  }

  private commit(input: Input): void {
    this.store.append(input)
    this.machine.apply(input)
    this.sinceState++
    if (this.sinceState < this.setting.inputsPerState) return
    this.store.replace(keep(this.machine.state))
    this.sinceState = 0
  }

  /** Answers a request. Throws where an input cannot be stored; then nothing has changed. */
  handle(question: Question, given: Given): Handled {
    const atMicros = given.epochMs * 1_000
    if (this.machine.isDue(atMicros)) this.commit({ _tag: "Advanced", atMicros })
    const { body, method, path, query = {} } = question
    const route = (Object.keys(Shapes.routes) as Array<Shapes.Route>).find((name) => Shapes.routes[name][1] === path)
    if (route === undefined) return { reply: this.control(question, atMicros, given), afterMs: 0 }
    if (Shapes.routes[route][0] !== method) return { reply: { status: 405, body: "Method Not Allowed" }, afterMs: 0 }
    const asked = { route, body, query, ...this.about(route, body) }
    const befallen = this.play.next(route, asked.step, asked.isResubmission)
    return befallen === undefined
      ? { reply: this.answer(asked, given, plainHandling), afterMs: 0 }
      : this.befall(befallen, asked, given)
  }

  /** The step of the request's command, and whether that command has been submitted before. */
  private about(route: Shapes.Route, body: unknown): Pick<Asked, "step" | "isResubmission"> {
    if (route === "prepare") {
      const request = Schema.decodeUnknownOption(Shapes.PrepareRequest)(body)
      const command = request._tag === "None" ? undefined : this.command(request.value.commands[0]!)
      return {
        step: command === undefined || command instanceof LedgerFault ? undefined : stepsByCommand[command._tag],
        isResubmission: false
      }
    }
    const request = route === "execute" ? Schema.decodeUnknownOption(Shapes.ExecuteRequest)(body) : undefined
    if (request === undefined || request._tag === "None") return { step: undefined, isResubmission: false }
    const prepared = Prepared.decode(request.value.preparedTransaction)
    if (prepared instanceof Malformed) return { step: undefined, isResubmission: false }
    const command = commandOf(this.setting, prepared.transaction)
    const { actAs, commandId } = prepared.metadata.submitterInfo
    const change = changeId(request.value.userId, actAs, commandId)
    const { accepted, sequenced, submitted } = this.machine.state
    return {
      step: command && stepsByCommand[command._tag],
      isResubmission: accepted.has(change) || [...sequenced, ...submitted].some((one) => one.changeId === change)
    }
  }

  private befall(befallen: Fault, asked: Asked, given: Given): Handled {
    const now = (reply: Reply): Handled => ({ reply, afterMs: 0 })
    const handled = (handling: Partial<Handling>): Handled => now(this.answer(asked, given, { ...plainHandling, ...handling }))
    switch (befallen.name) {
      case "answer_late":
        return { reply: this.answer(asked, given, plainHandling), afterMs: befallen.afterMs }
      case "drop_request":
        return { reply: undefined }
      case "drop_answer":
        this.answer(asked, given, plainHandling)
        return { reply: undefined }
      case "complete_twice":
        return handled({ isToldTwice: true })
      case "complete_after":
        return handled({ completeAfterMs: befallen.afterMs })
      case "complete_unknown":
        this.invent(asked, given)
        return handled({})
      case "refuse":
        return now(refused(scripted(befallen.code, befallen.cause, true)))
      case "refuse_for_itself":
        return now(refused(ownFaults[befallen.by]))
      case "refuse_since_first_won": {
        const gone = fault("LOCAL_VERDICT_INACTIVE_CONTRACTS", "Rejected transaction is referring to inactive contracts")
        return befallen.by === "answer" ? now(refused(gone)) : handled({ rejection: { code: gone.code, cause: gone.cause } })
      }
      case "refuse_indefinite":
        if (befallen.isDone) this.answer(asked, given, plainHandling)
        return now(refused(fault("REQUEST_TIME_OUT", "The request timed out: the submission may or may not have been recorded")))
      case "in_flight":
        return now(refused(fault("SUBMISSION_ALREADY_IN_FLIGHT", "The submission is already in-flight")))
      case "other_hash":
        return now(this.answerTampered(asked, given, undefined))
      case "other_bytes":
        return now(this.answerTampered(asked, given, befallen.part))
      case "restart":
        this.machine = this.recovered()
        return { reply: undefined }
      case "pass_maximum":
        return handled({ sequence: befallen.when === "before" ? "afterMaximum" : befallen.when === "at" ? "atMaximum" : "beforeMaximum" })
      case "prune":
        this.commit({ _tag: "Pruned", atMicros: given.epochMs * 1_000 })
        return handled({})
    }
  }

  /** A completion of a command that nobody submitted, for the user of the request. */
  private invent({ body }: Asked, given: Given): void {
    const request = Schema.decodeUnknownOption(Shapes.ExecuteRequest)(body)
    if (request._tag === "None") return
    const { partySignatures, userId } = request.value
    const commandId = `cmd_${sha256Hex(given.bytes(32))}`
    this.commit({ _tag: "Invented", atMicros: given.epochMs * 1_000, userId, party: partySignatures.signatures[0]!.party, commandId })
  }

  private answerTampered(asked: Asked, given: Given, part: Parameters<typeof tampered>[1] | undefined): Reply {
    const reply = this.answer(asked, given, plainHandling)
    const response = Schema.decodeUnknownOption(Shapes.PrepareResponse)(reply.body)
    if (response._tag === "None") return reply
    const { hashingSchemeVersion: scheme, preparedTransaction } = response.value
    const prepared = Prepared.decode(preparedTransaction)
    if (prepared instanceof Malformed) return reply
    if (part === undefined) return this.prepared(prepared, scheme, Hash.hash(tampered(prepared, "command"), scheme))
    const other = tampered(prepared, part)
    return this.prepared(other, scheme, Hash.hash(other, scheme))
  }

  private prepared(prepared: Prepared.PreparedTransaction, scheme: Prepared.HashingScheme, hash: Uint8Array | Hash.Unhashable): Reply {
    if (hash instanceof Hash.Unhashable) return refused(invalid(hash.reason))
    const bytes = Prepared.encode(prepared)
    if (bytes.length > Prepared.maxBytes)
      return refused(invalid(`The transaction has ${bytes.length} bytes of at most ${Prepared.maxBytes}`))
    return ok({
      preparedTransaction: base64(bytes),
      preparedTransactionHash: base64(hash),
      hashingSchemeVersion: `HASHING_SCHEME_VERSION_V${scheme}`,
      hashingDetails: null
    })
  }

  private answer({ body, query, route }: Asked, given: Given, handling: Handling): Reply {
    const reading = <A, I>(schema: Schema.Schema<A, I>, run: (request: A) => Reply | LedgerFault): Reply => {
      const request = Schema.decodeUnknownEither(schema)(body)
      if (Either.isLeft(request)) return refused(invalid(ParseResult.TreeFormatter.formatErrorSync(request.left).slice(0, 500)))
      const answer = run(request.right)
      return answer instanceof LedgerFault ? refused(answer) : answer
    }
    switch (route) {
      case "prepare":
        return reading(Shapes.PrepareRequest, (request) => this.prepare(request, given))
      case "execute":
        return reading(Shapes.ExecuteRequest, (request) => this.execute(request, given, handling))
      case "completions":
        return reading(Shapes.CompletionsRequest, (request) => this.completions(request, Number(query["limit"] ?? "200")))
      case "completion_by_hash":
        return reading(Shapes.ByHashRequest, ({ transactionHash }) => this.byHash(base64(transactionHash)))
      case "active_contracts":
        return reading(Shapes.ContractsRequest, (request) => this.contracts(request))
      case "generate_topology":
        return reading(Shapes.TopologyRequest, (request) => this.topology(request))
      case "allocate":
        return reading(Shapes.AllocateRequest, (request) => this.allocate(request, given))
      case "ledger_end":
        return ok({ offset: this.machine.state.offset, synchronizerTimes: [this.time(this.machine.state.recordTimeMicros)] })
      case "participant_id":
        return ok({ participantId: this.setting.participantId })
    }
  }

  private time(micros: number) {
    return { synchronizerId: this.setting.synchronizerId, recordTime: Shapes.timeText(micros) }
  }

  /** A submitted command, decoded. */
  private command(json: Shapes.JsonCommand): Command | LedgerFault {
    const template = templates(this.setting)
    const read = <A, I>(schema: Schema.Schema<A, I>, from: unknown, make: (value: A) => Command | LedgerFault): Command | LedgerFault => {
      const value = Schema.decodeUnknownEither(schema, exact)(from)
      return Either.isLeft(value) ? invalid(ParseResult.TreeFormatter.formatErrorSync(value.left).slice(0, 500)) : make(value.right)
    }
    if ("CreateCommand" in json) {
      const { createArguments, templateId } = json.CreateCommand
      if (templateId === Templates.templateText(template.account)) {
        return read(Account, createArguments, (account) => ({ _tag: "CreateAccount", account }))
      }
      if (templateId !== Templates.templateText(template.offer)) return invalid(`The template ${templateId} is not known`)
      return read(Offer, createArguments, ({ amount, ...rest }) => {
        const amountAtoms = Templates.atomsOf(amount)
        return amountAtoms === undefined
          ? invalid(`The amount ${amount} is none`)
          : { _tag: "CreateOffer", offer: { ...rest, amountAtoms } }
      })
    }
    const { choice, choiceArgument, contractId, templateId } = json.ExerciseCommand
    const on = `${templateId}.${choice}`
    if (on === `${Templates.templateText(template.offer)}.${Templates.choices.acceptOffer}`) {
      return read(Acceptance, choiceArgument, ({ holdings }) => ({ _tag: "AcceptOffer", contractId, holdings }))
    }
    if (on === `${Templates.templateText(template.offer)}.${Templates.choices.withdrawOffer}`) {
      return read(Schema.Struct({}), choiceArgument, () => ({ _tag: "WithdrawOffer", contractId }))
    }
    if (on !== `${Templates.templateText(template.holding)}.${Templates.choices.transfer}`) return invalid(`The choice ${on} is not known`)
    return read(TransferArgument, choiceArgument, ({ amount, ...rest }) => {
      const amountAtoms = Templates.atomsOf(amount)
      return amountAtoms === undefined
        ? invalid(`The amount ${amount} is none`)
        : { _tag: "Transfer", contractId, transfer: { ...rest, amountAtoms } }
    })
  }

  private prepare(request: typeof Shapes.PrepareRequest.Type, given: Given): Reply | LedgerFault {
    const [actAs] = request.actAs
    if (!this.machine.state.parties.has(actAs!)) return fault("UNKNOWN_INFORMEES", `The party ${actAs} is not known`)
    if (request.synchronizerId !== this.setting.synchronizerId) return invalid(`The synchronizer ${request.synchronizerId} is not known`)
    const maximum = request.maxRecordTime === undefined || request.maxRecordTime === null
      ? undefined
      : Shapes.epochMsOf(request.maxRecordTime)
    if (maximum === undefined && typeof request.maxRecordTime === "string") return invalid("maxRecordTime is no time")
    const command = this.command(request.commands[0]!)
    if (command instanceof LedgerFault) return command
    const chance = given.bytes(32)
    const against = this.machine.against({
      contractId: (index) => `00${sha256Hex("contract", chance, String(index))}`,
      seed: (index) => Buffer.from(sha256Hex("seed", chance, String(index)), "hex")
    })
    const interpreted = interpret(actAs!, command, against)
    if (interpreted instanceof LedgerFault) return interpreted
    const uuid = sha256Hex("uuid", chance)
    const prepared: Prepared.PreparedTransaction = {
      transaction: interpreted.transaction,
      metadata: {
        submitterInfo: { actAs: request.actAs, commandId: request.commandId },
        synchronizerId: this.setting.synchronizerId,
        mediatorGroup: 0,
        transactionUuid: [uuid.slice(0, 8), uuid.slice(8, 12), uuid.slice(12, 16), uuid.slice(16, 20), uuid.slice(20, 32)].join("-"),
        preparationTime: BigInt(given.epochMs) * 1_000n,
        inputContracts: inputsOf(this.machine, interpreted.inputs),
        minLedgerEffectiveTime: undefined,
        maxLedgerEffectiveTime: undefined,
        maxRecordTime: maximum === undefined ? undefined : BigInt(maximum) * 1_000n
      }
    }
    const scheme = request.hashingSchemeVersion ?? this.setting.scheme
    return this.prepared(prepared, scheme, Hash.hash(prepared, scheme))
  }

  private execute(request: typeof Shapes.ExecuteRequest.Type, given: Given, handling: Handling): Reply | LedgerFault {
    const prepared = Prepared.decode(request.preparedTransaction)
    if (prepared instanceof Malformed) return invalid(`The transaction cannot be read: ${prepared.reason}`)
    const hash = Hash.hash(prepared, request.hashingSchemeVersion)
    if (hash instanceof Hash.Unhashable) return invalid(`The transaction has no hash: ${hash.reason}`)
    const unsigned = this.unsigned(request, prepared, hash)
    if (unsigned !== undefined) return unsigned
    const from = request.deduplicationPeriod.DeduplicationOffset.value
    // A resubmission that the script has rejected in its completion is accepted here, whatever became of the first one.
    const refusal = handling.rejection === null
      ? this.machine.refusal(prepared, request.userId, from) ?? foreignness(this.machine, prepared) ?? this.machine.locked(prepared)
      : undefined
    if (refusal !== undefined) return refusal
    this.commit({
      _tag: "Taken",
      atMicros: given.epochMs * 1_000,
      prepared: base64(request.preparedTransaction),
      hash: base64(hash),
      submissionId: request.submissionId,
      userId: request.userId,
      handling
    })
    return ok({})
  }

  /** Why a submission lacks a valid signature of the acting party; undefined where it has one. */
  private unsigned(
    { partySignatures }: typeof Shapes.ExecuteRequest.Type,
    { metadata }: Prepared.PreparedTransaction,
    hash: Uint8Array
  ): LedgerFault | undefined {
    const { party, signatures } = partySignatures.signatures[0]!
    const { actAs } = metadata.submitterInfo
    if (actAs.length !== 1 || actAs[0] !== party) return invalid("The signatures are not those of the parties that act")
    if (metadata.synchronizerId !== this.setting.synchronizerId) return invalid("The transaction is for another synchronizer")
    const publicKey = this.machine.state.parties.get(party)
    if (publicKey === undefined) return fault("UNKNOWN_INFORMEES", `The party ${party} is not known`)
    const key = Buffer.from(publicKey, "base64")
    const { format, signature, signedBy, signingAlgorithmSpec } = signatures[0]!
    const isOfParty = format === Shapes.crypto.concat && signingAlgorithmSpec === Shapes.crypto.ed25519 && signedBy === fingerprint(key)
    return isOfParty && isSignedBy(key, hash, signature) ? undefined : invalid("The transaction is not signed by the party's key")
  }

  private completions(request: typeof Shapes.CompletionsRequest.Type, queried: number): Reply | LedgerFault {
    const { completions, offset, prunedThrough, recordTimeMicros } = this.machine.state
    const begin = request.beginExclusive ?? 0
    if (begin > offset) return fault("OFFSET_AFTER_LEDGER_END", `Begin offset (${begin}) is after ledger end (${offset})`)
    if (begin < prunedThrough) {
      const cause = `Completions before offset ${prunedThrough} have been pruned`
      return fault("PARTICIPANT_PRUNED_DATA_ACCESSED", cause, { earliest_offset: String(prunedThrough) })
    }
    const limit = request.limit ?? (Number.isSafeInteger(queried) && queried > 0 ? Math.min(queried, 200) : 200)
    const parties = new Set(request.parties)
    const found = completions.filter((one) =>
      one.offset > begin && one.userId === request.userId && one.actAs.some((party) => parties.has(party))
    )
    const told = found.slice(0, limit).map((one) => ({ completionResponse: { Completion: { value: this.completionValue(one) } } }))
    // The page reaches the ledger's end, so that the record time there is that of the page.
    const checkpoint = { completionResponse: { OffsetCheckpoint: { value: { offset, synchronizerTimes: [this.time(recordTimeMicros)] } } } }
    return ok(found.length > limit ? told : [...told, checkpoint])
  }

  private completionValue(one: Completion) {
    return {
      commandId: one.commandId,
      status: { code: one.statusCode, message: one.message },
      updateId: one.updateId,
      userId: one.userId,
      actAs: one.actAs,
      submissionId: one.submissionId,
      offset: one.offset,
      synchronizerTime: this.time(one.recordTimeMicros)
    }
  }

  private byHash(hash: string): Reply | LedgerFault {
    const of = this.machine.state.completions.filter((one) => one.hash === hash)
    if (of.length === 0) return fault("COMPLETION_NOT_FOUND", "No completion of this transaction is known")
    const accepted = of.find(({ statusCode }) => statusCode === 0)
    return ok({
      acceptedCompletion: accepted === undefined ? null : this.completionValue(accepted),
      lastRejectedCompletions: of.filter(({ statusCode }) => statusCode !== 0).slice(-10).map((one) => this.completionValue(one))
    })
  }

  private contracts(request: typeof Shapes.ContractsRequest.Type): Reply | LedgerFault {
    const [party, filter] = Object.entries(request.eventFormat.filtersByParty)[0] ?? []
    if (party === undefined || filter === undefined) return invalid("There is no party to show contracts to")
    const { templateId } = filter.cumulative[0]!.identifierFilter.TemplateFilter.value
    const begin = request.pageToken === undefined || request.pageToken === null ? 0 : Number(request.pageToken)
    if (!Number.isSafeInteger(begin) || begin < 0) return invalid("There is no such page")
    const { activeAtOffset } = request
    const { knownFromOffset, offset } = this.machine.state
    if (activeAtOffset > offset) return fault("OFFSET_AFTER_LEDGER_END", "That offset is not reached yet")
    if (activeAtOffset < knownFromOffset) {
      const cause = `What was active before offset ${knownFromOffset} has been pruned`
      return fault("PARTICIPANT_PRUNED_DATA_ACCESSED", cause, { earliest_offset: String(knownFromOffset) })
    }
    const seen = this.machine.activeAt(activeAtOffset).flatMap((contract) => {
      const create = createOf(contract.create)
      const isShown = create.stakeholders.includes(party) && Templates.templateText(create.templateId) === templateId
      return isShown ? [{ contract, create }] : []
    })
    // A fixed order, whatever has been archived since the previous page, so that pages of one offset fit together.
    seen.sort(({ contract: one }, { contract: other }) => one.offset - other.offset || (one.contractId < other.contractId ? -1 : 1))
    const activeContracts = seen.slice(begin, begin + request.maxPageSize).map(({ contract, create }) => ({
      workflowId: "",
      contractEntry: {
        JsActiveContract: {
          createdEvent: {
            offset: contract.offset,
            contractId: contract.contractId,
            templateId,
            createArgument: jsonOf(create.argument),
            signatories: create.signatories,
            observers: create.stakeholders.filter((one) => !create.signatories.includes(one)),
            createdAt: Shapes.timeText(contract.createdAtMicros),
            packageName: create.packageName
          },
          synchronizerId: this.setting.synchronizerId,
          reassignmentCounter: 0
        }
      }
    }))
    const end = begin + request.maxPageSize
    return ok({
      activeContracts,
      activeAtOffset,
      nextPageToken: end < seen.length ? String(end) : null
    })
  }

  private topology({ partyHint, publicKey, synchronizer }: typeof Shapes.TopologyRequest.Type): Reply | LedgerFault {
    if (synchronizer !== this.setting.synchronizerId) return invalid(`The synchronizer ${synchronizer} is not known`)
    const { format, keyData, keySpec } = publicKey
    if (format !== Shapes.crypto.rawKey || keySpec !== Shapes.crypto.curve25519 || keyData.length !== 32)
      return invalid("The key is no Ed25519 key")
    const party = partyId(partyHint, keyData)
    const transactions = [this.topologyOf(party, keyData)]
    return ok({
      partyId: party,
      publicKeyFingerprint: fingerprint(keyData),
      topologyTransactions: transactions.map(base64),
      multiHash: base64(multiHash(transactions))
    })
  }

  /** The topology that allocates a party here: one transaction, in which its key authorizes itself. */
  private topologyOf(party: string, publicKey: Uint8Array): Uint8Array {
    return PartyTopology.encode(PartyTopology.selfSigned(party, this.setting.participantId, publicKey))
  }

  private allocate(request: typeof Shapes.AllocateRequest.Type, given: Given): Reply | LedgerFault {
    const { multiHashSignatures, onboardingTransactions } = request
    const transactions = onboardingTransactions.map(({ transaction }) => transaction)
    const made = PartyTopology.decode(transactions[0]!)
    const mapping = typeof made === "string" || made.mapping.case !== "partyToParticipant" ? undefined : made.mapping.value
    const publicKey = mapping?.signingKeys?.keys[0]?.publicKey
    if (mapping === undefined || publicKey === undefined || transactions.length !== 1)
      return invalid("The topology is not one that this ledger made")
    const { party } = mapping
    const isOwn = partyIdPattern.test(party) && party.endsWith(`::${fingerprint(publicKey)}`)
    if (!isOwn || Buffer.compare(this.topologyOf(party, publicKey), transactions[0]!) !== 0)
      return invalid("The topology is not one that this ledger made")
    const { signature, signedBy } = multiHashSignatures[0]!
    if (signedBy !== fingerprint(publicKey) || !isSignedBy(publicKey, multiHash(transactions), signature)) {
      return invalid("The topology is not signed by its key")
    }
    const { parties } = this.machine.state
    if (!parties.has(party)) {
      if (parties.size >= this.setting.most.parties)
        return fault("PARTICIPANT_BACKPRESSURE", "The development ledger has as many parties as it can")
      this.commit({ _tag: "Allocated", atMicros: given.epochMs * 1_000, partyId: party, publicKey: base64(publicKey) })
    }
    return ok({ partyId: party })
  }

  private control({ body, method, path }: Question, atMicros: number, given: Given): Reply {
    if (path === controls.script && method === "GET") return ok(this.play.left)
    if (path === controls.script) {
      const script = Schema.decodeUnknownEither(Script, exact)(body)
      if (Either.isLeft(script)) return refused(invalid(ParseResult.TreeFormatter.formatErrorSync(script.left).slice(0, 2_000)))
      this.play.replace(script.right)
      return ok({})
    }
    if (path !== controls.faucet || method !== "POST") return { status: 404, body: "The requested resource could not be found." }
    const request = Schema.decodeUnknownEither(FaucetRequest, exact)(body)
    if (Either.isLeft(request)) return refused(invalid(ParseResult.TreeFormatter.formatErrorSync(request.left).slice(0, 500)))
    const { amountAtoms, party } = request.right
    const { contracts, parties } = this.machine.state
    if (!parties.has(party)) return refused(fault("UNKNOWN_INFORMEES", `The party ${party} is not known`))
    if (contracts.size >= this.setting.most.contracts) {
      return refused(fault("PARTICIPANT_BACKPRESSURE", "The development ledger holds as many contracts as it can"))
    }
    const contractId = `00${sha256Hex("faucet", given.bytes(32))}`
    this.commit({ _tag: "Minted", atMicros, contractId, owner: party, amountAtoms: String(amountAtoms) })
    return ok({ contractId })
  }
}

/** A contract's argument in the API's JSON. */
const jsonOf = (value: Prepared.Value): unknown => {
  switch (value.case) {
    case "record":
      return Object.fromEntries(value.value.fields.map((field) => [field.label, jsonOf(field.value)]))
    case "list":
      return value.value.elements.map(jsonOf)
    default:
      return value.value
  }
}
