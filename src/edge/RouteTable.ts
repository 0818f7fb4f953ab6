/** Everything that is served, as the router sees it: the contract's endpoints, and the owner's pages beside them. */
import * as Contract from "./Contract.js"
import * as Pages from "./console/Pages.js"
import type { Described } from "./http/Endpoint.js"

export const endpoints: ReadonlyArray<Described> = [...Contract.endpoints, ...Pages.endpoints]
