import { describe, expect, test } from 'vitest'
import { createKeyedQueue, createSerialQueue } from '../../../protocol/host/src/queues.js'

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the tasks of a queue', () => {
  test('run one after the other, also after one that failed, and each gives its own result', async () => {
    const queue = createSerialQueue()
    const began: string[] = []
    const end: Record<string, { resolve: (result: string) => void; reject: (error: Error) => void }> = {}
    const add = (name: string) =>
      queue.add(() => {
        began.push(name)
        return new Promise<string>((resolve, reject) => (end[name] = { resolve, reject }))
      })
    const outcomes = ['first', 'second', 'third'].map((name) => add(name).catch(String))
    let isIdle = false
    void queue.idle().then(() => (isIdle = true))
    await settled()
    expect([began, isIdle]).toEqual([['first'], false])
    end['first']?.reject(new Error('no'))
    await settled()
    expect([began, isIdle]).toEqual([['first', 'second'], false])
    end['second']?.resolve('two')
    await settled()
    end['third']?.resolve('three')
    expect(await Promise.all(outcomes)).toEqual(['Error: no', 'two', 'three'])
    await settled()
    expect(isIdle).toBe(true)
  })

  test('get nothing of the task before', async () => {
    const queue = createSerialQueue()
    const given: unknown[][] = []
    const note = (...words: unknown[]) => Promise.resolve(given.push(words))
    await queue.add(note)
    await queue.add(note)
    expect(given).toEqual([[], []])
  })
})

describe('the tasks of a key', () => {
  test('run one after the other, also after one that failed, and those of another key do not wait', async () => {
    const queue = createKeyedQueue()
    const began: string[] = []
    const fail: Record<string, (error: Error) => void> = {}
    const run = (key: string, name: string) =>
      queue.run(key, () => {
        began.push(name)
        return new Promise<void>((_, reject) => (fail[name] = reject))
      })
    const outcomes = [run('a', 'a1'), run('a', 'a2'), run('b', 'b1')].map((one) => one.catch(String))
    await settled()
    expect(began).toEqual(['a1', 'b1'])
    let isIdle = false
    void queue.idle().then(() => (isIdle = true))
    fail['a1']?.(new Error('no'))
    fail['b1']?.(new Error('no'))
    await settled()
    expect([began, isIdle]).toEqual([['a1', 'b1', 'a2'], false])
    fail['a2']?.(new Error('no'))
    expect(await Promise.all(outcomes)).toEqual(['Error: no', 'Error: no', 'Error: no'])
    await settled()
    expect(isIdle).toBe(true)
  })
})
