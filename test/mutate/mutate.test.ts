import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../support/product.js'
import { createCompiler, lintRefusal } from './compile.js'
import { drawFrom } from './draw.js'
import { diffOf, keyOf, type Mutation, mutated, roomOf } from './mutation.js'
import { readOptions, UsageError } from './options.js'
import { isDoubtful } from './run-tests.js'
import { createScratch } from './scratch.js'
import { shareOf, summaryOf } from './summary.js'
import { typescriptMutations } from './typescript-mutations.js'

/** What becomes of a text, by the kind of the change. */
const changesOf = (text: string, found: readonly Mutation[] = typescriptMutations('a.ts', text)) =>
  found.map((mutation) => [mutation.kind, mutated(text, mutation)])

test('TypeScript is changed where it decides, waits, calls or lists', () => {
  expect(changesOf('if (a && b) go()')).toEqual([
    ['negated condition', 'if (!(a && b)) go()'],
    ['|| for &&', 'if (a || b) go()'],
    ['removed call', 'if (a && b) ;'],
  ])
  expect(changesOf('const a = await b()')).toEqual([['dropped await', 'const a = b()']])
  expect(changesOf('const a = b === 1 ? c + 1 : c - 1')).toHaveLength(4)
  expect(changesOf("const a = ['x', 'y', z]")).toEqual([
    ['removed member', "const a = ['y', z]"],
    ['removed member', "const a = ['x', z]"],
  ])
  expect(changesOf('const a = x <= 3')).toEqual([['< for <=', 'const a = x < 3']])
})

test('changes are drawn by a seed, by number, or found again by their keys', () => {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-mutate-draw-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  for (const folder of [
    'protocol/src',
    'protocol/host/src',
    'control-plane/src',
    'control-plane/client/src',
    'runner-agent/src',
    'runner-agent/ansible',
  ])
    mkdirSync(join(root, folder), { recursive: true })
  const put = (text: string) => writeFileSync(join(root, 'protocol/src/a.ts'), text)
  put('export function a(b: number) {\n  if (b > 1) go(b)\n  if (b > 2) run(b)\n}\n')
  const all = { room: null, nearSeconds: 1, wideSeconds: 1, nice: 0, isList: true, only: null, again: null }
  const drawn = (more: object) =>
    [...drawFrom(root, { refusal: () => null }, { seed: 1, count: 100, ...all, ...more })].map(({ key }) => key)
  const keys = drawn({})
  expect(keys).toHaveLength(6)
  expect(drawn({ count: 2 })).toEqual(keys.slice(0, 2))
  expect(drawn({ only: [3, 5] })).toEqual([keys[2], keys[4]])
  put('// Moved by a line.\nexport function a(b: number) {\n  if (b > 1) go(b)\n  if (b > 2) run(b)\n}\n')
  const again = new Set(keys.slice(0, 2))
  expect(new Set(drawn({ again }))).toEqual(again)
})

test('a promise that nobody waits for, or that leaves its try, is left to the linter', () => {
  const refusals = (text: string) =>
    typescriptMutations('a.ts', text)
      .filter(({ kind }) => kind === 'dropped await')
      .map((mutation) => lintRefusal(text, mutation))
  expect(refusals('await a()\nconst b = await c()\nif (d) await e()\nreturn await f()')).toEqual([
    'no-floating-promises',
    null,
    'no-floating-promises',
    null,
  ])
  const held = 'return-await'
  expect(refusals('try { return await a() } catch { return await b() }')).toEqual([held, null])
  expect(refusals('try { return c ? await a() : (d ?? (await e())) } finally { f() }')).toEqual([held, held])
  expect(refusals('try { g() } catch { return await b() } finally { f() }')).toEqual([held])
  expect(refusals('try { h(async () => { return await a() }, await b()) } catch { c() }')).toEqual([null, null])
})

