/** What the pages do with the venue's answers: sessions, passkeys, keys, agents, orders. Each test is a browser tab. */
import { describe, expect, test } from "vitest"
import type { ConnectRequest, Order, Session } from "../../src/console/state/Contract.js"
import { intervalMs } from "../../src/console/state/Markets.js"
import type { Answered } from "../../src/console/state/Outside.js"
import { Store } from "../../src/console/state/Store.js"
import { accountId, challenge, later, ok, over, refused, ScriptedOutside, session, startEpochMs } from "./Outside.js"

const account = `/v1/accounts/${accountId}`
const registration = "/v1/auth/passkeys/registration"
const authentication = "/v1/auth/passkeys/authentication"
const current = "/v1/auth/sessions/current"

const opened = (outside: ScriptedOutside): Store => new Store(outside, { page: "portfolio", userCode: "", marketId: "" })

/** A tab with a session. */
const signedIn = (): { readonly outside: ScriptedOutside; readonly store: Store } => {
  const outside = new ScriptedOutside()
  outside.stored = JSON.stringify({ accessToken: "ses_1", accountId, expiresAtEpochMs: startEpochMs + 1_000 })
  return { outside, store: opened(outside) }
}

const token = (store: Store): string | undefined => store.credential.signed.value?.accessToken

