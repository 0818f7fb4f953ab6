/** The chapters of the contract, in the order in which the reference lists them. Every route belongs to one. */

interface Chapter {
  readonly title: string
  readonly text: string
}

export const tags = {
  orders: {
    title: "Orders",
    text: "A response tells what was decided and made durable, with the fills of that same decision. "
      + "A batch is one writer turn: an entry that is refused changes no other."
  },
  safety: {
    title: "When an answer is lost",
    text: "Repeat the same request with the same `Idempotency-Key`: it gets the original answer. Where that is not possible, "
      + "look the outcome up; where a late original must do nothing, fence it. The dead-man switch cancels for a client that fell silent."
  },
  accounts: {
    title: "Accounts",
    text: "Everything an account has. Listings are newest first; `nextCursor` is null at the end. "
      + "What arrives while paging neither hides nor repeats an entry."
  },
  identity: {
    title: "Who may act",
    text: "An account is opened with a passkey, and its owner signs in with one. What is an owner's alone (passkeys, keys, agents) no "
      + "API key reaches: 403 `passkey_required`. An agent gets a key by asking its owner for one."
  },
  funds: {
    title: "Deposits and withdrawals",
    text: "The owner's alone. Money moves on an external ledger, step by step, and each step is approved by a passkey for exactly one "
      + "transaction: `confirm` with `initiate` asks for the approval that is due, `complete` gives it. Both may be repeated, whatever "
      + "answer was lost; a deposit is credited once, when the ledger has confirmed its last step."
  },
  solvency: {
    title: "Solvency",
    text: "For anybody to check: what the venue owes at a sequence against what its treasury holds on the ledger, and a Merkle sum tree "
      + "over all balances and what withdrawals hold. An owner gets the path that shows theirs under its root. It shows what is counted, "
      + "not that nobody was left out: the more owners check theirs, and compare the root with others', the less can be hidden."
  },
  markets: { title: "Markets", text: "Public market data; no credential." },
  compatOrders: {
    title: "Compatibility: trading",
    text: "Exchange-library vocabulary: symbols, JSON numbers exactly on the market's grid, library error names. "
      + "A placement answers the thin view (`open`, `filled` 0); read the order for what became of it. "
      + "Listings are oldest first: with `since` the first `limit` from there, without it the latest `limit`."
  },
  compatMarkets: {
    title: "Compatibility: market data",
    text: "Public; no credential. Symbols in paths are URL-encoded."
  },
  operator: {
    title: "Operator",
    text: "Journaled and idempotent like everything else; batches of the index stream by their number. "
      + "Hidden (404) where the venue has no operator token."
  },
  system: { title: "System", text: "No credential. Served also while the venue is starting, stopping or cannot write." }
} satisfies Readonly<Record<string, Chapter>>

/** A chapter's name, as the document tags its endpoints. */
export type Tag = keyof typeof tags
