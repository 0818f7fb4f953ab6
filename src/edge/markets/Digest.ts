/** Digests of what is sent, as clients compare them. */
import { hash } from "node:crypto"

/** `sha256:` and the digest of a text in hex. */
export const sha256 = (text: string): string => `sha256:${hash("sha256", text, "hex")}`
