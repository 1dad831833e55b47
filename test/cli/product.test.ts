import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GATED_FORM, gatedForm, gatedPlaybook, gatesIn } from '../support/gated-playbook.js'
import { type Product, ROOT, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'
import { type Person, newPerson } from './run-cli.js'

const EXAMPLES = join(ROOT, 'control-plane/examples')
const FAILING = `- name: fails
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: fail
      ansible.builtin.fail:
        msg: on purpose
`
const example = (name: string) => readFileSync(join(EXAMPLES, 'forms', name), 'utf8')

/** What the list says of a job and of its place. */
interface JobWithPlace {
  readonly id: number
  readonly place: { readonly until: string | null } | null
}

let product: Product
let gates: string

beforeAll(async () => {
  gates = mkdtempSync(join(tmpdir(), 'holdfast-gates-'))
  mkdirSync(held())
  product = await startProduct({
    forms: {
      'hello-world.yml': example('hello-world.yml'),
      'check-up.yml': example('check-up.yml'),
      'gated.yml': GATED_FORM,
      'held.yml': gatedForm('held'),
      'failing.yml': 'name: failing\ntype: ansible\nroles: [default]\nplaybook: failing.yml\nfields: []\n',
    },
    playbookFolder: join(EXAMPLES, 'playbooks'),
    // As the product comes: what is given with -e are values of the form's fields.
    playbooks: { 'gated.yml': gatedPlaybook(gates), 'held.yml': gatedPlaybook(held(), 1), 'failing.yml': FAILING },
  })
})

afterAll(async () => {
  await product.close()
  rmSync(gates, { recursive: true, force: true })
})

/** The folder of the gates of the form `held`. */
const held = () => join(gates, 'held')

/** A person with the admin's token, in one step. */
function admin(): Person {
  return newPerson({ HOLDFAST_SERVER: product.address, HOLDFAST_TOKEN: product.admin.token })
}

describe('with a real control plane and runner', () => {
  it('launches, follows and shows the first example', async () => {
    const person = admin()
    const { code, stdout, stderr } = await person.run(['job', 'launch', 'Hello world', '-e', 'greeted=Ada', '-f'])
    expect(code).toBe(0)
    expect(stdout).toContain('Hello Ada, says admin in job')
    expect(stdout).not.toContain('\u001b')
    const id = /Launched job (\d+)/.exec(stderr)?.[1] ?? ''
    expect(stderr).toMatch(/Job \d+ ended success after /)

    expect((await person.run(['job', 'download', id])).stdout).toBe(stdout)
    const shown = await person.run(['job', 'show', id, '--json'])
    expect(JSON.parse(shown.stdout)).toMatchObject({ status: 'success', extravars: { greeted: 'Ada' }, output: stdout })
    expect((await person.run(['job', 'list', '--runner', 'test-runner'])).stdout).toContain('Hello world')
    expect((await person.run(['job', 'abort', id])).code).toBe(5)
  })

  it('runs the second example: several hosts, a loop, a failure that is rescued', async () => {
    const person = admin()
    const { stdout: launched } = await person.run(['job', 'launch', 'Check-up of the servers', '--json'])
    const { id } = JSON.parse(launched) as { id: number }
    expect((await person.run(['job', 'follow', String(id)])).code).toBe(0)
    const { stdout } = await person.run(['job', 'events', String(id)])
    expect(stdout).toMatch(/runner_on_failed +db-1 +Find last night's backup/)
    expect(stdout).toMatch(/runner_on_ok +db-1 +Make the missing backup now/)
    expect(stdout.match(/runner_item_on_ok/g)).toHaveLength(9)

    const failed = (await person.run(['job', 'events', String(id), '--failed'])).stdout
    expect(failed).toMatch(/runner_on_failed +db-1 +Find last night's backup/)
    expect(failed).not.toContain('runner_on_ok')
    expect((await person.run(['job', 'events', String(id), '--host', 'nowhere'])).stdout).toBe('No events.\n')
    const timeline = (await person.run(['job', 'timeline', String(id)])).stdout
    expect(timeline).toMatch(/task +Find last night's backup +\d.* s +\d+ +.*1 failed/)
    // A narrow terminal breaks names, and never a time.
    const narrow = await person.run(['job', 'timeline', String(id)], { terminal: true, columns: 70 })
    const times = stripVTControlCharacters(narrow.stdout).match(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g)
    expect(times).toEqual(timeline.match(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g))
    expect(times?.length).toBeGreaterThan(1)
    const found = await person.run(['job', 'search', String(id), "FIND LAST night's backup"])
    expect(found.stdout).toMatch(/^\d+: TASK \[Find last night's backup\] \*+$/m)
    expect((await person.run(['job', 'search', String(id), '--case', 'FIND LAST'])).stdout).toBe('Nothing found.\n')
  })

  it('a job that fails gives exit code 10', async () => {
    const { code, stdout, stderr } = await admin().run(['job', 'launch', 'failing', '--follow'], { terminal: true })
    expect(code).toBe(10)
    expect(stderr).toBe('')
    // On a terminal the colours of ansible stay.
    expect(stdout).toMatch(/\u001b\[[0-9;]*m.*on purpose/)
    expect(stdout).toContain('failed')
  })

  it('a follower sees every byte once through a restart of the control plane', async () => {
    const cli = admin().start(['job', 'launch', 'gated', '--follow'])
    await cli.shows('part 1 item 9 on two')
    await product.controlPlane.stop('SIGTERM')
    await cli.says('The connection to the control plane is lost')
    gatesIn(gates).open(1)
    await product.startControlPlane()
    await cli.says('Connected again.')
    await cli.shows('part 2 item 9 on two')
    gatesIn(gates).open(2)
    const { code, stdout, stderr } = await cli.ended
    expect(code).toBe(0)
    const id = /Launched job (\d+)/.exec(stderr)?.[1] ?? ''
    expect(stdout).toBe((await admin().run(['job', 'download', id])).stdout)
    expect(gatesIn(gates).starts()).toBe(1)
  })

  it('shows that a job waits for a free slot of a runner that is online', async () => {
    const person = admin()
    const launch = async (...args: string[]) =>
      /Launched job (\d+)/.exec((await person.run(['job', 'launch', ...args])).stdout)?.[1] ?? ''
    expect((await person.run(['runner', 'set', 'test-runner', '--max-jobs', '1'])).code).toBe(0)
    const first = await launch('held')
    await waitFor('the first job to run', () => gatesIn(held()).isReached(1))
    const second = await launch('failing')
    // The time at which it gives up is noted a moment after the launch.
    await waitFor('the second job to wait for the runner', async () => {
      const { records } = await product.admin.get<{ records: JobWithPlace[] }>('/job?place=true')
      const place = records.find(({ id }) => id === Number(second))?.place
      if (typeof place?.until !== 'string') return false
      expect(place).toMatchObject({ state: 'queued', runner: { name: 'test-runner', online: true } })
      return true
    })
    expect((await person.run(['job', 'show', second])).stdout).toMatch(
      /^waits for +a free slot on the runner test-runner; it fails at [-\d: ]+ at the earliest$/m,
    )
    gatesIn(held()).open(1)
    for (const id of [first, second]) await product.waitForEnd(Number(id))
    expect((await person.run(['runner', 'set', 'test-runner', '--max-jobs', 'agent'])).code).toBe(0)
  })

  it('signs in, renews the session, and signs out', async () => {
    const person = newPerson({ HOLDFAST_SERVER: product.address })
    const input = 'correct horse battery'
    expect((await person.run(['login', '-u', 'admin', '--password-stdin'], { input })).code).toBe(0)
    expect((await person.run(['job', 'list'])).code).toBe(0)
    expect((await person.run(['logout'])).code).toBe(0)
    expect((await person.run(['job', 'list'])).code).toBe(4)
    const wrong = await person.run(['login', '-u', 'admin', '--password-stdin'], { input: 'wrong horse battery' })
    expect(wrong.code).toBe(4)
  })
})
