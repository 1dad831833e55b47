import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { EndRecord } from '@holdfast/protocol'
import type { Product } from '../../support/product.js'
import { readProductRows } from '../../support/product-database.js'
import { processesOfFolder } from '../../support/processes-of-folder.js'
import { waitFor } from '../../support/wait.js'

/** What still runs of a job, as `pid command line`: by the marker in its environment, or by a word in its command line. */
export async function leftOf(product: Product, jobId: number, word: string | null = null): Promise<string[]> {
  const marker = `HOLDFAST_JOB_MARKER=${await runIdOf(product, jobId)}\0`
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const command = read(pid, 'cmdline').replaceAll('\0', ' ')
      const isOfIt = read(pid, 'environ').includes(marker) || (word !== null && command.includes(word))
      // The command line of a zombie is empty, and so is its environment.
      return isOfIt ? [`${pid} ${command}`] : []
    })
}

/** A process of the product that has stopped itself by a rule; null when there is none. */
function findStopped(product: Product): number | null {
  return processesOfFolder(product.folder).find((one) => stateOf(one) === 'T') ?? null
}

/** Waits until a process of the product has stopped itself by a rule. @returns lets it go on */
export async function waitForStopped(product: Product): Promise<() => void> {
  const pid = await waitFor('a process that has stopped itself', () => findStopped(product))
  return () => {
    process.kill(pid, 'SIGCONT')
  }
}

/** The folder of a job in its runner's spool; null when it is not there. */
export function spoolFolderOf(product: Product, jobId: number): string | null {
  const jobs = join(product.folder, 'rte-state/spool/jobs')
  const name = readdirSync(jobs).find((folder) => folder.startsWith(`${jobId}-`))
  return name === undefined ? null : join(jobs, name)
}

/** The end record of a job whose folder is still in the spool. */
export function endRecordOf(product: Product, jobId: number): EndRecord {
  return JSON.parse(readFileSync(join(spoolFolderOf(product, jobId) ?? '', 'end.json'), 'utf8')) as EndRecord
}

/** The supervisor of a job that has started. */
export function supervisorOf(product: Product, jobId: number): Promise<number> {
  return waitFor(`the supervisor of job ${jobId}`, () => {
    const text = readFileSync(join(spoolFolderOf(product, jobId) ?? '', 'started.json'), 'utf8')
    return (JSON.parse(text) as { pid: number }).pid
  })
}

/** Kills the keeper and the supervisor of a job. */
export function killSupervisors(product: Product, jobId: number): void {
  const folder = spoolFolderOf(product, jobId) ?? ''
  const found = processesOfFolder(folder).filter((one) => read(String(one), 'cmdline').endsWith(`${folder}\0`))
  for (const one of found.sort((first, second) => first - second)) process.kill(one, 'SIGKILL')
}

/** Kills the keeper, the supervisor and the playbook of a job. What else the playbook has started goes on. */
export function killPlaybook(product: Product, jobId: number): void {
  killSupervisors(product, jobId)
  const record = readFileSync(join(spoolFolderOf(product, jobId) ?? '', 'playbook.json'), 'utf8')
  process.kill((JSON.parse(record) as { pid: number }).pid, 'SIGKILL')
}

/** Where a job is on its way to its runner: `queued`, `offered`, `claimed`, `done`. */
export async function dispatchOf(product: Product, jobId: number): Promise<string> {
  return (await jobRow(product, jobId)).dispatch
}

export async function runIdOf(product: Product, jobId: number): Promise<string> {
  return (await jobRow(product, jobId)).run_id
}

interface JobRow {
  readonly run_id: string
  readonly dispatch: string
}

async function jobRow(product: Product, jobId: number): Promise<JobRow> {
  const [row] = await readProductRows<JobRow>(product, 'select run_id, dispatch from job where id = ?', [jobId])
  if (!row) throw new Error(`there is no job ${jobId}`)
  return row
}

function stateOf(pid: number): string | undefined {
  return / ([A-Z]) /.exec(read(String(pid), 'stat').replace(/^.*\)/s, ''))?.[1]
}

function read(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    // It has ended meanwhile, or is another user's.
    return ''
  }
}
