/** The routes that are Effects: reads, operator commands and the venue's own state. */
import * as Effect from "effect/Effect"
import * as Command from "../operations/Operations.js"
import { assert } from "../domain/Assert.js"
import * as Ids from "../domain/Ids.js"
import * as Market from "../domain/Market.js"
import * as Order from "../domain/Order.js"
import type { Outcome } from "../operations/Operations.js"
import { Refusal } from "../domain/Refusal.js"
import * as Units from "../domain/Units.js"
import type { ApiKeyView, Fill, MarketView, OrderPage, OrderView } from "../engine/Reads.js"
import * as ApiKeys from "../identity/ApiKeys.js"
import type { Services } from "./Call.js"
import type { PutMarketBody } from "./contract/Operator.js"
import { identityFault } from "./contract/Safety.js"
import * as Contract from "./Contract.js"
import * as Cursor from "./Cursor.js"
import * as Docs from "./Docs.js"
import * as Encode from "./Encode.js"
import * as Errors from "./Errors.js"
import { Rendered } from "./Executor.js"
import type { Caller, Handlers } from "./Executor.js"
import type * as HotRoutes from "./HotRoutes.js"
import type { Readiness } from "./Readiness.js"
import type * as Context from "effect/Context"
import * as Outcomes from "./Outcomes.js"
import * as Stats from "./Stats.js"
import * as Trades from "./Trades.js"
import * as Views from "./Views.js"

/** Endpoints that are not hot. */
export type Name = Exclude<Contract.Name, HotRoutes.Name>

const defaultDemoAccounts = 2
const defaultDemoCollateralAtoms = 1_000_000 * 10 ** Units.moneyScale
const defaultBookDepth = 100
const defaultPage = 50
const defaultCompatLimit = 100
const defaultPriceBandBps = 1000

const keyOf = (caller: Caller): ApiKeyView => {
  assert(caller.key !== undefined, "the executor lets nobody in without a key here")
  return caller.key
}

/** How long ago the index of any open market was last seen, for the one that is oldest; -1 without such markets. */
const oldestIndexAgeMs = ({ now, state }: Services): number => {
  let oldest = -1
  for (let index = 0; index < state.marketCount; index++) {
    const market = state.market(index)
    if (market.status === "open") oldest = Math.max(oldest, now() - market.indexSourceEpochMs)
  }
  return oldest
}

const fail = (failure: Errors.Failure): Effect.Effect<never, Errors.Failure> => Effect.fail(failure)

/** A body that is made here as its schema says: tests decode every one with it. */
const json = (value: object): Effect.Effect<Rendered> => Effect.succeed(new Rendered(JSON.stringify(value)))

const limitOf = (text: string | undefined, otherwise: number): number => text === undefined ? otherwise : Number(text)

/** Makes a text when it is first asked for, and keeps it. */
const once = (make: () => string): () => string => {
  let made: string | undefined
  return () => made ??= make()
}

const statusCode = (name: (typeof Order.statuses)[number] | undefined): Order.Status | undefined =>
  name === undefined ? undefined : Order.statuses.indexOf(name) as Order.Status

/** The first or the last `limit` of a list. */
const firstOrLast = <A>(list: ReadonlyArray<A>, first: boolean, limit: number): ReadonlyArray<A> =>
  first ? list.slice(0, limit) : list.slice(-limit)

/** At most `limit` of the fills that were read (one more than that, if there are so many), and where the next page begins. */
const page = <Name extends "fills" | "trades", A>(
  name: Name,
  limit: number,
  fills: ReadonlyArray<Fill>,
  view: (fill: Fill) => A
): { readonly [key in Name]: ReadonlyArray<A> } & { readonly nextCursor: string | null } => {
  const shown = fills.slice(0, limit)
  const nextCursor = fills.length > limit ? Cursor.encode(name, shown[limit - 1]!.ordinal) : null
  return { [name]: shown.map(view), nextCursor } as { readonly [key in Name]: ReadonlyArray<A> } & { nextCursor: string | null }
}