test('a change that another file does not take is refused, and one that nobody sees is not', () => {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-mutate-compile-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const put = (path: string, text: string) => {
    mkdirSync(join(root, path, '..'), { recursive: true })
    writeFileSync(join(root, path), text)
    return { path, text }
  }
  put(
    'protocol/tsconfig.json',
    '{"compilerOptions": {"strict": true, "module": "nodenext", "types": []}, "include": ["src"]}',
  )
  put('protocol/package.json', '{"type": "module"}')
  put('protocol/src/user.ts', "import { WORDS } from './words.js'\nexport const one: (typeof WORDS)[number] = 'x'\n")
  const words = put(
    'protocol/src/words.ts',
    "export const WORDS = ['x', 'y'] as const\nexport const size = () => WORDS.length + 1\n",
  )
  const compiler = createCompiler(root)
  const refusals = typescriptMutations(words.path, words.text).map((one) => [
    mutated(words.text, one).split('\n')[one.start > 40 ? 1 : 0],
    compiler.refusal(one),
  ])
  expect(refusals).toEqual([
    ["export const WORDS = ['y'] as const", expect.stringContaining('not assignable')],
    ["export const WORDS = ['x'] as const", null],
    ['export const size = () => WORDS.length - 1', null],
  ])
})

test('what is a type, an import or a line of the log is not changed', () => {
  expect(
    changesOf("import a from 'b'\ntype A = 'x' | true\ninterface B { a: true }\nlog.info({ a: true }, 'x')"),
  ).toEqual([])
})

test('Python is changed in the same way, with any characters before it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-mutate-test-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
  const text = 'x = "grün😀"\nif x == 1 and not y: go("ü")\nz = ("a", "b")\n'
  writeFileSync(join(folder, 'a.py'), text)
  const { stdout } = spawnSync('python3', [join(ROOT, 'test/mutate/python_mutations.py')], {
    cwd: folder,
    input: 'a.py\n',
  })
  const found = JSON.parse(stdout.toString()) as Mutation[]
  expect(changesOf(text, found)).toEqual([
    ['negated condition', text.replace('x == 1 and not y', 'not (x == 1 and not y)')],
    ['!= for ==', text.replace('==', '!=')],
    ['or for and', text.replace('and', 'or')],
    ['removed call', text.replace('go("ü")', 'pass')],
    ['removed member', text.replace('"a", ', '')],
  ])
})

test('a change is known again after it has moved, and shown as a diff', () => {
  const text = 'first()\n  if (a < b) go()\n'
  const [, , mutation] = typescriptMutations('control-plane/src/jobs/launch/launch.ts', text)
  if (!mutation) throw new Error('there is no such mutation')
  const moved = typescriptMutations('control-plane/src/jobs/inner/launch.ts', `\n\n  ${text}`)[2]
  if (!moved) throw new Error('there is no such mutation')
  expect(keyOf(`\n\n  ${text}`, moved)).toBe(keyOf(text, mutation))
  expect(diffOf(text, mutation)).toBe(
    `control-plane/src/jobs/launch/launch.ts:2  ${mutation.kind}\n-  if (a < b) go()\n+${mutated(text, mutation).split('\n')[1] ?? ''}`,
  )
  expect(roomOf(mutation.path)).toBe('control-plane/jobs')
  expect([roomOf('runner-agent/src/main.ts'), roomOf('runner-agent/ansible/supervisor.py')]).toEqual([
    'runner-agent',
    'runner-agent/ansible',
  ])
})

