import { rmSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { unknown } from '../../../runner-agent/src/host/fact.js'
import { holdClock } from '../../agent/held-clock.js'
import { waitUntil } from '../../agent/waiting.js'
import { endOf, oneJob } from './one-job.js'

const room = Buffer.alloc(100)

describe('an end that the files of the job do not agree with', () => {
  test('is made to agree with them, and then all of it can be sent', async () => {
    const { run, write, told, said } = oneJob()
    write('output.log', 'tex')
    write('end.json', endOf('text'))
    run.begin()
    expect([run.state, run.replica.isReady(100)]).toEqual(['ended', false])
    await waitUntil('the end is checked', () => told.at(-1) === 'ready')
    expect(said('was damaged after its end')).toBe(1)
    expect(await run.replica.next(100, room)).toMatchObject({ kind: 'piece', payload: Buffer.from('tex'), final: true })
    expect(await run.replica.next(100, room)).toMatchObject({
      kind: 'end',
      record: { cause: 'exited', output: { length: 3, dropped_bytes: 1 } },
    })
  })

  test('stays as it is when the files agree, although the control plane doubts it', async () => {
    const { run, write, told, said } = oneJob()
    write('output.log', 'text')
    write('end.json', endOf('text'))
    run.begin()
    await run.replica.next(100, room)
    expect(await run.replica.next(100, room)).toMatchObject({ kind: 'end' })
    told.length = 0
    run.replica.rewind('output', 0)
    expect(run.replica.isReady(100)).toBe(false)
    await waitUntil('the end is checked', () => told.length > 0)
    expect([told, said('was damaged after its end')]).toEqual([['ready'], 0])
    expect(await run.replica.next(100, room)).toMatchObject({ kind: 'piece', payload: Buffer.from('text') })
    expect(await run.replica.next(100, room)).toMatchObject({ kind: 'end', record: endOf('text') })
  })

  test('is checked again after a second when the folder cannot be looked at', async () => {
    const clock = holdClock({ timers: true })
    let isAway = true
    const { run, write, told, said } = oneJob({}, (folder) => ({
      ...folder,
      lookAround: () => (isAway ? unknown('EIO') : folder.lookAround()),
    }))
    write('end.json', endOf('text'))
    run.begin()
    await waitUntil('the check has failed', () => run.trouble)
    expect(run.trouble).toContain('the end cannot be checked: the folder of the job cannot be looked at: EIO')
    isAway = false
    clock.move(999)
    expect(clock.count()).toBe(1)
    clock.move(1)
    await waitUntil('the end is checked', () => told.at(-1) === 'ready')
    expect([run.trouble, said('trying again'), said('was damaged after its end')]).toEqual([null, 1, 1])
  })

  test('is not checked any more when the agent has left the job', async () => {
    const { run, write, said, told, folder } = oneJob()
    write('end.json', endOf('text'))
    run.begin()
    await run.dispose()
    rmSync(folder.file('end.json'))
    expect([told, said('was damaged after its end')]).toEqual([['ended'], 0])
  })
})
