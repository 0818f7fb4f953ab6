/** The package in Node. */
import { Client, type Options } from "./Client.js"
import { nodePlatform } from "./NodePlatform.js"

export * from "./Exports.js"
export { nodePlatform as platform }

/** A client of a venue. */
export const connect = (options: Options): Client => new Client(nodePlatform, options)
