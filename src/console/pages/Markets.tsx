/** All markets: mark, change, funding and status of each, with a link to its page. */
import { useEffect } from "preact/hooks"
import { Read } from "../parts/Section.js"
import { type Column, Table } from "../parts/Table.js"
import { Title } from "../parts/Title.js"
import { funding, percent } from "../state/market/Decimals.js"
import type { Quoted } from "../state/Markets.js"
import * as Places from "../state/Places.js"
import type { Store } from "../state/Store.js"
import { decimal, direction, money, words } from "../state/Words.js"

/** The refresh interval while the page is visible, in milliseconds. */
const intervalMs = 5_000

const missing = <span class="soft">–</span>

const columns: ReadonlyArray<Column<Quoted>> = [
  {
    title: "Market",
    isName: true,
    cell: ({ market: { marketId } }) => <a href={Places.link("market", marketId)}>{marketId}</a>
  },
  { title: "Mark", isNumber: true, cell: ({ stats }) => stats === undefined ? missing : decimal(stats.marketData.markPrice) },
  {
    title: "24 hours",
    isNumber: true,
    cell: ({ stats }) =>
      stats === undefined ? missing : <span class={direction(stats.change24hBps)}>{percent(stats.change24hBps, 4, 2)}</span>
  },
  { title: "Volume, 24 h", isNumber: true, cell: ({ stats }) => stats === undefined ? missing : money(stats.volume24hQuote) },
  {
    title: "Funding, 8 h",
    isNumber: true,
    cell: ({ stats }) => stats === undefined ? missing : funding(stats)
  },
  {
    title: "Status",
    cell: ({ market: { marketSession, status }, stats }) => (
      <>
        <span class={status === "open" && marketSession.state === "open" ? "state active" : "state"}>
          {status === "open" ? words(marketSession.state) : words(status)}
        </span>
        {stats?.marketData.stale === true && <span class="state">Index stale</span>}
      </>
    )
  }
]

export const MarketsPage = ({ store: { every, markets }, title }: { readonly store: Store; readonly title: string }) => {
  useEffect(() => {
    void markets.list.load()
    return every(intervalMs, () => void markets.refresh())
  }, [])
  return (
    <>
      <Title title={title} />
      <Read of={markets.list}>
        {(shown) => (
          <Table
            label="Markets"
            columns={columns}
            rows={shown.markets}
            keyOf={({ market }) => market.marketId}
            empty="The venue lists no market yet."
          />
        )}
      </Read>
    </>
  )
}
