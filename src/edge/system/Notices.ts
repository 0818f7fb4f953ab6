/** Notices to operators in the log. */
import * as Effect from "effect/Effect"
import { told } from "../../domain/Unattended.js"

/** A notice, and whether it requires action. */
export interface Notice {
  readonly text: string
  readonly isWarning: boolean
}

const say = ({ isWarning, text }: Notice): Effect.Effect<void> => isWarning ? Effect.logWarning(text) : Effect.logInfo(text)

/** Runs checks repeatedly with a pause in between, and logs their notices. A defect in one neither ends nor delays the others. */
export const drive = (looks: ReadonlyArray<() => ReadonlyArray<Notice>>, pauseMs: number): Effect.Effect<never> => {
  const once = (look: () => ReadonlyArray<Notice>): Effect.Effect<void> =>
    told("a check for the log", Effect.suspend(() => Effect.forEach(look(), say, { discard: true })))
  const all = Effect.forEach(looks, once, { discard: true })
  return Effect.forever(Effect.zipRight(all, Effect.sleep(pauseMs)))
}
