/**
 * Flatness: the cost of an operation in a large state, relative to a small one. P1's stream over a book of 1,000 and of 1,000,000 resting
 * orders; P2's over 1,000 and 1,000,000 resting orders, 1 and 200 markets, 100 and 100,000 accounts. Cancels hit any live order at random,
 * so that none is in a cache. The book and engine of each size live through all runs. Less is flatter.
 */
import { assert } from "../../src/domain/Assert.js"
import { generate } from "./BookOperations.js"
import * as EngineCommands from "./EngineCommands.js"
import { compare, type Measured, type Options, type Result, type Section } from "./Section.js"
import { StringBook } from "./StringBook.js"

const few = 1_000
const many = 1_000_000
const operationsPerRun = 300_000
const commandsPerRun = 200_000

/** Measures an operation in microseconds, in repeated runs over one book that persists and starts with `resting` orders. */
const bookTimer = (resting: number, seed: number, runs: number): () => Measured => {
  const operations = generate((runs + 1) * operationsPerRun, resting, seed, resting)
  const book = new StringBook(operations.length)
  let at = 0
  let seen = 0
  const run = (to: number): void => {
    for (; at < to; at++) {
      const operation = operations[at]!
      if (operation.kind === "limit") seen += book.limit(operation).done.length
      else if (operation.kind === "cancel") seen += book.cancel(operation.id) === undefined ? 0 : 1
      else seen += book.market(operation).done.length
    }
  }
  run(resting)
  assert(seen === 0, "what rests first does not trade")
  return () => {
    const startedAt = performance.now()
    run(at + operationsPerRun)
    const value = (performance.now() - startedAt) * 1000 / operationsPerRun
    assert(seen > 0, "the stream trades")
    return { value, ranOn: book }
  }
}

const flatBook = (options: Options): Promise<Result> =>
  compare("flat-P1-resting", "us/op", options, bookTimer(few, 11, options.runs), bookTimer(many, 12, options.runs))

const shape = { markets: 100, accounts: 10_000, resting: 20_000, liveLimit: 20_000, seed: 13, msPerBlock: 1 }

/** Measures a command in microseconds, in repeated runs on one engine that persists. */
const engineTimer = (changed: Partial<EngineCommands.Shape>, runs: number): () => Measured => {
  const stream = new EngineCommands.Stream({ ...shape, ...changed, count: (runs + 1) * commandsPerRun })
  const runner = new EngineCommands.Runner(stream)
  return () => ({ value: runner.run(stream.take(commandsPerRun)) * 1e6 / commandsPerRun, ranOn: runner })
}

const flatEngine = (
  section: string,
  options: Options,
  one: Partial<EngineCommands.Shape>,
  other: Partial<EngineCommands.Shape>
): Promise<Result> => compare(section, "us/command", options, engineTimer(one, options.runs), engineTimer(other, options.runs))

export const section: Section = {
  name: "flat",
  run: async (options) => [
    await flatBook(options),
    await flatEngine("flat-P2-resting", options, { resting: few, liveLimit: few }, { resting: many, liveLimit: many }),
    await flatEngine("flat-P2-markets", options, { markets: 1 }, { markets: 200 }),
    await flatEngine("flat-P2-accounts", options, { accounts: 100 }, { accounts: 100_000 })
  ]
}