/** Market parameters of an operator's body; a sentence where it cannot be said in atoms. */
const parameters = (marketId: string, body: PutMarketBody): Market.Parameters | string => {
  const assets = /^([A-Z0-9]{1,12})-([A-Z0-9]{1,12})-PERP$/.exec(marketId)
  if (assets === null) return "marketId must be BASE-QUOTE-PERP"
  const price = (text: string) => Units.parseDecimal(text, body.priceScale)
  const quantity = (text: string) => Units.parseDecimal(text, body.quantityScale)
  const minPriceAtoms = price(body.minPrice)
  const maxPriceAtoms = price(body.maxPrice)
  const minQuantityAtoms = quantity(body.minQuantity)
  const maxQuantityAtoms = quantity(body.maxQuantity)
  const maxPositionQuantityAtoms = quantity(body.maxPositionQuantity)
  if (typeof minPriceAtoms === "string" || typeof maxPriceAtoms === "string") return "minPrice and maxPrice must fit priceScale"
  if (
    typeof minQuantityAtoms === "string"
    || typeof maxQuantityAtoms === "string"
    || typeof maxPositionQuantityAtoms === "string"
  ) {
    return "minQuantity, maxQuantity and maxPositionQuantity must fit quantityScale"
  }
  const tiers = body.maintenanceMarginTiers.map((tier) => ({
    notionalThresholdAtoms: Number(tier.notionalThresholdAtoms),
    maintenanceMarginBps: tier.maintenanceMarginBps
  }))
  if (tiers.length > 16 || !tiers.every((tier) => Number.isSafeInteger(tier.notionalThresholdAtoms))) {
    return "there may be at most 16 maintenance tiers, below 2^53 atoms"
  }
  const market: Market.Parameters = {
    marketId,
    baseAsset: assets[1]!,
    quoteAsset: assets[2]!,
    settlementAsset: "USDC",
    underlyingSymbol: body.underlyingSymbol,
    marketType: body.marketType,
    logoUrl: body.logoUrl ?? "",
    priceScale: body.priceScale,
    quantityScale: body.quantityScale,
    minPriceAtoms,
    maxPriceAtoms,
    minQuantityAtoms,
    maxQuantityAtoms,
    maxPositionQuantityAtoms,
    initialMarginBps: body.initialMarginBps,
    maintenanceMarginTiers: tiers,
    maxLeverageX: body.maxLeverageX,
    makerFeeBps: body.makerFeeBps,
    takerFeeBps: body.takerFeeBps,
    priceBandBps: body.priceBandBps ?? defaultPriceBandBps
  }
  if (market.makerFeeBps > 1000 || market.takerFeeBps > 1000) return "fees must be at most 1000 bps"
  if (market.maxLeverageX < 1 || market.maxLeverageX > 1000) return "maxLeverageX must be 1..1000"
  if (market.priceBandBps < 1 || market.priceBandBps > 9999) return "priceBandBps must be 1..9999"
  return Market.fault(market) ?? market
}

