import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../runner-agent/src/log.js'
import { openSpool } from '../../../runner-agent/src/spool/spool.js'
import { createSpoolMark } from '../../../runner-agent/src/spool/spool-mark.js'

function stateFolder(): string {
  const statePath = mkdtempSync(join(tmpdir(), 'holdfast-mark-'))
  onTestFinished(() => {
    rmSync(statePath, { recursive: true })
  })
  return statePath
}

test('a new state folder gets one mark in its spool and the same beside it, and keeps them', async () => {
  const statePath = stateFolder()
  const [mark, copy] = [join(statePath, 'spool', 'spool-id'), join(statePath, 'spool-id')]
  const first = createSpoolMark(statePath)
  await first.prepare()
  expect(first.problem()).toBeNull()
  const id = readFileSync(mark, 'utf8')
  expect(id).toMatch(/^[0-9a-f]{32}$/)
  await createSpoolMark(statePath).prepare()
  expect([readFileSync(mark, 'utf8'), readFileSync(copy, 'utf8')]).toEqual([id, id])
})

test('an empty folder in place of the spool is no spool, and gets no mark', async () => {
  const statePath = stateFolder()
  const spool = join(statePath, 'spool')
  const running = createSpoolMark(statePath)
  await running.prepare()
  renameSync(spool, join(statePath, 'away'))
  mkdirSync(spool)
  const [next, word] = [createSpoolMark(statePath), 'its disk is not mounted, or it was removed']
  expect(running.problem()).toContain(word)
  await expect(next.prepare()).rejects.toThrow(word)
  rmSync(spool, { recursive: true })
  await expect(next.prepare()).rejects.toThrow(word)
  renameSync(join(statePath, 'away'), spool)
  await next.prepare()
  expect([running.problem(), next.problem()]).toEqual([null, null])
})

test('a spool gets its mark when it is prepared, and nothing is made in place of one that is away', async () => {
  const statePath = stateFolder()
  const log = createLog({ level: 'silent', format: 'json', output: process.stdout })
  const [spool, away] = [join(statePath, 'spool'), join(statePath, 'away')]
  const first = openSpool(statePath, log)
  await first.prepare()
  await first.close()
  expect(existsSync(join(spool, 'spool-id'))).toBe(true)
  renameSync(spool, away)
  const next = openSpool(statePath, log)
  await expect(next.prepare()).rejects.toThrow('its disk is not mounted, or it was removed')
  expect(existsSync(spool)).toBe(false)
  renameSync(away, spool)
  await next.prepare()
  expect(await next.list()).toEqual([])
  await next.close()
})
