import { expect, test } from 'vitest'
import { Course } from '../../../control-plane/src/jobs/course/course.js'
import { matchTasks } from '../../../control-plane/src/jobs/course/match-tasks.js'

/** A run of tasks that have one name and one line. */
function courseOf(tasks: number, line: number): Course {
  const course = new Course()
  const shown = {
    type: 'playbook_on_task_start',
    play: 'p',
    task: 'copy',
    host: null,
    time: '2026-01-01T00:00:00.000Z',
  }
  for (let position = 1; position <= tasks; position += 1) {
    const text = JSON.stringify({ ...shown, task_uuid: `t${position}`, path: `tasks.yml:${line}` })
    course.take({ position, ...shown, line: Buffer.from(text) })
  }
  return course
}

// With work that grows with the square of the tasks, this takes minutes, and nobody else is served meanwhile.
test('tasks of one name whose line is another one are matched in their order, also tens of thousands', () => {
  const pairs = matchTasks(courseOf(40_000, 5), courseOf(40_002, 6))
  expect(pairs).toHaveLength(40_002)
  expect(pairs.findIndex(({ one, other }) => one?.id !== other?.id)).toBe(40_000)
  expect(pairs.slice(40_000).map(({ one, other }) => [one, other?.id])).toEqual([
    [null, 40_001],
    [null, 40_002],
  ])
})
