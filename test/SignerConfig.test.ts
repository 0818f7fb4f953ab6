/** Settings of a signer, in the venue's process and in one of its own, read from their variables. */
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { describe, expect, test } from "vitest"
import * as SignerConfig from "../src/SignerConfig.js"
import { ofLedger } from "./LedgerSettings.js"

type Variables = Readonly<Record<string, string>>

const read = (variables: Variables) =>
  Effect.runSync(
    Effect.either(Effect.withConfigProvider(SignerConfig.processConfig, ConfigProvider.fromMap(new Map(Object.entries(variables)))))
  )

const secrets = { SIGNER_SECRET: "s".repeat(16), SIGNER_TOKEN: "t".repeat(16) }
const production: Variables = {
  ...secrets,
  VENUE_ENVIRONMENT: "production",
  PUBLIC_ORIGIN: "https://trade.venue.example",
  RP_ID: "venue.example",
  ...ofLedger,
  TREASURY_WITHDRAWAL_LIMIT: "1000.5",
  TREASURY_DAILY_LIMIT: "20000"
}

test("in production all of it is said", () => {
  expect(Either.getOrThrow(read(production)).signer).toStrictEqual({
    custody: {
      environment: "production",
      userId: "venue",
      synchronizerId: "global::1220ab",
      custodyPackageId: "a".repeat(64),
      token: { packageId: "b".repeat(64), admin: `issuer::1220${"c".repeat(64)}`, id: "USDC" }
    },
    limits: { perWithdrawalAtoms: 1_000_500_000, dailyAtoms: 20_000_000_000 },
    site: { publicOrigin: "https://trade.venue.example", rpId: "venue.example" }
  })
})

test("in development it goes by the development ledger, and by this machine's own pages", () => {
  const { limits, site } = Either.getOrThrow(read(secrets)).signer
  expect(limits).toStrictEqual({ perWithdrawalAtoms: 100_000_000_000, dailyAtoms: 1_000_000_000_000 })
  expect(site).toStrictEqual({ rpId: "localhost" })
})

describe("a signer is refused", () => {
  test.each(Object.keys(production).filter((name) => name !== "VENUE_ENVIRONMENT" && name !== "RP_ID"))("in production without %s",
    (name) => {
      const found = read(Object.fromEntries(Object.entries(production).filter(([each]) => each !== name)))
      expect(Either.isLeft(found) && String(found.left)).toContain(name)
    })

  test.each([
    ["SIGNER_SECRET", "fifteen letters"],
    ["SIGNER_TOKEN", "fifteen letters"],
    ["TREASURY_WITHDRAWAL_LIMIT", "0"],
    ["TREASURY_WITHDRAWAL_LIMIT", "-1"],
    ["TREASURY_WITHDRAWAL_LIMIT", "1e3"],
    ["TREASURY_DAILY_LIMIT", "0.0000001"],
    ["TREASURY_DAILY_LIMIT", "much"],
    ["LEDGER_TOKEN_ADMIN", "issuer"],
    ["LEDGER_SYNCHRONIZER_ID", "a b"],
    ["PUBLIC_ORIGIN", "http://venue.example"],
    ["RP_ID", "evil.example"],
    ["TLS_CERT", "cert.pem"]
  ])("with %s=%s", (name, value) => {
    const found = read({ ...production, [name]: value })
    expect(Either.isLeft(found) && String(found.left)).toContain(name === "TLS_CERT" ? "TLS_KEY" : name)
    expect(String(Either.isLeft(found) && found.left)).not.toContain("fifteen letters")
  })
})

describe("the treasury's limits", () => {
  const limits = (variables: Variables) => Either.map(read({ ...secrets, ...variables }), ({ signer }) => signer.limits)

  test("go together: a withdrawal that no day could give is refused, with both names", () => {
    const found = limits({ TREASURY_WITHDRAWAL_LIMIT: "500", TREASURY_DAILY_LIMIT: "100.5" })
    expect(Either.isLeft(found) && String(found.left)).toContain("TREASURY_WITHDRAWAL_LIMIT")
    expect(Either.isLeft(found) && String(found.left)).toContain("must be at most TREASURY_DAILY_LIMIT, which is 100.5")
  })

  test.each<readonly [string, Variables, number, number]>([
    ["may be the same", { TREASURY_WITHDRAWAL_LIMIT: "7", TREASURY_DAILY_LIMIT: "7" }, 7, 7],
    ["of a day alone, in development, is one of a withdrawal too", { TREASURY_DAILY_LIMIT: "100" }, 100, 100],
    ["of a day alone leaves the usual one of a withdrawal below it", { TREASURY_DAILY_LIMIT: "200000" }, 100_000, 200_000],
    ["of a withdrawal alone, in development, is one of a day too", { TREASURY_WITHDRAWAL_LIMIT: "2000000" }, 2_000_000, 2_000_000],
    ["of a withdrawal alone leaves the usual one of a day above it", { TREASURY_WITHDRAWAL_LIMIT: "5" }, 5, 1_000_000]
  ])("%s", (_, variables, perWithdrawal, daily) => {
    expect(Either.getOrThrow(limits(variables)))
      .toStrictEqual({ perWithdrawalAtoms: perWithdrawal * 1_000_000, dailyAtoms: daily * 1_000_000 })
  })
})
