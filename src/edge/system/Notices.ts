/** What is logged for whoever runs the venue as it comes about. */
import * as Effect from "effect/Effect"

/** What is to be said, and whether it calls for somebody. */
export interface Notice {
  readonly text: string
  readonly isWarning: boolean
}

const say = ({ isWarning, text }: Notice): Effect.Effect<void> => isWarning ? Effect.logWarning(text) : Effect.logInfo(text)

/** Looks again and again, with a pause between, and logs what each look tells. */
export const drive = (looks: ReadonlyArray<() => ReadonlyArray<Notice>>, pauseMs: number): Effect.Effect<never> => {
  const all = Effect.suspend(() => Effect.forEach(looks.flatMap((look) => look()), say, { discard: true }))
  return Effect.forever(Effect.zipRight(all, Effect.sleep(pauseMs)))
}
