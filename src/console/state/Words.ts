/** The venue's values in readable form: money, times, lifetimes, scopes, and kinds of events. */
import type { Scope } from "./Contract.js"

/**
 * A decimal string with digits grouped in threes, and a minus sign as wide as a digit. Nothing is rounded or omitted; any other text stays.
 */
export const decimal = (text: string): string =>
  text.replace(/^(-?)([0-9]+)(?=\.[0-9]|$)/, (_, sign: string, whole: string) =>
    `${sign && "\u2212"}${whole.replaceAll(/\B(?=(?:[0-9]{3})+$)/g, ",")}`)

/** A price; a dash where there is none, of which the venue says zero. */
export const price = (text = ""): string => /[1-9]/.test(text) ? decimal(text) : "\u2013"

/** An amount of money: to the cent, or to as many further digits as it has. */
export const money = (text: string): string => decimal(text.replace(/(\.[0-9]{2}[0-9]*?)0+$/, "$1"))

/** Whether an amount is a loss, a gain or zero. */
export const direction = (text: string): "down" | "up" | "flat" =>
  /^-?0+(?:\.0*)?$/.test(text) ? "flat" : text.startsWith("-") ? "down" : "up"

const units = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]] as const

const counted = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? "" : "s"}`

/** A duration in its two largest units. */
export const duration = (seconds: number): string => {
  const whole = Math.max(0, Math.floor(seconds))
  const at = units.findIndex(([, size]) => whole >= size)
  if (at < 0) return "0 seconds"
  const [unit, size] = units[at]!
  const [smaller, smallerSize] = units[at + 1] ?? ["second", 1]
  const rest = Math.floor((whole % size) / smallerSize)
  const first = counted(Math.floor(whole / size), unit)
  return rest === 0 || unit === "second" ? first : `${first} ${counted(rest, smaller)}`
}

/** What a key with each scope may do. */
export const scopes: Readonly<Record<Scope, { readonly title: string; readonly text: string }>> = {
  read: { title: "Read", text: "See your balance, positions, orders and history." },
  trade: {
    title: "Trade",
    text: "Place, change and cancel orders with your money, without asking you each time; set and remove take-profits and stop-losses, set "
      + "leverage, mark favorite markets, and register your account as an affiliate where the venue has affiliates."
  }
}

/** Scopes as a list in words. */
export const scopeList = (granted: ReadonlyArray<Scope>): string => granted.map((scope) => scopes[scope].title).join(", ")

/** A long identifier shortened for narrow places: enough to tell two of them apart. */
export const short = (id: string): string => id.length <= 16 ? id : `${id.slice(0, 8)}\u2026${id.slice(-6)}`

/** A machine-readable name as words. */
export const words = (name: string): string => {
  const text = name.replaceAll(/[_-]/g, " ").replaceAll(/([a-z])([A-Z])/g, "$1 $2").toLowerCase()
  return text.charAt(0).toUpperCase() + text.slice(1)
}
