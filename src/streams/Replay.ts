/**
 * Reads from the journal what clients have missed of their accounts' streams: the records are replayed on separate engines, beside
 * the writer or in a thread of their own, and yield the same updates as before. One reading is in progress at a time and serves
 * every caller whose range it passes: after a restart a thousand clients come back, and one reading serves them all. Readings of
 * recent and of older ranges take turns, so that a client that missed a moment need not wait behind one that missed a week.
 *
 * Callers get one piece at a time, and request the next when they have received it. Engines stay where they are for a while, so
 * that a piece can begin where the previous one ended rather than at a snapshot.
 */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { Multimap } from "../domain/Multimap.js"
import { replayedRecords } from "../domain/Retention.js"
import type { Reads } from "../engine/Reads.js"
import type { EachRecord, Feed, ReadError, Rerun } from "../sequencer/Feed.js"
import { type AccountChannel, accountChannels } from "./Channels.js"
import { Gathering, textOf, type Told } from "./Gathering.js"
import type { Update } from "./Log.js"
import type { Payloads } from "./Payloads.js"
import { type AccountTouched, touchedBy } from "./Touched.js"

export interface Bounds {
  /** Characters of one client's missed updates from which on a piece ends with the current block. */
  readonly pieceText: number
  /** Records examined for a piece of a stream, and for a page, before it ends with the current block. */
  readonly pieceRecords: number
  readonly pageRecords: number
  /** Characters of events from which on a page takes no further record. */
  readonly pageText: number
  /** Records replayed in one turn before other ranges have theirs. */
  readonly turnRecords: number
  /** Ranges that begin no further back than this count as recent. */
  readonly nearRecords: number
  /** How long idle engines stay where they are, in ms. */
  readonly standingMs: number
  /** Characters held for all callers together from which on each piece ends with the current block. */
  readonly heldText: number
}

export const usualBounds: Bounds = {
  pieceText: 2 << 20,
  pieceRecords: replayedRecords,
  pageRecords: 100_000,
  pageText: 1 << 20,
  turnRecords: 16_384,
  nearRecords: replayedRecords,
  standingMs: 5_000,
  heldText: 256 << 20
}

/** Most callers waiting. */
const mostWaiting = 32_768
/** Blocks between checks whether anybody still wants the rest. */
const lookedEvery = 64
/** Most engines kept at once: each takes as much memory as the venue's tables. */
const mostStanding = 2
/** Most pages that ended within a block whose further events are remembered. */
const mostRests = 64

/** A client's missed updates of one channel, and the record up to which they are complete. */
export interface Piece {
  readonly updates: ReadonlyArray<Update>
  readonly throughSequence: number
}

/** An account's events after a record, in whole records, and the record up to which they are complete. */
export interface Page {
  readonly told: ReadonlyArray<Told>
  readonly throughSequence: number
}

/** Reads the journal for clients. A caller that leaves does not affect the others. */
export interface Replaying {
  /** The number of engines kept. */
  readonly engines: number
  /**
   * Reads a piece of a channel between two sequences; undefined where too many callers are waiting. Its size counts against the
   * common limit until `give` has completed.
   */
  readonly missed: <A>(
    channel: AccountChannel,
    account: number,
    after: number,
    upTo: number,
    give: (piece: Piece) => Effect.Effect<A>
  ) => Effect.Effect<A | undefined, ReadError>
  /**
   * The changes of each record after a sequence to an account, until the given number of records had any or a page's records were
   * examined; undefined where too many callers are waiting.
   */
  readonly page: (account: number, after: number, upTo: number, mostRecords: number) => Effect.Effect<Page | undefined, ReadError>
}

/** Takes what was told of an account. */
interface Taking {
  /** Takes the events of one record. */
  readonly take: (told: ReadonlyArray<Told>) => void
  /** Whether the caller has enough. */
  readonly isEnough: () => boolean
}

/** A requested reading. */
interface Wish {
  readonly channels: ReadonlyArray<AccountChannel>
  readonly account: number
  /** The last record that the caller has. */
  readonly after: number
  /** The last record wanted, which is durable. */
  readonly upTo: number
  /** So many records are examined before the reading ends with the block at which it is. */
  readonly mostRecords: number
  /** Whether the reading goes on to the end of the block in which it has enough; otherwise it ends with the record that sufficed. */
  readonly takesBlocks: boolean
}

