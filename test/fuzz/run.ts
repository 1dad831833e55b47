import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Waits } from '../support/live-prober.js'
import { type Chance, createChance } from '../chaos/kit/seed.js'
import { type Coverage, createCoverage } from './coverage.js'
import { type Draft, render } from './draft.js'
import { type Figures, figuresText, judgeGrowth } from './growth.js'
import { judge } from './judge.js'
import type { FuzzOptions } from './options.js'
import { planRequest } from './requests.js'
import type { Target } from './target.js'
import { type Exchange, type Patience, createWire } from './wire.js'

/** Requests that are under way at the same time at most. */
const MAX_AT_ONCE = 6
const MEND_EVERY = 150
const PROGRESS_EVERY = 1000
/** From so many milliseconds on, a wait for /live is worth telling. */
const SLOW_MS = 50
const QUARTERS = 4

/** Something that must not be, and the request that it came from; null: it belongs to none alone. */
export interface Fault {
  readonly number: number
  readonly request: Draft | null
  readonly problems: readonly string[]
}

/** The longest time in which a second process had no answer of /live, and what was asked meanwhile. */
export interface Slowest {
  readonly waitMs: number
  /** How late the second process was itself: so busy was the machine. */
  readonly lateMs: number
  /** What the main thread of the service computed while these requests were under way, in milliseconds. */
  readonly computedMs: number
  /** How long that thread waited for a processor meanwhile, because others had them all. */
  readonly starvedMs: number
  readonly requests: readonly string[]
}

/** What a run found. */
export interface Findings {
  readonly sent: number
  readonly kinds: ReadonlyMap<string, number>
  readonly statuses: ReadonlyMap<string, number>
  readonly coverage: Coverage
  readonly samples: readonly Figures[]
  /** What a second process saw that asked /live all the time; null: nobody asked. */
  readonly live: Waits | null
  /** Null: nobody asked, or nothing was slow. */
  readonly slowest: Slowest | null
  /** Every kind once. */
  readonly faults: readonly Fault[]
}

