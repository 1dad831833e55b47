import { expect, test } from 'vitest'
import { headOf } from '../../../control-plane/src/jobs/course/event-head.js'

const headOfText = (text: string) => headOf(Buffer.from(text))
const NOTHING = headOfText('')

test('the head of an event has the fields before the result, also if an item has a member of that name', () => {
  const says = { play_uuid: 'p', task_uuid: 't', action: 'copy', role: 'r', path: 'a.yml:1', changed: true }
  const head = { ...NOTHING, playId: 'p', taskId: 't', action: 'copy', role: 'r', path: 'a.yml:1', changed: true }
  const item = { a: 1, result: 2 }
  expect(headOfText(JSON.stringify({ ...says, result: { changed: false } }))).toEqual(head)
  expect(headOfText(JSON.stringify({ ...says, item, result: {} }))).toEqual({ ...head, item })
})

test.each([
  ['{"changed":true,"result":{"cut', { changed: true }],
  ['{"ignored":true,"rescued":true}', { ignored: true, rescued: true }],
  ['{"changed":tr', {}],
  ['null', {}],
  ['7', {}],
  ['{"changed":"yes","ignored":1,"rescued":null,"action":5}', {}],
])('of a line that a playbook wrote or cut it has what can be read: %s', (text, head) => {
  expect(headOfText(text)).toEqual({ ...NOTHING, ...head })
})
