/** How many agents are known at a time, of whom, and who makes room for whom. */
import { expect, test } from "vitest"
import { AgentConnect, waitMs, type Waiting } from "../../src/identity/AgentConnect.js"

const atEpochMs = 1_700_000_000_000
const asked = { clientName: "maker", scopes: 1, keyLifetimeSeconds: 300, codeChallenge: "challenge" }

const make = () => {
  let drawn = 0
  const bytes = (count: number) => {
    const drawing = Buffer.alloc(count)
    drawing.writeUInt32BE(++drawn)
    return drawing
  }
  const agents = new AgentConnect("secret", { bytes }, 16)
  const begin = (address: string): Waiting => agents.begin(asked, address, atEpochMs).waiting
  /** An agent of an account that has fetched its key. */
  const fetched = (account: number, address = `address of ${account}`): Waiting => {
    const waiting = begin(address)
    agents.decide(waiting, "deciding", account)
    agents.decide(waiting, "approved", account, atEpochMs)
    agents.fetch(waiting.deviceSha256)
    agents.fetched(waiting, `key_${waiting.deviceSha256}`)
    return waiting
  }
  const isKnown = (waiting: Waiting, at = atEpochMs) => agents.findDeniable(waiting.userCode, waiting.account, at) === waiting
  return { agents, begin, fetched, isKnown }
}

test("of an account that lets many agents have keys the latest 64 are known, and no other account's makes room for them", () => {
  const { agents, fetched, isKnown } = make()
  const others = [fetched(1), fetched(2)]
  const own = Array.from({ length: 80 }, () => fetched(7))
  expect(own.map((each) => isKnown(each))).toEqual(own.map((_, at) => at >= 16))
  expect(others.every((each) => isKnown(each))).toBe(true)
  expect(agents.count).toBe(66)
})

test("an agent that has fetched its key keeps no other of its address waiting, and is known until its time is over", () => {
  const { agents, begin, fetched, isKnown } = make()
  const one = fetched(1, "crowd")
  const waiting = Array.from({ length: 16 }, () => begin("crowd"))
  expect([one, ...waiting].every((each) => agents.findDeniable(each.userCode, 1, atEpochMs) === each)).toBe(true)
  begin("crowd")
  expect([one, ...waiting].map((each) => agents.findDeniable(each.userCode, 1, atEpochMs) === each)).toEqual(
    [true, false, ...Array<boolean>(15).fill(true)]
  )
  expect(isKnown(one, atEpochMs + waitMs)).toBe(false)
  agents.begin(asked, "another", atEpochMs + waitMs)
  expect(agents.count).toBe(1)
})

test("in all 16,384 are known beside those that wait, and whoever has most of them loses his oldest", () => {
  const { agents, fetched, isKnown } = make()
  const crowd = Array.from({ length: 64 }, () => fetched(0))
  const single = Array.from({ length: 16_384 - 64 }, (_, at) => fetched(at + 1))
  expect(agents.count).toBe(16_384)
  const late = Array.from({ length: 40 }, (_, at) => fetched(20_000 + at))
  expect(agents.count).toBe(16_384)
  expect([...single, ...late].every((each) => isKnown(each))).toBe(true)
  expect(crowd.filter((each) => isKnown(each))).toEqual(crowd.slice(40))
})

test("an agent that has lost its place while it was decided about is its account's then, or is gone where nothing was decided", () => {
  const { agents, begin, isKnown } = make()
  const approved = begin("crowd")
  const refused = begin("crowd")
  const denied = begin("crowd")
  const fetching = begin("crowd")
  for (const each of [approved, refused, denied]) agents.decide(each, "deciding", 1)
  agents.decide(fetching, "approved", 1, atEpochMs)
  agents.fetch(fetching.deviceSha256)
  for (let count = 0; count < 16; count++) begin("crowd")
  expect(agents.count).toBe(20)
  agents.fetched(fetching, undefined)
  agents.decide(denied, "denied", 1)
  agents.decide(denied, "approved", 1, atEpochMs)
  agents.decide(refused, "pending", 1)
  agents.decide(approved, "approved", 1, atEpochMs)
  for (let count = 0; count < 16; count++) begin("crowd")
  expect([isKnown(approved), isKnown(fetching), agents.findApprovable(refused.userCode, 1, atEpochMs), denied.state]).toEqual([true, true,
    undefined, "denied"])
  expect(agents.count).toBe(19)
  for (let count = 0; count < 64; count++)
    agents.adopt({ ...asked, deviceSha256: `${count}`, account: 1, approvedAtEpochMs: atEpochMs, expiresAtEpochMs: atEpochMs + 1 })
  expect(agents.count).toBe(16 + 64)
})
