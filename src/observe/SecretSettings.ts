/** Settings whose values nobody but their owner may read: of these only the length is said, and no log has them. */
export const secretSettings: ReadonlyArray<string> = ["OPERATOR_TOKEN", "SIGNER_SECRET", "SIGNER_TOKEN", "LEDGER_TOKEN"]
