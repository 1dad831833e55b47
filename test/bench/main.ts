import { execFileSync } from 'node:child_process'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { startPostgres } from '../support/postgres.js'
import { startProduct } from '../support/product.js'
import { FORMS, PLAYBOOKS, bareFolder } from './fixtures.js'
import { PARTS, PARTS_APART, type PartOptions, RUNNING_PARTS } from './parts.js'
import { type Figure, tableOf } from './report.js'

/** The parts that measure nothing with PostgreSQL. */
const ONLY_SQLITE = Object.keys(PARTS_APART).filter((part) => PARTS_APART[part]?.onPostgres === false)

const HELP = `scripts/bench: measures the product next to bare ansible-playbook, in one run, as ratios

  --runs N      runs of each comparison, at least 1 (default 5)
  --only LIST   ${inColumn(`parts, separated by commas: ${PARTS.join(', ')} (default all)`)}
  --cut N       survival: seconds without a network, 1 to 600 (default 30); 600 is what a long outage is like
  --database D  ${inColumn(`sqlite (default) or postgres, a server of its own; not with ${ONLY_SQLITE.join(', ')}`)}
  --json        the figures as JSON instead of a table
  --help

${Object.entries(PARTS_APART)
  .map(([part, { about }]) => `${part}: ${about}`)
  .join('\n')}

Takes about half an hour. Nothing else should use the machine meanwhile. Exit code 0 when everything could be measured,
whatever the figures are.`

/** Breaks the text of an option into lines below each other. */
function inColumn(text: string): string {
  return text
    .replace(/(.{1,100})(?: |$)/g, '$1\n')
    .trimEnd()
    .replaceAll('\n', `\n${' '.repeat(16)}`)
}

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
  const unknown = [...parts].find((part) => !PARTS.includes(part))
  if (unknown !== undefined) return `there is no part ${JSON.stringify(unknown)}: use some of ${PARTS.join(', ')}`
  const { database } = values
  if (database !== 'sqlite' && database !== 'postgres') return '--database must be sqlite or postgres'
  if (database === 'postgres' && ONLY_SQLITE.some((part) => parts.has(part))) {
    return `--database postgres: say with --only what to measure, without ${ONLY_SQLITE.join(', ')}`
  }
  return { runs, parts, cutSeconds, json: values.json, database }
}

const say = (line: string) => console.error(line)

/** What a part measures, one after the other. */
type Measures = readonly (() => Figure[] | Promise<Figure[]>)[]

/** Measures what was asked for, one part after the other. What was measured is kept when another part fails. */
async function measureAll({ parts, ...asked }: Options): Promise<Figure[]> {
  const options: PartOptions = { ...asked, say }
  const figures: Figure[] = []
  const measurePart = async (part: string, measures: Measures): Promise<void> => {
    if (!parts.has(part)) return
    say(`${part} …`)
    try {
      for (const measure of measures) figures.push(...(await measure()))
    } catch (error) {
      say(`bench: ${part} could not be measured: ${error instanceof Error ? String(error.stack) : String(error)}`)
      process.exitCode = 1
    }
  }
  if (Object.keys(RUNNING_PARTS).some((part) => parts.has(part))) await measureRunning(options, measurePart)
  for (const [part, { measures }] of Object.entries(PARTS_APART)) {
    await measurePart(
      part,
      measures.map((measure) => () => measure(options)),
    )
  }
  return figures
}

/** The parts that are measured with one product that runs all the time. */
async function measureRunning(
  options: PartOptions,
  measurePart: (part: string, measures: Measures) => Promise<void>,
): Promise<void> {
  const bare = bareFolder()
  const product = await startProduct({ forms: FORMS, playbooks: PLAYBOOKS, database: options.database })
  try {
    for (const [part, measures] of Object.entries(RUNNING_PARTS)) {
      await measurePart(
        part,
        measures.map((measure) => () => measure({ product, bare: bare.path }, options)),
      )
    }
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
