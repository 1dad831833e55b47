import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { insertJob } from '../../control-plane/src/store/jobs.js'
import { appendToStreams } from '../../control-plane/src/store/job-streams.js'
import { openStore } from '../../control-plane/src/store/open-store.js'
import { queuedJob } from '../runners/queued-job.js'
import { databasePathOf } from '../support/database-file.js'
import { type Product, startProduct } from '../support/product.js'
import { peakResidentBytes } from './cpu.js'
import type { Figure } from './report.js'

type Say = (line: string) => void

const PROBER_PROGRAM = join(import.meta.dirname, 'live-prober.ts')
const REACH_MS = 100
const REACH_MB = 400
const MIB = 1024 * 1024
const LIMIT = 2 * MIB
/** What the rest of a launch takes of its bytes. */
const AROUND = 200
const QUIET_MS = 3000
const OUTPUT_MIB = 50
const EVENTS = 60_000

const FORM = `
name: large
type: ansible
playbook: x.yml
roles: [public]
fields:
  - {name: text, type: textarea, label: Text}
  - {name: rows, type: table, label: Rows, tableFields: [{name: a, type: text, label: A}]}
`

interface Attack {
  readonly what: string
  readonly times: number
  run(product: Product): Promise<unknown>
}

const launchOf = (rawFormData: string) => `{"formName":"large","extravars":{},"rawFormData":${rawFormData}}`
const many = (part: string, bytes: number) => `[${`${part},`.repeat(bytes / (part.length + 1))}${part}]`
const objects = (count: number) => `[${Array.from({ length: count }, (_, at) => `{"k${at}":{}}`).join()}]`

async function post(product: Product, path: string, body: string, token: string | null): Promise<void> {
  const headers = {
    'content-type': 'application/json',
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  }
  const response = await fetch(`${product.address}/api/v2${path}`, { method: 'POST', headers, body })
  await response.arrayBuffer()
}

/** Reads an answer to its end without keeping it. */
async function drain(product: Product, path: string): Promise<void> {
  const headers = { authorization: `Bearer ${product.admin.token}` }
  const response = await fetch(`${product.address}/api/v2${path}`, { headers })
  if (!response.ok || !response.body) throw new Error(`GET ${path}: ${response.status}`)
  for await (const _ of response.body);
}

function attacks(jobId: number): Attack[] {
  const launch = (what: string, times: number, values: string): Attack => {
    const body = launchOf(values)
    return { what, times, run: (product) => post(product, '/job', body, product.admin.token) }
  }
  const strangers = many('{}', 51e6)
  const text = `{"text":"${'x'.repeat(LIMIT - AROUND)}"}`
  return [
    {
      ...{ what: 'a stranger: 51 MB of [{},…] to the sign-in', times: 5 },
      run: (product) => post(product, '/auth/login', strangers, null),
    },
    launch('a launch: 2 MiB of [], refused', 10, `{"text":${many('[]', LIMIT - AROUND)}}`),
    launch('a launch: 2 MiB of one text', 10, text),
    launch('a launch: as many numbers as may be', 10, `{"rows":${many('1', 49_000)}}`),
    launch('a launch: as many objects with names of their own as may be', 10, `{"rows":${objects(12_400)}}`),
    launch('a launch: as many names as may be', 10, `{"rows":{${many('"k":1', 24_900 * 6).slice(1, -1)}}}`),
    {
      ...{ what: 'four of the largest launches at once', times: 5 },
      run: (product) =>
        Promise.all(Array.from({ length: 4 }, () => post(product, '/job', launchOf(text), product.admin.token))),
    },
    { what: 'the events of a job, 120 MB', times: 1, run: (product) => drain(product, `/job/${jobId}/events`) },
    { what: `an output of ${OUTPUT_MIB} MiB as HTML`, times: 1, run: (product) => drain(product, `/job/${jobId}`) },
    { what: 'the same as a file', times: 1, run: (product) => drain(product, `/job/${jobId}/download`) },
    { what: 'the list of 5,000 jobs', times: 5, run: (product) => drain(product, '/job?records=5000') },
  ]
}

