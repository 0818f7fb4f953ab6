/**
 * The reference as the build has written it down, so that its first reader waits for nothing: the contract's document and the pages. Where
 * nobody gives them they are made when they are first asked for.
 */
import * as Context from "effect/Context"

export interface Texts {
  readonly openApi: string
  /** By name. */
  readonly pages: ReadonlyMap<string, string>
}

/** Undefined: nothing was written, or nobody gave it. */
export class Written extends Context.Reference<Written>()("venue/edge/system/docs/Written", {
  defaultValue: (): Texts | undefined => undefined
}) {}
