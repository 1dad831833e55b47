import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { waitFor } from '../support/wait.js'
import { FORM, type Job, PASSWORD, PLAYBOOK } from '../systemd/product-on-machine.js'
import { buildProject, type ComposeProject, whyNoCompose } from './compose-project.js'

const reason = whyNoCompose()
if (reason !== null) console.warn(`the compose file is not played: ${reason}`)

/** The compose file and the recipes of `scripts/package`, built and run by podman. */
describe.skipIf(reason !== null)('the compose file', () => {
  let project: ComposeProject

  beforeAll(async () => {
    project = await buildProject(process.env.CONTAINER_BASE ?? '')
    // Packages and images are made, which takes as long as the machine needs for it.
  }, 1_200_000)
  afterAll(() => project?.close(), 600_000)

  const holdfast = (words: string, input?: string): Promise<string> =>
    project.inside('control-plane', ['holdfast', ...words.split(' ')], input)
  const json = async <T>(words: string): Promise<T> => JSON.parse(await holdfast(`${words} --json`)) as T
  const health = async (service: string): Promise<number> =>
    (await project.podman('healthcheck', 'run', `packages_${service}_1`)).status
  const healthy = (service: string) => waitFor(`${service} to be healthy`, async () => (await health(service)) === 0)
  const job = (id: number): Promise<Job> => json(`job show ${id}`)
  const runner = async () =>
    (await json<{ records: { state: string; online: boolean }[] }>('runner list')).records.at(0) ?? null
  const launch = async (name: string): Promise<number> => {
    const { id } = await json<{ id: number }>(`job launch Gate -e name=${name} --no-follow`)
    await waitFor(`job ${id} to run`, async () => {
      const { output, status } = await job(id)
      if (output.includes('runs as <holdfast-runner>')) return true
      throw new Error(`${status}: ${output}`)
    })
    return id
  }
  const waitForEnd = (id: number, status: string): Promise<Job> =>
    waitFor(`job ${id} to be ${status}`, async () => {
      const shown = await job(id)
      if (shown.status !== status) throw new Error(`${shown.status} (${shown.status_reason}): ${shown.output}`)
      return shown
    })

  it('brings up a control plane and a runner, whose programs are not root', async () => {
    await project.compose('up', '--detach')
    await healthy('control-plane')
    await healthy('runner')
    expect(await project.inside('control-plane', ['id', '-un'])).toBe('holdfast\n')
    expect(await project.inside('runner', ['id', '-un'])).toBe('holdfast-runner\n')
  })

  it('gets a new user from the first sign-in to a job', async () => {
    const first = (await project.inside('control-plane', ['cat', '/var/lib/holdfast/initial-admin-password'])).trim()
    await holdfast('login --server http://127.0.0.1:8000 --username admin --password-stdin', first)
    await holdfast('password --password-stdin', `${first}\n${PASSWORD}\n`)
    const write = (path: string, text: string) => project.inside('control-plane', ['tee', path], text)
    await write('/var/lib/holdfast/forms/gate.yaml', FORM)
    await write('/var/lib/holdfast/playbooks/gate.yml', PLAYBOOK)
    await waitFor('the runner to ask', async () => (await runner())?.state === 'waiting')
    const { stdout, stderr } = await project.podman('logs', 'packages_runner_1')
    const [fingerprint] = /SHA256:[\w+/]+(?=","msg":"connected to the control plane)/.exec(stdout + stderr) ?? []
    await holdfast(`runner approve 1 --fingerprint ${fingerprint}`)
    await waitFor('the runner to be online', async () => (await runner())?.online === true)
    const id = await launch('first')
    await project.inside('runner', ['touch', '/var/tmp/gate-first'])
    expect((await waitForEnd(id, 'success')).output).toContain('the gate <first> is open')
  })

  it('ends a running playbook with its container, and says so', async () => {
    const id = await launch('stopped')
    await project.compose('stop', 'runner')
    expect(await job(id)).toMatchObject({ status: 'aborted' })
    expect(await health('runner')).not.toBe(0)
  })

  it('keeps data and identity when the containers are made anew', async () => {
    await project.compose('down')
    await project.compose('up', '--detach')
    await healthy('control-plane')
    await holdfast('login --server http://127.0.0.1:8000 --username admin --password-stdin', PASSWORD)
    await waitFor('the runner to be online', async () => (await runner())?.online === true)
    expect((await json<{ records: unknown[] }>('job list')).records).toHaveLength(2)
    const id = await launch('again')
    await project.inside('runner', ['touch', '/var/tmp/gate-again'])
    await waitForEnd(id, 'success')
  })
})
