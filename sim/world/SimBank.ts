/**
 * The ledger and the signer's keys of one run: processes of their own, which survive every crash of the venue. The ledger's clock shows
 * the true time or is ahead of it; every request to it and every answer takes time on the way, so that the venue may crash in between.
 *
 * Fault model: each request may meet one of the development ledger's faults (`src/ledger/development/Faults.ts`), drawn for its route;
 * a rule that waits for a resubmission stays until there is one, or another rule replaces it. The ledger restarts without losing
 * anything, and its clock jumps ahead by minutes. Strangers send the treasury single atoms that nobody asked for. Parties may hold
 * amounts finer than an atom. Completions are reported only in part. Requests to the signer while an approval is being decided are
 * slow. In a few runs transactions are decided so late that the venue executes them again, which the ledger refuses in each of its ways.
 * In a few runs the ledger turns many executions away for reasons of its own.
 * In a few runs the treasury gives so little on a day that owners meet that. Every new party is given something to deposit. Strangers who
 * have obtained a party's key execute what the venue has prepared, whether or not it was approved, or was given up since.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { controls, DevelopmentLedger } from "../../src/ledger/development/DevelopmentLedger.js"
import { Faucet, faucet } from "../../src/ledger/development/Faucet.js"
import type { Fault, Script } from "../../src/ledger/development/Faults.js"
import { createOf, Machine } from "../../src/ledger/development/Machine.js"
import * as Prepared from "../../src/ledger/prepared/PreparedTransaction.js"
import { fingerprint } from "../../src/ledger/prepared/Topology.js"
import { Malformed } from "../../src/ledger/prepared/Wire.js"
import { setting } from "../../src/ledger/development/Setting.js"
import { empty, type Input } from "../../src/ledger/development/State.js"
import { inMemory } from "../../src/ledger/development/Store.js"
import * as JsonLedger from "../../src/ledger/JsonLedger.js"
import { Ledger } from "../../src/ledger/Ledger.js"
import { templates } from "../../src/ledger/Planned.js"
import * as Shapes from "../../src/ledger/Shapes.js"
import * as Templates from "../../src/ledger/Templates.js"
import { Lost, type Question, type Reply, type Transport } from "../../src/ledger/Transport.js"
import type { Command } from "../../src/operations/Operations.js"
import type { PrepareStep } from "../../src/operations/funds/PrepareStep.js"
import * as Ed25519 from "../../src/signer/Ed25519.js"
import { PartySigner } from "../../src/signer/PartySigner.js"
import * as Records from "../../src/signer/Records.js"
import * as Signer from "../../src/signer/Signer.js"
import type { Setting } from "../../src/funds/Parts.js"
import type { LedgerBook } from "../properties/Observation.js"
import { GivenByDay } from "./GivenByDay.js"
import { OwnEvents } from "./OwnEvents.js"
import { SimKeyStore } from "./SimKeyStore.js"
import * as SimPasskeyVerifier from "./SimPasskeyVerifier.js"
import type { SimRandom } from "./SimRandom.js"
import type { SimTime } from "./SimTime.js"

/** The behaviour of the ledger and the signer of a run. Probabilities are per request. */
export interface Behaviour {
  readonly faultRate: number
  /** The relative frequency of each fault, by its name. */
  readonly weights: Readonly<Record<Fault["name"], number>>
  /** The longest time that a request, or an answer, takes on its way. */
  readonly maxDelayMs: number
  /** Mean time between jumps of the ledger's clock; 0 for none. */
  readonly meanLeapMs: number
  /** The most that the treasury pays out at once, money atoms. */
  readonly perWithdrawalAtoms: number
  /** The most that it pays out on a day. Absent, as in most runs: more than there is. */
  readonly dailyAtoms?: number
  /** How often completions are reported only in part, as if the time to wait for more were over. Absent from older recordings: never. */
  readonly partShare?: number
  /** The share of prepared transactions that strangers execute. Absent from older recordings: none. */
  readonly strangerShare?: number
  /** Mean time until a stranger sends the treasury an atom outside any deposit. Absent from older recordings, or 0: never. */
  readonly meanSentMs?: number
  /** Whether parties hold amounts finer than an atom, which anybody may send. Absent from older recordings: they do not. */
  readonly hasFiner?: boolean
  /** How executions of transactions that were executed before are treated. Absent, as in most runs: like all others. */
  readonly again?: Again
  /** The share of executions that the ledger turns away for a reason of its own, definitely. Absent, as in most runs: none. */
  readonly troubleShare?: number
  /** The share of transactions that strangers execute once their transfers have ended. Absent, as in most runs: none. */
  readonly behindShare?: number
}

