/** What to know before the first request: conventions, how to get a key, and what to repeat when an answer is lost. */
import { freshKey } from "../../http/Example.js"
import { type Html, html, prose } from "./Html.js"

const list = (items: ReadonlyArray<string>): Html => html`<ul>${items.map((item) => html`<li>${prose(item)}</li>`)}</ul>`
const numbered = (items: ReadonlyArray<string>): Html => html`<ol>${items.map((item) => html`<li>${prose(item)}</li>`)}</ol>`

const conventions = html`<h2 id="conventions">Conventions</h2>
${
  list([
    "`*Atoms` are strings of digits: whole numbers of the smallest unit. Money atoms are 10^-6 USDC, price atoms "
    + "10^-priceScale USDC, size atoms 10^-quantityScale of the underlying. Beside each stands its decimal string.",
    "`*EpochMs` are milliseconds since the Unix epoch, `*Bps` basis points, `*E9` parts of 10^-9, `*Sequence` journal sequence numbers.",
    "Requests take plain decimal strings on `/v1` and JSON numbers on `/v2`, never more decimals than the market has "
    + "(where it has none, `5` and `5.0` are the same). "
    + "Unknown members of a body and repeated query parameters are refused. A body is JSON in UTF-8, at most 64 KiB.",
    "Every answer carries `x-request-id`: random, and behind it, where a record of the journal decided the request, that record's sequence "
    + "in base 36 (the venue's operator finds the request by it). Nothing is answered before what it says is durable in the journal."
  ])
}`

const keys = html`<h2 id="authentication">Getting a key</h2>
<p>${
  prose(
    "A request says who asks by `Authorization: Bearer` and a key, `pk_<environment>_<key>_<secret>`. A key belongs to one account and has "
      + "the scopes `read`, `trade` or both. Market data needs none. What moves money out is the owner's alone: no key reaches it."
  )
}</p>
${
  numbered([
    "The owner opens an account with a passkey, on the venue's own page at `/`, and funds it.",
    "The program asks for a key: `POST /v1/agent-connect` with its name, the scopes, how long the key should be good, and the SHA-256 of a "
    + "random verifier. It shows the owner `userCode` and `verificationUriComplete`.",
    "The owner opens that page, compares the code, and approves with a passkey.",
    "The program exchanges: `POST /v1/agent-connect/exchange` with `deviceCode` and the verifier, every `pollIntervalSeconds`, for as "
    + "long as it hears `authorization_pending`. The answer has `apiKey`, this once: keep it where nobody else reads. "
    + "Were that answer lost, ask anew."
  ])
}
<p>In a clone of the venue's repository <code>npm run --silent venue -- connect</code> does the same, and keeps the key in a file for
programs.</p>
<p>On a development venue an operator opens funded accounts with keys at once, to try things out.
The idempotency key is any text that was not used before: here, and in all examples, one that Node makes.</p>
<pre><code>${`curl -s -X POST "$VENUE/v1/operator/demo/accounts" \\
  -H "Authorization: Bearer $OPERATOR_TOKEN" \\
  -H "Idempotency-Key: ${freshKey}" \\
  -H 'Content-Type: application/json' \\
  -d '{
  "accounts": 1,
  "collateral": "10000",
  "keyLifetimeSeconds": 604800
}'`}</code></pre>
<p>${
  prose("Such a key ends like any other, after 30 days unless told: the answer's `expiresAtEpochMs` says when, and from then on it is "
    + "`401` with `apiKeyRejection: \"expired\"`. Nobody can give that account another one: open another account.")
}</p>
<p>${prose("Whether a key works, and how it stands with its limit of requests, tells `GET /v1/api-keys/current`.")}</p>`

const rows: ReadonlyArray<readonly [string, string, string]> = [
  ["A timeout, a broken connection, no answer", "Unknown: it may have been done, or not.",
    "Repeat the same request with the same `Idempotency-Key` and the same body until there is an answer. If it was done, that "
    + "answer is the original one."],
  ["`503`", "Nothing was done by this request.", "Wait a second, longer each time, and repeat the same request with the same key."],
  ["`429`", "Nothing was done by this request.",
    "Wait the seconds of `Retry-After`, then repeat the same request with the same key and the same `clientOrderId`."],
  ["`500`", "Unknown.", "As after a timeout; tell the `requestId` to the operator."],
  ["`400`, `401`, `403`, `404`, `413`, `415`", "Nothing was done by this request.",
    "Correct it. The key was not used up, unless the answer was a decision (`not_found` "
    + "of a cancel, `market_not_found`, `account_not_enabled`, `expiry_passed`): then take a new one."],
  ["`409 idempotency_key_conflict`", "Nothing was done by this request. The key stands for another body, and that one was decided.",
    "Look the key's outcome up before you send anything under a new one: what you take for undone may be done."],
  ["`409 client_order_id_in_use`", "Nothing was done.", "Look the order of that name up: it may be the one that you thought lost."],
  ["`422`", "Decided: refused. The same key gets the same refusal again.", "Change what the guard says, and send it under a new key."],
  ["`200`", "Decided and durable.", "Nothing. In a batch look at each entry."]
]

const retries = html`<h2 id="idempotency">When to repeat, and under which key</h2>
<p>${
  prose(
    "Whatever changes something needs an `Idempotency-Key`: 1 to 255 visible ASCII characters, one for each thing that you want done, "
      + "in the scope of account and operation. Make it once, keep it with the request before you send it, and send the same "
      + "again when you repeat. "
      + "The same key with the same body does nothing twice and gets the original answer, byte for byte but for `requestId`, with the "
      + "header `Idempotent-Replayed: true`. With another body it is refused."
  )
}</p>
<p>${
  prose(
    "Only a decision settles what you want done: `200`, `422`, `client_order_id_in_use`, `not_found` of a cancel, `market_not_found`, "
      + "`account_not_enabled`, `expiry_passed`. Any other answer speaks of the request that it came to, and says nothing of an earlier "
      + "one under the key whose answer was lost: that one may have been done, or be done yet. Go on under the same key until there is a "
      + "decision."
  )
}</p>
<div class="scroll"><table><thead><tr><th>What came</th><th>What happened</th><th>What to do</th></tr></thead><tbody>${
  rows.map(([came, happened, then]) => html`<tr><td>${prose(came)}</td><td>${prose(happened)}</td><td>${prose(then)}</td></tr>`)
}</tbody></table></div>
<p>${
  prose(
    "A decision is remembered, refusals included, until the retention after the orders it made have ended: 24 h, unless `GET /v1/limits` "
      + "tells another. What was not decided (a malformed request, 429, 503) is not. Behind the retention the same request would be done "
      + "anew: look its `clientOrderId` up first, under which an order is found at any time. Where a request cannot be repeated, "
      + "`GET /v1/accounts/{accountId}/outcomes` tells what became of it, and "
      + "`POST .../outcomes/fence` sees to it that a late original does nothing until `holdsUntilEpochMs`. "
      + "The reference client, the package `perpetuum-client` of the venue's operator, does all of this."
  )
}</p>`

/** All of it. */
export const guide = html`${conventions}
${keys}
${retries}`
