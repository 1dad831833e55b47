import { beforeEach, expect, test } from 'vitest'
import { keepHeapSmall } from '../../control-plane/src/ground/heap-growth.js'
import { SMALL_HEAP, USUAL_HEAP, recordV8Flags } from '../support/v8-flags.js'

let flags: string[]
beforeEach(() => {
  flags = recordV8Flags()
})

test('the heap is kept small from the first task that wants it to the end of the last one', () => {
  const first = keepHeapSmall()
  expect(flags).toEqual([SMALL_HEAP])
  const second = keepHeapSmall()
  first()
  expect(flags).toEqual([SMALL_HEAP])
  second()
  expect(flags).toEqual([SMALL_HEAP, USUAL_HEAP])
  keepHeapSmall()()
  expect(flags).toEqual([SMALL_HEAP, USUAL_HEAP, SMALL_HEAP, USUAL_HEAP])
})

test('a task that ends twice ends once', () => {
  const [first, second] = [keepHeapSmall(), keepHeapSmall()]
  first()
  first()
  expect(flags).toEqual([SMALL_HEAP])
  second()
  expect(flags).toEqual([SMALL_HEAP, USUAL_HEAP])
})
