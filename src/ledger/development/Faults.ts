/**
 * Faults that a development ledger can be told to produce: one vocabulary for the process (`--script`, and its control route), for the
 * embedded ledger and for a simulator that runs it in memory. A script is a list of rules; the first rule that matches a request and is not
 * used up applies.
 */
import * as Schema from "effect/Schema"
import { Step } from "../Planned.js"
import type { Route } from "../Shapes.js"

const DelayMs = Schema.Number.pipe(Schema.int(), Schema.between(0, 86_400_000))

/** The parts of a prepared transaction that can be altered: its hash is then that of the altered transaction. */
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
  /** Done in time, but answered late. */
  Schema.Struct({ name: Schema.Literal("answer_late"), afterMs: DelayMs }),
  /** The request is lost: nothing is done, and nothing is answered. */
  Schema.Struct({ name: Schema.Literal("drop_request") }),
  /** Done, but the answer is lost. */
  Schema.Struct({ name: Schema.Literal("drop_answer") }),
  /** The completion is reported twice, the second time with another update id. */
  Schema.Struct({ name: Schema.Literal("complete_twice") }),
  /** The completion is delayed, and so are all that follow it. */
  Schema.Struct({ name: Schema.Literal("complete_after"), afterMs: DelayMs }),
  /** In addition, a completion of a command that nobody submitted. */
  Schema.Struct({ name: Schema.Literal("complete_unknown") }),
  /** A definite refusal. */
  Schema.Struct({ name: Schema.Literal("refuse"), code: Schema.String, cause: Schema.String }),
  /**
   * A resubmission is definitely refused, or accepted and then rejected, because the first submission has spent the contracts. Applies only
   * to a resubmission, that is, where an earlier submission of the command was accepted or is not decided yet.
   */
  Schema.Struct({ name: Schema.Literal("refuse_since_first_won"), by: Schema.Literal("answer", "completion") }),
  /**
   * A definite refusal for which the request is not to blame: the ledger has too much to do, or the caller lacks a right, or has no token
   * that is valid.
   */
  Schema.Struct({ name: Schema.Literal("refuse_for_itself"), by: Schema.Literal("load", "right", "token") }),
  /** An error without a definite answer, whether or not the request was done. */
  Schema.Struct({ name: Schema.Literal("refuse_indefinite"), isDone: Schema.Boolean }),
  /** `SUBMISSION_ALREADY_IN_FLIGHT`, and nothing is accepted. */
  Schema.Struct({ name: Schema.Literal("in_flight") }),
  /** The prepared bytes with a hash that is not theirs. */
  Schema.Struct({ name: Schema.Literal("other_hash") }),
  /** Other bytes than were requested, with the matching hash. */
  Schema.Struct({ name: Schema.Literal("other_bytes"), part: Schema.Literal(...parts) }),
  /** The ledger restarts from its store without answering; nothing that it reported before is lost. */
  Schema.Struct({ name: Schema.Literal("restart") }),
  /**
   * The maximum record time passes before the submission is sequenced, so that it is rejected; or it is sequenced exactly at the maximum,
   * so that it is in time; or it was in time, but is reported only when every clock says that it cannot be.
   */
  Schema.Struct({ name: Schema.Literal("pass_maximum"), when: Schema.Literal("before", "at", "after") }),
  /** All completions so far are pruned before the request is answered. */
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

/** The routes to which each fault can apply. */
const befalls: Readonly<Record<Fault["name"], ReadonlyArray<Route>>> = {
  answer_late: everywhere,
  drop_request: everywhere,
  drop_answer: everywhere,
  complete_twice: ["execute"],
  complete_after: ["execute"],
  complete_unknown: ["execute"],
  refuse: everywhere,
  refuse_for_itself: everywhere,
  refuse_since_first_won: ["execute"],
  refuse_indefinite: everywhere,
  in_flight: ["execute"],
  other_hash: ["prepare"],
  other_bytes: ["prepare"],
  restart: everywhere,
  pass_maximum: ["execute"],
  prune: everywhere
}

/** When a fault occurs, and which. */
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
  /** Restricts the rule to this step; only prepare and execute requests have one. */
  step: Schema.optional(Step),
  /** Matching requests that it lets pass first. */
  skip: Schema.optionalWith(Schema.Number.pipe(Schema.int(), Schema.between(0, 1_000_000)), { default: () => 0 }),
  /** Requests to which it then applies. */
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

/** A script in progress. */
export class Play {
  private rules: Array<{ readonly rule: Rule; skip: number; times: number }> = []

  constructor(script: Script) {
    this.replace(script)
  }

  /** Replaces the script; the new one starts from its beginning. */
  replace(script: Script): void {
    this.rules = script.map((rule) => ({ rule, skip: rule.skip, times: rule.times }))
  }

  /** The remaining rules. */
  get left(): Script {
    return this.rules.map(({ rule, skip, times }) => ({ ...rule, skip, times }))
  }

  /** The fault that applies to a request; `isResubmission`: its command has been submitted before. */
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