/** What befalls the executions of one transaction, so that there are several of them. */
export interface Again {
  /** Share of first executions that the ledger decides seconds later only, and of these, how many get no answer. */
  readonly lateShare: number
  readonly unansweredShare: number
  /** Share of later ones that are refused because the first has won. */
  readonly refusedShare: number
  /** Share of answers that point to another execution which call themselves definite. */
  readonly definiteShare: number
}

/** A request of the venue for a prepared command, an account's key, or a signature: see `AskedOfBank`. */
export interface Asked {
  readonly what: "prepare" | "key" | "sign"
  readonly of: string
}

/** It looks for what became of a transaction, by its hash in hex, or executes one, by the submission's id. */
export interface Worked {
  readonly what: "look" | "execute"
  readonly of: string
}

export interface SimBank {
  /** The services for one process. `ready` queues a task in it. */
  readonly layerFor: (process: { readonly ready: (task: () => void) => void }) => Layer.Layer<Faucet | Ledger | PartySigner>
  readonly begin: () => void
  /** Stops all faults. */
  readonly heal: () => void
  /** Makes the ledger one that nobody reaches, or one that is there again. */
  readonly lose: (isLost: boolean) => void
  /** Has so many events of the participant's own happen behind its end; none: it is restored from a backup, and those are gone. */
  readonly goOn: (ownEvents: number) => void
  /** Lets the next executions meet these faults, one each, before any that is drawn. */
  readonly befall: (faults: ReadonlyArray<Fault>) => void
  /** Sets the ledger's clock further ahead by this much. */
  readonly leap: (byMs: number) => void
  /** Reports a journaled record to the strangers: they may learn of a transaction that was prepared or is about to be executed. */
  readonly overhear: (command: Command) => void
  /** Everything that the ledger has done so far, from all its inputs. */
  readonly book: () => LedgerBook
}

/** The venue's configuration on the ledger of a run. */
export const custody: Setting = {
  environment: "development",
  userId: "perpetuum",
  synchronizerId: setting.synchronizerId,
  custodyPackageId: setting.custodyPackageId,
  token: setting.token
}

const isTreasurys = (partyId: string): boolean => partyId.startsWith("treasury::")

/** What an owner is given to deposit, money atoms. */
const givenAtoms = 40_000_000
/** How often a step's completion is reported twice where that may happen at all: few steps are a deposit's last. */
const twiceShare = 0.3
/** The time after which an answer that never comes is given up. */
const lostMs = 700
const longestLeapMs = 15 * 60_000

type Route = Shapes.Route

const routeOf = (path: string): Route | undefined =>
  (Object.keys(Shapes.routes) as Array<Route>).find((name) => Shapes.routes[name][1] === path)

/** Faults of executions, and of preparations, in addition to those of every request. */
const everywhere: ReadonlyArray<Fault["name"]> = ["answer_late", "drop_request", "drop_answer", "refuse", "refuse_indefinite", "restart",
  "prune"]
const ofRoute: Readonly<Partial<Record<Route, ReadonlyArray<Fault["name"]>>>> = {
  execute: ["complete_twice", "complete_after", "complete_unknown", "refuse_since_first_won", "in_flight", "pass_maximum"],
  prepare: ["other_hash", "other_bytes"]
}

const parts = ["party", "command", "synchronizer", "maximum", "template", "choice", "amount", "receiver", "second_root", "hidden_node",
  "extra_input"] as const

/** A fault by its name, with its parameters drawn. */
const drawn = (name: Fault["name"], random: SimRandom): Fault => {
  switch (name) {
    case "answer_late":
      return { name, afterMs: random.between(1, 12_000) }
    case "complete_after":
      return { name, afterMs: random.pick([1, 1_000, 10_000, 240_000]) }
    case "refuse":
      return { name, code: "INCONSISTENT", cause: "drawn" }
    case "refuse_for_itself":
      return { name, by: random.pick(["load", "right", "token"] as const) }
    case "refuse_since_first_won":
      return { name, by: random.pick(["answer", "completion"] as const) }
    case "refuse_indefinite":
      return { name, isDone: random.chance(0.5) }
    case "other_bytes":
      return { name, part: random.pick(parts) }
    case "pass_maximum":
      return { name, when: random.pick(["before", "at", "after"] as const) }
    default:
      return { name }
  }
}

