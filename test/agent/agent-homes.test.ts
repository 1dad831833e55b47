import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FIRST_JOB_USER } from '../support/job-users.js'
import { orderOf, play, publish, say } from './playbooks.js'
import { createSetting, exactEnd } from './setting.js'
import { waitFor } from '../support/wait.js'
import { waitUntil } from './waiting.js'

/** Real accounts of this host, for which the list of users has other homes than their jobs get. */
const NAMES = [28, 29].map((at) => `hft-${FIRST_JOB_USER + at}`)
const LOCAL = { command: 'id -un', register: 'who', delegate_to: 'localhost', vars: { ansible_connection: 'local' } }

function addAccount(name: string, home: string): void {
  const uid = name.slice(name.indexOf('-') + 1)
  const places = ['--no-create-home', '--shell', '/usr/sbin/nologin', '--home-dir', home]
  execFileSync('useradd', ['--uid', uid, '-K', 'UID_MAX=4000000000', '--user-group', ...places, name], {
    stdio: 'pipe',
  })
  // A process of the last job may still be ending.
  onTestFinished(async () => void (await waitFor(`the account ${name} to be removed`, () => isRemoved(name))))
}

function isRemoved(name: string): boolean {
  try {
    execFileSync('userdel', [name], { stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}

describe.skipIf(process.getuid?.() !== 0)('accounts of the host that have other homes', () => {
  test('make the runner unfit, which names each of them, and it is fit after what it says was done', async () => {
    const setting = await createSetting()
    chmodSync(setting.folder, 0o711)
    const [first = '', second = ''] = NAMES
    addAccount(first, '/var/lib/elsewhere')
    addAccount(second, `/home/${second}`)
    const asked = { RTE_ISOLATION: 'user', RTE_ISOLATION_USERS: NAMES.join(',') }
    const agent = await setting.join(asked)
    const problem = String((await agent.logged('no job is taken')).problem)
    const folder = join(setting.statePath, 'users')
    expect(problem).toContain(`another home for ${first} ${second} than their jobs get`)
    expect(problem).toContain(`usermod --home ${folder}/USER/home USER`)
    expect(JSON.parse((await agent.probe('/ready')).body)).toMatchObject({
      status: 'not ready',
      isolation: 'user (not available)',
    })
    expect(setting.controlPlane.hellos.at(-1)).toMatchObject({ isolation: 'user (not available)' })
    const order = () =>
      orderOf(publish(setting.controlPlane, { 'site.yml': play(LOCAL, say('I am {{ who.stdout }}.')) }))
    const refused = setting.controlPlane.offer(order())
    expect((await waitUntil('the job is refused', () => refused.refusals[0])).message).toContain(first)
    await agent.kill()

    // One of them is not enough.
    execFileSync('usermod', ['--home', join(folder, first, 'home'), first], { stdio: 'pipe' })
    const again = await setting.join(asked)
    const left = String((await again.logged('no job is taken')).problem)
    expect(left).toContain(`another home for ${second} than`)
    expect(left).not.toContain(first)
    await again.kill()

    execFileSync('usermod', ['--home', join(folder, second, 'home'), second], { stdio: 'pipe' })
    const fit = await setting.join(asked)
    expect(await fit.logged('each playbook runs as a user of its own')).toMatchObject({ users: 2 })
    const end = await exactEnd(setting.controlPlane, setting.controlPlane.offer(order()))
    expect(end, end.text).toMatchObject({ exit_code: 0, message: null })
    expect(NAMES.some((name) => end.text.includes(`I am ${name}.`))).toBe(true)
  })
})
