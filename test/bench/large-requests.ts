import { setTimeout as pause } from 'node:timers/promises'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { appendToStreams } from '../../control-plane/src/store/jobs/job-streams.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { openStore } from '../../control-plane/src/store/open-store.js'
import { queuedJob } from '../runners/queued-job.js'
import { databasePathOf } from '../support/database-file.js'
import { LARGEST, LARGEST_VALUES } from '../support/largest-bodies.js'
import { startLiveProber } from '../support/live-prober.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { peakResidentBytes } from './cpu.js'
import type { Figure } from './report.js'

type Say = (line: string) => void

const REACH_MS = 100
const REACH_MB = 400
const MIB = 1024 * 1024
const QUIET_MS = 3000
const OUTPUT_MIB = 50
const EVENTS = 60_000
const [TASKS, HOSTS] = [200, 300]
/** Of a run with many hosts and tasks: 1,000 hosts with 200 tasks each. */
const MANY_EVENTS = 200_000

const FORM = `
name: large
type: ansible
playbook: x.yml
roles: [public]
fields:
  - {name: text, type: textarea, label: Text}
  - {name: rows, type: list, label: Rows, subform: row}
`

/** A value of a kind, as large as a launch may be. */
const valueOf = (what: string) => LARGEST_VALUES[what]?.(LARGEST.launch) ?? ''

const ROW = `
name: row
type: subform
fields: [{name: a, type: text, label: A}]
`

interface Attack {
  readonly what: string
  readonly times: number
  run(product: Product): Promise<unknown>
}

const launchOf = (rawFormData: string) => `{"formName":"large","extravars":{},"rawFormData":${rawFormData}}`

/** @throws Error when the answer is another one than was meant to be measured */
async function post(
  product: Product,
  { path, body, token, status }: { path: string; body: string; token: string | null; status: number },
): Promise<void> {
  const headers = {
    'content-type': 'application/json',
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  }
  const response = await fetch(`${product.address}/api/v2${path}`, { method: 'POST', headers, body })
  const text = await response.text()
  if (response.status !== status) {
    throw new Error(`POST ${path} was answered ${response.status} and not ${status}: ${text.slice(0, 200)}`)
  }
}

/** Reads an answer to its end without keeping it. */
async function drain(product: Product, path: string): Promise<void> {
  const headers = { authorization: `Bearer ${product.admin.token}` }
  const response = await fetch(`${product.address}/api/v2${path}`, { headers })
  if (!response.ok || !response.body) throw new Error(`GET ${path}: ${response.status}`)
  for await (const _ of response.body);
}

/** Accounts beside the admin's that may launch. @returns tokens */
async function users(product: Product, count: number): Promise<string[]> {
  const tokens: string[] = []
  for (let at = 0; at < count; at += 1) {
    const username = `user${at}`
    await product.admin.post('/user', { username, password: ADMIN_PASSWORD, groups: [], enabled: true })
    tokens.push((await signIn(product.address, username, ADMIN_PASSWORD)).token)
  }
  return tokens
}

function attacks({ jobId, courseId, manyId }: Filled, others: readonly string[]): Attack[] {
  const launch = (what: string, field: 'text' | 'rows', status = 200): Attack => {
    const body = launchOf(`{"${field}":${valueOf(what)}}`)
    const request = { path: '/job', body, status }
    return {
      what: `a launch: ${what}, ${(body.length / MIB).toFixed(1)} MiB, answered ${status}`,
      times: 10,
      run: (product) => post(product, { ...request, token: product.admin.token }),
    }
  }
  const strangers = `[${'{},'.repeat(17e6)}1]`
  const largest = launchOf(`{"text":${valueOf('one text')}}`)
  return [
    {
      what: 'a stranger: 51 MB of [{},…] to the sign-in',
      times: 5,
      run: (product) => post(product, { path: '/auth/login', body: strangers, token: null, status: 413 }),
    },
    launch('too many values', 'text', 413),
    launch('one text', 'text'),
    launch('one text of escapes', 'text'),
    launch('numbers', 'rows'),
    launch('objects', 'rows'),
    launch('names', 'rows'),
    launch('texts', 'rows'),
    {
      what: 'four of the largest launches at once',
      times: 5,
      run: (product) => {
        const request = { path: '/job', body: largest, token: product.admin.token, status: 200 }
        return Promise.all(Array.from({ length: 4 }, () => post(product, request)))
      },
    },
    {
      what: 'sixteen at once, of four users',
      times: 5,
      run: (product) => {
        const tokens = [product.admin.token, ...others].flatMap((token) => [token, token, token, token])
        return Promise.all(tokens.map((token) => post(product, { path: '/job', body: largest, token, status: 200 })))
      },
    },
    { what: 'the events of a job, 120 MB', times: 1, run: (product) => drain(product, `/job/${jobId}/events`) },
    {
      what: `the events of a job, ${MANY_EVENTS.toLocaleString('en')} of them`,
      times: 1,
      run: (product) => drain(product, `/job/${manyId}/events`),
    },
    { what: `an output of ${OUTPUT_MIB} MiB as HTML`, times: 1, run: (product) => drain(product, `/job/${jobId}`) },
    { what: 'the same as a file', times: 1, run: (product) => drain(product, `/job/${jobId}/download`) },
    ...(
      [
        ['the outline of a run of 200 tasks at 300 hosts', 'outline'],
        ['its hosts and tasks', 'matrix'],
        ['its failures, last first', 'events?outcome=failed&last=5000'],
        ['the line ends of an output of nothing else, 10,000 hits', 'output/search?q=%0A&limit=10000'],
        ['a text that is not in it', 'output/search?q=nowhere'],
        ['the numbers of its lines', 'output/index'],
      ] as const
    ).map(([what, path]) => ({
      what,
      times: 5,
      run: (product: Product) => drain(product, `/job/${courseId}/${path}`),
    })),
    { what: 'the list of 5,000 jobs', times: 5, run: (product) => drain(product, '/job?records=5000') },
  ]
}

