import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { join } from 'node:path'
import { type Product, ROOT } from '../support/product.js'
import { cpuSeconds, residentBytes } from './cpu.js'
import type { Figure } from './report.js'
import { median, range } from './statistics.js'

type Say = (line: string) => void

const MIB = 1024 * 1024

/** Runs a TypeScript program of the bench as a process of its own. */
function start(program: string, args: readonly string[]) {
  const child = spawn(process.execPath, ['--import', 'tsx', join(ROOT, 'test/bench', program), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    cwd: ROOT,
  })
  child.stdout.setEncoding('utf8')
  return child
}

async function joinToken(product: Product): Promise<string> {
  return (await product.admin.post<{ token: string }>('/runner/join-tokens', {})).token
}

/** Events stored durably per second, from a synthetic emitter over the real socket. */
export async function measureIngest(product: Product, runs: number, events: number, say: Say): Promise<Figure[]> {
  const rates: number[] = []
  const cpu: number[] = []
  for (let run = 1; run <= runs; run += 1) {
    await removeRunner(product, 'emitter')
    const emitter = start('emitter.ts', [product.address, await joinToken(product), String(events), '1024'])
    const lines = once(emitter.stdout, 'data')
    const before = cpuSeconds(product.controlPlane.pid)
    await waitForRunner(product, 'emitter')
    await product.admin.post('/job', { formName: 'synthetic', rawFormData: {} })
    const { seconds } = JSON.parse(String((await lines)[0])) as { seconds: number }
    cpu.push(((cpuSeconds(product.controlPlane.pid) - before) / events) * 1e6)
    rates.push(events / seconds)
    await once(emitter, 'exit')
    say(`  run ${run}/${runs}: ${Math.round(events / seconds)} events/s`)
  }
  return [
    {
      what: 'synthetic events of 1 KB, acknowledged after commit',
      value: median(rates),
      unit: '/s',
      digits: 0,
      reach: { value: 20_000, better: 'higher' },
      note: `${range(rates, 0)}; ${median(cpu).toFixed(1)} us of CPU an event in the control plane; emitter on the same cores`,
    },
  ]
}

async function waitForRunner(product: Product, name: string): Promise<void> {
  for (;;) {
    const { records } = await product.admin.get<{ records: { name: string; online: boolean }[] }>('/runner')
    if (records.some((runner) => runner.name === name && runner.online)) return
    await pause(50)
  }
}

async function removeRunner(product: Product, name: string): Promise<void> {
  const { records } = await product.admin.get<{ records: { id: number; name: string }[] }>('/runner')
  for (const runner of records) if (runner.name === name) await product.admin.request('DELETE', `/runner/${runner.id}`)
}

/** Resident memory of an idle agent, and of the control plane with many idle sockets. */
export async function measureMemory(product: Product, sockets: number, say: Say): Promise<Figure[]> {
  await pause(3000)
  const agent = residentBytes(product.agent.pid) / MIB
  const before = residentBytes(product.controlPlane.pid) / MIB
  const runners = start('idle-runners.ts', [product.address])
  const said = once(runners.stdout, 'data')
  for (let count = 0; count < sockets; count += 1) runners.stdin.write(`${await joinToken(product)}\n`)
  runners.stdin.write('done\n')
  await said
  await pause(3000)
  const after = residentBytes(product.controlPlane.pid) / MIB
  runners.stdin.end()
  await once(runners, 'exit')
  say(
    `  agent ${agent.toFixed(0)} MB; control plane ${before.toFixed(0)} MB, with ${sockets} sockets ${after.toFixed(0)} MB`,
  )
  return [
    {
      what: 'idle agent, resident',
      value: agent,
      unit: 'MB',
      digits: 1,
      reach: { value: 70, better: 'lower' },
      note: '',
    },
    {
      what: `control plane with ${sockets} idle sockets, resident`,
      value: after,
      unit: 'MB',
      digits: 1,
      reach: null,
      note: `${before.toFixed(0)} MB before; ${(((after - before) * 1024) / sockets).toFixed(0)} KB a socket`,
    },
  ]
}
