import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import { expect, test } from 'vitest'
import { ROOT } from '../support/product.js'

/** Rooms from the top down. Those of one row do not know each other. */
const rows = v.array(v.array(v.string()))

const layersSchema = v.object({
  tables: v.array(v.object({ folder: v.string(), floors: v.union([rows, v.record(v.string(), rows)]) })),
  only: v.array(
    v.object({
      from: v.string(),
      into: v.string(),
      imports: v.array(v.string()),
      except: v.optional(v.array(v.string()), []),
      why: v.string(),
    }),
  ),
  packages: v.array(
    v.object({
      packages: v.array(v.string()),
      in: v.array(v.string()),
      except: v.optional(v.array(v.string()), []),
      types: v.optional(v.boolean(), false),
      why: v.string(),
    }),
  ),
  pure: v.array(v.object({ folder: v.string(), packages: v.array(v.string()), why: v.string() })),
})

const layers = v.parse(layersSchema, JSON.parse(readFileSync(join(ROOT, 'layers.json'), 'utf8')))

test('docs/architecture.md has the table of layers as the linter has it', () => {
  const text = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
  const [, written] = /<!-- layers -->([\s\S]*?)<!-- end of layers -->/.exec(text) ?? []
  expect(wordsOf(written ?? '')).toBe(wordsOf(layersText()))
})

/** Without what a formatter decides: line breaks, padding of cells. */
function wordsOf(text: string): string {
  return text
    .replace(/-{3,}/g, '---')
    .replace(/\s*\|\s*/g, '|')
    .replace(/\s+/g, ' ')
    .trim()
}

const code = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(', ')
const rowsText = (of: readonly (readonly string[])[]) => of.map(code).join(' → ')

/** A folder whose floors have names. */
function floorsText(folder: string, floors: Readonly<Record<string, readonly (readonly string[])[]>>): string {
  return [
    `| Floor of \`${folder}\` | Its rooms, from the top down |`,
    '|---|---|',
    ...Object.entries(floors).map(([name, of]) => `| ${name} | ${rowsText(of)} |`),
  ].join('\n')
}

/** The table as the document shows it. When it differs, the failure shows what to put there. */
function layersText(): string {
  const but = (names: readonly string[]) => (names.length === 0 ? '' : ` (but not ${code(names)})`)
  return [
    ...layers.tables.flatMap(({ folder, floors }) => (Array.isArray(floors) ? [] : [floorsText(folder, floors)])),
    '',
    '| Folder | Its rooms, from the top down |',
    '|---|---|',
    ...layers.tables.flatMap(({ folder, floors }) =>
      Array.isArray(floors) ? [`| \`${folder}\` | ${rowsText(floors)} |`] : [],
    ),
    '',
    ...layers.only.map(
      ({ from, into, imports, except, why }) =>
        `- Of \`${into}\`, \`${from}\`${but(except)} imports only ${code(imports)}: ${why}.`,
    ),
    ...layers.pure.map(
      ({ folder, packages, why }) => `- \`${folder}\` imports no package but ${code(packages)}: ${why}.`,
    ),
    ...layers.packages.map(({ packages, in: rooms, except, types, why }) => {
      const where = rooms.length === 0 ? 'nowhere' : `only in ${code(rooms)}${but(except)}`
      return `- ${code(packages)} ${where}${types ? ', its types anywhere' : ''}: ${why}.`
    }),
  ].join('\n')
}
