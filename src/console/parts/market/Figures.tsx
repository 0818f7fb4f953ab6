/** A market at a glance: its prices, funding and session, and the state of the connection. */
import type * as Contract from "../../../client/venue/Contract.js"
import type { Feed } from "../../state/market/Feed.js"
import { funding, percent } from "../../state/market/Decimals.js"
import { direction, money, price, words } from "../../state/Words.js"
import { Delisting } from "../Delisting.js"
import { Moment } from "../Moment.js"

/** The state of the connection; announced when it changes, which is rare. */
export const Link = ({ feed }: { readonly feed: Feed }) => {
  const link = feed.link.value
  return (
    <p role="status" class={`link ${link.kind}`}>
      {link.kind === "live" && "Live"}
      {link.kind === "connecting" && "Connecting…"}
      {link.kind === "lost" && (
        <>
          Reconnecting since <Moment atEpochMs={link.sinceEpochMs} ofDay />: prices are as they were then
        </>
      )}
    </p>
  )
}

const statusOf = ({ marketSession, status }: Contract.MarketSnapshot): string =>
  status !== "open"
    ? words(status)
    : marketSession.state === "open"
    ? "Open"
    : `Session: ${words(marketSession.state)}`

const Session = ({ market }: { readonly market: Contract.MarketSnapshot }) => {
  const { nextCloseEpochMs, nextOpenEpochMs, state } = market.marketSession
  const next = state === "closed" ? nextOpenEpochMs : nextCloseEpochMs
  return (
    <>
      {statusOf(market)}
      {next > 0 && (
        <span class="fine">
          {" "}
          {state === "closed" ? "opens" : "closes"} <Moment atEpochMs={next} />
        </span>
      )}
      <Delisting market={market.market} />
    </>
  )
}

export const Figures = ({ feed, market }: { readonly feed: Feed; readonly market: Contract.MarketSnapshot }) => {
  const stats = feed.stats.value
  const data = stats?.marketData
  return (
    <dl class="figures compact">
      <div>
        <dt>Mark</dt>
        <dd>{price(data?.markPrice)}</dd>
      </div>
      <div>
        <dt>Index</dt>
        <dd>
          {price(data?.indexPrice)}
          {data?.stale === true && <span class="state">stale</span>}
        </dd>
      </div>
      <div>
        <dt>Last</dt>
        <dd>{price(stats?.lastPrice)}</dd>
      </div>
      <div>
        <dt>24 hours</dt>
        <dd>
          {stats === undefined ? "\u2013" : <span class={direction(stats.change24hBps)}>{percent(stats.change24hBps, 4, 2)}</span>}
        </dd>
      </div>
      <div>
        <dt>Volume, 24 h</dt>
        <dd>{stats === undefined ? "\u2013" : money(stats.volume24hQuote)}</dd>
      </div>
      <div>
        <dt>Funding, 8 h</dt>
        <dd>
          {stats === undefined ? "\u2013" : (
            <>
              {funding(stats)} {stats.nextFundingTimeEpochMs > 0 && (
                <span class="fine">
                  at <Moment atEpochMs={stats.nextFundingTimeEpochMs} ofDay />
                </span>
              )}
            </>
          )}
        </dd>
      </div>
      <div>
        <dt>Status</dt>
        <dd>
          <Session market={market} />
        </dd>
      </div>
    </dl>
  )
}
