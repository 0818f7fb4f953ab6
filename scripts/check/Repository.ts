/** Requirements for all tracked texts and for the lock file, so that a clone works on any machine and with any mirror. */
import type { Violation } from "./Source.js"

const slash = "/"
/** Home and work directories of machines on which the code was written. */
const machinePath = new RegExp(String.raw`(?<![\w.~*)}\]$-])${slash}(?:work|root|home)${slash}`)
const registryHost = /\bregistry\.[a-z0-9.-]*\b(?:org|com|io|net|dev|internal|local)\b|^\s*(?:@[\w-]+:)?registry\s*=/i

/** Local paths and hosts of package registries in a text file. */
export const checkText = (path: string, text: string): ReadonlyArray<Violation> =>
  text.split("\n").flatMap((content, index) => {
    const line = index + 1
    return [
      ...(machinePath.test(content) ? [{ path, line, rule: "machine-path", message: "an absolute path of one machine" }] : []),
      ...(registryHost.test(content) ? [{ path, line, rule: "registry-host", message: "the host of a package registry" }] : [])
    ]
  })

interface LockedPackage {
  readonly resolved?: string
  readonly link?: boolean
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

interface Lock {
  readonly packages?: Readonly<Record<string, LockedPackage>>
}

/** Whether a package is found from another in the way Node searches: beside it, then upwards. */
const isLocked = (packages: Readonly<Record<string, LockedPackage>>, from: string, name: string): boolean => {
  for (let folder = from;;) {
    if (packages[`${folder === "" ? "" : `${folder}/`}node_modules/${name}`] !== undefined) return true
    if (folder === "") return false
    const up = folder.lastIndexOf("node_modules/")
    folder = up <= 0 ? "" : folder.slice(0, up - 1)
  }
}

/** The lock file must name no registry, and must list the optional packages of every platform. */
export const checkLock = (path: string, text: string): ReadonlyArray<Violation> => {
  const lines = text.split("\n")
  const { packages } = JSON.parse(text) as Lock
  if (packages === undefined) return [{ path, line: 1, rule: "lock", message: "it has no packages" }]
  return Object.entries(packages).flatMap(([name, locked]) => {
    const line = lines.findIndex((content) => content.includes(`${JSON.stringify(name)}: {`)) + 1
    const missing = Object.keys(locked.optionalDependencies ?? {}).filter((optional) => !isLocked(packages, name, optional))
    return [
      ...(locked.resolved !== undefined && locked.link !== true
        ? [{ path, line, rule: "lock", message: `${name} is bound to one registry` }]
        : []),
      ...missing.map((optional) => ({ path, line, rule: "lock", message: `${name} may need ${optional}, which is not locked` }))
    ]
  })
}
