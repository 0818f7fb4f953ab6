/**
 * Safety (contract). A feed process that streams prices learns the result of each: a batch is accepted once in its session, a repetition
 * gets the same answer and no second record, no number is left out, and the result of a price in an answer is that of the record that it
 * names. A session ends only when another is opened, or when a process starts.
 */
import { describe, Refusal } from "../../src/domain/Refusal.js"
import { Principal } from "../../src/operations/Header.js"
import * as Batches from "../reading/Batches.js"
import type { Json } from "../reading/Bodies.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Answer, Call } from "./Observation.js"
import { broken, holds, type Property, type Verdict } from "./Property.js"

/** A decided price. */
interface Decided {
  readonly market: number
  readonly priceAtoms: number
  readonly sourceEpochMs: number
  readonly refusal: Refusal
}

/** The known state of a session. */
interface Session {
  /** The number of openings when it was requested, including its own. */
  readonly openings: number
  /** The numbers sent in it, those first reported as accepted, and the answers to all accepted ones. */
  readonly sent: Set<number>
  readonly first: Set<number>
  readonly taken: Map<number, string>
}

interface State {
  /** How often a process began to open a session, or started; and that number when each opening was first requested. */
  openings: number
  readonly before: Map<number, number>
  readonly sessions: Map<string, Session>
  /** By call: the last batch of each session that was reported as accepted before it was sent. Earlier batches may be answered later. */
  readonly looking: Map<number, ReadonlyMap<string, number>>
  /** Prices of streams and feeds, by their records. */
  readonly decided: Map<number, Decided>
}

const fates: ReadonlyMap<Refusal, string> = new Map([
  [Refusal.none, "taken"],
  [Refusal.indexPriceHeld, "held"],
  [Refusal.indexPriceOutOfOrder, "out_of_order"]
])

/** Reasons why a price may be refused without a record, as far as they are visible from outside. */
const undecided = (model: NaiveVenue, { marketId, price }: Batches.Streamed): ReadonlyArray<Refusal> => {
  const market = model.markets.find(({ parameters }) => parameters.marketId === marketId)
  if (market === undefined) return [Refusal.marketUnknown]
  if (Batches.nearestAtoms(price, market.parameters.priceScale) === undefined) return [Refusal.indexPriceInvalid, Refusal.marketDelisted]
  return [Refusal.marketDelisted, Refusal.inboxFull, Refusal.journalFull]
}

const priceVerdict = ({ decided }: State, model: NaiveVenue, sent: Batches.Streamed, told: Json): Verdict => {
  const what = `of ${sent.price} for ${sent.marketId}`
  if (told["marketId"] !== sent.marketId) return broken(`what is told ${what} names ${String(told["marketId"])}`)
  if (told["sequence"] === undefined) {
    const codes = undecided(model, sent).map((refusal) => describe(refusal).code)
    return told["outcome"] === "refused" && codes.includes(String(told["code"]))
      ? holds
      : broken(`${what} is told ${JSON.stringify(told)}, without a record`)
  }
  const record = decided.get(Number(told["sequence"]))
  const market = model.markets.find(({ parameters }) => parameters.marketId === sent.marketId)
  const atoms = market === undefined ? undefined : Batches.nearestAtoms(sent.price, market.parameters.priceScale)
  if (record?.market !== market?.index || record?.priceAtoms !== atoms || record?.sourceEpochMs !== sent.sourceEpochMs) {
    return broken(`${what} is told of record ${String(told["sequence"])}, which is ${JSON.stringify(record)}`)
  }
  const { refusal } = record!
  const outcome = fates.get(refusal) ?? "refused"
  const code = refusal === Refusal.none ? undefined : describe(refusal).code
  return told["outcome"] === outcome && told["code"] === code
    ? holds
    : broken(`${what} came to ${outcome} ${code ?? ""}, and is told ${JSON.stringify(told)}`)
}

const takenVerdict = (state: State, model: NaiveVenue, batch: Batches.Batch, session: Session, json: Json): Verdict => {
  const { lastSequence, prices, repeated, sequence, session: named } = json as unknown as {
    readonly session: string
    readonly sequence: number
    readonly lastSequence: number
    readonly repeated: boolean
    readonly prices: ReadonlyArray<Json>
  }
  const what = `batch ${batch.sequence}`
  if (named !== batch.session || sequence !== batch.sequence) return broken(`${what} is answered as batch ${sequence} of ${named}`)
  for (let before = 1; before < sequence; before++)
    if (!session.sent.has(before)) return broken(`${what} is taken, and ${before} never was`)
  if (repeated ? lastSequence < sequence : lastSequence !== sequence) return broken(`${what} is answered with ${lastSequence} as the last`)
  if (!session.sent.has(lastSequence)) return broken(`${lastSequence} is said to be the last batch, and was not sent`)
  if (repeated && lastSequence > sequence) return prices.length === 0 ? holds : broken(`${what} is not the last, and has prices`)
  if (prices.length !== batch.prices.length) return broken(`${what} has ${batch.prices.length} prices, and is told ${prices.length}`)
  const text = JSON.stringify(prices)
  const known = session.taken.get(sequence)
  // A repetition may be answered first.
  if (!repeated && session.first.has(sequence)) return broken(`${what} is taken twice`)
  if (!repeated) session.first.add(sequence)
  if (known !== undefined && known !== text) return broken(`${what} was told ${known}, and is told ${text}`)
  session.taken.set(sequence, text)
  for (const [at, sent] of batch.prices.entries()) {
    const verdict = priceVerdict(state, model, sent, prices[at]!)
    if (verdict !== holds) return verdict
  }
  return holds
}

