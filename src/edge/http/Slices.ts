/**
 * Long reads in slices: one slice of one read between two polls of the network, however many reads there are. Those whose reads they are
 * take turns, so that nobody's many reads delay another's by more than one slice a turn. Of one owner the read that began first goes on
 * first, since the others hold little yet.
 */
import * as Effect from "effect/Effect"
import * as Errors from "./Errors.js"
import type { Request } from "./Listener.js"

/** Most reads of one account that wait for a slice. */
export const mostOfAccount = 64

/** Whose reads they are: an account's, by its number, or what the venue reads for its operator or for itself. */
type Owner = number | "operator" | "venue"

/** Waits for a read's next slice. */
export type NextSlice = Effect.Effect<void, Errors.Failure>

export class Slices {
  /** What waits for a slice, by owner: the owner whose turn is next comes first. */
  private readonly lines = new Map<Owner, Array<() => void>>()
  private isScheduled = false

  /** `schedule` runs a turn after the pending input has been read. */
  constructor(private readonly schedule: (turn: () => void) => void) {}

  /** Waits for a slice of the venue's own work. */
  nextOf(owner: Exclude<Owner, number>): Effect.Effect<void> {
    return Effect.async<void>((resume) => this.add(owner, () => resume(Effect.void), false))
  }

  /**
   * A read of an account, which may wait for further slices: its first needs none. It is refused where too many of the account's wait, and
   * ends as if it were where its client has disconnected, whom no answer reaches.
   */
  read<A>(
    account: number,
    whenGone: Request["whenGone"],
    body: (nextSlice: NextSlice) => Effect.Effect<A, Errors.Failure>
  ): Effect.Effect<A, Errors.Failure> {
    return Effect.suspend(() => {
      let hasBegun = false
      let isGone = false
      let unhear: (() => void) | undefined
      let stop = (): void => {}
      const nextSlice = Effect.async<void, Errors.Failure>((resume) => {
        const isFull = !hasBegun && (this.lines.get(account)?.length ?? 0) >= mostOfAccount
        if (isGone || isFull) return resume(Effect.fail(Errors.historiesUnavailable))
        if (!hasBegun) {
          unhear = whenGone?.(() => {
            isGone = true
            stop()
          })
        }
        const go = (): void => resume(Effect.void)
        stop = () => {
          if (this.leave(account, go)) resume(Effect.fail(Errors.historiesUnavailable))
        }
        this.add(account, go, hasBegun)
        hasBegun = true
      })
      return Effect.ensuring(body(nextSlice), Effect.sync(() => unhear?.()))
    })
  }

  private add(owner: Owner, go: () => void, hasBegun: boolean): void {
    const line = this.lines.get(owner)
    if (line === undefined) this.lines.set(owner, [go])
    else if (hasBegun) line.unshift(go)
    else line.push(go)
    this.goOn()
  }

  /** Takes out what waits. Returns whether it did. */
  private leave(owner: Owner, go: () => void): boolean {
    const line = this.lines.get(owner) ?? []
    const at = line.indexOf(go)
    if (at < 0) return false
    line.splice(at, 1)
    if (line.length === 0) this.lines.delete(owner)
    return true
  }

  private goOn(): void {
    if (this.isScheduled || this.lines.size === 0) return
    this.isScheduled = true
    this.schedule(this.turn)
  }

  private readonly turn = (): void => {
    this.isScheduled = false
    const [first] = this.lines
    if (first === undefined) return
    const [owner, line] = first
    const go = line.shift()
    // Who has had his turn comes after all others.
    this.lines.delete(owner)
    if (line.length > 0) this.lines.set(owner, line)
    this.goOn()
    go?.()
  }
}
