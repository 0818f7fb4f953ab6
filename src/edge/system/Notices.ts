/** Notices to operators in the log. */
import * as Effect from "effect/Effect"

/** A notice, and whether it requires action. */
export interface Notice {
  readonly text: string
  readonly isWarning: boolean
}

const say = ({ isWarning, text }: Notice): Effect.Effect<void> => isWarning ? Effect.logWarning(text) : Effect.logInfo(text)

/** Runs checks repeatedly with a pause in between, and logs their notices. */
export const drive = (looks: ReadonlyArray<() => ReadonlyArray<Notice>>, pauseMs: number): Effect.Effect<never> => {
  const all = Effect.suspend(() => Effect.forEach(looks.flatMap((look) => look()), say, { discard: true }))
  return Effect.forever(Effect.zipRight(all, Effect.sleep(pauseMs)))
}
