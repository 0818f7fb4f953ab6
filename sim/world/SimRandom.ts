/**
 * One seed, split into generators named by concern (schedule, each client, network, disk, clock, faults), so
 * that drawing more from one does not shift the others. A generator is sfc32, started from a hash of the
 * seed's text and its own name. Whoever knows the seed can guess all that is drawn,
 * secrets of the simulated world too.
 */

/** A stream of draws. All of its members draw from the one sequence. */
export interface SimRandom {
  readonly name: string
  /** A number in [0, 1). */
  readonly next: () => number
  /** An integer in [0, below). */
  readonly below: (below: number) => number
  /** An integer in [low, high]. */
  readonly between: (low: number, high: number) => number
  /** The time until the next of random events a mean time apart. */
  readonly until: (mean: number) => number
  /** Whether something of this probability happens. Draws nothing for 0, so that a fault left off shifts nothing. */
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(items: ReadonlyArray<A>) => A
  /** A name picked by weight; the sum of weights must be positive. */
  readonly weighted: <K extends string>(weights: Readonly<Record<K, number>>) => K
  readonly bytes: (length: number) => Uint8Array
  /** A separate generator, by name. Draws nothing from this one. */
  readonly split: (name: string) => SimRandom
}

/** Four 32-bit words from a text (cyrb128). */
const hash = (text: string): [number, number, number, number] => {
  let a = 1779033703
  let b = 3144134277
  let c = 1013904242
  let d = 2773480762
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    a = b ^ Math.imul(a ^ code, 597399067)
    b = c ^ Math.imul(b ^ code, 2869860233)
    c = d ^ Math.imul(c ^ code, 951274213)
    d = a ^ Math.imul(d ^ code, 2716044179)
  }
  a = Math.imul(c ^ (a >>> 18), 597399067)
  b = Math.imul(d ^ (b >>> 22), 2869860233)
  c = Math.imul(a ^ (c >>> 17), 951274213)
  d = Math.imul(b ^ (d >>> 19), 2716044179)
  return [(a ^ b ^ c ^ d) >>> 0, (b ^ a) >>> 0, (c ^ a) >>> 0, (d ^ a) >>> 0]
}

/** The generator of a seed and a name. Equal arguments give equal streams, on every machine. */
export const make = (seed: string, name = ""): SimRandom => {
  let [a, b, c, d] = hash(`${seed}\n${name}`)
  const word = (): number => {
    const sum = (((a + b) | 0) + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = ((c << 21) | (c >>> 11)) + sum | 0
    return sum >>> 0
  }
  for (let index = 0; index < 12; index++) word()
  const next = (): number => word() / 4294967296
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    name,
    next,
    below,
    between: (low, high) => low + below(high - low + 1),
    until: (mean) => -Math.log(1 - next()) * mean,
    chance: (probability) => probability > 0 && next() < probability,
    pick: (items) => {
      const item = items[below(items.length)]
      if (item === undefined) throw new Error("pick needs something to pick from")
      return item
    },
    weighted: <K extends string>(weights: Readonly<Record<K, number>>): K => {
      const names = Object.keys(weights) as Array<K>
      let total = 0
      for (const each of names) total += weights[each]
      let at = next() * total
      for (const each of names) {
        at -= weights[each]
        if (at < 0 && weights[each] > 0) return each
      }
      const last = names.filter((each) => weights[each] > 0).at(-1)
      if (last === undefined) throw new Error("weighted needs a positive weight")
      return last
    },
    bytes: (length) => {
      const bytes = new Uint8Array(length)
      for (let index = 0; index < length; index++) bytes[index] = word() & 0xff
      return bytes
    },
    split: (child) => make(seed, name === "" ? child : `${name}/${child}`)
  }
}
