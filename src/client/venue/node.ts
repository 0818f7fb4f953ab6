/** The package for Node. */
import * as KeyFile from "../ccxt/NodeKeyFile.js"
import { Client, type Options } from "./Client.js"
import { nodePlatform } from "./NodePlatform.js"

export * from "./Exports.js"
export { nodePlatform as platform }

/** A client of a venue. */
export const connect = (options: Options): Client => new Client(nodePlatform, options)

/**
 * A venue's API key as stored by `venue connect`, under the name given there. The default file is `~/.config/perpetuum/keys.json`. Throws
 * where there is none, with the command that obtains one.
 */
// The type is written out, since the package's types come only from this folder.
export const apiKeyOf: (url: string, name?: string, file?: string) => string = KeyFile.apiKeyOf
