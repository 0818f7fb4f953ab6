/** Where a venue runs: what is generated, made up or opened for everybody is so in development alone. */
export const environments = ["development", "testnet", "staging", "production"] as const
export type Environment = (typeof environments)[number]
