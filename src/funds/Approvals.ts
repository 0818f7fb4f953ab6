/**
 * Questions that owners were asked and have not answered yet: of each a random text and the challenge that was made of it and of
 * what is approved. They are in this process only: after a new start whoever was asked is asked again, for the same transaction.
 * An answer, good or bad, ends a question. While it is being decided nobody is asked the same anew, and the same answer, sent again
 * by somebody who has not heard of the first one, waits for what becomes of that.
 */
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import { isOpen } from "../domain/Lasting.js"
import type { SecureRandom } from "../identity/SecureRandom.js"

/** How long a question may be answered. */
const openMs = 5 * 60 * 1000

/** Questions that may be open at one time. */
const mostOpen = 65_536

const nonceBytes = 32
const identifierBytes = 16

/** A question that is open. */
export interface Question<About> {
  /** What whoever answers names it by. */
  readonly challengeIdentifier: string
  readonly about: About
  /** base64url. */
  readonly nonce: string
  /** base64url: what the assertion has to answer. */
  readonly challenge: string
  readonly expiresAtEpochMs: number
}

/** An answer to a question. */
export interface Answer {
  readonly challengeIdentifier: string
  /** Whose answer it is, and about what: another one to the same question does not wait for it. */
  readonly by: string
}

type Kept<About> = Question<About> & { readonly key: string }

/** An answer that is being decided. */
interface Deciding {
  readonly by: string
  /** Done when it is decided: whether it was accepted. */
  readonly ended: Deferred.Deferred<boolean>
}

/** What an answer meets: the question that it is to decide, the same answer before it, or nothing that is open. */
type Met<About> =
  | { readonly _tag: "Question"; readonly question: Kept<About> }
  | { readonly _tag: "Deciding"; readonly ended: Deferred.Deferred<boolean> }
  | { readonly _tag: "Nothing" }

/** Open questions and those that are being decided, at most one for each thing that is asked about. */
export class Approvals<About> {
  private readonly byIdentifier = new Map<string, Kept<About>>()
  private readonly byKey = new Map<string, string>()
  private readonly deciding = new Map<string, Deciding>()
  private readonly decidingKeys = new Set<string>()

  constructor(private readonly random: Context.Tag.Service<SecureRandom>, private readonly most: number = mostOpen) {}

  get count(): number {
    return this.byIdentifier.size + this.deciding.size
  }

  private text(bytes: number): string {
    return Buffer.from(this.random.bytes(bytes)).toString("base64url")
  }

  /**
   * The open question under a key, or a new one, whose challenge is made of a fresh nonce; undefined where too many are open, or one
   * under this key is being decided. The key says everything that is approved, so that what changed is asked about anew.
   */
  ask(key: string, about: About, challengeOf: (nonce: string) => string, atEpochMs: number): Question<About> | undefined {
    this.forget(atEpochMs)
    const open = this.byIdentifier.get(this.byKey.get(key) ?? "")
    if (open !== undefined && isOpen(open.expiresAtEpochMs, openMs, atEpochMs)) return open
    if (open !== undefined) this.end(open)
    if (this.decidingKeys.has(key) || this.count >= this.most) return undefined
    const nonce = this.text(nonceBytes)
    const question = {
      challengeIdentifier: `apr_${this.text(identifierBytes)}`,
      key,
      about,
      nonce,
      challenge: challengeOf(nonce),
      expiresAtEpochMs: atEpochMs + openMs
    }
    this.byIdentifier.set(question.challengeIdentifier, question)
    this.byKey.set(key, question.challengeIdentifier)
    return question
  }

  /**
   * Decides the open question that an answer names, once: it is over with this answer, however `decide` ends. The same answer that comes
   * in between waits for that. Where there is nothing to decide, or no more, `over` says what comes of it; it is told whether the
   * answer that was waited for was accepted.
   */
  answered<A, E, B>(
    answer: Answer,
    atEpochMs: number,
    decide: (question: Question<About>) => Effect.Effect<A, E>,
    over: (isAccepted: boolean) => Effect.Effect<B, E>
  ): Effect.Effect<A | B, E> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.meet(answer, atEpochMs)),
      (met): Effect.Effect<A | B, E> => {
        switch (met._tag) {
          case "Question":
            return decide(met.question)
          case "Deciding":
            return Effect.flatMap(Deferred.await(met.ended), over)
          case "Nothing":
            return over(false)
        }
      },
      (met, exit) => Effect.sync(() => met._tag === "Question" && this.decided(met.question, Exit.isSuccess(exit)))
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

  private decided({ challengeIdentifier, key }: Kept<About>, isAccepted: boolean): void {
    const deciding = this.deciding.get(challengeIdentifier)
    this.deciding.delete(challengeIdentifier)
    this.decidingKeys.delete(key)
    if (deciding !== undefined) Deferred.unsafeDone(deciding.ended, Effect.succeed(isAccepted))
  }

  private end({ challengeIdentifier, key }: Kept<About>): void {
    this.byIdentifier.delete(challengeIdentifier)
    this.byKey.delete(key)
  }

  /**
   * Questions end in the order in which they were asked, unless the clock is set back in between: those end when they are asked anew, or
   * when those before them have ended.
   */
  private forget(atEpochMs: number): void {
    for (const question of this.byIdentifier.values()) {
      if (isOpen(question.expiresAtEpochMs, openMs, atEpochMs)) return
      this.end(question)
    }
  }
}
