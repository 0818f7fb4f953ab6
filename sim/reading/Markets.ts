/** The markets there are, as the journal tells of them: what an id or a symbol means on the grid, and since when. */
import type { Command } from "../../src/operations/Operations.js"
import type { Family } from "./Asked.js"
import { isListed } from "./MarketRules.js"

/** A market as a request may meet it. Its number never changes, and its grid only until it is listed. */
export interface Place {
  readonly index: number
  readonly marketId: string
  readonly symbol: string
  readonly priceScale: number
  readonly quantityScale: number
  /** Whether it is told from one that does not exist: it has been open. */
  readonly listed: boolean
}

/** How many markets there were at a moment, which had not been open yet, and how often one had been put on another grid. */
export interface Moment {
  readonly markets: number
  readonly unlisted: ReadonlySet<number>
  readonly regridded: number
}

/** What a name may have meant while a request was looked at; undefined for no market. */
export type Meanings = ReadonlyArray<Place | undefined>

const nobody: Meanings = [undefined]

export class Markets {
  readonly #all: Array<Place> = []
  /** An id is no symbol, and a symbol no id: each family has names of its own. */
  readonly #byName = { native: new Map<string, number>(), compat: new Map<string, number>() }
  /** The meanings of markets that mean one thing. */
  readonly #settled: Array<Meanings> = []
  #unlisted: ReadonlySet<number> = new Set()
  /** Markets as they were on a grid that they have left, in the order in which they left it. */
  readonly #before: Array<Place> = []

  /** Takes note of a command that was done. */
  done(command: Command): void {
    if (command.kind === "PutMarket") this.#put(command.parameters)
    else if (command.kind === "SetMarketStatus") {
      const index = command.market
      this.#keep({ ...this.#all[index]!, listed: isListed(command.status) })
    }
  }

  /** What there is now. */
  moment(): Moment {
    return { markets: this.#all.length, unlisted: this.#unlisted, regridded: this.#before.length }
  }

  /** The market of an id, or on `/v2` of a symbol, as it is now. */
  find(name: string, family: Family): Place | undefined {
    const index = this.#byName[family].get(name)
    return index === undefined ? undefined : this.#all[index]
  }

  /** What a name may have meant at any time from a moment on until now. */
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