describe("a session", () => {
  test("begins with a new account's passkey, and is kept for a reload", async () => {
    const outside = new ScriptedOutside()
      .on(`POST ${registration}/options`, challenge("chl_1"))
      .on(`POST ${registration}/verify`, session("ses_1"))
    const store = opened(outside)
    await store.signIn.createAccount("  My laptop ")
    expect(outside.sent.map(({ body }) => body)).toEqual([
      { displayName: "My laptop" },
      { challengeIdentifier: "chl_1", credential: { id: "credential-1" } }
    ])
    expect(outside.ceremonies).toEqual([["create", { of: "chl_1" }]])
    expect(token(store)).toBe("ses_1")
    expect(token(opened(outside))).toBe("ses_1")
  })

  test("is not asked for a second account where nobody knows whether the first one was opened", async () => {
    const outside = new ScriptedOutside().on(`POST ${registration}/options`, challenge("chl_1"))
    const store = opened(outside)
    const told = async (answer: Answered | undefined) => {
      outside.on(`POST ${registration}/verify`, answer)
      await store.signIn.createAccount("")
      return store.signIn.task.failure.value
    }
    const unknown = {
      message: "It is not known whether the account was opened.",
      advice: "Sign in with the new passkey first. Only if that is refused, create an account.",
      again: false
    }
    const ofAProxy: Answered = { status: 504, requestId: "req_proxy", body: "<html>" }
    for (const answer of [undefined, ofAProxy, refused(500, "internal_error")]) expect(await told(answer)).toMatchObject(unknown)
    // What the venue has refused has opened nothing.
    const busy = refused(503, "overloaded", { retryable: true, recoveryActions: ["wait_and_retry_same_identity"] })
    expect(await told(busy)).toMatchObject({ message: "It is overloaded.", again: true })
    expect(await told(refused(400, "registration_invalid"))).toMatchObject({ message: "It is registration_invalid." })
    // Before the passkey was made there was nothing to open.
    outside.on(`POST ${registration}/options`, undefined)
    await store.signIn.createAccount("")
    expect(store.signIn.task.failure.value?.message).toBe("The venue did not answer.")
  })

  test("begins with a passkey, whichever account it is of", async () => {
    const outside = new ScriptedOutside()
      .on(`POST ${authentication}/options`, challenge("chl_1"))
      .on(`POST ${authentication}/verify`, session("ses_1"))
    const store = opened(outside)
    await store.signIn.signIn()
    expect(outside.sent[0]).toMatchObject({ body: { purpose: "sign_in" }, token: undefined })
    expect(token(store)).toBe("ses_1")
  })

  test("is not begun, nor ended, by what something in between answers in the venue's place", async () => {
    const between = (body: unknown, status = 200) => ({ status, requestId: undefined, body })
    const outside = new ScriptedOutside().on(`POST ${authentication}/options`, between({ challengeIdentifier: "chl_1", options: {} }))
    const store = opened(outside)
    await store.signIn.signIn()
    expect(outside.ceremonies).toEqual([])
    expect(store.signIn.task.failure.value?.message).toContain("Something between you and the venue answered")
    const held = signedIn()
    held.outside.on(`GET ${account}/api-keys`, undefined)
    for (const answer of [between(undefined), between({ key: "gone" }), between(undefined, 204)]) {
      held.outside.on(`DELETE ${account}/api-keys/key_1`, answer)
      expect(await held.store.apiKeys.revoke("key_1")).toBe(false)
      expect(held.store.apiKeys.revoking.failure.value?.message).toContain("Something between you and the venue answered")
    }
  })

  test("a name that is empty is not sent", async () => {
    const outside = new ScriptedOutside().on(`POST ${registration}/options`, refused(503, "overloaded"))
    await opened(outside).signIn.createAccount("  ")
    expect(outside.sent[0]?.body).toEqual({})
  })

  test("does not begin where the prompt is closed, and says so", async () => {
    const outside = new ScriptedOutside().on(`POST ${authentication}/options`, challenge("chl_1"))
    outside.troubles = [{ trouble: { name: "NotAllowedError", code: "ERROR_PASSTHROUGH_SEE_CAUSE_PROPERTY" } }]
    const store = opened(outside)
    await store.signIn.signIn()
    expect(outside.asked).toEqual([`POST ${authentication}/options`])
    expect(store.signIn.task.failure.value?.message).toContain("closed")
    expect([token(store), outside.stored, store.signIn.task.isBusy.value]).toEqual([undefined, undefined, false])
  })

  test.each([
    ["is over", JSON.stringify({ accessToken: "ses_1", accountId, expiresAtEpochMs: startEpochMs })],
    ["is no JSON", "{"],
    ["has no token", JSON.stringify({ accountId, expiresAtEpochMs: startEpochMs + 1 })],
    ["is null", "null"]
  ])("that was kept and %s is none", (_why, stored) => {
    const outside = new ScriptedOutside()
    outside.stored = stored
    expect(token(opened(outside))).toBeUndefined()
    expect(outside.stored).toBeUndefined()
  })

  test("that the venue no longer takes is over here, too, with all that it was shown", async () => {
    const { outside, store } = signedIn()
    outside.on(`GET ${account}/api-keys`, ok({ keys: [] }))
    await store.apiKeys.list.load()
    expect(store.apiKeys.list.value.value).toMatchObject({ keys: [] })
    outside.on(`GET ${account}/api-keys`, over)
    await store.apiKeys.list.load()
    expect(token(store)).toBeUndefined()
    expect(outside.stored).toBeUndefined()
    expect(store.credential.ended.value).toContain("ended")
    expect(store.apiKeys.list.value.value).toBeUndefined()
  })

  test("is not ended by what the venue said to the one before it", async () => {
    const { outside, store } = signedIn()
    const { answer, come } = later()
    outside.on(`GET ${account}/passkeys`, answer)
    const reading = store.passkeys.list.load()
    store.credential.keep({
      version: "session/v1",
      accessToken: "ses_2",
      tokenType: "Bearer",
      accountId,
      expiresAtEpochMs: startEpochMs + 9
    })
    come(over)
    await reading
    expect(token(store)).toBe("ses_2")
  })

  test("is not ended by a passkey that was the wrong one", async () => {
    const { outside, store } = signedIn()
    outside
      .on(`POST ${authentication}/options`, challenge("chl_1"))
      .on(`POST ${registration}/options`, refused(401, "passkey_assertion_invalid"))
    expect(await store.passkeys.add("")).toBe(false)
    expect(token(store)).toBe("ses_1")
    expect(store.passkeys.adding.failure.value?.code).toBe("passkey_assertion_invalid")
  })

  test("ends at once on signing out, and the venue hears of it with the token", async () => {
    const { outside, store } = signedIn()
    const { answer, come } = later()
    outside.on(`DELETE ${current}`, answer)
    const leaving = store.signIn.signOut()
    expect([token(store), outside.stored]).toEqual([undefined, undefined])
    expect(outside.sent[0]).toMatchObject({ token: "ses_1", body: undefined })
    come({ status: 204, requestId: undefined, body: undefined })
    await leaving
    expect(store.credential.ended.value).toBe("You are signed out.")
  })

  test("ends here also where the venue cannot be told, which is said", async () => {
    const { outside, store } = signedIn()
    outside.on(`DELETE ${current}`, undefined)
    await store.signIn.signOut()
    expect(token(store)).toBeUndefined()
    expect(store.credential.ended.value).toContain("could not be told")
  })

  test("that had ended already is signed out of like any other", async () => {
    const { outside, store } = signedIn()
    outside.on(`DELETE ${current}`, over)
    await store.signIn.signOut()
    expect([token(store), store.credential.ended.value]).toEqual([undefined, "You are signed out."])
  })

  test("shows nothing to the next account that was asked for by the one before", async () => {
    const { outside, store } = signedIn()
    const { answer, come } = later()
    outside.on(`GET ${account}/balance`, answer).on(`DELETE ${current}`, ok(undefined))
    const reading = store.portfolio.balance.load()
    await store.signIn.signOut()
    come(ok({ equity: "1.000000" }))
    await reading
    expect(store.portfolio.balance.value.value).toBeUndefined()
  })
})

