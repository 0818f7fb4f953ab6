/**
 * What clients missed of their accounts' streams, from the journal: its records are run again on engines of their own, beside the
 * writer or in a thread of their own, and each says what it said then. One reading is under way at a time, and serves all who wait
 * and whom it comes past: after a restart a thousand clients come back, and one reading serves them. It takes turns between what is
 * near and what is far, so that who missed a moment does not wait behind who missed a week.
 *
 * Nobody is given more than a piece at a time: whoever has taken it asks for the next. Engines stay where they are for a while,
 * so that a piece begins where the one before ended, and not at a snapshot again.
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
  /** Characters of what one client missed, from which on a piece of it ends with the block at hand. */
  readonly pieceText: number
  /** Records that are looked at for a piece of a stream, and for a page, until it ends with the block at hand. */
  readonly pieceRecords: number
  readonly pageRecords: number
  /** Records that are run for some before others have their turn. */
  readonly turnRecords: number
  /** What is no further back is near. */
  readonly nearRecords: number
  /** How long engines stay where they are, once nobody waits. */
  readonly standingMs: number
}

export const usualBounds: Bounds = {
  pieceText: 2 << 20,
  pieceRecords: replayedRecords,
  pageRecords: 100_000,
  turnRecords: 16_384,
  nearRecords: replayedRecords,
  standingMs: 5_000
}

/** Characters of what all who wait, or take it, missed, from which on each piece ends with the block at hand. */
const mostTextOfAll = 256 << 20
/** Most who wait for the journal to be read for them. */
const mostWaiting = 32_768
/** Blocks after which it is looked whether anybody still wants the rest. */
const lookedEvery = 64
/** Engines that stand at once: each takes as much memory as the venue's tables. */
const mostStanding = 2
/** Pages that ended within a block, of which it is known what the block had behind them. */
const mostRests = 64

/** What a client missed of one channel, and up to which record that is all. */
export interface Piece {
  readonly updates: ReadonlyArray<Update>
  readonly throughSequence: number
}

/** What was told of an account behind a record, whole records of it, and up to which record that is all. */
export interface Page {
  readonly told: ReadonlyArray<Told>
  readonly throughSequence: number
}

/** Has the journal read for clients. Whoever goes away leaves the others where they are. */
export interface Replaying {
  /** How many engines stand. */
  readonly engines: number
  /**
   * Has a piece of a channel given behind one sequence, of what there is up to another; undefined where too many wait. What it holds
   * counts among what all have been given until `give` is over.
   */
  readonly missed: <A>(
    channel: AccountChannel,
    account: number,
    after: number,
    upTo: number,
    give: (piece: Piece) => Effect.Effect<A>
  ) => Effect.Effect<A | undefined, ReadError>
  /**
   * What each record behind one sequence changed of an account, until so many records told something or a page's records were looked
   * at; undefined where too many wait.
   */
  readonly page: (account: number, after: number, upTo: number, mostRecords: number) => Effect.Effect<Page | undefined, ReadError>
}

/** Takes what was told of an account. */
interface Taking {
  /** All that one record told. */
  readonly take: (told: ReadonlyArray<Told>) => void
  /** Whether no more is wanted. */
  readonly isEnough: () => boolean
}

/** What somebody wants to have read. */
interface Wish {
  readonly channels: ReadonlyArray<AccountChannel>
  readonly account: number
  /** The last record that is known already. */
  readonly after: number
  /** The last record that is wanted, which is durable. */
  readonly upTo: number
  /** Records that are looked at, until it ends with the block at hand. */
  readonly mostRecords: number
  /** Whether what ends within a block takes all of it; otherwise it ends with a record. */
  readonly takesBlocks: boolean
}

/** Somebody who waits for a part of the journal. */
class Asked {
  /** Why the reading that was to serve this one has failed. */
  failure: Cause.Cause<ReadError> | undefined = undefined
  /** Lets it see that it is served, or that it failed. */
  wake: () => void = () => {}
  /** All up to here was given. */
  throughSequence: number
  /** Whether a turn was its own before. */
  hadTurn = false
  /** Where the block begins in which it had enough. */
  private fullIn: number | undefined = undefined
  /** What that block told behind this. */
  rest: Array<ReadonlyArray<Told>> = []

