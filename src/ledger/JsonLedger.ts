/**
 * The ledger over the JSON Ledger API v2, over any transport. The contracts on which a planned command is exercised are looked up here.
 * Every answer is decoded and bounded, and an error counts as definite only where the answer says that it is.
 */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Holdings from "./Holdings.js"
import {
  type Claims,
  codes,
  type Completion,
  type Ledger,
  type HeldAtOffset,
  type LedgerError,
  mostContracts,
  mostHoldings,
  type Preparation,
  Refused,
  Unavailable,
  Unknown
} from "./Ledger.js"
import { type Custody, type Facts, type PlannedCommand, templates } from "./Planned.js"
import { type HashingScheme, type Identifier, maxBytes } from "./prepared/PreparedTransaction.js"
import { fingerprint, multiHash, partyId } from "./prepared/Topology.js"
import * as Shapes from "./Shapes.js"
import * as Templates from "./Templates.js"
import type { Question, Reply, Transport } from "./Transport.js"

export interface Settings {
  readonly synchronizerId: string
  /** The hashing scheme for prepared transactions. */
  readonly scheme: HashingScheme
  /** The settlement asset of the holdings. */
  readonly token: Custody["token"]
  readonly custodyPackageId: string
}

/** How long the ledger waits for new completions before it answers with those there are. */
const idleMs = 2_000
const mostCompletions = 200
const pageSize = 200
/** Most pages read of a party's contracts of one template. A page that is not full counts as a full one. */
const mostPages = mostContracts / pageSize
/** The longest text of the ledger that is passed on, in characters. */
const longestCause = 500

const said = (text: string): string => text.length > longestCause ? `${text.slice(0, longestCause)}...` : text

/** Whether a request changes anything: if so, an answer that is not definite leaves open whether it did. */
type Nature = "read" | "effect"

const unreadable = (route: string, reason: string): Unknown =>
  new Unknown({ code: undefined, cause: said(`the answer to ${route} cannot be read: ${reason}`) })

/** Whether an error blames the caller's rights: by Canton's categories of credentials and permissions, or by the status. */
const lacksRight = ({ errorCategory: category }: typeof Shapes.ErrorBody.Type, status: number): boolean =>
  status === 401 || status === 403 || category === 6 || category === 7

/** Statuses that blame the caller's haste or the time that passed, although they are among those that blame the request. */
const notOfRequest: ReadonlySet<number> = new Set([408, 429])

/**
 * Whether an error blames the ledger's load or state, or the caller's rights, and not the request. Canton's categories 8 to 11 blame the
 * request: as such, or as it is after what the ledger holds. Those below are passing errors, contention, deadlines, defects and missing
 * rights, of which a client is told no more than the category; those above are reads beyond the end, and what the ledger does not support.
 */
const isOfLedger = (error: typeof Shapes.ErrorBody.Type, status: number): boolean => {
  const { code, errorCategory: category } = error
  return lacksRight(error, status) || status >= 500 || notOfRequest.has(status) || code === codes.pruned
    || (category !== undefined && category !== null && (category < 8 || category > 11))
}

/** The meaning of an answer that is not a success. */
const refusal = (nature: Nature, { body, status }: Reply): Refused | Unknown => {
  const error = Schema.decodeUnknownEither(Shapes.ErrorBody)(body)
  if (Either.isLeft(error)) {
    return new Unknown({ code: undefined, cause: said(`status ${status}: ${typeof body === "string" ? body : JSON.stringify(body)}`) })
  }
  const { cause, code, context, definiteAnswer } = error.right
  // A request that changes nothing can be repeated, so that an error that blames the request is definite.
  const isDefinite = definiteAnswer === true || (nature === "read" && status >= 400 && status < 500)
  if (!isDefinite) return new Unknown({ code, cause: said(cause) })
  return new Refused({
    code,
    cause: said(cause),
    context: context ?? {},
    isOfLedger: isOfLedger(error.right, status),
    lacksRight: lacksRight(error.right, status)
  })
}

class Asking {
  constructor(private readonly transport: Transport) {}

