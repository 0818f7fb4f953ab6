/** The frame around every page: sign-in where nobody is signed in, otherwise navigation, the page, and sign-out. */
import type { FunctionComponent } from "preact"
import { useEffect, useRef } from "preact/hooks"
import "@preact/signals"
import { ApiKeysPage } from "./pages/ApiKeys.js"
import { ConnectPage } from "./pages/Connect.js"
import { FundsPage } from "./pages/Funds.js"
import { LeaderboardPage } from "./pages/Leaderboard.js"
import { MarketPage } from "./pages/Market.js"
import { MarketsPage } from "./pages/Markets.js"
import { PasskeysPage } from "./pages/Passkeys.js"
import { PortfolioPage } from "./pages/Portfolio.js"
import { SecurityPage } from "./pages/Security.js"
import { SignInPage } from "./pages/SignIn.js"
import * as Places from "./state/Places.js"
import type { Store } from "./state/Store.js"
import { short } from "./state/Words.js"

interface Entry {
  /** The page's name in the window's title and in its heading. */
  readonly title: string
  /** Its name in the navigation, where that is shorter. */
  readonly short?: string
  readonly Page: FunctionComponent<{ readonly store: Store; readonly title: string }>
  /** The navigation entry under which it belongs. */
  readonly under: Places.Page
}

/** Every page. A new one is a file in `pages/`, a name in `Places.ts` and a line here. */
const entries: Readonly<Record<Places.Page, Entry>> = {
  portfolio: { title: "Portfolio", Page: PortfolioPage, under: "portfolio" },
  markets: { title: "Markets", Page: MarketsPage, under: "markets" },
  market: { title: "Market", Page: MarketPage, under: "markets" },
  leaderboard: { title: "Leaderboard", Page: LeaderboardPage, under: "leaderboard" },
  funds: { title: "Deposit and withdraw", short: "Funds", Page: FundsPage, under: "funds" },
  keys: { title: "API keys", Page: ApiKeysPage, under: "keys" },
  passkeys: { title: "Passkeys", Page: PasskeysPage, under: "passkeys" },
  security: { title: "Security", Page: SecurityPage, under: "security" },
  connect: { title: "Connect an agent", Page: ConnectPage, under: "keys" }
}

const shownInNavigation = Places.pages.filter((page) => entries[page].under === page)

const Navigation = ({ page }: { readonly page: Places.Page }) => (
  <nav aria-label="Pages">
    <ul>
      {shownInNavigation.map((one) => (
        <li key={one}>
          <a href={Places.link(one)} aria-current={entries[page].under === one ? "page" : undefined}>
            {entries[one].short ?? entries[one].title}
          </a>
        </li>
      ))}
    </ul>
  </nav>
)

const Header = ({ store }: { readonly store: Store }) => {
  const signed = store.credential.signed.value
  return (
    <header>
      <div class="bar">
        <a class="brand" href={Places.link("portfolio")}>Perpetuum</a>
        {signed !== undefined && (
          <div class="who">
            <span class="account" title={signed.accountId}>
              <span class="unseen">Account{" "}</span>
              {short(signed.accountId)}
            </span>
            <button type="button" class="quiet" onClick={() => void store.signIn.signOut()}>Sign out</button>
          </div>
        )}
      </div>
      {signed !== undefined && <Navigation page={store.place.value.page} />}
    </header>
  )
}

/** Moves the focus to the heading when the page changes, so that a screen reader begins there; but not on the first page. */
const useArrival = (name: string): void => {
  const last = useRef(name)
  useEffect(() => {
    if (last.current === name) return
    last.current = name
    scrollTo(0, 0)
    document.querySelector("h1")?.focus()
  }, [name])
}

export const App = ({ store }: { readonly store: Store }) => {
  const { marketId, page } = store.place.value
  const isSigned = store.credential.signed.value !== undefined
  const entry = isSigned ? entries[page] : { Page: SignInPage, title: "Sign in" }
  const { Page } = entry
  const title = isSigned && marketId !== "" ? marketId : entry.title
  useArrival(`${title} ${isSigned}`)
  useEffect(() => {
    document.title = `${title} \u00b7 Perpetuum`
  }, [title])
  const skip = (event: Event): void => {
    event.preventDefault()
    document.getElementById("main")?.focus()
  }
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>Skip to the page</a>
      <Header store={store} />
      <main id="main" tabIndex={-1}>
        <Page store={store} title={title} />
      </main>
      <footer>
        <a href="/docs">API reference</a>
      </footer>
    </>
  )
}
