/** Sign-in: with an existing passkey, or with a new one that opens an account. */
import { useSignal } from "@preact/signals"
import { Title } from "../parts/Title.js"
import { Trouble } from "../parts/Trouble.js"
import { longestLabel } from "../state/SignIn.js"
import type { Store } from "../state/Store.js"

export const SignInPage = ({ store }: { readonly store: Store }) => {
  const displayName = useSignal("")
  const { task } = store.signIn
  const isBusy = task.isBusy.value
  const ended = store.credential.ended.value
  const { page } = store.place.value
  const create = (event: Event): void => {
    event.preventDefault()
    void store.signIn.createAccount(displayName.value)
  }
  return (
    <div class="narrow door">
      <Title title="Sign in" />
      <p role="status" class={ended === undefined ? "unseen" : "notice"}>{ended}</p>
      {page === "connect" && <p>An agent asks for a key to your account. Sign in to see what it asks for, and to approve or deny it.</p>}
      {store.elsewhere !== undefined && (
        <p class="warning">
          Passkeys do not work at this address: a passkey is bound to a name. Open <a href={store.elsewhere}>the same page by its name</a>.
        </p>
      )}
      <Trouble failure={task.failure.value} />
      <button type="button" class="primary wide" disabled={isBusy} onClick={() => void store.signIn.signIn()}>
        {isBusy ? "Waiting for your passkey…" : "Sign in with a passkey"}
      </button>
      <section aria-labelledby="create">
        <h2 id="create">New here?</h2>
        <p>
          A passkey is kept by your device or password manager and unlocked by your fingerprint, face or PIN. There is no password, and no
          e-mail. Add a second passkey once you are in: whoever loses all of them cannot get in again.
        </p>
        <form onSubmit={create}>
          <label for="passkey-name">
            Name of the passkey <span class="soft">(optional)</span>
          </label>
          <input
            id="passkey-name"
            type="text"
            maxLength={longestLabel}
            autoComplete="off"
            placeholder="My laptop"
            value={displayName.value}
            onInput={(event) => displayName.value = event.currentTarget.value}
          />
          <button type="submit" class="wide" disabled={isBusy}>Create an account</button>
        </form>
      </section>
    </div>
  )
}