  reply(route: Shapes.Route, given: Pick<Question, "body" | "query"> = {}): Effect.Effect<Reply, Unknown | Unavailable> {
    const [method, path] = Shapes.routes[route]
    return Effect.mapError(
      this.transport({ method, path, ...given }),
      (error) =>
        error._tag === "Unsent" ? new Unavailable({ cause: said(error.cause) }) : new Unknown({ code: undefined, cause: said(error.cause) })
    )
  }

  ask<A, I>(
    nature: Nature,
    route: Shapes.Route,
    response: Schema.Schema<A, I>,
    given?: Pick<Question, "body" | "query">
  ): Effect.Effect<A, LedgerError> {
    return Effect.flatMap(this.reply(route, given), (reply): Effect.Effect<A, LedgerError> => {
      if (reply.status < 200 || reply.status >= 300) return Effect.fail(refusal(nature, reply))
      return Effect.mapError(
        Schema.decodeUnknown(response)(reply.body),
        (error) => unreadable(route, ParseResult.TreeFormatter.formatErrorSync(error))
      )
    })
  }
}

/** A contract found on the ledger. */
interface Found {
  readonly contractId: string
  readonly argument: unknown
}

/** A party's holdings of the settlement asset. */
interface Stock extends Pick<HeldAtOffset, "atoms" | "seen"> {
  /** Holdings of whole atoms, which can be spent. */
  readonly spendable: ReadonlyArray<Holdings.Held>
}

const OfferArgument = Schema.Struct({ treasury: Schema.String, owner: Schema.String, reference: Schema.String })
const HoldingArgument = Schema.Struct({
  admin: Schema.String,
  owner: Schema.String,
  instrument: Schema.String,
  amount: Schema.String
})

/** A planned command in the ledger's form, before the holdings to spend are fixed. */
interface Draft {
  /** Alternative forms, best first: each is tried where the transaction of the one before is too long. */
  readonly commands: ReadonlyArray<Shapes.JsonCommand>
  /** The error where none of them will do. */
  readonly beyond: (tooLong: LedgerError | undefined) => Effect.Effect<never, LedgerError>
}

/** The error code for a transaction longer than the venue and its signer accept. */
const tooLongCode = "TRANSACTION_TOO_LONG"

/** Whether an error may mean that the transaction is too long: a participant with a limit of its own has no code of its own for that. */
const isTooLong = (error: LedgerError): boolean =>
  error._tag === "Refused" && (error.code === tooLongCode || error.code === "INVALID_ARGUMENT")

const missing = (cause: string): Refused => new Refused({ code: codes.notFound, cause, context: {} })

class JsonLedger {
  constructor(private readonly asking: Asking, private readonly settings: Settings) {}

  private recordTimeOf(
    times: ReadonlyArray<{ readonly synchronizerId: string; readonly recordTime?: string | null | undefined } | null | undefined>
  ) {
    const time = times.find((one) => one?.synchronizerId === this.settings.synchronizerId)?.recordTime
    return time === undefined || time === null ? undefined : Shapes.epochMsOf(time)
  }

  readonly participantId = Effect.suspend(() =>
    Effect.map(this.asking.ask("read", "participant_id", Shapes.ParticipantResponse), ({ participantId }) => participantId)
  )

  readonly end = Effect.suspend(() =>
    Effect.map(this.asking.ask("read", "ledger_end", Shapes.EndResponse), ({ offset, synchronizerTimes }) => ({
      offset: offset ?? 0,
      recordTimeEpochMs: this.recordTimeOf(synchronizerTimes ?? [])
    }))
  )

  /** Reads at the ledger's end; again at its new end where the ledger has meanwhile pruned the state at the first. */
  private atEnd<A>(read: (offset: number) => Effect.Effect<A, LedgerError>, again = 2): Effect.Effect<A, LedgerError> {
    const once = Effect.flatMap(this.end, ({ offset }) => read(offset))
    const isPruned = (error: LedgerError) => error._tag === "Refused" && error.code === codes.pruned
    return again === 0 ? once : Effect.catchIf(once, isPruned, () => this.atEnd(read, again - 1))
  }

