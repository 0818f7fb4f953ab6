/** Searches all that the venue keeps and says for what nobody but its holder may know. */
import type * as SimDisk from "../world/SimDisk.js"

export interface Found {
  readonly secrets: number
  readonly found: ReadonlyArray<{ readonly secret: string; readonly where: string }>
}

/** `histories`: their database, as the process that stopped last has left it. */
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
