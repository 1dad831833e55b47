import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { checkControlPlane } from '../../../control-plane/src/check/check.js'
import { readSettings } from '../../../control-plane/src/settings.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-check-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
})

async function checked(environment: Readonly<Record<string, string>> = {}) {
  const sources = { environment: { PERSISTENT_PATH: folder, PORT: '0', ...environment }, flags: {} }
  const lines: string[] = []
  const isGood = await checkControlPlane(readSettings({ ...sources, readFile: () => '' }, false), Date.now(), (line) =>
    Promise.resolve(void lines.push(line)),
  )
  // The disk of the machine may be almost full.
  return { isGood, lines: lines.filter((line) => !/ disk: |make room/.test(line)) }
}
const subjectsOf = (lines: readonly string[]) => lines.flatMap((line) => /^\S+ +([^:]+): /.exec(line)?.[1] ?? [])

test('everything that a control plane needs is looked at, in this order', async () => {
  const { isGood, lines } = await checked()
  expect(subjectsOf(lines)).toEqual([
    'data folder',
    'forms folder',
    'playbook folder',
    'database',
    'certificate',
    'port',
    'config.yaml',
    'forms',
  ])
  expect([isGood, lines.at(-1)]).toEqual([true, 'A control plane can run here.'])
})

test('a warning is no problem, and problems are counted', async () => {
  const warned = await checked({ LISTEN_HOST: '0.0.0.0' })
  expect(warned.lines.filter((line) => line.startsWith('warning'))).toHaveLength(1)
  expect(warned.isGood).toBe(true)
  writeFileSync(join(folder, 'config.yaml'), 'roles: [')
  const one = await checked()
  expect([one.isGood, one.lines.at(-1)]).toEqual([false, '1 problem, see above.'])
  mkdirSync(join(folder, 'holdfast.db'))
  const two = await checked()
  expect([two.isGood, two.lines.at(-1)]).toEqual([false, '2 problems, see above.'])
})

test('the providers of the sign-in are looked at, too', async () => {
  writeFileSync(
    join(folder, 'config.yaml'),
    'roles:\n  - {name: admin, groups: [local/admins]}\nldap: {url: "ldap://127.0.0.1:1", tls: {plain: true}, searchBase: "dc=a"}\n',
  )
  const { isGood, lines } = await checked()
  expect(subjectsOf(lines).at(-1)).toBe('sign-in by ldap')
  expect([isGood, lines.at(-1)]).toEqual([false, '1 problem, see above.'])
})