/** A waiting caller. */
class Asked {
  /** Why the reading for this caller has failed. */
  failure: Cause.Cause<ReadError> | undefined = undefined
  /** Wakes the caller when it has been served, or the reading has failed. */
  wake: () => void = () => {}
  /** Everything up to here has been given. */
  throughSequence: number
  /** Whether it has had a turn of its own before. */
  hadTurn = false
  /** The beginning of the block in which it had enough. */
  private fullIn: number | undefined = undefined
  /** Events of that block after the page. */
  rest: Array<ReadonlyArray<Told>> = []

  constructor(readonly wish: Wish, private readonly taking: Taking) {
    this.throughSequence = wish.after
  }

  get isDone(): boolean {
    const { throughSequence, wish: { after, mostRecords, upTo } } = this
    return throughSequence >= upTo || this.fullIn !== undefined || throughSequence - after >= mostRecords
  }

  /** Takes the events of a record. Returns whether that was enough. */
  take(told: ReadonlyArray<Told>, firstOfBlock: number): boolean {
    const { taking, wish: { takesBlocks } } = this
    if (this.fullIn !== undefined) {
      if (this.fullIn !== firstOfBlock) return false
      if (takesBlocks) taking.take(told)
      else this.rest.push(told)
      return false
    }
    taking.take(told)
    if (!taking.isEnough()) return false
    this.fullIn = firstOfBlock
    this.throughSequence = told[0]!.update.sequence
    return true
  }

  /** After the block in which it had enough: the events of that block after the page. */
  ended(lastOfBlock: number): Rest | undefined {
    const { rest, throughSequence, wish: { account, takesBlocks, upTo } } = this
    this.rest = []
    if (takesBlocks) this.throughSequence = Math.min(upTo, lastOfBlock)
    return takesBlocks ? undefined : { account, after: throughSequence, told: rest, throughSequence: lastOfBlock }
  }

  /** Notes that everything up to a record was given, unless the caller had enough before. */
  reached(sequence: number): void {
    if (this.fullIn === undefined) this.throughSequence = Math.max(this.throughSequence, Math.min(this.wish.upTo, sequence))
  }
}

/** The events of an account in the rest of the block in which a page ended. */
interface Rest {
  readonly account: number
  readonly after: number
  /** By record. */
  readonly told: ReadonlyArray<ReadonlyArray<Told>>
  /** The block's last record. */
  readonly throughSequence: number
}

/** The events of one account in one record, made once for all callers. */
class Telling {
  private readonly made = new Map<AccountChannel, Told | undefined>()

  constructor(
    private readonly payloads: Payloads,
    private readonly reads: Reads,
    private readonly account: number,
    private readonly touched: AccountTouched
  ) {}

  of(channels: ReadonlyArray<AccountChannel>): ReadonlyArray<Told> {
    return channels.flatMap((channel) => {
      if (!this.made.has(channel)) this.made.set(channel, this.make(channel))
      return this.made.get(channel) ?? []
    })
  }

  private make(channel: AccountChannel): Told | undefined {
    const entries = this.payloads.ofAccount(this.reads, channel, this.account, this.touched)
    return entries.length === 0 ? undefined : { channel, update: { sequence: this.reads.sequence, entries, more: "" } }
  }
}

/** Reads the journal beside the code that runs this. */
export class Replays implements Replaying {
  /** In the order in which they came. */
  private readonly waiting = new Set<Asked>()
  /** Engines where readings have left them, the most recently used one last. */
  private standing: ReadonlyArray<Rerun> = []
  private rests: ReadonlyArray<Rest> = []
  private isReading = false
  /** Whether the last turn was for a recent range. */
  private wasNear = false
  /** Wakes the idle reading. */
  private wake: () => void = () => {}
  /** Characters held for all callers. */
  private text = 0

  constructor(
    private readonly feed: Pick<Feed["Type"], "rerun">,
    private readonly payloads: Payloads,
    private readonly lastSequence: () => number,
    private readonly bounds: Bounds = usualBounds,
    /** Called with the number of engines whenever that changes. */
    private readonly stand: (engines: number) => void = () => {}
  ) {}

  get engines(): number {
    return this.standing.length
  }

  missed<A>(
    channel: AccountChannel,
    account: number,
    after: number,
    upTo: number,
    give: (piece: Piece) => Effect.Effect<A>
  ): Effect.Effect<A | undefined, ReadError> {
    return Effect.suspend(() => {
      const { heldText, pieceRecords, pieceText } = this.bounds
      const updates: Array<Update> = []
      let text = 0
      const take = (told: ReadonlyArray<Told>): void => {
        for (const { update } of told) {
          const more = textOf(update)
          text += more
          this.text += more
          updates.push(update)
        }
      }
      const isEnough = (): boolean => text >= pieceText || this.text >= heldText
      const wish: Wish = { channels: [channel], account, after, upTo, mostRecords: pieceRecords, takesBlocks: true }
      return this.ask(new Asked(wish, { take, isEnough })).pipe(
        Effect.flatMap((throughSequence) => throughSequence === undefined ? Effect.succeed(undefined) : give({ updates, throughSequence })),
        Effect.ensuring(Effect.sync(() => {
          this.text -= text
        }))
      )
    })
  }

