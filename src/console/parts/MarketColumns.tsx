/** The table columns that describe a market among others. */
import { funding, percent } from "../state/market/Decimals.js"
import type { Quoted } from "../state/Markets.js"
import * as Places from "../state/Places.js"
import { direction, money, price, words } from "../state/Words.js"
import { Delisting } from "./Delisting.js"
import type { Column } from "./Table.js"

const missing = <span class="soft">–</span>

export const ofMarket: ReadonlyArray<Column<Quoted>> = [
  {
    title: "Market",
    isName: true,
    cell: ({ market: { marketId } }) => <a href={Places.link("market", marketId)}>{marketId}</a>
  },
  { title: "Mark", isNumber: true, cell: ({ stats }) => price(stats?.marketData.markPrice) },
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
    cell: ({ market: { market, marketSession, status }, stats }) => (
      <>
        <span class={status === "open" && marketSession.state === "open" ? "state active" : "state"}>
          {status === "open" ? words(marketSession.state) : words(status)}
        </span>
        {stats?.marketData.stale === true && <span class="state">Index stale</span>}
        <Delisting market={market} />
      </>
    )
  }
]
