/** A recording in which every text is long and names its owner, so that tests can search for what redaction must hide. */
import * as crypto from "node:crypto"
import { anyMarket } from "../../src/domain/None.js"
import { Refusal } from "../../src/domain/Refusal.js"
import type { Field, Fields } from "../../src/operations/Field.js"
import { type Command, of, Operation } from "../../src/operations/Operations.js"
import { complete, completeAny } from "../engine/commands.js"
import { type Driver, generator, RandomDriver } from "../engine/drive.js"
import * as Recorded from "./Recorded.js"

/** A recorded run, its accounts, and the texts in it by owner (-1: operators). */
export interface Labelled {
  readonly recording: Recorded.RecordingEngine
  readonly accounts: ReadonlyArray<number>
  readonly texts: ReadonlyMap<number, ReadonlySet<string>>
}

/** Drives an engine at random, including every kind of client command, then renames every text. */
export const labelled = (seed: number, steps: number): Labelled => {
  const drawn = new Recorded.RecordingEngine()
  const driver = new RandomDriver(seed, drawn)
  const next = generator(seed + 1)
  const accounts = Array.from({ length: drawn.state.accounts.count }, (_, index) => index)
  for (let step = 0; step < steps; step++) {
    driver.step()
    if (step % 10 === 0) more(driver, drawn, accounts[next() % accounts.length]!, next)
  }
  const texts = new Map<number, Set<string>>()
  const label = (owner: number, kind: string, text: string): string => {
    if (text === "") return ""
    const said = `${kind}-of-${owner === -1 ? "operator" : `account${owner}`}-${text}`
    // A secret is journaled as a digest, so its label is one too.
    const named = kind === "secret" ? crypto.createHash("sha256").update(said).digest("hex") : said
    const others = texts.get(owner)
    if (others === undefined) texts.set(owner, new Set([named]))
    else others.add(named)
    return named
  }
  const recording = new Recorded.RecordingEngine()
  for (const { record } of drawn.taken) {
    const command = relabel(record.command, recording.state.accounts.count, label)
    recording.apply(command, record.sequence, record.atEpochMs)
  }
  return { recording, accounts, texts }
}

const fence = { operation: Operation.fenceV1 } as const

/** Sends a command that a random driver does not draw, or repeats one under its key. */
const more = (driver: Driver, engine: Recorded.RecordingEngine, account: number, next: () => number): void => {
  const heading = { account, idempotencyKey: driver.nextKey() }
  const [open] = engine.openOrders(account, anyMarket)
  switch (next() % 7) {
    case 0:
      if (open === undefined) return
      driver.send({
        kind: "AmendOrder",
        operation: Operation.amendV1,
        ...heading,
        market: open.market,
        orderNumber: open.orderNumber,
        priceAtoms: 0,
        quantityAtoms: open.quantityAtoms + 1,
        fault: Refusal.none,
        raw: ""
      })
      return
    case 1: {
      const market = (next() % 3) - 1
      driver.send({ kind: "CancelAllOrders", operation: Operation.cancelAllV1, ...heading, market, raw: market < 0 ? "no market" : "" })
      return
    }
    case 2:
      driver.send({ kind: "SetCancelAllAfter", operation: Operation.cancelAllAfterV1, ...heading, timeoutMs: 2_000 })
      return
    case 3:
      driver.send({ kind: "FenceOutcome", ...fence, ...heading, fencedKey: `late-${next() % 100}`, fencedClientOrderId: "" })
      return
    case 4:
      driver.send({ kind: "FenceOutcome", ...fence, ...heading, fencedKey: "", fencedClientOrderId: `c${next() % 50}` })
      return
    case 5:
      driver.send({
        kind: "CancelOrders",
        operation: Operation.cancelV1,
        ...heading,
        entries: [{ market: -1, orderNumber: -1, raw: `["nowhere","${next()}"]` }]
      })
      return
    default:
      driver.run(complete({
        ...driver.placement(account, {
          clientOrderId: `faulty-${next() % 50}`,
          priceAtoms: 0,
          fault: Refusal.priceOffGrid,
          raw: `["AAA","${next()}"]`
        }),
        ...heading
      }))
  }
}

type Label = (owner: number, kind: string, text: string) => string

type Named = Readonly<Record<string, unknown>>

/**
 * The same command with every text renamed that its declaration does not mark as plain; a grant's texts belong to the account that it
 * opens.
 */
const relabel = (command: Command, firstAccount: number, label: Label): Command => {
  const owner = command.account
  const values = relabelFields(of(command).fields, command as unknown as Named, owner, firstAccount, label)
  return completeAny({ ...command, ...values, idempotencyKey: label(owner, "as_sent", command.idempotencyKey) } as Command)
}

const relabelFields = (fields: Fields, values: Named, owner: number, firstAccount: number, label: Label): Named =>
  Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, relabelValue(field, values[name], owner, firstAccount, label)])
  )

const relabelValue = ({ mark, shape }: Field<unknown>, value: unknown, owner: number, firstAccount: number, label: Label): unknown => {
  switch (shape.type) {
    case "text":
      return mark === "plain" ? value : label(owner, mark, value as string)
    case "record":
      return relabelFields(shape.fields, value as Named, owner, firstAccount, label)
    case "list":
      return (value as ReadonlyArray<Named>).map((entry, index) => {
        const owns = shape.owner === "opened_account" ? firstAccount + index : owner
        return relabelFields(shape.fields, entry, owns, firstAccount, label)
      })
    default:
      return value
  }
}
