/** Headers of every answer that prevent misinterpretation and caching. */
import type { Described } from "./Endpoint.js"

/** Browsers do not guess another content type, and do not tell other sites where a reader came from. */
export const always = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" } as const

/**
 * Whether proxies may cache an answer: one that needs no credential, not even in its body, is the same for everybody. A failure is of a
 * moment: without a word about it a cache may keep a 404 by its own judgement, for longer than what was missing is missing.
 */
export const mayBeKept = ({ access, budget }: Described, status: number): boolean =>
  status < 400 && (access === "public" || access === "system") && ["none", "public", "metrics"].includes(budget)

/** Personal answers and failures must not be cached. */
export const unkept = { ...always, "cache-control": "no-store" } as const
