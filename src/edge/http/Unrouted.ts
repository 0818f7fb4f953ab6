/**
 * Suggests the route that an unknown path may have meant, in the contract's own terms, so that nothing of the path is repeated. It
 * compares a bounded number of letters with the contract's paths only.
 */
import * as Naming from "./Naming.js"

/** A route that may be suggested. */
export interface Candidate {
  readonly method: string
  /** With `:name` parameters. */
  readonly path: string
}

/** The longest path that is compared, and the most segments of one. */
const maxLength = 160
const maxSegments = 8

const segmentsOf = (path: string): ReadonlyArray<string> => path.split("/").filter((segment) => segment !== "")

/** A route with its segments, which are looked at for every path that has none. */
interface Prepared extends Candidate {
  readonly segments: ReadonlyArray<string>
  readonly folded: ReadonlyArray<string>
  readonly parameters: number
}

const isParameter = (segment: string): boolean => segment.startsWith(":")

const prepared = ({ method, path }: Candidate): Prepared => {
  const segments = segmentsOf(path)
  return { method, path, segments, folded: segments.map(Naming.folded), parameters: segments.filter(isParameter).length }
}

/**
 * The distance of segments from a route's, each 0 for equal or 1 for similar; undefined where any is different. A parameter matches
 * anything.
 */
const farAll = (
  sent: ReadonlyArray<string>,
  foldedSent: ReadonlyArray<string>,
  { folded, segments }: Prepared,
  isNear: (sent: string, other: string) => boolean
): number | undefined => {
  if (sent.length !== segments.length) return undefined
  let sum = 0
  let same = 0
  for (let index = 0; index < sent.length; index++) {
    if (isParameter(segments[index]!)) continue
    if (sent[index] === segments[index]) same++
    else if (!isNear(foldedSent[index]!, folded[index]!)) return undefined
    else sum++
  }
  // A match of parameters alone is no match.
  return same > 0 || sum > 0 ? sum : undefined
}

/** Variants of a path with a missing or a different version, each with its penalty. */
const readings = (segments: ReadonlyArray<string>): ReadonlyArray<readonly [number, ReadonlyArray<string>]> => {
  const [first, ...rest] = segments
  return [
    [0, segments],
    [2, ["v1", ...segments]],
    ...(first === "api" ? [[2, rest] as const, [2, ["v1", ...rest]] as const] : []),
    ...(first === undefined || !/^v[0-9]{1,2}$/i.test(first) ? [] : [[3, ["v1", ...rest]] as const, [3, ["v2", ...rest]] as const])
  ]
}

/** Whether two folded segments are similar, each pair compared once, since many routes share them. */
const remembered = (): (sent: string, other: string) => boolean => {
  const known = new Map<string, boolean>()
  return (sent, other) => {
    const pair = `${sent} ${other}`
    const found = known.get(pair) ?? Naming.far(sent, other) !== undefined
    known.set(pair, found)
    return found
  }
}

/** The route most likely meant by a method and a path; undefined where none is similar. Routes with the same method come first. */
export const meantAmong = (candidates: ReadonlyArray<Candidate>) => {
  const all = candidates.map(prepared)
  return (method: string, path: string): Candidate | undefined => {
    if (path.length > maxLength) return undefined
    const segments = segmentsOf(path)
    if (segments.length === 0 || segments.length > maxSegments) return undefined
    const isNear = remembered()
    let best: Candidate | undefined
    let least = Infinity
    for (const [more, reading] of readings(segments)) {
      const folded = reading.map(Naming.folded)
      for (const candidate of all) {
        const found = farAll(reading, folded, candidate, isNear)
        if (found === undefined) continue
        const rank = 10 * (found + more) + candidate.parameters + (candidate.method === method ? 0 : 5)
        if (rank >= least) continue
        best = candidate
        least = rank
      }
    }
    return best
  }
}
