/** Passkeys that are removed at the same time: of those that the signer knows one stays, whichever removal is decided first. */
import { Effect } from "effect"
import { expect, test } from "vitest"
import { Refusal } from "../../../src/domain/Refusal.js"
import type { Services } from "../../../src/edge/http/Call.js"
import { removed, withAnotherPinned } from "../../../src/edge/identity/Removal.js"
import { Pinning } from "../../../src/funds/Pinning.js"

/** An account with three passkeys, two of which the signer knows; submitted commands are decided when the test says so. */
const begin = (passkeys: ReadonlyArray<string> = ["laptop", "phone", "tablet"], pinned: ReadonlyArray<string> = ["laptop", "phone"]) => {
  const decisions: Array<(outcome: unknown) => void> = []
  const pinning = new Pinning()
  const services = {
    funds: { accountKeys: () => Effect.succeed({ credentialIds: pinned }), pinning },
    state: {
      party: () => ({}),
      accountId: () => "acc_1",
      passkeys: () => passkeys.map((credentialId) => ({ credentialId }))
    },
    submit: (_: unknown, answer: (outcome: unknown) => void) => void decisions.push(answer)
  } as unknown as Services
  const remove = (credentialId: string): Promise<string> =>
    withAnotherPinned(services, 0, credentialId).pipe(
      Effect.zipRight(removed(services, 0, credentialId, {} as never)),
      Effect.match({ onFailure: ({ description }) => description.name, onSuccess: () => "removed" }),
      Effect.runPromise
    )
  return { decide: (refusal: Refusal) => decisions.shift()!({ refusal, entries: [] }), pinning, remove }
}

test("the second of two is refused while the first is under way", async () => {
  const { decide, remove } = begin()
  const first = remove("laptop")
  expect(await remove("phone")).toBe("LastPinnedPasskey")
  decide(Refusal.none)
  expect(await first).toBe("removed")
})

test("and is taken once the first was refused", async () => {
  const { decide, remove } = begin()
  const first = remove("laptop")
  decide(Refusal.sessionEnded)
  expect(await first).toBe("SessionEnded")
  const second = remove("phone")
  decide(Refusal.none)
  expect(await second).toBe("removed")
})

test("the only one that the signer knows stays, also while the removal of the others is under way and may be refused", async () => {
  const { decide, remove } = begin(["laptop", "phone"], ["laptop"])
  const first = remove("phone")
  expect(await remove("laptop")).toBe("LastPinnedPasskey")
  decide(Refusal.sessionEnded)
  expect(await first).toBe("SessionEnded")
})

test("a removal is answered although a defect kept it from being ended", async () => {
  const { decide, pinning, remove } = begin()
  const first = remove("laptop")
  await Effect.runPromise(Effect.yieldNow())
  pinning.endRemoval = () => {
    throw new Error("a defect")
  }
  expect(() => decide(Refusal.none)).toThrow("a defect")
  expect(await first).toBe("removed")
})
