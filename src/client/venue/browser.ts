/** The package for browsers. */
import { browserPlatform } from "./BrowserPlatform.js"
import { Client, type Options } from "./Client.js"

export * from "./Exports.js"
export { browserPlatform as platform }

/** A client of a venue. */
export const connect = (options: Options): Client => new Client(browserPlatform, options)
