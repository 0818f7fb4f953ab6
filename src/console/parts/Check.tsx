/** A labelled check box. */
interface Props {
  readonly label: string
  readonly isOn: boolean
  readonly isOff?: boolean
  readonly set: (isOn: boolean) => void
}

export const Check = ({ isOff = false, isOn, label, set }: Props) => (
  <label class="check">
    <input type="checkbox" checked={isOn} disabled={isOff} onChange={(event) => set(event.currentTarget.checked)} />
    {label}
  </label>
)
