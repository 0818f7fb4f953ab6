/** Searches everything that the venue stores and sends for secrets that only their holders may know. */
import type * as SimDisk from "../world/SimDisk.js"

export interface Found {
  readonly secrets: number
  readonly found: ReadonlyArray<{ readonly secret: string; readonly where: string }>
}

/** `histories`: the database that the last stopped process left. */
export const search = (
  disk: SimDisk.SimDisk,
  histories: Uint8Array | undefined,
  logged: ReadonlyArray<string>,
  secrets: ReadonlySet<string>
): Found => {
  const kept: ReadonlyArray<readonly [where: string, bytes: Buffer]> = [
    ...disk.files().map((path) => [path, Buffer.from(disk.bytes(path))] as const),
    ["the histories", Buffer.from(histories ?? [])],
    ["the log", Buffer.from(logged.join("\n"))]
  ]
  const found: Array<{ secret: string; where: string }> = []
  for (const secret of secrets) {
    for (const [where, bytes] of kept) if (bytes.includes(secret)) found.push({ secret, where })
  }
  return { secrets: secrets.size, found }
}
