/**
 * Which route was meant by a path that has none: told with what would have to be sent, so that nothing of the path itself is repeated.
 * It looks at the contract's paths alone, a bounded number of letters of each.
 */
import { meant } from "./Naming.js"

/** A route as it is told of. */
export interface Candidate {
  readonly method: string
  /** With `:name` parameters. */
  readonly path: string
}

/** The longest path that is compared, and the most segments of one. */
const maxLength = 160
const maxSegments = 8

const segmentsOf = (path: string): ReadonlyArray<string> => path.split("/").filter((segment) => segment !== "")

/** How far a segment is from a route's: 0 the same, 1 nearly, undefined another. A parameter takes anything. */
const far = (sent: string, expected: string): 0 | 1 | undefined => {
  if (expected.startsWith(":") || sent === expected) return 0
  return meant(sent, [expected]) === undefined ? undefined : 1
}

/** How far the segments are from a route's, all of them; undefined where one is another. */
const farAll = (sent: ReadonlyArray<string>, expected: ReadonlyArray<string>): number | undefined => {
  if (sent.length !== expected.length) return undefined
  let sum = 0
  for (let index = 0; index < sent.length; index++) {
    const one = far(sent[index]!, expected[index]!)
    if (one === undefined) return undefined
    sum += one
  }
  // Where only parameters agree nothing does.
  return expected.some((segment, index) => !segment.startsWith(":") && segment === sent[index]) || sum > 0 ? sum : undefined
}

/** What a path may be short of, or have too much of, with how much that counts: the version, or another one's. */
const readings = (segments: ReadonlyArray<string>): ReadonlyArray<readonly [number, ReadonlyArray<string>]> => {
  const [first, ...rest] = segments
  return [
    [0, segments],
    [2, ["v1", ...segments]],
    ...(first === "api" ? [[2, rest] as const, [2, ["v1", ...rest]] as const] : []),
    ...(first === undefined || !/^v[0-9]{1,2}$/i.test(first) ? [] : [[3, ["v1", ...rest]] as const, [3, ["v2", ...rest]] as const])
  ]
}

/** The route that was most likely meant; undefined where none is near. One with the method that was sent goes before others. */
export const meantRoute = (method: string, path: string, candidates: ReadonlyArray<Candidate>): Candidate | undefined => {
  if (path.length > maxLength) return undefined
  const segments = segmentsOf(path)
  if (segments.length === 0 || segments.length > maxSegments) return undefined
  let best: Candidate | undefined
  let least = Infinity
  for (const [more, reading] of readings(segments)) {
    for (const candidate of candidates) {
      const found = farAll(reading, segmentsOf(candidate.path))
      if (found === undefined) continue
      const parameters = (candidate.path.match(/:/g) ?? []).length
      const rank = 10 * (found + more) + parameters + (candidate.method === method ? 0 : 5)
      if (rank >= least) continue
      best = candidate
      least = rank
    }
  }
  return best
}
