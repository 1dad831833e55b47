import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { processesOf, processesThatName, spooledJob } from './agent-process.js'
import type { StoredJob } from './fake-control-plane.js'
import { orderOf, play, publish, say, waitFor } from './playbooks.js'
import { createSetting, exactEnd, type Setting } from './setting.js'
import { endedWell } from '../support/end-record.js'
import { waitUntil } from './waiting.js'

/** A job that this control plane knows and whose folder lies in the spool, before any agent is there. */
function spool({ controlPlane, statePath }: Setting, files: Readonly<Record<string, string>>): [StoredJob, string] {
  const job = controlPlane.offer(orderOf('0'.repeat(64)))
  const { job_id, run_id } = job.order
  const folder = join(statePath, 'spool', 'jobs', `${job_id}-${run_id}`)
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return [job, folder]
}

const endOf = (runId: string, length: number): string => JSON.stringify(endedWell(runId, 'x'.repeat(length)))

function offerWaiting({ controlPlane, folder }: Setting): StoredJob {
  const tasks = [say('before'), waitFor(join(folder, 'go'))]
  return controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(...tasks) })))
}

/** Until its last task runs: what ansible needs from the folder of the job for the start of a task, it has taken by then. */
const waits = async (setting: Setting, job: StoredJob): Promise<void> => {
  await printed(setting, job, 'before')
  await waitUntil('its last task runs', () => processesThatName(`-e '${join(setting.folder, 'go')}'`).length > 0)
}

const printed = ({ controlPlane }: Setting, job: StoredJob, text: string): Promise<unknown> =>
  waitUntil(`the job prints ${text}`, () => controlPlane.stored(job, 'output').includes(text))

describe('a damaged spool', () => {
  test('holds up neither the agent nor another job, and every job in it ends', async () => {
    const setting = await createSetting()
    const { controlPlane, statePath } = setting
    const [torn] = spool(setting, { 'claim.json': '{"order":' })
    const [started] = spool(setting, { 'claim.json': '{}', 'started.json': '', 'output.log': 'torn li' })
    const [loop, loopFolder] = spool(setting, {})
    writeFileSync(join(loopFolder, 'end.json'), endOf(loop.order.run_id, 10))
    symlinkSync('output.log', join(loopFolder, 'output.log'))
    const [unreadable, unreadableFolder] = spool(setting, {})
    writeFileSync(join(unreadableFolder, 'end.json'), endOf(unreadable.order.run_id, 10))
    mkdirSync(join(unreadableFolder, 'output.log'))
    const [lost, lostFolder] = spool(setting, { 'end.json': 'null' })
    symlinkSync('output.log', join(lostFolder, 'output.log'))
    const past = JSON.stringify({ pid: 1, start_ticks: 1, boot_id: 'of long ago' })
    const [unwritable, unwritableFolder] = spool(setting, { 'started.json': past, 'output.log': 'what is left' })
    mkdirSync(join(unwritableFolder, 'end.json'))
    writeFileSync(join(statePath, 'spool', 'jobs', `999-${'f'.repeat(32)}`), 'no folder at all')

    const agent = await setting.join()
    await agent.logged('not the folder of a job')
    expect(await exactEnd(controlPlane, torn)).toMatchObject({ cause: 'not_started' })
    expect(await exactEnd(controlPlane, started)).toMatchObject({ cause: 'supervisor_lost' })
    for (const job of [loop, unreadable]) {
      const end = await exactEnd(controlPlane, job)
      expect(end).toMatchObject({ cause: 'exited', exit_code: 0, output: { length: 0, dropped_bytes: 10 } })
      expect(end.message).toContain('10 bytes of output')
    }
    expect((await exactEnd(controlPlane, lost)).message).toContain('the output in the spool cannot be read')
    expect(await exactEnd(controlPlane, unwritable)).toMatchObject({ cause: 'host_rebooted', text: 'what is left' })
    const manifest = publish(controlPlane, { 'site.yml': play(say('unharmed')) })
    expect((await exactEnd(controlPlane, controlPlane.offer(orderOf(manifest)))).text).toContain('unharmed')
    expect((await agent.probe('/metrics')).body).toContain('af_rte_running_jobs 0')
    expect(agent.errors).toBe('')
  })

  test('a running job whose folder is removed goes on, and the control plane hears of its end', async () => {
    const setting = await createSetting()
    const { controlPlane, folder, statePath } = setting
    const agent = await setting.join({ RTE_MAX_JOBS: '1' })
    const job = offerWaiting(setting)
    await waits(setting, job)
    rmSync(spooledJob(statePath) ?? '', { recursive: true })
    await agent.logged('cannot look at a job')
    expect(processesOf(job.order.run_id)).not.toEqual([])
    const reason = expect.stringContaining('its folder is not there; the playbook goes on') as string
    expect(JSON.parse((await agent.probe('/ready')).body)).toMatchObject({ reason })
    writeFileSync(join(folder, 'go'), '')
    const inventory = await waitUntil('the spool is told again', () => controlPlane.inventories[1])
    expect(inventory.jobs).toEqual([])
    expect(processesOf(job.order.run_id)).toEqual([])
    const manifest = publish(controlPlane, { 'site.yml': play(say('next')) })
    expect((await exactEnd(controlPlane, controlPlane.offer(orderOf(manifest)))).text).toContain('next')
    await agent.logged('the folder of a running job was removed')
  })

  test('the folder of a running job is removed and its abort is asked for: what runs is ended', async () => {
    const setting = await createSetting()
    const { controlPlane, statePath } = setting
    const agent = await setting.join()
    const job = offerWaiting(setting)
    await waits(setting, job)
    rmSync(spooledJob(statePath) ?? '', { recursive: true })
    await agent.logged('cannot look at a job')
    const { job_id, run_id } = job.order
    controlPlane.send({ type: 'abort', job_id, run_id })
    await waitUntil('the spool is told again', () => controlPlane.inventories[1])
    expect(processesOf(run_id)).toEqual([])
  })
})