  /**
   * Reads a party's active contracts of a template as of an offset. Each page is given to `take`, which keeps what it needs of it and says
   * whether the next is wanted: anybody can create contracts for the party, so most of them may be junk. Returns how many were read.
   */
  private contracts(
    party: string,
    templateId: string,
    activeAtOffset: number,
    take: (found: ReadonlyArray<Found>) => Effect.Effect<boolean, LedgerError>
  ): Effect.Effect<number, LedgerError> {
    const { asking } = this
    return Effect.gen(function*() {
      let count = 0
      let pageToken: string | undefined
      for (let page = 0; page < mostPages; page++) {
        const answer = yield* asking.ask("read", "active_contracts", Shapes.ContractsResponse, {
          body: {
            eventFormat: {
              filtersByParty: { [party]: { cumulative: [{ identifierFilter: { TemplateFilter: { value: { templateId } } } }] } },
              verbose: true
            },
            activeAtOffset,
            maxPageSize: pageSize,
            ...(pageToken === undefined ? {} : { pageToken })
          }
        })
        const found = (answer.activeContracts ?? []).flatMap(({ contractEntry }) => {
          if (!("JsActiveContract" in contractEntry)) return []
          const { contractId, createArgument } = contractEntry.JsActiveContract.createdEvent
          return [{ contractId, argument: createArgument }]
        })
        count += found.length
        if (!(yield* take(found))) return count
        pageToken = answer.nextPageToken ?? undefined
        if (pageToken === undefined || pageToken === "") return count
        if (count >= mostContracts) break
      }
      return yield* Effect.fail(unreadable("active_contracts", `${party} sees more than ${mostContracts} contracts of ${templateId}`))
    })
  }

  /** The value of one of a party's contracts as a holding of the settlement asset; undefined where it is not one. */
  private worthTo(party: string, argument: unknown): Effect.Effect<ReturnType<typeof Templates.wholeAtomsOf>, Unknown> {
    const { token } = this.settings
    const decoded = Schema.decodeUnknownEither(HoldingArgument)(argument)
    if (Either.isLeft(decoded)) return Effect.fail(unreadable("active_contracts", "a holding has other fields"))
    const { admin, amount, instrument, owner } = decoded.right
    if (owner !== party || admin !== token.admin || instrument !== token.id) return Effect.succeed(undefined)
    const worth = Templates.wholeAtomsOf(amount)
    return worth === undefined ? Effect.fail(unreadable("active_contracts", `a holding of ${amount}`)) : Effect.succeed(worth)
  }

  private held(party: string, atOffset: number): Effect.Effect<Stock, LedgerError> {
    const templateId = Templates.templateText(templates(this.settings).holding)
    const spendable: Array<Holdings.Held> = []
    let atoms = 0n
    const take = (page: ReadonlyArray<Found>) =>
      Effect.gen(this, function*() {
        for (const { argument, contractId } of page) {
          const worth = yield* this.worthTo(party, argument)
          if (worth === undefined) continue
          atoms += worth.atoms
          // A holding that is not a whole number of atoms cannot be accounted for in atoms, and anybody may send one.
          if (worth.isExact) spendable.push({ contractId, atoms: worth.atoms })
        }
        if (spendable.length <= mostHoldings) return true
        return yield* Effect.fail(unreadable("active_contracts", `${party} has more than ${mostHoldings} holdings of the asset`))
      })
    return Effect.map(this.contracts(party, templateId, atOffset, take), (seen) => ({ spendable, atoms, seen }))
  }

  readonly holdings = (party: string): Effect.Effect<HeldAtOffset, LedgerError> =>
    this.atEnd((offset) =>
      Effect.map(this.held(party, offset), ({ atoms, seen, spendable }) => ({ atoms, pieces: spendable.length, seen, offset }))
    )

