/** Drawings of the tools: paths in a square of 16, drawn as lines. */
const PATHS = {
  follow: 'M8 2v8M4.500 6.500L8 10l3.500-3.500M3 13.500h10',
  wrap: 'M2 3.500h12M2 8h9.500a2.250 2.250 0 0 1 0 4.500H8M10 10.500l-2 2 2 2M2 12.500h3',
  fold: 'M2 8h12M8 1.500v4M6 3.500l2 2 2-2M8 14.500v-4M6 12.500l2-2 2 2',
  unfold: 'M2 8h12M8 5.500v-4M6 3.500l2-2 2 2M8 10.500v4M6 12.500l2 2 2-2',
  find: 'M7 11.500a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9M10.500 10.500l3.500 3.500',
  times: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 4.500V8l2.500 1.500',
  keys: 'M1.500 4h13v8h-13zM4 6.500h.010M6.500 6.500h.010M9 6.500h.010M11.500 6.500h.010M4.500 9.500h7',
  next: 'M8 3v10M4 9l4 4 4-4',
  previous: 'M8 13V3M4 7l4-4 4 4',
  close: 'M3.500 3.500l9 9M12.500 3.500l-9 9',
  only: 'M2 3.500h12M4.500 8h7M6.500 12.500h3',
  letters:
    'M1.500 12L4.500 4l3 8M2.500 9.500h4M14 7.500V12M14 9.750a2.250 2.250 0 1 0-4.500 0 2.250 2.250 0 0 0 4.500 0',
  pattern: 'M10.500 3v6M8 4.500l5 3M13 4.500l-5 3M3.500 12.500h1.500',
} as const

interface ToolProps {
  readonly icon: keyof typeof PATHS
  /** What it does: its name for programs that read the page aloud, and shown when the mouse rests on it. */
  readonly name: string
  readonly isPressed?: boolean | undefined
  readonly onPress: () => void
}

/** A button with a drawing. */
export function Tool({ icon, name, isPressed, onPress }: ToolProps) {
  return (
    <button type="button" class="log-tool" aria-label={name} title={name} aria-pressed={isPressed} onClick={onPress}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d={PATHS[icon]} />
      </svg>
    </button>
  )
}
