import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Course } from '../../control-plane/src/jobs/course/course.js'
import { type Chance, createChance } from '../chaos/kit/seed.js'
import { JobFolder } from './job-folder.js'

const HOSTS = ['a', 'b', 'c', 'd', 'e']

/** Tasks of all kinds. Their results depend on the host alone, so they are the same in whatever order hosts run. */
const KINDS: readonly ((chance: Chance) => string)[] = [
  () => 'ansible.builtin.debug: {msg: said}',
  (chance) => `{ansible.builtin.debug: {msg: said}, when: inventory_hostname != '${chance.pick(HOSTS)}'}`,
  () => '{ansible.builtin.command: "true", changed_when: true, notify: Restart}',
  (chance) =>
    `{ansible.builtin.fail: {msg: no}, ignore_errors: true, when: inventory_hostname == '${chance.pick(HOSTS)}'}`,
  (chance) => `{ansible.builtin.fail: {msg: no}, when: inventory_hostname == '${chance.pick(HOSTS)}'}`,
  () => '{ansible.builtin.include_tasks: more.yml, loop: [1, 2, 3]}',
  () => 'ansible.builtin.meta: flush_handlers',
  (chance) =>
    `{block: [{name: try, ansible.builtin.fail: {msg: no}, when: inventory_hostname == '${chance.pick(HOSTS)}'}], rescue: [{name: help, ansible.builtin.debug: {msg: said}}], always: [{name: tidy, ansible.builtin.debug: {msg: said}}]}`,
]

function tasksOf(chance: Chance): string {
  const task = (number: number) => {
    const text = chance.pick(KINDS)(chance)
    return `    - {name: task ${number}, ${text.replace(/^\{(.*)\}$/s, '$1')}}`
  }
  return ['    - {name: first, ansible.builtin.debug: {msg: said}}', ...[1, 2, 3, 4, 5, 6, 7].map(task)].join('\n')
}

/** Each task of a run with its results, whatever the order of hosts is. */
function rowsOf(course: Course): string[] {
  const rows = course.records
    .filter(({ kind }) => kind !== 'play')
    .map(({ kind, name, play, path, cells, counts }) => {
      const letters = HOSTS.map((host) => cells[course.hosts.indexOf(host)] ?? 0)
      return JSON.stringify([
        play,
        kind,
        path?.replace(/^(linear|free|host_pinned)/, ''),
        name,
        letters.map((one) => String.fromCharCode(one || 46)).join(''),
        counts,
      ])
    })
  return rows.sort()
}

it('a run with the strategies free and host_pinned has the tasks and results of a linear run', async () => {
  const seed = Number(process.env.COURSE_SEED ?? Math.floor(Math.random() * 2 ** 31))
  const chance = createChance(seed)
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-course-'))
  await writeFile(
    join(folder, 'more.yml'),
    '- {name: "more {{ item }}", ansible.builtin.debug: {msg: said}}\n- {name: again, ansible.builtin.debug: {msg: said}}\n',
  )
  const [tasks, serial] = [tasksOf(chance), chance.pick([0, 2])]
  const runs: Course[] = []
  for (const strategy of ['linear', 'free', 'host_pinned']) {
    const play = `- name: the play\n  hosts: all\n  gather_facts: false\n  strategy: ${strategy}\n  serial: ${serial}\n  tasks:\n${tasks}\n  handlers:\n    - {name: Restart, ansible.builtin.debug: {msg: restarted}}\n`
    await writeFile(join(folder, `${strategy}.yml`), play)
    const job = await JobFolder.ofPlaybook(folder, ['-i', `${HOSTS.join(',')},`, '-c', 'local', `${strategy}.yml`])
    await job.run()
    const course = new Course()
    for (const event of await job.events()) {
      const { order, type, task, play: name, host, time } = event
      course.take({ position: order, type, task, play: name, host, time, line: Buffer.from(JSON.stringify(event)) })
    }
    runs.push(course)
  }
  const [linear, ...others] = runs.map(rowsOf)
  expect(linear?.length).toBeGreaterThan(1)
  for (const other of others) expect(other, `COURSE_SEED=${seed}\n${tasks}`).toEqual(linear)
}, 60_000)
