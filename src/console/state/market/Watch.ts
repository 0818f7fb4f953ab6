/**
 * Notices changes of the account: a request waits at the venue until something has changed, and the next one continues where it ended, at
 * least a second later. After a failure it is tried again later; until then the page relies on its reads at intervals. While the page is
 * hidden no request waits, since the account's programs share the places for waiting requests.
 */
import type { Client } from "../Client.js"
import { hasFailed } from "../Failure.js"
import type { Outside } from "../Outside.js"

/** How long a request waits at the venue, in milliseconds: less than the page's time limit for any answer. */
const waitMs = 15_000
/** The pause before the next request after a change, in milliseconds: it keeps a very active account within its rate limit. */
const pauseMs = 1_000
/** The pause before trying again after a failure, in milliseconds. */
const retryMs = 5_000

export class Watch {
  private isWanted = false
  private isUnderWay = false
  /** The last record seen; undefined where it has to be asked for first. */
  private through: number | undefined

  /** `changed`: called after each change, and once at the start, for earlier changes. */
  constructor(
    private readonly client: Client,
    private readonly outside: Pick<Outside, "isSeen" | "venue">,
    private readonly changed: () => void
  ) {}

  /** Starts watching; if a request of a page left before is still waiting, once that has been answered. */
  begin(): void {
    this.isWanted = true
    if (!this.isUnderWay) void this.run()
  }

  /** Stops watching; later answers are ignored. */
  end(): void {
    this.isWanted = false
    this.through = undefined
  }

  /** Asks anew from where to go on: the venue's journal may lack what was seen, and waits for nothing that has those numbers. */
  anew(): void {
    this.through = undefined
  }

  private async run(): Promise<void> {
    this.isUnderWay = true
    try {
      while (this.isWanted) {
        const ms = this.outside.isSeen() ? await this.look() : pauseMs
        if (this.isWanted && ms > 0) await new Promise<void>((resolve) => void this.outside.venue.platform.after(ms, resolve))
      }
    } finally {
      this.isUnderWay = false
    }
  }

  /** Makes one request. Returns the delay before the next one, in milliseconds. */
  private async look(): Promise<number> {
    const { through } = this
    if (through === undefined) return this.start()
    const answer = await this.client.changes(through, waitMs)
    // The watch was ended meanwhile, or ended and started again.
    if (this.through !== through) return 0
    if (hasFailed(answer)) {
      // A repeatable failure is simply repeated; after any other, the venue no longer answers from that sequence.
      if (!answer.failure.again) this.through = undefined
      return retryMs
    }
    const { events, throughSequence } = answer.value
    this.through = throughSequence
    if (events.length === 0) return 0
    this.changed()
    return pauseMs
  }

  private async start(): Promise<number> {
    const balance = await this.client.balance()
    if (hasFailed(balance)) return retryMs
    if (!this.isWanted) return 0
    this.through = balance.value.journalSequence
    this.changed()
    return 0
  }
}
