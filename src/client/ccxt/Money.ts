/** The account's deposits, and what changed its balance. Withdrawals are the owner's alone: no API key reads them. */
import { type Currency, type Dict, type Int, type LedgerEntry, Precise, type Str, type Transaction } from "ccxt"
import { Accounts } from "./Accounts.js"
import * as Description from "./Description.js"

const asset = "USDC"

/** The library's statuses by the venue's. */
const statuses: Readonly<Record<string, string>> = {
  bound: "pending",
  submitted: "pending",
  submitted_unknown: "pending",
  ledger_confirmed: "ok",
  rejected: "failed",
  expired: "canceled"
}

/** The library's kinds of ledger entries by the venue's causes. */
const kinds: Readonly<Record<string, string>> = {
  credit: "transaction",
  realized_pnl: "trade",
  fee: "fee",
  funding: "fee",
  liquidation_fee: "fee",
  takeover_difference: "trade",
  funding_rest: "fee",
  collected_fees: "fee",
  deposit: "transaction",
  withdrawal_reserved: "transaction",
  withdrawal_returned: "transaction"
}

/** What is asked of a listing. */
interface Asked {
  readonly code: Str
  readonly since: Int
  readonly limit: Int
  readonly params: Dict
}

export class Money extends Accounts {
  /**
   * Deposits of all states, oldest first: the first `limit` from `since` on, or the latest. `status` is `pending` until the ledger has
   * confirmed the last step; one that the owner gave up or did not approve in time is `canceled`.
   */
  override async fetchDeposits(
    code: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<Transaction>> {
    const { currency, found } = await this.entries(Description.depositsPath, "deposits", "createdAtEpochMs", { code, since, limit, params })
    return this.parseTransactions(found, currency, since, limit)
  }

  /** One deposit by its id, `dep_...`. */
  async fetchDeposit(id: string, _code: Str = undefined, params: Dict = {}): Promise<Transaction> {
    const target = { accountId: await this.loadAccountId(), depositId: id, ...params }
    return this.parseTransaction(this.asDict(await this.request(Description.depositPath, "private", "GET", target)))
  }

  override parseTransaction(deposit: Dict, _currency?: Currency): Transaction {
    const timestamp = this.safeInteger(deposit, "createdAtEpochMs")
    const partyId = this.safeString(deposit, "partyId")
    const isGivenUp = this.safeString(this.safeDict(deposit, "ledgerOutcome", {}), "guard") === "given_up"
    return {
      info: deposit,
      id: this.safeString(deposit, "depositId"),
      txid: undefined,
      timestamp,
      datetime: this.iso8601(timestamp),
      network: undefined,
      address: partyId,
      addressFrom: partyId,
      addressTo: undefined,
      tag: undefined,
      tagFrom: undefined,
      tagTo: undefined,
      type: "deposit",
      amount: this.ofAtoms(this.safeString(deposit, "amountAtoms", "0")),
      currency: this.safeString(deposit, "asset"),
      status: isGivenUp ? "canceled" : this.safeString(statuses, this.safeString(deposit, "status", "")),
      updated: this.safeInteger(deposit, "updatedAtEpochMs"),
      comment: undefined,
      internal: false,
      fee: undefined
    }
  }

  /**
   * Every change of the account's balance, oldest first: the first `limit` from `since` on, or the latest. `info.cause` says what changed
   * it; `marketId` in `params` leaves out what is of other markets. One record may change the balance several times: no entry has an `id`.
   */
  override async fetchLedger(
    code: Str = undefined,
    since: Int = undefined,
    limit: Int = undefined,
    params: Dict = {}
  ): Promise<Array<LedgerEntry>> {
    const { currency, found } = await this.entries(Description.ledgerPath, "entries", "occurredAtEpochMs", { code, since, limit, params })
    return this.parseLedger(found, currency, since, limit)
  }

  override parseLedgerEntry(entry: Dict, _currency?: Currency): LedgerEntry {
    const timestamp = this.safeInteger(entry, "occurredAtEpochMs")
    const cause = this.safeString(entry, "cause", "")
    const [amount, after] = [this.safeString(entry, "amount", "0"), this.safeString(entry, "balance", "0")]
    return {
      info: entry,
      id: undefined,
      timestamp,
      datetime: this.iso8601(timestamp),
      direction: Precise.stringLt(amount, "0") ? "out" : "in",
      account: this.accountId,
      referenceId: undefined,
      referenceAccount: undefined,
      type: this.safeString(kinds, cause, cause),
      currency: asset,
      amount: this.parseNumber(Precise.stringAbs(amount)),
      before: this.parseNumber(Precise.stringSub(after, amount)),
      after: this.parseNumber(after),
      status: "ok",
      fee: undefined
    }
  }

  /**
   * The entries of one of the account's listings, which the venue lists newest first, oldest first, with the currency that they are asked
   * for: all from `since` on, or the latest. All the venue's money is of one asset.
   */
  private async entries(path: string, name: string, time: string, { code, limit, params, since }: Asked) {
    await this.loadMarkets()
    const currency = code === undefined ? undefined : this.currency(code)
    if (currency !== undefined && currency.code !== asset) return { currency, found: [] }
    const target = { accountId: await this.loadAccountId(), limit: Description.maxPage, ...params }
    return { currency, found: await this.oldestFirst(path, target, { name, time, since, count: limit ?? Description.usuallyListed }) }
  }
}
