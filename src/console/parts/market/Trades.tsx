/** The latest trades of a market, newest first. The taker's side is shown by an arrow as well as by colour. */
import type { Feed } from "../../state/market/Feed.js"
import { decimal } from "../../state/Words.js"
import { Moment } from "../Moment.js"

export const Trades = ({ feed }: { readonly feed: Feed }) => (
  <section class="trades" aria-labelledby="trades-title">
    <h2 id="trades-title">Trades</h2>
    {feed.trades.value.length === 0 ? <p class="soft">None yet.</p> : (
      <div role="table" aria-labelledby="trades-title" tabIndex={0}>
        <div role="row" class="trade titles">
          <span role="columnheader">Price</span>
          <span role="columnheader">Size</span>
          <span role="columnheader">Time</span>
        </div>
        {feed.trades.value.map(({ executedAtEpochMs, price, size, takerSide, tradeId }) => (
          <div key={tradeId} role="row" class="trade">
            <span role="rowheader" class={takerSide === "buy" ? "up" : "down"}>
              <span aria-hidden="true">{takerSide === "buy" ? "\u25b2" : "\u25bc"}</span>
              <span class="unseen">{takerSide === "buy" ? "bought at " : "sold at "}</span> {decimal(price)}
            </span>
            <span role="cell">{decimal(size)}</span>
            <span role="cell" class="soft">
              <Moment atEpochMs={executedAtEpochMs} ofDay />
            </span>
          </div>
        ))}
      </div>
    )}
  </section>
)
