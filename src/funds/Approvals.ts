/**
 * Open challenges to owners: each has a random nonce, and a challenge derived from it and from what is to be approved. They exist
 * in this process only: after a restart the owner is asked again, for the same transaction. Any answer, valid or not, ends a
 * challenge, except one that there was no room to decide. While it is being decided, no new challenge is issued for the same thing,
 * and a repetition of the same answer waits for the decision.
 *
 * An account may have only so many open, beyond which it loses its own oldest: a challenge stays open when its transfer is given up, and
 * a deposit can be asked for and given up again and again without any money.
 */
import type * as Context from "effect/Context"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import { isOpen } from "../domain/Lasting.js"
import { FairPlaces } from "../domain/FairPlaces.js"
import type { SecureRandom } from "../identity/SecureRandom.js"

/** How long a challenge may be answered, in ms. */
const openMs = 5 * 60 * 1000

/** Most open challenges, and most of an account: twice what it can have under way. */
const mostOpen = 65_536
const mostOfAccount = 16

const nonceBytes = 32
const identifierBytes = 16

/** A question that is open. */
export interface Question<About> {
  /** The identifier by which an answer names it. */
  readonly challengeIdentifier: string
  readonly about: About
  /** base64url. */
  readonly nonce: string
  /** What the assertion has to answer, base64url. */
  readonly challenge: string
  readonly expiresAtEpochMs: number
}

/** An answer to a question. */
export interface Answer {
  readonly challengeIdentifier: string
  /** The answer's author and content: a different answer to the same challenge does not wait for it. */
  readonly by: string
}

type Kept<About> = Question<About> & { readonly account: number; readonly key: string }

/** An answer that is being decided. */
interface Deciding {
  readonly by: string
  readonly ended: Deferred.Deferred<Ended>
}

/** What became of an answer: `open` where nothing was decided, and it may be given again. */
type Ended = "accepted" | "refused" | "open"

/** How an answer is handled: it decides its challenge, waits for the same answer before it, or finds nothing open. */
type Met<About> =
  | { readonly _tag: "Question"; readonly question: Kept<About> }
  | { readonly _tag: "Deciding"; readonly ended: Deferred.Deferred<Ended> }
  | { readonly _tag: "Nothing" }

/** Challenges that are open or being decided, at most one for each thing to approve. */
export class Approvals<About> {
  private readonly byIdentifier = new Map<string, Kept<About>>()
  private readonly byKey = new Map<string, string>()
  private readonly deciding = new Map<string, Deciding>()
  private readonly decidingKeys = new Set<string>()
  private readonly places: FairPlaces<string>

  constructor(private readonly random: Context.Tag.Service<SecureRandom>, private readonly most: number = mostOpen) {
    this.places = new FairPlaces(most, mostOfAccount)
  }

  get count(): number {
    return this.byIdentifier.size + this.deciding.size
  }

  private text(bytes: number): string {
    return Buffer.from(this.random.bytes(bytes)).toString("base64url")
  }

  /**
   * The open challenge of an account under a key, or a new one with a fresh nonce; undefined where too many are being decided, or one under
   * this key is. The key contains everything that is approved, so that any change leads to a new challenge.
   */
  ask(account: number, key: string, about: About, challengeOf: (nonce: string) => string, atEpochMs: number): Question<About> | undefined {
    this.forget(atEpochMs)
    const open = this.byIdentifier.get(this.byKey.get(key) ?? "")
    if (open !== undefined && isOpen(open.expiresAtEpochMs, openMs, atEpochMs)) return open
    if (open !== undefined) this.end(open)
    if (this.decidingKeys.has(key) || this.deciding.size >= this.most) return undefined
    const nonce = this.text(nonceBytes)
    const question = {
      challengeIdentifier: `apr_${this.text(identifierBytes)}`,
      account,
      key,
      about,
      nonce,
      challenge: challengeOf(nonce),
      expiresAtEpochMs: atEpochMs + openMs
    }
    this.open(question)
    return question
  }

