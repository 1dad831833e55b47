import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  AgentProcess,
  killOne,
  processesOf,
  processesThatName,
  spooledJob,
  supervisorPid,
  supervisorsOf,
} from './agent-process.js'
import type { StoredJob } from './fake-control-plane.js'
import { FAST_TIMERS } from './fast-timers.js'
import { leaveTrace, orderOf, play, publish, say, waitFor } from './playbooks.js'
import { createSetting, exactEnd, type Setting } from './setting.js'
import { waitUntil } from './waiting.js'
import { covers } from '../interface/covers.js'
import { tryKill } from '../support/processes-of-folder.js'
import { fingerprintOfService, newServiceIdentity } from '../support/service-identity.js'

/** A job that prints, waits for the file `go`, and prints again; it leaves one line in `trace` for each run. */
function offerWaiting({ controlPlane, folder }: Setting): StoredJob {
  const tasks = [leaveTrace(join(folder, 'trace')), say('before'), waitFor(join(folder, 'go')), say('after')]
  return controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(...tasks) })))
}

const letGo = ({ folder }: Setting): void => {
  writeFileSync(join(folder, 'go'), '')
}

const traces = ({ folder }: Setting): string => readFileSync(join(folder, 'trace'), 'utf8')

const printed = async ({ controlPlane }: Setting, job: StoredJob, text: string): Promise<void> => {
  await waitUntil(`the job prints ${text}`, () => controlPlane.stored(job, 'output').includes(text))
}