/** A drawn fault for the request at hand; undefined where none applies to it. */
const scriptFor = (route: keyof typeof ofRoute & Route, behaviour: Behaviour, random: SimRandom): Script | undefined => {
  const names = [...everywhere, ...ofRoute[route] ?? []].filter((name) => behaviour.weights[name] > 0)
  if (names.length === 0) return undefined
  const name = random.weighted(Object.fromEntries(names.map((each) => [each, behaviour.weights[each]])) as Record<Fault["name"], number>)
  return [{ on: route, skip: 0, times: 1, fault: drawn(name, random) }]
}

/** The fault that strikes the request at hand, if any. */
const struck = (route: Route, behaviour: Behaviour, random: SimRandom): Script | undefined => {
  const mayBeTwice = route === "execute" && behaviour.weights.complete_twice > 0 && behaviour.faultRate > 0
  if (mayBeTwice && random.chance(twiceShare)) return [{ on: route, skip: 0, times: 1, fault: { name: "complete_twice" } }]
  return random.chance(behaviour.faultRate) ? scriptFor(route, behaviour, random) : undefined
}

/** The prefix of strangers' submission ids, and how long they wait with an execution. */
const strangers = "stranger-"
const strangerWaitsMs: ReadonlyArray<number> = [0, 20, 500, 5_000, 30_000]

/** The seed of a party's key, as the signer has it on its disk. */
const seedOf = ({ records }: SimKeyStore, party: string): Uint8Array | undefined => {
  interface Key {
    readonly seed: string
    readonly party?: { readonly partyId: string }
  }
  for (const record of records.values()) {
    const { key, keys = [] } = JSON.parse(record) as { readonly key?: Key; readonly keys?: ReadonlyArray<Key> }
    const found = [...keys, ...key === undefined ? [] : [key]].find((each) => each.party?.partyId === party)
    if (found !== undefined) return new Uint8Array(Buffer.from(found.seed, "base64url"))
  }
  return undefined
}

/** A stranger's request to the ledger; undefined where nobody has the key. */
const strangersQuestion = (keys: SimKeyStore, submissionId: string, command: PrepareStep): Question | undefined => {
  const { hash, hashingScheme, preparedTransaction } = command
  const prepared = Prepared.decode(Buffer.from(preparedTransaction, "base64"))
  const party = prepared instanceof Malformed ? "" : prepared.metadata.submitterInfo.actAs[0] ?? ""
  const seed = seedOf(keys, party)
  if (seed === undefined) return undefined
  const [method, path] = Shapes.routes.execute
  const { concat: format, ed25519: signingAlgorithmSpec } = Shapes.crypto
  const signature = Buffer.from(Ed25519.sign(seed, Buffer.from(hash, "hex"))).toString("base64")
  const signedBy = fingerprint(Ed25519.publicKeyOf(seed))
  const body = {
    preparedTransaction,
    partySignatures: { signatures: [{ party, signatures: [{ format, signature, signedBy, signingAlgorithmSpec }] }] },
    submissionId,
    userId: custody.userId,
    // From the ledger's first offset: it never carries out a command twice.
    deduplicationPeriod: { DeduplicationOffset: { value: 0 } },
    hashingSchemeVersion: `HASHING_SCHEME_VERSION_V${hashingScheme}`
  }
  return { method, path, body }
}

/**
 * The strangers' surroundings: the share of transactions that they execute at present, and whether a transaction is as the venue
 * requested.
 */
interface Hearing {
  readonly share: () => number
  /** The share of transactions that they execute once the transfer has ended; drawn separately. */
  readonly behindShare: () => number
  readonly behind: SimRandom
  readonly isGood: (command: PrepareStep) => boolean
  readonly tell: (question: Question) => unknown
}

