/**
 * Flatness: what an operation costs with much around it, against the same with little. P1's stream over a book of
 * 1,000 and of 1,000,000 resting orders, P2's over 1,000 and 1,000,000 resting orders, 1 and 200 markets, 100 and
 * 100,000 accounts. Cancels are of any live order, at random: none of them is in a cache. Less is flatter.
 */
import * as Assert from "node:assert/strict"
import { generate, type Operation } from "./BookOperations.js"
import * as EngineCommands from "./EngineCommands.js"
import * as P2 from "./P2.js"
import { compare, type Options, type Result, type Section } from "./Section.js"
import { StringBook } from "./StringBook.js"

const few = 1_000
const many = 1_000_000
const operationCount = 300_000
const commandCount = 200_000

/** Microseconds an operation, behind what rests first. */
const timeBook = (operations: ReadonlyArray<Operation>, resting: number): number => {
  const book = new StringBook(operations.length)
  let startedAt = 0
  let seen = 0
  for (let at = 0; at < operations.length; at++) {
    if (at === resting) startedAt = performance.now()
    const operation = operations[at]!
    if (operation.kind === "limit") seen += book.limit(operation).done.length
    else if (operation.kind === "cancel") seen += book.cancel(operation.id) === undefined ? 0 : 1
    else seen += book.market(operation).done.length
  }
  Assert.ok(seen > 0)
  return (performance.now() - startedAt) * 1000 / (operations.length - resting)
}

const flatBook = (options: Options): Promise<Result> => {
  const small = generate(operationCount, few, 11, few)
  const large = generate(operationCount, many, 12, many)
  timeBook(small, few)
  timeBook(large, many)
  return compare("flat-P1-resting", "us/op", options, () => timeBook(small, few), () => timeBook(large, many))
}

const shape: EngineCommands.Shape = {
  markets: 100,
  accounts: 10_000,
  resting: 20_000,
  liveLimit: 20_000,
  count: commandCount,
  seed: 13
}

const flatEngine = (
  section: string,
  options: Options,
  one: Partial<EngineCommands.Shape>,
  other: Partial<EngineCommands.Shape>
): Promise<Result> => {
  const small = EngineCommands.generate({ ...shape, ...one })
  const large = EngineCommands.generate({ ...shape, ...other })
  const time = (stream: EngineCommands.Stream) => () => P2.time(stream) * 1e6 / commandCount
  // Once each before it counts: compiled code for both.
  P2.time(small)
  P2.time(large)
  return compare(section, "us/command", options, time(small), time(large))
}

export const section: Section = {
  name: "flat",
  run: async (options) => [
    await flatBook(options),
    await flatEngine("flat-P2-resting", options, { resting: few, liveLimit: few }, { resting: many, liveLimit: many }),
    await flatEngine("flat-P2-markets", options, { markets: 1 }, { markets: 200 }),
    await flatEngine("flat-P2-accounts", options, { accounts: 100 }, { accounts: 100_000 })
  ]
}
