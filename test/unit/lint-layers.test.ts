import { ESLint } from 'eslint'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import { beforeAll, describe, expect, it } from 'vitest'
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

/** Imports that docs/architecture.md forbids: the importing file, its line, and what the refusal says. */
const REFUSED: readonly (readonly [what: string, file: string, line: string, why: string])[] = [
  ['auth → uploads', 'auth/sessions/caller.ts', "import '../../uploads/verify.js'", 'auth stands below uploads'],
  ['nodes → sequences', 'nodes/nodes.ts', "import '../sequences/sequences.js'", 'nodes stands below sequences'],
  ['store → uploads', 'store/store.ts', "import '../uploads/uploads.js'", 'store stands below uploads'],
  ['source root → http', 'clock.ts', "import './http/app.js'", '. stands below http'],
  ['cli → store', 'cli/ask.ts', "import '../store/store.js'", 'imports only cli'],
  ['auth → jobs', 'auth/sessions/caller.ts', "import '../../jobs/record/status.js'", 'auth stands below jobs'],
  ['auth → forms', 'auth/sessions/caller.ts', "import '../../forms/form.js'", 'auth stands below forms'],
  ['forms → jobs', 'forms/form.ts', "import '../jobs/record/status.js'", 'forms stands below jobs'],
  ['credentials → forms', 'credentials/job/needs.ts', "import '../../forms/form.js'", 'credentials stands below forms'],
  [
    'credentials → jobs',
    'credentials/job/needs.ts',
    "import '../../jobs/record/status.js'",
    'credentials stands below jobs',
  ],
  ['live → auth', 'live/stream.ts', "import '../auth/sessions/caller.js'", 'live stands below auth'],
  [
    'jobs → runners',
    'jobs/end/ending.ts',
    "import '../../runners/registration/hub/hub.js'",
    'jobs stands below runners',
  ],
  ['runners → sequences', 'runners/held/held-jobs.ts', "import '../../sequences/kind.js'", 'stand on one floor'],
  ['runners → http', 'runners/held/held-jobs.ts', "import '../../http/app.js'", 'runners stands below http'],
  [
    'runners past the port of jobs',
    'runners/held/held-jobs.ts',
    "import '../../jobs/end/ending.js'",
    'only job-port.ts',
  ],
  ['audit → metrics', 'audit/trail.ts', "import '../metrics/metrics.js'", 'audit stands below metrics'],
  ['a room → main.ts', 'jobs/end/ending.ts', "import '../../main.js'", 'jobs stands below main.ts'],
  ['a room → what composes rooms', 'jobs/end/ending.ts', "import '../compose.js'", 'end stands below compose.ts'],
  [
    'between inner rooms, up',
    'runners/streams/pieces.ts',
    "import '../held/held-jobs.js'",
    'streams stands below held',
  ],
  ['between inner rooms of one floor', 'http/jobs/job.ts', "import '../runners/runner.js'", 'stand on one floor'],
  ['an import when it runs', 'store/store.ts', "await import('../uploads/uploads.js')", 'store stands below uploads'],
  [
    'a type by its path',
    'store/store.ts',
    "export type X = import('../auth/sessions/caller.js').Caller",
    'store stands below auth',
  ],
  ['handed on', 'store/store.ts', "export * from '../auth/sessions/caller.js'", 'store stands below auth'],
  ['fastify outside of http', 'jobs/end/ending.ts', "import 'fastify'", 'only the room http'],
  ['a socket in jobs', 'jobs/end/ending.ts', "import 'ws'", 'only rooms that have sockets'],
  ['SQL outside of the store', 'jobs/end/ending.ts', "import { sql } from 'kysely'", 'SQL stays in the store'],
  ['a child process in a room', 'jobs/end/ending.ts', "import 'node:child_process'", 'only agents'],
]

const REFUSED_ELSEWHERE: typeof REFUSED = [
  ['protocol → node:child_process', 'protocol/src/frames.ts', "import 'node:child_process'", 'pure code'],
  ['protocol → the disk', 'protocol/src/frames.ts', "import 'node:fs'", 'pure code'],
  ['host → valibot', 'protocol/host/src/durable.ts', "import 'valibot'", 'needs only Node.js'],
  ['client → Node.js', 'control-plane/client/src/index.ts', "import 'node:fs'", 'only fetch and valibot'],
  [
    'agent → control plane',
    'runner-agent/src/log.ts',
    "import '../../control-plane/src/ground/log.js'",
    'files of another',
  ],
  [
    'control plane → agent',
    'control-plane/src/ground/log.ts',
    "import '../../runner-agent/src/log.js'",
    'files of another',
  ],
  ['agent → the client', 'runner-agent/src/log.ts', "import '@holdfast/client'", 'only the command line'],
  ['agent, up', 'runner-agent/src/spool/spool.ts', "import '../jobs/decide.js'", 'spool stands below jobs'],
  ['a circle', 'control-plane/src/auth/sessions/tokens.ts', "import './sessions.js'", 'imports in a circle'],
  [
    'a file without a place',
    'control-plane/src/runners/new-thing.ts',
    'export {}',
    'no room of control-plane/src/runners',
  ],
]

describe('the linter holds the rooms', () => {
  let eslint: ESLint
  beforeAll(() => {
    eslint = new ESLint({ cwd: ROOT, overrideConfigFile: 'scripts/lint/rooms.config.js' })
  })
  const messagesOf = async (file: string, line: string) => {
    const [result] = await eslint.lintText(`${line}\n`, { filePath: join(ROOT, file) })
    return (result?.messages ?? []).map(({ message }) => message)
  }

  it.each([
    ...REFUSED.map(([what, file, line, why]) => [what, `control-plane/src/${file}`, line, why] as const),
    ...REFUSED_ELSEWHERE,
  ])('refuses: %s', async (_what, file, line, why) => {
    expect((await messagesOf(file, line)).join('\n')).toContain(why)
  })

  it('takes imports that go down, and tests that know everything', async () => {
    expect(await messagesOf('control-plane/src/http/app.ts', "import '../jobs/read/reading.js'")).toEqual([])
    expect(await messagesOf('control-plane/src/runners/held/held-jobs.ts', "import '../../jobs/job-port.js'")).toEqual(
      [],
    )
    expect(await messagesOf('control-plane/src/auth/compose.ts', "import '../store/store.js'")).toEqual([])
    expect(
      await messagesOf('control-plane/src/jobs/end/ending.ts', "import type { Insertable } from 'kysely'"),
    ).toEqual([])
    expect(
      await messagesOf('test/unit/probe.ts', "import '../../control-plane/src/store/store.js'\nimport 'fastify'"),
    ).toEqual([])
  })
})

describe('docs/architecture.md', () => {
  it('has the table of layers as the linter has it', () => {
    const text = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
    const [, written] = /<!-- layers -->([\s\S]*?)<!-- end of layers -->/.exec(text) ?? []
    expect(wordsOf(written ?? '')).toBe(wordsOf(layersText()))
  })
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
