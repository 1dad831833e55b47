import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { gridAnswers } from '../browser/kit/grid-answers.js'
import { openSignedIn } from '../browser/log/signed-in.js'
import { type Figure, atMost } from './report.js'
import { median, range } from './statistics.js'
import { waitInPage, watch } from './web-page.js'

const HOSTS = 2000
const TASKS = 500

/** The largest grid of hosts and tasks. Its two answers are made here: only the page is measured. */
export async function measureGrid(browser: Browser, address: string, runs: number): Promise<Figure[]> {
  const front = await startFront(address)
  const { page, context } = await openSignedIn(browser, front.address)
  const shown: number[] = []
  for (let run = 0; run < runs; run += 1) {
    await page.goto('about:blank')
    await page.goto(`${front.address}/jobs/1/tasks`)
    shown.push(await waitInPage(page, `document.querySelector('[role=grid] [role=gridcell]')`))
  }
  const scroll = `document.querySelector('[role=grid]').scrollTop += 37`
  const { frameMs, elements } = await watch(page, 5, scroll)
  await context.close()
  front.close()
  const name = `${HOSTS} hosts × ${TASKS} tasks`
  const note = `median of ${runs}, ${range(shown, 0)}`
  return [
    atMost(`${name}: shown, from the begin of the page`, median(shown), 'ms', 1000, note),
    atMost(`${name}: frames while scrolling, 99 %`, frameMs, 'ms', 34, `${elements} elements`),
  ]
}

/** Stands before the control plane. It answers for the grid of job 1 itself and hands everything else on. */
async function startFront(address: string) {
  const answers = gridAnswers(HOSTS, Array<string>(TASKS).fill('o'.repeat(HOSTS)))
  const [matrix, outline] = [JSON.stringify(answers.matrix), JSON.stringify(answers.outline)]
  const server = createServer((asked, answer) => {
    const path = asked.url ?? ''
    const made = path.includes('/job/1/matrix') ? matrix : path.includes('/job/1/outline') ? outline : null
    if (made !== null) {
      answer.setHeader('content-type', 'application/json')
      answer.end(made)
      return
    }
    const onward = request(address + path, { method: asked.method ?? 'GET', headers: asked.headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers)
      got.pipe(answer)
    })
    onward.on('error', () => answer.destroy())
    answer.on('close', () => onward.destroy())
    asked.pipe(onward)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}
