/**
 * Asking an exchange for many symbols in one request, where one symbol that it no longer has spoils the answer for all. A refused request
 * is split into parts that are asked for separately, over several polls where they are many, until the refused symbols are known. These
 * are left out of the common request and asked for alone, more and more seldom, so that they cost the others nothing.
 *
 * Exchanges do not always say what a request failed for: for a pair that is gone some answer as if they were down. Such a failure is taken
 * for a symbol's where the exchange answers other requests of the same poll, and for the exchange's where it does not. An exchange that
 * refuses everything fails as a whole: nothing here turns that into an answer.
 */

/** The answer to a request for symbols. */
export interface Answered<A> {
  /** What was found of each symbol that the exchange told something of. */
  readonly found: ReadonlyArray<readonly [symbol: string, found: A]>
  /** Symbols that the exchange refuses alone, or fails for while it answers others, each with its latest reason. */
  readonly refused: ReadonlyArray<readonly [symbol: string, reason: string]>
  /** Symbols that were refused together with others, and are still to be asked for separately. */
  readonly open: ReadonlyArray<string>
}

/**
 * What a request failed for: a symbol in it, as far as the answer tells; too many requests; or what may be a symbol or the exchange, as an
 * error of the exchange's server, or no answer in time.
 */
export type Fault = "symbol" | "haste" | "unclear"

/** How symbols are requested. */
export interface Requests<A> {
  /** Finds symbols in one request. */
  readonly find: (symbols: ReadonlyArray<string>) => Promise<Answered<A>["found"]>
  /** Finds a single symbol. */
  readonly findAlone: (symbol: string) => Promise<Answered<A>["found"]>
  /** What a request for so many symbols failed for. */
  readonly faultOf: (cause: unknown, symbols: number) => Fault
  /** Most requests of a poll beside the common one, at least two. */
  readonly mostApart: number
  /**
   * For how long a poll begins further requests, in milliseconds, apart from the first one; their answers are waited for twice as long. The
   * requests of a poll wait for each other, and what is answered too late is lost.
   */
  readonly apartMs: number
  /** Resolves after so many milliseconds. */
  readonly after: (millis: number) => Promise<void>
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

/** An error's name and text, shortened. */
export const reasonOf = (cause: unknown): string =>
  (cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)).slice(0, reasonLength)

/** The pause after so many refusals in a row: until the next poll after the first, since it may have been a single bad answer. */
const restOf = (refusals: number): number => refusals === 1 ? 1 : Math.min(longestRestMs, 1_000 * 2 ** Math.min(refusals - 1, 10))

/** The symbols in so many parts of about the same size, none of them empty. */
const partsOf = (symbols: ReadonlyArray<string>, most: number): ReadonlyArray<ReadonlyArray<string>> => {
  const size = Math.ceil(symbols.length / most)
  return Array.from({ length: Math.ceil(symbols.length / size) }, (_, index) => symbols.slice(index * size, (index + 1) * size))
}

/** A poll's requests beside the common one. */
interface Apart<A> {
  readonly nowEpochMs: number
  readonly found: Array<Answered<A>["found"][number]>
  /** Whether the exchange has answered anything in this poll. */
  answers: boolean
  /** Whether the exchange may refuse everything, or be down: then it is asked for nothing else in this poll until it answers something. */
  readonly isDoubtful: boolean
  /** Set when no more requests are begun, and resolved when their answers are no longer waited for. */
  isLate: boolean
  readonly over: Promise<"late">
}

/** The common request: what was found, or why it failed, and the parts into which its symbols may be split. */
interface Common<A> {
  readonly found: Answered<A>["found"]
  readonly failure?: { readonly cause: unknown; readonly fault: Fault; readonly parts: ReadonlyArray<Group> }
}

export class Batches<A> {
  private groups: ReadonlyArray<Group> = []
  /** Groups that are being asked for: an answer may come when other polls have begun. */
  private readonly pending = new Set<Group>()
  /** Whether refused symbols are being asked for: that may still go on when the next poll begins, which then does not begin it again. */
  private isSorting = false
  /** Whether the last poll got nothing, although it asked for symbols apart. */
  private gotNothing = false
  /** How often a part was asked for to learn whether an exchange is down, so that another one has its turn the next time. */
  private tries = 0

  constructor(private readonly requests: Requests<A>) {}

  /** Asks for symbols; fails where none of them was answered, with the reason of the common request. */
  async ask(symbols: ReadonlyArray<string>, nowEpochMs: number): Promise<Answered<A>> {
    this.keep(new Set(symbols))
    const apart = this.apart()
    const together = symbols.filter((symbol) => !apart.has(symbol))
    const { failure, found } = await this.common(together.length > 0 ? together : symbols, together.length > 0, symbols.length > 1)
    if (failure === undefined) {
      this.gotNothing = false
      // A refused symbol may be answered late or never. What was answered does not wait for it: one that is back is in the next request.
      if (this.due(nowEpochMs) !== undefined) void this.sort(this.begin(nowEpochMs, true, false))
      return this.answered(found)
    }
    const { cause, fault, parts } = failure
    const poll = this.begin(nowEpochMs, false, this.gotNothing || fault === "unclear")
    if (parts.length > 0) await this.tryOne(parts, poll)
    if (parts.length === 0 || poll.answers) await this.sort(poll)
    const isNothing = poll.found.length === 0
    this.gotNothing = isNothing && this.groups.length > 0
    if (isNothing) throw cause
    return this.answered([...poll.found])
  }

