import { mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { databasePathOf } from '../support/database-file.js'
import { startLiveProber } from '../support/live-prober.js'
import { startPostgres } from '../support/postgres.js'
import { startProgram } from '../support/process.js'
import { type Product, ROOT, startProduct } from '../support/product.js'
import { peakResidentBytes } from './cpu.js'
import { fillSqlite } from './list-rows.js'
import type { Figure } from './report.js'

type Say = (line: string) => void

/**
 * The id of a database is one row. It is not restored, and a restored database gets its own id when a control plane
 * starts. Until then a backup of the restored database has one row less.
 */
const ID_ROWS = 1

/** How often the memory of a command is looked at, in milliseconds. */
const LOOK_EVERY_MS = 100

/** What one command cost. */
interface Cost {
  readonly seconds: number
  readonly peakMb: number
  /** What it counted, of `--json`. */
  readonly counts: { readonly jobs: number; readonly rows: number }
}

/**
 * What a backup of very many jobs costs while the service runs, and restores of it into either database. The copy that
 * is made of PostgreSQL must have as many rows as the first one; each command compares what it wrote itself.
 */
export async function measureBackup(jobs: number, say: Say): Promise<Figure[]> {
  const product = await startProduct({ withAgent: false, database: 'sqlite' })
  const server = await startPostgres()
  try {
    await product.controlPlane.stop()
    say(`  making ${jobs} jobs`)
    await fillSqlite(databasePathOf(product), jobs)
    await product.startControlPlane()
    const file = join(product.folder, 'all.backup')
    const places = ['--settings-file', settingsOf(product, 'here', { PERSISTENT_PATH: persistentPathOf(product) })]

    const prober = startLiveProber(product.address)
    await prober.waits()
    const made = await holdfast(['backup', file, '--database-only', ...places])
    const { worst } = await prober.waits()
    prober.close()
    const megabytes = statSync(file).size / 1e6
    say(`  backup: ${describe(made)}, ${megabytes.toFixed(0)} MB; /live waited ${worst.toFixed(0)} ms at worst`)
    await product.controlPlane.stop()

    const sqlite = settingsOf(product, 'sqlite', {})
    const restored = await holdfast(['restore', file, '--database-only', '--settings-file', sqlite])
    say(`  restore into SQLite: ${describe(restored)}`)

    const postgres = settingsOf(product, 'postgres', {
      DATABASE_URL: server.urlOf('postgres'),
      ACCESS_TOKEN_SECRET: 'a'.repeat(40),
      ENCRYPTION_SECRET: 'b'.repeat(40),
    })
    const moved = await holdfast(['restore', file, '--database-only', '--settings-file', postgres])
    say(`  restore into PostgreSQL: ${describe(moved)}`)
    const again = join(product.folder, 'again.backup')
    const back = await holdfast(['backup', again, '--database-only', '--settings-file', postgres])
    say(`  backup of PostgreSQL: ${describe(back)}`)
    const { rows, jobs: counted } = made.counts
    for (const [{ counts }, expected] of [
      [restored, rows],
      [moved, rows],
      [back, rows - ID_ROWS],
    ] as const) {
      if (counts.jobs === counted && counts.rows === expected) continue
      throw new Error(`the first backup counted ${JSON.stringify(made.counts)}, a later step ${JSON.stringify(counts)}`)
    }
    const note = `${rows} rows, ${megabytes.toFixed(0)} MB`
    return [
      figure('backup while the service runs', made, jobs, `${note}, worst /live ${worst.toFixed(0)} ms`),
      figure('restore into SQLite', restored, jobs, ''),
      figure('restore into PostgreSQL', moved, jobs, ''),
      figure('backup of PostgreSQL', back, jobs, ''),
    ]
  } finally {
    await server.close()
    await product.close()
  }
}

function figure(what: string, cost: Cost, jobs: number, note: string): Figure {
  const peak = `peak memory ${cost.peakMb.toFixed(0)} MB`
  return {
    what: `${jobs} jobs: ${what}`,
    value: cost.seconds,
    unit: 's',
    digits: 1,
    reach: null,
    note: note === '' ? peak : `${peak}, ${note}`,
  }
}

const describe = ({ seconds, peakMb }: Cost) => `${seconds.toFixed(1)} s, peak memory ${peakMb.toFixed(0)} MB`

const persistentPathOf = (product: Product) => join(databasePathOf(product), '..')

/** A file of settings, of an installation in a folder of its own where they name none. */
function settingsOf(product: Product, name: string, settings: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(product.folder, `${name}-`))
  const persistent = join(folder, 'data')
  mkdirSync(persistent)
  const path = join(folder, 'control-plane.env')
  const lines = Object.entries({ PERSISTENT_PATH: persistent, ...settings }).map(([key, value]) => `${key}=${value}\n`)
  writeFileSync(path, lines.join(''))
  return path
}

/** Runs a command of the product to its end. @throws Error when it fails */
async function holdfast(args: readonly string[]): Promise<Cost> {
  const begin = performance.now()
  const program = startProgram(join(ROOT, 'control-plane/bin/holdfast.js'), [...args, '--json'], {})
  let peak = 0
  const looks = setInterval(() => {
    if (program.isRunning()) peak = Math.max(peak, peakResidentBytes(program.pid))
  }, LOOK_EVERY_MS)
  const { code } = await program.exited.finally(() => clearInterval(looks))
  const seconds = (performance.now() - begin) / 1000
  if (code !== 0) throw new Error(`holdfast ${args.join(' ')} ended with ${code}: ${program.said().slice(-2000)}`)
  const answer = /^\{[^]*^\}|^\{.*\}$/m.exec(program.said())?.[0] ?? ''
  return { seconds, peakMb: peak / 1e6, counts: JSON.parse(answer) as Cost['counts'] }
}
