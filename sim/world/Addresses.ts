/** Where requests come from: owners and their agents from a place of their own, so that what they use up holds up no trader. */
export const addresses = { traders: "10.0.0.1", owners: "10.0.0.2", streams: "10.0.0.3" } as const
