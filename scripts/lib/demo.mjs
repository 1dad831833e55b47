// The steps of ./scripts/demo, as an admin would take them: every one of them is a command of the product.
// Arguments: the demo's folder, and yes or no for --keep. Removing the folder is the calling script's business.
import { randomBytes } from 'node:crypto'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand, startProgram, waitFor } from './programs.mjs'

const HOLDFAST = 'control-plane/bin/holdfast.js'
const RUNNER = 'runner-agent/bin/holdfast-runner.js'
const FORMS = ['Hello world', 'Check-up of the servers']

const [folder = '', keep = 'no'] = process.argv.slice(2)
const persistent = join(folder, 'persistent')
const began = Date.now()

/** @typedef {import('./programs.mjs').Program} Program */

/** What was started and still runs, in the order of the starts. @type {Program[]} */
const programs = []

/** The session of the demo's admin is kept in the demo's folder, so that yours is left alone. */
const client = { XDG_CONFIG_HOME: join(folder, 'config'), HOLDFAST_SERVER: '', HOLDFAST_TOKEN: '' }

/** @param {string} text */
function title(text) {
  const isPlain = !process.stdout.isTTY || process.env.NO_COLOR
  console.log(isPlain ? `\n== ${text}` : `\n\u001b[1m== ${text}\u001b[0m`)
}

/**
 * A client command, shown as it would be typed.
 * @param {string[]} args
 */
async function typed(...args) {
  console.log(`$ holdfast ${args.map((arg) => (/^[\w:+/=.-]+$/.test(arg) ? arg : `"${arg}"`)).join(' ')}`)
  return runCommand([HOLDFAST, ...args], client, { show: true })
}

/**
 * A client command whose answer the demo reads.
 * @param {string[]} args
 */
async function asked(...args) {
  const { code, output } = await runCommand([HOLDFAST, ...args, '--json'], client)
  if (code !== 0) throw new Error(`holdfast ${args.join(' ')} ended with ${code}`)
  return JSON.parse(output)
}

/** Starts the control plane on a free port, with the example forms, and signs in as its admin. */
async function startControlPlane() {
  title('A control plane, on SQLite in a fresh folder')
  cpSync('control-plane/examples', persistent, { recursive: true })
  // Given, and not made up: a password that was made up has to be changed at the first sign-in.
  const password = randomBytes(12).toString('base64url')
  const program = startProgram(folder, 'control-plane', [HOLDFAST, 'serve'], {
    ADMIN_PASSWORD: password,
    PERSISTENT_PATH: persistent,
    LISTEN_HOST: '127.0.0.1',
    PORT: '0',
    LOG_FORMAT: 'json',
  })
  programs.push(program)
  const address = await waitFor(
    'the control plane listens',
    [program],
    () => /"address":"([^"]+)"/.exec(program.log())?.[1],
  )
  console.log(`It listens on ${address}`)
  Object.assign(client, { HOLDFAST_PASSWORD: password })
  await typed('login', '--server', address, '--username', 'admin')
  return { program, address, password }
}

/**
 * Starts a runner agent, sees that the one that asks to join is the one that was started, and approves it.
 * @param {{ address: string }} controlPlane
 */
async function startRunner({ address }) {
  title('A runner agent, which asks to join')
  const settings = {
    APP_URL: address,
    RTE_NAME: 'demo-runner',
    RTE_STATE_PATH: join(folder, 'rte-state'),
    // Nothing is left running when the demo ends in the middle.
    RTE_ON_STOP: keep === 'yes' ? 'detach' : 'terminate',
    RTE_DRAIN_SECONDS: keep === 'yes' ? '25' : '1',
    PORT: '0',
    LOG_FORMAT: 'json',
  }
  const runner = startProgram(folder, 'runner', [RUNNER, 'run'], settings)
  programs.push(runner)
  const request = await waitFor('the runner asks to join', programs, () => findRunner('waiting'))
  const { output } = await runCommand([RUNNER, 'fingerprint'], settings)
  console.log(`The runner's key, as its own host prints it:  ${output.trim()}`)
  console.log(`The key of the request, as the admin sees it: ${request.fingerprint}`)
  const { code } = await typed('runner', 'approve', 'demo-runner', '--fingerprint', output.trim())
  if (code !== 0) throw new Error('The runner was not approved.')
  await waitFor('the runner is online', programs, async () => {
    const approved = await findRunner('approved')
    return approved?.online ? approved : null
  })
  return runner
}

/** @param {string} state */
async function findRunner(state) {
  const { records } = await asked('runner', 'list')
  return records.find((/** @type {{ state: string }} */ runner) => runner.state === state)
}

/**
 * Launches a form, follows the job, shows its events.
 * @param {string} form
 * @returns {Promise<{ id: number, form: string, status: string }>}
 */
async function runJob(form) {
  title(`The form "${form}" as a job`)
  const { id } = await asked('job', 'launch', form)
  console.log(`$ holdfast job launch "${form}"\nLaunched job ${id} of ${form}.`)
  await typed('job', 'follow', String(id))
  console.log()
  await typed('job', 'events', String(id))
  const { status } = await asked('job', 'show', String(id))
  return { id, form, status }
}

/** Every step in order; @returns {Promise<boolean>} whether both jobs ended success */
async function demonstrate() {
  const controlPlane = await startControlPlane()
  const runner = await startRunner(controlPlane)
  const jobs = []
  for (const form of FORMS) jobs.push(await runJob(form))

  title('How the jobs ended')
  await typed('job', 'list')
  console.log(`\nFinal status: ${jobs.map((job) => `job ${job.id} ${job.status}`).join(', ')}`)
  console.log(`The demo took ${((Date.now() - began) / 1000).toFixed(1)} s from its first start.`)
  if (keep === 'yes') leaveRunning(controlPlane, runner)
  return jobs.every((job) => job.status === 'success')
}

/**
 * What somebody types to end the processes and to wait for that: while they end, they still write into their folder.
 * @param {readonly (number | undefined)[]} pids
 */
function stopCommand(pids) {
  const areThere = pids.map((pid) => `kill -0 ${pid}`).join(' || ')
  return `kill ${pids.join(' ')}; while ${areThere}; do sleep 0.1; done 2>/dev/null`
}

/**
 * @param {{ program: Program, address: string, password: string }} controlPlane
 * @param {Program} runner
 */
function leaveRunning({ program, address, password }, runner) {
  writeFileSync(join(folder, 'kept'), '')
  for (const running of programs.splice(0)) running.letGo()
  title('Both go on running')
  console.log(`Address:  ${address}   (interface: ${address}/api/v2/docs)
Console:  ${address}/jobs   (in a browser)
Login:    admin / ${password}
Client:   npx holdfast login --server ${address} --username admin
Logs:     ${join(folder, 'control-plane.log')}, ${join(folder, 'runner.log')}
Stop:     ${stopCommand([runner.pid, program.pid])}; rm -rf ${folder}`)
}

/** The runner first, so that it can still report. */
async function stopPrograms() {
  for (const program of programs.splice(0).reverse()) await program.stop()
}

let interrupted = false
for (const [signal, code] of /** @type {const} */ ([
  ['SIGINT', 130],
  ['SIGTERM', 143],
])) {
  process.once(signal, () => {
    interrupted = true
    void stopPrograms().finally(() => process.exit(code))
  })
}

try {
  process.exitCode = (await demonstrate()) ? 0 : 1
} catch (error) {
  if (!interrupted) console.error(`\ndemo: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
} finally {
  await stopPrograms()
}
