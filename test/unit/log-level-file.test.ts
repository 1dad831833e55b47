import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SettingsError } from '@holdfast/protocol'
import { pino } from 'pino'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../control-plane/src/ground/log.js'
import { setLogLevel } from '../../control-plane/src/log-level-file.js'
import { readTlsFiles, reloadTlsFiles } from '../../control-plane/src/tls-files.js'
import { RENEWED_CERTIFICATE, TEST_CERTIFICATE } from '../support/test-certificate.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-log-level-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
})

/** A log with a level, and its lines. */
function logAt(level: string) {
  const lines: string[] = []
  const log = pino({ level }, { write: (line: string) => void lines.push(line) })
  const changes = () => lines.map((line) => JSON.parse(line) as { level: string; before: string })
  return { log, changes }
}
const path = () => join(folder, 'level')
const settings = () => ({ logLevel: 'info' as const, logLevelFile: path() })

test.each(['trace', 'debug', 'warn', 'error', 'fatal', 'silent'])('the file may say %s', async (level) => {
  writeFileSync(path(), ` ${level}\n`)
  const { log, changes } = logAt('info')
  await setLogLevel(settings(), log)
  expect(log.level).toBe(level)
  // It is said once, whether the line counts before the change or after it.
  expect(changes()).toMatchObject([{ level, before: 'info' }])
})

test('a level that lets the line through says it after the change', async () => {
  writeFileSync(path(), 'debug')
  const { log, changes } = logAt('error')
  await setLogLevel(settings(), log)
  expect([log.level, changes()]).toMatchObject(['debug', [{ level: 'debug', before: 'error' }]])
})

test('without the file, and with an empty one, the level of the settings counts', async () => {
  const { log, changes } = logAt('debug')
  await setLogLevel({ logLevel: 'warn', logLevelFile: null }, log)
  expect([log.level, changes()]).toEqual(['debug', []])
  await setLogLevel(settings(), log)
  expect(log.level).toBe('info')
  log.level = 'debug'
  writeFileSync(path(), '\n')
  await setLogLevel(settings(), log)
  expect(log.level).toBe('info')
  const said = changes().length
  await setLogLevel(settings(), log)
  expect(changes()).toHaveLength(said)
})

test('a file with another text, or that cannot be read, changes nothing', async () => {
  const { log } = logAt('debug')
  writeFileSync(path(), 'loud')
  await expect(setLogLevel(settings(), log)).rejects.toThrow(
    new SettingsError(`LOG_LEVEL_FILE: ${path()} must have one of trace, debug, info, warn, error, fatal, silent`),
  )
  rmSync(path())
  mkdirSync(path())
  await expect(setLogLevel(settings(), log)).rejects.toThrow(`LOG_LEVEL_FILE: cannot read ${path()}: `)
  expect(log.level).toBe('debug')
})

test('the log hides what signs a request in, and its lines are text or JSON', () => {
  const lines: string[] = []
  const headers = { authorization: 'Bearer secret', cookie: 'secret', accept: 'a' }
  for (const format of ['json', 'text'] as const) {
    const log = createLog({ level: 'info', format, output: { write: (line: string) => void lines.push(line) } })
    log.info({ headers, request: { headers } }, 'hello\u001b[31m')
    log.debug('not said')
  }
  expect(lines).toHaveLength(2)
  expect(lines.join('')).not.toContain('secret')
  expect(lines.join('')).not.toContain('\u001b')
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', headers: { accept: 'a' } })
  expect(lines[1]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z INFO {2}hello/)
})

test('a certificate and its key are read together, or not at all', async () => {
  const put = (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const tls = { certPath: put('cert', TEST_CERTIFICATE.cert), keyPath: put('key', TEST_CERTIFICATE.key) }
  expect(await readTlsFiles(null)).toBeNull()
  expect((await readTlsFiles(tls))?.cert.toString()).toBe(TEST_CERTIFICATE.cert)
  const logged: string[] = []
  const note = (_: object, text: string) => void logged.push(text)
  const log = { info: note, error: note } as unknown as Parameters<typeof reloadTlsFiles>[2]
  await reloadTlsFiles(null, null, log)
  expect(logged).toEqual([])
  await reloadTlsFiles(tls, null, log)
  put('key', RENEWED_CERTIFICATE.key)
  await expect(readTlsFiles(tls)).rejects.toThrow(/^HTTPS_CERT, HTTPS_KEY: .* belong together/)
  await reloadTlsFiles(tls, null, log)
  rmSync(tls.keyPath)
  await expect(readTlsFiles(tls)).rejects.toThrow(`HTTPS_KEY: cannot read ${tls.keyPath}`)
  expect(logged).toEqual([
    'the certificate was read again',
    'the certificate was not changed: the files are wrong, and the last good ones stay',
  ])
})
