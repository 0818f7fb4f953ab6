/**
 * The owner's pages as they are served: one document and the files that it names, all of them text, held in memory. Whoever
 * starts the venue reads them once; without any the venue says so in their place, and everything else is as ever.
 */
import * as Context from "effect/Context"

/** One file that the document names. Its name changes with what is in it. */
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