describe('replication', () => {
  test('a rewind in the middle and another one after the end end exactly', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp()
    // The first pieces never arrive; later ones are answered with "rewind to 0". Then everything is lost once more.
    let dropped = 0
    controlPlane.onPiece = () => (dropped += 1) <= 2
    const text = 'z'.repeat(3_000_000)
    const folder = { 'site.yml': play({ debug: { msg: "{{ 'z' * 3000000 }}" } }) }
    const job = controlPlane.offer(orderOf(publish(controlPlane, folder)))
    job.acceptEnd = false
    await exactEnd(controlPlane, job)
    job.acceptEnd = true
    job.end = null
    job.streams.output.length = 0
    controlPlane.send({ type: 'rewind', job_id: job.order.job_id, stream: 'output', to: 0 })
    const end = await exactEnd(controlPlane, job)
    expect(end.text).toContain(text)
    expect(job.ends).toBeGreaterThan(1)
  })

  test('without acknowledgements the agent stops at its window and goes on with the next one', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp()
    controlPlane.acknowledge = false
    const folder = { 'site.yml': play({ debug: { msg: "{{ 'z' * 6000000 }}" } }) }
    const job = controlPlane.offer(orderOf(publish(controlPlane, folder)))
    const underWay = (): number => controlPlane.length(job, 'output') + controlPlane.length(job, 'events')
    await waitUntil('the window is used', () => underWay() > 2 * 1024 * 1024 - 256 * 1024)
    const control = controlPlane.offer(orderOf('0'.repeat(64)))
    await waitUntil('control messages still pass', () => control.refusals[0])
    expect(underWay()).toBeLessThanOrEqual(2 * 1024 * 1024)
    controlPlane.acknowledge = true
    const lengths = { output: controlPlane.length(job, 'output'), events: controlPlane.length(job, 'events') }
    controlPlane.send({ type: 'ack', job_id: job.order.job_id, ...lengths })
    await exactEnd(controlPlane, job)
  })

  test('after a cut the streams go on from what is stored', async () => {
    const setting = await createSetting()
    const { controlPlane } = setting
    await setting.join()
    const job = offerWaiting(setting)
    await printed(setting, job, 'before')
    const before = controlPlane.length(job, 'output')
    controlPlane.cut()
    letGo(setting)
    const offsets: number[] = []
    controlPlane.onPiece = (frame) => {
      if (frame.stream === 'output') offsets.push(frame.offset)
      return false
    }
    const end = await exactEnd(controlPlane, job)
    expect(end.text).toContain('after')
    expect(offsets[0]).toBe(before)
    expect(controlPlane.inventories.at(-1)?.jobs).toMatchObject([{ job_id: job.order.job_id }])
  })

  test('a job whose end is stored leaves the spool, is listed, and is sent again to whoever forgot its claim', async () => {
    const setting = await createSetting()
    const { controlPlane, statePath } = setting
    await setting.join()
    const job = offerWaiting(setting)
    letGo(setting)
    const { text } = await exactEnd(controlPlane, job)
    await waitUntil('it has left the spool', () => spooledJob(statePath) === null)
    controlPlane.cut()
    const inventory = await waitUntil('the spool is told again', () => controlPlane.inventories[1])
    const { job_id, run_id } = job.order
    expect(inventory.jobs).toMatchObject([{ job_id, run_id, ended: true }])
    // The database went back to before the claim, while the connection goes on. The job may have another number now.
    controlPlane.jobs.delete(job_id)
    const again = controlPlane.offer({ ...job.order, job_id: job_id + 7 })
    expect((await exactEnd(controlPlane, again)).text).toBe(text)
    expect([again.claims, again.refusals]).toEqual([1, []])
    expect(traces(setting)).toBe('run\n')
  })

  test('a past run is not called unknown while the disk of the spool is away', async () => {
    const setting = await createSetting()
    const { controlPlane, statePath } = setting
    const agent = await setting.join({ RTE_KEEP_ENDED_MINUTES: '0' })
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say('hello')) })))
    await exactEnd(controlPlane, job)
    await waitUntil('it has left the spool', () => spooledJob(statePath) === null)
    const { job_id, run_id } = job.order
    const [spool, away] = [join(statePath, 'spool'), join(statePath, 'away')]
    renameSync(spool, away)
    controlPlane.send({ type: 'recall', jobs: [{ job_id, run_id }] })
    await agent.logged('it cannot be looked up now what became of a job')
    renameSync(away, spool)
    controlPlane.send({ type: 'recall', jobs: [{ job_id, run_id }] })
    await waitUntil('the answer', () => controlPlane.recalled.length > 0)
    expect(controlPlane.recalled).toMatchObject([{ job_id, run_id, known: true, record: { exit_code: 0 } }])
  })

  test('a connection that breaks around every claim: each job runs once and ends exactly', async () => {
    const { controlPlane, folder, join: joinApp } = await createSetting()
    await joinApp()
    const jobs: StoredJob[] = []
    for (let round = 0; round < 6; round += 1) {
      await controlPlane.isConnected()
      const { epoch } = await waitUntil('the inventory is answered', () => {
        const { connected, inventories } = controlPlane
        return connected && inventories.length >= connected.epoch ? connected : null
      })
      const manifest = publish(controlPlane, {
        'site.yml': play({ raw: `echo run >> '${join(folder, `trace-${round}`)}'` }),
      })
      const job = controlPlane.offer(orderOf(manifest))
      jobs.push(job)
      // Cut at another moment in each round: before the files, between them, around the claim.
      const until = controlPlane.wanted.length + Math.min(round, 2)
      await waitUntil('it is as far as that', () => controlPlane.wanted.length >= until || job.claims > 0)
      if (round > 3) await waitUntil('it is claimed', () => job.claims > 0)
      controlPlane.cut()
      expect(epoch).toBe(round + 1)
    }
    for (const [round, job] of jobs.entries()) {
      expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'exited', exit_code: 0 })
      expect(readFileSync(join(folder, `trace-${round}`), 'utf8')).toBe('run\n')
    }
  })

  test('a spool file that lost its tail ends with what is there, and says so', async () => {
    const { controlPlane, statePath, join: joinApp } = await createSetting()
    const agent = await joinApp()
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say('hello')) })))
    job.acceptEnd = false
    const first = await exactEnd(controlPlane, job)
    await agent.kill()
    truncateSync(join(spooledJob(statePath) ?? '', 'output.log'), 10)
    Object.assign(job, { end: null, acceptEnd: true })
    job.streams.output.length = 0
    await waitUntil('the socket is closed', () => controlPlane.connected === null)
    await joinApp()
    const end = await exactEnd(controlPlane, job)
    expect(end.output).toMatchObject({ length: 10, dropped_bytes: first.output.length - 10 })
    expect(end.message).toContain('the spool was damaged')
  })
})

