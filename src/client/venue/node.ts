/** The package in Node. */
import * as KeyFile from "../ccxt/KeyFile.js"
import { Client, type Options } from "./Client.js"
import { nodePlatform } from "./NodePlatform.js"

export * from "./Exports.js"
export { nodePlatform as platform }

/** A client of a venue. */
export const connect = (options: Options): Client => new Client(nodePlatform, options)

/**
 * The API key of a venue as `venue connect` stored it, under the name that it was asked for. The file is
 * `~/.config/perpetuum/keys.json` unless another is named. Throws where it has none, with the command that gets one.
 */
// Written out, since the package has the types of this folder only.
export const apiKeyOf: (url: string, name?: string, file?: string) => string = KeyFile.apiKeyOf