interface Filled {
  /** A job with long output and hostile events. */
  readonly jobId: number
  /** A job with many tasks and hosts, and an output of line ends. */
  readonly courseId: number
  /** A job with very many events. */
  readonly manyId: number
}

/** Three jobs that cost most to look at, and many others. */
async function fill(path: string): Promise<Filled> {
  const store = await openStore({ kind: 'sqlite', path })
  try {
    const ended = { status: 'success', dispatch: 'done', runner_id: null, end_time: 2 } as const
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
    const courseId = await store.write('bench.job', (queries) => insertJob(queries, job(5002)))
    const lineEnds = Buffer.alloc(MIB, '\n')
    await fillResults(store as Store, courseId, {
      tasks: TASKS,
      hosts: HOSTS,
      output: (task) => (task < 8 ? lineEnds : Buffer.alloc(0)),
    })
    const manyId = await store.write('bench.job', (queries) => insertJob(queries, job(5003)))
    await fillResults(store as Store, manyId, { tasks: MANY_EVENTS / 1000, hosts: 1000, output: () => Buffer.alloc(0) })
    return { jobId: id, courseId, manyId }
  } finally {
    await store.close()
  }
}

/** Results of tasks at hosts, and the output of each task. */
async function fillResults(
  store: Store,
  id: number,
  course: { readonly tasks: number; readonly hosts: number; output(task: number): Buffer },
): Promise<void> {
  let [bytes, count, output] = [0, 0, 0]
  for (let task = 0; task < course.tasks; task += 1) {
    const events = Array.from({ length: course.hosts }, (_, host) => {
      const shown = { type: 'runner_on_failed', play: 'p', task: `task ${task}`, host: `host${host}`, duration: 0.1 }
      const says = {
        ...shown,
        time: '2026-01-02T03:04:05Z',
        task_uuid: `t${task}`,
        play_uuid: 'p',
        ignored: host % 2 === 0,
      }
      const line = Buffer.from(`${JSON.stringify({ order: count + host + 1, ...says })}\n`)
      return { ...shown, time: says.time, line }
    })
    const place = { output, events: bytes, eventsCount: count }
    const more = course.output(task)
    await store.write('bench.course', (queries) => appendToStreams(queries, id, place, more, events))
    bytes += events.reduce((sum, { line }) => sum + line.length, 0)
    count += events.length
    output += more.length
  }
}

/**
 * How long the control plane answers nobody else while it works on the largest requests there may be, seen by a second
 * process that asks /live every 20 ms, and the most memory that it takes.
 */
export async function measureLargeRequests(say: Say): Promise<Figure[]> {
  const product = await startProduct({
    withAgent: false,
    forms: { 'large.yaml': FORM, 'row.yaml': ROW },
    controlPlane: { LAUNCH_VALIDATION: 'log', PROCESS_MAX_BUFFER_MB: '60' },
  })
  try {
    await product.controlPlane.stop()
    say('  making a job of 120 MB of events and 50 MiB of output, and 5,000 others')
    const filled = await fill(databasePathOf(product))
    await product.startControlPlane()
    const prober = startLiveProber(product.address)
    const figures: Figure[] = []
    const measure = async (what: string, note: string, run: () => Promise<unknown>) => {
      await prober.waits()
      await run()
      const { worst, count, late } = await prober.waits()
      say(`  ${what}: worst ${worst.toFixed(0)} ms; who asked was ${late.toFixed(0)} ms late`)
      const reach = { value: REACH_MS, better: 'lower' } as const
      figures.push({
        what: `largest requests: ${what}`,
        value: worst,
        unit: 'ms',
        digits: 0,
        reach,
        note: `${note}, ${count} answers of /live, asked up to ${late.toFixed(0)} ms late`,
      })
    }
    await measure('nothing else', `${QUIET_MS} ms`, () => pause(QUIET_MS))
    for (const { what, times, run } of attacks(filled, await users(product, 3))) {
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
        what: 'largest requests: peak memory of the control plane',
        value: peak,
        unit: 'MB',
        digits: 0,
        reach: { value: REACH_MB, better: 'lower' } as const,
        note: 'after all of them',
      },
    ]
  } finally {
    await product.close()
  }
}
