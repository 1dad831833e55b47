import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { JobFolder, fixtures } from './job-folder.js'

const folder = join(fixtures, 'nothing')

async function run(args: readonly string[], inventory = 'hosts.ini') {
  const job = await JobFolder.ofPlaybook(folder, ['-i', inventory, 'site.yml', ...args])
  return job.run()
}
const variables = (values: Record<string, unknown>): string[] => ['-e', JSON.stringify(values)]

describe('a playbook that ends with 0', () => {
  it.each([
    ['no host', variables({ where: 'empty', next: 'nobody' }), "no host matched the plays 'the play', 'the next one'"],
    [
      'no host within the limit',
      ['-l', 'far'],
      "no host within the limit matched the plays 'the play', 'the next one'",
    ],
    ['no task with the tags', ['-t', 'misspelt'], 'the playbook came to no task with the tags of this job'],
    [
      'every task skipped by its tag',
      ['--skip-tags', 'real,including'],
      'the playbook came to no task without the skipped tags',
    ],
    ['every task skipped', variables({ skip: true }), 'every task was skipped'],
    ['no host that can be reached', variables({ where: 'far' }), 'no host could be reached'],
    ['only an include of nothing', ['-t', 'including'], 'the playbook came to no task with the tags of this job'],
  ])('with %s says that nothing ran', async (_, args, why) => {
    expect(await run(args)).toMatchObject({ cause: 'exited', exit_code: 0, message: `nothing ran: ${why}` })
  })

  it('says so, too, when its facts were gathered', async () => {
    const { message } = await run([...variables({ facts: true, skip: true }), '-l', 'one'])
    expect(message).toBe('nothing ran but the gathering of facts: every task was skipped')
  })

  it('names the inventory that could not be read beside it', async () => {
    const { message } = await run([], 'nothing.yml')
    expect(message).toMatch(/^nothing ran: no host matched .*; ansible could not read the inventory nothing\.yml: /)
  })

  it('names a play without a host although another one ran, and says nothing of one without a task', async () => {
    expect((await run(variables({ next: 'empty' }))).message).toBe("no host matched the play 'the next one'")
    expect((await run([])).message).toBe(null)
  })
})
