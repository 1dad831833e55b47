import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { storedEvents } from '../support/exactness.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { expectBoundedMemory } from './kit/peak-memory.js'
import { expectExactly } from './kit/stored.js'

/** Whatever is printed is stored as it is, is readable, and costs bounded memory. */
let chaos: ChaosProduct

afterEach(() => chaos.close())

const MEGABYTE = 1_000_000

/** So much is a lot of work for a busy machine. */
const PATIENCE_MS = 600_000

/** A file for the emitter to write from. */
function pieceOf(name: string, bytes: Buffer | string): string {
  const path = join(chaos.product.folder, name)
  writeFileSync(path, bytes)
  return path
}

/** Reads an answer to its end without holding it. */
async function digestOf(path: string): Promise<{ readonly bytes: number; readonly sha256: string }> {
  const { address, admin } = chaos.product
  const response = await fetch(`${address}/api/v2${path}`, { headers: { authorization: `Bearer ${admin.token}` } })
  expect(response.status).toBe(200)
  const hash = createHash('sha256')
  let bytes = 0
  for await (const part of response.body ?? []) {
    hash.update(part)
    bytes += part.length
  }
  return { bytes, sha256: hash.digest('hex') }
}

describe('what a job prints', () => {
  test(
    'as one line of 200 MB is stored completely and can be downloaded, and later output is not affected',
    async () => {
      chaos = await startChaos({ controlPlane: { PROCESS_MAX_BUFFER_MB: '256' } })
      const path = pieceOf('line-part', 'a part of a very long line äöü <&> '.repeat(30_000).slice(0, MEGABYTE))
      const { jobId, truth } = await chaos.launchSynthetic({
        steps: 50,
        raw: [{ step: 20, stream: 'output', path, times: 200 }],
      })
      const job = await waitFor(
        'its end',
        async () => {
          const read = await chaos.product.admin.get(`/job/${jobId}?output=false`)
          return read.status === 'running' ? null : read
        },
        { timeoutMs: PATIENCE_MS },
      )
      expect(job).toMatchObject({ status: 'success', detail: null })
      const { outputBytes, events } = await expectExactly(chaos.product, jobId, truth)
      expect(outputBytes).toBeGreaterThan(200 * MEGABYTE)
      expect(events).toBe(50)
      const written = await readFile(truth.outputPath)
      const text = Buffer.from(written.toString('utf8'))
      const sha256 = createHash('sha256').update(text).digest('hex')
      expect(await digestOf(`/job/${jobId}/download`)).toEqual({ bytes: text.length, sha256 })
      expectBoundedMemory(chaos.product, 'a line of 200 MB')
    },
    PATIENCE_MS,
  )

  test('as bytes that are not text is stored unchanged, and shown with replacement characters', async () => {
    chaos = await startChaos()
    const odd = Buffer.from(
      'nul \0 broken \xff\xfe\xc3( half \xe6\xbc escape \x1b[31mred\x1b[0m bell \x07\r\n<b>\n',
      'latin1',
    )
    const raw = [{ step: 5, stream: 'output', path: pieceOf('odd', odd), times: 3 }] as const
    const jobs = [
      await chaos.launchSynthetic({ steps: 300, outputBytes: 4000, binary: true, unfinished: true }),
      await chaos.launchSynthetic({ raw }),
    ]
    for (const { jobId, truth } of jobs) {
      const job = await chaos.product.waitForEnd(jobId)
      expect(job).toMatchObject({ status: 'success', detail: null })
      await expectExactly(chaos.product, jobId, truth)
      const { bytes } = await chaos.product.admin.raw(`/job/${jobId}/download`)
      expect(bytes.toString()).toBe(job.output)
      expect(job.output).toContain('\ufffd')
      expect(job.output).toContain('step 2')
      const { output } = await chaos.product.admin.get<{ output: string }>(`/job/${jobId}`)
      expect(output).not.toContain('<b>')
      expect(output).toContain('step 2')
    }
    const { output } = await chaos.product.admin.get<{ output: string }>(`/job/${jobs[1]?.jobId}?text=true`)
    expect(output).toContain('nul \0 broken \ufffd\ufffd\ufffd( half \ufffd escape red bell \x07\r\n<b>\n')
  })
})

describe('a line of events', () => {
  test('that is too long, too deep, torn or not JSON is stored unchanged, and later lines are not affected', async () => {
    chaos = await startChaos()
    const deep = (depth: number): string =>
      `{"order":0,"type":"runner_on_ok","play":"p","task":"deep","host":"h","duration":1,` +
      `"time":"2026-11-20T08:00:00.000Z","result":${'['.repeat(depth)}${']'.repeat(depth)}}\n`
    const lines: readonly (string | Buffer)[] = [
      deep(10_000),
      deep(100_000),
      `{"order":0,"type":"runner_on_ok","result":{"msg":"${'x'.repeat(300_000)}"}}\n`,
      '{"order":0,"type":"runner_on_ok","play":"torn\n',
      Buffer.from('\xff\0\xfe broken\n', 'latin1'),
      '\n',
      'null\n',
      '{"type":"something_else"}\n',
    ]
    const raw = lines.map((bytes, index) => {
      const path = pieceOf(`line-${index}`, bytes)
      return { step: 10 + index, stream: 'events', path, times: 1 } as const
    })
    const { jobId, truth } = await chaos.launchSynthetic({ steps: 30, raw })
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
    const events = await storedEvents(chaos.product, jobId)
    // The line of 300 KB is more than an event may be and becomes two rows; not a byte of it is lost.
    expect(events).toHaveLength(30 + lines.length + 1)
    expect(events.filter(({ type }) => type === 'unreadable')).toHaveLength(lines.length - 2 + 1)
    expect(events.filter(({ task }) => task?.startsWith('task'))).toHaveLength(30)
    for (const { order, task } of events) {
      const event = await chaos.product.admin.get<{ order: number; result: unknown }>(`/job/${jobId}/events/${order}`)
      expect(event.order).toBe(order)
      if (task === 'deep') expect(event.result).toEqual({ unreadable: expect.stringMatching(/\[{10000}/) })
      else expect(event).toHaveProperty('result')
    }
    await expectExactly(chaos.product, jobId, truth)
  })
})