describe('the agent is killed', () => {
  test('while a playbook runs, twice: it runs on, once, and ends exactly', async () => {
    const setting = await createSetting()
    const { controlPlane, statePath } = setting
    let agent = await setting.join()
    const job = offerWaiting(setting)
    await printed(setting, job, 'before')
    const supervisor = supervisorPid(statePath)
    for (let round = 0; round < 2; round += 1) {
      await agent.kill()
      await waitUntil('the socket is closed', () => controlPlane.connected === null)
      agent = await setting.join()
      await agent.logged('job found again')
    }
    expect(supervisorPid(statePath)).toBe(supervisor)
    letGo(setting)
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'exited', exit_code: 0 })
    expect(traces(setting)).toBe('run\n')
    expect(job.claims).toBe(1)
  })

  test('and the playbook ends meanwhile: exact after the restart', async () => {
    const setting = await createSetting()
    const { statePath, controlPlane } = setting
    const agent = await setting.join()
    const job = offerWaiting(setting)
    await printed(setting, job, 'before')
    await agent.kill()
    letGo(setting)
    await waitUntil('the supervisor wrote the end', () => existsSync(join(spooledJob(statePath) ?? '', 'end.json')))
    await setting.join()
    const end = await exactEnd(controlPlane, job)
    expect(end).toMatchObject({ cause: 'exited', exit_code: 0 })
    expect(end.text).toContain('after')
    expect(traces(setting)).toBe('run\n')
  })

  test('right after the claim: the job is started by the next agent, once', async () => {
    const setting = await createSetting()
    const { controlPlane, folder } = setting
    const agent = await setting.join()
    const tasks = [leaveTrace(join(folder, 'trace'))]
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(...tasks) })))
    await waitUntil('it is claimed', () => job.claims === 1)
    await agent.kill()
    await waitUntil('the socket is closed', () => controlPlane.connected === null)
    await setting.join()
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'exited', exit_code: 0 })
    expect(traces(setting)).toBe('run\n')
  })

  test('with everything else of the job: it ends as lost soon after the restart, and nothing is left', async () => {
    const setting = await createSetting()
    const { controlPlane, statePath } = setting
    const agent = await setting.join()
    const job = offerWaiting(setting)
    await printed(setting, job, 'before')
    await agent.kill()
    for (const pid of [...supervisorsOf(statePath), ...processesOf(job.order.run_id)]) tryKill(pid)
    await setting.join()
    const end = await exactEnd(controlPlane, job)
    expect(end).toMatchObject({ cause: 'supervisor_lost', exit_code: null, aborted: false })
    expect(end.text).toContain('before')
    expect(processesOf(job.order.run_id)).toEqual([])
  })
})

test('what looks lost from here is not judged while the control plane does not accept this agent', async () => {
  const setting = await createSetting()
  const { controlPlane, statePath } = setting
  const first = await setting.join()
  const job = offerWaiting(setting)
  await printed(setting, job, 'before')
  await first.kill()
  for (const pid of [...supervisorsOf(statePath), ...processesOf(job.order.run_id)]) tryKill(pid)
  // As of a second agent on a copy of the folder, where the playbook of the first one looks lost.
  controlPlane.refuse = 'clone'
  const second = setting.start()
  await second.logged('jobs found in the spool')
  await second.logged('cannot join the control plane')
  expect(readdirSync(spooledJob(statePath) ?? '')).not.toContain('end.json')
  await second.kill()
  controlPlane.refuse = null
  await setting.join()
  expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'supervisor_lost' })
})

test('a copy of the state folder says so and decides nothing until a control plane lets it in; a moved folder is no copy', async () => {
  const setting = await createSetting()
  const { controlPlane, folder, statePath } = setting
  const first = await setting.join()
  const job = offerWaiting(setting)
  await printed(setting, job, 'before')
  await first.kill()
  for (const pid of [...supervisorsOf(statePath), ...processesOf(job.order.run_id)]) tryKill(pid)
  const copyPath = join(folder, 'copy')
  execFileSync('cp', ['-a', statePath, copyPath])
  const hasEnded = (path: string) => readdirSync(spooledJob(path) ?? '').includes('end.json')

  // Without a control plane the original judges its jobs after a minute, and the copy does not.
  const alone = { APP_URL: 'http://127.0.0.1:9', ...FAST_TIMERS }
  const copy = setting.start({ ...alone, RTE_STATE_PATH: copyPath, RTE_ON_STOP: 'terminate', RTE_DRAIN_SECONDS: '0' })
  await copy.logged('jobs found in the spool')
  const original = setting.start(alone)
  await waitUntil('the original to judge', () => hasEnded(statePath))
  await original.kill()
  copy.signal('SIGTERM')
  await copy.exited()
  expect(hasEnded(copyPath)).toBe(false)

  controlPlane.refuse = 'clone'
  const refused = setting.start({ RTE_STATE_PATH: copyPath })
  await refused.logged('cannot join the control plane')
  expect((await refused.probe('/ready')).body).toContain('this state folder is a copy')
  expect(controlPlane.hellos.at(-1)).toMatchObject({ copied: true })
  await refused.kill()

  controlPlane.refuse = null
  const accepted = await setting.join({ RTE_STATE_PATH: copyPath })
  expect(controlPlane.hellos.at(-1)).toMatchObject({ copied: true })
  expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'supervisor_lost' })
  const generations = join(copyPath, 'generations')
  await waitUntil('it to be noted', () =>
    readdirSync(generations).every((name) => !readFileSync(join(generations, name), 'utf8').includes('"copied"')),
  )
  await accepted.kill()
  renameSync(copyPath, join(folder, 'moved'))
  await setting.join({ RTE_STATE_PATH: join(folder, 'moved') })
  expect(controlPlane.hellos.at(-1)?.copied).toBeUndefined()
})