const order = (orderId: string): Order => ({ orderId, accountId, marketId: "BTC-USDC-PERP" }) as Order

const withOrders = (orders: ReadonlyArray<Order>) => {
  const tab = signedIn()
  tab.outside
    .on(`GET ${account}/balance`, ok({ equity: "1.000000" }))
    .on(`GET ${account}/positions`, ok({ positions: [] }))
    .on(`GET ${account}/orders`, ok({ orders, nextCursor: null }))
  return tab
}

describe("taking an order back", () => {
  const cancelRoute = "POST /v1/orders/ord_1/cancel"
  const keys = (outside: ScriptedOutside) =>
    outside.sent.filter(({ path }) => path.endsWith("/cancel")).map(({ idempotencyKey }) => idempotencyKey)

  test("shows what is left", async () => {
    const { outside, store } = withOrders([])
    outside.on(cancelRoute, ok({}))
    await store.portfolio.cancel(order("ord_1"))
    expect(outside.sent[0]).toMatchObject({ body: { accountId, marketId: "BTC-USDC-PERP" }, idempotencyKey: "key-1", token: "ses_1" })
    expect(store.portfolio.orders.value.value).toEqual({ orders: [], more: false })
  })

  test("is the same request again while nobody knows what became of it, and another one once that is known", async () => {
    const { outside, store } = withOrders([order("ord_1")])
    const cancel = () => store.portfolio.cancel(order("ord_1"))
    outside.on(cancelRoute, undefined)
    await cancel()
    expect(store.portfolio.taskOf("ord_1").failure.value).toMatchObject({ again: true })
    outside.on(cancelRoute, refused(503, "overloaded", { retryable: true, recoveryActions: ["wait_and_retry_same_identity"] }))
    await cancel()
    outside.on(cancelRoute, refused(503, "engine_halted"))
    await cancel()
    outside.on(cancelRoute, ok({}))
    await cancel()
    expect(keys(outside)).toEqual(["key-1", "key-1", "key-1", "key-2"])
  })

  test("that is gone already is seen to be gone", async () => {
    const { outside, store } = withOrders([])
    outside.on(cancelRoute, refused(404, "not_found"))
    await store.portfolio.cancel(order("ord_1"))
    expect(outside.asked).toContain(`GET ${account}/orders?status=open&limit=100`)
    expect(store.portfolio.orders.value.value?.orders).toEqual([])
    expect(store.portfolio.taskOf("ord_1").failure.value).toBeUndefined()
  })

  test("is asked once, however often the button is pressed", async () => {
    const { outside, store } = withOrders([])
    const { answer, come } = later()
    outside.on(cancelRoute, answer)
    const both = [store.portfolio.cancel(order("ord_1")), store.portfolio.cancel(order("ord_1"))]
    come(ok({}))
    await Promise.all(both)
    expect(keys(outside)).toEqual(["key-1"])
  })
})

test("open orders are read to the last page, up to a thousand", async () => {
  const { outside, store } = withOrders([])
  let page = 0
  outside.on(`GET ${account}/orders`,
    () => ok({ orders: Array.from({ length: 100 }, (_, index) => order(`ord_${page}_${index}`)), nextCursor: `c${++page}` }))
  await store.portfolio.load()
  expect(store.portfolio.orders.value.value).toMatchObject({ more: true, orders: { length: 1_000 } })
  expect(outside.asked.filter((asked) => asked.includes("/orders")).at(-1)).toBe(`GET ${account}/orders?status=open&limit=100&cursor=c9`)
  expect(store.portfolio.readAtEpochMs.value).toBe(startEpochMs)
})

