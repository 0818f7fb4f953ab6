/** A question before something that cannot be undone. It is the browser's own dialog: the focus stays in it, Escape leaves it. */
import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef } from "preact/hooks"
import type { Task } from "../state/Task.js"
import { Trouble } from "./Trouble.js"

interface Props {
  readonly title: string
  /** What the button says that does it. */
  readonly action: string
  readonly task: Task
  readonly children: ComponentChildren
  readonly onConfirm: () => void
  readonly onClose: () => void
}

export const Confirm = ({ action, children, onClose, onConfirm, task, title }: Props) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    dialog.current?.showModal()
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
