/**
 * Events of a participant's own, behind all that the ledger has told so far. They are gone once the participant is restored from a backup:
 * its end goes back then, and what happens next takes their offsets. Nothing of the ledger's may happen while they are there, so that all
 * it has done keeps its offsets.
 */
import type { DevelopmentLedger } from "../../src/ledger/development/DevelopmentLedger.js"
import * as Shapes from "../../src/ledger/Shapes.js"
import type { Question, Reply } from "../../src/ledger/Transport.js"

type Handled = ReturnType<DevelopmentLedger["handle"]>

const isObject = (value: unknown): value is { readonly [name: string]: unknown } => typeof value === "object" && value !== null

/** A body with numbers changed: `change` is given each member's name and value. */
const changed = (body: unknown, change: (name: string, value: unknown) => unknown): unknown =>
  body === undefined ? undefined : JSON.parse(JSON.stringify(body), change) as unknown

const [, endPath] = Shapes.routes.ledger_end

export class OwnEvents {
  #count = 0
  #behind = 0

  /** So many happen behind an offset, or are gone. */
  set(count: number, behind: number): void {
    this.#count = count
    this.#behind = behind
  }

  /** Puts a question, as it arrives, to a ledger without them, and gives the answer as a participant with them does. */
  through(question: Question, tell: (question: Question) => Handled): Handled {
    const handled = tell(this.#asked(question))
    return handled.reply === undefined ? handled : { ...handled, reply: this.#told(question.path === endPath, handled.reply) }
  }

  #asked(question: Question): Question {
    if (this.#count === 0) return question
    const inner = (offset: unknown): unknown => typeof offset === "number" ? Math.min(offset, this.#behind) : offset
    const body = changed(question.body, (name, value) => {
      if (name === "DeduplicationOffset" && isObject(value)) return { ...value, value: inner(value["value"]) }
      return name === "beginExclusive" || name === "activeAtOffset" ? inner(value) : value
    })
    return { ...question, body }
  }

  #told(isEnd: boolean, reply: Reply): Reply {
    if (this.#count === 0) return reply
    const outer = (offset: unknown): unknown => offset === this.#behind ? this.#behind + this.#count : offset
    const body = changed(reply.body, (name, value) => {
      if (isEnd && name === "offset") return outer(value)
      if (name !== "OffsetCheckpoint" || !isObject(value) || !isObject(value["value"])) return value
      return { ...value, value: { ...value["value"], offset: outer(value["value"]["offset"]) } }
    })
    return { ...reply, body }
  }
}
