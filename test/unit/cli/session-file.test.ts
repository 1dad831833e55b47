import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sessionFile } from '../../../control-plane/src/cli/client/session-file.js'

describe('the saved session', () => {
  const SESSION = { server: 'http://a', username: 'ann', token: 't', refreshtoken: 'r' }
  function newFile() {
    const home = mkdtempSync(join(tmpdir(), 'holdfast-session-'))
    onTestFinished(() => rmSync(home, { recursive: true, force: true }))
    return sessionFile({ XDG_CONFIG_HOME: home })
  }

  test('is read as it was written, for its owner only, and nothing is left beside it', async () => {
    const file = newFile()
    expect(await file.read()).toBeNull()
    await file.write(SESSION)
    expect(await file.read()).toEqual(SESSION)
    expect(statSync(file.path).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(file.path)).mode & 0o777).toBe(0o700)
    await file.write({ ...SESSION, token: 'u' })
    expect(JSON.parse(readFileSync(file.path, 'utf8'))).toEqual({ ...SESSION, token: 'u' })
    expect(readdirSync(dirname(file.path))).toEqual(['session.json'])
    await file.remove()
    await file.remove()
    expect(await file.read()).toBeNull()
  })

  test('that is damaged is none, and one that cannot be read is an error', async () => {
    const file = newFile()
    await file.write(SESSION)
    for (const text of ['{', '{"server": "http://a"}', 'null']) {
      writeFileSync(file.path, text)
      expect(await file.read()).toBeNull()
    }
    await file.remove()
    mkdirSync(file.path)
    await expect(file.read()).rejects.toThrow(`Cannot read ${file.path}: `)
  })

  test('is below an absolute XDG_CONFIG_HOME only', () => {
    const usual = sessionFile({}).path
    expect(usual.endsWith('/.config/holdfast/session.json')).toBe(true)
    expect(sessionFile({ XDG_CONFIG_HOME: 'here' }).path).toBe(usual)
    expect(sessionFile({ XDG_CONFIG_HOME: '' }).path).toBe(usual)
    expect(sessionFile({ XDG_CONFIG_HOME: '/x' }).path).toBe('/x/holdfast/session.json')
  })

  test('is changed by one at a time, and the next one comes also after an error', async () => {
    const file = newFile()
    const order: string[] = []
    const first = file.exclusively(async () => {
      order.push('first')
      await new Promise((resolve) => setImmediate(resolve))
      order.push('first ends')
      throw new Error('no')
    })
    await expect(first).rejects.toThrow('no')
    expect(await file.exclusively(() => Promise.resolve('second'))).toBe('second')
    expect(order).toEqual(['first', 'first ends'])
  })
})
