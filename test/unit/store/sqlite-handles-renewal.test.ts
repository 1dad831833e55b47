import { describe, expect, test } from 'vitest'
import { UnavailableError } from '../../../control-plane/src/errors.js'
import { openHandles } from '../../../control-plane/src/store/sqlite/sqlite-handles.js'
import type { Statements } from '../../../control-plane/src/store/sqlite/sqlite-statements.js'

const STUCK = new Error('locking protocol')

/** Handles whose statements run until they are ended, and that fail to open or to close as the test says. */
async function handles() {
  const running = new Map<string, { readonly end: () => void; readonly fail: (error: Error) => void }>()
  const events: string[] = []
  const state = { opened: 0, asked: 0, openFails: false, closeFails: '' }
  const handle = (name: string): Statements => ({
    all: (text) =>
      new Promise((resolve, fail) => {
        events.push(`${name}: ${text}`)
        running.set(text, { end: () => resolve([]), fail })
      }),
    run: (text) => Promise.resolve({ changes: text.length, lastId: 1 }),
    execute: (text) => Promise.resolve(void events.push(`${name} executes ${text}`)),
    close: () => {
      events.push(`${name} closes`)
      return state.closeFails === name ? Promise.reject(new Error('still open')) : Promise.resolve()
    },
  })
  const made = await openHandles(
    {
      open: () => {
        if (state.openFails) return Promise.reject(new Error('no file'))
        state.opened += 1
        return Promise.resolve([handle(`writer ${state.opened}`), handle(`reader ${state.opened}`)])
      },
      isStuck: (error) => error === STUCK,
      warn: () => undefined,
    },
    () => (state.asked += 1),
  )
  const [reader] = made.readers
  if (!reader) throw new Error('there is no handle to read with')
  const stick = async () => {
    const stuck = reader.all('stuck', [])
    running.get('stuck')?.fail(STUCK)
    await expect(stuck).rejects.toBe(STUCK)
  }
  return { ...made, reader, running, events, state, stick }
}

describe('handles that may be replaced', () => {
  test('give what they are asked for', async () => {
    const { writer, reader, events, close } = await handles()
    expect(await writer.run('four', [])).toEqual({ changes: 4, lastId: 1 })
    await writer.execute('begin')
    await reader.close()
    await writer.close()
    expect(events).toEqual(['writer 1 executes begin'])
    await close()
    expect(events.slice(1)).toEqual(['reader 1 closes', 'writer 1 closes'])
  })

  test('stay after an ordinary error', async () => {
    const { reader, running, renewIfStuck, state } = await handles()
    const failing = reader.all('a', [])
    running.get('a')?.fail(new Error('no such table'))
    await expect(failing).rejects.toThrow('no such table')
    expect([await renewIfStuck(), state.opened, state.asked]).toEqual([false, 1, 0])
  })

  test('refuse the reads that wait as soon as one is stuck', async () => {
    const { reader, running, events } = await handles()
    const [first, second, waiting] = [reader.all('a', []), reader.all('b', []), reader.all('c', [])]
    running.get('a')?.fail(STUCK)
    await expect(first).rejects.toBe(STUCK)
    await expect(waiting).rejects.toThrow(UnavailableError)
    expect(events).toEqual(['reader 1: a', 'reader 1: b'])
    running.get('b')?.end()
    await second
  })

  test('are replaced only when the last statement has ended', async () => {
    const { reader, running, renewIfStuck, events, state, stick } = await handles()
    const long = reader.all('long', [])
    await stick()
    const renewed = renewIfStuck()
    await new Promise<void>((resolve) => setImmediate(resolve))
    expect([state.opened, events.filter((event) => event.endsWith('closes'))]).toEqual([1, []])
    running.get('long')?.end()
    await long
    expect(await renewed).toBe(true)
    expect([state.opened, events.slice(-2)]).toEqual([2, ['reader 1 closes', 'writer 1 closes']])
  })

  test('that cannot be opened are tried again, and meanwhile nothing works', async () => {
    const { reader, writer, running, renewIfStuck, state, stick } = await handles()
    await stick()
    state.openFails = true
    await expect(renewIfStuck()).rejects.toMatchObject({
      code: 'database_unavailable',
      message: 'the database cannot be opened anew now: no file',
    })
    await expect(reader.all('a', [])).rejects.toThrow(UnavailableError)
    await expect(writer.run('b', [])).rejects.toThrow('its file is opened anew')
    state.openFails = false
    expect(await renewIfStuck()).toBe(true)
    const read = reader.all('c', [])
    running.get('c')?.end()
    await read
  })

  test('that cannot be closed are closed again before new ones are opened', async () => {
    const { renewIfStuck, events, state, stick } = await handles()
    await stick()
    state.closeFails = 'writer 1'
    await expect(renewIfStuck()).rejects.toMatchObject({
      message: 'the database cannot be opened anew now: still open',
    })
    expect(state.opened).toBe(1)
    state.closeFails = ''
    expect(await renewIfStuck()).toBe(true)
    // The one that was closed is not closed again.
    expect(events.filter((event) => event.endsWith('closes'))).toEqual([
      'reader 1 closes',
      'writer 1 closes',
      'writer 1 closes',
    ])
  })
})

test('a database needs a handle that writes', async () => {
  const maker = { open: () => Promise.resolve([]), isStuck: () => false, warn: () => undefined }
  await expect(openHandles(maker, () => undefined)).rejects.toThrow('a database needs a handle that writes')
})
