/**
 * The owner's pages as served: one document and the text files that it names, all in memory. They are read once at start; without
 * them the venue says so in their place, and everything else works as usual.
 */
import * as Context from "effect/Context"

/** A file that the document names. Its name changes with its content. */
export interface Asset {
  readonly contentType: string
  readonly body: string
}

export interface Built {
  readonly document: string
  /** By name, as behind `/assets/`. */
  readonly files: ReadonlyMap<string, Asset>
}

/** Undefined: the pages were not built, or nobody gave them. */
export class Assets extends Context.Reference<Assets>()("venue/edge/console/Assets", {
  defaultValue: (): Built | undefined => undefined
}) {}