describe('the supervisor is killed', () => {
  test('or its keeper: the playbook goes on and ends as it ends, also when the agent is killed meanwhile', async () => {
    for (const which of ['keeper', 'supervisor'] as const) {
      const setting = await createSetting()
      const { controlPlane, statePath } = setting
      const agent = await setting.join()
      const job = offerWaiting(setting)
      await printed(setting, job, 'before')
      expect(supervisorsOf(statePath)[0]).toBe(supervisorPid(statePath))
      await agent.kill()
      killOne(statePath, which)
      const second = await setting.join()
      await second.logged('job found again')
      letGo(setting)
      const end = await exactEnd(controlPlane, job)
      expect(end).toMatchObject({ cause: 'exited', exit_code: 0, message: null })
      expect(end.text).toContain('after')
    }
  })

  test('with its keeper: the playbook goes on, and how it ended cannot be told', async () => {
    const setting = await createSetting()
    const { controlPlane, statePath, folder } = setting
    const agent = await setting.join()
    const tasks = [say('before'), waitFor(join(folder, 'go')), leaveTrace(join(folder, 'trace'))]
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(...tasks) })))
    await printed(setting, job, 'before')
    await waitUntil('its task runs', () => processesThatName(join(folder, 'go')).length > 0)
    for (const pid of supervisorsOf(statePath)) process.kill(pid, 'SIGKILL')
    const problem = 'its supervisor was ended; the playbook goes on, and how it ends cannot be told'
    await waitUntil('the agent says so', () => agent.log.find((line) => line.problem === problem))
    expect(processesOf(job.order.run_id)).not.toEqual([])
    expect(job.end).toBeNull()
    letGo(setting)
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'supervisor_lost', aborted: false })
    expect(processesOf(job.order.run_id)).toEqual([])
  })

  test('with its keeper, and an abort is asked for: all of the job is ended', async () => {
    const setting = await createSetting()
    const { controlPlane, statePath } = setting
    await setting.join()
    const job = offerWaiting(setting)
    await printed(setting, job, 'before')
    for (const pid of supervisorsOf(statePath)) process.kill(pid, 'SIGKILL')
    controlPlane.send({ type: 'abort', job_id: job.order.job_id, run_id: job.order.run_id })
    expect(await exactEnd(controlPlane, job)).toMatchObject({ aborted: true })
    expect(processesOf(job.order.run_id)).toEqual([])
  })
})