/** Strangers who read the journal, and execute some of the transactions in it. */
const overhearing = (
  time: SimTime,
  random: SimRandom,
  keys: SimKeyStore,
  { behind, behindShare, isGood, share, tell }: Hearing
): SimBank["overhear"] => {
  /** The transaction that was prepared last, by transfer and step, and by transfer. */
  const current = new Map<string, PrepareStep>()
  const latest = new Map<number, PrepareStep>()
  let executed = 0
  const execute = (command: PrepareStep, mostWaitMs: number, from = random, part = share): void => {
    if (!from.chance(part()) || !isGood(command)) return
    time.after(from.next() * mostWaitMs, () => {
      const question = part() > 0 ? strangersQuestion(keys, `${strangers}${executed++}`, command) : undefined
      if (question !== undefined) tell(question)
    })
  }
  return (command) => {
    if (command.kind === "PrepareStep") {
      current.set(`${command.transfer} ${command.step}`, command)
      latest.set(command.transfer, command)
      execute(command, random.pick(strangerWaitsMs))
    }
    // Just before the venue, which finds the command completed or in progress.
    const begun = command.kind === "BeginSubmission" ? current.get(`${command.transfer} ${command.step}`) : undefined
    if (begun !== undefined) execute(begun, 0)
    // After a refusal that ends the venue's own attempt and may end the transfer: the transaction is executed although the venue has
    // given it up.
    const refused = command.kind === "NoteSubmission" && command.outcome === "refused"
      ? current.get(`${command.transfer} ${command.step}`)
      : undefined
    if (refused !== undefined) execute(refused, random.pick(strangerWaitsMs))
    // After what ends a transfer, or may: its owner gives it up, or the venue finds that nothing has come of it.
    const ended = behindShare() > 0 && (command.kind === "CancelTransfer" || command.kind === "NoteScan" || command.kind === "RejectStep")
      ? latest.get(command.transfer)
      : undefined
    if (ended !== undefined) execute(ended, behind.pick(strangerWaitsMs), behind, behindShare)
  }
}

const isObject = (value: unknown): value is { readonly [name: string]: unknown } => typeof value === "object" && value !== null

const textIn = (body: unknown, name: string): string => isObject(body) ? String(body[name]) : ""

/** The answer to an execution, see `LedgerAnswer`. */
const saidBy = (reply: Reply | undefined): string => {
  if (reply === undefined) return "open"
  if (reply.status >= 200 && reply.status < 300) return "taken"
  return isObject(reply.body) && reply.body["definiteAnswer"] === true ? textIn(reply.body, "code") : "open"
}

/** A value as it arrives over the wire. */
const throughJson = <A>(value: A): A => value === undefined ? value : JSON.parse(JSON.stringify(value)) as A

/** The way to the ledger and back: requests are delayed, and answers are delayed or lost. */
const transport = (
  time: SimTime,
  delay: () => number,
  ready: (task: () => void) => void,
  handle: (question: Question) => ReturnType<DevelopmentLedger["handle"]>
): Transport =>
(question) =>
  Effect.async<Reply, Lost>((resume) => {
    const answered = (answer: Effect.Effect<Reply, Lost>, afterMs: number): void => {
      time.after(afterMs + delay(), () => ready(() => resume(answer)))
    }
    time.after(delay(), () => {
      const handled = handle(question)
      if (handled.reply === undefined) answered(Effect.fail(new Lost("the connection ended without an answer")), lostMs)
      else answered(Effect.succeed({ status: handled.reply.status, body: throughJson(handled.reply.body) }), handled.afterMs)
    })
  })

/** The ledger and its faucet, reached over a transport. */
const ledgerOver = (way: Transport): Layer.Layer<Faucet | Ledger> =>
  Layer.merge(Layer.effect(Ledger, JsonLedger.make(way, setting)), Layer.succeed(Faucet, faucet(way)))

/** Counts what a treasury with a limit for each day gives; undefined where there is none that is met. */
const givenIn = (keys: SimKeyStore, { dailyAtoms }: Behaviour): GivenByDay | undefined => {
  if (dailyAtoms === undefined) return undefined
  const given = new GivenByDay(dailyAtoms)
  keys.wrote = (name, record) => {
    if (name === Records.treasuryName) given.wrote(record)
  }
  return given
}

/** Notes what a signer refuses for the limit of a day. */
const limited = (signer: Layer.Layer<PartySigner>, given: GivenByDay): Layer.Layer<PartySigner> =>
  Layer.map(signer, (context) => {
    const asked = Context.get(context, PartySigner)
    return Context.make(PartySigner, {
      ...asked,
      sign: (request) =>
        Effect.suspend(() => {
          const { count } = given
          return Effect.tapError(asked.sign(request), (error) =>
            Effect.sync(() => {
              if (error._tag !== "SignerRefused" || error.reason !== "policy_daily" || request.facts.step !== "treasury_withdrawal") return
              given.refused(request.facts.amountAtoms, count)
            }))
        })
    })
  })

/** The signer, with keys that survive its process. Where no limit of a day is met, requests take no step more than its own. */
const signerOf = (
  keys: SimKeyStore,
  site: { readonly publicOrigin: string; readonly rpId: string },
  behaviour: Behaviour,
  given: GivenByDay | undefined
): Layer.Layer<PartySigner> => {
  const limits = { perWithdrawalAtoms: behaviour.perWithdrawalAtoms, dailyAtoms: behaviour.dailyAtoms ?? 1_000_000_000_000 }
  const signer = Signer.layer({ custody, site, limits }).pipe(
    Layer.provide(Layer.merge(keys.layer, SimPasskeyVerifier.layer)),
    Layer.orDie
  )
  return given === undefined ? signer : limited(signer, given)
}