  /** A command that spends a party's holdings worth an amount, leaving alone those that other transactions claim. */
  private spending(
    planned: PlannedCommand,
    amountAtoms: bigint,
    atOffset: number,
    maxRecordTimeEpochMs: number,
    command: (holdings: ReadonlyArray<string>) => Shapes.JsonCommand,
    claims?: Claims
  ): Effect.Effect<Draft, LedgerError> {
    const party = planned.actAs
    return Effect.map(this.held(party, atOffset), ({ spendable }) => {
      const least = Holdings.leastFirst(spendable)
      const choices = Holdings.choicesOf(least, amountAtoms, claims)
      const beyond: Draft["beyond"] = (tooLong) => {
        if (Holdings.worthOf(least) < amountAtoms) return Effect.fail(missing(`${party} does not hold the amount in whole atoms`))
        const needed = Holdings.neededOf(least, amountAtoms)
        // No choice of holdings could make it shorter.
        if (tooLong !== undefined && needed === 1) return Effect.fail(tooLong)
        const most = tooLong === undefined && needed <= Holdings.sweptSpent
          ? Effect.succeed(Holdings.mostSpent)
          : this.mostInOne(planned, least, maxRecordTimeEpochMs, tooLong === undefined)
        return Effect.flatMap(most,
          (count) => Effect.fail(count === 0 && tooLong !== undefined ? tooLong : Holdings.refusalOf(party, least, amountAtoms, count)))
      }
      return { commands: choices.map((chosen) => command(chosen.map(({ contractId }) => contractId))), beyond }
    })
  }

  /**
   * How many of a party's largest holdings one transaction has room for, found by preparing transactions that nobody will sign: only the
   * ledger knows their length. Each leaves an atom over as change, since a payment of less would too. The room for the offer that an owner
   * accepts with them is estimated closely (`reckons`) as long as the ledger has called no transaction too long, and amply after that, so
   * that the next answer is lower for a caller to whom too much was promised.
   */
  private mostInOne(
    planned: PlannedCommand,
    least: ReadonlyArray<Holdings.Held>,
    untilEpochMs: number,
    reckons: boolean
  ): Effect.Effect<number, LedgerError> {
    const { custody, facts } = planned
    const [receiver, offers] = facts.step === "treasury_withdrawal" ? [facts.receiver, 0] : [custody.treasury, offersPlace]
    const lengthOf = (count: number): Effect.Effect<number, LedgerError> => {
      const largest = least.slice(-count).toReversed()
      const amount = Holdings.worthOf(largest) - 1n
      const command = this.transfer(planned, largest.map(({ contractId }) => contractId), {
        receiver,
        amount: Templates.numericText(amount > 0n ? amount : 1n)
      })
      const length = Effect.map(this.prepared(planned, command, untilEpochMs), ({ preparedTransaction }) => preparedTransaction.length)
      return Effect.catchIf(length, isTooLong, () => Effect.succeed(Infinity))
    }
    const longest = maxBytes - figuresPlace
    const hasRoom = (count: number, beside = 0) => Effect.map(lengthOf(count), (length) => length + beside <= longest)
    return Effect.gen(function*() {
      const most = Math.min(Holdings.mostSpent, least.length)
      if (offers === 0 && (yield* hasRoom(most))) return most
      const beside = reckons && offers > 0 ? Math.ceil(offersLength * ((yield* lengthOf(2)) - (yield* lengthOf(1)))) : 0
      const reserved = beside > 0 ? 0 : offers
      let [room, none] = [0, Math.min(Holdings.mostSpent + reserved, least.length) + 1]
      while (none - room > 1) {
        const count = Math.floor((room + none) / 2)
        if (yield* hasRoom(count, beside)) room = count
        else none = count
      }
      return Math.max(0, Math.min(most, room - reserved))
    })
  }

  private transfer(
    { custody, facts }: PlannedCommand,
    [first, ...others]: ReadonlyArray<string>,
    to: { readonly receiver: string; readonly amount: string }
  ): Shapes.JsonCommand {
    const reference = facts.step === "owner_account_acceptance" ? "" : facts.transferId
    return exercise(templates(custody).holding, first!, Templates.choices.transfer, { ...to, reference, others })
  }