  page(account: number, after: number, upTo: number, mostRecords: number): Effect.Effect<Page | undefined, ReadError> {
    return Effect.suspend(() => {
      const wish: Wish = { channels: accountChannels, account, after, upTo, mostRecords: this.bounds.pageRecords, takesBlocks: false }
      const gathering = new Gathering(mostRecords, this.bounds.pageText)
      return Effect.map(this.ask(new Asked(wish, { take: gathering.take, isEnough: gathering.isFull })),
        (lookedAt) => lookedAt === undefined ? undefined : { told: gathering.told, throughSequence: gathering.through(lookedAt) })
    })
  }

  private ask(asked: Asked): Effect.Effect<number | undefined, ReadError> {
    if (this.waiting.size >= mostWaiting) return Effect.succeed(undefined)
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        this.giveRest(asked)
        this.waiting.add(asked)
      }),
      () => asked.isDone ? Effect.succeed(asked.throughSequence) : Effect.zipRight(this.begin, served(asked)),
      () => Effect.sync(() => this.waiting.delete(asked))
    )
  }

  /** Gives the rest of the block in which the previous page ended. */
  private giveRest(asked: Asked): void {
    const { account, after, takesBlocks, upTo } = asked.wish
    const rest = takesBlocks ? undefined : this.rests.find((one) => one.account === account && one.after === after)
    if (rest === undefined || rest.throughSequence > upTo) return
    const end = rest.told.findIndex((told) => asked.take(told, rest.throughSequence))
    if (end < 0) asked.reached(rest.throughSequence)
    else this.keepRest({ ...rest, after: asked.throughSequence, told: rest.told.slice(end + 1) })
  }

  private keepRest(rest: Rest | undefined): void {
    if (rest !== undefined) this.rests = [...this.rests, rest].slice(-mostRests)
  }

  /** Starts the reading in the background for as long as anybody is waiting. */
  private readonly begin: Effect.Effect<void> = Effect.suspend(() => {
    if (this.isReading) {
      this.wake()
      return Effect.void
    }
    this.isReading = true
    return Effect.asVoid(Effect.forkDaemon(this.reading))
  })

  private get unserved(): ReadonlyArray<Asked> {
    return [...this.waiting].filter((asked) => !asked.isDone && asked.failure === undefined)
  }

  // Callers of the same turn are served by the same reading.
  private readonly reading: Effect.Effect<void> = Effect.flatMap(Effect.yieldNow(), () => {
    const unserved = this.unserved
    if (unserved.length > 0) return Effect.zipRight(this.turn(unserved), this.reading)
    return Effect.flatMap(Effect.race(this.wanted, Effect.sleep(this.bounds.standingMs)), () => {
      if (this.waiting.size > 0) return this.reading
      this.isReading = false
      this.rests = []
      return this.letGo(this.standing)
    })
  })

  /** Waits until there is a caller. */
  private readonly wanted: Effect.Effect<void> = Effect.async<void>((resume) => {
    this.wake = () => resume(Effect.void)
    if (this.waiting.size > 0) this.wake()
    return Effect.sync(() => {
      this.wake = () => {}
    })
  })

  private nowStand(those: ReadonlyArray<Rerun>): void {
    const changes = those.length !== this.standing.length
    this.standing = those
    if (changes) this.stand(those.length)
  }

  private letGo(those: ReadonlyArray<Rerun>): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.nowStand(this.standing.filter((one) => !those.includes(one)))
      return Effect.forEach(those, ({ close }) => close, { discard: true })
    })
  }

  /**
   * The next turn: alternately of recent and older ranges, for the caller that has waited longest and for all who continue nearby.
   * From a caller's second turn on the reading does not go back for others: otherwise it would make no progress while new callers
   * kept coming that begin further back.
   */
  private next(unserved: ReadonlyArray<Asked>): { readonly from: number; readonly all: ReadonlyArray<Asked> } {
    const { nearRecords, turnRecords } = this.bounds
    const last = this.lastSequence()
    const isNear = ({ throughSequence }: Asked): boolean => last - throughSequence <= nearRecords
    const first = unserved.find((asked) => isNear(asked) !== this.wasNear) ?? unserved[0]!
    this.wasNear = isNear(first)
    const at = first.throughSequence
    const least = first.hadTurn ? this.standingBefore(at) : at - turnRecords
    first.hadTurn = true
    const all = unserved.filter(({ throughSequence }) => throughSequence >= least && throughSequence <= at + turnRecords)
    return { from: all.reduce((from, { throughSequence }) => Math.min(from, throughSequence), at), all }
  }

  /** The position of the engine from which a sequence can be continued; the sequence itself where there is none. */
  private standingBefore(sequence: number): number {
    const before = this.standing.map((one) => one.sequence()).filter((stands) => stands <= sequence)
    return before.length === 0 ? sequence : Math.max(...before)
  }

  /** Reads for some of the callers for the length of a turn. */
  private turn(unserved: ReadonlyArray<Asked>): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { from, all } = this.next(unserved)
      const makeRoom = Effect.suspend(() => this.letGo(this.standing.slice(0, Math.max(0, this.standing.length + 1 - mostStanding))))
      return Effect.flatMap(this.feed.rerun(from, this.standing, makeRoom), (run) => {
        this.nowStand([...this.standing.filter((one) => one !== run), run])
        return Effect.onError(this.read(run, all), () => this.letGo([run]))
      }).pipe(
        Effect.catchAllCause((cause) =>
          Effect.sync(() => {
            for (const asked of all) if (!asked.isDone) asked.failure = cause
          })
        ),
        Effect.ensuring(Effect.sync(() => {
          for (const asked of all) if (asked.isDone || asked.failure !== undefined) asked.wake()
        }))
      )
    })
  }

  private read(run: Rerun, all: ReadonlyArray<Asked>): Effect.Effect<void, ReadError> {
    const byAccount = new Multimap<number, Asked>()
    for (const asked of all) byAccount.add(asked.wish.account, asked)
    const last = all.reduce((most, { wish: { after, mostRecords, upTo } }) => Math.max(most, Math.min(upTo, after + mostRecords)), 0)
    const turnEnd = run.sequence() + this.bounds.turnRecords
    let open = all.length
    let blocks = 0
    let ended: Array<Asked> = []
    const isGone = (asked: Asked): boolean => !this.waiting.has(asked) || asked.isDone
    const block: Effect.Effect<void, ReadError> = Effect.suspend(() => {
      const firstOfBlock = run.sequence() + 1
      const each: EachRecord = (engine, from) => {
        give(this.payloads, engine, engine.state.events, from, byAccount, (asked, told) => {
          // What was taken for one that has left would count as held for as long as this reads.
          if (this.waiting.has(asked) && asked.take(told, firstOfBlock)) ended.push(asked)
        })
      }
      return Effect.flatMap(run.next(each), () => {
        const sequence = run.sequence()
        for (const asked of ended) this.keepRest(asked.ended(sequence))
        open -= ended.length
        ended = []
        const isOver = sequence >= last || sequence >= turnEnd || open === 0
          || ++blocks % lookedEvery === 0 && all.every(isGone)
        if (!isOver) return block
        for (const asked of all) asked.reached(sequence)
        return Effect.void
      })
    })
    return block
  }
}

/** Waits until the caller is served. Returns the last record up to which it has everything. */
const served = (asked: Asked): Effect.Effect<number, ReadError> =>
  Effect.async((resume) => {
    const look = (): void => {
      if (asked.failure !== undefined) resume(Effect.failCause(asked.failure))
      else if (asked.isDone) resume(Effect.succeed(asked.throughSequence))
    }
    asked.wake = look
    look()
  })

/** Gives the changes of the engine's current record to all callers that want them. */
const give = (
  payloads: Payloads,
  reads: Reads,
  events: { readonly words: Float64Array; readonly length: number },
  from: number,
  byAccount: Multimap<number, Asked>,
  take: (asked: Asked, told: ReadonlyArray<Told>) => void
): void => {
  const wanted = { account: (account: number) => byAccount.countOf(account) > 0, market: () => false, anyAccount: true }
  for (const [account, touched] of touchedBy(events.words, from, events.length, wanted, reads).accounts) {
    const telling = new Telling(payloads, reads, account, touched)
    for (const asked of byAccount.of(account)) {
      if (reads.sequence <= asked.throughSequence || reads.sequence > asked.wish.upTo) continue
      const told = telling.of(asked.wish.channels)
      if (told.length > 0) take(asked, told)
    }
  }
}