  private answered(found: Answered<A>["found"]): Answered<A> {
    return {
      found,
      refused: this.groups.flatMap(({ reason, refusals, symbols: [symbol] }) => refusals > 0 ? [[symbol!, reason] as const] : []),
      open: this.groups.flatMap((group) => group.refusals > 0 ? [] : group.symbols)
    }
  }

  /** Symbols that are asked for apart from the others. */
  private apart(): ReadonlySet<string> {
    return new Set(this.groups.flatMap((group) => group.symbols))
  }

  /** Begins the time of a poll's further requests. */
  private begin(nowEpochMs: number, answers: boolean, isDoubtful: boolean): Apart<A> {
    const { after, apartMs } = this.requests
    const over = after(2 * apartMs).then(() => "late" as const)
    const poll: Apart<A> = { nowEpochMs, found: [], answers, isDoubtful, isLate: false, over }
    void after(apartMs).then(() => void (poll.isLate = true))
    return poll
  }

  /**
   * The request for all symbols that were not refused or, where there are none, for all: an exchange that answers that again has all of
   * them again, and one that does not is seen to fail.
   */
  private async common(symbols: ReadonlyArray<string>, isSplit: boolean, hasOthers: boolean): Promise<Common<A>> {
    try {
      const found = await this.requests.find(symbols)
      if (!isSplit) this.groups = []
      return { found }
    } catch (cause) {
      const fault = this.requests.faultOf(cause, symbols.length)
      if (fault === "haste") throw cause
      // Polls may overlap, and another one may have split the same symbols meanwhile.
      const apart = this.apart()
      // An only symbol costs nobody anything: it is asked for at each poll.
      const parts = isSplit && hasOthers ? this.split(symbols.filter((symbol) => !apart.has(symbol))) : []
      if (fault === "symbol") this.groups = [...this.groups, ...parts]
      return { found: [], failure: { cause, fault, parts: fault === "unclear" && symbols.length > 1 ? parts : [] } }
    }
  }

  /**
   * Asks for one of the parts where the common request failed, and maybe for what is no symbol's fault. Only an exchange that answers this
   * has refused the others together: nothing is split for one that is down.
   */
  private async tryOne(parts: ReadonlyArray<Group>, poll: Apart<A>): Promise<void> {
    const tried = parts[this.tries++ % parts.length]!
    const found = await Promise.race([this.findGroup(tried.symbols).catch(() => "failed" as const), poll.over])
    if (typeof found === "string") return
    poll.answers = true
    poll.found.push(...found)
    const apart = this.apart()
    const others = parts.filter((part) => part !== tried && !part.symbols.some((symbol) => apart.has(symbol)))
    this.groups = [...this.groups, ...others]
  }

  /**
   * Asks for refused symbols whose time has come, group by group, until nothing is due, or this poll has made all of its requests or has
   * no more time. Never fails.
   */
  private async sort(poll: Apart<A>): Promise<void> {
    if (this.isSorting) return
    this.isSorting = true
    let unclear = 0
    for (let asked = 0; asked < this.requests.mostApart && (asked === 0 || !poll.isLate); asked++) {
      const group = this.due(poll.nowEpochMs)
      if (group === undefined) break
      const fault = await Promise.race([this.askFor(group, poll), poll.over])
      if (fault === "unclear") unclear++
      // An exchange that fails, or wants fewer requests, is asked for nothing else in this poll.
      if (fault === "haste" || fault === "late" || unclear > 1 || (poll.isDoubtful && !poll.answers)) break
    }
    this.isSorting = false
  }

  /** A group whose time has come. A time too far ahead was set before the clock was set back. */
  private due(nowEpochMs: number): Group | undefined {
    return this.groups.find((group) =>
      !this.pending.has(group) && (group.againEpochMs <= nowEpochMs || group.againEpochMs > nowEpochMs + longestRestMs)
    )
  }

  /** Asks for a group, and puts what it has become behind the others; returns what the request failed for. */
  private async askFor(group: Group, poll: Apart<A>): Promise<Fault | undefined> {
    this.pending.add(group)
    try {
      poll.found.push(...await this.findGroup(group.symbols))
      poll.answers = true
      this.replace(group, [])
      return undefined
    } catch (cause) {
      const fault = this.requests.faultOf(cause, group.symbols.length)
      // An exchange that answers other requests fails for these symbols. One that does not may be down, which is nobody's fault.
      const isOfSymbols = fault === "symbol" || (fault === "unclear" && poll.answers)
      this.replace(
        group,
        isOfSymbols ? group.symbols.length > 1 ? this.split(group.symbols) : [again(group, reasonOf(cause), poll.nowEpochMs)] : [group]
      )
      return fault
    } finally {
      this.pending.delete(group)
    }
  }

  private findGroup(symbols: ReadonlyArray<string>): Promise<Answered<A>["found"]> {
    return symbols.length > 1 ? this.requests.find(symbols) : this.requests.findAlone(symbols[0]!)
  }

  private split(symbols: ReadonlyArray<string>): ReadonlyArray<Group> {
    if (symbols.length === 0) return []
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
      .map((group) =>
        group.symbols.every((symbol) => asked.has(symbol))
          ? group
          : { ...group, symbols: group.symbols.filter((symbol) => asked.has(symbol)) }
      )
      .filter((group) => group.symbols.length > 0)
  }
}

/** The group of a single symbol that was refused once more. */
const again = (group: Group, reason: string, nowEpochMs: number): Group => {
  const refusals = group.refusals + 1
  return { ...group, refusals, reason, againEpochMs: nowEpochMs + restOf(refusals) }
}
