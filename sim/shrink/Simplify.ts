/** Simpler forms of a step, the simplest first. A form that is invalid for the venue merely fails to reproduce the failure. */
import { type Options, unlimited } from "../faults/Options.js"
import { type CallStep, isCall, type Script, type Step } from "../run/Script.js"

/** Fields that hold a size, in the bodies of either version. */
const sizes: ReadonlySet<string> = new Set(["quantity", "amount"])
/** Optional fields of an order. */
const extras: ReadonlyArray<string> = ["selfTradePrevention", "postOnly", "reduceOnly", "timeInForce", "expiresAt"]

type Fields = { readonly [name: string]: unknown }

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value)

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Half of a size, with the same number of decimals; undefined where that is zero. */
const half = (value: unknown): unknown => {
  if (typeof value === "number") return value >= 2 ? Math.floor(value / 2) : undefined
  if (typeof value !== "string" || !/^[0-9]{1,15}(?:\.[0-9]{1,8})?$/.test(value)) return undefined
  const [whole = "", decimals = ""] = value.split(".")
  const atoms = BigInt(whole + decimals) / 2n
  if (atoms === 0n) return undefined
  const digits = atoms.toString().padStart(decimals.length + 1, "0")
  return decimals === "" ? digits : `${digits.slice(0, -decimals.length)}.${digits.slice(-decimals.length)}`.replace(/\.?0+$/, "")
}

const simplerOrder = (order: Fields): ReadonlyArray<Fields> => {
  const simpler: Array<Fields> = []
  for (const [name, value] of Object.entries(order)) {
    const smaller = sizes.has(name) ? half(value) : undefined
    if (smaller !== undefined) simpler.push({ ...order, [name]: smaller })
  }
  for (const name of extras) {
    if (name in order) {
      const { [name]: _, ...rest } = order
      simpler.push(rest)
    }
  }
  return simpler
}

const simplerList = (entries: ReadonlyArray<unknown>): ReadonlyArray<ReadonlyArray<unknown>> => {
  const simpler: Array<ReadonlyArray<unknown>> = []
  if (entries.length > 3) {
    const middle = entries.length >> 1
    simpler.push(entries.slice(0, middle), entries.slice(middle))
  }
  if (entries.length > 1) entries.forEach((_, index) => simpler.push(entries.filter((__, at) => at !== index)))
  entries.forEach((entry, index) => {
    if (isFields(entry)) { for (const each of simplerOrder(entry)) simpler.push(entries.map((other, at) => (at === index ? each : other))) }
  })
  return simpler
}

/** Simpler bodies of a call: fewer entries, half the size, without optional fields. */
export const bodies = (body: string): ReadonlyArray<string> => {
  const value = parsed(body)
  if (Array.isArray(value)) return simplerList(value).map((each) => JSON.stringify(each))
  if (!isFields(value)) return []
  const { orders } = value
  if (Array.isArray(orders)) return simplerList(orders).map((each) => JSON.stringify({ ...value, orders: each }))
  return simplerOrder(value).map((each) => JSON.stringify(each))
}

/** The script with a step's body replaced, also in the steps that repeat it under the same key. */
export const withBody = (script: Script, step: CallStep, body: string): Script => ({
  ...script,
  steps: script.steps.map((each) =>
    isCall(each) && each.body === step.body && each.idempotencyKey === step.idempotencyKey && each.client === step.client
      ? { ...each, body }
      : each
  )
})

/** A step at a round time. */
const rounded = (step: Step): Step => ({ ...step, atMs: Math.ceil(step.atMs) })

/** The script with all times in whole milliseconds, in the same order. */
export const roundTimes = (script: Script): Script => ({ steps: script.steps.map(rounded), endMs: Math.ceil(script.endMs) })

/** The script without pauses: a step every few milliseconds, in the same order. */
export const closeRanks = (script: Script, firstMs: number, gapMs: number): Script => {
  const steps = script.steps.map((step, index) => ({ ...step, atMs: firstMs + index * gapMs }))
  return { steps, endMs: firstMs + (steps.length + 1) * gapMs }
}

const noNetworkFaults = { requestLoss: 0, replyLoss: 0, duplication: 0, halfOpen: 0 }

const quickDisk = (disk: Options["disk"]): Options["disk"] => ({
  ...disk,
  maxCallMs: Math.min(disk.maxCallMs, 1)
})

/** A feed that sends only the newest prices, once. */
const quietFeed = (options: Options): Options =>
  options.feed === undefined ? options : {
    ...options,
    feed: { ...options.feed, meanPauseMs: 10_000_000, repeatShare: 0, lateShare: 0, silenceShare: 0, oddShare: 0 }
  }

/** Ways to switch off what the options still draw: everything, then one at a time. The script's faults are steps. */
export const calmings: ReadonlyArray<(options: Options) => Options> = [
  (options) => ({
    ...options,
    network: { ...noNetworkFaults, maxDelayMs: 1 },
    disk: quickDisk(options.disk),
    process: { ...options.process, preemption: 0 }
  }),
  (options) => ({ ...options, network: { ...options.network, ...noNetworkFaults } }),
  ...(["requestLoss", "replyLoss", "duplication", "halfOpen"] as const).map((name) => (options: Options): Options => ({
    ...options,
    network: { ...options.network, [name]: 0 }
  })),
  (options) => ({ ...options, network: { ...options.network, maxDelayMs: Math.min(1, options.network.maxDelayMs) } }),
  (options) => ({ ...options, process: { ...options.process, preemption: 0 } }),
  (options) => ({ ...options, disk: quickDisk(options.disk) }),
  quietFeed,
  (options) => options.limits === undefined ? options : { ...options, limits: unlimited },
  (options) => options.listing === undefined ? options : { ...options, listing: { ...options.listing, growsAtMs: 0 } },
  (options) => options.takeover === undefined ? options : { ...options, takeover: { afterStop: 0, afterCrash: 0 } }
]
