/** When two failures count as the same. */
import type { Failure } from "../run/Request.js"

/** A message without what differs from run to run: numbers, ids, digests, names of clients. */
const normalised = (message: string): string =>
  message
    .split("\n", 1)[0]!
    .replace(/\b(?:ord|acc|pos|trd|pk)_[0-9A-Za-z_-]+/g, "ID")
    .replace(/\b[0-9a-f]{16,}\b/g, "DIGEST")
    .replace(/\b(?:trader|operator|restore)-[0-9a-z.-]+/g, "CLIENT")
    .replace(/-?[0-9]+(?:\.[0-9]+)?/g, "N")
    .replace(/(?:N,)+N/g, "N")
    .slice(0, 300)

/** The first broken property with its normalised message. */
export const signatureOf = (property: string, what: string): string =>
  what.startsWith(`${property}: `) ? normalised(what) : `${property}: ${normalised(what)}`

/** The first broken property of a failure with its normalised message. */
export const signature = (failure: Failure): string => signatureOf(failure.properties[0] ?? "", failure.what)

/** Whether a candidate fails like the original. A crash of the program is the same only with the same message. */
export const same = (original: Failure, candidate: Failure | undefined): boolean =>
  candidate !== undefined
  && candidate.kind === original.kind
  && candidate.properties.includes(original.properties[0] ?? "")
  && (original.kind !== "crash" || normalised(original.what) === normalised(candidate.what))