/** How often a request to the signer on which an approval depends is slow. */
const slowShare = 0.3

/** The signer, reached after a delay by its slow requests. */
const signerBehind = (
  signer: Layer.Layer<PartySigner>,
  time: SimTime,
  random: SimRandom,
  maxDelayMs: number
) =>
(ready: (task: () => void) => void): Layer.Layer<PartySigner> => {
  const waited = Effect.suspend(() => {
    if (!random.chance(slowShare)) return Effect.void
    const delayMs = random.next() * maxDelayMs
    return Effect.async<void>((resume) => void time.after(delayMs, () => ready(() => resume(Effect.void))))
  })
  return Layer.map(signer, (context) => {
    const asked = Context.get(context, PartySigner)
    return Context.make(PartySigner, {
      ...asked,
      accountKeys: (accountId) => Effect.zipRight(waited, asked.accountKeys(accountId)),
      repin: (request) => Effect.zipRight(waited, asked.repin(request))
    })
  })
}

/** Services that tell `asked`, as they leave, of requests that have to rest on durable records, and of work for the ledger. */
export const heardBy = <R>(services: Layer.Layer<R | Ledger | PartySigner>, asked: (what: Asked | Worked) => void) =>
  Layer.map(services, (context) => {
    const ledger = Context.get(context, Ledger)
    const signer = Context.get(context, PartySigner)
    return context.pipe(
      Context.add(Ledger, {
        ...ledger,
        prepare: (...planned) => {
          asked({ what: "prepare", of: planned[0].commandId })
          return ledger.prepare(...planned)
        },
        execute: (submission) => {
          asked({ what: "execute", of: submission.submissionId })
          return ledger.execute(submission)
        },
        completionByHash: (hash) => {
          asked({ what: "look", of: Buffer.from(hash).toString("hex") })
          return ledger.completionByHash(hash)
        }
      }),
      Context.add(PartySigner, {
        ...signer,
        newParty: (request) => {
          asked({ what: "key", of: request.accountId })
          return signer.newParty(request)
        },
        sign: (request) => {
          asked({ what: "sign", of: Buffer.from(request.hash).toString("hex") })
          return signer.sign(request)
        }
      })
    )
  })

/** A ledger that notes all its inputs. */
const noting = (inputs: Array<Input>): DevelopmentLedger => {
  const kept = inMemory()
  return new DevelopmentLedger(setting, {
    ...kept,
    append: (input) => {
      inputs.push(input)
      kept.append(input)
    }
  })
}

const heard = ({ reply }: Handled, inputs: number): Heard => ({ said: saidBy(reply), inputs })

type Handled = ReturnType<DevelopmentLedger["handle"]>

/** Completions as reported: a ledger may report fewer than it has, and the rest when it is asked again. */
const inPart = (handled: Handled, share: number, random: SimRandom): Handled => {
  const { reply } = handled
  if (reply === undefined || !Array.isArray(reply.body) || !random.chance(share)) return handled
  return { ...handled, reply: { ...reply, body: reply.body.slice(0, random.below(reply.body.length + 1)) } }
}

/** Holdings as reported where each party has one that is finer than an atom, after all those that the ledger knows of. */
const withFiner = (question: Question, handled: Handled): Handled => {
  if (handled.reply === undefined) return handled
  const { reply } = handled
  const asked = Schema.decodeUnknownOption(Shapes.ContractsRequest)(throughJson(question.body))
  if (asked._tag === "None" || reply.status !== 200 || !isObject(reply.body)) return handled
  const { activeContracts, nextPageToken } = reply.body
  const [party, filter] = Object.entries(asked.value.eventFormat.filtersByParty)[0] ?? []
  const templateId = filter?.cumulative[0]?.identifierFilter.TemplateFilter.value.templateId
  const isLast = nextPageToken === null && Array.isArray(activeContracts)
  if (!isLast || templateId !== Templates.templateText(templates(setting).holding)) return handled
  const createArgument = { admin: setting.token.admin, owner: party, instrument: setting.token.id, amount: "0.0000003000" }
  const finer = {
    contractEntry: { JsActiveContract: { createdEvent: { contractId: `00${"ff".repeat(32)}`, templateId, createArgument } } }
  }
  return { ...handled, reply: { ...reply, body: { ...reply.body, activeContracts: [...activeContracts, finer] } } }
}

