/** Addresses of requests: owners and their agents have one of their own, so that their use of rate limits does not delay traders. */
export const addresses = { traders: "10.0.0.1", owners: "10.0.0.2", streams: "10.0.0.3" } as const
