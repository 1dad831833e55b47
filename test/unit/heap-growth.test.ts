import { syncBuiltinESMExports } from 'node:module'
import v8 from 'node:v8'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { keepHeapSmall } from '../../control-plane/src/ground/heap-growth.js'

/** What V8 was told. It cannot be asked for its flags. */
let flags: string[]
beforeEach(() => {
  flags = []
  const real = v8.setFlagsFromString
  v8.setFlagsFromString = (flag) => void flags.push(flag)
  syncBuiltinESMExports()
  onTestFinished(() => {
    v8.setFlagsFromString = real
    syncBuiltinESMExports()
  })
})

const SMALL = '--heap-growing-percent=40'
const USUAL = '--heap-growing-percent=0'

test('the heap is kept small from the first task that wants it to the end of the last one', () => {
  const first = keepHeapSmall()
  expect(flags).toEqual([SMALL])
  const second = keepHeapSmall()
  first()
  expect(flags).toEqual([SMALL])
  second()
  expect(flags).toEqual([SMALL, USUAL])
  keepHeapSmall()()
  expect(flags).toEqual([SMALL, USUAL, SMALL, USUAL])
})

test('a task that ends twice ends once', () => {
  const [first, second] = [keepHeapSmall(), keepHeapSmall()]
  first()
  first()
  expect(flags).toEqual([SMALL])
  second()
  expect(flags).toEqual([SMALL, USUAL])
})
