/**
 * The reference as written by the build, so that its first reader need not wait: the contract's document and the pages. Where they
 * are missing they are made on first use.
 */
import * as Context from "effect/Context"

export interface Texts {
  readonly openApi: string
  /** By name. */
  readonly pages: ReadonlyMap<string, string>
}

/** Undefined where the build has written nothing, or nothing was provided. */
export class Written extends Context.Reference<Written>()("venue/edge/system/docs/Written", {
  defaultValue: (): Texts | undefined => undefined
}) {}
