import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { execa } from 'execa'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../support/product.js'

const BUILT = pathToFileURL(join(ROOT, 'control-plane/client/dist/time-limit.js')).href

/**
 * A program that waits for a signal while its garbage is collected again and again, and prints why the signal came.
 * Timers fire in the order of their times: when the last one does, the limit is over on any machine.
 */
const program = (prepare: string): string => `
  import { withTimeLimit } from ${JSON.stringify(BUILT)}
  const user = new AbortController()
  ${prepare}
  const signal = withTimeLimit(500, user.signal)
  const end = (how) => { console.log(how); process.exit() }
  signal.addEventListener('abort', () => end(signal.reason.name))
  setInterval(() => globalThis.gc(), 20)
  setTimeout(() => end('nothing came'), 2000)
`

async function endOf(prepare = ''): Promise<string> {
  return (await execa('node', ['--expose-gc', '--input-type=module', '--eval', program(prepare)])).stdout
}

describe('the time limit of a request', () => {
  it('comes, also when the garbage collector runs meanwhile', async () => {
    expect(await endOf()).toBe('TimeoutError')
  })

  it('lets the caller end the request earlier', async () => {
    expect(await endOf('setTimeout(() => user.abort(), 100)')).toBe('AbortError')
  })
})
