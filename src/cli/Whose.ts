/** The account that a command is of: whoever sent it, or whose it is by what it names. */
import * as Ids from "../domain/Ids.js"
import { none } from "../domain/None.js"
import type { State } from "../engine/State.js"
import type { Lead } from "../operations/Operation.js"
import { type Command, of } from "../operations/Operations.js"

/** Finds the account behind a value of each kind by which one is named; undefined where the value leads to none. */
export type Leads = { readonly [L in Lead]: (value: never) => number | undefined }

/** What a state knows of them. What a command ends it may lead to before its record alone, and what it begins behind it alone. */
export const leadsOf = ({ apiKeys, funds: { transfers }, identity: { grants, passkeys, tickets } }: State): Leads => ({
  account: (account: number) => account,
  passkey: (credentialId: string) => passkeys.find(credentialId)?.account,
  grant: (deviceSha256: string) => grants.find(deviceSha256)?.account,
  api_key: (keyId: string) => {
    const key = apiKeys.find(keyId)
    return key === none ? undefined : apiKeys.account(key)
  },
  ticket_family: (family: number) => tickets.find(family)?.account,
  transfer: (transfer: number) => transfers.find(transfer)?.account,
  ledger_command: (commandId: string) => transfers.find(transfers.ofCommand(commandId)?.transfer ?? none)?.account
})

/** The account that a command is of, which may have sent it or not; -1 for nobody, and for the account that its record opens. */
export const accountOf = (command: Command, leads: Leads): number => {
  const { whose } = of(command)
  switch (whose) {
    case "sender":
    case "nobody":
    case "opened_account":
      return command.account
    default:
      return leads[whose.names]((command as unknown as Readonly<Record<string, unknown>>)[whose.field] as never) ?? none
  }
}

/** Whether the record of a command opens the account of an id to be its own. */
export const opens = (command: Command, sequence: number, accountId: string): boolean =>
  of(command).whose === "opened_account" && Ids.accountId(Ids.ordinal(sequence, 0)) === accountId
