/** The dependencies in the package's manifest: everything that is imported, in the section where it belongs, and nothing else. */
import { isBuiltin } from "node:module"
import { type Source, type Violation, violation } from "./Source.js"

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/** Programs that are run rather than imported. */
const tools: ReadonlySet<string> = new Set(["@dprint/typescript", "dprint", "oxlint", "typescript"])

/** The package of a specifier: `@a/b` for `@a/b/c`, `d` for `d/e`, and none for Node's own modules. */
export const packageOf = (specifier: string): string | undefined => {
  if (specifier.startsWith(".") || specifier.includes("${") || isBuiltin(specifier)) return undefined
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/")
}

/** The package whose types `@types/a__b` describes; Node's own types are always needed. */
const describedBy = (name: string): string | undefined => {
  const described = /^@types\/(.*)$/.exec(name)?.[1]
  if (described === undefined) return undefined
  return described.includes("__") ? `@${described.replace("__", "/")}` : described
}

/** Packages that are not listed where they should be, and listed ones that nothing imports. */
export const check = (path: string, text: string, sources: ReadonlyArray<Source>): ReadonlyArray<Violation> => {
  const { dependencies = {}, devDependencies = {} } = JSON.parse(text) as Manifest
  const lines = text.split("\n")
  const served = new Set<string>()
  const imported = new Set<string>()
  const unnamed = sources.flatMap((source) =>
    source.imports.flatMap(({ line, specifier }) => {
      const name = packageOf(specifier)
      if (name === undefined) return []
      // The packages of the owner's pages are bundled at build time, and not loaded by the venue.
      const isServed = source.path.startsWith("src/") && !source.path.startsWith("src/console/")
      imported.add(name)
      if (isServed) served.add(name)
      if (name in dependencies || (!isServed && name in devDependencies)) return []
      const message = name in devDependencies ? `${name} is only a devDependency` : `${name} is no dependency`
      return [violation(source, line, "package", message)]
    })
  )
  const fault = (name: string, message: string): Violation => ({
    path,
    line: lines.findIndex((content) => content.includes(`${JSON.stringify(name)}: `)) + 1,
    rule: "package",
    message: `${name} ${message}`
  })
  const isWanted = (name: string): boolean => {
    const described = describedBy(name)
    return tools.has(name) || imported.has(name) || described === "node" || (described !== undefined && imported.has(described))
  }
  return [
    ...unnamed,
    ...Object.keys(dependencies).filter((name) => !imported.has(name)).map((name) => fault(name, "is imported by nothing")),
    ...Object.keys(dependencies).filter((name) => imported.has(name) && !served.has(name)).map((name) =>
      fault(name, "is a devDependency: nothing in src imports it")
    ),
    ...Object.keys(devDependencies).filter((name) => !isWanted(name)).map((name) => fault(name, "is imported by nothing"))
  ]
}
