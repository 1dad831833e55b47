import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countLines } from '../../support/gated-playbook.js'

/** Bytes that the emitter writes as they are, in the place of an event or of output. */
export interface RawPiece {
  /** Before which step. */
  readonly step: number
  readonly stream: 'output' | 'events'
  /** A file with the bytes. */
  readonly path: string
  /** How often, each time by one write. */
  readonly times: number
}

/** What the emitter writes. A step is a line of output, an event, or both. */
export interface Load {
  readonly steps: number
  /** Bytes of output in a step, 0 for none. */
  readonly outputBytes: number
  /** Bytes of filler in the event of a step, 0 for no events. */
  readonly eventBytes: number
  /** Steps in a second, 0 for as fast as it goes. */
  readonly perSecond: number
  readonly seed: number
  readonly exitCode: number
  /** True: output is any bytes at all. */
  readonly binary: boolean
  /** True: the output does not end with a line end. */
  readonly unfinished: boolean
  /** True: each line of output says when it was written, as `at <milliseconds since the epoch>`. */
  readonly stamped: boolean
  /** Steps before which it waits until `openGate` of that number; one more than there are: before its end. */
  readonly gates: readonly number[]
  readonly raw: readonly RawPiece[]
}

export const SMALL_LOAD: Load = {
  steps: 200,
  outputBytes: 80,
  eventBytes: 100,
  perSecond: 0,
  seed: 1,
  exitCode: 0,
  binary: false,
  unfinished: false,
  stamped: false,
  gates: [],
  raw: [],
}

/** The form whose jobs are emitted instead of run by ansible. */
export const SYNTHETIC_FORM = `name: synthetic
type: ansible
roles: [default]
playbook: synthetic.yml
inventory: localhost,
fields: [{name: load, type: yaml}]
`

/** What one job wrote, by its own account or by that of its files; and whether it was started more than once. */
export interface Truth {
  readonly outputPath: string
  readonly eventsPath: string
  starts(): number
}

/** The truth of one emitted job. */
export interface SyntheticTruth extends Truth {
  readonly name: string
  openGate(step: number): void
  /** True once it has come to that gate: everything before it is written. */
  waitsAt(step: number): boolean
  /** True once it has written everything. */
  finished(): boolean
  /** How long it took, and how late its latest step was, in seconds; what it waited at gates is not counted. */
  pace(): { readonly seconds: number; readonly latest: number }
  /** Bytes of output and events that it has written so far. */
  written(): number
}

export function truthOf(folder: string, name: string): SyntheticTruth {
  const file = (suffix: string): string => join(folder, `${name}.${suffix}`)
  const size = (suffix: string): number => statSync(file(suffix), { throwIfNoEntry: false })?.size ?? 0
  return {
    name,
    outputPath: file('output'),
    eventsPath: file('events'),
    starts: () => countLines(file('starts')),
    openGate(step) {
      writeFileSync(file(`gate-${step}`), '')
    },
    waitsAt: (step) => existsSync(file(`waits-${step}`)),
    finished: () => existsSync(file('pace')),
    pace: () => JSON.parse(readFileSync(file('pace'), 'utf8')) as { seconds: number; latest: number },
    written: () => size('output') + size('events'),
  }
}

/** The value of the form's one field: it tells the emitter what to write. */
export function extravarsOf(load: Load, folder: string, name: string): { readonly load: Record<string, unknown> } {
  return {
    load: {
      folder,
      name,
      steps: load.steps,
      output_bytes: load.outputBytes,
      event_bytes: load.eventBytes,
      per_second: load.perSecond,
      seed: load.seed,
      exit_code: load.exitCode,
      binary: load.binary,
      unfinished: load.unfinished,
      stamped: load.stamped,
      gates: load.gates,
      raw: load.raw,
    },
  }
}
