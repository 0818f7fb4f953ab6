/** Plays a script back: begins its calls and faults at their times, and calls that waited for an answer once it arrives. */
import * as Script from "./Script.js"
import type { Clients } from "./Clients.js"
import type { Faults } from "./Faults.js"
import { startEpochMs, type World } from "./World.js"

interface Bound {
  /** Steps that begin at their times, in order. */
  readonly timed: ReadonlyArray<Script.Step>
  /** Calls that begin with the answer to another, by its number. */
  readonly after: ReadonlyMap<number, ReadonlyArray<Script.CallStep>>
}

const bind = ({ steps }: Script.Script): Bound => {
  const calls = new Set(steps.flatMap((step) => Script.isCall(step) ? [step.id] : []))
  const after = new Map<number, Array<Script.CallStep>>()
  const timed: Array<Script.Step> = []
  for (const step of steps) {
    if (!Script.isCall(step) || step.after === undefined || !calls.has(step.after)) timed.push(step)
    else if (after.has(step.after)) after.get(step.after)!.push(step)
    else after.set(step.after, [step])
  }
  return { timed, after }
}

/** Begins to play. The returned function says whether all steps that belong to the time of faults have begun. */
export const play = (script: Script.Script, world: World, clients: Clients, faults: Faults): () => boolean => {
  const { elapsedMs, plans } = world
  const { endMs } = script
  const { after, timed } = bind(script)
  // The last call of a run ends its faults, also where it is begun by an answer that arrives at the same moment.
  const last = script.steps.findLast((step) => Script.isCall(step) && step.atMs === endMs)
  let lastBegan = last === undefined
  const call = (step: Script.CallStep): void => {
    if (step === last) lastBegan = true
    clients.begin(Script.draftOf(step, clients.follower.model, clients.identities), step.id, () => {
      for (const each of after.get(step.id) ?? []) call(each)
    })
  }
  let next = 0
  let ended = false
  const begin = (): void => {
    while (next < timed.length && timed[next]!.atMs <= elapsedMs()) {
      const step = timed[next++]!
      if (Script.isCall(step)) call(step)
      else if (faults.active) faults.strike(step)
    }
    if (next < timed.length) plans.at(startEpochMs + timed[next]!.atMs, begin)
  }
  begin()
  plans.at(startEpochMs + endMs, () => {
    begin()
    ended = true
  })
  plans.at(startEpochMs + endMs + 1, () => {
    lastBegan = true
  })
  return () => ended && lastBegan
}
