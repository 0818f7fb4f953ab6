/**
 * Asking an exchange for many symbols in one request, where one symbol that it no longer has spoils the answer for all. A refused request
 * is split into parts that are asked for separately, over several polls where they are many, until the refused symbols are known. These
 * are left out of the common request and asked for alone, more and more seldom, so that they cost the others nothing.
 *
 * An exchange that refuses everything fails as a whole: nothing here turns that into an answer.
 */

/** The answer to a request for symbols. */
export interface Answered<A> {
  /** What was found of each symbol that the exchange told something of. */
  readonly found: ReadonlyArray<readonly [symbol: string, found: A]>
  /** Symbols that the exchange refuses when it is asked for them alone, each with its latest reason. */
  readonly refused: ReadonlyArray<readonly [symbol: string, reason: string]>
  /** Symbols that were refused together with others, and are still to be asked for separately. */
  readonly open: ReadonlyArray<string>
}

/** How symbols are requested. */
export interface Requests<A> {
  /** Finds symbols in one request. */
  readonly find: (symbols: ReadonlyArray<string>) => Promise<Answered<A>["found"]>
  /** Finds a single symbol. */
  readonly findAlone: (symbol: string) => Promise<Answered<A>["found"]>
  /** Whether a request for so many symbols may have failed for one of them, and not because the exchange fails or wants fewer requests. */
  readonly isOfSymbol: (cause: unknown, symbols: number) => boolean
  /** Most requests of a poll beside the common one, at least two. */
  readonly mostApart: number
}

/** Symbols that were refused: together, or one alone. */
interface Group {
  readonly symbols: ReadonlyArray<string>
  /** How often in a row a symbol alone was refused, why it was last, and when it is asked for again. */
  readonly refusals: number
  readonly reason: string
  readonly againEpochMs: number
}

/** The longest pause before a refused symbol is asked for again, in milliseconds. */
export const longestRestMs = 60_000

/** The longest reason kept, in characters: an exchange's error may be a whole page. */
const reasonLength = 300

/** An error's name and text. */
export const reasonOf = (cause: unknown): string => cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)

/** The pause after so many refusals in a row: until the next poll after the first, since it may have been a single bad answer. */
const restOf = (refusals: number): number => refusals === 1 ? 1 : Math.min(longestRestMs, 1_000 * 2 ** Math.min(refusals - 1, 10))

/** The symbols in so many parts of about the same size, none of them empty. */
const partsOf = (symbols: ReadonlyArray<string>, most: number): ReadonlyArray<ReadonlyArray<string>> => {
  const size = Math.ceil(symbols.length / most)
  return Array.from({ length: Math.ceil(symbols.length / size) }, (_, index) => symbols.slice(index * size, (index + 1) * size))
}

export class Batches<A> {
  private groups: ReadonlyArray<Group> = []
  /** Whether refused symbols are being asked for: that may still go on when the next poll begins, which then does not begin it again. */
  private isSorting = false

  constructor(private readonly requests: Requests<A>) {}

  /** Asks for symbols; fails where none of them was answered, with the reason of the common request. */
  async ask(symbols: ReadonlyArray<string>, nowEpochMs: number): Promise<Answered<A>> {
    this.keep(new Set(symbols))
    const apart = new Set(this.groups.flatMap((group) => group.symbols))
    const together = symbols.filter((symbol) => !apart.has(symbol))
    const common = await this.common(together.length > 0 ? together : symbols, together.length > 0)
    const sorted = this.isSorting ? Promise.resolve([]) : this.sort(nowEpochMs)
    // A refused symbol may be answered late or never. What was answered does not wait for it: a symbol that is back is in the next request.
    const rest = "found" in common ? [] : await sorted
    if ("failure" in common && rest.length === 0) throw common.failure
    return {
      found: [...("found" in common ? common.found : []), ...rest],
      refused: this.groups.flatMap(({ reason, refusals, symbols: [symbol] }) => refusals > 0 ? [[symbol!, reason] as const] : []),
      open: this.groups.flatMap((group) => group.refusals > 0 ? [] : group.symbols)
    }
  }

  /**
   * The request for all symbols that were not refused or, where there are none, for all: an exchange that answers that again has all of
   * them again, and one that does not is seen to fail. It fails here for what is not a symbol's fault.
   */
  private async common(
    symbols: ReadonlyArray<string>,
    isSplit: boolean
  ): Promise<Pick<Answered<A>, "found"> | { readonly failure: unknown }> {
    try {
      const found = await this.requests.find(symbols)
      if (!isSplit) this.groups = []
      return { found }
    } catch (cause) {
      if (!this.requests.isOfSymbol(cause, symbols.length)) throw cause
      // A symbol without others costs nobody anything: it is asked for at each poll.
      if (isSplit && symbols.length > 1) this.groups = [...this.groups, ...this.split(symbols)]
      return { failure: cause }
    }
  }

  /**
   * Asks for refused symbols whose time has come, group by group, until nothing is due or this poll has made all of its requests. Never
   * fails.
   */
  private async sort(nowEpochMs: number): Promise<Answered<A>["found"]> {
    const found: Array<Answered<A>["found"][number]> = []
    this.isSorting = true
    try {
      for (let left = this.requests.mostApart; left > 0; left--) {
        // A time too far ahead was set before the clock was set back.
        const group = this.groups.find(({ againEpochMs: at }) => at <= nowEpochMs || at > nowEpochMs + longestRestMs)
        if (group === undefined) break
        try {
          found.push(...await this.findGroup(group.symbols))
          this.replace(group, [])
        } catch (cause) {
          // An exchange that fails, or wants fewer requests, is asked for nothing else in this poll.
          if (!this.requests.isOfSymbol(cause, group.symbols.length)) break
          this.replace(group, group.symbols.length > 1 ? this.split(group.symbols) : [again(group, reasonOf(cause), nowEpochMs)])
        }
      }
    } finally {
      this.isSorting = false
    }
    return found
  }

  private findGroup(symbols: ReadonlyArray<string>): Promise<Answered<A>["found"]> {
    return symbols.length > 1 ? this.requests.find(symbols) : this.requests.findAlone(symbols[0]!)
  }

  private split(symbols: ReadonlyArray<string>): ReadonlyArray<Group> {
    return partsOf(symbols, this.requests.mostApart).map((part) => ({ symbols: part, refusals: 0, reason: "", againEpochMs: 0 }))
  }

  /** Puts what a group has become behind the others, so that each has its turn. A group that has been dropped meanwhile becomes nothing. */
  private replace(group: Group, by: ReadonlyArray<Group>): void {
    if (this.groups.includes(group)) this.groups = [...this.groups.filter((each) => each !== group), ...by]
  }

  /** Forgets symbols that are no longer asked for. */
  private keep(asked: ReadonlySet<string>): void {
    if (this.groups.every((group) => group.symbols.every((symbol) => asked.has(symbol)))) return
    this.groups = this.groups
      .map((group) => ({ ...group, symbols: group.symbols.filter((symbol) => asked.has(symbol)) }))
      .filter((group) => group.symbols.length > 0)
  }
}

/** The group of a single symbol that was refused once more. */
const again = (group: Group, reason: string, nowEpochMs: number): Group => {
  const refusals = group.refusals + 1
  return { ...group, refusals, reason: reason.slice(0, reasonLength), againEpochMs: nowEpochMs + restOf(refusals) }
}
