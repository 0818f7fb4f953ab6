/** A recording in which every text can be told: long, and naming whose it is. What redaction must hide is grepped for. */
import type { ClientCommand, Command } from "../../src/operations/Operations.js"
import { Operation } from "../../src/operations/Operations.js"
import { Refusal } from "../../src/domain/Refusal.js"
import { type Driver, generator, RandomDriver } from "../engine/drive.js"
import * as Recorded from "./Recorded.js"

/** A recorded run, its accounts, and the texts in it by owner (-1: operators). */
export interface Labelled {
  readonly recording: Recorded.RecordingEngine
  readonly accounts: ReadonlyArray<number>
  readonly texts: ReadonlyMap<number, ReadonlySet<string>>
}

/** Drives an engine by chance with every kind of client command among others, then names every text anew. */
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
    const named = `${kind}-of-${owner === -1 ? "operator" : `account${owner}`}-${text}`
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

/** One of the commands that a random driver does not draw, or the same again under its key. */
const more = (driver: Driver, engine: Recorded.RecordingEngine, account: number, next: () => number): void => {
  const heading = { account, apiKey: next() % 2 === 0 ? account : -1, idempotencyKey: driver.nextKey() }
  const [open] = engine.openOrders(account, -1)
  switch (next() % 7) {
    case 0:
      if (open === undefined) return
      driver.run({
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
      driver.run({ kind: "CancelAllOrders", operation: Operation.cancelAllV1, ...heading, market, raw: market < 0 ? "no market" : "" })
      return
    }
    case 2:
      driver.run({ kind: "SetCancelAllAfter", operation: Operation.cancelAllAfterV1, ...heading, timeoutMs: 2_000 })
      return
    case 3:
      driver.run({ kind: "FenceOutcome", ...fence, ...heading, fencedKey: `late-${next() % 100}`, fencedClientOrderId: "" })
      return
    case 4:
      driver.run({ kind: "FenceOutcome", ...fence, ...heading, fencedKey: "", fencedClientOrderId: `c${next() % 50}` })
      return
    case 5:
      driver.run({
        kind: "CancelOrders",
        operation: Operation.cancelV1,
        ...heading,
        entries: [{ market: -1, orderNumber: -1, raw: `["nowhere","${next()}"]` }]
      })
      return
    default:
      driver.run({
        ...driver.placement(account, {
          clientOrderId: `faulty-${next() % 50}`,
          priceAtoms: 0,
          fault: Refusal.priceOffGrid,
          raw: `["AAA","${next()}"]`
        }),
        ...heading
      })
  }
}

type Label = (owner: number, kind: string, text: string) => string

const relabel = (command: Command, firstAccount: number, label: Label): Command => {
  switch (command.kind) {
    case "OpenVenue":
    case "PassTime":
      return command
    case "OpenDemoAccounts":
      return {
        ...command,
        idempotencyKey: label(-1, "key", command.idempotencyKey),
        keys: command.keys.map((grant, index) => ({
          ...grant,
          keyId: label(firstAccount + index, "keyId", grant.keyId),
          displayPrefix: label(firstAccount + index, "prefix", grant.displayPrefix),
          secretSha256: label(firstAccount + index, "sha256", grant.secretSha256)
        }))
      }
    case "PutMarket":
    case "SetMarketStatus":
    case "SetIndexPrice":
    case "HaltEngine":
    case "ResumeEngine":
      return { ...command, idempotencyKey: label(-1, "key", command.idempotencyKey) }
    default:
      return relabelClient(command, label)
  }
}

const relabelClient = (client: ClientCommand, label: Label): Command => {
  const owner = client.account
  const command = { ...client, idempotencyKey: label(owner, "key", client.idempotencyKey) }
  switch (command.kind) {
    case "PlaceOrders":
      return {
        ...command,
        entries: command.entries.map((entry) => ({
          ...entry,
          clientOrderId: label(owner, "client", entry.clientOrderId),
          raw: label(owner, "raw", entry.raw)
        }))
      }
    case "CancelOrders":
      return { ...command, entries: command.entries.map((entry) => ({ ...entry, raw: label(owner, "raw", entry.raw) })) }
    case "AmendOrder":
    case "CancelAllOrders":
      return { ...command, raw: label(owner, "raw", command.raw) }
    case "FenceOutcome":
      return {
        ...command,
        fencedKey: label(owner, "key", command.fencedKey),
        fencedClientOrderId: label(owner, "client", command.fencedClientOrderId)
      }
    default:
      return command
  }
}
