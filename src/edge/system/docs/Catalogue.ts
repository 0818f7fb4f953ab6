/** The catalogue of errors: both envelopes, what to do about each code, guard and failed transfer, and every refusal by name. */
import { assert } from "../../../domain/Assert.js"
import * as Refusal from "../../../domain/Refusal.js"
import type { Unit } from "../../../domain/Unit.js"
import * as Envelopes from "../../http/Envelopes.js"
import * as Errors from "../../http/Errors.js"
import * as Advice from "./Advice.js"
import { type Html, html, join, prose } from "./Html.js"
import * as Types from "./Types.js"

/** What `limit`, `actual` and `nearest` of a refusal are. */
const comparedText: Readonly<Record<Unit, string>> = {
  price_atoms: "prices",
  size_atoms: "quantities",
  money_atoms: "USDC",
  epoch_ms: "milliseconds since the Unix epoch",
  duration_ms: "milliseconds",
  bps: "basis points",
  e9: "10^-9",
  scale: "numbers of decimals",
  leverage: "leverages",
  count: "whole numbers",
  bits: "bits",
  version: "versions",
  market_status: "a market's status"
}

const descriptionRow = (description: Refusal.Description, compared?: string): Html => {
  const { name, safeMessage } = description
  return html`<tr id="failure-${name}"><td><code>${name}</code></td><td>${description.status}</td><td><code>${description.code}</code></td>
<td>${description.guard === undefined ? undefined : html`<code>${description.guard}</code>`}${
    description.apiKeyRejection === undefined ? undefined : html`<code>${description.apiKeyRejection}</code>`
  }</td><td><code>${description.compatName}</code></td><td>${description.retryable ? "yes" : "no"}</td>
${compared === undefined ? undefined : html`<td>${compared}</td>`}<td>${
    join(description.recoveryActions.map((action) => html`<code>${action}</code>`), " ")
  }</td><td>${safeMessage}</td></tr>
`
}

const catalogue = (rows: ReadonlyArray<Html>, compared?: string): Html =>
  html`<div class="scroll"><table><thead><tr><th>Name</th><th>Status</th><th>code</th><th>rejectionGuard or apiKeyRejection</th>
<th>/v2 name</th><th>Retryable</th>${compared === undefined ? undefined : html`<th>${compared}</th>`}<th>recoveryActions</th>
<th>Message</th></tr></thead><tbody>${rows}</tbody></table></div>`

/** What a refusal compares, in words. */
const comparedBy = ({ compares, nearestIn }: Refusal.Description): string => {
  if (compares === undefined) return ""
  return nearestIn === undefined ? comparedText[compares] : `${comparedText[compares]}; nearest: ${comparedText[nearestIn]}`
}

const codeRows = Envelopes.statuses.flatMap((status) =>
  Envelopes.codes[status].map((code, index) =>
    html`<tr${
      index === 0 ? html` id="status-${status}"` : undefined
    }><td>${status}</td><td id="code-${code}"><code>${code}</code></td><td>${prose(Advice.ofCode[code])}</td></tr>`
  )
)

const guardRows = Object.entries(Advice.ofGuard).map(([guard, advice]) =>
  html`<tr id="guard-${guard}"><td><code>${guard}</code></td><td>${prose(advice)}</td></tr>`
)

const outcomeRows = Object.entries(Advice.ofOutcome).map(([guard, advice]) =>
  html`<tr id="outcome-${guard}"><td><code>${guard}</code></td><td>${prose(advice)}</td></tr>`
)

/** All of it. */
export const errors = (schemas: Types.Schemas): Html => {
  const native = schemas["NativeError400"]
  const compat = schemas["CompatError400"]
  assert(native !== undefined && compat !== undefined, "the document has both envelopes")
  return html`<h2 id="errors">Errors</h2>
<p>Every answer that is no success is one of two envelopes, on unknown paths and malformed JSON too.</p>
<h3 id="statuses">What to do about each code</h3>
<div class="scroll"><table><thead><tr><th>Status</th><th>code</th><th>What to do</th></tr></thead><tbody>${codeRows}</tbody></table></div>
<h3 id="guards">What to do about each rejectionGuard</h3>
<p>${
    prose(
      "Beside a guard, `limit`, `actual` and `nearest` tell what was compared, in the guard's own unit: the bound, what the request would "
        + "have come to, and a value that would have passed. Prices and quantities have their market's decimals, USDC has six."
    )
  }</p>
<div class="scroll"><table><thead><tr><th>rejectionGuard</th><th>What to do</th></tr></thead><tbody>${guardRows}</tbody></table></div>
<h3 id="outcomes">Why a deposit or a withdrawal came to nothing</h3>
<p>${
    prose(
      "One that is `rejected` or `expired` is no error: its `ledgerOutcome` has the reason as `guard`. What a withdrawal held was given "
        + "back. A reason that is not here is the ledger's own code. What the treasury pays at most is set by the operator, at its signer: "
        + "no route tells it."
    )
  }</p>
<div class="scroll"><table><thead><tr><th>guard</th><th>What to do</th></tr></thead><tbody>${outcomeRows}</tbody></table></div>
<h3 id="native-envelope">Native envelope</h3>${Types.payload({ ...native, description: "On every path but those under /v2." }, schemas)}
<p class="note">${prose("`code` is shown for status 400; the codes of the others are above.")}</p>
<h3 id="compat-envelope">Compat envelope</h3>${
    Types.payload({ ...compat, description: "Under /v2. `info` is the native envelope." }, schemas)
  }
<h2 id="refusals">Refusals of commands</h2>
<p>${prose("What the engine decides. An `order_rejected` and its like are decisions: they are remembered under their key.")}</p>
${catalogue(Refusal.all.map(([, description]) => descriptionRow(description, comparedBy(description))), "Compares")}
<h2 id="failures">Failures of requests</h2>
<p>${
    prose(
      "What is refused before it becomes a command. Nothing was done by the request, but for `InternalError`, of which that is unknown; an "
        + "earlier one under its key may have been."
    )
  }</p>
${
    catalogue(Errors.all
      .filter(({ description }) => !Refusal.all.some(([, refused]) => refused.name === description.name))
      .map(({ description }) => descriptionRow(description)))
  }`
}