test('a job whose files are under way when the agent stops is refused and not started any more', async () => {
  const setting = await createSetting()
  const { controlPlane, folder } = setting
  const agent = await setting.join()
  const running = offerWaiting(setting)
  await printed(setting, running, 'before')
  controlPlane.withhold = true
  const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say('late')) })))
  await waitUntil('its files are asked for', () => controlPlane.wanted.includes(job.order.manifest_sha256))
  agent.signal('SIGTERM')
  expect(await waitUntil('it is refused', () => job.refusals[0])).toMatchObject({ code: 'draining' })
  writeFileSync(join(folder, 'go'), '')
  await exactEnd(controlPlane, running)
  expect(await agent.exited()).toEqual({ code: 0, signal: null })
  expect(job.claims).toBe(0)
})

test('when no file can be opened any more, a running job is not lost and an offered one is asked for again', async () => {
  const setting = await createSetting()
  const { controlPlane, folder } = setting
  const agent = await setting.join()
  const running = offerWaiting(setting)
  await printed(setting, running, 'before')
  const manifest = publish(controlPlane, { 'site.yml': play(say('later')) })
  const limitFiles = (limit: string): void => {
    execFileSync('prlimit', ['--pid', String(agent.pid), `--nofile=${limit}`])
  }
  limitFiles('5:')
  await agent.logged('cannot look at a job')
  const offered = controlPlane.offer(orderOf(manifest))
  expect(await waitUntil('it is refused', () => offered.refusals[0])).toMatchObject({ code: 'busy' })
  await agent.logged('no more files can be opened')
  limitFiles('1000:')
  writeFileSync(join(folder, 'go'), '')
  expect(await exactEnd(controlPlane, running)).toMatchObject({ cause: 'exited', exit_code: 0 })
  await agent.logged('files can be opened again')
  controlPlane.offer(offered.order)
  expect((await exactEnd(controlPlane, offered)).text).toContain('later')
})

test('while no more files can be opened, the jobs that are there go on from a reserve', async () => {
  const setting = await createSetting()
  const { controlPlane, folder } = setting
  const agent = await setting.join()
  const running = offerWaiting(setting)
  await printed(setting, running, 'before')
  const { port } = new URL(String((await agent.logged('probes are answered here'))['address']))
  const limitFiles = (limit: number): void => {
    execFileSync('prlimit', ['--pid', String(agent.pid), `--nofile=${limit}:`])
  }
  // Room for ten files more, wherever there are gaps; the connections take it and hold it.
  const open = new Set(readdirSync(`/proc/${agent.pid}/fd`).map(Number))
  let limit = 0
  for (let free = 0; free < 10; limit += 1) if (!open.has(limit)) free += 1
  limitFiles(limit)
  const holders = Array.from({ length: 40 }, () => connect(Number(port), '127.0.0.1').on('error', () => undefined))
  onTestFinished(() => {
    for (const holder of holders) holder.destroy()
  })
  await agent.logged('no more files can be opened')
  const refused = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say('later')) })))
  expect(await waitUntil('it is refused', () => refused.refusals[0])).toMatchObject({
    code: 'busy',
    message: expect.stringContaining('no more files') as string,
  })
  writeFileSync(join(folder, 'go'), '')
  expect(await exactEnd(controlPlane, running)).toMatchObject({ cause: 'exited', exit_code: 0 })
  limitFiles(1000)
  await agent.logged('files can be opened again')
  controlPlane.offer(refused.order)
  expect((await exactEnd(controlPlane, refused)).text).toContain('later')
})
