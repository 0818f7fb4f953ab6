/**
 * Questions that owners were asked and have not answered yet: of each a random text and the challenge that was made of it and of
 * what is approved. They are in this process only: after a new start whoever was asked is asked again, for the same transaction.
 * An answer, good or bad, ends a question.
 */
import type * as Context from "effect/Context"
import type { SecureRandom } from "../identity/SecureRandom.js"

/** How long a question may be answered. */
const openMs = 5 * 60 * 1000
/** Whether a question may be answered at a time. One that was asked later is of before the clock was set back, and is over as well. */
const isOpen = ({ expiresAtEpochMs }: { readonly expiresAtEpochMs: number }, atEpochMs: number): boolean =>
  expiresAtEpochMs > atEpochMs && expiresAtEpochMs <= atEpochMs + openMs

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

/** Open questions, at most one for each thing that is asked about. */
export class Approvals<About> {
  private readonly byIdentifier = new Map<string, Question<About> & { readonly key: string }>()
  private readonly byKey = new Map<string, string>()

  constructor(private readonly random: Context.Tag.Service<SecureRandom>, private readonly most: number = mostOpen) {}

  get count(): number {
    return this.byIdentifier.size
  }

  private text(bytes: number): string {
    return Buffer.from(this.random.bytes(bytes)).toString("base64url")
  }

  /**
   * The open question under a key, or a new one, whose challenge is made of a fresh nonce; undefined where too many are open. The key
   * says everything that is approved, so that what changed is asked about anew.
   */
  ask(key: string, about: About, challengeOf: (nonce: string) => string, atEpochMs: number): Question<About> | undefined {
    this.forget(atEpochMs)
    const open = this.byIdentifier.get(this.byKey.get(key) ?? "")
    if (open !== undefined && isOpen(open, atEpochMs)) return open
    if (open !== undefined) this.end(open)
    if (this.byIdentifier.size >= this.most) return undefined
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

  /** Takes a question to be answered, once; undefined where none is open under this name. */
  take(challengeIdentifier: string, atEpochMs: number): Question<About> | undefined {
    const question = this.byIdentifier.get(challengeIdentifier)
    if (question === undefined) return undefined
    this.end(question)
    return isOpen(question, atEpochMs) ? question : undefined
  }

  private end({ challengeIdentifier, key }: { readonly challengeIdentifier: string; readonly key: string }): void {
    this.byIdentifier.delete(challengeIdentifier)
    this.byKey.delete(key)
  }

  /**
   * Questions end in the order in which they were asked, unless the clock is set back in between: those end when they are asked anew, or
   * when those before them have ended.
   */
  private forget(atEpochMs: number): void {
    for (const question of this.byIdentifier.values()) {
      if (isOpen(question, atEpochMs)) return
      this.end(question)
    }
  }
}
