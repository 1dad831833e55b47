import { describe, expect, test } from 'vitest'
import { UnavailableError } from '../../../control-plane/src/errors.js'
import { openHandles } from '../../../control-plane/src/store/sqlite/sqlite-handles.js'
import type { Statements } from '../../../control-plane/src/store/sqlite/sqlite-statements.js'

const STUCK = new Error('locking protocol')

/** A writing and a reading handle, whose statements run until somebody ends them. */
async function heldHandles() {
  const begun: string[] = []
  const running: { readonly end: () => void; readonly fail: (error: Error) => void }[] = []
  const closed: string[] = []
  const told: string[] = []
  let opened = 0
  const handle = (name: string): Statements => ({
    all: (sql) => {
      begun.push(`${name}: ${sql}`)
      return new Promise((resolve, fail) => running.push({ end: () => resolve([]), fail }))
    },
    run: () => Promise.resolve({ changes: 0, lastId: 0 }),
    execute: () => Promise.resolve(),
    close: () => Promise.resolve(void closed.push(name)),
  })
  let asked = 0
  const handles = await openHandles(
    {
      open: () => {
        opened += 1
        return Promise.resolve([handle(`writer ${opened}`), handle(`reader ${opened}`)])
      },
      isStuck: (error) => error === STUCK,
      warn: (text) => told.push(text),
    },
    () => (asked += 1),
  )
  const [reader] = handles.readers
  if (!reader) throw new Error('there is no handle to read with')
  return { handles, reader, begun, running, closed, told, asked: () => asked }
}

describe('the handles of a database file', () => {
  test('get two reads at once, and as many writes as there are', async () => {
    const { handles, reader, begun, running } = await heldHandles()
    const all = ['one', 'two', 'three'].flatMap((sql) => [reader.all(sql, []), handles.writer.all(sql, [])])
    expect(begun.filter((text) => text.startsWith('writer'))).toEqual([
      'writer 1: one',
      'writer 1: two',
      'writer 1: three',
    ])
    expect(begun.filter((text) => text.startsWith('reader'))).toEqual(['reader 1: one', 'reader 1: two'])
    for (const { end } of running) end()
    await expect.poll(() => begun).toContain('reader 1: three')
    running.at(-1)?.end()
    await Promise.all(all)
    await handles.close()
  })

  test('are replaced once when one is stuck, and say so: reads are refused until then, an open transaction goes on', async () => {
    const { handles, reader, begun, running, closed, told, asked } = await heldHandles()
    expect(await handles.renewIfStuck()).toBe(false)
    const stuck = reader.all('a', [])
    running[0]?.fail(STUCK)
    await expect(stuck).rejects.toBe(STUCK)
    await expect(reader.all('b', [])).rejects.toThrow(UnavailableError)
    expect(asked()).toBe(2)
    const written = handles.writer.all('c', [])
    running[1]?.end()
    await written

    expect([await handles.renewIfStuck(), await handles.renewIfStuck()]).toEqual([true, false])
    expect(closed).toEqual(['reader 1', 'writer 1'])
    const read = reader.all('d', [])
    running[2]?.end()
    await read
    expect(begun).toEqual(['reader 1: a', 'writer 1: c', 'reader 2: d'])
    expect(told).toEqual([expect.stringContaining('locking protocol'), expect.stringContaining('was opened anew')])
    await handles.close()
  })

  test('are not replaced any more when the process is about to end', async () => {
    const { handles, reader, running, closed } = await heldHandles()
    handles.renewNoMore()
    expect(await handles.renewIfStuck()).toBe(false)
    const stuck = reader.all('a', [])
    running[0]?.fail(STUCK)
    await expect(stuck).rejects.toBe(STUCK)
    await expect(handles.renewIfStuck()).rejects.toThrow(UnavailableError)
    expect(closed).toEqual([])
    await handles.close()
  })
})
