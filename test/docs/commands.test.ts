import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningProcess, cleanEnvironment, startProgram } from '../support/process.js'
import { killProcessesOfFolder } from '../support/processes-of-folder.js'
import { ROOT } from '../support/product.js'
import { pathWithQuickAnsible } from '../support/quick-ansible.js'
import { waitFor } from '../support/wait.js'
import { type Block, readPages } from './pages.js'

/**
 * Runs the commands of the pages, in their order, in a folder that looks like a clone. README.md comes first: it starts
 * the control plane and the runner that the other pages go on with. The words behind `sh` say how a block is run:
 *
 * - `background="…"`: its last command stays in the foreground, so the test goes on when that says that it is there.
 * - `job="form and options"`: a job is launched before, and stands for job 12 of the block.
 * - `needs="program"`: it is run only where that program is installed.
 * - `not-run="reason"`: it is not run.
 */
const PAGES = readPages().map(({ path, blocks }) => ({
  path,
  blocks: blocks.filter(({ language }) => language === 'sh'),
}))
const BLOCKS = PAGES.flatMap(({ blocks }) => blocks)

const folder = mkdtempSync(join(tmpdir(), 'holdfast-docs-'))
const background: Record<string, RunningProcess> = {}
const said = (name: string): string => background[name]?.said() ?? ''
/** What stands on the pages in the place of what every installation has of its own. */
const replacements: [string, () => string][] = [
  ['http://127.0.0.1:8000', () => /"address":"([^"]+)"/.exec(said('control plane'))?.[1] ?? ''],
  ['SHA256:…', () => /SHA256:[\w+/]+/.exec(said('runner'))?.[0] ?? ''],
  ['/var/lib/holdfast', () => join(folder, 'persistent')],
  ['/backup', () => join(folder, 'backup')],
]

let environment: Record<string, string> = {}

beforeAll(() => {
  const own = ['.git', 'persistent', 'rte-state']
  for (const name of readdirSync(ROOT)) if (!own.includes(name)) symlinkSync(join(ROOT, name), join(folder, name))
  for (const name of ['backup', 'home', 'programs']) mkdirSync(join(folder, name))
  // npx takes half a second of computing to find what stands in node_modules/.bin.
  writeFileSync(join(folder, 'programs/npx'), '#!/bin/sh\nexec "$@"\n', { mode: 0o755 })
  environment = {
    PATH: `${join(folder, 'programs')}:${join(folder, 'node_modules/.bin')}:${pathWithQuickAnsible(folder)}`,
    HOME: join(folder, 'home'),
    XDG_CONFIG_HOME: join(folder, 'home/.config'),
    HOLDFAST_PASSWORD: 'a long password',
    PORT: '0',
  }
})
afterAll(async () => {
  await killProcessesOfFolder(folder)
  rmSync(folder, { recursive: true, force: true })
})

describe.each(PAGES.filter(({ blocks }) => blocks.some(isRun)))('$path', ({ blocks }) => {
  it.each(blocks.filter(isRun))('$place', async (block) => {
    if (block.notes.background !== undefined) await start(block, block.notes.background)
    else await run(withJob(block, block.notes.job === undefined ? null : await launch(block.notes.job)))
  })
})

it('says of every block that is not run why', () => {
  const reasons = BLOCKS.filter((block) => !isRun(block)).map(({ place, notes }) => [
    place,
    notes['not-run'] ?? `needs ${String(notes.needs)}`,
  ])
  console.info(`${BLOCKS.filter(isRun).length} blocks of ${BLOCKS.length} were run; not:`, Object.fromEntries(reasons))
  expect(reasons.filter(([, reason = '']) => reason.length < 5)).toEqual([])
})

function isRun({ notes }: Block): boolean {
  if (notes['not-run'] !== undefined) return false
  return notes.needs === undefined || spawnSync('which', [notes.needs]).status === 0
}

function withValues(text: string): string {
  return replacements.reduce(
    (done, [shown, value]) => (done.includes(shown) ? done.replaceAll(shown, value()) : done),
    text,
  )
}

async function start(block: Block, name: string): Promise<void> {
  const program = startProgram('bash', ['--norc', '-euc', withValues(block.text)], environment, { cwd: folder })
  background[name] = program
  const sign = name === 'runner' ? 'SHA256:' : '"address":"'
  await waitFor(`${sign} in what ${block.place} says`, () => {
    if (program.isRunning()) return program.said().includes(sign)
    throw new Error(program.said())
  })
  // What comes next on the page is typed by somebody who has seen the runner in the list.
  if (name === 'runner') await waitFor('the runner to ask to join', () => said('runner').includes('waiting for'))
}

/** Launches a job and waits until it has ended or asks for an approval. @returns its number */
async function launch(words: string): Promise<string> {
  const [, form = '', options = ''] = /^(.*?)( -e .*)?$/.exec(words) ?? []
  const { id } = JSON.parse(await run(`holdfast job launch "${form}"${options} --json`)) as { id: number }
  await waitFor(`job ${id} to go no further`, async () => {
    const { status } = JSON.parse(await run(`holdfast job show ${id} --json`)) as { status: string }
    return status !== 'running'
  })
  return String(id)
}

function withJob({ place, text }: Block, id: string | null): string {
  const commands = id === null ? text : text.replace(/\b12\b/g, id)
  return `: ${place}\n${commands}`
}

/** @returns what the commands print @throws Error when one of them fails */
function run(commands: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const script = withValues(commands)
    const child = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
      cwd: folder,
      env: cleanEnvironment(environment),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    let complaints = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text))
    child.once('close', (code) => {
      if (code === 0) resolve(output)
      else reject(new Error(`${script}\nended with ${code}: ${output}${complaints}`))
    })
  })
}
