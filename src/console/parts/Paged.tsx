/** A listing with a labelled button that loads further rows. */
import type { ComponentChildren } from "preact"
import type { Listing } from "../state/Listing.js"
import { Read } from "./Section.js"
import { Trouble } from "./Trouble.js"

export const Paged = <Row extends object>({ children, more, of }: {
  readonly of: Listing<Row>
  readonly more: string
  readonly children: (rows: ReadonlyArray<Row>) => ComponentChildren
}) => (
  <>
    <Read of={of.list}>{({ rows }) => children(rows)}</Read>
    <Trouble failure={of.older.failure.value} again={() => void of.more()} />
    {of.hasMore && <button type="button" disabled={of.older.isBusy.value} onClick={() => void of.more()}>{more}</button>}
  </>
)
