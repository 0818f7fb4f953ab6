/** The environment a venue runs in. Only in development are secrets generated, test values filled in and routes open to everybody. */
export const environments = ["development", "testnet", "staging", "production"] as const
export type Environment = (typeof environments)[number]
