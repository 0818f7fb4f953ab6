/**
 * Clients of the stream: each maintains books, and the orders, positions and money of the account of its ticket, from snapshots and
 * updates alone. It reconnects with the state that it has whenever its connection is gone, and reads the same by REST now and then. They
 * draw from generators of their own: their actions are in no script.
 */
import * as Ids from "../../src/domain/Ids.js"
import { type Streams as Options, unlimited } from "../faults/Options.js"
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Line } from "../world/SimNetwork.js"
import type { SimRandom } from "../world/SimRandom.js"
import type { Call, FrameLeft, Observation } from "../properties/Observation.js"
import { firstOfStreamReads } from "../workload/Wallet.js"
import type { Clients, SaidOver, Ticketed } from "./Clients.js"
import type { Follower } from "./Follower.js"
import { bookMisread, candlesKept, type Data, listOf, modelled, type Names, textOf, thingsIn } from "./StreamContents.js"
import * as Queries from "../reading/Queries.js"
import { type OddLine, path, StreamOddities } from "./StreamOddities.js"
import { StreamTrading } from "./StreamTrading.js"
import type { Witness } from "./Witness.js"
import type { World } from "./World.js"

const marketChannels = ["market.book", "market.trades", "market.ticker", "market.funding", "market.status"] as const
const accountChannels = ["account.orders", "account.fills", "account.positions", "account.balance", "account.deposits"] as const

/** Wait of a client after it was refused or disconnected, ms. */
const againMs = 200
/** Longest time until a client notices that its connection is dead, ms. */
const patienceMs = 20_000
/** How often it rereads changes from an earlier sequence. */
const againShare = 0.15
/** One of so many consecutive updates of a book has a checksum. */
const provedEvery = 100
/** Mean time between two reads of changes, ms. */
const meanReadMs = 300

/** The venue's state when a frame left it. */
interface Note {
  /** The last durable record. */
  readonly durable: number
  /** Whether the ticket of the connection had expired. */
  readonly isLate: boolean
  /** The stream's expected content as of the frame, where the model stands at its record. */
  readonly expected: string | undefined
  /** Whether the client may have been behind since the stream's previous frame, so that this one may merge several updates. */
  readonly mayBeMerged: boolean
}

/** A frame of its own. */
interface Said extends Partial<Names> {
  readonly id: string
  readonly op?: string
  readonly fromSequence?: number
}

interface Frame extends Omit<FrameLeft, "error"> {
  readonly connectionId?: string
  readonly reason?: string
  readonly error?: { readonly code: string; readonly rejectionGuard?: string; readonly realtimeTicketFailure?: string }
  readonly previousSequence?: number
  readonly sequence?: number
  readonly resumed?: boolean
  readonly expiresAt?: number
  readonly data?: Data
  /** The result of an order. */
  readonly body?: unknown
  /** For a book's update: the checksum of its best levels after it. */
  readonly checksum?: string
}

/** The refusal where changes are no longer kept: the first sequence that is, and the last record. */
interface Refused {
  readonly rejectionGuard: string
  readonly limit: string
  readonly nearest: string
}

/** Tickets that a client keeps, and how often it presents the oldest on a new connection. */
const ticketsKept = 3
const copiedShare = 0.2
/** How often it presents its previous ticket on the same connection, right after it received a new one. */
const beforeShare = 0.25
/** How often a client subscribes by `stream`, the name of the channel in a `resync`. */
const streamShare = 0.3

/** A client's content of one stream. */
interface Held {
  /** The last sequence; undefined until there is one. */
  last: number | undefined
  /** Levels, orders, positions or a balance by name. */
  readonly things: Map<string, string>
}

const keyOf = ({ channel, marketId, series, timeframe }: Names): string =>
  [channel, marketId, timeframe, series].filter((part) => part !== undefined).join(":")

const namesOf = (key: string): Names => {
  const [channel, marketId, timeframe, series] = key.split(":")
  return {
    channel: channel!,
    ...(marketId === undefined ? {} : { marketId }),
    ...(timeframe === undefined ? {} : { timeframe }),
    ...(series === undefined ? {} : { series })
  }
}

