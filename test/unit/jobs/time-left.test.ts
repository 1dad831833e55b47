import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Course } from '../../../control-plane/src/jobs/course/course.js'
import { leftText } from '../../../control-plane/src/cli/show/left.js'
import { estimateOf } from '../../../control-plane/src/jobs/course/estimate.js'
import { type RunProfile, profileOf } from '../../../control-plane/src/jobs/course/run-profile.js'

const START = Date.parse('2026-01-01T00:00:00Z')

/** A task of a run: which one of the playbook, and for how long the next one does not begin, in milliseconds. */
interface Ran {
  readonly task: number
  readonly ms: number
}

/** A run as its events tell it: what they say, and when. */
function eventsOf(ran: readonly Ran[]) {
  const events: { at: number; type: string; task: string | null; says: object }[] = [
    { at: 0, type: 'playbook_on_start', task: null, says: {} },
    { at: 0, type: 'playbook_on_play_start', task: null, says: { play_uuid: 'p', path: 'site.yml:1' } },
  ]
  let at = 0
  for (const [number, { task, ms }] of ran.entries()) {
    const says = { task_uuid: `${number}`, play_uuid: 'p', path: `site.yml:${task + 2}` }
    events.push({ at, type: 'playbook_on_task_start', task: `task ${task}`, says })
    at += ms
    events.push({ at, type: 'runner_on_ok', task: `task ${task}`, says })
  }
  events.push({ at, type: 'playbook_on_stats', task: null, says: {} })
  return events
}

function feed(course: Course, events: ReturnType<typeof eventsOf>): void {
  for (const { at, type, task, says } of events) {
    const time = new Date(START + at).toISOString()
    const host = type.startsWith('runner_') ? 'web1' : null
    const shown = { type, play: 'the play', task, host, time }
    const line = Buffer.from(JSON.stringify({ ...shown, ...says }))
    course.take({ position: course.position + 1, ...shown, line })
  }
}

function profile(ran: readonly Ran[]): RunProfile {
  const course = new Course()
  feed(course, eventsOf(ran))
  return profileOf(course)
}

const THREE = [
  { task: 1, ms: 10_000 },
  { task: 2, ms: 60_000 },
  { task: 3, ms: 30_000 },
]

describe('the time that a run has left', () => {
  test('is the earlier time of the remaining tasks, and the rest of the present one', () => {
    const earlier = [profile(THREE), profile(THREE.map(({ task, ms }) => ({ task, ms: ms * 2 })))]
    const course = new Course()
    // The start of the second task.
    feed(course, eventsOf(THREE).slice(0, 5))
    expect(estimateOf(earlier, course, START + 10_000)).toMatchObject({ leftMs: 135_000, runs: 2 })
    const later = estimateOf(earlier, course, START + 30_000)
    expect(later).toMatchObject({ shortestMs: 70_000, longestMs: 160_000, leftMs: 115_000 })
    expect(later?.progress).toBeCloseTo((0.3 + 0.2) / 2)
  })

  test('is 0 if everything takes longer than ever, and the progress is complete only at the end', () => {
    const earlier = [profile(THREE)]
    const course = new Course()
    const events = eventsOf(THREE)
    feed(course, events.slice(0, -2))
    expect(estimateOf(earlier, course, START + 10_000_000)).toMatchObject({ leftMs: 0, progress: 1 })
    feed(course, events.slice(-2))
    expect(estimateOf(earlier, course, START)).toMatchObject({ leftMs: 0, longestMs: 0, progress: 1 })
  })

  test('is unknown if there is nothing to estimate from, or if more than half of the tasks are new', () => {
    const after = (earlier: readonly RunProfile[], ...tasks: number[]) => {
      const course = new Course()
      feed(course, eventsOf(tasks.map((task) => ({ task, ms: 1000 }))).slice(0, -1))
      return estimateOf(earlier, course, START)
    }
    const one = profile([{ task: 1, ms: 1000 }])
    expect([after([], 1), after([one], 8), after([profile([{ task: 1, ms: 0 }])], 1)]).toEqual([null, null, null])
    expect([after([one], 1, 8) === null, after([one], 1, 8, 9) === null]).toEqual([false, true])
  })

  test('is right with skipped tasks, with new tasks, and with another order', () => {
    const earlier = [profile([...THREE, { task: 4, ms: 5000 }])]
    const course = new Course()
    // The second task is skipped as a whole, and a new one comes before the third.
    feed(
      course,
      eventsOf([
        { task: 1, ms: 10_000 },
        { task: 9, ms: 1000 },
        { task: 3, ms: 1 },
      ]).slice(0, -2),
    )
    expect(estimateOf(earlier, course, START + 11_000)).toMatchObject({ leftMs: 35_000 })
    feed(course, eventsOf([{ task: 2, ms: 1 }]).slice(2, 3))
    expect(estimateOf(earlier, course, START + 11_000)).toMatchObject({ leftMs: 35_000 })
  })

  test('never grows, and progress never falls, for any runs', () => {
    const run = fc.array(
      fc.record({ task: fc.integer({ min: 1, max: 12 }), ms: fc.integer({ min: 0, max: 90_000 }) }),
      {
        maxLength: 15,
      },
    )
    fc.assert(
      fc.property(fc.array(run, { minLength: 1, maxLength: 5 }), run, (earlier, now) => {
        const profiles = earlier.map(profile).filter((one) => one.length > 0)
        const course = new Course()
        let before = { leftMs: Infinity, shortestMs: Infinity, longestMs: Infinity, progress: 0 }
        const events = eventsOf(now)
        for (const [index, event] of events.entries()) {
          feed(course, [event])
          const until = events[index + 1]?.at ?? event.at
          for (const at of [event.at, (event.at + until) / 2, until]) {
            const said = estimateOf(profiles, course, START + at)
            if (said === null) continue
            const goesOn = said.progress >= before.progress && said.progress <= 1
            const shrinks = (['leftMs', 'shortestMs', 'longestMs'] as const).every(
              (name) => said[name] >= 0 && said[name] <= before[name],
            )
            const isOrdered = said.shortestMs <= said.leftMs && said.leftMs <= said.longestMs
            // One comparison: thousands of them take seconds.
            if (!(goesOn && shrinks && isOrdered)) expect(said).toBe(before)
            before = said
          }
        }
      }),
      { numRuns: 500 },
    )
  })
})

test.each([
  [
    { shortest_seconds: 59, longest_seconds: 3700, runs: 3 },
    '45 % done, about 2 min 05 s left, 59 s to 1 h 01 min, by 3 earlier runs.',
  ],
  [{ shortest_seconds: 125, longest_seconds: 125 }, '45 % done, about 2 min 05 s left, by one earlier run.'],
  [{ left_seconds: 0, shortest_seconds: 0, longest_seconds: 0 }, 'It takes longer than before, by one earlier run.'],
])('the time left is written as a sentence: %j', (changes, text) => {
  const estimate = { progress: 0.456, left_seconds: 125, shortest_seconds: 0, longest_seconds: 0, runs: 1 }
  expect(leftText({ ...estimate, ...changes })).toBe(text)
})
