/** The markets by the journal: what an id or a symbol means on the grid, and since when. */
import type { Command } from "../../src/operations/Operations.js"
import type { Family } from "./Asked.js"
import { isListed } from "./MarketRules.js"

/** A market as a request may find it. Its number never changes, and its grid only until it is listed. */
export interface Place {
  readonly index: number
  readonly marketId: string
  readonly symbol: string
  readonly priceScale: number
  readonly quantityScale: number
  /** Whether it has been open: otherwise it is indistinguishable from one that does not exist. */
  readonly listed: boolean
}

/** The number of markets at a moment, those not yet opened, and how often one had been put on another grid. */
export interface Moment {
  readonly markets: number
  readonly unlisted: ReadonlySet<number>
  readonly regridded: number
}

/** What a name may have meant while a request was checked; undefined for no market. */
export type Meanings = ReadonlyArray<Place | undefined>

const nobody: Meanings = [undefined]

export class Markets {
  readonly #all: Array<Place> = []
  /** Ids and symbols are separate: each family has its own names. */
  readonly #byName = { native: new Map<string, number>(), compat: new Map<string, number>() }
  /** The meanings of markets with a single meaning. */
  readonly #settled: Array<Meanings> = []
  #unlisted: ReadonlySet<number> = new Set()
  /** Markets with a former grid, in the order in which they left it. */
  readonly #before: Array<Place> = []

  /** Notes an accepted command. */
  done(command: Command): void {
    if (command.kind === "PutMarket") this.#put(command.parameters)
    else if (command.kind === "SetMarketStatus") {
      const index = command.market
      this.#keep({ ...this.#all[index]!, listed: isListed(command.status) })
    }
  }

  /** The present moment. */
  moment(): Moment {
    return { markets: this.#all.length, unlisted: this.#unlisted, regridded: this.#before.length }
  }

  /** The present market of an id, or on `/v2` of a symbol. */
  find(name: string, family: Family): Place | undefined {
    const index = this.#byName[family].get(name)
    return index === undefined ? undefined : this.#all[index]
  }

  /** Everything that a name may have meant from a moment until now. */
  meanings(name: string, family: Family, since: Moment): Meanings {
    const place = this.find(name, family)
    if (place === undefined) return nobody
    const existed = place.index < since.markets
    if (existed && !since.unlisted.has(place.index)) return this.#settled[place.index]!
    return [
      ...(existed ? [] : [undefined]),
      { ...place, listed: false },
      ...this.#before.slice(since.regridded).filter(({ index }) => index === place.index),
      ...(place.listed ? [place] : [])
    ]
  }

  #put({ baseAsset, marketId, priceScale, quantityScale, quoteAsset, settlementAsset }:
    & {
      readonly [name in "baseAsset" | "marketId" | "quoteAsset" | "settlementAsset"]: string
    }
    & { readonly priceScale: number; readonly quantityScale: number }): void {
    const known = this.find(marketId, "native")
    if (known !== undefined) {
      if (known.priceScale === priceScale && known.quantityScale === quantityScale) return
      this.#before.push(known)
      this.#keep({ ...known, priceScale, quantityScale })
      return
    }
    const index = this.#all.length
    const symbol = `${baseAsset}/${quoteAsset}:${settlementAsset}`
    this.#byName.native.set(marketId, index)
    this.#byName.compat.set(symbol, index)
    this.#keep({ index, marketId, symbol, priceScale, quantityScale, listed: false })
  }

  #keep(place: Place): void {
    this.#all[place.index] = place
    this.#settled[place.index] = [place]
    this.#unlisted = new Set(this.#all.filter(({ listed }) => !listed).map(({ index }) => index))
  }
}
