import { join } from 'node:path'
import { headerOf, render } from './draft.js'
import type { Waits } from '../support/live-prober.js'
import { type Figures, figuresText } from './growth.js'
import type { Coverage } from './coverage.js'
import type { Fault, Findings, Slowest } from './run.js'
import { UNPLAYED } from './unplayed.js'

const MAX_SHOWN = 2000
const MB = 1024 * 1024

/** A fault for people: what is wrong, with which request, and how to see it again. */
export function faultText({ number, request, problems }: Fault, seed: number, folder: string): string {
  const again = `./scripts/fuzz --seed ${seed} --requests ${number}`
  const lines = problems.map((problem) => `FAULT: ${problem}`)
  if (request) {
    const bytes = render(request)
    const more = bytes.length > MAX_SHOWN ? ` (the first ${MAX_SHOWN} of ${bytes.length} bytes)` : ''
    const what = [request.kind, request.operation ?? 'no operation', request.twist, `as ${request.actor}`]
    const token = headerOf(request, 'authorization')
    const shown = JSON.stringify(bytes.subarray(0, MAX_SHOWN).toString('latin1'))
    lines.push(
      `request ${number}: ${what.filter((part) => part !== '').join(', ')}${more}`,
      token ? shown.replaceAll(JSON.stringify(token).slice(1, -1), '<token>') : shown,
      `all of its bytes: ${join(folder, `fault-${number}.request`)}; what was sent before: ${join(folder, 'requests.jsonl')}`,
    )
  }
  return [...lines, `the same again: ${again}`].join('\n')
}

/** What was not covered, one line each kind. */
export function gaps({ coverage, slowest }: Findings): string[] {
  const [never, missing] = [neverSucceeded(coverage), coverage.missing()]
  const unplayed = coverage.neverSucceeded().filter((key) => key in UNPLAYED)
  return [
    ...(slowest ? [slowestText(slowest)] : []),
    ...(never.length > 0 ? [`never answered with success: ${never.join(', ')}`] : []),
    ...unplayed.map((key) => `no success here: ${key}: ${UNPLAYED[key]}`),
    ...(missing.length > 0 ? [`declared and not seen: ${missing.join(', ')}`] : []),
  ]
}

/** Operations that should have succeeded and never did. */
export function neverSucceeded(coverage: Coverage): string[] {
  return coverage.neverSucceeded().filter((key) => !(key in UNPLAYED))
}

/** What was under way when an answer of /live took longest. */
function slowestText({ waitMs, lateMs, computedMs, starvedMs, requests }: Slowest): string {
  return (
    `longest wait for /live: ${waitMs.toFixed(0)} ms (who asked was ${lateMs.toFixed(0)} ms late); in this time the main ` +
    `thread of the control plane computed ${computedMs.toFixed(0)} ms, and waited ${starvedMs.toFixed(0)} ms for a ` +
    `processor; under way: ${requests.join(', ')}`
  )
}

/** The last line: everything in figures. */
export function lastLine({ sent, kinds, statuses, coverage, samples, faults, live }: Findings, seed: number): string {
  const operations = coverage.seen.size
  const seen = coverage.declared - coverage.missing().length
  const memory = [samples[0], samples[Math.floor(samples.length / 2)], samples.at(-1)] as Figures[]
  return (
    `fuzz: seed ${seed}: ${sent} requests (${tally(kinds)}), answered ${tally(statuses)}; ` +
    `${operations} operations, ${seen} of ${coverage.declared} declared answers seen, ` +
    `${neverSucceeded(coverage).length} operations without success, ${Object.keys(UNPLAYED).length} not played; ` +
    liveText(live, sent, kinds.get('largest') ?? 0) +
    `memory ${memory.map((figures) => (figures.memory / MB).toFixed(0)).join(' / ')} MB, ` +
    `alive ${memory.map(({ heap }) => (heap === null ? '?' : (heap / MB).toFixed(1))).join(' / ')} MB; ` +
    `at the end ${figuresText(memory[2] as Figures)}: ${faults.length === 0 ? 'no fault' : `${faults.length} FAULTS`}`
  )
}

/** How long nobody was answered, while a share of the requests had the largest bodies that there may be. */
function liveText(live: Waits | null, sent: number, largest: number): string {
  const share = `${largest} requests (${((100 * largest) / Math.max(sent, 1)).toFixed(1)} %) had the largest bodies`
  if (!live) return `${share}; `
  const { count, worst, late } = live
  return `worst of ${count} answers of /live ${worst.toFixed(0)} ms (who asked was up to ${late.toFixed(0)} ms late), ${share}; `
}

function tally(counts: ReadonlyMap<string, number>): string {
  return [...counts]
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, number]) => `${name} ${number}`)
    .join(', ')
}