/** Sends requests until their number, the time or a fault ends the run. */
export async function fuzz(
  target: Target,
  options: Omit<FuzzOptions, 'keep' | 'liveLimitMs' | 'texts'>,
  interrupted: AbortSignal,
  say: (line: string) => void,
  patience: Patience,
): Promise<Findings> {
  const { operations, world } = target
  const chance = createChance(options.seed)
  const coverage = createCoverage(operations, (operation, status) => target.isReachable(operation, status))
  const wire = createWire(target.address, patience)
  const sources = { operations, world, coverage, account: target.account }
  const [kinds, statuses] = [new Map<string, number>(), new Map<string, number>()]
  const startedAt = performance.now()
  const samples: Figures[] = [await target.measure()]
  say(`begin: ${figuresText(samples[0] as Figures)}`)
  let [sent, uploaded] = [0, 0]
  let slowest: Slowest | null = null

  const share = (): number =>
    Math.max(sent / options.requests, (performance.now() - startedAt) / (options.minutes * 60_000))

  const sample = async (): Promise<void> => {
    wire.close()
    const figures = await target.measure()
    samples.push(figures)
    say(`quarter ${samples.length - 1}: ${figuresText(figures)}`)
  }

  /** Sends some requests at the same time, and takes in what came of them. */
  const sendSome = async (count: number): Promise<Fault[]> => {
    const drafts = Array.from({ length: count }, (_, at) => planned(sent + at + 1))
    for (const draft of drafts) target.note?.(draft)
    const before = target.live?.mainThread()
    const exchanges = await Promise.all(drafts.map((draft) => wire.exchange(draft)))
    if (before) await noteSlowest(drafts, before)
    const found: Fault[] = []
    for (const [at, draft] of drafts.entries()) {
      const [number, exchange] = [sent + at + 1, exchanges[at] as Exchange]
      note(number, draft, exchange)
      const problems = [...judge(draft, exchange, target.secrets), ...contractProblems(draft, exchange)]
      if (problems.length > 0) found.push({ number, request: draft, problems })
    }
    sent += count
    const complaints = target.complaints()
    if (complaints.length > 0) {
      found.push({ number: sent, request: requestNamedIn(complaints, drafts), problems: complaints })
    }
    return found
  }

  const noteSlowest = async (drafts: readonly Draft[], before: { computed: number; waited: number }): Promise<void> => {
    const waits = (await target.live?.look()) ?? null
    if (waits === null || !target.live || waits.worst <= (slowest?.waitMs ?? SLOW_MS)) return
    const { computed, waited } = target.live.mainThread()
    const main = { computedMs: computed - before.computed, starvedMs: waited - before.waited }
    const requests = drafts.map(
      ({ operation, method, kind, twist }) => `${operation ?? method} (${kind}${twist ? `: ${twist}` : ''})`,
    )
    slowest = { waitMs: waits.worst, lateMs: waits.late, ...main, requests }
  }

  /** Only what is one whole request has one operation that its answer can be held against. */
  const contractProblems = (draft: Draft, { answers }: Exchange): string[] =>
    draft.ending === 'answer' ? answers.flatMap((answer) => target.contract?.(draft, answer) ?? []) : []

  const planned = (number: number): Draft => planRequest(number, forkFor(chance, number), sources)

  const note = (number: number, draft: Draft, { answers, end }: Exchange): void => {
    count(kinds, draft.kind)
    for (const { status } of answers) count(statuses, String(status))
    if (answers.length === 0) count(statuses, end)
    const operation = operations.find(({ key }) => key === draft.operation)
    const answer = answers[0]
    uploaded += answers.filter(({ body }) => body.includes('"originalname"')).length
    if (answers.length === 0 && /upload/.test(draft.path)) uploaded += 1
    const line = {
      number,
      kind: draft.kind,
      operation: draft.operation,
      twist: draft.twist,
      actor: draft.actor,
      method: draft.method,
      path: draft.path.slice(0, 200),
      query: draft.query?.slice(0, 200),
      statuses: answers.map(({ status }) => status),
      end,
    }
    appendFileSync(join(target.folder, 'requests.jsonl'), `${JSON.stringify(line)}\n`)
    // Another method, or another path, is not this operation any more.
    if (!operation || !answer || draft.method !== operation.method) return
    coverage.note(operation.key, answer.status)
    if (answer.status !== 200 || draft.kind === 'wild') return
    const text = answer.body.toString('utf8')
    if (answer.headers.get('content-type')?.includes('json') && text.startsWith('{')) {
      world.learn(operation, draft.path, JSON.parse(text), draft.actor)
    }
    world.forget(operation, draft.path)
  }

  const faults = new Map<string, Fault>()
  const take = (found: readonly Fault[]): void => {
    for (const fault of found.filter((one) => !faults.has(kindOf(one)))) {
      faults.set(kindOf(fault), fault)
      if (fault.request) writeFileSync(join(target.folder, `fault-${fault.number}.request`), render(fault.request))
    }
  }
  const isOver = (): boolean =>
    interrupted.aborted || share() >= 1 || (faults.size > 0 && !options.goOn) || [...faults.values()].some(isTheEnd)
  try {
    while (!isOver()) {
      const before = sent
      const most = Math.min(MAX_AT_ONCE, options.requests - sent)
      take(await sendSome(Math.min(most, forkFor(chance, -sent).between(1, MAX_AT_ONCE))))
      if (isOver() && share() < 1) break
      if (crosses(before, sent, MEND_EVERY)) await target.mend()
      if (crosses(before, sent, PROGRESS_EVERY)) {
        say(`${sent} requests; ${coverage.missing().length} of ${coverage.declared} declared answers not seen yet`)
      }
      if (samples.length < QUARTERS && share() * QUARTERS >= samples.length) await sample()
      if (options.perSecond > 0) await pauseUntil(startedAt + (sent / options.perSecond) * 1000, interrupted)
    }
    if (share() >= 1 && ![...faults.values()].some(isTheEnd)) {
      await sample()
      const problems = [...judgeGrowth(samples, uploaded), ...target.complaints()]
      if (problems.length > 0) take([{ number: sent, request: null, problems }])
    }
  } finally {
    wire.close()
  }
  const live = (await target.live?.waits()) ?? null
  return { sent, kinds, statuses, coverage, samples, live, slowest, faults: [...faults.values()] }
}

/** Nothing more can be asked of a service that has ended or does not answer. */
function isTheEnd({ problems }: Fault): boolean {
  return problems.some((problem) => /does not (answer|take connections) any more|ended; see/.test(problem))
}

/** The same fault by another request has other numbers, and often other words of the client's in it. */
function kindOf({ problems, request }: Fault): string {
  return `${request?.operation ?? ''} ${request?.twist ?? ''} ${problems[0]?.replace(/\d+/g, '').slice(0, 40)}`
}

const forkFor = (chance: Chance, number: number): Chance => chance.fork(`request ${number}`)

const crosses = (before: number, after: number, step: number): boolean =>
  Math.floor(before / step) < Math.floor(after / step)

/** The request whose id a complaint names. */
function requestNamedIn(complaints: readonly string[], drafts: readonly Draft[]): Draft | null {
  const named = complaints.flatMap((text) => /"requestId":"(fuzz-\d+)"/.exec(text)?.[1] ?? [])
  return drafts.find(({ headers }) => headers.some(([, value]) => named.includes(value))) ?? null
}

async function pauseUntil(moment: number, interrupted: AbortSignal): Promise<void> {
  const left = moment - performance.now()
  if (left > 0) await pause(left, undefined, { signal: interrupted }).catch(() => undefined)
}

function count(tally: Map<string, number>, key: string): void {
  tally.set(key, (tally.get(key) ?? 0) + 1)
}