test("what the account holds is of when its balance was read, not of when that failed", async () => {
  const { outside, store } = withOrders([])
  await store.portfolio.load()
  outside.nowEpochMs += 900
  outside.on(`GET ${account}/balance`, undefined)
  await store.portfolio.load()
  expect(store.portfolio.balance.value.value?.equity).toBe("1.000000")
  expect(store.portfolio.readAtEpochMs.value).toBe(startEpochMs)
  outside.on(`GET ${account}/balance`, ok({ equity: "2.000000" })).on(`GET ${account}/positions`, undefined)
  await store.portfolio.load()
  expect(store.portfolio.readAtEpochMs.value).toBe(startEpochMs + 900)
})

test("a venue that is slow to answer is not asked again before it has", async () => {
  const { outside, store } = withOrders([])
  const { answer, come } = later()
  outside.on(`GET ${account}/balance`, answer)
  const first = store.portfolio.refresh()
  await store.portfolio.refresh()
  expect(outside.asked.filter((asked) => asked.endsWith("/balance"))).toHaveLength(1)
  come(ok({ equity: "2.000000" }))
  await first
  expect(store.portfolio.balance.value.value?.equity).toBe("2.000000")
})

test("what goes on failing alike is told once", async () => {
  const { outside, store } = signedIn()
  let requests = 0
  outside.on(`GET ${account}/passkeys`, () => refused(503, "starting", { requestId: `req_${++requests}` }))
  await store.passkeys.list.load()
  const told = store.passkeys.list.failure.value
  await store.passkeys.list.load()
  expect(store.passkeys.list.failure.value).toBe(told)
  outside.on(`GET ${account}/passkeys`, undefined)
  await store.passkeys.list.load()
  expect(store.passkeys.list.failure.value?.message).toBe("The venue did not answer.")
})

describe("passkeys", () => {
  const withRegistration = () => {
    const tab = signedIn()
    tab.outside
      .on(`POST ${authentication}/options`, challenge("chl_old"))
      .on(`POST ${registration}/options`, challenge("chl_new"))
      .on(`POST ${registration}/verify`, session("ses_new"))
      .on(`DELETE ${current}`, ok(undefined))
      .on(`GET ${account}/passkeys`, ok({ passkeys: [] }))
    return tab
  }

  test("one is added by another's assertion; the session stays, and the one that the new passkey opened is ended", async () => {
    const { outside, store } = withRegistration()
    expect(await store.passkeys.add("My phone")).toBe(true)
    expect(outside.sent.slice(0, 3).map(({ body }) => body)).toEqual([
      { accountId, purpose: "add_passkey" },
      { displayName: "My phone", assertion: { challengeIdentifier: "chl_old", credential: { id: "credential-1" } } },
      { challengeIdentifier: "chl_new", credential: { id: "credential-2" } }
    ])
    expect(outside.ceremonies.map(([kind]) => kind)).toEqual(["use", "create"])
    expect(outside.sent.find(({ method }) => method === "DELETE")).toMatchObject({ token: "ses_new" })
    expect(token(store)).toBe("ses_1")
  })

  test("one that may have been added is looked for, and no second one is asked for before", async () => {
    const { outside, store } = withRegistration()
    outside.on(`POST ${registration}/verify`, undefined).on(`GET ${account}/passkeys`, ok({ passkeys: [{ credentialId: "new" }] }))
    expect(await store.passkeys.add("")).toBe(false)
    expect(store.passkeys.adding.failure.value).toMatchObject({
      message: "It is not known whether the passkey was added.",
      advice: "See whether the list has it before you add another one.",
      again: false
    })
    expect(store.passkeys.list.value.value).toMatchObject({ passkeys: [{ credentialId: "new" }] })
    // What the venue has refused has added none, and there is nothing to look for.
    const looked = (): number => outside.asked.filter((asked) => asked === `GET ${account}/passkeys`).length
    const before = looked()
    outside.on(`POST ${registration}/verify`, refused(400, "registration_invalid"))
    expect(await store.passkeys.add("")).toBe(false)
    expect([store.passkeys.adding.failure.value?.message, looked()]).toEqual(["It is registration_invalid.", before])
  })

  test("none is added where the device has one already", async () => {
    const { outside, store } = withRegistration()
    const trouble = { name: "InvalidStateError", code: "ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED" }
    outside.troubles = [undefined, { trouble }]
    expect(await store.passkeys.add("")).toBe(false)
    expect(store.passkeys.adding.failure.value?.message).toContain("already holds")
    expect(outside.asked).not.toContain(`POST ${registration}/verify`)
  })

  test("one is removed by an assertion that is good for that alone", async () => {
    const { outside, store } = withRegistration()
    outside.on(`DELETE ${account}/passkeys/abc`, ok(undefined))
    expect(await store.passkeys.remove("abc")).toBe(true)
    expect(outside.sent[0]?.body).toEqual({ accountId, purpose: "remove_passkey" })
    expect(outside.sent[1]).toMatchObject({
      body: { assertion: { challengeIdentifier: "chl_old", credential: { id: "credential-1" } } },
      idempotencyKey: undefined
    })
  })

  test("one that was removed behind a lost answer, or elsewhere, is not listed any more", async () => {
    const { outside, store } = withRegistration()
    const both = ok({ passkeys: [{ credentialId: "abc" }, { credentialId: "def" }] })
    for (const answer of [undefined, refused(404, "not_found")]) {
      outside.on(`GET ${account}/passkeys`, both)
      await store.passkeys.list.load()
      outside.on(`DELETE ${account}/passkeys/abc`, answer).on(`GET ${account}/passkeys`, ok({ passkeys: [{ credentialId: "def" }] }))
      expect(await store.passkeys.remove("abc")).toBe(false)
      expect(store.passkeys.removing.failure.value).toBeDefined()
      expect(store.passkeys.list.value.value?.passkeys).toEqual([{ credentialId: "def" }])
    }
  })

  test("the last one stays", async () => {
    const { outside, store } = withRegistration()
    outside.on(`DELETE ${account}/passkeys/abc`, refused(409, "last_passkey"))
    expect(await store.passkeys.remove("abc")).toBe(false)
    expect(store.passkeys.removing.failure.value?.message).toBe("It is last_passkey.")
  })
})

