/** What every declaration must state, and only once: codes used in journals, who sends, and with which requests. */
import { describe, expect, test } from "vitest"
import type { Fields } from "../../src/operations/Field.js"
import { Principal } from "../../src/operations/Header.js"
import {
  all,
  capabilities,
  declarations,
  lookedUp,
  lookupNames,
  of,
  ofCode,
  Operation,
  requestOf
} from "../../src/operations/Operations.js"

/** The fields that name an account or something of one, or hold its texts. Lists of opened things state that themselves. */
const toldOf = (fields: Fields): ReadonlyArray<string> =>
  Object.entries(fields).flatMap(([name, { mark, shape }]) => {
    if (shape.type === "record") return toldOf(shape.fields)
    if (shape.type === "list") return shape.owner === "opened_account" ? [] : toldOf(shape.fields)
    const isTold = shape.type === "text" ? mark !== "plain" : mark === "account" || mark === "order" || mark === "transfer"
    return isTold ? [name] : []
  })

const requests = all.flatMap((declaration) =>
  Object.entries(declaration.requests).map(([name, request]) => ({ name, ...request, declaration }))
)

/** Codes used in journals: a new command gets a code of its own, which is entered here, and no code ever changes. */
const journaled: Readonly<Record<string, number>> = {
  PlaceOrders: 1,
  CancelOrders: 2,
  OpenVenue: 3,
  PutMarket: 4,
  SetMarketStatus: 5,
  SetIndexPrice: 6,
  HaltEngine: 7,
  ResumeEngine: 8,
  OpenDemoAccounts: 9,
  AmendOrder: 10,
  CancelAllOrders: 11,
  SetCancelAllAfter: 12,
  FenceOutcome: 13,
  PassTime: 14,
  StartVenue: 15,
  SetDisplayHandle: 16,
  CancelByOperator: 17,
  MarkTick: 18,
  SetLeverage: 19,
  SetAutoClose: 20,
  SetMarketSession: 21,
  DelistMarket: 22,
  SetLimits: 23,
  AddToFund: 25,
  OpenOwnerAccount: 26,
  SignIn: 27,
  AddPasskey: 28,
  RemovePasskey: 29,
  EndSession: 30,
  ApproveAgent: 31,
  DenyAgent: 32,
  ExchangeGrant: 33,
  RevokeApiKey: 34,
  NoteSecurity: 35,
  MintTicket: 36,
  RotateTicket: 37,
  EndTickets: 38,
  IssueBotKey: 39,
  NoteKeyUses: 40,
  SetFavorite: 41,
  RegisterAffiliate: 42,
  SetAccountFlags: 43,
  CreditAccount: 44,
  RequestDeposit: 45,
  RequestWithdrawal: 46,
  RequestPartyChange: 47,
  CancelTransfer: 48,
  ApproveStep: 49,
  BindParty: 50,
  PrepareStep: 51,
  BeginSubmission: 52,
  NoteSubmission: 53,
  NoteCompletion: 54,
  NoteScan: 55,
  RejectStep: 56,
  NoteLedgerOffset: 57,
  StopWithdrawals: 58,
  AllowWithdrawals: 59,
  ProvePasskey: 60,
  ArmConnection: 61,
  EndConnection: 62,
  RevokeKeyByOperator: 63
}

const journaledRequests: Readonly<Record<string, number>> = {
  placeV1: 1,
  placeBatchV1: 2,
  placeV2: 3,
  placeBatchV2: 4,
  cancelV1: 5,
  cancelBatchV1: 6,
  cancelV2: 7,
  amendV1: 8,
  cancelAllV1: 9,
  cancelAllV2: 10,
  cancelAllAfterV1: 11,
  fenceV1: 12,
  setDisplayHandleV1: 13,
  setLeverageV1: 14,
  setAutoCloseV1: 15,
  cancelAutoCloseV1: 16,
  cancelTriggersV1: 17,
  putMarket: 20,
  setMarketStatus: 21,
  setIndexPrice: 22,
  haltEngine: 23,
  resumeEngine: 24,
  openDemoAccounts: 25,
  cancelByOperator: 26,
  delistMarket: 28,
  withdrawDelisting: 29,
  addToFund: 30,
  setLimits: 33,
  openOwnerAccount: 40,
  signIn: 41,
  addPasskey: 42,
  removePasskey: 43,
  endSession: 44,
  approveAgent: 45,
  denyAgent: 46,
  exchangeGrant: 47,
  revokeApiKey: 48,
  mintTicket: 50,
  rotateTicket: 51,
  endTickets: 52,
  issueBotKey: 53,
  addFavorite: 54,
  removeFavorite: 55,
  registerAffiliate: 56,
  setAccountFlags: 57,
  creditAccount: 58,
  requestDeposit: 59,
  requestWithdrawal: 60,
  requestPartyChange: 61,
  cancelTransfer: 62,
  approveStep: 63,
  stopWithdrawals: 64,
  allowWithdrawals: 65,
  provePasskey: 70,
  armConnection: 71,
  revokeKeyByOperator: 72
}

