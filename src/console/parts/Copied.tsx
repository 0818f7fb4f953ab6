/** A text to be used elsewhere, shown in full, with a button that copies it and confirms that. */
import { useSignal } from "@preact/signals"
import type { Outside } from "../state/Outside.js"

interface Props {
  readonly text: string
  /** What the text is, for the button's label. */
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