  constructor(readonly wish: Wish, private readonly taking: Taking) {
    this.throughSequence = wish.after
  }

  get isDone(): boolean {
    const { throughSequence, wish: { after, mostRecords, upTo } } = this
    return throughSequence >= upTo || this.fullIn !== undefined || throughSequence - after >= mostRecords
  }

  /** Takes what a record of a block told; whether that was enough. */
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

  /** Behind the block in which it had enough: what that told behind this. */
  ended(lastOfBlock: number): Rest | undefined {
    const { rest, throughSequence, wish: { account, takesBlocks, upTo } } = this
    this.rest = []
    if (takesBlocks) this.throughSequence = Math.min(upTo, lastOfBlock)
    return takesBlocks ? undefined : { account, after: throughSequence, told: rest, throughSequence: lastOfBlock }
  }

  /** All up to a record was given, unless it had enough before. */
  reached(sequence: number): void {
    if (this.fullIn === undefined) this.throughSequence = Math.max(this.throughSequence, Math.min(this.wish.upTo, sequence))
  }
}

/** What the block in which a page ended told of its account behind the page. */
interface Rest {
  readonly account: number
  readonly after: number
  /** By record. */
  readonly told: ReadonlyArray<ReadonlyArray<Told>>
  /** The block's last record. */
  readonly throughSequence: number
}

/** What one record told of one account, made once for all who ask for it. */
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

/** Reads the journal beside whoever runs this. */
export class Replays implements Replaying {
  /** In the order in which they came. */
  private readonly waiting = new Set<Asked>()
  /** Engines that stand where a reading has left them, the one that was used last at the end. */
  private standing: ReadonlyArray<Rerun> = []
  private rests: ReadonlyArray<Rest> = []
  private isReading = false
  /** Whether the last turn was that of what is near. */
  private wasNear = false
  /** Lets the reading go on, where it rests. */
  private wake: () => void = () => {}
  /** Characters that those who wait, or take it, have been given. */
  private text = 0

  constructor(
    private readonly feed: Pick<Feed["Type"], "rerun">,
    private readonly payloads: Payloads,
    private readonly lastSequence: () => number,
    private readonly bounds: Bounds = usualBounds,
    /** Told how many engines stand, whenever that changes. */
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
      const { pieceRecords, pieceText } = this.bounds
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
      const isEnough = (): boolean => text >= pieceText || this.text >= mostTextOfAll
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
      const gathering = new Gathering(mostRecords)
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

  /** Gives what the block told in which the page before ended. */
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

  /** Has the journal read for as long as anybody waits, beside all who do. */
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

  // Whoever asks in the same turn is served by the same reading.
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

  /** Until somebody waits. */
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
   * Whose turn it is: of near and far in turns, who has waited longest; and whoever wants to go on about where that one does. From its
   * second turn on the reading goes back for nobody: as long as others came who want to begin further back, it would get no further.
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

  /** Where the engine stands that goes on from a sequence; there itself if none does. */
  private standingBefore(sequence: number): number {
    const before = this.standing.map((one) => one.sequence()).filter((stands) => stands <= sequence)
    return before.length === 0 ? sequence : Math.max(...before)
  }

  /** Reads for some of them, for as long as a turn is. */
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
          if (asked.take(told, firstOfBlock)) ended.push(asked)
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

/** Waits until it is served: tells the last record up to which it was given all. */
const served = (asked: Asked): Effect.Effect<number, ReadError> =>
  Effect.async((resume) => {
    const look = (): void => {
      if (asked.failure !== undefined) resume(Effect.failCause(asked.failure))
      else if (asked.isDone) resume(Effect.succeed(asked.throughSequence))
    }
    asked.wake = look
    look()
  })

/** Gives what the record changed at which an engine stands, to whoever wants it. */
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
