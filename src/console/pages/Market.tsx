/** One market: chart, book, trades, the order form, and the account's positions and activity there. */
import { useEffect, useMemo } from "preact/hooks"
import type { Line, Mark } from "../chart/Canvas.js"
import { Announced } from "../parts/market/Announced.js"
import { Book } from "../parts/market/Book.js"
import { Chart } from "../parts/market/Chart.js"
import { Figures, Link } from "../parts/market/Figures.js"
import { History } from "../parts/market/History.js"
import { OrderForm } from "../parts/market/OrderForm.js"
import { Orders } from "../parts/market/Orders.js"
import { Positions } from "../parts/market/Positions.js"
import { Trades } from "../parts/market/Trades.js"
import { Moment } from "../parts/Moment.js"
import { Read, Section } from "../parts/Section.js"
import { Title } from "../parts/Title.js"
import { Trouble } from "../parts/Trouble.js"
import type * as Contract from "../state/Contract.js"
import type { Opened } from "../state/market/Trading.js"
import * as Places from "../state/Places.js"
import type { Store } from "../state/Store.js"
import { decimal, money, words } from "../state/Words.js"

/**
 * Refresh intervals while the page is visible, in milliseconds: for the account, whose figures move with the mark, and for candles that the
 * stream does not carry.
 */
const accountMs = 2_000
const candlesMs = 5_000

/** Most orders and fills drawn on the chart. */
const mostDrawn = 50

const orderLines = (orders: ReadonlyArray<Contract.Order>): ReadonlyArray<Line> =>
  orders.slice(0, mostDrawn).flatMap(({ price, remainingQuantity, side }) =>
    price === undefined
      ? []
      : [{ title: `${words(side)} ${decimal(remainingQuantity)}`, price, colour: side === "buy" ? "up" : "down", isDashed: true }]
  )

const positionLines = (position: Contract.Position | undefined): ReadonlyArray<Line> =>
  position === undefined ? [] : [
    { title: `${words(position.side)} ${decimal(position.quantity)}`, price: position.avgEntryPrice, colour: "accent", isDashed: false },
    ...(position.liquidationPrice === null
      ? []
      : [{ title: "Liquidation", price: position.liquidationPrice, colour: "down" as const, isDashed: false }])
  ]

const triggerLines = (triggers: ReadonlyArray<Contract.TriggerPair>): ReadonlyArray<Line> =>
  triggers.slice(0, mostDrawn).flatMap(({ stopLoss, takeProfit }) => [
    ...(takeProfit === undefined
      ? []
      : [{ title: "Take profit", price: takeProfit.triggerPrice, colour: "up" as const, isDashed: true }]),
    ...(stopLoss === undefined ? [] : [{ title: "Stop loss", price: stopLoss.triggerPrice, colour: "down" as const, isDashed: true }])
  ])

const marksOf = (fills: ReadonlyArray<Contract.Fill>): ReadonlyArray<Mark> =>
  fills.slice(0, mostDrawn).map(({ executedAtEpochMs, side, size }) => ({
    atEpochMs: executedAtEpochMs,
    side,
    text: `${words(side)} ${decimal(size)}`
  }))

interface Props {
  readonly store: Store
  readonly opened: Opened
  readonly market: NonNullable<Opened["feed"]["market"]["value"]>
}

const here = <Row extends { readonly marketId: string }>(rows: ReadonlyArray<Row> | undefined, marketId: string): ReadonlyArray<Row> =>
  (rows ?? []).filter((row) => row.marketId === marketId)

