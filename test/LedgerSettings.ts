/** Settings that name a ledger and its token, as a signer outside development needs them all. */
export const ofLedger = {
  LEDGER_USER_ID: "venue",
  LEDGER_SYNCHRONIZER_ID: "global::1220ab",
  LEDGER_CUSTODY_PACKAGE_ID: "a".repeat(64),
  LEDGER_TOKEN_PACKAGE_ID: "b".repeat(64),
  LEDGER_TOKEN_ADMIN: `issuer::1220${"c".repeat(64)}`,
  LEDGER_TOKEN_ID: "USDC"
}
