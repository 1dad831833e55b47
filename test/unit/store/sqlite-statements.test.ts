import sqlite3 from 'sqlite3'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Statements, createStatements } from '../../../control-plane/src/store/sqlite/sqlite-statements.js'

/** How many statements are kept, and not prepared again. */
const KEPT = 200

let statements: Statements
let prepared: string[]

beforeEach(async () => {
  const handle = new sqlite3.Database(':memory:')
  prepared = []
  const prepare = handle.prepare.bind(handle) as (...all: unknown[]) => sqlite3.Statement
  handle.prepare = ((text: string, ...others: unknown[]) => {
    prepared.push(text)
    return prepare(text, ...others)
  }) as typeof handle.prepare
  statements = createStatements(handle)
  await statements.execute('create table numbers (id integer primary key, number integer unique)')
})

const numbered = (number: number) => `select ${number} as number`
const ask = (number: number) => statements.all(numbered(number), [])

describe('the statements of a handle', () => {
  test('give rows, and what was changed', async () => {
    const insert = 'insert into numbers (number) values (?)'
    expect(await statements.run(insert, [7])).toEqual({ changes: 1, lastId: 1 })
    expect(await statements.run(insert, [8])).toEqual({ changes: 1, lastId: 2 })
    expect(await statements.run('update numbers set number = number + 10', [])).toMatchObject({ changes: 2 })
    expect(await statements.all('select number from numbers order by id', [])).toEqual([{ number: 17 }, { number: 18 }])
    await statements.close()
  })

  test('fail with the error of the database, and go on', async () => {
    const insert = 'insert into numbers (number) values (?)'
    await statements.run(insert, [7])
    await expect(statements.run(insert, [7])).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT' })
    await expect(statements.all("select json('{')", [])).rejects.toMatchObject({ code: 'SQLITE_ERROR' })
    await expect(statements.execute('no statement')).rejects.toMatchObject({ code: 'SQLITE_ERROR' })
    expect(await statements.run(insert, [8])).toEqual({ changes: 1, lastId: 2 })
    await statements.close()
  })

  test('that could not be prepared can be later', async () => {
    const text = 'select number from later'
    await expect(statements.all(text, [])).rejects.toThrow('no such table: later')
    await statements.execute('create table later as select 5 as number')
    expect(await statements.all(text, [])).toEqual([{ number: 5 }])
    await statements.close()
  })

  test('are prepared once for all who ask at the same time, and for who asks later', async () => {
    await Promise.all([ask(1), ask(1), ask(1)])
    await ask(1)
    expect(prepared).toEqual([numbered(1)])
    await statements.close()
  })

  test(`are kept up to ${KEPT}`, async () => {
    for (let number = 1; number <= KEPT; number += 1) await ask(number)
    for (let number = 1; number <= KEPT; number += 1) await ask(number)
    expect(prepared).toHaveLength(KEPT)
    await statements.close()
  })

  test(`lose the one that was not used for the longest time beyond ${KEPT}`, async () => {
    for (let number = 1; number <= KEPT; number += 1) await ask(number)
    await ask(1)
    await ask(KEPT + 1)
    // The first one was used again, so the second one is gone. It works all the same.
    await ask(1)
    expect(prepared).toHaveLength(KEPT + 1)
    expect(await ask(2)).toEqual([{ number: 2 }])
    expect(prepared.slice(KEPT)).toEqual([numbered(KEPT + 1), numbered(2)])
    await ask(KEPT + 1)
    expect(prepared).toHaveLength(KEPT + 2)
    // Nothing that was given away holds the database.
    await expect(statements.close()).resolves.toBeUndefined()
  })

  test('of a closed handle are refused', async () => {
    await ask(1)
    await statements.close()
    await expect(statements.close()).rejects.toMatchObject({ code: 'SQLITE_MISUSE' })
  })
})
