/**
 * Compares snapshots with replay: the state in a snapshot and the state that the journal yields up to the same sequence, thing by thing
 * under readable names.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as Context from "effect/Context"
import * as Ids from "../../domain/Ids.js"
import * as Snapshot from "../../engine/Snapshot.js"
import type { Capacity, State } from "../../engine/State.js"
import type * as Block from "../../journal/Block.js"
import type { DiskError } from "../../journal/Disk.js"
import type { Unknown, Unreadable } from "../../journal/Journal.js"
import type { SnapshotStore, Stored } from "../../journal/SnapshotStore.js"
import { applyBlock, type Diverged } from "../../sequencer/Recovery.js"
import { stateDigest } from "../../sequencer/StateDigest.js"
import { begin, type Source } from "./Follow.js"

/** The differences among things of one kind. */
export interface Group {
  readonly name: string
  /** One line for each: the thing, and its values in the snapshot and in the replay. */
  readonly lines: ReadonlyArray<string>
}

/** The result for one snapshot. */
export interface Finding {
  readonly sequence: number
  /** `differs`: the snapshot belongs to this block but holds another state; `unusable`: why there is nothing to compare. */
  readonly found: "equal" | "differs" | "unusable"
  readonly detail: string
  readonly groups: ReadonlyArray<Group>
}

type SnapshotsService = Context.Tag.Service<typeof SnapshotStore>

/**
 * Compares the snapshots at `sequences`, which are ascending and were listed before the journal was opened. Replays no further than the
 * last.
 */
export const compareAll = (
  journal: Source,
  snapshots: SnapshotsService,
  sequences: ReadonlyArray<number>,
  capacity: Capacity,
  progress: (block: Block.Block) => void
): Effect.Effect<ReadonlyArray<Finding>, Unreadable | Unknown | DiskError | Diverged> =>
  Effect.gen(function*() {
    const engine = yield* begin(journal, capacity)
    const findings: Array<Finding> = []
    const pending = [...sequences]

    const onBlock = Effect.fnUntraced(function*(block: Block.Block) {
      const diverged = applyBlock(engine, block)
      if (diverged !== undefined) return yield* diverged
      while (pending.length > 0 && pending[0]! <= block.lastSequence) {
        const sequence = pending.shift()!
        findings.push(
          sequence === block.lastSequence
            ? yield* compareOne(snapshots, sequence, block, engine.state, capacity)
            : unusable(sequence, "no block ends there")
        )
      }
      progress(block)
      return pending.length > 0
    })

    if (pending.length > 0 && journal.opened.nextSequence > 1) {
      yield* journal.replay(engine.sequence + 1).pipe(
        Stream.mapEffect(onBlock),
        Stream.takeWhile((more) => more),
        Stream.runDrain
      )
    }
    for (const sequence of pending) findings.push(unusable(sequence, "the journal ends before it"))
    return findings
  })

const unusable = (sequence: number, detail: string): Finding => ({ sequence, found: "unusable", detail, groups: [] })

const compareOne = Effect.fnUntraced(function*(
  snapshots: SnapshotsService,
  sequence: number,
  block: Block.Block,
  replayed: State,
  capacity: Capacity
) {
  const stored = yield* snapshots.load(sequence).pipe(
    Effect.catchIf((error) => error.code === "ENOENT", () => Effect.succeed("it was removed meanwhile"))
  )
  if (typeof stored === "string") return unusable(sequence, stored)
  if (Buffer.compare(stored.blockDigest, block.digest) !== 0) return unusable(sequence, "it names another block")
  const loaded = load(stored, capacity)
  if (typeof loaded === "string") {
    const detail = `it cannot be loaded: ${loaded}`
    const differing = differingSections(stored.sections, Snapshot.encode(replayed))
    return { sequence, found: "differs" as const, detail, groups: [{ name: "Sections that differ", lines: differing }] }
  }
  const expected = stateDigest(replayed)
  const held = stateDigest(loaded)
  if (held === expected) return { sequence, found: "equal" as const, detail: expected, groups: [] }
  const detail = `it holds ${held}, and replay comes to ${expected}`
  return { sequence, found: "differs" as const, detail, groups: compare(loaded, replayed) }
})