/** The account's orders, position and fills in the market, as last read. */
const useStakes = ({ portfolio, trading }: Store, { histories }: Opened, marketId: string) => {
  const read = {
    orders: portfolio.orders.value.value?.orders,
    positions: portfolio.positions.value.value?.positions,
    triggers: trading.triggers.value.value?.triggers,
    fills: histories.fills.list.value.value?.rows
  }
  const orders = useMemo(() => here(read.orders, marketId), [read.orders, marketId])
  const triggers = useMemo(() => here(read.triggers, marketId), [read.triggers, marketId])
  const lines = useMemo(
    () => [...positionLines(here(read.positions, marketId)[0]), ...triggerLines(triggers), ...orderLines(orders)],
    [read.positions, triggers, orders]
  )
  const marks = useMemo(() => marksOf(read.fills ?? []), [read.fills])
  const own = useMemo(() => new Set(orders.flatMap(({ price }) => price === undefined ? [] : [price])), [orders])
  return { orders, lines, marks, own }
}

const Shown = ({ market, opened, store }: Props) => {
  const { candles, feed, histories } = opened
  const { portfolio, trading } = store
  const { marketId, market: terms } = market
  const { lines, marks, orders, own } = useStakes(store, opened, marketId)
  return (
    <>
      <Figures feed={feed} market={market} />
      <Announced market={terms} />
      <div class="market">
        <Chart marketId={marketId} priceScale={terms.priceScale} candles={candles} lines={lines} marks={marks} />
        <Book feed={feed} priceScale={terms.priceScale} own={own} take={(price) => trading.ticket.enter({ orderType: "limit", price })} />
        <OrderForm feed={feed} ticket={trading.ticket} marketId={marketId} />
        <Trades feed={feed} />
      </div>
      <Section title="Positions">
        <Trouble
          subject="Take-profits and stop-losses"
          failure={trading.triggers.failure.value}
          again={() => void trading.triggers.load()}
        />
        <Read of={portfolio.positions}>
          {({ positions }) => (
            <Positions trading={trading} positions={positions} triggers={trading.triggers.value.value?.triggers ?? []} terms={terms} />
          )}
        </Read>
      </Section>
      <Section title="Open orders">
        <Read of={portfolio.orders}>
          {() => <Orders marketId={marketId} orders={orders} portfolio={portfolio} trading={trading} />}
        </Read>
      </Section>
      <Section title="History">
        <History histories={histories} />
      </Section>
    </>
  )
}

/** When the account was last read: after each change, and at intervals, since its figures move with the mark. */
const AsOf = ({ store: { portfolio } }: { readonly store: Store }) => {
  const readAtEpochMs = portfolio.readAtEpochMs.value
  const balance = portfolio.balance.value.value
  if (readAtEpochMs === undefined) return null
  return (
    <p class="fine">
      {balance !== undefined && `${money(balance.available)} USDC available, `}as of <Moment atEpochMs={readAtEpochMs} ofDay />
    </p>
  )
}

export const MarketPage = ({ store, title }: { readonly store: Store; readonly title: string }) => {
  const { every, place, trading } = store
  const { marketId } = place.value
  useEffect(() => {
    trading.open(marketId)
    const ends = [
      every(accountMs, () => trading.look()),
      every(candlesMs, () => void trading.opened.value?.candles.refresh())
    ]
    return () => {
      for (const end of ends) end()
      trading.leave()
    }
  }, [marketId])
  const held = trading.opened.value
  // Another market's data must not appear under this one's name.
  const opened = held?.feed.marketId === marketId ? held : undefined
  const market = opened?.feed.market.value
  // The order form checks against the market's current terms.
  useEffect(() => {
    if (market !== undefined) trading.ticket.about(market.market)
  }, [market])
  return (
    <>
      <div class="head">
        <Title title={title} />
        {opened !== undefined && <Link feed={opened.feed} />}
        <AsOf store={store} />
        <a href={Places.link("markets")}>All markets</a>
      </div>
      <Trouble failure={opened?.feed.failure.value} />
      {opened !== undefined && market !== undefined
        ? <Shown store={store} opened={opened} market={market} />
        : opened?.feed.failure.value === undefined && <p class="soft" role="status">Loading…</p>}
    </>
  )
}
