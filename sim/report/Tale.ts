/**
 * A run as a person would tell it: who did what in the market's terms, which faults struck, what the venue answered, what it committed,
 * and which claim broke. Listens to a run, and tells the story when the run is over.
 */
import type { NaiveVenue } from "../model/NaiveVenue.js"
import type { Call, Observation } from "../properties/Observation.js"
import type { Report } from "../run/Request.js"
import { isCall, type Script } from "../run/Script.js"
import type { Fate } from "../world/SimNetwork.js"
import * as Words from "./Words.js"

/** An event, and its results. */
interface Scene {
  readonly atEpochMs: number
  readonly text: string
  /** Whether it is a step of the script: those are numbered. */
  readonly step: boolean
  readonly after: Array<string>
}

const keyOf = (call: Call): string => `${call.account}/${call.idempotencyKey}`

/** A tale without any events yet. */
class Tale {
  readonly #scenes: Array<Scene> = []
  readonly #byCall = new Map<number, Scene>()
  /** The scene of each Idempotency-Key that was used. */
  readonly #byKey = new Map<string, Scene>()
  #model: NaiveVenue | undefined
  /** Whether the opening is still under way: it has only the operator's calls, and ends with the accounts. */
  #opening = true

  constructor(readonly startEpochMs: number) {}

  /** The run's `listen`. */
  readonly listen = (atEpochMs: number, seen: Observation): void => {
    switch (seen._tag) {
      case "Asked":
        if (seen.call.client !== "operator") this.#opening = false
        if (!this.#opening) this.#asked(atEpochMs, seen.call, seen.attempt)
        return
      case "Answered":
        if (seen.call.endpoint === "openDemoAccounts") this.#opening = false
        this.#model = seen.model
        this.#byCall.get(seen.call.id)?.after.push(Words.describeAnswer(seen.answer))
        return
      case "Unanswered":
        this.#byCall.get(seen.call.id)?.after.push(seen.refused ? "nothing listens" : "no reply comes: it cannot know whether it was done")
        return
      case "Committed":
        return this.#committed(atEpochMs, seen)
      default:
        return this.#befell(atEpochMs, seen)
    }
  }

  /** The run's `dealt`. */
  readonly dealt = (call: Call, fate: Fate): void => {
    const of = this.#byCall.get(call.id)
    if (of === undefined) return
    if (fate.halfOpen) of.after.push("FAULT: the connection is half open, nothing will come back")
    if (fate.requestLost) of.after.push("FAULT: the request is lost on its way")
    else if (fate.replyLost) of.after.push("FAULT: the reply will be lost")
    if (fate.duplicated) of.after.push("FAULT: the request is delivered a second time")
  }

  /** The story, line by line. */
  tell({ failure, options, seed }: Report, script: Script): ReadonlyArray<string> {
    const { workload: { collateral, traders } } = options
    const lines = [
      `Seed ${seed}: ${script.steps.length === 1 ? "1 step" : `${script.steps.length} steps`}.${
        failure === undefined ? "" : ` It breaks the claim "${Words.claim(failure)}".`
      }`,
      `To begin with: ${
        this.#model === undefined ? "no market" : Words.describeMarkets(this.#model)
      }; ${traders} accounts with ${collateral} USDC each.`
    ]
    let number = 0
    for (const scene of this.#inOrder(script)) {
      const at = `+${((scene.atEpochMs - this.startEpochMs) / 1000).toFixed(3)} s`
      lines.push(`${scene.step ? `${String(++number).padStart(4)}.` : "     "} ${at.padStart(11)}  ${scene.text}`)
      for (const line of scene.after) lines.push(`${" ".repeat(21)}${line}`)
    }
    if (failure !== undefined) lines.push(...Words.describeFailure(failure))
    return lines
  }

  /** Faults of the script and observed events, by time. */
  #inOrder(script: Script): ReadonlyArray<Scene> {
    const faults = script.steps.flatMap((step): ReadonlyArray<Scene> =>
      isCall(step) ? [] : [{ atEpochMs: this.startEpochMs + step.atMs, text: Words.describeFault(step), step: true, after: [] }]
    )
    return [...faults, ...this.#scenes].sort((a, b) => a.atEpochMs - b.atEpochMs)
  }

  #scene(atEpochMs: number, text: string, step: boolean): Scene {
    const made: Scene = { atEpochMs, text, step, after: [] }
    this.#scenes.push(made)
    return made
  }

  #asked(atEpochMs: number, call: Call, attempt: number): void {
    const before = this.#byCall.get(call.id)
    if (before !== undefined) {
      before.after.push(`asks again (${attempt})`)
      return
    }
    const restores = call.idempotencyKey?.startsWith("restore-") === true
    const made = this.#scene(atEpochMs, `${call.client} ${Words.describeCall(call)}`, !restores)
    this.#byCall.set(call.id, made)
    if (call.idempotencyKey !== undefined && !this.#byKey.has(keyOf(call))) this.#byKey.set(keyOf(call), made)
  }

  #committed(atEpochMs: number, { decision, model, record }: Extract<Observation, { readonly _tag: "Committed" }>): void {
    this.#model = model
    const { command, sequence } = record
    const key = "idempotencyKey" in command ? command.idempotencyKey : ""
    const account = "account" in command ? command.account : -1
    const heard = Words.describeSample(command, model)
    if (heard !== undefined && !this.#opening) this.#scene(atEpochMs, `record ${sequence}: ${heard}`, false)
    const of = this.#byKey.get(`${account}/${key}`)
    const lines = Words.describeDecision(decision, model)
    if (of !== undefined) of.after.push(`record ${sequence} is durable`, ...lines)
    else if (!this.#opening && lines.length > 0) this.#scene(atEpochMs, `record ${sequence}, ${command.kind}`, false).after.push(...lines)
  }

  /** Notes an event of the process or its journal. */
  #befell(atEpochMs: number, seen: Observation): void {
    const text = Words.describeEvent(seen)
    if (text !== undefined) this.#scene(atEpochMs, text, false)
  }
}

/** The story of a run that begins at a time. */
export const make = (startEpochMs: number): Tale => new Tale(startEpochMs)
