/** The reference's texts: each as the build wrote it, or made on first use and kept. */
import * as Contract from "../../Contract.js"
import * as Page from "./Page.js"
import { samples } from "./Samples.js"
import type { Texts } from "./Written.js"

/** The contract in readable form. */
export interface Made {
  readonly openApi: () => string
  /** The page of a name; undefined where there is none. */
  readonly page: (name: string) => string | undefined
}

/** Makes something when it is first asked for, and keeps it. */
const once = <A extends NonNullable<unknown>>(make: () => A): () => A => {
  let made: A | undefined
  return () => made ??= make()
}

const reference = (): Page.Reference => {
  const { endpoints, examples } = Contract
  return { document: Contract.openApi() as unknown as Page.Document, endpoints, examples, sample: samples() }
}

export const make = (written: Texts | undefined): Made => {
  if (written !== undefined) return { openApi: () => written.openApi, page: (name) => written.pages.get(name) }
  const whole = once(reference)
  const pages = new Map(Page.names.map((name) => [name, once(() => Page.page(whole(), name) ?? "")]))
  return { openApi: once(() => JSON.stringify(Contract.openApi())), page: (name) => pages.get(name)?.() }
}
