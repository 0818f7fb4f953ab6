/** The account that a command belongs to: its sender, or the owner of something that it names. */
import * as Ids from "../domain/Ids.js"
import { none } from "../domain/None.js"
import type { State } from "../engine/State.js"
import type { Lead } from "../operations/Operation.js"
import { type Command, of } from "../operations/Operations.js"

/** Finds the account for each kind of value that can identify one; undefined where the value identifies none. */
export type Leads = { readonly [L in Lead]: (value: never) => number | undefined }

/** The lookups in a state. A thing that a command removes can be found only before its record, and one that it creates only after it. */
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

/** The account that a command belongs to, whoever sent it; -1 where there is none, or where its own record opens the account. */
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

/** Whether a command's record opens the account with this id as its own. */
export const opens = (command: Command, sequence: number, accountId: string): boolean =>
  of(command).whose === "opened_account" && Ids.accountId(Ids.ordinal(sequence, 0)) === accountId
