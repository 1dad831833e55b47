import { useAction } from '../live/action.js'
import { Failure } from './failure.js'

/** A switch that turns something on and off at once. */
export function Switch({
  label,
  isOn,
  word,
  turn,
  receipt,
}: {
  /** What is on or off, for people who do not see the switch. */
  readonly label: string
  readonly isOn: boolean
  /** What the switch says as it stands. */
  readonly word: string
  readonly turn: () => Promise<void>
  readonly receipt: string
}) {
  const { isBusy, error, go } = useAction()
  return (
    <>
      <button
        type="button"
        role="switch"
        class="switch"
        aria-checked={isOn}
        aria-label={label}
        aria-disabled={isBusy}
        onClick={() => void go(turn, receipt)}
      >
        <span aria-hidden="true">{word}</span>
      </button>
      {error && <Failure error={error} />}
    </>
  )
}