const load = ({ schema, sections }: Stored, capacity: Capacity): State | string => {
  if (!Snapshot.isKnown(schema)) return `it is of schema ${schema}, which this version cannot read`
  try {
    return Snapshot.unsafeDecode(Snapshot.migrate(sections, schema), capacity)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const differingSections = (
  held: ReadonlyArray<Snapshot.Section>,
  expected: ReadonlyArray<Snapshot.Section>
): ReadonlyArray<string> => {
  const other = new Map(held.map(({ bytes, name }) => [name, bytes]))
  const names = new Set(expected.map(({ name }) => name))
  return [
    ...expected.flatMap(({ bytes, name }) => {
      const found = other.get(name)
      if (found === undefined) return [`${name}: missing in the snapshot`]
      if (Buffer.compare(found, bytes) === 0) return []
      return [`${name}: ${found.length} bytes in the snapshot, ${bytes.length} in replay`]
    }),
    ...held.flatMap(({ name }) => names.has(name) ? [] : [`${name}: only in the snapshot`])
  ]
}

/** The differences between two states, in groups; empty where they are the same. */
export const compare = (snapshot: State, replayed: State): ReadonlyArray<Group> => {
  const [held, expected] = [contentOf(snapshot), contentOf(replayed)]
  return [
    ...groupNames.map((name) => ({
      name,
      lines: compareThings(held.things.get(name) ?? new Map(), expected.things.get(name) ?? new Map())
    })),
    { name: "Lists of orders", lines: compareLists(held.lists, expected.lists) }
  ].filter(({ lines }) => lines.length > 0)
}

/** In the order in which a reader would look. */
const groupNames = [
  "Venue",
  "Markets",
  "Accounts",
  "Positions",
  "Orders",
  "Books",
  "Fills",
  "API keys",
  "Who may act",
  "Money on the ledger",
  "Idempotency keys"
] as const
type GroupName = (typeof groupNames)[number]

/** A thing's values in a state, by name. */
type Fields = ReadonlyMap<string, string>

/** The form of a canonical line: the group of its thing, how many words after the first name it, and its fields' names. */
interface Shape {
  readonly group: GroupName
  readonly name: (words: ReadonlyArray<string>, state: State) => string
  readonly naming: number
  readonly fields: ReadonlyArray<string>
}

const accountName = (state: State, account: string | undefined): string => {
  const index = Number(account)
  return index >= 0 && index < state.accounts.count ? Ids.accountId(state.accounts.born(index)) : `account ${account}`
}

const marketName = (state: State, market: string | undefined): string =>
  state.markets[Number(market)]?.parameters.marketId ?? `market ${market}`

/** Lines that consist of words, in the order of `Snapshot.canonical`. */
export const shapes: Readonly<Record<string, Shape>> = {
  totals: {
    group: "Venue",
    name: () => "totals",
    naming: 0,
    fields: ["feesAtoms", "creditedAtoms", "fundingPoolAtoms"]
  },
  account: {
    group: "Accounts",
    name: ([account], state) => accountName(state, account),
    naming: 1,
    fields: ["born", "collateralAtoms", "lastSequence", "evicted"]
  },
  switch: {
    group: "Accounts",
    name: ([account], state) => `dead-man switch of ${accountName(state, account)}`,
    naming: 1,
    fields: ["cancelAllAtEpochMs"]
  },
  position: {
    group: "Positions",
    name: ([account, market], state) => `${accountName(state, account)} in ${marketName(state, market)}`,
    naming: 2,
    fields: [
      "quantityAtoms",
      "entryNotionalAtoms",
      "realizedPnlAtoms",
      "feesPaidAtoms",
      "born",
      "openedAtEpochMs",
      "lastSequence",
      "openBuysAtoms",
      "openSellsAtoms",
      "reduceBuysAtoms",
      "reduceSellsAtoms",
      "openCount",
      "fundingEpoch",
      "fundingPaidAtoms",
      "triggerAtoms"
    ]
  },
  liquidation: {
    group: "Accounts",
    name: ([account], state) => `liquidation of ${accountName(state, account)}`,
    naming: 1,
    fields: ["nextLookEpochMs", "firstPartEpochMs", "lastPartSecond"]
  },
  handle: {
    group: "Accounts",
    name: ([account], state) => `display handle of ${accountName(state, account)}`,
    naming: 1,
    fields: ["displayHandle"]
  },
  leaving: {
    group: "Accounts",
    name: ([account], state) => `orders that leave of ${accountName(state, account)}`,
    naming: 1,
    fields: ["before", "reason"]
  },
  connection: {
    group: "Accounts",
    name: ([connection]) => `connection ${connection}`,
    naming: 1,
    fields: ["account", "isEnded"]
  },
  connected: {
    group: "Orders",
    name: ([number]) => `connection of ${Ids.orderId(Number(number))}`,
    naming: 1,
    fields: ["connection"]
  },
  leverage: {
    group: "Positions",
    name: ([account, market], state) => `leverage of ${accountName(state, account)} in ${marketName(state, market)}`,
    naming: 2,
    fields: ["leverageX"]
  },
  bracket: {
    group: "Positions",
    name: ([number]) => Ids.triggerId(Number(number)),
    naming: 1,
    fields: [
      "account",
      "market",
      "direction",
      "quantityAtoms",
      "cameWithOrder",
      "isOrderOpen",
      "againAtEpochMs",
      "createdAtEpochMs",
      "lastSequence",
      "takeProfitAtoms",
      "takeProfitBy",
      "takeProfitLimitAtoms",
      "stopLossAtoms",
      "stopLossBy",
      "stopLossLimitAtoms"
    ]
  },
  reached: {
    group: "Markets",
    name: ([heap], state) => `triggers that have fired in ${marketName(state, String(Math.floor(Number(heap) / 6)))}, heap ${heap}`,
    naming: 1,
    fields: ["to"]
  },
  order: {
    group: "Orders",
    name: ([number]) => Ids.orderId(Number(number)),
    naming: 1,
    fields: [
      "account",
      "market",
      "flags",
      "priceAtoms",
      "quantityAtoms",
      "remainingAtoms",
      "filledAtoms",
      "filledNotionalAtoms",
      "canceledAtoms",
      "createdAtEpochMs",
      "updatedAtEpochMs",
      "lastSequence",
      "clientOrderId",
      "idempotencyKey",
      "expiresAtEpochMs"
    ]
  }
}

interface Content {
  readonly things: ReadonlyMap<GroupName, ReadonlyMap<string, Fields>>
  /** For each list, by name, its orders in sequence. */
  readonly lists: ReadonlyMap<string, ReadonlyArray<string>>
}

/** A state's contents, from the lines of its canonical form. */
const contentOf = (state: State): Content => {
  const things = new Map<GroupName, Map<string, Fields>>()
  const lists = new Map<string, Array<string>>()
  const put: Put = (group, name, fields) => {
    const others = things.get(group)
    if (others === undefined) things.set(group, new Map([[name, fields]]))
    else others.set(name, fields)
  }
  const listed = (list: string, member: string) => {
    const members = lists.get(list)
    if (members === undefined) lists.set(list, [member])
    else members.push(member)
  }
  let owner = ""
  Snapshot.canonical(state, (line) => {
    const space = line.indexOf(" ")
    const kind = line.slice(0, space)
    const rest = line.slice(space + 1)
    const words = rest.split(" ")
    const shape = shapes[kind]
    if (shape !== undefined) {
      const name = shape.name(words, state)
      // The lists of an account's orders follow the line of its dead-man switch.
      if (kind === "switch") owner = accountName(state, words[0])
      put(shape.group, name, fieldsOf(words.slice(shape.naming), shape.fields))
    } else if (kind === "own") listed(`all orders of ${owner}`, orderName(words[0]))
    else if (kind === "open") listed(`open orders of ${owner} in ${marketOfOrder(state, words[0])}`, orderName(words[0]))
    else if (kind === "ended") listed("ended orders, oldest first", orderName(words[0]))
    else if (kind === "resting") {
      const [market, side, priceAtoms, number, remainingAtoms] = words
      const book = `${marketName(state, market)} ${side === "0" ? "bids" : "asks"}`
      put("Books", `${book} ${orderName(number)}`, new Map([["priceAtoms", priceAtoms!], ["remainingAtoms", remainingAtoms!]]))
      listed(`${book}, best first`, orderName(number))
    } else if (kind === "log") put("Venue", `published ${words[0]}`, new Map([["rows", words.slice(1).join(" ")]]))
    else if (kind === "fundings") put("Markets", `funding of ${marketName(state, words[0])}`, new Map([["rows", words.slice(1).join(" ")]]))
    else if (kind === "marks") put("Markets", `marks of ${marketName(state, words[0])}`, new Map([["rows", words.slice(1).join(" ")]]))
    else if (kind === "venue") put("Venue", "venue", parse(rest))
    else if (kind === "market") putMarket(put, rest)
    else if (kind === "fill") {
      const fill = parse(rest)
      put("Fills", `fill ${fill.get("ordinal") ?? rest}`, fill)
    } else if (kind === "key" && rest.startsWith("{")) {
      const key = parse(rest, ["secretSha256"])
      put("API keys", key.get("keyId") ?? "a key without an id", key)
    } else if (kind === "keys") put("API keys", "numbers", new Map([["issued", words[0]!], ["kept", words.slice(1).join(" ")]]))
    else if (kind === "key") putKey(put, words, rest, state)
    else if (kind in fundsShapes) putFunds(put, kind, rest, state)
    else putIdentity(put, kind, rest, state)
  })
  return { things, lists }
}

const marketOfOrder = (state: State, number: string | undefined): string => {
  const slot = state.orders.find(Number(number))
  return marketName(state, slot < 0 ? undefined : String(state.orders.market(slot)))
}

type Put = (group: GroupName, name: string, fields: Fields) => void

const orderName = (number: string | undefined): string => Ids.orderId(Number(number))

const fieldsOf = (values: ReadonlyArray<string>, names: ReadonlyArray<string>): Fields =>
  new Map(values.map((value, index) => [names[index] ?? `field ${index + 1}`, value]))

/** The members of a JSON object as text, without the secret ones. */
const parse = (json: string, secret: ReadonlyArray<string> = []): Map<string, string> =>
  new Map(
    Object.entries(JSON.parse(json) as object)
      .filter(([name]) => !secret.includes(name))
      .map(([name, value]: [string, unknown]) => [name, typeof value === "string" ? value : JSON.stringify(value)])
  )

/** The members that name each identity record, and those that are never shown: digests of secrets that only the holder has. */
const identityShapes: Readonly<Record<string, { readonly named: ReadonlyArray<string>; readonly secret: ReadonlyArray<string> }>> = {
  passkey: { named: ["credentialId"], secret: ["publicKey", "userHandle"] },
  session: { named: ["number"], secret: ["tokenSha256"] },
  grant: { named: ["account", "approvedAtEpochMs", "clientName"], secret: ["deviceSha256", "codeChallenge"] },
  family: { named: ["family"], secret: [] },
  security: { named: ["account", "ordinal"], secret: [] }
}

/** An identity record: a JSON object, or a number that names it followed by words. */
const putIdentity = (put: Put, kind: string, rest: string, state: State): void => {
  if (!rest.startsWith("{")) {
    const [named = "", ...words] = rest.split(" ")
    return put("Who may act", words.length === 0 ? kind : `${kind} ${named}`,
      new Map([["is", words.length === 0 ? named : words.join(" ")]]))
  }
  const { named, secret } = identityShapes[kind] ?? { named: [], secret: [] }
  const fields = parse(rest, secret)
  const account = fields.get("account")
  const name = named.map((member) => member === "account" ? accountName(state, account) : fields.get(member)).join(" ")
  put("Who may act", `${kind} ${name}`, fields)
}

/** How each funds record is named. */
const fundsShapes: Readonly<Record<string, (fields: Fields, state: State) => string>> = {
  funds: () => "totals",
  transfer: (fields) => `transfer ${fields.get("number")}`,
  party: (fields, state) => `party of ${accountName(state, fields.get("account"))}`,
  transfers: () => "transfers in line"
}

/** A JSON object, or a queue of transfers. Prepared transactions and approvals are not shown. */
const putFunds = (put: Put, kind: string, rest: string, state: State): void => {
  if (!rest.startsWith("{")) {
    const [what = "", ...numbers] = rest.split(" ")
    return put("Money on the ledger", `transfers ${what}`, new Map([["are", numbers.join(" ")]]))
  }
  const fields = parse(rest)
  const steps = fields.get("steps")
  if (steps !== undefined) fields.set("steps", withoutBytes(steps))
  put("Money on the ledger", fundsShapes[kind]!(fields, state), fields)
}

const bytesOfSteps: ReadonlySet<string> = new Set(["preparedTransaction", "clientData", "authenticatorData", "signature", "nonce"])

const withoutBytes = (steps: string): string =>
  JSON.stringify(JSON.parse(steps), (name, value: unknown) => bytesOfSteps.has(name) ? undefined : value)

/** A market's record, followed by its minutes as numbers. */
const putMarket = (put: Put, rest: string): void => {
  const end = rest.lastIndexOf("}") + 1
  const dump = JSON.parse(rest.slice(0, end)) as { readonly parameters: { readonly marketId: string } }
  const { parameters, ...others } = dump
  const fields = new Map([...parse(JSON.stringify(others)), ...parse(JSON.stringify(parameters))])
  put("Markets", parameters.marketId, fields.set("minutes", rest.slice(end + 1)))
}

/** A remembered key: account, key digest, body digest, the time it was queued, and the outcome. */
const putKey = (put: Put, words: ReadonlyArray<string>, rest: string, state: State): void => {
  const digest = words.slice(1, 5).join(" ")
  const owner = words[0] === "-1" ? "the operator" : accountName(state, words[0])
  const outcome = parse(rest.slice(rest.indexOf("{")))
  const name = `${owner}, key with digest ${digest}`
  put("Idempotency keys", name, new Map([["body", words.slice(5, 9).join(" ")], ["queuedAtEpochMs", words[9]!], ...outcome]))
}

const compareThings = (held: ReadonlyMap<string, Fields>, expected: ReadonlyMap<string, Fields>): ReadonlyArray<string> => [
  ...[...held].flatMap(([name, fields]) => {
    const other = expected.get(name)
    return other === undefined ? [`${name}: only in the snapshot (${draw(fields)})`] : compareFields(name, fields, other)
  }),
  ...[...expected].flatMap(([name, fields]) => held.has(name) ? [] : [`${name}: only in replay (${draw(fields)})`])
]

const compareLists = (
  held: ReadonlyMap<string, ReadonlyArray<string>>,
  expected: ReadonlyMap<string, ReadonlyArray<string>>
): ReadonlyArray<string> =>
  [...new Set([...held.keys(), ...expected.keys()])].flatMap((name) => {
    const [one, other] = [held.get(name) ?? [], expected.get(name) ?? []]
    let place = 0
    while (place < one.length && one[place] === other[place]) place++
    if (place === one.length && place === other.length) return []
    return [
      `${name}: ${one.length} in the snapshot, ${other.length} in replay; first at place ${place + 1}, `
      + `${one[place] ?? absentField} in the snapshot, ${other[place] ?? absentField} in replay`
    ]
  })

const absentField = "nothing"

const compareFields = (name: string, held: Fields, expected: Fields): ReadonlyArray<string> => {
  const names = new Set([...held.keys(), ...expected.keys()])
  return [...names].flatMap((field) => {
    const [one, other] = [held.get(field) ?? absentField, expected.get(field) ?? absentField]
    return one === other ? [] : [`${name}: ${field} ${shorten(one)} in the snapshot, ${shorten(other)} in replay`]
  })
}

/** The longest text of a field that is shown, in characters. */
const longest = 120

const shorten = (text: string): string => text.length <= longest ? text === "" ? "empty" : text : `${text.slice(0, longest)}...`

const draw = (fields: Fields): string => shorten([...fields].map(([name, value]) => `${name} ${value}`).join(", "))