  private offer(planned: PlannedCommand, owner: string, reference: string, atOffset: number): Effect.Effect<string, LedgerError> {
    const templateId = Templates.templateText(planned.template)
    // The owner sees only the few offers made to him, the treasury those made to everybody.
    const isMeant = ({ argument }: Found) => {
      const decoded = Schema.decodeUnknownOption(OfferArgument)(argument)
      return decoded._tag === "Some" && decoded.value.owner === owner && decoded.value.reference === reference
        && decoded.value.treasury === planned.custody.treasury
    }
    // Somebody who makes the owner other offers only has more of them read: one of all is kept.
    let standing: Found | undefined
    const take = (page: ReadonlyArray<Found>) => Effect.sync(() => (standing = page.find(isMeant)) === undefined)
    return Effect.flatMap(this.contracts(owner, templateId, atOffset, take),
      () => standing === undefined ? Effect.fail(missing(`no offer ${reference} stands`)) : Effect.succeed(standing.contractId))
  }

  /** A planned command in the ledger's form, with the contracts on which it is exercised. */
  private draft(planned: PlannedCommand, maxRecordTimeEpochMs: number, claims?: Claims): Effect.Effect<Draft, LedgerError> {
    const { custody, facts, template } = planned
    const create = (createArguments: Readonly<Record<string, unknown>>) =>
      Effect.succeed(only({ CreateCommand: { templateId: Templates.templateText(template), createArguments } }))
    switch (facts.step) {
      case "owner_account_acceptance":
        return create({ treasury: custody.treasury, owner: facts.owner, accountId: facts.accountId })
      case "treasury_offer":
        return create({
          treasury: custody.treasury,
          owner: facts.owner,
          admin: custody.token.admin,
          instrument: custody.token.id,
          amount: amountOf(facts),
          reference: facts.transferId
        })
      case "treasury_offer_withdrawal":
        return this.atEnd((offset) =>
          Effect.map(this.offer(planned, facts.owner, facts.transferId, offset), (contractId) =>
            only(exercise(template, contractId, Templates.choices.withdrawOffer, {})))
        )
      case "owner_offer_acceptance":
        return this.atEnd((offset) =>
          Effect.flatMap(this.offer(planned, facts.owner, facts.transferId, offset), (contractId) =>
            this.spending(planned, BigInt(facts.amountAtoms), offset, maxRecordTimeEpochMs, (holdings) =>
              exercise(template, contractId, Templates.choices.acceptOffer, { holdings })))
        )
      case "treasury_withdrawal":
        return this.atEnd((offset) =>
          this.spending(planned, BigInt(facts.amountAtoms), offset, maxRecordTimeEpochMs, (holdings) =>
            this.transfer(planned, holdings, { receiver: facts.receiver, amount: amountOf(facts) }), claims)
        )
    }
  }

  readonly prepare = (planned: PlannedCommand, maxRecordTimeEpochMs: number, claims?: Claims): Effect.Effect<Preparation, LedgerError> =>
    Effect.flatMap(this.draft(planned, maxRecordTimeEpochMs, claims), ({ beyond, commands }) => {
      const from = (at: number, tooLong?: LedgerError): Effect.Effect<Preparation, LedgerError> => {
        const command = commands[at]
        if (command === undefined) return beyond(tooLong)
        return Effect.catchIf(this.prepared(planned, command, maxRecordTimeEpochMs), isTooLong, (error) => from(at + 1, error))
      }
      return from(0)
    })

  private prepared(
    planned: PlannedCommand,
    command: Shapes.JsonCommand,
    maxRecordTimeEpochMs: number
  ): Effect.Effect<Preparation, LedgerError> {
    const body = {
      userId: planned.userId,
      commandId: planned.commandId,
      commands: [command],
      actAs: [planned.actAs],
      disclosedContracts: [],
      synchronizerId: planned.synchronizerId,
      maxRecordTime: Shapes.timeText(maxRecordTimeEpochMs * 1_000),
      hashingSchemeVersion: `HASHING_SCHEME_VERSION_V${this.settings.scheme}`
    }
    return Effect.flatMap(this.asking.ask("read", "prepare", Shapes.PrepareResponse, { body }),
      (answer) =>
        answer.preparedTransaction.length > maxBytes
          ? new Refused({ code: tooLongCode, cause: `the transaction has ${answer.preparedTransaction.length} bytes`, context: {} })
          : Effect.succeed({
            preparedTransaction: answer.preparedTransaction,
            hash: answer.preparedTransactionHash,
            scheme: answer.hashingSchemeVersion
          }))
  }