describe('aborting', () => {
  test('a running job ends as aborted, and asking twice changes nothing', async () => {
    const setting = await createSetting()
    const { controlPlane } = setting
    await setting.join()
    const job = offerWaiting(setting)
    await printed(setting, job, 'before')
    const ref = { job_id: job.order.job_id, run_id: job.order.run_id }
    controlPlane.send({ type: 'abort', ...ref })
    controlPlane.send({ type: 'abort', ...ref })
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'aborted', aborted: true })
    expect(processesOf(job.order.run_id)).toEqual([])
  })

  test('right after the offer: one truthful end', async () => {
    const setting = await createSetting()
    const { controlPlane } = setting
    await setting.join()
    const job = offerWaiting(setting)
    await waitUntil('it is claimed', () => job.claims === 1)
    controlPlane.send({ type: 'abort', job_id: job.order.job_id, run_id: job.order.run_id })
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'aborted', aborted: true })
    expect(job.ends).toBe(1)
  })

  test('while disconnected: the resume says it', async () => {
    const setting = await createSetting()
    const { controlPlane } = setting
    await setting.join()
    const job = offerWaiting(setting)
    await printed(setting, job, 'before')
    job.abort = true
    controlPlane.cut()
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'aborted', aborted: true })
  })

  test('a job that the agent does not have is unknown; one whose files are under way is given up', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp()
    const manifest = publish(controlPlane, { 'site.yml': play(say('x')) })
    const order = orderOf(manifest)
    const job = controlPlane.offer(order)
    // The abort is on its way before the list of files can be.
    controlPlane.send({ type: 'abort', job_id: order.job_id, run_id: order.run_id })
    await waitUntil('the agent does not know it', () => job.unknown === 1)
    expect(job.claims).toBe(0)
    controlPlane.send({ type: 'abort', job_id: order.job_id, run_id: order.run_id })
    await waitUntil('the agent does not know it still', () => job.unknown === 2)
  })

  test('a job that the control plane does not know is kept, and ended and forgotten only when a person asked', async () => {
    const setting = await createSetting()
    const { controlPlane, statePath } = setting
    await setting.join()
    const job = offerWaiting(setting)
    await printed(setting, job, 'before')
    controlPlane.jobs.clear()
    for (const connection of [2, 3]) {
      controlPlane.cut()
      await waitUntil('it is listed again', () => controlPlane.inventories.length === connection)
    }
    expect(spooledJob(statePath)).not.toBeNull()
    expect(processesOf(job.order.run_id)).not.toEqual([])
    controlPlane.deleted.add(job.order.run_id)
    controlPlane.cut()
    await waitUntil('the spool is empty', () => spooledJob(statePath) === null)
    expect(processesOf(job.order.run_id)).toEqual([])
  })

  test('a job that it does not know is described to it, and to another control plane without its variables', async () => {
    const setting = await createSetting()
    const { controlPlane, statePath } = setting
    const agent = await setting.join()
    const extravars = { inline: { told: 'to the first only' } }
    const site = play(waitFor(join(setting.folder, 'go')))
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': site }), { extravars }))
    await waitUntil('it is claimed', () => job.claims === 1)
    controlPlane.jobs.clear()
    controlPlane.cut()
    const { run_id } = job.order
    const own = await waitUntil('it is described', () => controlPlane.orphans[0])
    expect(own).toMatchObject({ run_id, service: null, ended: false, description: { extravars: extravars.inline } })

    await agent.kill()
    const before = fingerprintOfService(controlPlane.service)
    controlPlane.service = newServiceIdentity()
    const trust = ['trust', '--fingerprint', fingerprintOfService(controlPlane.service)]
    expect(await AgentProcess.command(trust, { RTE_STATE_PATH: statePath })).toMatchObject({ code: 0 })
    await setting.join()
    const other = await waitUntil('it is described again', () => controlPlane.orphans[1])
    expect(other).toMatchObject({ run_id, service: before, description: { form: job.order.form, extravars: null } })
  })
})

describe('stopping', () => {
  test('drains: refuses new jobs, lets the running one end, and ends with 0', async () => {
    covers('monitoring.agent')
    const setting = await createSetting()
    const { controlPlane } = setting
    const agent = await setting.join()
    const job = offerWaiting(setting)
    await printed(setting, job, 'before')
    agent.signal('SIGTERM')
    await waitUntil('it says that it drains', () => controlPlane.statuses.at(-1)?.draining)
    expect((await agent.probe('/ready')).body).toContain('draining')
    const other = controlPlane.offer(orderOf('0'.repeat(64)))
    expect(await waitUntil('it is refused', () => other.refusals[0])).toMatchObject({ code: 'draining' })
    letGo(setting)
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'exited', exit_code: 0 })
    expect(await agent.exited()).toEqual({ code: 0, signal: null })
  })

  test('leaves a playbook that does not end in time to the next start', async () => {
    const setting = await createSetting()
    const { controlPlane } = setting
    const agent = await setting.join({ RTE_DRAIN_SECONDS: '0' })
    const job = offerWaiting(setting)
    await printed(setting, job, 'before')
    agent.signal('SIGTERM')
    expect(await agent.exited()).toEqual({ code: 0, signal: null })
    await setting.join()
    letGo(setting)
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'exited', exit_code: 0 })
    expect(traces(setting)).toBe('run\n')
  })

  test('terminate ends running playbooks and still reports them', async () => {
    const setting = await createSetting()
    const { controlPlane } = setting
    const agent = await setting.join({ RTE_DRAIN_SECONDS: '0', RTE_ON_STOP: 'terminate' })
    const job = offerWaiting(setting)
    await printed(setting, job, 'before')
    agent.signal('SIGINT')
    expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'aborted' })
    expect(await agent.exited()).toEqual({ code: 0, signal: null })
  })

  test('a second signal ends at once', async () => {
    const setting = await createSetting()
    const agent = await setting.join()
    const job = offerWaiting(setting)
    await printed(setting, job, 'before')
    agent.signal('SIGTERM')
    await agent.logged('agent stops')
    agent.signal('SIGTERM')
    expect(await agent.exited()).toEqual({ code: 130, signal: null })
  })
})
