import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { SettingDefinition, SettingTable } from '@holdfast/protocol'
import { format, resolveConfig } from 'prettier'
import { CONTROL_PLANE_SETTINGS } from '../../control-plane/src/settings-table.js'
import { RUNNER_AGENT_SETTINGS as RUNNER_SETTINGS } from '../../runner-agent/src/settings-table.js'
import { ROOT } from '../support/product.js'

export const SETTINGS_PAGE = join(ROOT, 'docs/settings.md')

/** Stands for the persistent folder in defaults that are below it. */
const PERSISTENT = '<persistent>'
const MARK = '<!-- The table is written by npm run settings-page. -->'

/** The two tables of the page: the heading above each, and the settings that it lists. */
const TABLES: readonly (readonly [heading: string, table: SettingTable])[] = [
  ['## Settings of the control plane', CONTROL_PLANE_SETTINGS],
  ['## Settings of a runner', RUNNER_SETTINGS],
]

/** The page with both tables as the programs have their settings now. */
export async function settingsPage(): Promise<string> {
  const present = readFileSync(SETTINGS_PAGE, 'utf8')
  const text = TABLES.reduce((page, [heading, table]) => withTable(page, heading, table), present)
  return format(text, { ...(await resolveConfig(SETTINGS_PAGE)), filepath: SETTINGS_PAGE })
}

/** Puts the table in the place of what stands between the mark below the heading and the next heading. */
function withTable(page: string, heading: string, table: SettingTable): string {
  const from = page.indexOf(MARK, page.indexOf(`${heading}\n`))
  const to = page.indexOf('\n## ', from)
  if (from < 0 || to < 0) throw new Error(`docs/settings.md has no "${heading}" with the mark below it`)
  return `${page.slice(0, from)}${MARK}\n\n${rowsOf(table)}\n${page.slice(to)}`
}

function rowsOf(table: SettingTable): string {
  const rows = Object.entries(table).map(
    ([name, definition]) => `| \`${name}\` | ${defaultOf(definition)} | ${meaningOf(name, definition)} |`,
  )
  return ['| Setting | Default | Meaning |', '|---|---|---|', ...rows].join('\n')
}

/** A default that is computed is shown only if it is the same on every host. */
function defaultOf({ default: given }: SettingDefinition): string {
  const value = typeof given === 'function' ? given({ PERSISTENT_PATH: PERSISTENT }) : given
  const isOfThisHost = typeof given === 'function' && !value?.includes(PERSISTENT)
  return value === null || isOfThisHost ? '' : `\`${value.replaceAll('|', '\\|')}\``
}

function meaningOf(name: string, { meaning, secret, choices }: SettingDefinition): string {
  const words = meaning.replace(/[<*|]/g, '\\$&')
  const values = choices ? `; one of ${choices.map((choice) => `\`${choice}\``).join(', ')}` : ''
  return `${words}${values}${secret ? `; or in the file that \`${name}_FILE\` names` : ''}`
}
