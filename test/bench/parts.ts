import type { Product } from '../support/product.js'
import { measureBackup } from './backup.js'
import { measureCallback } from './callback.js'
import { measureForms } from './forms.js'
import { measureHostileRunner } from './hostile-runner.js'
import { measureIngest, measureMemory } from './ingest.js'
import { measureLargeRequests } from './large-requests.js'
import { measureList } from './list.js'
import { measureLiveEvents } from './live-events.js'
import { measureAnsibleRunner, measureBurst, measureLatency, measureOverhead } from './playbooks.js'
import type { Figure } from './report.js'
import { measureFairness, measureRecovery } from './survival.js'
import { measureCut } from './survival-cut.js'
import { measureViewers } from './viewers.js'
import { measureWeb } from './web.js'

/** What the command line says of every part. */
export interface PartOptions {
  readonly runs: number
  readonly cutSeconds: number
  readonly database: 'sqlite' | 'postgres'
  readonly say: (line: string) => void
}

/** What the parts measure that share one product. */
export interface Running {
  readonly product: Product
  /** A folder for bare ansible-playbook. */
  readonly bare: string
}

type Measure<Of extends unknown[]> = (...of: Of) => Figure[] | Promise<Figure[]>

/** A part that starts products of its own. */
export interface PartApart {
  /** What is measured, one after the other. */
  readonly measures: readonly Measure<[PartOptions]>[]
  /** What `--help` says of it. */
  readonly about: string
  readonly onPostgres: boolean
}

/** The parts that are measured with one product that runs all the time, in their order. */
export const RUNNING_PARTS: Readonly<Record<string, readonly Measure<[Running, PartOptions]>[]>> = {
  memory: [({ product }, { say }) => measureMemory(product, 1000, say)],
  latency: [({ product, bare }, { runs, say }) => measureLatency(product, bare, Math.max(runs, 11), say)],
  burst: [({ product }, { say }) => measureBurst(product, 100, say)],
  overhead: [
    ({ product, bare }, { runs, say }) => measureOverhead(product, bare, runs, say),
    ({ bare }, { runs, say }) => measureAnsibleRunner(bare, runs, say),
  ],
  callback: [({ bare }, { runs }) => measureCallback(bare, runs)],
  ingest: [({ product }, { runs, say }) => measureIngest(product, runs, 200_000, say)],
}

/** The parts that start products of their own, in their order. */
export const PARTS_APART: Readonly<Record<string, PartApart>> = {
  survival: {
    measures: [
      ({ say }) => measureFairness(say),
      ({ cutSeconds, say }) => measureCut(cutSeconds, say),
      ({ runs, say }) => measureRecovery(runs, say),
    ],
    about: `one job catches up on 500 MB while another one writes on; the network is away under 2,000 events a second; both
programs are killed and started again.`,
    onPostgres: false,
  },
  list: {
    measures: [
      ({ database, say }) =>
        measureList({ jobs: database === 'postgres' ? 100_000 : 1_000_000, rounds: 200, database }, say),
    ],
    about: 'how long the list of jobs takes with a million of them, and the CPU time that it costs.',
    onPostgres: true,
  },
  'live-events': {
    measures: [({ say }) => measureLiveEvents(2000, say)],
    about: 'a change reaches 2,000 event streams: how long it takes, and what streams cost.',
    onPostgres: false,
  },
  'large-requests': {
    measures: [({ say }) => measureLargeRequests(say)],
    about: 'how long nobody else is answered while the largest requests are worked on, and the memory they take.',
    onPostgres: false,
  },
  'hostile-runner': {
    measures: [({ say }) => measureHostileRunner(say)],
    about: 'an approved runner sends 738 MB of events for one job, and they are read back.',
    onPostgres: false,
  },
  forms: {
    measures: [({ say }) => measureForms(say)],
    about: 'how long the evaluation of a form with a hundred fields takes, alone and while fifty users fill it in.',
    onPostgres: false,
  },
  backup: {
    measures: [({ say }) => measureBackup(1_000_000, say)],
    about: 'what a backup of a million jobs costs while the service runs, and restores of it into either database.',
    onPostgres: false,
  },
  viewers: {
    measures: [({ say }) => measureViewers(say)],
    about: 'what two hundred people cost who follow one job, and what those cost who do not read.',
    onPostgres: false,
  },
  web: {
    measures: [({ runs, database, say }) => measureWeb(runs, database, say)],
    about: "how quick the pages are, in the machine's own chromium, and following and scrolling in its Firefox.",
    onPostgres: true,
  },
}

/** The names of all parts, in their order. */
export const PARTS: readonly string[] = [...Object.keys(RUNNING_PARTS), ...Object.keys(PARTS_APART)]
