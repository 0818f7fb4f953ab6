/** Headers that keep an answer from being misread or kept: every answer has them. */
import type { Described } from "./Endpoint.js"

/** No guessing of another content type, and no telling other sites where a reader came from. */
export const always = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" } as const

/** Whether an answer may be kept on its way: what needs no credential is the same for everybody, unless it gives one. */
export const mayBeKept = ({ access, budget }: Described): boolean => (access === "public" || access === "system") && budget !== "sign_in"

/** Also what is somebody's own is kept by nobody on its way. */
export const unkept = { ...always, "cache-control": "no-store" } as const
