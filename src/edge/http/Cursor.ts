/**
 * Where a page begins, as clients carry it: base64url of a small JSON object. A cursor names a place in an
 * order that never changes (newest first by a number that only grows), so that what arrives in between
 * neither doubles nor hides an entry.
 */

/** What is listed: a cursor of one kind is none of another. */
export type Kind = "orders" | "fills" | "trades" | "entries" | "events"

/** A cursor behind which entries with a number below `before` follow. */
export const encode = (kind: Kind, before: number): string => Buffer.from(JSON.stringify({ kind, before }), "utf8").toString("base64url")

/** The number of a cursor of this kind; undefined for any other text. */
export const decode = (kind: Kind, text: string): number | undefined => {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"))
    if (typeof value !== "object" || value === null || !("kind" in value) || !("before" in value)) return undefined
    const { before } = value
    if (value.kind !== kind || typeof before !== "number" || !Number.isSafeInteger(before) || before < 0) return undefined
    return encode(kind, before) === text ? before : undefined
  } catch {
    return undefined
  }
}