/** Sets the ledger's clock ahead now and then, as long as `leap` returns true. */
const leaping = (time: SimTime, random: SimRandom, meanMs: number, leap: (byMs: number) => boolean): void => {
  if (meanMs === 0) return
  time.after(random.until(meanMs), () => {
    if (leap(random.between(1_000, longestLeapMs))) leaping(time, random, meanMs, leap)
  })
}

/** Sends the treasury an atom now and then, as long as the ledger receives the requests for it. */
const sending = (
  time: SimTime,
  random: SimRandom,
  meanMs: number,
  inputs: ReadonlyArray<Input>,
  tell: (question: Question) => boolean
): void => {
  if (meanMs === 0) return
  time.after(random.until(meanMs), () => {
    const party = inputs.flatMap((input) => input._tag === "Allocated" && isTreasurys(input.partyId) ? [input.partyId] : [])[0]
    const isHeard = party === undefined || tell({ method: "POST", path: controls.faucet, body: { party, amountAtoms: 1 } })
    if (isHeard) sending(time, random, meanMs, inputs, tell)
  })
}

/** How much later than usual a first execution is decided: for longer than the venue waits before it executes it again, or nearly. */
const latesMs: ReadonlyArray<number> = [1_500, 6_000, 12_000, 25_000]

/** A ledger on which transactions are executed again, and which turns executions away. */
class Executions {
  /** Transactions that were executed before. */
  readonly #before = new Set<string>()
  readonly #awaited: Array<Fault> = []
  private readonly again: Again | undefined
  private readonly random: SimRandom
  private readonly troubleShare: number
  private readonly troubles: SimRandom

  constructor({ again, troubleShare = 0 }: Behaviour, random: SimRandom) {
    this.again = again
    this.random = random.split("again")
    this.troubleShare = troubleShare
    this.troubles = random.split("troubles")
  }

  /** Lets the next executions meet these faults, one each, before any that is drawn. */
  befall(faults: ReadonlyArray<Fault>): void {
    this.#awaited.push(...faults)
  }

  /** The fault of an execution; undefined where it is like all others. */
  fault(body: unknown): { readonly fault?: Fault; readonly isLost: boolean } | undefined {
    const prepared = textIn(body, "preparedTransaction")
    const { again, random, troubles } = this
    const awaited = this.#awaited.shift()
    if (awaited !== undefined) return { fault: awaited, isLost: false }
    if (troubles.chance(this.troubleShare)) return { fault: drawn("refuse_for_itself", troubles), isLost: false }
    if (again === undefined) return undefined
    const isFirst = !this.#before.has(prepared)
    this.#before.add(prepared)
    if (!random.chance(isFirst ? again.lateShare : again.refusedShare)) return { isLost: false }
    return isFirst
      ? { fault: { name: "complete_after", afterMs: random.pick(latesMs) }, isLost: random.chance(again.unansweredShare) }
      : { fault: drawn("refuse_since_first_won", random), isLost: false }
  }

  /** An answer as reported: one that points to another execution may call itself definite. */
  told(handled: Handled, isLost: boolean): Handled {
    const { again, random } = this
    if (isLost) return { reply: undefined }
    if (again === undefined || handled.reply === undefined || !pointElsewhere.has(textIn(handled.reply.body, "code"))) return handled
    if (!random.chance(again.definiteShare)) return handled
    return { ...handled, reply: { ...handled.reply, body: { ...(handled.reply.body as object), definiteAnswer: true } } }
  }
}

/** Codes which say that another execution of the transaction is decided, or in progress. */
const pointElsewhere: ReadonlySet<string> = new Set(["DUPLICATE_COMMAND", "SUBMISSION_ALREADY_IN_FLIGHT"])

/**
 * Draws a fault for the request at hand, unless one is given, and scripts it at the ledger. Returns whether it alters the transaction's
 * bytes or hash.
 */
const befalls = (
  path: string,
  behaviour: Behaviour,
  faults: SimRandom,
  tell: (question: Question) => unknown,
  given?: Fault
): boolean => {
  const route = routeOf(path)
  const plain = route === undefined ? undefined : struck(route, behaviour, faults)
  const script: Script | undefined = given !== undefined && route !== undefined
    ? [{ on: route, skip: 0, times: 1, fault: given }]
    : plain
  if (script === undefined) return false
  tell({ method: "POST", path: controls.script, body: script })
  return script.some(({ fault: { name } }) => name === "other_bytes" || name === "other_hash")
}

