/** The environment a venue runs in. Only in development are secrets generated, test values filled in and routes open to everybody. */
export const environments = ["development", "testnet", "staging", "production"] as const
export type Environment = (typeof environments)[number]

/** Whether strangers trade in it with what is worth something: its limits may then not be raised at will. */
export const isPublic = (environment: Environment): boolean => environment === "staging" || environment === "production"