/** A job with long output and hostile events, and many others. @returns its id */
async function fill(path: string): Promise<number> {
  const store = await openStore({ kind: 'sqlite', path })
  try {
    const ended = { status: 'success', dispatch: 'done', runner_id: null, end_time: 2 }
    const job = (at: number) => ({ ...queuedJob(1, at.toString(16).padStart(32, '0')), ...ended })
    for (let from = 0; from < 5000; from += 500) {
      await store.write('bench.jobs', async (queries) => {
        for (let at = from; at < from + 500; at += 1) await insertJob(queries, job(at))
      })
    }
    const id = await store.write('bench.job', (queries) => insertJob(queries, job(5001)))
    const line = Buffer.from('{}\n')
    const long = 'x'.repeat(1000)
    const event = {
      type: 'runner_on_ok',
      play: long,
      task: long,
      host: 'h',
      duration: 0.1,
      time: '2026-01-02T03:04:05Z',
    }
    const colours = Buffer.from('\u001b[0;32mok: [host]\u001b[0m => <b>\n'.repeat(MIB / 33))
    let output = 0
    for (let done = 0; done < EVENTS; done += 1000) {
      const piece = output < OUTPUT_MIB * MIB ? colours : Buffer.alloc(0)
      const events = Array.from({ length: 1000 }, () => ({ ...event, line }))
      const place = { output, events: done * line.length, eventsCount: done }
      await store.write('bench.streams', (queries) => appendToStreams(queries, id, place, piece, events))
      output += piece.length
    }
    return id
  } finally {
    await store.close()
  }
}

/**
 * How long the control plane answers nobody else while it works on the largest requests there may be, seen by a second
 * process that asks /live every 20 ms, and the most memory that it takes.
 */
export async function measureLargeRequests(say: Say): Promise<Figure[]> {
  const product = await startProduct({
    withAgent: false,
    forms: { 'large.yaml': FORM },
    controlPlane: { LAUNCH_VALIDATION: 'log', PROCESS_MAX_BUFFER_MB: '60' },
  })
  try {
    await product.controlPlane.stop()
    say('  making a job of 120 MB of events and 50 MiB of output, and 5,000 others')
    const jobId = await fill(databasePathOf(product))
    await product.startControlPlane()
    const prober = openProber(product.address)
    const figures: Figure[] = []
    const measure = async (what: string, note: string, run: () => Promise<unknown>) => {
      await prober.worst()
      await run()
      const { worst, count } = await prober.worst()
      say(`  ${what}: worst ${worst.toFixed(0)} ms`)
      const reach = { value: REACH_MS, better: 'lower' } as const
      figures.push({
        what: `largest requests: ${what}`,
        value: worst,
        unit: 'ms',
        digits: 0,
        reach,
        note: `${note}, ${count} answers of /live`,
      })
    }
    await measure('nothing else', `${QUIET_MS} ms`, () => pause(QUIET_MS))
    for (const { what, times, run } of attacks(jobId)) {
      // What is compiled at its first use is measured with it once, and not again.
      await measure(what, `${times} times`, async () => {
        for (let time = 0; time < times; time += 1) await run(product)
      })
    }
    prober.close()
    const peak = peakResidentBytes(product.controlPlane.pid) / 1e6
    say(`  peak memory ${peak.toFixed(0)} MB`)
    return [
      ...figures,
      {
        ...{ what: 'largest requests: peak memory of the control plane', value: peak, unit: 'MB', digits: 0 },
        ...{ reach: { value: REACH_MB, better: 'lower' } as const, note: 'after all of them' },
      },
    ]
  } finally {
    await product.close()
  }
}

function openProber(address: string) {
  const child = spawn(process.execPath, ['--import', 'tsx', PROBER_PROGRAM, address], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async worst(): Promise<{ readonly worst: number; readonly count: number }> {
      child.stdin.write('\n')
      const { value, done } = await lines.next()
      if (done) throw new Error('the prober has ended')
      return JSON.parse(String(value)) as { worst: number; count: number }
    },
    close: () => child.stdin.end(),
  }
}