const conflictVerdict = ({ looking, openings }: State, call: Call, batch: Batches.Batch, session: Session, { nearest }: Json): Verdict => {
  if (nearest === undefined) {
    return openings > session.openings ? holds : broken(`the session of batch ${batch.sequence} has ended, and no other was opened`)
  }
  const expected = Number(nearest)
  if (!(expected < batch.sequence)) return broken(`batch ${batch.sequence} is refused, and ${expected} is expected`)
  for (let before = 1; before < expected; before++) {
    if (!session.sent.has(before)) return broken(`batch ${expected} is expected, and ${before} was not sent`)
  }
  const taken = looking.get(call.id)?.get(batch.session) ?? 0
  return taken < batch.sequence ? holds : broken(`batch ${batch.sequence} is said to leave something out, and ${taken} was taken`)
}

/** Checks the reported position of a session: not before anything reported as accepted, and not beyond anything sent. */
const positionVerdict = ({ looking, sessions }: State, { id }: Call, { lastSequence, session }: Json): Verdict => {
  const sent = sessions.get(String(session))?.sent
  if (sent === undefined) return holds
  const least = looking.get(id)?.get(String(session)) ?? 0
  const stands = Number(lastSequence)
  return stands >= least && (stands === 0 || sent.has(stands))
    ? holds
    : broken(`${String(session)} stands at ${stands}, ${least} was told as taken, and sent were ${[...sent].join()}`)
}

const answered = (state: State, call: Call, { json, status }: Answer, model: NaiveVenue): Verdict => {
  if (call.endpoint === "getIndexStream") return status === 200 ? positionVerdict(state, call, json as Json) : holds
  if (call.endpoint === "openIndexStream" && status === 200) {
    const { lastSequence, session } = json as { readonly session: string; readonly lastSequence: number }
    if (lastSequence !== 0 || state.sessions.has(session)) return broken(`${session} is opened, with ${lastSequence} as its last batch`)
    state.sessions.set(session, { openings: state.before.get(call.id)! + 1, sent: new Set(), first: new Set(), taken: new Map() })
    return holds
  }
  const batch = Batches.batchOf(call)
  const session = batch === undefined ? undefined : state.sessions.get(batch.session)
  if (batch === undefined || session === undefined) return holds
  if (status === 200) return takenVerdict(state, model, batch, session, json as Json)
  return status === 409 ? conflictVerdict(state, call, batch, session, json as Json) : holds
}

export const streamedPrices: Property<State> = {
  name: "streamed-prices-are-taken-once-and-told",
  invariant: "contract",
  kind: "safety",
  initial: () => ({ openings: 0, before: new Map(), sessions: new Map(), looking: new Map(), decided: new Map() }),
  observe: (state, seen) => {
    switch (seen._tag) {
      case "Asked": {
        const { client, endpoint, id } = seen.call
        if (endpoint === "openIndexStream" && !state.before.has(id)) state.before.set(id, state.openings)
        if (client === "publisher" && !state.looking.has(id)) {
          state.looking.set(id, new Map([...state.sessions].map(([name, { taken }]) => [name, Math.max(0, ...taken.keys())])))
        }
        const batch = Batches.batchOf(seen.call)
        if (batch !== undefined) state.sessions.get(batch.session)?.sent.add(batch.sequence)
        return holds
      }
      case "Handling":
        if (seen.call.endpoint === "openIndexStream") state.openings++
        return holds
      case "Started":
        state.openings++
        return holds
      case "Committed": {
        const { record: { command, sequence }, decision } = seen
        if (command.kind !== "SetIndexPrice" || command.principal !== Principal.feed) return holds
        const { market, priceAtoms, sourceEpochMs } = command
        state.decided.set(sequence, { market, priceAtoms, sourceEpochMs, refusal: decision.outcomes[0]!.refusal })
        return holds
      }
      case "Answered":
        return seen.call.client === "publisher" ? answered(state, seen.call, seen.answer, seen.model) : holds
      default:
        return holds
    }
  }
}
