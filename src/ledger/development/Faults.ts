/**
 * What a development ledger can be told to do wrong: one vocabulary for the process (`--script`, and its control route), for the
 * embedded ledger and for a simulator that runs it in memory. A script is a list of rules; a question meets the first rule that it
 * fits and that is not used up.
 */
import * as Schema from "effect/Schema"
import { Step } from "../Planned.js"
import type { Route } from "../Shapes.js"

const DelayMs = Schema.Number.pipe(Schema.int(), Schema.between(0, 86_400_000))

/** The parts of a prepared transaction that can be made others: its hash is then that of the other transaction. */
const parts = [
  "party",
  "command",
  "synchronizer",
  "maximum",
  "template",
  "choice",
  "amount",
  "receiver",
  "second_root",
  "hidden_node",
  "extra_input"
] as const
export type Part = (typeof parts)[number]

/** One thing that goes wrong, by its name. */
export const Fault = Schema.Union(
  /** Done in time, answered late. */
  Schema.Struct({ name: Schema.Literal("answer_late"), afterMs: DelayMs }),
  /** Lost on its way: nothing is done, nothing is answered. */
  Schema.Struct({ name: Schema.Literal("drop_request") }),
  /** Done, but the answer is lost. */
  Schema.Struct({ name: Schema.Literal("drop_answer") }),
  /** Its completion is told twice, the second time with another update. */
  Schema.Struct({ name: Schema.Literal("complete_twice") }),
  /** Its completion comes so much later, and none before it. */
  Schema.Struct({ name: Schema.Literal("complete_after"), afterMs: DelayMs }),
  /** Beside it, the completion of a command that nobody gave. */
  Schema.Struct({ name: Schema.Literal("complete_unknown") }),
  /** Refused, for certain. */
  Schema.Struct({ name: Schema.Literal("refuse"), code: Schema.String, cause: Schema.String }),
  /**
   * A resubmission is refused for certain, or taken and rejected, because the first one has spent the contracts. Waits for a
   * question that is one: whose command was accepted, or is not decided yet.
   */
  Schema.Struct({ name: Schema.Literal("refuse_since_first_won"), by: Schema.Literal("answer", "completion") }),
  /** An error without a definite answer, whether it was done or not. */
  Schema.Struct({ name: Schema.Literal("refuse_indefinite"), isDone: Schema.Boolean }),
  /** `SUBMISSION_ALREADY_IN_FLIGHT`, and nothing is taken. */
  Schema.Struct({ name: Schema.Literal("in_flight") }),
  /** The prepared bytes with a hash that is not theirs. */
  Schema.Struct({ name: Schema.Literal("other_hash") }),
  /** Other bytes than were asked for, with the hash that they have. */
  Schema.Struct({ name: Schema.Literal("other_bytes"), part: Schema.Literal(...parts) }),
  /** The ledger starts again from what it has kept, without an answer; nothing that it said before is lost. */
  Schema.Struct({ name: Schema.Literal("restart") }),
  /**
   * The maximum record time comes before the submission is in order, so that it is rejected; just as it is, so that it is in time;
   * or after, so that it was in time and is told when every clock says that it cannot be.
   */
  Schema.Struct({ name: Schema.Literal("pass_maximum"), when: Schema.Literal("before", "at", "after") }),
  /** All completions so far are gone before it is answered. */
  Schema.Struct({ name: Schema.Literal("prune") })
)
export type Fault = typeof Fault.Type

const everywhere: ReadonlyArray<Route> = [
  "prepare",
  "execute",
  "completions",
  "completion_by_hash",
  "ledger_end",
  "active_contracts",
  "generate_topology",
  "allocate",
  "participant_id"
]

/** Which questions a fault can befall. */
const befalls: Readonly<Record<Fault["name"], ReadonlyArray<Route>>> = {
  answer_late: everywhere,
  drop_request: everywhere,
  drop_answer: everywhere,
  complete_twice: ["execute"],
  complete_after: ["execute"],
  complete_unknown: ["execute"],
  refuse: everywhere,
  refuse_since_first_won: ["execute"],
  refuse_indefinite: everywhere,
  in_flight: ["execute"],
  other_hash: ["prepare"],
  other_bytes: ["prepare"],
  restart: everywhere,
  pass_maximum: ["execute"],
  prune: everywhere
}

/** When something goes wrong, and what. */
const Rule = Schema.Struct({
  on: Schema.Literal(
    "prepare",
    "execute",
    "completions",
    "completion_by_hash",
    "ledger_end",
    "active_contracts",
    "generate_topology",
    "allocate",
    "participant_id"
  ),
  /** Of this step alone; only preparing and executing are of any. */
  step: Schema.optional(Step),
  /** Questions that it fits and lets pass first. */
  skip: Schema.optionalWith(Schema.Number.pipe(Schema.int(), Schema.between(0, 1_000_000)), { default: () => 0 }),
  /** Questions that it befalls. */
  times: Schema.optionalWith(Schema.Number.pipe(Schema.int(), Schema.between(1, 1_000_000)), { default: () => 1 }),
  fault: Fault
}).pipe(Schema.filter(({ fault, on, step }) => {
  if (!befalls[fault.name].includes(on)) return `${fault.name} does not befall ${on}`
  return step === undefined || on === "prepare" || on === "execute" || `${on} is of no step`
}))
type Rule = typeof Rule.Type

/** At most 1,000 rules. */
export const Script = Schema.Array(Rule).pipe(Schema.maxItems(1_000))
export type Script = typeof Script.Type

/** A script under way. */
export class Play {
  private rules: Array<{ readonly rule: Rule; skip: number; times: number }> = []

  constructor(script: Script) {
    this.replace(script)
  }

  /** From now on this script, from its beginning. */
  replace(script: Script): void {
    this.rules = script.map((rule) => ({ rule, skip: rule.skip, times: rule.times }))
  }

  /** What is left of it. */
  get left(): Script {
    return this.rules.map(({ rule, skip, times }) => ({ ...rule, skip, times }))
  }

  /** What befalls a question; `isResubmission` says whether its command has come before. */
  next(on: Route, step: Step | undefined, isResubmission: boolean): Fault | undefined {
    const met = this.rules.find(({ rule }) =>
      rule.on === on && (rule.step === undefined || rule.step === step)
      && (rule.fault.name !== "refuse_since_first_won" || isResubmission)
    )
    if (met === undefined) return undefined
    if (met.skip > 0) {
      met.skip--
      return undefined
    }
    met.times--
    if (met.times === 0) this.rules.splice(this.rules.indexOf(met), 1)
    return met.rule.fault
  }
}