const timeframes = ["1m", ...Queries.timeframes]

class Client {
  readonly held = new Map<string, Held>()
  #line: Line | undefined
  #ticket: string | undefined
  /** The last of its own tickets that it presented: it may have received another for a connection that is gone. */
  #shown: string | undefined
  /** Its latest tickets, oldest first. */
  #tickets: ReadonlyArray<string> = []
  readonly #copied: SimRandom
  readonly #replaced: SimRandom
  readonly #spelling: SimRandom
  #accountId: string | undefined
  #isOver = false
  /** The key that its ticket was minted by, and the sequence up to which it has read by it. */
  #key: Pick<Call, "credential" | "token"> | undefined
  #through: number | undefined
  #ids = 0
  #connections = 0
  /** Whether the venue has accepted its ticket. */
  #isTrusted = false
  /** When the accepted ticket expires. */
  #expiresAtEpochMs = Number.POSITIVE_INFINITY
  /** Whether it has subscribed to its account's channels on this connection. */
  #hasAsked = false
  /** Its subscriptions on this connection. */
  readonly #begun = new Set<string>()
  /** Commands over this connection that have not been answered, by frame id. */
  readonly #saidOver = new Map<string, SaidOver>()
  /** Updates of each book since its last checksum or snapshot on this connection. */
  readonly #unproved = new Map<string, number>()
  /** Frames that requested candles on this connection and are unanswered: the answers come once the histories are available. */
  readonly #waiting = new Set<string>()
  /**
   * What it held of a stream when it asked to go on from there, by the id of the frame: a slow client may still hear from an earlier
   * subscription that it has ended before, and goes on from what it asked for.
   */
  readonly #left = new Map<string, Held>()
  #isSlow = false
  /**
   * Characters in transit to it; how often the transit exceeded half the limit; and for each stream that count before its last frame and
   * before its last frame of an earlier moment: frames of one moment have waited together.
   */
  #onItsWay = 0
  #timesBehind = 0
  readonly #timesBehindOf = new Map<string, { readonly atMs: number; readonly earlier: number; readonly times: number }>()
  /** Whether its connection is dead without its having noticed. */
  #isDead = false
  /** Its trading; undefined where it only watches. */
  #trading: StreamTrading | undefined
  /** The venue's name of the connection; whether that is to cancel its orders, and whether it has been asked to. */
  #connectionId = ""
  #isToCancel = false
  #hasAskedToCancel = false
  /** Its misuse of the stream; undefined where there is none. And the streams from which it has unsubscribed for a while. */
  #odd: StreamOddities | undefined
  readonly #away = new Set<string>()
  /** Reconnects after a while. */
  #again: () => void = () => {}

  /** `reading`: the generator of its REST reads. */
  constructor(
    readonly name: string,
    readonly all: StreamClients,
    readonly random: SimRandom,
    readonly reading: SimRandom,
    readonly options: Options
  ) {
    this.#copied = reading.split("copied tickets")
    this.#replaced = reading.split("replaced tickets")
    this.#spelling = reading.split("spelling")
  }

  /** Makes it trade from its next connection on. */
  trade(trading: StreamTrading): void {
    this.#trading = trading
    this.#accountId = trading.who.accountId
    // The key belongs to the account of an earlier ticket, and cannot read this one.
    this.#key = undefined
  }

  /** Makes it misuse the stream from its next connection on. */
  beOdd(odd: StreamOddities): void {
    this.#odd = odd
  }

  /** The account of its ticket; -1 without one. */
  get account(): number {
    return this.#accountId === undefined ? -1 : this.all.model.accounts.findIndex(({ born }) => Ids.accountId(born) === this.#accountId)
  }

