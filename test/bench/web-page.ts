import type { Page } from 'playwright-core'

/** A page of whatever browser. */
export interface MeasuredPage {
  /** What an expression gives on the page; a promise is waited for. */
  evaluate<Value>(expression: string): Promise<Value>
}

/** A job that is followed, and for how long, in seconds. */
export const FOLLOWED = { perSecond: 2000, outputBytes: 100, eventBytes: 0, stamped: true }
export const WATCHED_SECONDS = 60

/** What a page was like while it was looked at. */
export interface Smoothness {
  /** Milliseconds between two frames that 99 % of them are not above. */
  readonly frameMs: number
  /** The longest task of the page, in milliseconds; 0 when none was above 50. */
  readonly taskMs: number
  /** How far the last line in the window was behind its writing, in milliseconds: 95 % are not above. */
  readonly behindMs: number
  readonly elements: number
}

/**
 * Waits in the page until a condition holds, and gives the time, in milliseconds, since `from`.
 * @param condition JavaScript that is true in the end
 * @param from JavaScript that gives a time of `performance.now()`; `0` is the begin of the navigation
 */
export function waitInPage(page: MeasuredPage, condition: string, from = '0'): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve, reject) => {
    const begin = ${from}
    const look = () => {
      if (${condition}) resolve(performance.now() - begin)
      else if (performance.now() - begin > 120_000) reject(new Error('waited in vain for ' + ${JSON.stringify(condition)}))
      else requestAnimationFrame(look)
    }
    look()
  })`)
}

/** JavaScript that is true when a line, counted from 0, stands in the window of the output with its text. */
export const lineShown = (line: number) =>
  `document.querySelector('.log-row:not([hidden]):not(.log-missing)[data-line="${line}"] .log-text')?.textContent`

/** When something was painted first, in milliseconds after the begin of the navigation, and how much moved about. */
export async function firstPaint(page: Page): Promise<{ readonly ms: number; readonly shift: number }> {
  return page.evaluate(`new Promise((resolve) => {
    let shift = 0
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) shift += entry.value
    }).observe({ type: 'layout-shift', buffered: true })
    const look = () => {
      const [paint] = performance.getEntriesByName('first-contentful-paint')
      if (paint) setTimeout(() => resolve({ ms: paint.startTime, shift }), 300)
      else requestAnimationFrame(look)
    }
    look()
  })`)
}

/**
 * Looks at a page for some seconds.
 * @param act JavaScript that is done before each frame
 */
export function watch(page: MeasuredPage, seconds: number, act = ''): Promise<Smoothness> {
  return page.evaluate<Smoothness>(`new Promise((resolve) => {
    const frames = [], behind = []
    let task = 0, last = performance.now()
    const end = last + ${seconds * 1000}
    const tasks = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) task = Math.max(task, duration)
    })
    tasks.observe({ type: 'longtask' })
    const at = (values, share) => values.sort((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0
    const frame = () => {
      const now = performance.now()
      frames.push(now - last)
      last = now
      ${act}
      const rows = [...document.querySelectorAll('.log-row:not([hidden]) .log-text')]
      const stamps = rows.map((row) => Number(/ at ([0-9]{13}):/.exec(row.textContent)?.[1] ?? 0))
      const newest = Math.max(0, ...stamps)
      if (newest > 0) behind.push(Date.now() - newest)
      if (now < end) return requestAnimationFrame(frame)
      tasks.disconnect()
      const elements = document.querySelectorAll('*').length
      resolve({ frameMs: at(frames, 0.99), taskMs: task, behindMs: at(behind, 0.95), elements })
    }
    requestAnimationFrame(frame)
  })`)
}

/** Memory that the scripts of a page of chromium hold, with the bytes of outputs, in MB. */
export async function heapMbOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page)
  await session.send('HeapProfiler.collectGarbage')
  const usage = (await session.send('Runtime.getHeapUsage')) as { usedSize: number; backingStorageSize?: number }
  await session.detach()
  return (usage.usedSize + (usage.backingStorageSize ?? 0)) / 1e6
}
