import { parseArgs } from 'node:util'
import { FIELDS, type Scene, type Victim } from './points.js'

/** What the run of single faults was asked for. */
export interface OneFaultOptions {
  readonly seed: number
  /** How many faults; null: all. */
  readonly count: number | null
  /** How many of them are left out at the beginning. */
  readonly skip: number
  readonly programs: ReadonlySet<Victim>
  readonly scenes: ReadonlySet<Scene>
  readonly keep: boolean
}

export const USAGE = `Usage: scripts/chaos --one-fault [--program P]... [--scene S]... [--seed S] [--count N] [--skip N]
                               [--keep]

Counts the calls that agent, supervisor and control plane make on spool and database while a short job runs, and then
fails each of them in turn, one job for each. Every job must come to the end that its playbook came to.

  --program P   only these: agent, supervisor, control-plane (default all)
  --scene S     only these: plain, agent-restarted, control-plane-restarted (default all)
  --seed S      which error each call gives, for how long, and which share (default 1)
  --count N     only so many of them, drawn (default all, which takes most of an hour)
  --skip N      without the first N of these, to go on where a run was ended (default 0)
  --keep        keep the folder with database, spool and logs; it is always kept when something is wrong

The last line counts jobs that ended falsely, whose playbook was ended, that never ended, that started twice, and whose
output or events differ. Exit code 0 only when all are 0; 2 for wrong arguments.
`

const PROGRAM_NAMES: Readonly<Record<string, Victim>> = {
  agent: 'agent',
  supervisor: 'supervisor',
  'control-plane': 'controlPlane',
}
const SCENE_NAMES: Readonly<Record<string, Scene>> = {
  plain: 'plain',
  'agent-restarted': 'agent restarted',
  'control-plane-restarted': 'control plane restarted',
}

/** @throws Error with one line that says what is wrong; null: only the help was asked for */
export function readOptions(args: readonly string[]): OneFaultOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'one-fault': { type: 'boolean' },
      program: { type: 'string', multiple: true },
      scene: { type: 'string', multiple: true },
      seed: { type: 'string', default: '1' },
      count: { type: 'string' },
      skip: { type: 'string', default: '0' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return null
  return {
    seed: wholeNumber('--seed', values.seed),
    count: values.count === undefined ? null : wholeNumber('--count', values.count),
    skip: wholeNumber('--skip', values.skip),
    programs: new Set(values.program?.map((name) => named('--program', name, PROGRAM_NAMES)) ?? allOf('victim')),
    scenes: new Set(values.scene?.map((name) => named('--scene', name, SCENE_NAMES)) ?? allOf('scene')),
    keep: values.keep,
  }
}

function allOf<Key extends 'victim' | 'scene'>(key: Key): (typeof FIELDS)[number][Key][] {
  return FIELDS.map((field) => field[key])
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`${option} must be a whole number`)
  return number
}

function named<Value>(option: string, name: string, names: Readonly<Record<string, Value>>): Value {
  const value = names[name]
  if (value === undefined) throw new Error(`${option} must be one of ${Object.keys(names).join(', ')}`)
  return value
}
