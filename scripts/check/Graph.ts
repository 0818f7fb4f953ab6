/** Import cycles, including those of types, since a reader has no order in which to read a cycle. */
import { basename, type Source, type Violation } from "./Source.js"

type Edges = ReadonlyMap<string, ReadonlyArray<string>>

const edgesOf = (sources: ReadonlyArray<Source>): Edges => {
  const known = new Set(sources.map(({ path }) => path))
  return new Map(sources.map(({ imports, path }) => {
    const targets = imports.flatMap((imported) => imported.path !== undefined && known.has(imported.path) ? [imported.path] : [])
    return [path, [...new Set(targets)].sort()]
  }))
}

/** The shortest path from a file back to itself, beginning with that file; undefined when there is none. */
const wayBack = (edges: Edges, from: string): ReadonlyArray<string> | undefined => {
  const cameFrom = new Map<string, string>()
  const waiting = [from]
  for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) {
    for (const to of edges.get(at) ?? []) {
      if (to === from) return wayTo(cameFrom, from, at)
      if (cameFrom.has(to)) continue
      cameFrom.set(to, at)
      waiting.push(to)
    }
  }
  return undefined
}

const wayTo = (cameFrom: ReadonlyMap<string, string>, from: string, to: string): ReadonlyArray<string> => {
  const way = [to]
  for (let at = to; at !== from;) {
    at = cameFrom.get(at)!
    way.unshift(at)
  }
  return way
}

/** Every file that can be reached from one. */
const reachedFrom = (edges: Edges, from: string): ReadonlySet<string> => {
  const reached = new Set<string>()
  const waiting = [...edges.get(from) ?? []]
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (reached.has(at)) continue
    reached.add(at)
    waiting.push(...edges.get(at) ?? [])
  }
  return reached
}

/**
 * Import cycles, with one violation for each connected group, at its first file, showing the shortest path from it back to it. The subject
 * is that file's name.
 */
export const circles = (sources: ReadonlyArray<Source>): ReadonlyArray<Violation> => {
  const edges = edgesOf(sources)
  const told = new Set<string>()
  return [...edges.keys()].sort().flatMap((path) => {
    const reached = told.has(path) ? undefined : reachedFrom(edges, path)
    if (reached === undefined || !reached.has(path)) return []
    const together = [path, ...reached].filter((other) => other === path || reachedFrom(edges, other).has(path))
    for (const file of together) told.add(file)
    const way = wayBack(edges, path)!
    const line = sources.find((source) => source.path === path)!.imports.find((imported) => imported.path === (way[1] ?? path))!.line
    const message = `${new Set(together).size} files import each other in a circle: ${[...way, path].join(" -> ")}`
    return [{ path, line, rule: "circle", message, subject: basename(path) }]
  })
}
