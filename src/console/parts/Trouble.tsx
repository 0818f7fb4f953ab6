/** An error where it occurred: the venue's message, what to do next, and the request's id. */
import type { Failure } from "../state/Failure.js"

interface Props {
  readonly failure: Failure | undefined
  /** What the error is about, where that is not clear from its place. */
  readonly subject?: string
  /** Repeats the same request, where that may help. */
  readonly again?: () => void
}

export const Trouble = ({ again, failure, subject }: Props) => (
  <div role="alert" class={failure === undefined ? "unseen" : "trouble"}>
    {failure !== undefined && (
      <>
        <p>
          {subject !== undefined && `${subject}: `}
          <strong>{failure.message}</strong> {failure.advice}
        </p>
        {failure.requestId !== undefined && (
          <p class="fine">
            Request <code>{failure.requestId}</code>
          </p>
        )}
        {failure.again && again !== undefined && <button type="button" onClick={again}>Try again</button>}
      </>
    )}
  </div>
)
