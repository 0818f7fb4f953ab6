/** An agent's request for a key: the owner types or confirms its code, reads the request, and approves or denies it. */
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { Moment } from "../parts/Moment.js"
import { Section } from "../parts/Section.js"
import { Title } from "../parts/Title.js"
import { Trouble } from "../parts/Trouble.js"
import type { Approval, Decision } from "../state/Approval.js"
import type { ConnectRequest } from "../state/Contract.js"
import * as Places from "../state/Places.js"
import type { Store } from "../state/Store.js"
import { duration, scopes } from "../state/Words.js"

const decided: Readonly<Record<Decision, string>> = {
  approved: "Approved. The agent fetches its key by itself now; you can revoke it under API keys at any time.",
  denied: "Denied. The agent gets no key."
}

const Code = ({ userCode }: { readonly userCode: string }) => {
  const typed = useSignal(userCode)
  useEffect(() => {
    typed.value = userCode
  }, [userCode])
  const isWhole = Places.isWholeCode(typed.value)
  const look = (event: Event): void => {
    event.preventDefault()
    if (isWhole) location.hash = Places.link("connect", typed.value)
  }
  return (
    <form onSubmit={look}>
      <label for="user-code">The code that your agent shows</label>
      <div class="row">
        <input
          id="user-code"
          class="code"
          type="text"
          inputMode="text"
          autoComplete="off"
          autoCapitalize="characters"
          spellcheck={false}
          placeholder="XXXX-XXXX"
          maxLength={12}
          aria-describedby="user-code-hint"
          value={typed.value}
          onInput={(event) => event.currentTarget.value = typed.value = Places.normalizedCode(event.currentTarget.value)}
        />
        <button type="submit" disabled={!isWhole}>Look</button>
      </div>
      <p id="user-code-hint" class="fine">Eight letters and digits. Nothing is granted by looking.</p>
    </form>
  )
}

const Asked = ({ approval, request }: { readonly approval: Approval; readonly request: ConnectRequest }) => {
  const isBusy = approval.deciding.isBusy.value
  const trades = request.scopes.includes("trade")
  return (
    <Section title="What it asks for">
      <dl class="facts">
        <dt>Code</dt>
        <dd class="code">{request.userCode}</dd>
        <dt>Calls itself</dt>
        <dd>
          <q>
            <bdi>{request.clientName}</bdi>
          </q>{" "}
          <span class="fine">the agent’s own claim; the venue has not checked it</span>
        </dd>
        <dt>May</dt>
        <dd>
          <ul>
            {request.scopes.map((scope) => (
              <li key={scope}>
                <strong>{scopes[scope].title}.</strong> {scopes[scope].text}
              </li>
            ))}
          </ul>
        </dd>
        <dt>May not</dt>
        <dd>Deposit, withdraw, approve other keys, or choose the name under which others see you: no key ever can.</dd>
        <dt>For</dt>
        <dd>{duration(request.keyLifetimeSeconds)}, from when it fetches the key</dd>
        <dt>Asked</dt>
        <dd>
          <Moment atEpochMs={request.requestedAtEpochMs} />, answer by <Moment atEpochMs={request.expiresAtEpochMs} ofDay />
        </dd>
      </dl>
      <div class="warning" role="note">
        <p>
          <strong>Approve only what you started yourself.</strong>{" "}
          Check that your agent shows this code. Whoever sent you a link with a code may be asking for a key of their own.
          {trades && " This key can trade: it can lose all the money in your account."}
        </p>
      </div>
      <Trouble failure={approval.deciding.failure.value} />
      <div class="actions">
        <button type="button" disabled={isBusy} onClick={() => void approval.deny(request)}>Deny</button>
        <button type="button" class="primary" disabled={isBusy} onClick={() => void approval.approve(request)}>
          {trades ? "Approve, with trading" : "Approve"}
        </button>
      </div>
      <p class="fine">You approve exactly this, or nothing: what it may do can be neither widened nor narrowed here.</p>
    </Section>
  )
}

const Outcome = ({ approval }: { readonly approval: Approval }) => {
  const decision = approval.decision.value
  const request = approval.request.value.value
  const failure = approval.request.failure.value
  return (
    <>
      <Trouble failure={failure} again={() => void approval.request.load()} />
      <div role="status">
        {approval.request.isBusy.value && <p class="soft">Looking…</p>}
        {decision !== undefined && <p class="notice">{decided[decision]}</p>}
      </div>
      {decision === undefined && request !== undefined && <Asked approval={approval} request={request} />}
    </>
  )
}

export const ConnectPage = ({ store: { approval, place }, title }: { readonly store: Store; readonly title: string }) => {
  const { userCode } = place.value
  useEffect(() => {
    if (Places.isWholeCode(userCode)) void approval.look(userCode)
    else approval.clear()
  }, [userCode])
  return (
    <div class="narrow">
      <Title title={title} />
      <p>
        A program that is to read or trade for you asks for a key, and shows you a code. See what it asks for before it gets anything.
      </p>
      <Code userCode={userCode} />
      <Outcome approval={approval} />
      <p>
        <a href={Places.link("keys")}>All API keys</a>
      </p>
    </div>
  )
}
