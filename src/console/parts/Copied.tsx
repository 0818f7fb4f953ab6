/** A text that is to be used elsewhere, whole, with a button that copies it and says so. */
import { useSignal } from "@preact/signals"
import type { Outside } from "../state/Outside.js"

interface Props {
  readonly text: string
  /** What it is, for the button's name. */
  readonly what: string
  readonly copy: Outside["copy"]
}

export const Copied = ({ copy, text, what }: Props) => {
  const said = useSignal("")
  const run = async (): Promise<void> => {
    said.value = await copy(text) ? "Copied." : "The browser does not allow it: select the text and copy it."
  }
  return (
    <>
      <code>{text}</code> <button type="button" class="small" aria-label={`Copy ${what}`} onClick={() => void run()}>Copy</button>{" "}
      <span role="status" class="fine">{said.value}</span>
    </>
  )
}
