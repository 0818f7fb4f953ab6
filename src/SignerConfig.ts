/**
 * A signer's settings, from its own process's environment variables: where owners approve, where and under which identity the venue acts on
 * the ledger, and the treasury's limits. A signer within the venue's process uses the venue's variables.
 */
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { formatDecimal, moneyScale, parseDecimal } from "./domain/Units.js"
import { setting } from "./ledger/development/Setting.js"
import { Custody } from "./ledger/Planned.js"
import type * as Signer from "./signer/Signer.js"
import { optionalBearer, optionalSecret } from "./SecretSetting.js"
import { filled, gathered, refuse } from "./SettingTexts.js"
import { siteOf, siteSettings, type TlsFiles, tlsOf } from "./SiteConfig.js"

/** A development venue's limits in USDC, where none are set. */
const developmentLimits = { perWithdrawal: "100000", daily: "1000000" } as const

const text = (name: string) => Config.option(filled(name))

/** An amount of USDC as a decimal. */
const money = (name: string): Config.Config<Option.Option<number>> =>
  text(name).pipe(
    Config.mapOrFail((found) => {
      if (Option.isNone(found)) return Either.right(Option.none())
      const atoms = parseDecimal(found.value, moneyScale)
      return typeof atoms === "number" && atoms > 0
        ? Either.right(Option.some(atoms))
        : Either.left(ConfigError.InvalidData([name], "must be USDC above zero, with at most six decimals"))
    })
  )

const settings = Config.all({
  ...siteSettings,
  perWithdrawalAtoms: money("TREASURY_WITHDRAWAL_LIMIT"),
  dailyAtoms: money("TREASURY_DAILY_LIMIT"),
  userId: text("LEDGER_USER_ID"),
  synchronizerId: text("LEDGER_SYNCHRONIZER_ID"),
  custodyPackageId: text("LEDGER_CUSTODY_PACKAGE_ID"),
  tokenPackageId: text("LEDGER_TOKEN_PACKAGE_ID"),
  tokenAdmin: text("LEDGER_TOKEN_ADMIN"),
  tokenId: text("LEDGER_TOKEN_ID")
})
type Settings = Config.Config.Success<typeof settings>

type Found<A> = Either.Either<A, ConfigError.ConfigError>

/** The configured value, or the default, which exists only in development. */
const required = <A>(environment: Settings["environment"], name: string, found: Option.Option<A>, development: A): Found<A> => {
  if (Option.isSome(found)) return Either.right(found.value)
  return environment === "development" ? Either.right(development) : refuse(name, "must be set outside development")
}

/** A format required by the ledger, and its description. */
interface Form {
  readonly isFormed: (text: string) => boolean
  readonly form: string
}

const forms = {
  userId: { isFormed: Schema.is(Custody.fields.userId), form: "a user's id of the ledger, 1 to 128 characters without spaces" },
  synchronizerId: {
    isFormed: Schema.is(Custody.fields.synchronizerId),
    form: "a synchronizer's id, as name::fingerprint, at most 255 letters, digits, :, _ and -"
  },
  packageId: { isFormed: Schema.is(Custody.fields.custodyPackageId), form: "a package's id, at most 64 letters, digits, _ and -" },
  admin: { isFormed: Schema.is(Custody.fields.token.fields.admin), form: "a party's id of the ledger, as name::fingerprint" },
  tokenId: { isFormed: Schema.is(Custody.fields.token.fields.id), form: "what its administrator calls the asset" }
} as const satisfies Readonly<Record<string, Form>>

/** A text that must have one of the ledger's formats. */
const formed = (name: string, found: Found<string>, { form, isFormed }: Form): Found<string> =>
  Either.flatMap(found, (text) => isFormed(text) ? Either.right(text) : refuse(name, `must be ${form}`))