  private open(question: Kept<About>): void {
    const { account, challengeIdentifier, key } = question
    this.places.take(challengeIdentifier, String(account), (crowded) => this.end(this.byIdentifier.get(crowded)!))
    this.byIdentifier.set(challengeIdentifier, question)
    this.byKey.set(key, challengeIdentifier)
  }

  /** What the challenge with an identifier is about; undefined where none is open. */
  about(challengeIdentifier: string): About | undefined {
    return this.byIdentifier.get(challengeIdentifier)?.about
  }

  /**
   * Decides the open challenge that an answer names, once: it ends with this answer, whatever the result of `decide`, except a failure
   * that `leavesOpen`. The same answer arriving meanwhile waits for that. Where there is nothing to decide, or no longer, `over` gives
   * the result; it is told whether the answer waited for was accepted.
   */
  answered<A, E, B>(
    answer: Answer,
    atEpochMs: number,
    decide: (question: Question<About>) => Effect.Effect<A, E>,
    over: (isAccepted: boolean) => Effect.Effect<B, E>,
    leavesOpen: (failure: E) => boolean
  ): Effect.Effect<A | B, E> {
    const endOf = (exit: Exit.Exit<unknown, E>): Ended => {
      if (Exit.isSuccess(exit)) return "accepted"
      return Option.exists(Cause.failureOption(exit.cause), leavesOpen) ? "open" : "refused"
    }
    return Effect.acquireUseRelease(
      Effect.sync(() => this.meet(answer, atEpochMs)),
      (met): Effect.Effect<A | B, E> => {
        switch (met._tag) {
          case "Question":
            return decide(met.question)
          case "Deciding":
            return Effect.flatMap(Deferred.await(met.ended),
              (ended): Effect.Effect<A | B, E> =>
                ended === "open" ? this.answered(answer, atEpochMs, decide, over, leavesOpen) : over(ended === "accepted"))
          case "Nothing":
            return over(false)
        }
      },
      (met, exit) => Effect.sync(() => met._tag === "Question" && this.decided(met.question, endOf(exit as Exit.Exit<unknown, E>)))
    )
  }

  private meet({ by, challengeIdentifier }: Answer, atEpochMs: number): Met<About> {
    const before = this.deciding.get(challengeIdentifier)
    if (before !== undefined) return before.by === by ? { _tag: "Deciding", ended: before.ended } : { _tag: "Nothing" }
    const question = this.byIdentifier.get(challengeIdentifier)
    if (question === undefined) return { _tag: "Nothing" }
    this.end(question)
    if (!isOpen(question.expiresAtEpochMs, openMs, atEpochMs)) return { _tag: "Nothing" }
    this.deciding.set(challengeIdentifier, { by, ended: Deferred.unsafeMake(FiberId.none) })
    this.decidingKeys.add(question.key)
    return { _tag: "Question", question }
  }

  private decided(question: Kept<About>, ended: Ended): void {
    const { challengeIdentifier, key } = question
    const deciding = this.deciding.get(challengeIdentifier)
    this.deciding.delete(challengeIdentifier)
    this.decidingKeys.delete(key)
    if (ended === "open") this.open(question)
    if (deciding !== undefined) Deferred.unsafeDone(deciding.ended, Effect.succeed(ended))
  }

  private end({ challengeIdentifier, key }: Kept<About>): void {
    this.places.leave(challengeIdentifier)
    this.byIdentifier.delete(challengeIdentifier)
    this.byKey.delete(key)
  }

  /**
   * Challenges expire in the order in which they were issued, unless the clock is set back or one was opened again: later ones are then
   * dropped when they are issued again, or when those before them have expired.
   */
  private forget(atEpochMs: number): void {
    for (const question of this.byIdentifier.values()) {
      if (isOpen(question.expiresAtEpochMs, openMs, atEpochMs)) return
      this.end(question)
    }
  }
}