  /** Streams whose full content it receives now. */
  get live(): ReadonlyArray<readonly [string, Held]> {
    if (this.#line === undefined || this.#isDead) return []
    // A misusing client has requested more than its limits allow, or unsubscribed: such requests are checked elsewhere.
    const isGiven = (key: string): boolean => (this.#isTrusted || key.includes(":")) && (this.#odd === undefined || this.#begun.has(key))
    return [...this.held].filter(([key, { last }]) => last !== undefined && isGiven(key))
  }

  /** Receives a ticket. It keeps the account of its first one. */
  told(ticket: string, accountId: string, { credential, token }: Call): void {
    if (this.#isOver || this.#trading !== undefined || this.#accountId !== undefined && this.#accountId !== accountId) return
    if (this.#accountId === undefined && !this.random.chance(0.3)) return
    this.#accountId = accountId
    // A client whose first ticket comes from a rotation knows no key.
    if (token !== "") this.#key = { credential, token }
    const before = this.#tickets.at(-1)
    this.#ticket = ticket
    this.#tickets = [...this.#tickets, ticket].slice(-ticketsKept)
    this.#authenticate()
    if (before !== undefined && before !== ticket && this.#replaced.chance(beforeShare)) this.#show(before, {})
    if (this.#through === undefined) {
      this.#through = this.random.pick([0, this.all.model.sequence])
      this.#readLater()
    }
  }

  #readLater(): void {
    this.all.world.time.after(2 * this.reading.next() * meanReadMs, () => this.#read())
  }

  /** Reads changes, by the key that its ticket was minted by. */
  #read(): void {
    if (this.#isOver || !this.all.busy()) return
    const { reading } = this
    if (this.#key === undefined) return this.#readLater()
    const accountId = this.#accountId!
    // A client that has lost its state goes back to an earlier sequence.
    if (reading.chance(againShare)) this.#through = Math.floor(reading.next() * this.#through!)
    const limit = reading.pick([1, 1, 2, 5, 50, 500])
    const waitMs = reading.pick([0, 0, 300, 2_000])
    this.all.issue({
      client: this.name,
      endpoint: "listChanges",
      method: "GET",
      target: `/v1/accounts/${accountId}/changes?fromSequence=${this.#through}&limit=${limit}&waitMs=${waitMs}`,
      body: "",
      ...this.#key,
      account: this.account,
      accountId,
      idempotencyKey: undefined,
      scope: undefined,
      intent: "read changes",
      persistent: false
    }, (answer) => {
      if (answer?.status === 200) this.#through = (answer.json as { readonly throughSequence: number }).throughSequence
      const guard = answer?.status === 400 ? answer.json as Partial<Refused> : undefined
      if (guard?.rejectionGuard === "sequence_not_retained") {
        this.all.witness.count("changes no longer told")
        // Continues at the oldest sequence kept, which may be a later one by then, or at the last.
        this.#through = Number(reading.chance(0.8) ? guard.limit : guard.nearest)
      }
      this.all.witness.count(`changes ${answer?.status ?? "unanswered"}`)
      this.#readLater()
    })
  }

  end(): void {
    this.#isOver = true
    this.#hungUp(false)
    this.#line?.cut()
    this.#line = undefined
  }

  connect(): void {
    if (this.#isOver) return
    const { network, time } = this.all.world
    const connection = ++this.#connections
    const again = (): void => {
      if (connection !== this.#connections || this.#isOver) return
      this.#hungUp(false)
      this.#line = undefined
      time.after(againMs * (0.5 + this.random.next()), () => this.connect())
    }
    this.#isTrusted = false
    this.#isDead = false
    this.#hasAsked = false
    this.#begun.clear()
    this.#waiting.clear()
    this.#left.clear()
    this.#saidOver.clear()
    this.#unproved.clear()
    this.#away.clear()
    this.#onItsWay = 0
    this.#timesBehindOf.clear()
    this.#connectionId = ""
    this.#hasAskedToCancel = false
    this.#isToCancel = this.#trading?.isToCancel ?? false
    this.#isSlow = this.all.busy() && this.random.chance(this.options.slowShare)
    const slowMs = this.#isSlow ? 200 * this.random.next() : 0
    const target = this.#odd?.target() ?? path
    const called = `${this.name}/${connection}`
    network.connect<Note>(target, this.random, () => slowMs, {
      leaving: (text, onItsWay) => this.#note(text, called, connection === this.#connections, onItsWay),
      taking: (taken) => {
        const atEpochMs = this.all.clock()
        const { witness } = this.all
        const what = typeof taken === "string" ? { kind: taken, text: "" } : { kind: "text" as const, ...taken }
        witness.see({ _tag: "FrameTaken", line: called, ...what, atEpochMs, elapsedMs: this.all.world.elapsedMs() })
        return () => witness.see({ _tag: "FrameDone", line: called })
      },
      closing: (code) => {
        this.all.witness.count(`the stream ended a connection with ${code}`)
        this.all.witness.see({ _tag: "LineClosed", line: called, code, elapsedMs: this.all.world.elapsedMs() })
      },
      opened: (line) => {
        if (target.split("?")[0] !== path) this.all.witness.see({ _tag: "OpenedElsewhere", target })
        if (this.#isOver || connection !== this.#connections) return line.cut()
        this.#line = line
        this.#opened(line, again)
      },
      refused: again,
      heard: (text, note) => {
        if (connection !== this.#connections) return
        this.#onItsWay -= text.length
        this.#hear(JSON.parse(text), note)
      },
      ended: again
    })
  }

  #opened(line: Line, again: () => void): void {
    this.#again = again
    const { time } = this.all.world
    for (const [key, { last }] of this.held) {
      const names = namesOf(key)
      if (names.marketId !== undefined) this.#say({ op: "subscribe", ...names, ...(last === undefined ? {} : { fromSequence: last }) })
    }
    const [older] = this.#tickets
    // It presents an old ticket, like a thief with a copy.
    if (older !== undefined && older !== this.#ticket && this.#copied.chance(copiedShare)) this.#show(older, {})
    this.#authenticate()
    this.#odd?.begin(this.#oddLine(line))
    if (!this.random.chance(this.options.cutShare)) return
    time.after(2 * this.random.next() * this.options.meanLineMs, () => {
      if (this.#line !== line || !this.all.busy()) return
      if (this.random.chance(0.3)) {
        line.die()
        this.#hungUp(true)
        this.#isDead = true
        // A dead connection goes unnoticed for a while.
        time.after(patienceMs * this.random.next(), again)
      } else {
        line.cut()
        again()
      }
    })
  }

  /** Reads without delay from now on. */
  calm(): void {
    if (!this.#isSlow) return
    this.#hungUp(false)
    this.#line?.cut()
    this.#line = undefined
    this.connect()
  }

  /** Its connection, in the form for misuse. */
  #oddLine(line: Line): OddLine {
    return {
      isOpen: () => this.#line === line && !this.#isDead,
      say: (text) => line.say(text),
      sayBinary: () => line.sayBinary(),
      fallSilent: () => line.fallSilent(),
      begun: () => [...this.#begun].map(namesOf),
      account: () => this.#hasAsked ? this.account : undefined,
      show: (ticket) => {
        if (ticket !== undefined) this.#show(ticket, {}, this.#odd!.nextId())
        else if (this.#ticket !== undefined) this.#authenticate()
      },
      follow: (names, id) => {
        const key = keyOf(names)
        if (this.held.has(key)) return
        this.held.set(key, { last: undefined, things: new Map() })
        this.#say({ op: "subscribe", ...names, id })
      }
    }
  }

  /** Handles answers to its misuse: it subscribes again after a while to a stream that it left. */
  #hearOdd(frame: Frame): void {
    const odd = this.#odd!
    if (frame.type === "error" || frame.type === "auth_error")
      this.all.witness.count(`the stream refused what was odd: ${frame.error!.code}`)
    if (frame.type !== "unsubscribed") return
    const key = keyOf(frame as Names)
    const connection = this.#connections
    this.#begun.delete(key)
    this.#away.add(key)
    this.all.world.time.after(odd.awayMs(), () => {
      if (connection !== this.#connections || this.#isOver || !this.#away.delete(key)) return
      const { last } = this.held.get(key)!
      const from = last === undefined || !odd.resumes() ? {} : { fromSequence: last }
      this.#say({ op: "subscribe", ...namesOf(key), ...from })
    })
  }

  #say(frame: object): void {
    if (this.#line === undefined) return
    const said: Said = { id: `f${++this.#ids}`, ...frame }
    if (said.channel === "market.candles") this.#waiting.add(said.id)
    if (said.op === "subscribe" && said.fromSequence !== undefined) {
      const { last, things } = this.held.get(keyOf(said as Names))!
      this.#left.set(said.id, { last, things: new Map(things) })
    }
    this.#line.say(JSON.stringify(this.#spelled(said)))
  }

  /** The frame, now and then with the channel named as in a `resync`. */
  #spelled(frame: { readonly op?: string; readonly channel?: string }): object {
    if (frame.op !== "subscribe" || !this.#spelling.chance(streamShare)) return frame
    const { channel, ...others } = frame
    return { ...others, stream: channel }
  }

  #show(ticket: string, more: object, id = `f${this.#ids + 1}`): void {
    if (this.#line === undefined) return
    this.all.witness.see({ _tag: "Shown", client: this.name, id, ticket })
    this.#say({ op: "auth", ticket, ...more, id })
  }

  #authenticate(): void {
    // A trading client waits until it knows its connection's name.
    if (this.#trading !== undefined && this.#connectionId === "") return
    if (this.#ticket === undefined) {
      const connection = this.#connections
      return this.#trading?.ticket((ticket) => {
        this.#ticket = ticket
        if (connection === this.#connections) this.#authenticate()
      })
    }
    this.#shown = this.#ticket
    this.#show(this.#shown, this.#isToCancel ? { cancelOnDisconnect: true } : {})
    if (!this.#isToCancel || this.#hasAskedToCancel) return
    this.#hasAskedToCancel = true
    this.all.witness.see({ _tag: "Arming", connectionId: this.#connectionId, account: this.account })
  }

  /** Whatever was requested of the connection is void. */
  #hungUp(isSilent: boolean): void {
    if (!this.#hasAskedToCancel) return
    this.#hasAskedToCancel = false
    if (isSilent) this.all.silentSinceMs = this.all.world.elapsedMs()
    const atEpochMs = this.all.world.time.nowEpochMs()
    this.all.witness.see({ _tag: "HungUp", connectionId: this.#connectionId, isSilent, atEpochMs })
  }

  /** Its ticket is no longer accepted: a trading client comes back with another one. */
  #isOut(): void {
    this.#isTrusted = false
    if (this.#trading === undefined) return
    this.#ticket = undefined
    if (this.#odd?.stays() === true) return this.#authenticate()
    this.#line?.cut()
    this.#again()
  }

  /** Trades as long as the connection lasts. */
  #trade(): void {
    const line = this.#line
    const { clients, witness } = this.all
    this.#trading?.begin({
      isOpen: () => this.#line === line && !this.#isDead,
      mayAct: () => this.#isTrusted,
      ticket: () => this.#shown,
      send: (draft, frame) => {
        const said = clients.saidOver(draft)
        const scope = draft.scope!
        witness.see({ _tag: "SaidBy", ticket: this.#shown!, scope })
        if (this.#isToCancel) witness.see({ _tag: "SaidOver", connectionId: this.#connectionId, scope })
        this.#saidOver.set(`f${this.#ids + 1}`, said)
        this.#say(frame)
      }
    })
  }

  /** The state as a frame leaves: the last durable record, and the expected content. */
  #note(text: string, line: string, isCurrentLine: boolean, onItsWay: number): Note {
    const { follower, model } = this.all
    follower.drain()
    const frame: Frame = JSON.parse(text)
    const [atEpochMs, elapsedMs] = [this.all.clock(), this.all.world.elapsedMs()]
    this.all.witness.see({ _tag: "FrameLeft", line, frame, size: text.length, onItsWay, atEpochMs, elapsedMs })
    if (frame.type === "auth_ok") this.#expiresAtEpochMs = frame.expiresAt!
    if (frame.type === "auth_error") {
      const failure = frame.error!.realtimeTicketFailure ?? ""
      this.all.witness.see({ _tag: "TurnedAway", client: this.name, id: frame.id!, failure })
      if (failure === "rotated") this.all.witness.count("a rotated ticket was shown on a socket")
    }
    const isLate = frame.channel?.startsWith("account.") === true && this.all.clock() >= this.#expiresAtEpochMs
    const isCurrent = frame.channel !== undefined && (frame.type === "update" || frame.type === "snapshot")
    // A snapshot shows the last durable record or a later one, whichever record it names as the last change.
    const stands = isCurrent && frame.type === "update" && frame.sequence === model.sequence
    return {
      durable: model.sequence,
      isLate,
      expected: stands ? modelled(model, frame as Names, this.account) : undefined,
      mayBeMerged: isCurrentLine && this.#mayBeMerged(isCurrent ? keyOf(frame as Names) : undefined, text.length)
    }
  }

  /** Counts a frame as in transit. Returns whether it may merge several updates of its stream. */
  #mayBeMerged(key: string | undefined, length: number): boolean {
    const times = this.#timesBehind
    const atMs = this.all.world.elapsedMs()
    const last = key === undefined ? undefined : this.#timesBehindOf.get(key)
    const earlier = (last?.atMs === atMs ? last.earlier : last?.times) ?? -1
    if (key !== undefined) this.#timesBehindOf.set(key, { atMs, earlier, times })
    const may = key !== undefined && earlier !== times
    this.#onItsWay += length
    // Frames still waiting in the process make the client slow a little earlier.
    if (this.#onItsWay >= this.options.behindBytes / 2) this.#timesBehind++
    return may
  }

  #hear(frame: Frame, { durable, expected, isLate, mayBeMerged }: Note): void {
    if (frame.id !== undefined) this.#waiting.delete(frame.id)
    if (frame.type === "hello") {
      this.#connectionId = frame.connectionId!
      if (this.#trading !== undefined) this.#authenticate()
      return
    }
    if (frame.type === "auth_ok") return this.#authenticated(frame.accountId!)
    if (frame.type !== "subscribed" && this.#odd?.isOwn(frame.id) === true) return this.#hearOdd(frame)
    if (frame.type === "auth_error") {
      this.all.witness.count(`the stream let nobody in: ${frame.error!.code}`)
      if (frame.error!.code === "realtime_ticket_rejected") this.#ticket = undefined
      if (this.#trading !== undefined) {
        this.#line?.cut()
        this.#again()
      }
    }
    this.#heardOver(frame, durable)
    if (frame.type === "result") this.all.witness.count("an order over the stream was answered")
    if (frame.type === "error") {
      const { code } = frame.error!
      this.all.witness.count(`the stream refused: ${code}`)
      // A client that stays on the connection also hears of orders that came too late.
      if (code === "realtime_ticket_rejected" && (frame.id === undefined || this.#odd === undefined)) this.#isOut()
      // The histories are being opened or rebuilt: until then there are no candles.
      if (code === "dependency_unavailable") this.#askForCandlesLater()
    }
    if (frame.type === "resync") this.#heardOfGap(frame, durable)
    if (frame.type === "subscribed") {
      this.#begun.add(keyOf(frame as Names))
      this.#unproved.delete(keyOf(frame as Names))
      if (frame.resumed === true) this.all.witness.count("resumed")
      const left = this.#left.get(frame.id ?? "")
      if (left !== undefined && frame.resumed === true) this.held.set(keyOf(frame as Names), left)
    }
    if (frame.id !== undefined) this.#left.delete(frame.id)
    if (frame.type !== "snapshot" && frame.type !== "update") return
    const key = keyOf(frame as Names)
    const held = this.held.get(key)!
    const before = held.last
    if (frame.type === "snapshot") held.things.clear()
    for (const [name, value] of thingsIn(frame.channel!, frame.data!)) {
      if (value === "") held.things.delete(name)
      else held.things.set(name, value)
    }
    if (frame.channel === "market.candles" && held.things.size > candlesKept) held.things.delete([...held.things.keys()].sort()[0]!)
    held.last = frame.sequence!
    const owners = listOf(frame.data!).flatMap(({ accountId }) => accountId ?? [])
    this.all.witness.see({
      _tag: "Streamed",
      client: this.name,
      stream: key,
      account: this.account,
      isForeign: owners.some((owner) => owner !== this.#accountId),
      isSnapshot: frame.type === "snapshot",
      mayBeMerged: mayBeMerged && frame.channel === "market.ticker",
      data: frame.channel === "market.book" || frame.channel === "market.candles" ? "" : JSON.stringify(frame.data),
      before,
      previousSequence: frame.previousSequence ?? 0,
      sequence: frame.sequence!,
      durable,
      isLate,
      expected,
      held: expected === undefined ? "" : textOf(held.things),
      misread: frame.channel === "market.book" ? this.#bookMisread(key, frame, held.things) : undefined
    })
  }

  /** Drops its content of a stream that has to begin anew. */
  #heardOfGap(frame: Frame, durable: number): void {
    const stream = keyOf({ ...frame, channel: frame.stream! })
    const held = this.held.get(stream)!
    const { errorRate, nameErrorRate, noSpaceShare, readErrorRate } = this.all.world.options.disk
    // On a full disk, files cannot be opened either.
    const mayBeUnread = readErrorRate + nameErrorRate + errorRate * noSpaceShare > 0
    this.all.witness.see({
      _tag: "Resynced",
      client: this.name,
      stream,
      reason: frame.reason!,
      before: held.last,
      durable,
      mayBeUnread
    })
    held.last = undefined
    this.all.witness.count(`resync for ${frame.reason}`)
  }

  /** Has a frame observed that answers a command over the connection. */
  #heardOver(frame: Frame, durable: number): void {
    const said = frame.type === "result" || frame.type === "error" ? this.#saidOver.get(frame.id ?? "") : undefined
    if (said === undefined) return
    this.#saidOver.delete(frame.id!)
    this.all.clients.heardOver(said, frame.type === "result", frame.type === "result" ? frame.body : frame.error, durable)
  }

  /** The first mistake in a book's frame; undefined for none. Each snapshot and one of so many updates has a checksum. */
  #bookMisread(key: string, { checksum, data, marketId, sequence, type }: Frame, things: ReadonlyMap<string, string>): string | undefined {
    const isProved = type === "snapshot" || checksum !== undefined
    const unproved = isProved ? 0 : (this.#unproved.get(key) ?? 0) + 1
    this.#unproved.set(key, unproved)
    if (unproved >= (this.options.provedEvery ?? provedEvery)) return `has had no checksum for ${unproved} updates`
    return bookMisread(this.all.model, { marketId: marketId!, sequence: sequence!, checksum, data: data! }, things)
  }

  #authenticated(accountId: string): void {
    if (accountId !== this.#accountId) throw new Error(`a ticket of ${this.#accountId} let a client speak for ${accountId}`)
    this.#isTrusted = true
    if (this.#hasAsked) return
    this.#hasAsked = true
    this.#trade()
    for (const channel of accountChannels) {
      const last = this.held.get(channel)?.last
      if (!this.held.has(channel)) this.held.set(channel, { last: undefined, things: new Map() })
      this.#say({ op: "subscribe", channel, ...(last === undefined ? {} : { fromSequence: last }) })
    }
  }

  /** Subscribes to channels of a market. */
  follow(marketId: string): void {
    for (const channel of marketChannels) {
      if (channel !== "market.book" && !this.random.chance(0.4)) continue
      this.#begin({ channel, marketId })
    }
    const { reading } = this
    for (const series of ["trade", "index"]) {
      if (reading.chance(0.6)) this.#begin({ channel: "market.candles", marketId, timeframe: reading.pick(timeframes), series })
    }
  }

  #begin(names: Names): void {
    const key = keyOf(names)
    if (this.held.has(key)) return
    this.held.set(key, { last: undefined, things: new Map() })
    this.#say({ op: "subscribe", ...names })
  }

  /** Requests candles again after a refusal. */
  #askForCandlesLater(): void {
    const connection = this.#connections
    this.all.world.time.after(againMs * (1 + this.reading.next()), () => {
      if (connection !== this.#connections || this.#isOver) return
      for (const [key, { last }] of this.held) {
        if (!key.startsWith("market.candles") || this.#begun.has(key)) continue
        this.#say({ op: "subscribe", ...namesOf(key), ...(last === undefined ? {} : { fromSequence: last }) })
      }
    })
  }

  /** Its connection's name, where the venue has it open. */
  get open(): string | undefined {
    return this.#line === undefined || this.#isDead || this.#connectionId === "" ? undefined : `${this.name}/${this.#connections}`
  }

  /** Whether it receives all that it requested: it is connected, has presented its ticket where it has one, and waits for no candles. */
  get isServed(): boolean {
    return this.#isOver
      || this.#line !== undefined && !this.#isDead && this.#waiting.size === 0 && (this.#isTrusted || this.#ticket === undefined)
  }

  /** Its content beside the model's, as it is observed when all is quiet. */
  rests(): ReadonlyArray<Observation & { readonly _tag: "StreamRests" }> {
    const { account, name } = this
    return this.live.flatMap(([stream, { last, things }]) => {
      const expected = modelled(this.all.model, namesOf(stream), account)
      return expected === undefined
        ? []
        : [{ _tag: "StreamRests" as const, client: name, stream, account, last: last!, held: textOf(things), expected }]
    })
  }
}

export class StreamClients {
  readonly #clients: ReadonlyArray<Client>

  constructor(
    readonly world: World,
    readonly witness: Witness,
    readonly follower: Follower,
    readonly clients: Clients,
    /** The process's clock reading. */
    readonly clock: () => number
  ) {
    const { options: { streams }, root } = world
    this.issue = clients.issueFrom(firstOfStreamReads)
    this.#clients = Array.from({ length: streams?.clients ?? 0 },
      (_, index) => new Client(`streamer-${index}`, this, root.split(`streamer-${index}`), root.split(`reader-${index}`), streams!))
  }

  get model(): NaiveVenue {
    return this.follower.model
  }

  /** When a connection that was to cancel its orders last died, of which the venue is not notified: simulated time. */
  silentSinceMs = Number.NEGATIVE_INFINITY

  /** Whether there are clients. */
  readonly busy = (): boolean => this.clients.open
  /** Begins a REST read. */
  readonly issue: Clients["issue"]

  /** Connects the clients, which follow some of the markets. */
  begin(): void {
    const { options: { limits, streams }, root } = this.world
    for (const client of this.#clients) {
      // Where requests are limited, those over a connection would count against a key whose use is not observed.
      if (streams?.trading !== undefined && (limits ?? unlimited).perKey === unlimited.perKey) {
        const random = root.split(client.name).split("trading")
        client.trade(new StreamTrading(client.name, this.world, this.clients, random, streams.trading))
      }
      if (streams?.odd !== undefined) {
        const random = root.split(client.name).split("odd")
        const mayMint = (limits ?? unlimited).perKey === unlimited.perKey
        client.beOdd(new StreamOddities(client.name, this.world, this.clients, random, streams.odd, mayMint))
      }
      client.connect()
      for (const { parameters } of this.model.markets.slice(0, 2)) client.follow(parameters.marketId)
    }
  }

  /** Passes on a ticket that somebody received. */
  readonly told: Ticketed = (ticket, accountId, call) => {
    for (const client of this.#clients) client.told(ticket, accountId, call)
  }

  /** Nothing is in transit any more: every client must have the full content. */
  compare(): void {
    for (const client of this.#clients) {
      const { open } = client
      if (open !== undefined) this.witness.see({ _tag: "LineRests", line: open, elapsedMs: this.world.elapsedMs() })
      for (const rest of client.rests()) this.witness.see(rest)
    }
  }

  /** Whether every client has the full content, and was told of everything: what it misses may leave its content as it is. */
  get haveAll(): boolean {
    return this.#clients.every((client) => client.isServed && client.rests().every((rest) => this.witness.wouldHold(rest)))
  }

  /** All faults have stopped. */
  calm(): void {
    for (const client of this.#clients) client.calm()
  }

  end(): void {
    for (const client of this.#clients) client.end()
  }
}
