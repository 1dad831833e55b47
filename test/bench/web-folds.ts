import type { Browser } from 'playwright-core'
import { openSignedIn } from '../browser/log/signed-in.js'
import { type Figure, atMost } from './report.js'
import { lineShown, waitInPage } from './web-page.js'

/** Tasks of the output, as many as a large run has. */
const TASKS = 1325

/**
 * How long it takes until all tasks of a long output are folded and their headings stand there. The output is real. Which
 * lines belong to which task is said here, because a playbook that prints so much takes many minutes.
 * @param lines the lines of the output, each with its end
 */
export async function measureFolding(
  browser: Browser,
  address: string,
  jobId: number,
  lines: readonly string[],
): Promise<Figure[]> {
  const { page, context } = await openSignedIn(browser, address)
  const records = recordsOf(lines)
  await page.route(new RegExp(`/job/${jobId}/outline`), (route) =>
    route.fulfill({ json: { count: TASKS, records, last: TASKS + 1, complete: true } }),
  )
  await page.goto(`${address}/jobs/${jobId}#L1`)
  const fold = page.getByRole('button', { name: 'Fold tasks' })
  await fold.waitFor()
  await waitInPage(page, lineShown(0))
  // The heading of a task is behind the empty line that it begins with.
  const tenth = (records[9]?.line ?? 0) + 1
  await page.evaluate(
    `addEventListener('click', () => (globalThis.noted = performance.now()), { once: true, capture: true })`,
  )
  await fold.click()
  const ms = await waitInPage(page, lineShown(tenth), 'globalThis.noted')
  await context.close()
  const name = `output of ${lines.length} lines`
  return [
    { ...atMost(`${name}: ${TASKS} tasks are folded`, ms / 1000, 's', 0.2, 'until headings stand there'), digits: 2 },
  ]
}

/** Tasks of equal length, all with a change, so that none is folded at first. */
function recordsOf(lines: readonly string[]) {
  const size = Math.floor(lines.length / TASKS)
  const counts = { ok: 0, changed: 1, failed: 0, skipped: 0, unreachable: 0, ignored: 0, hosts: 1 }
  const time = '2026-01-01T00:00:00.000Z'
  let byte = 0
  return Array.from({ length: TASKS }, (_, index) => {
    const line = index * size
    const from = byte
    for (const text of lines.slice(line, line + size)) byte += text.length
    const place = { order: index + 2, from, to: byte, line }
    const named = { id: index + 2, kind: 'task', play: 1, name: `Task ${index + 1}`, role: null, path: null }
    return { ...named, ...place, started: time, ended: time, ...counts }
  })
}
