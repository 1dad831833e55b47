// Starts the programs of the product for the demo, and waits for what they do.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** How long a condition may take on a slow machine. */
const PATIENCE_MS = 300_000

/** How long a program may take to stop in good order. */
const STOP_PATIENCE_MS = 60_000

/**
 * A program in the background.
 * @typedef {{
 *   name: string, pid: number, log: () => string, isRunning: () => boolean, stop: () => Promise<void>, letGo: () => void
 * }} Program
 */

/**
 * Starts a Node program that can outlive this script; what it says goes to `<folder>/<name>.log`, its process id to
 * `<folder>/<name>.pid` for as long as it runs.
 * @param {string} folder
 * @param {string} name
 * @param {string[]} command
 * @param {Record<string, string>} settings
 * @returns {Program}
 */
export function startProgram(folder, name, command, settings) {
  const logPath = join(folder, `${name}.log`)
  const log = openSync(logPath, 'a')
  // Detached: a Ctrl-C is for the demo, which then stops its programs in order.
  const child = spawn(process.execPath, command, {
    env: { ...process.env, ...settings },
    stdio: ['ignore', log, log],
    detached: true,
  })
  closeSync(log)
  if (child.pid === undefined) throw new Error(`${name} could not be started`)
  const pidPath = join(folder, `${name}.pid`)
  writeFileSync(pidPath, `${child.pid}\n`)
  const ended = once(child, 'exit').then(() => rmSync(pidPath, { force: true }))
  return {
    name,
    pid: child.pid,
    log: () => readFileSync(logPath, 'utf8'),
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      child.kill('SIGTERM')
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_PATIENCE_MS)
      await ended
      clearTimeout(force)
    },
    letGo: () => child.unref(),
  }
}

/**
 * Waits until `condition` gives a value. Fails with the end of the log when a program dies or nothing happens.
 * @template T
 * @param {string} what
 * @param {Program[]} programs
 * @param {() => T | null | undefined | Promise<T | null | undefined>} condition
 * @returns {Promise<T>}
 */
export async function waitFor(what, programs, condition) {
  const deadline = Date.now() + PATIENCE_MS
  for (;;) {
    const value = await condition()
    if (value !== null && value !== undefined) return value
    const dead = programs.find((program) => !program.isRunning())
    if (dead) throw new Error(`${dead.name} ended before ${what}.\n${tailOf(dead)}`)
    if (Date.now() > deadline) throw new Error(`Waited in vain for ${what}.\n${programs.map(tailOf).join('\n')}`)
    await pause(50)
  }
}

/** @param {Program} program */
function tailOf(program) {
  const lines = program.log().trimEnd().split('\n').slice(-15)
  return `The end of ${program.name}.log:\n${lines.map((line) => `  ${line}`).join('\n')}`
}

/**
 * Runs a command of the product and gives what it printed.
 * @param {string[]} command
 * @param {Record<string, string>} settings
 * @param {{ show?: boolean }} [options] with `show` its output goes to this terminal instead
 * @returns {Promise<{ code: number, output: string }>}
 */
export function runCommand(command, settings, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, command, {
      env: { ...process.env, ...settings },
      stdio: ['ignore', options.show ? 'inherit' : 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      output += text
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code: code ?? 1, output }))
  })
}
