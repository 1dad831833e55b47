import { execFileSync } from 'node:child_process'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { startPostgres } from '../support/postgres.js'
import { startProduct } from '../support/product.js'
import { measureBackup } from './backup.js'
import { measureCallback } from './callback.js'
import { FORMS, PLAYBOOKS, bareFolder } from './fixtures.js'
import { measureIngest, measureMemory } from './ingest.js'
import { measureForms } from './forms.js'
import { measureHostileRunner } from './hostile-runner.js'
import { measureList } from './list.js'
import { measureLargeRequests } from './large-requests.js'
import { measureLiveEvents } from './live-events.js'
import { measureAnsibleRunner, measureBurst, measureLatency, measureOverhead } from './playbooks.js'
import { type Figure, tableOf } from './report.js'
import { measureFairness, measureRecovery } from './survival.js'
import { measureCut } from './survival-cut.js'
import { measureViewers } from './viewers.js'
import { measureWeb } from './web.js'

const HELP = `scripts/bench: measures the product next to bare ansible-playbook, in one run, as ratios

  --runs N      runs of each comparison, at least 1 (default 5)
  --only LIST   parts, separated by commas: memory, latency, burst, overhead, callback, ingest, survival, list, live-events,
                large-requests, hostile-runner, forms, backup, viewers, web
                (default all)
  --cut N       survival: seconds without a network, 1 to 600 (default 30); 600 is what a long outage is like
  --database D  sqlite (default) or postgres, a server of its own; not with survival, live-events, large-requests,
                hostile-runner, forms, backup, viewers, web
  --json        the figures as JSON instead of a table
  --help

list: how long the list of jobs takes with a million of them, and the CPU time that it costs.
large-requests: how long nobody else is answered while the largest requests are worked on, and the memory they take.
hostile-runner: an approved runner sends 738 MB of events for one job, and they are read back.
backup: what a backup of a million jobs costs while the service runs, and restores of it into either database.
forms: how long the evaluation of a form with a hundred fields takes, alone and while fifty users fill it in.
live-events: a change reaches 2,000 event streams: how long it takes, and what streams cost.
viewers: what two hundred people cost who follow one job, and what those cost who do not read.
web: how quick the pages are, in the machine's own chromium.
survival: one job catches up on 500 MB while another one writes on; the network is away under 2,000 events a second; both
programs are killed and started again.

Takes about ten minutes. Nothing else should use the machine meanwhile. Exit code 0 when everything could be measured,
whatever the figures are.`

const PARTS = [
  'memory',
  'latency',
  'burst',
  'overhead',
  'callback',
  'ingest',
  'survival',
  'list',
  'live-events',
  'large-requests',
  'hostile-runner',
  'forms',
  'backup',
  'viewers',
  'web',
] as const
/** Parts that start products of their own. */
const APART: ReadonlySet<string> = new Set([
  'survival',
  'list',
  'live-events',
  'large-requests',
  'hostile-runner',
  'forms',
  'backup',
  'viewers',
  'web',
])

interface Options {
  readonly runs: number
  readonly parts: ReadonlySet<string>
  readonly cutSeconds: number
  readonly json: boolean
  readonly database: 'sqlite' | 'postgres'
}