describe("a task that was under way when its owner signed out", () => {
  test("fails for nobody, and keeps nobody waiting", async () => {
    const { outside, store } = signedIn()
    const { answer, come } = later()
    outside.on(`DELETE ${account}/api-keys/key_1`, answer)
    const revoking = store.apiKeys.revoke("key_1")
    store.credential.drop(undefined)
    expect(store.apiKeys.revoking.isBusy.value).toBe(false)
    come(refused(404, "not_found"))
    expect(await revoking).toBe(false)
    expect(store.apiKeys.revoking.failure.value).toBeUndefined()
  })

  test("leaves no session behind that its new passkey opened", async () => {
    const { outside, store } = signedIn()
    const { answer, come } = later()
    outside.on("POST /v1/auth/passkeys/authentication/options", challenge("chl_1"))
      .on("POST /v1/auth/passkeys/registration/options", challenge("chl_2"))
      .on("POST /v1/auth/passkeys/registration/verify", answer)
      .on("DELETE /v1/auth/sessions/current", ok(undefined))
    const adding = store.passkeys.add("laptop")
    await expect.poll(() => outside.asked.at(-1)).toBe("POST /v1/auth/passkeys/registration/verify")
    store.credential.drop(undefined)
    come(session("ses_new"))
    expect(await adding).toBe(false)
    expect(outside.sent.at(-1)).toMatchObject({ method: "DELETE", path: "/v1/auth/sessions/current", token: "ses_new" })
  })
})

