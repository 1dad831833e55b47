import { stripVTControlCharacters } from 'node:util'
import { expect, it } from 'vitest'
import { serviceOfFile } from './answering.js'

const { service, person } = await serviceOfFile()

const time = '2026-01-01T00:00:00.000Z'
const head = (id: number, status: string) => ({
  id,
  status,
  form: 'deploy',
  target: 'deploy',
  start: time,
  end: time,
  user: 'ann',
  user_type: 'local',
  runner: 'one',
})
const NOTHING = {
  job: head(12, 'success'),
  with: head(9, 'success'),
  extravars: { count: 0, records: [] },
  results: { count: 0, records: [] },
  tasks: { count: 0, records: [] },
  hosts: { added: [], removed: [] },
  steps: [],
  complete: true,
}
const task = (id: number, name: string, seconds: number | null, before: number | null) => ({
  id,
  with_id: id,
  name,
  role: null,
  play: 'Servers',
  seconds,
  with_seconds: before,
  changed: 0,
})
const DIFFERENT = {
  ...NOTHING,
  job: head(12, 'failed'),
  extravars: {
    count: 2,
    records: [
      { path: ['deep', 'size'], change: 'changed', value: 2, with_value: 1 },
      { path: ['gone'], change: 'removed', value: null, with_value: 'x' },
    ],
  },
  results: { count: 60, records: [{ task: 4, name: 'check', host: 'web2', outcome: 'failed', with_outcome: 'ok' }] },
  tasks: {
    count: 4,
    records: [
      task(1, 'same', 1, 1),
      task(2, 'install', 5, 3),
      task(3, 'check', 2, 62),
      { ...task(4, 'new', 1, null), with_id: null },
    ],
  },
  hosts: { added: ['web3'], removed: [] },
}

function answering(body: object) {
  service.override = ({ path }) => (path === '/job/12/compare' ? { status: 200, body } : null)
}

it('shows what differs, the greatest differences of time first', async () => {
  answering(DIFFERENT)
  const { code, stdout } = await person.run(['job', 'compare', '12'])
  expect(code).toBe(0)
  expect(service.seen.at(-1)?.query.get('with')).toBeNull()
  expect(stdout.split('\n').map((line) => line.replace(/ +/g, ' '))).toEqual([
    'Job 12 (failed) beside job 9 (success).',
    '',
    'Variables:',
    'variable is was',
    'deep.size 2 1',
    'gone - "x"',
    '',
    'Only here: web3',
    '',
    'Results:',
    'task host is was',
    'check web2 failed ok',
    '… and 59 more',
    '',
    'How long tasks took:',
    'task took before longer by',
    'check 2.00 s 1 min 02 s -1 min 00 s',
    'install 5.00 s 3.00 s +2.00 s',
    'new 1.00 s not run -',
    '',
  ])
})

it('breaks long values into lines on a terminal, and cuts none off', async () => {
  const long = (letter: string) => `${letter.repeat(50)} ${letter.repeat(50)} ${letter.repeat(40)}`
  const record = { path: ['text'], change: 'changed', value: long('n'), with_value: long('o') }
  answering({ ...DIFFERENT, extravars: { ...DIFFERENT.extravars, count: 1, records: [record] } })
  const { stdout } = await person.run(['job', 'compare', '12'], { terminal: true, columns: 90 })
  const [table = ''] = stripVTControlCharacters(stdout).split('Only here')
  expect(table).not.toContain('…')
  for (const letter of ['n', 'o']) {
    // The titles have some of these letters.
    expect(table.match(new RegExp(`${letter}{2,}`, 'g'))?.join('').length).toBe(140)
  }
})

it('compares with another job, says so when nothing differs, and answers JSON for programs', async () => {
  answering(NOTHING)
  const { stdout } = await person.run(['job', 'compare', '12', '--with', '9'])
  expect(stdout).toBe('Job 12 (success) beside job 9 (success).\nNothing differs.\n')
  expect(service.seen.at(-1)?.query.get('with')).toBe('9')
  answering(DIFFERENT)
  expect(JSON.parse((await person.run(['job', 'compare', '12', '--json'])).stdout)).toEqual(DIFFERENT)
})

it('a task that only the other run had is a difference', async () => {
  const gone = { ...task(0, 'gone', null, 2), id: null, with_id: 4 }
  answering({ ...NOTHING, tasks: { count: 2, records: [task(1, 'same', 1, 1), gone] } })
  expect((await person.run(['job', 'compare', '12'])).stdout).toMatch(/^gone +not run +2\.00 s/m)
})

it('shows steps and hosts that differ, and says that not all was compared', async () => {
  const step = { identifier: 'one', status: 'success', with_status: 'failed', seconds: 5, with_seconds: null }
  answering({
    ...NOTHING,
    hosts: { added: [], removed: ['web1', 'web2'] },
    steps: [
      { ...step, job: 13, with_job: 10 },
      { ...step, identifier: 'two', job: null, with_job: 11 },
    ],
    complete: false,
  })
  const { stdout } = await person.run(['job', 'compare', '12'])
  expect(stdout.split('\n').map((line) => line.replace(/ +/g, ' '))).toEqual([
    'Job 12 (success) beside job 9 (success).',
    '',
    'Only there: web1, web2',
    '',
    'Steps:',
    'step is was took before jobs',
    'one success failed 5.00 s - 13, 10',
    'two success failed 5.00 s - 11',
    '',
    'A run had more hosts and tasks than are kept. What comes later is not compared.',
    '',
  ])
})

it('without a good run: 5 and the sentence of the service', async () => {
  service.override = () => ({ status: 404, body: { error: 'No earlier run has succeeded', code: 'no_run_to_compare' } })
  expect(await person.run(['job', 'compare', '12'])).toMatchObject({
    code: 5,
    stderr: 'holdfast: No earlier run has succeeded.\n',
  })
})
