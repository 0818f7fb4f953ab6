/** A choice among a few options: radio buttons that look like a row of buttons. */
interface Props<A extends string> {
  /** The group's label, for screen readers only. */
  readonly label: string
  readonly name: string
  readonly choices: ReadonlyArray<readonly [value: A, title: string]>
  readonly value: A
  readonly choose: (value: A) => void
}

export const Choices = <A extends string>({ choices, choose, label, name, value }: Props<A>) => (
  <fieldset class="choices">
    <legend class="unseen">{label}</legend>
    {choices.map(([each, title]) => (
      <label key={each} class={each === value ? `choice ${each} chosen` : `choice ${each}`}>
        <input type="radio" name={name} value={each} checked={each === value} onChange={() => choose(each)} />
        {title}
      </label>
    ))}
  </fieldset>
)