describe("the list of markets", () => {
  const listing = (count: number) => {
    const tab = signedIn()
    const markets = Array.from({ length: count }, (_, at) => ({ marketId: `M${at}-USDC-PERP` }))
    tab.outside.on("GET /v1/markets", ok({ markets }))
    let reads = 0
    for (const { marketId } of markets) {
      tab.outside.on(`GET /v1/markets/${marketId}/stats`, () => ok({ read: ++reads }))
    }
    const figures = () => tab.store.markets.list.value.value?.markets.map(({ stats }) => (stats as undefined | { read: number })?.read)
    return { ...tab, figures, asked: () => tab.outside.sent.length }
  }

  test("is read for an hour with few requests a minute, and no figure stays behind", async () => {
    const { asked, figures, store } = listing(1_000)
    const perMinute: Array<number> = []
    for (let minute = 0; minute < 60; minute++) {
      const before = asked()
      for (let atMs = 0; atMs < 60_000; atMs += intervalMs) await store.markets.refresh()
      perMinute.push(asked() - before)
    }
    expect(perMinute).toEqual([172, ...Array.from({ length: 59 }, () => 132)])
    const of = figures()!
    // Within the last five reads each of the first fifty was asked for once.
    expect(of.slice(0, 50).every((read) => read! > Math.max(...of.slice(0, 50) as Array<number>) - 50)).toBe(true)
    expect([of.length, of[50]]).toEqual([1_000, undefined])
  })

  test("reads all figures each time where there are few, and each in its turn where their number is no multiple", async () => {
    const few = listing(10)
    await few.store.markets.refresh()
    await few.store.markets.refresh()
    expect(few.figures()).toEqual(Array.from({ length: 10 }, (_, at) => 11 + at))
    const more = listing(13)
    for (let reads = 0; reads < 3; reads++) await more.store.markets.refresh()
    expect(more.figures()).toEqual([27, 28, 29, 30, 31, 32, 33, 21, 22, 23, 24, 25, 26])
    // Who comes back sees nothing of an earlier visit.
    await more.store.markets.begin()
    expect(more.figures()).toEqual(Array.from({ length: 13 }, (_, at) => 34 + at))
  })

  test("keeps figures that cannot be read anew, and says once why there are no newer ones", async () => {
    const { figures, outside, store: { markets } } = listing(2)
    await markets.refresh()
    expect([figures(), markets.failure.value]).toEqual([[1, 2], undefined])
    const limited = () => refused(429, "rate_limited", { requestId: `req_${outside.sent.length}` })
    outside.on("GET /v1/markets/M1-USDC-PERP/stats", limited)
    await markets.refresh()
    const told = markets.failure.value
    expect([figures(), told?.message]).toEqual([[3, 2], "It is rate_limited."])
    await markets.refresh()
    expect([figures(), markets.failure.value === told]).toEqual([[4, 2], true])
    outside.on("GET /v1/markets/M1-USDC-PERP/stats", ok({ read: 9 }))
    await markets.refresh()
    expect([figures(), markets.failure.value]).toEqual([[5, 9], undefined])
  })

  test("a market's failure stays until its own figures can be read, whichever markets have their turn", async () => {
    const { outside, store: { markets } } = listing(30)
    const of = (at: number) => `GET /v1/markets/M${at}-USDC-PERP/stats`
    const told = async (): Promise<string | undefined> => {
      await markets.refresh()
      return markets.failure.value?.message
    }
    outside.on(of(3), refused(429, "rate_limited")).on(of(12), refused(503, "starting"))
    expect(await told()).toBe("It is rate_limited.")
    // The first ten, the next ten, and the last ten.
    expect([await told(), await told(), await told()]).toEqual(Array.from({ length: 3 }, () => "It is rate_limited."))
    outside.on(of(3), ok({ read: 0 }))
    expect(await told()).toBe("It is starting.")
    outside.on(of(12), ok({ read: 0 }))
    expect([await told(), await told()]).toEqual([undefined, undefined])
  })

  test("what a list of markets that was cleared still waited for is not shown in the next one", async () => {
    const { figures, outside, store: { markets } } = listing(2)
    await markets.refresh()
    const [first, second] = [later(), later()]
    outside.on("GET /v1/markets/M0-USDC-PERP/stats", first.answer).on("GET /v1/markets/M1-USDC-PERP/stats", second.answer)
    const reading = markets.refresh()
    await expect.poll(() => outside.asked.at(-1)).toBe("GET /v1/markets/M1-USDC-PERP/stats")
    markets.clear()
    outside.on("GET /v1/markets/M0-USDC-PERP/stats", ok({ read: 9 })).on("GET /v1/markets/M1-USDC-PERP/stats", ok({ read: 9 }))
    await markets.refresh()
    first.come(ok({ read: 7 }))
    second.come(refused(503, "starting"))
    await reading
    expect([figures(), markets.failure.value]).toEqual([[9, 9], undefined])
    outside.on("GET /v1/markets/M0-USDC-PERP/stats", undefined)
    await markets.refresh()
    expect([figures(), markets.failure.value?.message]).toEqual([[9, 9], "The venue did not answer."])
  })
})

test("the board of a time that is no longer asked for is not shown", async () => {
  const { outside, store } = signedIn()
  const { answer, come } = later()
  const board = (window: string) => ok({ windowKind: window, entries: [], nextCursor: null })
  outside.on("GET /v1/leaderboard", ({ path }) => path.includes("window=weekly") ? answer() : board("monthly"))
  const first = store.leaderboard.choose("weekly")
  await store.leaderboard.choose("monthly")
  come(board("weekly"))
  await first
  expect(store.leaderboard.board.value?.windowKind).toBe("monthly")
})

