/** All markets: mark, change, funding and status of each, with a link to its page. */
import { useEffect } from "preact/hooks"
import { ofMarket } from "../parts/MarketColumns.js"
import { Read } from "../parts/Section.js"
import { Table } from "../parts/Table.js"
import { Title } from "../parts/Title.js"
import { Trouble } from "../parts/Trouble.js"
import { intervalMs } from "../state/Markets.js"
import type { Store } from "../state/Store.js"

export const MarketsPage = ({ store: { every, markets }, title }: { readonly store: Store; readonly title: string }) => {
  useEffect(() => {
    void markets.begin()
    return every(intervalMs, () => void markets.refresh())
  }, [])
  return (
    <>
      <Title title={title} />
      <Trouble subject="Figures" failure={markets.failure.value} />
      <Read of={markets.list}>
        {(shown) => (
          <Table
            label="Markets"
            columns={ofMarket}
            rows={shown.markets}
            keyOf={({ market }) => market.marketId}
            empty="The venue lists no market yet."
          />
        )}
      </Read>
    </>
  )
}
