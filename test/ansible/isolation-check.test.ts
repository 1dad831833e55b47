import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { FIRST_JOB_USER } from '../support/job-users.js'
import { agentFolder, supervisorPython } from './job-folder.js'

/** What the agent is told when it asks whether jobs can have these users. */
async function answerAbout(...users: string[]): Promise<Record<string, unknown>> {
  const state = mkdtempSync(join(tmpdir(), 'holdfast-isolation-check-'))
  onTestFinished(() => {
    rmSync(state, { recursive: true })
  })
  await execa('mkdir', ['-p', join(state, 'spool/jobs')])
  const asked = { users, folder: join(state, 'users'), state, read: [], run: [], hidden: [] }
  const program = join(agentFolder, 'isolation.py')
  const { stdout } = await execa(supervisorPython, ['-I', '-S', program, 'check'], { input: JSON.stringify(asked) })
  return JSON.parse(stdout) as Record<string, unknown>
}

test('a number that no list of users knows can be a user of jobs, with a warning', async () => {
  const name = String(FIRST_JOB_USER + 29)
  const answer = await answerAbout(name)
  expect(answer).toMatchObject({
    users: [{ uid: FIRST_JOB_USER + 29, gid: FIRST_JOB_USER + 29, name, groups: [] }],
    warnings: [`${name}: not in the list of users, so ssh and gathering facts of this host will fail`],
  })
})

test.each([
  ['a name that nobody has', ['no-such-user'], 'RTE_ISOLATION_USERS: there is no user no-such-user on this host'],
  ['one who can log in', ['0'], 'RTE_ISOLATION_USERS: 0 can log in'],
  ['one who is in the list twice', ['60700', '60700'], 'RTE_ISOLATION_USERS names a user twice'],
  ['nobody', ['65534'], 'is root, nobody, or the user of the agent'],
])('%s cannot', async (_, users, problem) => {
  expect(await answerAbout(...users)).toEqual({ problem: expect.stringContaining(problem) })
})