test("a public name is chosen under one key until it is known, and then shown with the board", async () => {
  const { outside, store: { leaderboard } } = signedIn()
  const keys: Array<string | undefined> = []
  const answers = [undefined, ok({ displayHandle: "patient_maker.a1b2c3" }), refused(403, "passkey_required")]
  outside
    .on(`PUT ${account}/profile`, ({ body, idempotencyKey }) => {
      expect(body).toEqual({ displayHandle: "patient_maker" })
      keys.push(idempotencyKey)
      return answers[keys.length - 1]
    })
    .on(`GET ${account}/profile`, ok({ displayHandle: null }))
    .on("GET /v1/leaderboard", ok({ windowKind: "daily", entries: [], nextCursor: null }))
  await leaderboard.profile.load()
  expect(leaderboard.profile.value.value?.displayHandle).toBe(null)
  expect(await leaderboard.rename("patient_maker")).toBe(false)
  expect(leaderboard.naming.failure.value?.message).toBe("The venue did not answer.")
  outside.on(`GET ${account}/profile`, ok({ displayHandle: "patient_maker.a1b2c3" }))
  expect(await leaderboard.rename("patient_maker")).toBe(true)
  expect(keys[1]).toBe(keys[0])
  expect(leaderboard.profile.value.value?.displayHandle).toBe("patient_maker.a1b2c3")
  expect(outside.asked.filter((each) => each.startsWith("GET /v1/leaderboard"))).toHaveLength(2)
  // The next choice is another command, even of the same name, and its refusal is told.
  expect(await leaderboard.rename("patient_maker")).toBe(false)
  expect(keys[2]).not.toBe(keys[0])
  expect(leaderboard.naming.failure.value?.code).toBe("passkey_required")
  // Another window of the board keeps the name; another account does not.
  await leaderboard.choose("weekly")
  expect(leaderboard.profile.value.value?.displayHandle).toBe("patient_maker.a1b2c3")
  leaderboard.clear()
  expect([leaderboard.profile.value.value, leaderboard.naming.failure.value]).toEqual([undefined, undefined])
})

test("a key is revoked, and the list read again", async () => {
  const { outside, store } = signedIn()
  outside.on(`DELETE ${account}/api-keys/key_1`, ok({})).on(`GET ${account}/api-keys`, ok({ keys: [] }))
  expect(await store.apiKeys.revoke("key_1")).toBe(true)
  expect(outside.asked).toEqual([`DELETE ${account}/api-keys/key_1`, `GET ${account}/api-keys`])
})

test("a key that was revoked behind a lost answer, or elsewhere, is not listed as active any more", async () => {
  const { outside, store } = signedIn()
  for (const answer of [undefined, refused(404, "not_found")]) {
    outside.on(`GET ${account}/api-keys`, ok({ keys: [{ keyId: "key_1", state: "active" }] }))
    await store.apiKeys.list.load()
    outside.on(`DELETE ${account}/api-keys/key_1`, answer)
      .on(`GET ${account}/api-keys`, ok({ keys: [{ keyId: "key_1", state: "revoked" }] }))
    expect(await store.apiKeys.revoke("key_1")).toBe(false)
    expect(store.apiKeys.revoking.failure.value).toBeDefined()
    expect(store.apiKeys.list.value.value?.keys).toEqual([{ keyId: "key_1", state: "revoked" }])
  }
})

test("signing out elsewhere is under way until the events are read behind it, whatever was answered", async () => {
  for (const answered of [ok(undefined), undefined]) {
    const { outside, store: { activity } } = signedIn()
    const { answer, come } = later()
    outside.on("DELETE /v1/auth/sessions/others", answered).on(`GET ${account}/security-events`, answer)
    const ending = activity.signOutElsewhere()
    await expect.poll(() => outside.asked.at(-1)).toContain(`GET ${account}/security-events`)
    expect([activity.ending.isBusy.value, await activity.signOutElsewhere()]).toEqual([true, false])
    come(ok({ events: [{ sequence: 9 }], nextCursor: null }))
    expect(await ending).toBe(answered !== undefined)
    expect([activity.ending.isBusy.value, outside.sent.length]).toEqual([false, 2])
    expect(activity.list.value.value?.rows).toEqual([{ sequence: 9 }])
  }
})