/** Notes for how long prepared transactions may be recorded, counted from the ledger's time. */
const recordableFor = (ledgersEpochMs: () => number) => {
  let longestMs = 0
  return {
    longestMs: (): number => longestMs,
    note: ({ body, path }: Question): void => {
      if (routeOf(path) !== "prepare") return
      const untilEpochMs = Shapes.epochMsOf(textIn(throughJson(body), "maxRecordTime")) ?? 0
      longestMs = Math.max(longestMs, untilEpochMs - ledgersEpochMs())
    }
  }
}

/** Gives every party that is new since the last time something to deposit. */
const giving = (inputs: ReadonlyArray<Input>, tell: (question: Question) => unknown) => {
  let seen = 0
  return (): void => {
    for (; seen < inputs.length; seen++) {
      const input = inputs[seen]!
      if (input._tag !== "Allocated" || isTreasurys(input.partyId)) continue
      tell({ method: "POST", path: controls.faucet, body: { party: input.partyId, amountAtoms: givenAtoms } })
    }
  }
}

/** A run's bank. `time` has its own ties. */
export const make = (
  time: SimTime,
  random: SimRandom,
  behaviour: Behaviour,
  site: { readonly publicOrigin: string; readonly rpId: string }
): SimBank => {
  const inputs: Array<Input> = []
  const ledger = noting(inputs)
  const keys = new SimKeyStore()
  const chance = random.split("chance")
  const [faults, delays] = [random.split("faults"), random.split("delays")]
  /** Transactions that differ from what was requested: executing them would take the venue's money. */
  const tampered = new Set<unknown>()
  const altered = new Set<string>()
  const answers = new Map<string, Heard>()
  const parts = random.split("parts")
  const executions = new Executions(behaviour, random)
  const own = new OwnEvents()
  let [aheadMs, striking, lost] = [0, false, false]

  const ledgersEpochMs = (): number => Math.floor(time.nowEpochMs()) + aheadMs
  const tell = (question: Question) => ledger.handle(question, { epochMs: ledgersEpochMs(), bytes: (count) => chance.bytes(count) })
  const [give, recordable] = [giving(inputs, tell), recordableFor(ledgersEpochMs)]

  const transportFor = (ready: (task: () => void) => void): Transport =>
    transport(time, () => delays.next() * behaviour.maxDelayMs, ready, (question) => {
      if (lost) return { reply: undefined }
      const isExecution = routeOf(question.path) === "execute"
      const again = striking && isExecution ? executions.fault(throughJson(question.body)) : undefined
      const isOther = striking && befalls(question.path, behaviour, faults, tell, again?.fault)
      recordable.note(question)
      const done = own.through({ ...question, ...(question.body === undefined ? {} : { body: throughJson(question.body) }) }, tell)
      const handled = again === undefined ? done : executions.told(done, again.isLost)
      if (isOther) {
        tampered.add(textIn(handled.reply?.body, "preparedTransaction"))
        altered.add(textIn(question.body, "commandId"))
      }
      if (isExecution) answers.set(textIn(question.body, "submissionId"), heard(handled, inputs.length))
      give()
      if (behaviour.hasFiner === true && routeOf(question.path) === "active_contracts") return withFiner(question, handled)
      return routeOf(question.path) === "completions" && striking ? inPart(handled, behaviour.partShare ?? 0, parts) : handled
    })

  const given = givenIn(keys, behaviour)
  const signerFor = signerBehind(signerOf(keys, site, behaviour, given), time, random.split("slow signer"), behaviour.maxDelayMs)
  return {
    layerFor: ({ ready }) => Layer.merge(ledgerOver(transportFor(ready)), signerFor(ready)),
    begin: () => {
      striking = true
      leaping(time, random.split("leaps"), behaviour.meanLeapMs, (byMs) => {
        if (striking) aheadMs += byMs
        return striking
      })
      sending(time, random.split("sent"), behaviour.meanSentMs ?? 0, inputs, (question) => striking && tell(question) !== undefined)
    },
    heal: () => {
      striking = false
      tell({ method: "POST", path: controls.script, body: [] })
    },
    lose: (isLost) => void (lost = isLost),
    goOn: (ownEvents) => own.set(ownEvents, ledger.offset),
    befall: (faults) => executions.befall(faults),
    leap: (byMs) => void (aheadMs += byMs),
    overhear: overhearing(time, random.split("strangers"), keys, {
      share: () => striking ? behaviour.strangerShare ?? 0 : 0,
      behindShare: () => striking ? behaviour.behindShare ?? 0 : 0,
      behind: random.split("behind"),
      isGood: ({ preparedTransaction }) => !tampered.has(preparedTransaction),
      tell
    }),
    book: () => ({
      ...bookOf(inputs, answers),
      altered,
      perWithdrawalAtoms: behaviour.perWithdrawalAtoms,
      daily: given,
      recordableMs: recordable.longestMs(),
      pinned: pinnedIn(keys)
    })
  }
}

