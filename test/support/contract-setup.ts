import { afterAll, afterEach } from 'vitest'
import { complaintsAbout } from './contract.js'

/**
 * Holds every answer that a test gets over `fetch` from a path of the interface against the OpenAPI document. The body is
 * looked at when the test reads it, and only then: nothing is held in memory that the test does not hold, streams stay
 * streams. Fakes of the service mark their answers with `x-holdfast-fake`.
 */

const complaints: string[] = []

/** The machine's own fetch. A file whose tests are all left out never takes its wrapping back, so the first one is kept. */
const kept = globalThis as { holdfastOwnFetch?: typeof fetch }
const send = (kept.holdfastOwnFetch ??= globalThis.fetch)
globalThis.fetch = async (input, init) => {
  const response = await send(input, init)
  const url = new URL(input instanceof Request ? input.url : input)
  const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase()
  if (url.pathname.includes('/api/v2/') && !response.headers.has('x-holdfast-fake')) watch(response, method, url)
  return response
}

function watch(response: Response, method: string, url: URL): void {
  const { status, headers } = response
  complaints.push(...complaintsAbout({ method, url, status, headers }))
  if (method === 'HEAD') return
  const seen = (body: string): void => void complaints.push(...complaintsAbout({ method, url, status, headers, body }))
  const readText = response.text.bind(response)
  const text = async (): Promise<string> => {
    const body = await readText()
    seen(body)
    return body
  }
  const json = async (): Promise<unknown> => JSON.parse(await text())
  Object.defineProperties(response, { text: { value: text }, json: { value: json } })
}

const report = (): void => {
  const found = [...new Set(complaints.splice(0))]
  if (found.length > 0) throw new Error(`The OpenAPI document does not say so:\n${found.join('\n')}`)
}
afterEach(report)
// Node.js keeps the timings of 250 requests for `performance`; then every further one raises an event that they are full.
afterEach(() => performance.clearResourceTimings())
afterAll(() => {
  // The worker goes on with another file, whose set-up wraps it again.
  globalThis.fetch = send
  report()
})
