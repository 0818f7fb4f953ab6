/**
 * A client of the stream on the stage, over one connection: it sends one frame at a time, waits for the answer, and keeps what it was
 * sent. The properties see it like every other client of the stream.
 */
import * as Ids from "../../src/domain/Ids.js"
import type { Options } from "../faults/Options.js"
import type { FrameLeft } from "../properties/Observation.js"
import type { Json } from "../reading/Bodies.js"
import type { SaidOver } from "../run/Clients.js"
import type { Acting } from "../Simulation.js"
import { path } from "../run/StreamOddities.js"
import type * as Calls from "../workload/Calls.js"
import type { Line } from "../world/SimNetwork.js"

/** Simulated milliseconds in which a connection opens, and in which each frame is answered. */
const answerMs = 20_000

/** The venue's limits for a listener in scenarios that have one: the usual ones. */
export const listened: NonNullable<Options["streams"]> = {
  clients: 0,
  cutShare: 0,
  meanLineMs: 0,
  slowShare: 0,
  behindBytes: 256 * 1024,
  bufferedBytes: 4 * 1024 * 1024,
  keptUpdates: 1_024
}

const candles = "market.candles"

/** A frame of a subscribed stream. */
interface Told {
  readonly type: string
  readonly channel: string
  readonly marketId?: string
  readonly timeframe?: string
  readonly series?: string
  readonly previousSequence?: number
  readonly sequence: number
  readonly data: unknown
}

export class Listener {
  /** The frames received, oldest first. */
  readonly heard: Array<Json> = []
  /** Called as soon as the venue has taken a frame. */
  whenTaken: (() => void) | undefined
  #line: Line | undefined
  #said = 0
  /** The account for which it has shown a ticket; -1 before. */
  #account = -1
  #isArming = false
  /** The ticket that it has shown last. */
  #ticket = ""
  /** Commands that were sent and not answered yet, by the frame's id. */
  readonly #saidOver = new Map<string, SaidOver>()
  /** The last sequence of each stream. */
  readonly #last = new Map<string, number>()
  /** Candles by their beginning. */
  readonly #drawn = new Map<number, Json>()

