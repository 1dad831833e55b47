import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { type SettingTable, flagOf } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { CONTROL_PLANE_SETTINGS } from '../../control-plane/src/settings-table.js'
import { RUNNER_AGENT_SETTINGS as RUNNER_SETTINGS } from '../../runner-agent/src/settings-table.js'
import { ROOT } from '../support/product.js'
import { anchorsOf, readPages } from './pages.js'
import { SETTINGS_PAGE, settingsPage } from './settings-page.js'

const PAGES = readPages()
const SETTINGS: SettingTable = { ...CONTROL_PLANE_SETTINGS, ...RUNNER_SETTINGS }
const LANGUAGES = ['sh', 'yaml', 'json', 'ini', 'sql', 'js', 'ts', 'mermaid', 'text']

/** Names in capitals that are no settings of the two programs, by who gives them their meaning. */
const OTHERS =
  /^(HOLDFAST_(SERVER|TOKEN|PASSWORD|INSECURE)|XDG_\w+|NO_COLOR|HOME|TMPDIR|BROWSER|NODE_\w+|VITEST_\w+|HOLDFAST_TEST_DATABASE|CHAOS_\w+|ANSIBLE_(COLLECTIONS|ROLES)_PATH)$/

describe.each(PAGES)('$path', (page) => {
  test('every link leads somewhere', () => {
    const lost = [...page.prose.matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target = '']) => {
      if (/^(https?:|mailto:)/.test(target)) return []
      const [file = '', anchor] = target.split('#')
      const path = file === '' ? page.path : normalize(join(dirname(page.path), file))
      if (!existsSync(join(ROOT, path))) return [target]
      if (anchor === undefined) return []
      const other = PAGES.find((candidate) => candidate.path === path)
      return other && anchorsOf(other).has(anchor) ? [] : [target]
    })
    expect(lost).toEqual([])
  })

  test('every file that it names exists', () => {
    const named = [...page.prose.matchAll(/`((?:test|scripts|docs|control-plane|runner-agent|protocol)\/[\w./-]+)`/g)]
    const lost = named.map(([, path = '']) => path).filter((path) => !isThere(path))
    expect(lost).toEqual([])
  })

  test('every block says what is in it', () => {
    const unknown = page.blocks.filter(({ language }) => !LANGUAGES.includes(language)).map(({ place }) => place)
    expect(unknown).toEqual([])
  })
})

test('every page is in the index', () => {
  const index = readFileSync(join(ROOT, 'docs/README.md'), 'utf8')
  const missing = PAGES.map(({ path }) => path).filter(
    (path) => path.startsWith('docs/') && path !== 'docs/README.md' && !index.includes(`](${path.slice(5)})`),
  )
  expect(missing).toEqual([])
})

test('the README has at most 200 lines', () => {
  expect(readFileSync(join(ROOT, 'README.md'), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(200)
})

describe('settings', () => {
  test('stand in docs/settings.md as the programs have them (npm run settings-page)', async () => {
    expect(readFileSync(SETTINGS_PAGE, 'utf8')).toBe(await settingsPage())
  })

  test('that a page names exist', () => {
    const unknown = PAGES.flatMap((page) =>
      [...page.text.matchAll(/\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?==|`|,)/g)]
        .map(([, name = '']) => name)
        .filter((name) => looksLikeASetting(name) && !isSetting(name))
        .map((name) => `${page.path}: ${name}`),
    )
    expect(unknown).toEqual([])
  })

  test('that a page names as flags exist', () => {
    const flags = new Set(Object.keys(SETTINGS).map(flagOf))
    const unknown = PAGES.flatMap((page) =>
      [...page.text.matchAll(/--(rte-[a-z-]+)/g)].map(([, flag = '']) => flag).filter((flag) => !flags.has(flag)),
    )
    expect(unknown).toEqual([])
  })
})

/** A page names a test without its ending, and may name all files that begin in the same way. */
function isThere(path: string): boolean {
  const [folder, name] = [join(ROOT, dirname(path)), basename(path)]
  return (
    existsSync(folder) &&
    readdirSync(folder).some(
      (file) => file === name || (/^[.-]/.test(file.slice(name.length)) && file.startsWith(name)),
    )
  )
}

/** Settings begin like one that there is; other names in capitals are error codes, signals and words of the protocol. */
function looksLikeASetting(name: string): boolean {
  const beginnings = new Set(Object.keys(SETTINGS).map((setting) => setting.split('_')[0]))
  return beginnings.has(name.split('_')[0]) && !OTHERS.test(name)
}

function isSetting(name: string): boolean {
  return name in SETTINGS || SETTINGS[name.replace(/_FILE$/, '')]?.secret === true
}
