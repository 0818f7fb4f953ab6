/** The live book: always the same number of rows for each side, worst ask at the top, so that only figures and bars change. */
import { depth, type Ladder, type Row } from "../../state/market/Ladder.js"
import type { Feed } from "../../state/market/Feed.js"
import { format } from "../../state/market/Decimals.js"
import { decimal } from "../../state/Words.js"

interface Props {
  readonly feed: Feed
  readonly priceScale: number
  /** Prices at which the account has orders. */
  readonly own: ReadonlySet<string>
  /** Puts a price into the order form. */
  readonly take: (price: string) => void
}

interface LineProps {
  readonly row: Row | undefined
  readonly isOwn: boolean
  readonly take: (price: string) => void
}

const Line = ({ isOwn, row, take }: LineProps) => (
  <div
    role="row"
    class={isOwn ? "level own" : "level"}
    onClick={() => row !== undefined && take(row.price)}
  >
    <span class="bar-of" aria-hidden="true" style={{ transform: `scaleX(${row?.share ?? 0})` }} />
    <span role="rowheader" class="price">{row === undefined ? "\u2013" : decimal(row.price)}</span>
    <span role="cell" class="size">
      {isOwn && <span class="mine">yours</span>}
      {row === undefined ? "\u2013" : decimal(row.size)}
    </span>
  </div>
)

const fromBest = Array.from({ length: depth }, (_, at) => at)
const fromWorst = [...fromBest].reverse()

interface SideProps {
  readonly side: "asks" | "bids"
  readonly rows: ReadonlyArray<Row>
  readonly own: ReadonlySet<string>
  readonly take: (price: string) => void
}

/** Rows are reused in place, so that the browser moves none of them. */
const Side = ({ own, rows, side, take }: SideProps) => (
  <div role="rowgroup" aria-label={side === "asks" ? "Asks" : "Bids"} class={side}>
    {(side === "asks" ? fromWorst : fromBest).map((at) => {
      const row = rows[at]
      return <Line key={at} row={row} isOwn={row !== undefined && own.has(row.price)} take={take} />
    })}
  </div>
)

const none: Ladder = { bids: [], asks: [], spreadAtoms: undefined, sequence: 0 }

export const Book = ({ feed, own, priceScale, take }: Props) => {
  const { asks, bids, sequence, spreadAtoms } = feed.book.value ?? none
  const isCurrent = feed.isBookCurrent.value
  return (
    <section class={isCurrent ? "book" : "book past"} aria-labelledby="book-title">
      <h2 id="book-title">Book</h2>
      <div role="table" aria-labelledby="book-title" data-sequence={sequence}>
        <div role="row" class="level titles">
          <span role="columnheader" class="price">Price</span>
          <span role="columnheader" class="size">Size</span>
        </div>
        <Side side="asks" rows={asks} own={own} take={take} />
        <div role="row" class="spread">
          <span role="cell" aria-colspan={2}>
            {isCurrent || sequence === 0 ? "" : "As it was last. "}
            {spreadAtoms === undefined ? "No spread" : `Spread ${format(spreadAtoms, priceScale)}`}
          </span>
        </div>
        <Side side="bids" rows={bids} own={own} take={take} />
      </div>
    </section>
  )
}