  readonly execute: Context.Tag.Service<Ledger>["execute"] = (submission) =>
    Effect.asVoid(this.asking.ask("effect", "execute", Schema.Object, {
      body: {
        preparedTransaction: Buffer.from(submission.preparedTransaction).toString("base64"),
        partySignatures: {
          signatures: [{ party: submission.party, signatures: [signatureOf(submission.signature, submission.signedBy)] }]
        },
        submissionId: submission.submissionId,
        userId: submission.userId,
        deduplicationPeriod: { DeduplicationOffset: { value: submission.deduplicateFromOffset } },
        hashingSchemeVersion: `HASHING_SCHEME_VERSION_V${submission.scheme}`
      }
    }))

  private completionOf(value: Shapes.CompletionValue): Completion {
    const { status } = value
    return {
      commandId: value.commandId,
      submissionId: value.submissionId ?? "",
      actAs: value.actAs ?? [],
      offset: value.offset,
      recordTimeEpochMs: this.recordTimeOf([value.synchronizerTime]),
      outcome: status === undefined || status === null || status.code === 0
        ? { _tag: "Accepted", updateId: value.updateId ?? "" }
        : { _tag: "Rejected", code: codeOf(status.message ?? ""), message: said(status.message ?? "") }
    }
  }

  readonly completions: Context.Tag.Service<Ledger>["completions"] = ({ beginExclusive, limit, parties, userId }) => {
    const most = Math.max(1, Math.min(limit, mostCompletions))
    const asked = this.asking.ask("read", "completions", Shapes.CompletionsResponse, {
      query: { limit: String(most), stream_idle_timeout_ms: String(idleMs) },
      body: { userId, parties, beginExclusive }
    })
    return Effect.flatMap(asked, (elements) => {
      const completions: Array<Completion> = []
      let throughOffset = beginExclusive
      let recordTimeEpochMs: number | undefined
      for (const { completionResponse } of elements) {
        if ("Empty" in completionResponse) continue
        const isCompletion = "Completion" in completionResponse
        const value = isCompletion ? completionResponse.Completion.value : completionResponse.OffsetCheckpoint.value
        // A checkpoint may repeat its own offset; a completion whose offset does not increase would hide a gap.
        if (value.offset < throughOffset || (isCompletion && value.offset === throughOffset)) {
          return Effect.fail(unreadable("completions", `offset ${value.offset} behind ${throughOffset}`))
        }
        throughOffset = value.offset
        if (isCompletion) completions.push(this.completionOf(completionResponse.Completion.value))
        // A checkpoint's time holds for everything before it; that of a completion is only its own.
        else recordTimeEpochMs = this.recordTimeOf(completionResponse.OffsetCheckpoint.value.synchronizerTimes ?? []) ?? recordTimeEpochMs
      }
      return Effect.succeed({ completions, throughOffset, recordTimeEpochMs })
    })
  }

  readonly completionByHash = (hash: Uint8Array): Effect.Effect<Completion | undefined, LedgerError> => {
    const body = { transactionHash: Buffer.from(hash).toString("base64") }
    return Effect.flatMap(this.asking.reply("completion_by_hash", { body }),
      (reply): Effect.Effect<Completion | undefined, LedgerError> => {
        // There is none, or the participant does not support the lookup.
        if (reply.status === 404 || reply.status === 405 || reply.status === 501) return Effect.succeed(undefined)
        if (reply.status < 200 || reply.status >= 300) return Effect.fail(refusal("read", reply))
        const decoded = Schema.decodeUnknownEither(Shapes.ByHashResponse)(reply.body)
        if (Either.isLeft(decoded)) {
          return Effect.fail(unreadable("completion_by_hash", ParseResult.TreeFormatter.formatErrorSync(decoded.left)))
        }
        const value = decoded.right.acceptedCompletion
        return Effect.succeed(value === undefined || value === null ? undefined : this.completionOf(value))
      })
  }

