import type { Output } from '../terminal.js'

const SGR = { bold: [1, 22], dim: [2, 22], red: [31, 39], green: [32, 39], yellow: [33, 39], cyan: [36, 39] } as const

/** A colour or style of the terminal. */
export type Paint = keyof typeof SGR

/** Colours text when the output takes colours. */
export function paint(output: Output, text: string, how: Paint | null): string {
  if (!output.color || how === null) return text
  const [on, off] = SGR[how]
  return `\u001b[${on}m${text}\u001b[${off}m`
}

/** One colour for each status, the same in every table. */
export function statusPaint(status: string): Paint | null {
  switch (status) {
    case 'success':
    case 'approved':
      return 'green'
    case 'failed':
    case 'abandoned':
    case 'denied':
    case 'revoked':
      return 'red'
    case 'running':
      return 'cyan'
    case 'approve':
    case 'warning':
    case 'aborted':
    case 'rejected':
    case 'waiting':
      return 'yellow'
    default:
      return null
  }
}