test('a mutation is made in source and build of a copy, and no bundle hides it', () => {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-mutate-test-'))
  const files = {
    'src/a.ts': 'export const a = b < 1\n',
    'dist/a.js': 'export const a = b < 1;\n',
    'dist/.tsbuildinfo': '{}',
  }
  for (const folder of ['node_modules', 'control-plane/src', 'control-plane/dist']) {
    mkdirSync(join(root, folder), { recursive: true })
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, 'control-plane', name), text)
  const scratch = createScratch(root)
  onTestFinished(() => {
    scratch.close()
    rmSync(root, { recursive: true })
  })
  expect(statSync(scratch.root).mode & 0o777).toBe(0o755)
  const at = (name: string) => join(scratch.root, 'control-plane', name)
  const state = () => ['src/a.ts', 'dist/a.js'].map((name) => readFileSync(at(name), 'utf8'))
  // As a run of tests does.
  const bundle = () => mkdirSync(at('bundle'))
  bundle()
  const [mutation] = typescriptMutations('control-plane/src/a.ts', files['src/a.ts'])
  if (!mutation) throw new Error('there is no mutation')
  const takeBack = scratch.apply(mutation)
  expect([...state(), existsSync(at('bundle'))]).toEqual([
    'export const a = b <= 1\n',
    'export const a = b <= 1;\n',
    false,
  ])
  bundle()
  takeBack()
  expect([...state(), existsSync(at('bundle'))]).toEqual([files['src/a.ts'], files['dist/a.js'], false])
  expect(readFileSync(join(root, 'control-plane/src/a.ts'), 'utf8')).toBe(files['src/a.ts'])
})

test('the share counts what has an effect and was decided', () => {
  const results = [
    { room: 'a', outcome: 'killed' },
    { room: 'a', outcome: 'killed' },
    { room: 'b', outcome: 'killed' },
    { room: 'b', outcome: 'survived' },
    { room: 'b', outcome: 'without effect' },
    { room: 'b', outcome: 'undecided' },
  ] as const
  expect(shareOf(results)).toBe(0.75)
  expect(shareOf([{ room: 'a', outcome: 'undecided' }])).toBeNull()
  expect(summaryOf(results).split('\n')).toEqual([
    `${'a'.padEnd(28)} 2 killed  100 % of those with an effect`,
    `${'b'.padEnd(28)} 1 killed, 1 survived, 1 without effect, 1 undecided  50 % of those with an effect`,
    `${'all'.padEnd(28)} 3 killed, 1 survived, 1 without effect, 1 undecided  75 % of those with an effect`,
  ])
})

test('a seed and a count are needed, and what is drawn may be listed or chosen from', () => {
  expect(readOptions(['--seed', '1', '--count', '2', '--room', 'protocol'])).toMatchObject({
    seed: 1,
    room: 'protocol',
    isList: false,
    only: null,
  })
  expect(readOptions(['--seed', '1', '--only', '3,14'])).toMatchObject({ count: 2, only: [3, 14] })
  expect(readOptions(['--seed', '1', '--count', '2', '--list'])).toMatchObject({ isList: true })
  const log = join(mkdtempSync(join(tmpdir(), 'holdfast-mutate-log-')), 'log')
  onTestFinished(() => rmSync(join(log, '..'), { recursive: true }))
  writeFileSync(log, '7  survived  a.ts\n\na.ts:1\n-a\n+b\nkey: a.ts | removed call | a | b\n\n8  killed  b.ts\n')
  expect(readOptions(['--again', log])?.again).toEqual(new Set(['a.ts | removed call | a | b']))
  writeFileSync(log, '8  killed  b.ts\n')
  for (const path of [log, join(log, 'nowhere')]) expect(() => readOptions(['--again', path])).toThrow(UsageError)
  expect(readOptions(['--help'])).toBeNull()
  for (const wrong of [[], ['--seed', 'x', '--count', '1'], ['--much'], ['--seed', '1', '--only', '1,x']]) {
    expect(() => readOptions(wrong)).toThrow(UsageError)
  }
})

test('what only waited in vain, or broke down, is no proof by itself', () => {
  const failure = (...said: string[]) => ({ file: 'test/a.test.ts', said })
  const late = 'Error: waited in vain for: the end of job 1'
  expect(isDoubtful([failure(late, 'Error: Test timed out in 120000ms.', 'Error: STACK_TRACE_ERROR')])).toBe(true)
  expect(isDoubtful([failure()])).toBe(true)
  expect(isDoubtful([])).toBe(true)
  expect(isDoubtful([failure(late, 'AssertionError: expected 1 to be 2')])).toBe(false)
  expect(isDoubtful([failure(late), failure('AssertionError: expected 1 to be 2')])).toBe(false)
})
