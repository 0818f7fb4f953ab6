/** Where the pages begin: the store over the browser, and the address as the place. */
import { render } from "preact"
import { App } from "./App.js"
import { browser } from "./Browser.js"
import * as Places from "./state/Places.js"
import { Store } from "./state/Store.js"

const { hash, pathname, search } = location
const place = Places.opened(pathname, search, hash)
const store = new Store(browser, place)

// From here on the place is what stands behind `#`, whatever address the pages were opened at.
history.replaceState(null, "", `/${Places.linkTo(place)}`)
addEventListener("hashchange", () => {
  store.place.value = Places.parse(location.hash)
})

render(<App store={store} />, document.getElementById("app")!)