  readonly allocateParty: Context.Tag.Service<Ledger>["allocateParty"] = (publicKey, hint, sign) => {
    const { asking, settings } = this
    return Effect.gen(function*() {
      const topology = yield* asking.ask("read", "generate_topology", Shapes.TopologyResponse, {
        body: {
          synchronizer: settings.synchronizerId,
          partyHint: hint,
          publicKey: {
            format: Shapes.crypto.rawKey,
            keyData: Buffer.from(publicKey).toString("base64"),
            keySpec: Shapes.crypto.curve25519
          }
        }
      })
      const expected = partyId(hint, publicKey)
      const hash = multiHash(topology.topologyTransactions)
      if (topology.partyId !== expected || Buffer.compare(hash, topology.multiHash) !== 0) {
        return yield* Effect.fail(
          new Refused({ code: "TOPOLOGY_MISMATCH", cause: "the topology is not that of the key and hint", context: {} })
        )
      }
      const signature = yield* sign(hash, topology.topologyTransactions)
      const allocated = yield* asking.ask("effect", "allocate", Shapes.AllocateResponse, {
        body: {
          synchronizer: settings.synchronizerId,
          onboardingTransactions: topology.topologyTransactions.map((bytes) => ({ transaction: Buffer.from(bytes).toString("base64") })),
          multiHashSignatures: [signatureOf(signature, fingerprint(publicKey))]
        }
      })
      return allocated.partyId === expected
        ? { partyId: expected }
        : yield* Effect.fail(unreadable("allocate", `the party ${allocated.partyId}, not ${expected}`))
    })
  }
}

/** The number of holdings that take as much room in a transaction as the offer that an owner accepts with them. */
const offersPlace = 2
/** The length of the offer relative to that of a holding, at most; measured with short and long party names. */
const offersLength = 1.35
/** Bytes by which a transaction with the same number of holdings may be longer because its amounts have more digits. */
const figuresPlace = 64

/** A command that has only one form. */
const only = (command: Shapes.JsonCommand): Draft => ({
  commands: [command],
  beyond: (tooLong) => Effect.fail(tooLong ?? missing("there is nothing to give"))
})

const exercise = (
  template: Identifier,
  contractId: string,
  choice: string,
  choiceArgument: Readonly<Record<string, unknown>>
): Shapes.JsonCommand => ({ ExerciseCommand: { templateId: Templates.templateText(template), contractId, choice, choiceArgument } })

const amountOf = (facts: Extract<Facts, { readonly amountAtoms: number }>): string => Templates.numericText(BigInt(facts.amountAtoms))

const signatureOf = (signature: Uint8Array, signedBy: string) => ({
  format: Shapes.crypto.concat,
  signature: Buffer.from(signature).toString("base64"),
  signedBy,
  signingAlgorithmSpec: Shapes.crypto.ed25519
})

/** The ledger's name of an error, with which a status message begins: `NAME(category,id): ...`. */
const codeOf = (message: string): string => /^([A-Z][A-Z0-9_]{1,99})\(/.exec(message)?.[1] ?? "UNKNOWN"

/** The ledger behind a transport. */
export const make = (transport: Transport, settings: Settings): Effect.Effect<Context.Tag.Service<Ledger>> => {
  const ledger = new JsonLedger(new Asking(transport), settings)
  // The participant's id is asked for until it is known.
  let known: string | undefined
  const participantId = Effect.suspend(() =>
    known === undefined
      ? Effect.tap(ledger.participantId, (id) => Effect.sync(() => void (known = id)))
      : Effect.succeed(known)
  )
  const { allocateParty, completionByHash, completions, end, execute, holdings, prepare } = ledger
  return Effect.succeed({ participantId, end, prepare, execute, completions, completionByHash, allocateParty, holdings })
}