/** Codes of commands and requests that are gone, which journals may still hold: so far there are none. Gaps above were never used. */
const retired = { commands: new Set<number>(), requests: new Set<number>() }

describe("the declarations", () => {
  test("are of every capability, each under its own kind, and found by kind and code", () => {
    expect(Object.keys(declarations)).toEqual(Object.values(capabilities).flatMap((operations) => Object.keys(operations)))
    for (const [kind, declaration] of Object.entries(declarations)) {
      expect(declaration.kind).toBe(kind)
      expect(of(declaration)).toBe(declaration)
      expect(ofCode(declaration.code)).toBe(declaration)
    }
    expect(ofCode(0)).toBe(undefined)
    expect(ofCode(255)).toBe(undefined)
  })

  test("have codes from 1 to 255, each but once, and those that journals hold", () => {
    expect(new Set(all.map(({ code }) => code)).size).toBe(all.length)
    for (const { code } of all) expect(Number.isInteger(code) && code >= 1 && code <= 255 && !retired.commands.has(code)).toBe(true)
    expect(Object.fromEntries(all.map(({ code, kind }) => [kind, code]))).toEqual(journaled)
  })

  test("have labels of their own, in plain words", () => {
    expect(new Set(all.map(({ label }) => label)).size).toBe(all.length)
    for (const { label } of all) expect(label).toMatch(/^[a-z][a-z -]+$/)
  })

  test("have request codes from 1 to 99, each but once, below the scopes of fences, and those that journals hold", () => {
    expect(new Set(requests.map(({ code }) => code)).size).toBe(requests.length)
    expect(new Set(requests.map(({ name }) => name)).size).toBe(requests.length)
    for (const { code, declaration, name } of requests) {
      expect(code >= 1 && code < 100 && !retired.requests.has(code)).toBe(true)
      expect(requestOf(code)).toMatchObject({ name, declaration })
    }
    expect(Operation).toEqual(journaledRequests)
  })

  test.each(all.map((declaration) => [declaration.kind, declaration] as const))(
    "%s says whose it is wherever it names an account, or says of one what others are not told",
    (_, { fields, principals, whose }) => {
      const clients: ReadonlyArray<Principal> = [Principal.key, Principal.session]
      // Commands of clients, and only those, name the account in their header.
      expect(principals.map((principal) => clients.includes(principal))).toEqual(principals.map(() => whose === "sender"))
      if (typeof whose === "object") {
        const { mark, shape } = fields[whose.field]!
        const isNumber = whose.names === "account" || whose.names === "transfer"
        if (isNumber) expect(mark).toBe(whose.names)
        expect(shape.type).toBe(isNumber || whose.names === "ticket_family" ? "whole" : "text")
      }
      if (whose === "nobody") expect(toldOf(fields)).toEqual([])
    }
  )

  test.each(all.map((declaration) => [declaration.kind, declaration] as const))(
    "%s is sent, permitted and keyed in a way that fits together",
    (kind, {
      keyScope,
      permission,
      principals,
      requests
    }) => {
      if (permission === "owner" || permission === "proof") {
        // A command with a proof has no key, since a proof is valid once. An owner's request for money has one.
        expect(keyScope).toBe(kind.startsWith("Request") ? "account" : "none")
        expect(Object.values(requests).map(({ lookup }) => lookup !== null)).toEqual([keyScope === "account"])
        expect(principals).toHaveLength(1)
        const owners = new Set<Principal>([Principal.session])
        const proofs = new Set<Principal>([Principal.passkey, Principal.agent, Principal.ticket])
        expect((permission === "owner" ? owners : proofs).has(principals[0]!)).toBe(true)
        return
      }
      const byClients = principals.some((principal) => principal === Principal.key || principal === Principal.session)
      expect(principals.length).toBeGreaterThan(0)
      expect(new Set(principals).size).toBe(principals.length)
      if (keyScope === "account") expect(byClients).toBe(true)
      // A command without requests has no key, nor has one that is proved each time or has the same effect however often it is sent.
      if (Object.keys(requests).length === 0) expect(keyScope).toBe("none")
      expect(permission === "internal").toBe(Object.keys(requests).length === 0)
      expect(permission === "operator").toBe(principals.includes(Principal.operator))
      if (keyScope === "account") {
        // A key and the signed-in owner may do the same, and nobody else may do it for them.
        expect([...principals].sort()).toEqual([Principal.key, Principal.session])
        expect(permission).toBe("trade")
      } else {
        for (const { lookup } of Object.values(requests)) expect(lookup).toBe(null)
      }
    }
  )

  test("can be looked up by a client under names of their own: everything it sends but fences", () => {
    const names = requests.flatMap(({ lookup }) => lookup === null ? [] : [lookup])
    expect(new Set(names).size).toBe(names.length)
    expect(lookedUp).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 59, 60, 61])
    expect(lookupNames).toEqual(lookedUp.map((operation) => requests.find(({ code }) => code === operation)!.lookup))
    for (const { declaration, lookup } of requests)
      expect(lookup !== null).toBe(declaration.keyScope === "account" && declaration.kind !== "FenceOutcome")
  })
})