const custodyOf = (found: Settings): Found<Signer.Settings["custody"]> => {
  const { environment } = found
  const one = (name: string, value: Option.Option<string>, development: string, form: Form) =>
    formed(name, required(environment, name, value, development), form)
  return Either.map(
    gathered({
      userId: one("LEDGER_USER_ID", found.userId, "perpetuum", forms.userId),
      synchronizerId: one("LEDGER_SYNCHRONIZER_ID", found.synchronizerId, setting.synchronizerId, forms.synchronizerId),
      custodyPackageId: one("LEDGER_CUSTODY_PACKAGE_ID", found.custodyPackageId, setting.custodyPackageId, forms.packageId),
      packageId: one("LEDGER_TOKEN_PACKAGE_ID", found.tokenPackageId, setting.token.packageId, forms.packageId),
      admin: one("LEDGER_TOKEN_ADMIN", found.tokenAdmin, setting.token.admin, forms.admin),
      id: one("LEDGER_TOKEN_ID", found.tokenId, setting.token.id, forms.tokenId)
    }),
    ({ admin, custodyPackageId, id, packageId, synchronizerId, userId }) => ({
      environment,
      userId,
      synchronizerId,
      custodyPackageId,
      token: { packageId, admin, id }
    })
  )
}

/**
 * In development an omitted limit adapts to the other one. A withdrawal limit above the daily limit is an error, since such a withdrawal
 * would be refused every day.
 */
const limitsOf = ({ dailyAtoms, environment, perWithdrawalAtoms }: Settings): Found<Signer.Settings["limits"]> => {
  const atoms = (decimal: string): number => parseDecimal(decimal, moneyScale) as number
  const usual = { perWithdrawal: atoms(developmentLimits.perWithdrawal), daily: atoms(developmentLimits.daily) }
  const found = gathered({
    perWithdrawalAtoms: required(environment, "TREASURY_WITHDRAWAL_LIMIT", perWithdrawalAtoms,
      Math.min(usual.perWithdrawal, Option.getOrElse(dailyAtoms, () => usual.daily))),
    dailyAtoms: required(environment, "TREASURY_DAILY_LIMIT", dailyAtoms,
      Math.max(usual.daily, Option.getOrElse(perWithdrawalAtoms, () => usual.perWithdrawal)))
  })
  return Either.flatMap(found, (limits) =>
    limits.perWithdrawalAtoms <= limits.dailyAtoms
      ? Either.right(limits)
      : refuse("TREASURY_WITHDRAWAL_LIMIT",
        `must be at most TREASURY_DAILY_LIMIT, which is ${formatDecimal(limits.dailyAtoms, moneyScale)}: no day could give more`))
}

/** The settings for a signer's decisions, wherever it runs. */
const signerOf = (found: Settings): Found<Signer.Settings> =>
  gathered({ custody: custodyOf(found), limits: limitsOf(found), site: siteOf(found) })

/** Where and under which identity the venue acts on the ledger: the same setting for signer and venue. */
export const custody: Config.Config<Signer.Settings["custody"]> = settings.pipe(Config.mapOrFail(custodyOf))

export const signer: Config.Config<Signer.Settings> = settings.pipe(Config.mapOrFail(signerOf))

/** The settings of a signer in a process of its own. */
export interface ProcessConfig {
  readonly signer: Signer.Settings
  /** Whether its environment was set, and is not the one that holds without. */
  readonly isEnvironmentSet: boolean
  readonly secret: Redacted.Redacted
  readonly token: Redacted.Redacted
  readonly tls: TlsFiles | undefined
}

const set = <A>(name: string, found: Option.Option<A>): Found<A> =>
  Option.isSome(found) ? Either.right(found.value) : refuse(name, "must be set, with at least 16 characters")

export const processConfig: Config.Config<ProcessConfig> = Config.all({
  found: settings,
  environment: Config.option(Config.string("VENUE_ENVIRONMENT")),
  secret: optionalSecret("SIGNER_SECRET"),
  token: optionalBearer("SIGNER_TOKEN")
}).pipe(
  Config.mapOrFail(({ environment, found, secret, token }) =>
    gathered({
      signer: signerOf(found),
      isEnvironmentSet: Either.right(Option.isSome(environment)),
      secret: set("SIGNER_SECRET", secret),
      token: set("SIGNER_TOKEN", token),
      tls: tlsOf(found)
    })
  )
)
