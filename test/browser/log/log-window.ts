import { waitFor } from '../../support/wait.js'

/** A line as it stands in the window. */
export interface LineInWindow {
  /** From 0. */
  readonly line: number
  readonly text: string
  readonly isMissing: boolean
  /** Pixels below the top of the window. */
  readonly top: number
}

/** A page with an output, whatever browser it is in. */
export interface LogPage {
  /** What an expression gives on the page. */
  evaluate<Value>(expression: string): Promise<Value>
  press(key: 'Home' | 'End' | 'PageDown'): Promise<void>
}

const LINES = `(() => {
  const frame = document.querySelector('.log-frame')
  if (!frame) return []
  const { top } = frame.getBoundingClientRect()
  return [...frame.querySelectorAll('.log-row:not([hidden])')]
    .map((row) => ({
      line: Number(row.dataset.line),
      text: String(row.querySelector('.log-text')?.textContent),
      isMissing: row.classList.contains('log-missing'),
      // Browsers lay out in parts of a pixel, which nobody sees.
      top: Math.round(row.getBoundingClientRect().top - top),
    }))
    .sort((one, other) => one.line - other.line)
})()`

/** The lines in the window, in order. */
export function linesIn(page: LogPage): Promise<LineInWindow[]> {
  return page.evaluate(LINES)
}

/** Waits until a line is in the window, with its text, and no other one is still missing. */
export function waitForLine(page: LogPage, isRight: (line: number) => boolean): Promise<LineInWindow[]> {
  return waitFor('the line in the window', async () => {
    const lines = await linesIn(page)
    return (
      lines.length > 0 && lines.every(({ isMissing }) => !isMissing) && lines.some(({ line }) => isRight(line)) && lines
    )
  })
}

/** What the page says of the output. */
export function statusOf(page: LogPage): Promise<string> {
  return page.evaluate(`document.querySelector('.log-status')?.innerText ?? ''`)
}

/** Number of lines as the status says it, such as `1,204 lines`. */
export async function linesSaid(page: LogPage): Promise<number> {
  return Number(/^([\d,]+) lines?/.exec(await statusOf(page))?.[1]?.replaceAll(',', '') ?? 0)
}

/** Goes through the whole output, page after page, and gives what was shown. */
export async function readThrough(page: LogPage): Promise<string> {
  const lines = await linesSaid(page)
  const shown = new Map<number, string>()
  await page.evaluate(`document.querySelector('.log-scroller').focus()`)
  await page.press('Home')
  for (let last = -1; last < lines - 1; last = Math.max(...shown.keys())) {
    if (last >= 0) await page.press('PageDown')
    // The window before the key has the last line, too, and nothing after it.
    for (const { line, text } of await waitForLine(page, (line) => line === last + 1)) shown.set(line, text)
  }
  return [...shown]
    .sort(([one], [other]) => one - other)
    .map(([, text]) => `${text}\n`)
    .join('')
}