/** Reads the command line. @returns a sentence when it is wrong, null for help */
function readOptions(): Options | string | null {
  let values
  try {
    values = parseArgs({
      options: {
        runs: { type: 'string', default: '5' },
        only: { type: 'string', default: PARTS.join(',') },
        cut: { type: 'string', default: '30' },
        json: { type: 'boolean', default: false },
        database: { type: 'string', default: 'sqlite' },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  if (values.help) return null
  const runs = Number(values.runs)
  if (!Number.isInteger(runs) || runs < 1 || runs > 100) return '--runs must be a whole number from 1 to 100'
  const cutSeconds = Number(values.cut)
  if (!Number.isInteger(cutSeconds) || cutSeconds < 1 || cutSeconds > 600) {
    return '--cut must be a whole number from 1 to 600'
  }
  const parts = new Set(values.only.split(','))
  const unknown = [...parts].find((part) => !PARTS.some((known) => known === part))
  if (unknown !== undefined) return `there is no part ${JSON.stringify(unknown)}: use some of ${PARTS.join(', ')}`
  const { database } = values
  if (database !== 'sqlite' && database !== 'postgres') return '--database must be sqlite or postgres'
  const onlySqlite = [
    'survival',
    'live-events',
    'large-requests',
    'hostile-runner',
    'forms',
    'backup',
    'viewers',
    'web',
  ]
  if (database === 'postgres' && onlySqlite.some((part) => parts.has(part))) {
    return `--database postgres: say with --only what to measure, without ${onlySqlite.join(', ')}`
  }
  return { runs, parts, cutSeconds, json: values.json, database }
}

const say = (line: string) => console.error(line)

/** Measures what was asked for, one part after the other. */
async function measureAll(options: Options): Promise<Figure[]> {
  const { parts, runs, cutSeconds } = options
  const figures: Figure[] = []
  if (PARTS.some((part) => !APART.has(part) && parts.has(part))) figures.push(...(await measureRunning(options)))
  if (parts.has('survival')) {
    say('survival …')
    figures.push(...(await measureFairness(say)))
    figures.push(...(await measureCut(cutSeconds, say)))
    figures.push(...(await measureRecovery(runs, say)))
  }
  if (parts.has('list')) {
    say('list …')
    figures.push(
      ...(await measureList(
        { jobs: options.database === 'postgres' ? 100_000 : 1_000_000, rounds: 200, database: options.database },
        say,
      )),
    )
  }
  if (parts.has('live-events')) {
    say('live-events …')
    figures.push(...(await measureLiveEvents(2000, say)))
  }
  if (parts.has('large-requests')) {
    say('large-requests …')
    figures.push(...(await measureLargeRequests(say)))
  }
  if (parts.has('hostile-runner')) {
    say('hostile-runner …')
    figures.push(...(await measureHostileRunner(say)))
  }
  if (parts.has('forms')) {
    say('forms …')
    figures.push(...(await measureForms(say)))
  }
  if (parts.has('backup')) {
    say('backup …')
    figures.push(...(await measureBackup(1_000_000, say)))
  }
  if (parts.has('viewers')) {
    say('viewers …')
    figures.push(...(await measureViewers(say)))
  }
  if (parts.has('web')) {
    say('web …')
    figures.push(...(await measureWeb(runs, say)))
  }
  return figures
}

/** The parts that are measured with one product that runs all the time. */
async function measureRunning({ runs, parts, database }: Options): Promise<Figure[]> {
  const figures: Figure[] = []
  const bare = bareFolder()
  const product = await startProduct({ forms: FORMS, playbooks: PLAYBOOKS, database })
  const measure = async (part: (typeof PARTS)[number], run: () => Promise<Figure[]>) => {
    if (!parts.has(part)) return
    say(`${part} …`)
    figures.push(...(await run()))
  }
  try {
    await measure('memory', () => measureMemory(product, 1000, say))
    await measure('latency', () => measureLatency(product, bare.path, Math.max(runs, 11), say))
    await measure('burst', () => measureBurst(product, 100, say))
    await measure('overhead', () => measureOverhead(product, bare.path, runs, say))
    await measure('overhead', () => measureAnsibleRunner(bare.path, runs, say))
    await measure('callback', () => Promise.resolve(measureCallback(bare.path, runs)))
    await measure('ingest', () => measureIngest(product, runs, 200_000, say))
    return figures
  } finally {
    await product.close()
    bare.remove()
  }
}

const options = readOptions()
if (options === null) {
  console.log(HELP)
} else if (typeof options === 'string') {
  say(`bench: ${options}. See --help.`)
  process.exitCode = 2
} else {
  const ansible = execFileSync('ansible-playbook', ['--version'], { encoding: 'utf8' }).split('\n', 1)[0] ?? ''
  say(`Node ${process.version}, ${ansible}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`)
  const server = options.database === 'postgres' ? await startPostgres(['shared_buffers=128MB']) : null
  if (server) process.env.HOLDFAST_TEST_POSTGRES = server.urlOf('')
  try {
    const figures = await measureAll(options)
    console.log(options.json ? JSON.stringify(figures, null, 2) : `\n${tableOf(figures)}`)
  } finally {
    await server?.close()
  }
}
