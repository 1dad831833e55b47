// Runs the programs of a bundle once, so that it has the compiled code of what they need at their start.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** Of the service that runs for a moment. */
const PASSWORD = 'of nobody, for a moment'
/** What the pages and the command line ask first. */
const ASKED_FIRST = ['/profile', '/job', '/forms', '/runner']

/**
 * What runs of each program: the words, the settings, what it says when it is ready, and what is done with it then. Without
 * that it ends by itself.
 */
const RUNS = {
  'control-plane': [
    {
      words: ['serve'],
      settings: { ADMIN_PASSWORD: PASSWORD, PORT: '0', LOG_FORMAT: 'json' },
      ready: /"address":"([^"]+)"/,
      use: askAsAdmin,
    },
    { words: ['job', 'list'], settings: { HOLDFAST_SERVER: 'http://127.0.0.1:9', HOLDFAST_TOKEN: 'none' } },
  ],
  'runner-agent': [
    {
      words: ['run'],
      settings: { APP_URL: 'http://127.0.0.1:9', RTE_NAME: 'nobody', PORT: '0' },
      ready: /127\.0\.0\.1:9/,
    },
  ],
}
const ENTRIES = {
  'control-plane': ['main.js', 'bin/holdfast.js'],
  'runner-agent': ['cli.js', 'bin/holdfast-runner.js'],
}
const MAX_SECONDS = 60

/**
 * A bundle whose programs cannot run here goes without: they start all the same.
 * @param {string} program its folder
 * @param {string} bundle
 */
export async function warmUp(program, bundle) {
  const [entry, launcher] = ENTRIES[program]
  const [first] = readFileSync(join(program, launcher), 'utf8').split('\n')
  // The engine takes compiled code only of the same switches.
  const switches = first.split(' ').filter((word) => word.startsWith('--'))
  for (const { words, settings, ready, use } of RUNS[program]) {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-warm-up-'))
    const script = resolve('scripts/lib/warm-up-run.mjs')
    const run = spawn(process.execPath, [...switches, script, resolve(bundle), entry, ...words], {
      cwd: folder,
      env: {
        PATH: process.env.PATH,
        HOME: folder,
        PERSISTENT_PATH: folder,
        RTE_STATE_PATH: join(folder, 'state'),
        ...settings,
      },
      timeout: MAX_SECONDS * 1000,
    })
    let said = ''
    let isUsed = !ready
    for (const output of [run.stdout, run.stderr]) {
      output.on('data', (bytes) => {
        said += bytes
        const found = isUsed ? null : ready.exec(said)
        if (!found) return
        // A second signal would end it at once.
        isUsed = true
        Promise.resolve(use?.(found[1]))
          .catch((error) => console.warn(`warm-up: ${program} does not answer: ${error}`))
          .finally(() => run.kill('SIGTERM'))
      })
    }
    const [code] = await once(run, 'close')
    rmSync(folder, { recursive: true, force: true })
    if (ready && code !== 0) console.warn(`warm-up: ${program} ${words.join(' ')} ended with ${code}:\n${said}`)
  }
}

/** @param {string} address of the service */
async function askAsAdmin(address) {
  const ask = async (path, options = {}) => {
    const answer = await fetch(`${address}/api/v2${path}`, options)
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`)
    return answer.json()
  }
  const body = JSON.stringify({ username: 'admin', password: PASSWORD })
  const { token } = await ask('/auth/login', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  for (const path of ASKED_FIRST) await ask(path, { headers: { authorization: `Bearer ${token}` } })
}