/** Every handler, over one venue's services. */
export const make = (services: Services, readiness: Context.Tag.Service<Readiness>): Handlers<Name> => {
  const { state } = services
  const views = Views.make(state)
  const openApi = once(() => JSON.stringify(Contract.openApi()))
  const docs = once(Docs.page)

  /** `market` is the one that a refusal's prices speak of. */
  const submit = (command: Command.Command, market?: Market.Parameters): Effect.Effect<Outcome, Errors.Failure> =>
    Effect.async<Outcome, Errors.Failure>((resume) => {
      services.submit(command, (outcome) => {
        const decided = outcome.entries.find((entry) => entry.refusal !== Refusal.none)
        resume(
          outcome.refusal !== Refusal.none
            ? fail(Errors.refused(outcome.refusal))
            : decided !== undefined
            ? fail({
              ...Errors.refused(decided.refusal, Errors.comparisonOf(decided, market)),
              decidedAtEpochMs: outcome.atEpochMs
            })
            : Effect.succeed(outcome)
        )
      })
    })

  /** The market that a price is set in. */
  const marketOf = (command: Command.Command): Market.Parameters | undefined =>
    command.kind === "SetIndexPrice" ? state.market(command.market).parameters : undefined

  const operated = (
    operation: "put_market" | "set_market_status" | "set_index_price" | "halt_engine" | "resume_engine",
    command: Command.Command & { readonly idempotencyKey: string },
    marketId?: string
  ) =>
    Effect.map(submit(command, marketOf(command)), (outcome) => ({
      version: "operator-result/v1" as const,
      operation,
      idempotencyKey: command.idempotencyKey,
      ...(marketId === undefined ? undefined : { marketId }),
      sequence: outcome.sequence,
      decidedAtEpochMs: outcome.atEpochMs
    }))

  /** The account of a path, if it is the key's. */
  const withAccount = <A>(caller: Caller, accountId: string, then: (account: number) => Effect.Effect<A, Errors.Failure>) => {
    const { account } = keyOf(caller)
    return state.accountId(account) === accountId ? then(account) : fail(Errors.accountNotFound)
  }

  const withMarket = <A>(index: number, then: (view: MarketView) => Effect.Effect<A, Errors.Failure>) => {
    const view = Views.listedMarket(state, index)
    return view === undefined ? fail(Errors.refused(Refusal.marketNotFound)) : then(view)
  }

  const withOrder = <A>(
    caller: Caller,
    orderId: string,
    then: (view: OrderView, accountId: string) => Effect.Effect<A, Errors.Failure>
  ) => {
    const { account } = keyOf(caller)
    const orderNumber = Ids.parseOrderId(orderId)
    const view = orderNumber === undefined ? undefined : state.findOrder(account, orderNumber)
    return view === undefined ? fail(Errors.orderUnknown) : then(view, state.accountId(account))
  }

  const findMarket = (marketId: string): number => state.findMarket(marketId)
  const findSymbol = (symbol: string): number => state.findSymbol(symbol)

  /** A listing's market, if it names one that the public may see: -1 for all. */
  const withFilter = <A>(
    named: string | undefined,
    find: (name: string) => number,
    then: (market: number) => Effect.Effect<A, Errors.Failure>
  ) => named === undefined ? then(-1) : withMarket(find(named), (view) => then(view.index))

  /** Where a page begins, an exclusive bound; a failure for a cursor that this listing did not give. */
  const withCursor = <A>(kind: Cursor.Kind, text: string | undefined, then: (before: number) => Effect.Effect<A, Errors.Failure>) => {
    const before = text === undefined ? Number.POSITIVE_INFINITY : Cursor.decode(kind, text)
    return before === undefined ? fail(Errors.staleCursor) : then(before)
  }

  /** A page of open orders, newest first: they are few, whatever else the account has had. */
  const openPage = (account: number, market: number, before: number, limit: number): OrderPage => {
    const older = state.openOrders(account, market).filter((view) => view.orderNumber < before).reverse()
    return { orders: older.slice(0, limit), nextBefore: older.length > limit ? older[limit - 1]!.orderNumber : undefined }
  }

  const parametersOf = (market: number): Market.Parameters => state.market(market).parameters

  const compatOrderText = (accountId: string, view: OrderView): string => {
    const market = parametersOf(view.market)
    return Encode.compatOrder(Market.symbol(market), accountId, market, view)
  }

  return {
    getOrder: ({ caller, path }) =>
      withOrder(caller, path.orderId, (view, accountId) =>
        Effect.succeed(new Rendered(Encode.order(accountId, state.market(view.market).parameters, view)))),

    getCompatOrder: ({ caller, path, urlParams }) =>
      withOrder(caller, path.orderId, (view, accountId) => {
        const market = state.market(view.market).parameters
        const symbol = Market.symbol(market)
        if (urlParams.symbol !== undefined && urlParams.symbol !== symbol) return fail(Errors.orderUnknown)
        return Effect.succeed(new Rendered(compatOrderText(accountId, view)))
      }),

    listCompatOrders: ({ caller, urlParams }) =>
      withFilter(urlParams.symbol, findSymbol, (market) => {
        const { account } = keyOf(caller)
        const status = statusCode(urlParams.status)
        const since = urlParams.since === undefined ? undefined : Number(urlParams.since)
        const limit = limitOf(urlParams.limit, defaultCompatLimit)
        const views = status === Order.open
          ? firstOrLast(
            state.openOrders(account, market).filter((view) => view.createdAtEpochMs >= (since ?? 0)),
            since !== undefined,
            limit
          )
          : state.ordersSince(account, { market, status }, since, limit)
        if (views === undefined) return fail(Errors.tooManyOrders)
        const accountId = state.accountId(account)
        return Effect.succeed(new Rendered(`[${views.map((view) => compatOrderText(accountId, view)).join(",")}]`))
      }),

    listCompatOwnTrades: ({ caller, urlParams }) =>
      withFilter(urlParams.symbol, findSymbol, (market) => {
        const { account } = keyOf(caller)
        const limit = limitOf(urlParams.limit, defaultCompatLimit)
        const fills = urlParams.since === undefined
          ? [...state.fills(account, market, Number.POSITIVE_INFINITY, limit)].reverse()
          : state.fillsSince(account, market, Number(urlParams.since), limit)
        const accountId = state.accountId(account)
        return json(fills.map((fill) => Trades.compatOwnTrade(parametersOf(fill.market), accountId, account, fill)))
      }),

    listCompatPositions: ({ caller, urlParams }) =>
      withFilter(urlParams.symbol, findSymbol, (market) =>
        json(
          state.positions(keyOf(caller).account)
            .filter((view) => market < 0 || view.market === market)
            .map((view) => Views.compatPosition(parametersOf(view.market), view, state.atEpochMs))
        )),

    getCompatBalance: ({ caller }) => json(Views.compatBalance(state, keyOf(caller).account)),

    listCompatTrades: ({ path, urlParams }) =>
      withMarket(state.findSymbol(path.symbol), ({ index, parameters: market }) => {
        const limit = limitOf(urlParams.limit, defaultCompatLimit)
        const fills = urlParams.since === undefined
          ? [...state.trades(index, Number.POSITIVE_INFINITY, limit)].reverse()
          : state.tradesSince(index, Number(urlParams.since), limit)
        return json(fills.map((fill) => Trades.compatTrade(market, fill)))
      }),

    getCompatStats: ({ path }) =>
      withMarket(state.findSymbol(path.symbol), (view) => json(Stats.compatStats(view, state.stats(view.index), state.atEpochMs))),

    getCompatTicker: ({ path }) =>
      withMarket(state.findSymbol(path.symbol), (view) =>
        json(Stats.compatTicker(view, state.stats(view.index), state.book(view.index, 1), state.atEpochMs))),

    getCompatTime: () => {
      const timestamp = services.now()
      return json({ timestamp, datetime: Errors.isoTime(timestamp) })
    },

    listFills: ({ caller, path, urlParams }) =>
      withAccount(caller, path.accountId, (account) =>
        withFilter(urlParams.marketId, findMarket, (market) =>
          withCursor("fills", urlParams.cursor, (before) => {
            const fills = state.fills(account, market, before, limitOf(urlParams.limit, defaultPage) + 1)
            return json({
              version: "external-fill-list/v1",
              accountId: path.accountId,
              ...page("fills", limitOf(urlParams.limit, defaultPage), fills, (fill) =>
                Trades.ownFill(parametersOf(fill.market), path.accountId, account, fill))
            })
          }))),

    listTrades: ({ path, urlParams }) =>
      withMarket(state.findMarket(path.marketId), ({ index, parameters: market }) =>
        withCursor("trades", urlParams.cursor, (before) => {
          const fills = state.trades(index, before, limitOf(urlParams.limit, defaultPage) + 1)
          return json({
            version: "external-market-trades/v1",
            marketId: path.marketId,
            ...page("trades", limitOf(urlParams.limit, defaultPage), fills, (fill) => Trades.trade(market, fill))
          })
        })),

    getStats: ({ path }) =>
      withMarket(state.findMarket(path.marketId), (view) => json(Stats.stats(view, state.stats(view.index), state.atEpochMs))),

    getBalance: ({ caller, path }) =>
      withAccount(caller, path.accountId, (account) => Effect.succeed(Views.balance(state, account))),

    listPositions: ({ caller, path }) =>
      withAccount(caller, path.accountId, (account) =>
        Effect.succeed({
          version: "external-position-list/v1" as const,
          accountId: path.accountId,
          positions: state.positions(account).map((view) => Views.position(state.market(view.market).parameters, view)),
          journalSequence: state.sequence
        })),

    listOrders: ({ caller, path, urlParams }) =>
      withAccount(caller, path.accountId, (account) =>
        withFilter(urlParams.marketId, findMarket, (market) =>
          withCursor("orders", urlParams.cursor, (before) => {
            // The engine goes on from an order that it knows: to look for another one's place would cost a walk.
            if (before !== Number.POSITIVE_INFINITY && state.findOrder(account, before) === undefined) return fail(Errors.staleCursor)
            const status = statusCode(urlParams.status)
            const limit = limitOf(urlParams.limit, defaultPage)
            const { nextBefore, orders } = status === Order.open
              ? openPage(account, market, before, limit)
              : state.orders(account, { market, status }, before, limit)
            const texts = orders.map((view) => Encode.order(path.accountId, parametersOf(view.market), view))
            const nextCursor = nextBefore === undefined ? "null" : `"${Cursor.encode("orders", nextBefore)}"`
            return Effect.succeed(new Rendered(
              `{"version":"external-order-list/v1","accountId":${Encode.quote(path.accountId)}`
                + `,"orders":[${texts.join(",")}],"nextCursor":${nextCursor}}`
            ))
          }))),

    getCancelAllAfter: ({ caller, path }) =>
      withAccount(caller, path.accountId, (account) => {
        const cancelAtEpochMs = state.cancelAllAtEpochMs(account)
        return json({
          version: "external-cancel-all-after-state/v1",
          accountId: path.accountId,
          armed: cancelAtEpochMs !== 0,
          cancelAtEpochMs: cancelAtEpochMs === 0 ? null : cancelAtEpochMs,
          journalSequence: state.sequence
        })
      }),

    lookUpOutcome: ({ caller, path, urlParams }) =>
      withAccount(caller, path.accountId, (account) => {
        const { clientOrderId, idempotencyKey } = urlParams
        const fault = identityFault(urlParams)
        if (fault !== undefined) return fail(Errors.invalidRequest(`${fault.field}: ${fault.message}.`))
        return Effect.succeed(new Rendered(
          idempotencyKey !== undefined
            ? Outcomes.ofKey(state, account, path.accountId, idempotencyKey)
            : Outcomes.ofClientOrder(state, account, path.accountId, clientOrderId!)
        ))
      }),

    getCurrentApiKey: ({ caller }) =>
      Effect.succeed({ version: "api-key-current/v1" as const, key: Views.apiKey(state, keyOf(caller), services.now()) }),

    listMarkets: () =>
      Effect.succeed({ version: "external-market-list/v1" as const, markets: Views.listedMarkets(state).map(views.market) }),

    getMarket: ({ path }) => withMarket(state.findMarket(path.marketId), (view) => Effect.succeed(views.market(view))),

    getBook: ({ path }) => withMarket(state.findMarket(path.marketId), (view) => Effect.succeed(new Rendered(views.book(view)))),

    listCompatMarkets: () => Effect.succeed(Views.listedMarkets(state).map(views.compatMarket)),

    getCompatBook: ({ path, urlParams }) =>
      withMarket(state.findSymbol(path.symbol), (view) => {
        const depth = urlParams.limit === undefined ? defaultBookDepth : Number(urlParams.limit)
        return Effect.succeed(new Rendered(views.compatBook(view, depth)))
      }),

    putMarket: ({ headers, path, payload }) => {
      const market = parameters(path.marketId, payload)
      return typeof market === "string"
        ? fail(Errors.invalidRequest(`${market}.`))
        : operated(
          "put_market",
          { kind: "PutMarket", idempotencyKey: headers["idempotency-key"], parameters: market },
          path.marketId
        )
    },

    setMarketStatus: ({ headers, path, payload }) => {
      const market = state.findMarket(path.marketId)
      if (market < 0) return fail(Errors.refused(Refusal.marketUnknown))
      return operated(
        "set_market_status",
        { kind: "SetMarketStatus", idempotencyKey: headers["idempotency-key"], market, status: payload.status },
        path.marketId
      )
    },

    setIndexPrice: ({ headers, path, payload }) => {
      if (!services.acceptsIndexPrices) return fail(Errors.operationNotAvailable("Index prices do not come from operators here."))
      const market = state.findMarket(path.marketId)
      if (market < 0) return fail(Errors.refused(Refusal.marketUnknown))
      const priceAtoms = Units.parseDecimal(payload.price, state.market(market).parameters.priceScale)
      if (typeof priceAtoms === "string") return fail(Errors.refused(Refusal.indexPriceInvalid))
      return operated("set_index_price", {
        kind: "SetIndexPrice",
        idempotencyKey: headers["idempotency-key"],
        market,
        priceAtoms,
        sourceEpochMs: payload.sourceEpochMs ?? 0
      }, path.marketId)
    },

    haltEngine: ({ headers }) =>
      operated("halt_engine", { kind: "HaltEngine", idempotencyKey: headers["idempotency-key"] }),

    resumeEngine: ({ headers }) =>
      operated("resume_engine", { kind: "ResumeEngine", idempotencyKey: headers["idempotency-key"] }),

    openDemoAccounts: ({ headers, payload }) => {
      if (services.environment !== "development") return fail(Errors.routeNotFound)
      const collateralAtoms = payload.collateral === undefined
        ? defaultDemoCollateralAtoms
        : Units.parseDecimal(payload.collateral, Units.moneyScale)
      if (typeof collateralAtoms === "string") {
        return fail(Errors.invalidRequest("collateral: must be USDC with at most 6 decimals."))
      }
      const idempotencyKey = headers["idempotency-key"]
      const keys = Array.from(
        { length: payload.accounts ?? defaultDemoAccounts },
        (_, index) =>
          ApiKeys.deriveDemoKey(
            services.signerSecret,
            services.environment,
            idempotencyKey,
            index,
            Command.scopeRead | Command.scopeTrade
          )
      )
      const command: Command.OpenDemoAccounts = {
        kind: "OpenDemoAccounts",
        idempotencyKey,
        collateralAtoms,
        keys: keys.map((key) => key.grant)
      }
      return Effect.map(submit(command), (outcome) => {
        assert(outcome.entries.length === keys.length, "every demo account has an outcome")
        return {
          version: "demo-accounts/v1" as const,
          accounts: keys.map((key, index) => ({
            accountId: state.accountId(outcome.entries[index]!.orderNumber),
            apiKey: key.text
          })),
          sequence: outcome.sequence,
          decidedAtEpochMs: outcome.atEpochMs
        }
      })
    },

    getHealth: () => Effect.succeed({ version: "health/v1" as const, status: "up" as const }),

    getReadiness: () => {
      const payload = {
        version: "readiness/v1" as const,
        status: readiness.state(),
        durableSequence: services.barrier.durableSequence(),
        details: { ...readiness.details(), oldestIndexAgeMs: oldestIndexAgeMs(services) }
      }
      return Effect.succeed(new Rendered(JSON.stringify(payload), payload.status === "ready" ? 200 : 503))
    },

    getMetrics: () => services.metrics.render,

    getOpenApi: () => Effect.succeed(new Rendered(openApi())),

    getDocs: () => Effect.succeed(new Rendered(docs(), 200, Docs.headers))
  }
}