describe("an agent", () => {
  const request = { userCode: "BCDF-GH23", clientName: "bot", scopes: ["read"], keyLifetimeSeconds: 300 } as unknown as ConnectRequest

  test("is approved with what it asked for, and nothing else", async () => {
    const { outside, store } = signedIn()
    outside.on(`GET ${account}/agent-connect/BCDF-GH23`, ok(request)).on(`POST ${account}/agent-connect/approve`, ok({}))
    await store.approval.look("BCDF-GH23")
    await store.approval.approve(store.approval.request.value.value!)
    expect(outside.sent[1]?.body).toEqual({ userCode: "BCDF-GH23", scopes: ["read"] })
    expect(store.approval.decision.value).toBe("approved")
  })

  test("is denied", async () => {
    const { outside, store } = signedIn()
    outside.on(`GET ${account}/agent-connect/BCDF-GH23`, ok(request)).on(`POST ${account}/agent-connect/deny`, ok({}))
    await store.approval.look("BCDF-GH23")
    await store.approval.deny(request)
    expect(outside.sent[1]?.body).toEqual({ userCode: "BCDF-GH23" })
    expect(store.approval.decision.value).toBe("denied")
  })

  test("is not decided where the venue refuses", async () => {
    const { outside, store } = signedIn()
    outside.on(`GET ${account}/agent-connect/BCDF-GH23`, ok(request)).on(`POST ${account}/agent-connect/approve`, refused(404, "not_found"))
    await store.approval.look("BCDF-GH23")
    await store.approval.approve(request)
    expect([store.approval.decision.value, store.approval.deciding.failure.value?.code]).toEqual([undefined, "not_found"])
  })

  test("is decided for whoever decided it alone: who signs in behind sees nothing of it", async () => {
    const { outside, store } = signedIn()
    const { answer, come } = later()
    outside.on(`GET ${account}/agent-connect/BCDF-GH23`, ok(request)).on(`POST ${account}/agent-connect/approve`, answer)
    await store.approval.look("BCDF-GH23")
    const deciding = store.approval.approve(request)
    store.credential.drop(undefined)
    // The page's address still has the same code.
    store.credential.keep({ accessToken: "ses_2", accountId, expiresAtEpochMs: startEpochMs + 1_000 } as Session)
    await store.approval.look("BCDF-GH23")
    come(ok({}))
    await deciding
    expect([store.approval.decision.value, store.approval.deciding.isBusy.value]).toEqual([undefined, false])
  })

  test("that is looked up late is not shown under another's code", async () => {
    const { outside, store } = signedIn()
    const { answer, come } = later()
    outside.on(`GET ${account}/agent-connect/BCDF-GH23`, answer).on(`GET ${account}/agent-connect/ZZZZ-ZZZZ`, refused(404, "not_found"))
    const first = store.approval.look("BCDF-GH23")
    await store.approval.look("ZZZZ-ZZZZ")
    come(ok(request))
    await first
    expect(store.approval.request.value.value).toBeUndefined()
    expect(store.approval.request.failure.value?.code).toBe("not_found")
  })
})

test("older events are added to what is shown, until there are none", async () => {
  const { outside, store } = signedIn()
  const pages = [{ events: [{ sequence: 9 }], nextCursor: "c9" }, { events: [{ sequence: 4 }], nextCursor: null }]
  outside.on(`GET ${account}/security-events`, ({ path }) => ok(pages[path.includes("cursor=c9") ? 1 : 0]))
  await store.activity.list.load()
  await store.activity.more()
  expect(store.activity.list.value.value).toMatchObject({ rows: [{ sequence: 9 }, { sequence: 4 }], nextCursor: null })
  await store.activity.more()
  expect(outside.sent).toHaveLength(2)
})

test("what was read stays while there is nothing newer", async () => {
  const { outside, store } = signedIn()
  outside.on(`GET ${account}/passkeys`, ok({ passkeys: [] }))
  await store.passkeys.list.load()
  outside.on(`GET ${account}/passkeys`, undefined)
  await store.passkeys.list.load()
  expect(store.passkeys.list.value.value).toMatchObject({ passkeys: [] })
  expect(store.passkeys.list.failure.value?.message).toBe("The venue did not answer.")
  expect(store.passkeys.list.isBusy.value).toBe(false)
})
