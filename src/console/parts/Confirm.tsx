/**
 * Asks for confirmation before something that cannot be undone. It is the browser's own dialog: it keeps the focus, and Escape closes it.
 */
import type { ComponentChildren } from "preact"
import { useId, useLayoutEffect, useRef } from "preact/hooks"
import type { Task } from "../state/Task.js"
import { Trouble } from "./Trouble.js"

interface Props {
  readonly title: string
  /** The text of the button that goes ahead. */
  readonly action: string
  readonly task: Task
  readonly children: ComponentChildren
  readonly onConfirm: () => void
  readonly onClose: () => void
}

export const Confirm = ({ action, children, onClose, onConfirm, task, title }: Props) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Opened before the first paint, so that it is never seen as part of the page.
  useLayoutEffect(() => {
    dialog.current?.showModal()
    // The browser returns the focus to the button that opened the dialog; where that has disappeared with its row, the heading gets it.
    return () => {
      if (document.activeElement === document.body) document.querySelector("h1")?.focus()
    }
  }, [])
  const isBusy = task.isBusy.value
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
      <Trouble failure={task.failure.value} />
      <div class="actions">
        <button type="button" onClick={() => dialog.current?.close()}>Keep it</button>
        <button type="button" class="danger" disabled={isBusy} onClick={onConfirm}>{isBusy ? "Working…" : action}</button>
      </div>
    </dialog>
  )
}