/** The treasury's part of a contract; contracts never change. */
const treasuryIn = new WeakMap<object, bigint>()

/** The treasury's holdings by a ledger's contracts. */
const treasuryOf = (machine: Machine): bigint => {
  let atoms = 0n
  for (const contract of machine.state.contracts.values()) {
    let known = treasuryIn.get(contract)
    if (known === undefined) {
      const { argument, templateId } = createOf(contract.create)
      const held = templateId.entityName === "Holding" ? Templates.holding.read(argument) : undefined
      known = held !== undefined && isTreasurys(held.owner) ? held.amountAtoms : 0n
      treasuryIn.set(contract, known)
    }
    atoms += known
  }
  return atoms
}

/** The passkeys whose approvals the signer accepts, by account. */
const pinnedIn = ({ records }: SimKeyStore): LedgerBook["pinned"] => {
  const pinned = new Map<string, ReadonlySet<string>>()
  for (const record of records.values()) {
    const { accountId, passkeys } = JSON.parse(record) as {
      readonly accountId?: string
      readonly passkeys?: ReadonlyArray<{ readonly credentialId: string }>
    }
    if (accountId !== undefined) pinned.set(accountId, new Set(passkeys?.map(({ credentialId }) => credentialId)))
  }
  return pinned
}

/** The answer to an execution, and the number of the ledger's inputs by then. */
interface Heard {
  readonly said: string
  readonly inputs: number
}

/** The result of all inputs, as if nothing had ever been pruned. */
const bookOf = (
  inputs: ReadonlyArray<Input>,
  answers: ReadonlyMap<string, Heard>
): Omit<LedgerBook, "altered" | "daily" | "perWithdrawalAtoms" | "pinned" | "recordableMs"> => {
  const machine = new Machine(setting, empty())
  const held: Array<{ readonly offset: number; readonly atoms: bigint }> = []
  const sent: Array<{ readonly offset: number; readonly atoms: bigint }> = []
  let prunedThrough = 0
  /** The ledger's end after each number of inputs. */
  const ends = [machine.state.offset]
  for (const input of inputs) {
    const before = machine.state.offset
    machine.apply(input._tag === "Pruned" ? { _tag: "Advanced", atMicros: input.atMicros } : input)
    if (input._tag === "Pruned") prunedThrough = machine.state.offset
    ends.push(machine.state.offset)
    if (machine.state.offset === before) continue
    if (input._tag === "Minted" && isTreasurys(input.owner)) {
      sent.push({ offset: machine.state.offset, atoms: (sent.at(-1)?.atoms ?? 0n) + BigInt(input.amountAtoms) })
    }
    const atoms = treasuryOf(machine)
    if (atoms !== held.at(-1)?.atoms) held.push({ offset: machine.state.offset, atoms })
  }
  const { completions } = machine.state
  const taken = inputs.flatMap((input) =>
    input._tag !== "Taken" ? [] : [{ hash: hex(input.hash), prepared: input.prepared, submissionId: input.submissionId }]
  )
  return {
    treasuryAtoms: treasuryOf(machine),
    held,
    sent,
    given: inputs.flatMap((input) =>
      input._tag === "Minted" && Number(input.amountAtoms) !== givenAtoms && !isTreasurys(input.owner)
        ? [{ amountAtoms: Number(input.amountAtoms), partyId: input.owner }]
        : []
    ),
    prunedThrough,
    answers: new Map([...answers].map(([id, { inputs: count, said }]) => [id, { said, endOffset: ends[count]! }])),
    taken: taken.filter(({ submissionId }) => !submissionId.startsWith(strangers)),
    byStrangers: new Set(taken.flatMap(({ hash, submissionId }) => submissionId.startsWith(strangers) ? [hash] : [])),
    done: completions.flatMap(({ commandId, hash, statusCode, submissionId, updateId }) =>
      statusCode === 0 && hash !== "" ? [{ commandId, hash: hex(hash), updateId, submissionId }] : []
    )
  }
}

const hex = (base64: string): string => Buffer.from(base64, "base64").toString("hex")
