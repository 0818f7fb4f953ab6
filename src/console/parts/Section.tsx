/** A section of a page with its own heading, and the three cases in which its contents may be missing. */
import type { ComponentChildren } from "preact"
import { useId } from "preact/hooks"
import type { Reading } from "../state/Task.js"
import { Trouble } from "./Trouble.js"

interface SectionProps {
  readonly title: string
  readonly children: ComponentChildren
}

export const Section = ({ children, title }: SectionProps) => {
  const id = useId()
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  )
}

interface ReadProps<A> {
  readonly of: Reading<A>
  readonly children: (value: A) => ComponentChildren
}

/** Shows a value as soon as there is one, keeps it while it is read again, and shows beside it why there is nothing newer. */
export const Read = <A extends object>({ children, of }: ReadProps<A>) => {
  const value = of.value.value
  const failure = of.failure.value
  return (
    <>
      <Trouble failure={failure} again={() => void of.load()} />
      {value === undefined ? failure === undefined && <p class="soft" role="status">Loading…</p> : children(value)}
    </>
  )
}
