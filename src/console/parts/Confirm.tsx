/**
 * Asks for confirmation before something that cannot be undone, or for what it needs. It is the browser's own dialog: it keeps the focus,
 * and Escape closes it. While its task is under way it stays: closing it would take nothing back, and the next dialog would show that task.
 */
import type { ComponentChildren } from "preact"
import { useId, useLayoutEffect, useRef } from "preact/hooks"
import type { Task } from "../state/Task.js"
import { Trouble } from "./Trouble.js"

interface Props {
  readonly title: string
  /** The text of the button that goes ahead, and its look. */
  readonly action: string
  readonly look?: "danger" | "primary"
  /** The text of the button that does not. */
  readonly leave?: string
  readonly task: Task
  readonly children: ComponentChildren
  /** Runs the task; returns whether it was done, which closes the dialog. */
  readonly onConfirm: () => Promise<boolean>
  readonly onClose: () => void
}

export const Confirm = ({ action, children, leave = "Keep it", look = "danger", onClose, onConfirm, task, title }: Props) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Opened before the first paint, so that it is never seen as part of the page; and without what an earlier one has said, perhaps about
  // something else: the browser's Back leaves a dialog, too.
  useLayoutEffect(() => {
    task.clear()
    dialog.current?.showModal()
    // The browser returns the focus to the button that opened the dialog; where that has disappeared with its row, the heading gets it.
    return () => {
      if (document.activeElement === document.body) document.querySelector("h1")?.focus()
    }
  }, [])
  const isBusy = task.isBusy.value
  const confirm = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (await onConfirm()) dialog.current?.close()
  }
  // Escape closes it whatever is under way: browsers let nobody prevent that twice in a row.
  const closed = (): void => task.isBusy.value ? dialog.current?.showModal() : onClose()
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={closed}>
      <h2 id={id}>{title}</h2>
      <form onSubmit={(event) => void confirm(event)}>
        {children}
        <Trouble failure={task.failure.value} />
        <div class="actions">
          <button type="button" disabled={isBusy} onClick={() => dialog.current?.close()}>{leave}</button>
          <button type="submit" class={look} disabled={isBusy}>{isBusy ? "Working…" : action}</button>
        </div>
      </form>
    </dialog>
  )
}