  /** Connects, and waits for the greeting. */
  constructor(readonly name: string, readonly acting: Acting) {
    const { until, world: { network, root } } = acting
    network.connect<number>(path, root.split(name), () => 0, {
      leaving: (text, onItsWay) => this.#leaves(text, onItsWay),
      taking: (taken) => {
        const what = typeof taken === "string" ? { kind: taken, text: "" } : { kind: "text" as const, ...taken }
        acting.witness.see({ _tag: "FrameTaken", line: name, ...what, ...this.#times() })
        return () => {
          acting.witness.see({ _tag: "FrameDone", line: name })
          this.whenTaken?.()
        }
      },
      closing: (code) => acting.witness.see({ _tag: "LineClosed", line: name, code, elapsedMs: this.#times().elapsedMs }),
      opened: (line) => {
        this.#line = line
      },
      refused: () => acting.broke(`${name} cannot connect`),
      heard: (text, durable) => this.#hears(JSON.parse(text) as Json, durable),
      ended: () => {
        this.#line = undefined
      }
    })
    until(`a greeting of ${name}`, () => this.heard.length > 0, answerMs)
  }

  #times(): { readonly atEpochMs: number; readonly elapsedMs: number } {
    const { host, world } = this.acting
    return { atEpochMs: host.process?.clock.unsafeCurrentTimeMillis() ?? 0, elapsedMs: world.elapsedMs() }
  }

  /** The last durable record as a frame leaves. */
  #leaves(text: string, onItsWay: number): number {
    const { follower, model, witness } = this.acting
    follower.drain()
    const frame = JSON.parse(text) as FrameLeft
    witness.see({ _tag: "FrameLeft", line: this.name, frame, size: text.length, onItsWay, ...this.#times() })
    return model.sequence
  }

  #hears(frame: Json, durable: number): void {
    this.heard.push(frame)
    const { body, error, id } = frame
    const said = this.#saidOver.get(String(id))
    if (said !== undefined) this.acting.clients.heardOver(said, frame["type"] === "result", body ?? error, durable)
    this.#saidOver.delete(String(id))
    if (frame["type"] !== "snapshot" && frame["type"] !== "update") return
    const { channel, data, marketId, previousSequence = 0, sequence, series, timeframe, type } = frame as unknown as Told
    const stream = [channel, marketId, timeframe, series].filter((part) => part !== undefined).join(":")
    if (channel === candles) this.#draw(type, data as ReadonlyArray<Json>)
    const before = this.#last.get(stream)
    this.#last.set(stream, sequence)
    this.acting.witness.see({
      _tag: "Streamed",
      client: this.name,
      stream,
      account: this.#account,
      isForeign: false,
      isSnapshot: type === "snapshot",
      mayBeMerged: false,
      data: channel === candles ? "" : JSON.stringify(data),
      before,
      previousSequence,
      sequence,
      durable,
      isLate: false,
      expected: undefined,
      held: "",
      misread: undefined
    })
  }

  /** Keeps the candles that a frame tells. */
  #draw(type: string, told: ReadonlyArray<Json>): void {
    if (type === "snapshot") this.#drawn.clear()
    for (const candle of told) this.#drawn.set(Number(candle["openTimeEpochMs"]), candle)
  }

  /** The candles that it was told of, oldest first. */
  get drawn(): ReadonlyArray<Json> {
    return [...this.#drawn].sort(([one], [other]) => one - other).map(([, candle]) => candle)
  }

  /** Sends a frame that is refused, under an id, and waits for the refusal. */
  refused(frame: object, id: string): Json {
    return this.#ask(frame, id)
  }

  /** Sends a frame, and does not wait for the answer. */
  says(frame: object, id = `f${++this.#said}`): void {
    this.#line?.say(JSON.stringify({ id, ...frame }))
  }

  /** Sends a frame, and waits for the answer. */
  #ask(frame: object, id = `f${++this.#said}`): Json {
    this.says(frame, id)
    const answer = (): Json | undefined => this.heard.find((each) => each["id"] === id)
    this.acting.until(`an answer to ${this.name}`, () => answer() !== undefined, answerMs)
    return answer()!
  }

  /** Shows a ticket. `isToCancel`: the connection cancels its orders when it ends. Returns the answer. */
  show(ticket: string, accountId: string, isToCancel: boolean): Json {
    const { model, witness } = this.acting
    this.#account = model.accounts.findIndex(({ born }) => Ids.accountId(born) === accountId)
    if (isToCancel) witness.see({ _tag: "Arming", connectionId: this.#connectionId, account: this.#account })
    this.#ticket = ticket
    const id = `f${++this.#said}`
    witness.see({ _tag: "Shown", client: this.name, id, ticket })
    const answer = this.#ask({ op: "auth", ticket, cancelOnDisconnect: isToCancel }, id)
    // What it was promised once holds for later tickets, whether they ask for it or not.
    this.#isArming ||= isToCancel && answer["type"] === "auth_ok"
    return answer
  }

  /** Places an order over the connection. Returns the answer. */
  place(draft: Calls.Draft): Json {
    const { clients, witness } = this.acting
    const { body, idempotencyKey, scope = "" } = draft
    const id = `f${++this.#said}`
    this.#saidOver.set(id, clients.saidOver(draft))
    witness.see({ _tag: "SaidBy", ticket: this.#ticket, scope })
    if (this.#isArming) witness.see({ _tag: "SaidOver", connectionId: this.#connectionId, scope })
    return this.#ask({ op: "place", idempotencyKey, body: JSON.parse(body) as object }, id)
  }

  get #connectionId(): string {
    return String(this.heard[0]!["connectionId"])
  }

  /** Asks for the candles of a market's minutes, which come once the histories have been read. */
  askForCandles(marketId: string, series: "trade" | "index"): void {
    this.says({ op: "subscribe", channel: candles, marketId, timeframe: "1m", series })
  }

  /** Subscribes to a stream, and waits until it is up to date. */
  follow(channel: string, marketId?: string): Json {
    const names = marketId === undefined ? { channel } : { channel, marketId }
    this.#ask({ op: "subscribe", ...names })
    return this.hasBegun(channel)
  }

  /** Goes on with a stream of its account behind a sequence up to which it has that from elsewhere. */
  goOn(channel: string, fromSequence: number): void {
    this.#last.set(channel, fromSequence)
    this.#ask({ op: "subscribe", channel, fromSequence })
  }

  /** Waits until a stream is up to date: what it began with. */
  hasBegun(channel: string): Json {
    const begun = (): Json | undefined => this.heard.find((each) => each["type"] === "snapshot" && each["channel"] === channel)
    this.acting.until(`a snapshot for ${this.name}`, () => begun() !== undefined, answerMs)
    return begun()!["data"] as Json
  }

  /** Disconnects. */
  leave(): void {
    const { witness, world: { time } } = this.acting
    if (this.#isArming) {
      witness.see({ _tag: "HungUp", connectionId: this.#connectionId, isSilent: false, atEpochMs: time.nowEpochMs() })
    }
    this.#line?.cut()
    this.#line = undefined
  }
}
