/** A listing with a labelled button that loads further rows. */
import type { ComponentChildren } from "preact"
import type { Reading, Task } from "../state/Task.js"
import { Read } from "./Section.js"
import { Trouble } from "./Trouble.js"

interface Props<A> {
  readonly of: { readonly list: Reading<A>; readonly older: Task; readonly hasMore: boolean; readonly more: () => Promise<void> }
  readonly more?: string
  readonly children: (listed: A) => ComponentChildren
}

export const Paged = <A extends object>({ children, more = "Show older", of }: Props<A>) => (
  <>
    <Read of={of.list}>{children}</Read>
    <Trouble failure={of.older.failure.value} again={() => void of.more()} />
    {of.hasMore && <button type="button" disabled={of.older.isBusy.value} onClick={() => void of.more()}>{more}</button>}
  </>
)
