/** Settings whose values must stay secret: only their lengths are shown, and logs never contain them. */
export const secretSettings: ReadonlyArray<string> = ["OPERATOR_TOKEN", "SIGNER_SECRET", "SIGNER_TOKEN", "LEDGER_TOKEN"]
