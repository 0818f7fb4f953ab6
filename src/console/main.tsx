/** The entry point of the pages: the store over the browser, with the address as the current place. */
import { render } from "preact"
import { App } from "./App.js"
import { browser } from "./Browser.js"
import * as Places from "./state/Places.js"
import { Store } from "./state/Store.js"

const { hash, pathname, search } = location
const place = Places.opened(pathname, search, hash)
const store = new Store(browser, place)

// From here on the place is the part after `#`, whatever address the pages were opened at.
history.replaceState(null, "", `/${Places.linkTo(place)}`)
addEventListener("hashchange", () => {
  store.place.value = Places.parse(location.hash)
})

render(<App store={store} />, document.getElementById("app")!)
