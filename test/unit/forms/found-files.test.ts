import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { checkFormFiles } from '../../../control-plane/src/forms/files/check-form-files.js'
import {
  type FoundEntry,
  type FoundFile,
  type SearchedFiles,
  areUnchanged,
  findYamlFiles,
} from '../../../control-plane/src/forms/files/found-files.js'
import { createOwnFunctions } from '../../../control-plane/src/forms/files/own-functions.js'
import { createParsedFiles } from '../../../control-plane/src/forms/files/parsed-files.js'
import { createVarsFiles, mergeDeep } from '../../../control-plane/src/forms/files/vars-files.js'

const MIB = 1024 * 1024
/** What changed less than this time ago may have changed again with the same time. */
const YOUNG_MS = 3000

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-found-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A file below the folder, of so many bytes if they are said. */
function write(name: string, text = '', bytes?: number): string {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, text)
  if (bytes !== undefined) truncateSync(path, bytes)
  return path
}

describe('the YAML files below a folder', () => {
  const found = async (search: Partial<SearchedFiles> = {}) => {
    const { files, folders, errors } = await findYamlFiles(folder, { noun: 'form', ...search })
    return {
      names: files.map(({ name }) => name),
      folders: folders.length,
      errors: errors.map(({ file, reason }) => `${file}: ${reason}`),
    }
  }

  test('are those whose names end so, in the order of their names', async () => {
    for (const name of ['b.yml', 'a.yaml', 'B.YML', 'deep/x/c.yml', '.git/d.yml', 'e.txt', 'yml', 'f.yml.bak'])
      write(name)
    mkdirSync(join(folder, 'folder.yml'))
    write('folder.yml/g.yaml')
    expect(await found()).toEqual({
      names: ['B.YML', 'a.yaml', 'b.yml', 'deep/x/c.yml', 'folder.yml/g.yaml'],
      folders: 4,
      errors: [],
    })
  })

  test('and what is wrong with them are in the order of their whole paths', async () => {
    write('a/b.yml')
    write('a.yml')
    symlinkSync(join(folder, 'nowhere'), join(folder, 'a/c.yml'))
    symlinkSync(join(folder, 'nowhere'), join(folder, 'a.lost.yml'))
    const { names, errors } = await found()
    expect(names).toEqual(['a.yml', 'a/b.yml'])
    expect(errors.map((error) => error.split(':')[0])).toEqual(['a.lost.yml', 'a/c.yml'])
  })

  test.each([
    [0, ['a.yml']],
    [1, ['a.yml', 'one/b.yml']],
    [2, ['a.yml', 'one/b.yml', 'one/two/c.yml']],
    [undefined, ['a.yml', 'one/b.yml', 'one/two/c.yml', 'one/two/three/d.yml']],
  ])('are looked for in so many levels of folders below it: %s', async (depth, names) => {
    for (const name of ['a.yml', 'one/b.yml', 'one/two/c.yml', 'one/two/three/d.yml']) write(name)
    expect((await found(depth === undefined ? {} : { depth })).names).toEqual(names)
  })

  test('have 2 MiB at most, and a larger one is told', async () => {
    write('fits.yml', '', 2 * MIB)
    write('large.yml', '', 2 * MIB + 1)
    expect(await found({ noun: 'workflow' })).toMatchObject({
      names: ['fits.yml'],
      errors: ['large.yml: the file is too large to be a workflow: it has more than 2 MiB'],
    })
  })

  test('are found over links that stay inside, also over those to folders, and a circle comes to its end', async () => {
    write('real/a.yml')
    write('real/b.txt')
    symlinkSync(join(folder, 'real/a.yml'), join(folder, 'link.yml'))
    symlinkSync(join(folder, 'real/b.txt'), join(folder, 'text.yml'))
    symlinkSync(join(folder, 'real'), join(folder, 'again'))
    symlinkSync(folder, join(folder, 'real/round'))
    symlinkSync(join(folder, 'real/b.txt'), join(folder, 'plain'))
    expect(await found()).toMatchObject({ names: ['again/a.yml', 'link.yml', 'real/a.yml', 'text.yml'], errors: [] })
  })

  test('are not followed out of it, also not into a folder whose name begins in the same way', async () => {
    const outside = `${folder}-outside`
    mkdirSync(outside)
    try {
      writeFileSync(join(outside, 'a.yml'), '')
      symlinkSync(outside, join(folder, 'z'))
      symlinkSync(join(outside, 'a.yml'), join(folder, 'a.yml'))
      symlinkSync(join(folder, 'nowhere'), join(folder, 'lost.yml'))
      const { names, errors } = await found()
      expect(names).toEqual([])
      expect(errors).toEqual([
        'a.yml: a link that leaves the forms folder is not followed',
        expect.stringMatching(/^lost\.yml: ENOENT/),
        'z: a link that leaves the forms folder is not followed',
      ])
    } finally {
      rmSync(outside, { recursive: true })
    }
  })

  test('are none when the folder is not there, and the reason is told', async () => {
    const lost = join(folder, 'lost')
    expect(await findYamlFiles(lost, { noun: 'form' })).toMatchObject({
      files: [],
      errors: [{ file: lost, line: null, form: null, reason: expect.stringMatching('ENOENT') as string }],
    })
    const file = write('file.yml')
    expect(await findYamlFiles(file, { noun: 'form' })).toMatchObject({
      files: [],
      errors: [{ file: '.', reason: expect.stringMatching('ENOTDIR') as string }],
    })
  })
})

describe('files and folders that were found', () => {
  const entries = async (): Promise<FoundEntry[]> => {
    const { files, folders } = await findYamlFiles(folder, { noun: 'form' })
    return [...folders, ...files]
  }
  const newest = (found: readonly FoundEntry[]) => Math.max(...found.map(({ changedAt }) => changedAt))

  test('are unchanged when each is as it was and none was young', async () => {
    write('a.yml', 'a')
    const found = await entries()
    expect(found).toHaveLength(2)
    expect(await areUnchanged(found, newest(found) + YOUNG_MS - 0.5)).toBe(false)
    expect(await areUnchanged(found, newest(found) + YOUNG_MS)).toBe(true)
  })

  test.each<[string, () => void]>([
    ['a file has another size', () => write('a.yml', 'ab')],
    ['a file is gone', () => rmSync(join(folder, 'a.yml'))],
    ['a file was added', () => write('b.yml', '')],
  ])('are not unchanged when %s', async (_, change) => {
    write('a.yml', 'a')
    const found = await entries()
    change()
    expect(await areUnchanged(found, newest(found) + YOUNG_MS)).toBe(false)
  })
})

describe('the content of files', () => {
  const file = (name: string, more: Partial<FoundFile> = {}): FoundFile => ({
    name,
    path: join(folder, name),
    fingerprint: '1',
    changedAt: 0,
    ...more,
  })
  function made(ageMs: number) {
    const parsed: string[] = []
    const files = createParsedFiles(
      { now: () => ageMs },
      {
        parse(name, text) {
          parsed.push(`${name} ${text}`)
          return { text }
        },
        failed: (name) => ({ text: `${name} cannot be read` }),
      },
    )
    return { parsed, files }
  }
  const textsOf = (contents: ReadonlyMap<string, { text: string }>) =>
    Object.fromEntries([...contents].map(([name, { text }]) => [name, text]))

  test('is read again while the file is young, and not any more when it is not', async () => {
    for (const [age, second] of [
      [YOUNG_MS - 1, 'two'],
      [YOUNG_MS, 'one'],
    ] as const) {
      const { files } = made(age)
      write('a.yml', 'one')
      await files.read([file('a.yml')])
      // With the same size and time.
      write('a.yml', 'two')
      expect(textsOf(await files.read([file('a.yml')])), `${age}`).toEqual({ 'a.yml': second })
      expect(textsOf(await files.read([file('a.yml', { fingerprint: '2' })])), `${age}`).toEqual({ 'a.yml': 'two' })
    }
  })

  test('is parsed once for the same text, and everything together is the same map as before', async () => {
    const { files, parsed } = made(0)
    write('a.yml', 'one')
    write('b.yml', 'other')
    const both = [file('a.yml'), file('b.yml')]
    const first = await files.read(both)
    expect(await files.read(both)).toBe(first)
    expect(await files.read(both)).toBe(first)
    expect(parsed).toEqual(['a.yml one', 'b.yml other'])
    const fewer = await files.read([file('a.yml')])
    expect(textsOf(fewer)).toEqual({ 'a.yml': 'one' })
    write('a.yml', 'two')
    const changed = await files.read([file('a.yml')])
    expect([changed === fewer, textsOf(changed)]).toEqual([false, { 'a.yml': 'two' }])
    expect(textsOf(await files.read([]))).toEqual({})
  })

  test('that could not be read is tried again, whatever its age is', async () => {
    const { files } = made(YOUNG_MS)
    expect(textsOf(await files.read([file('a.yml')]))).toEqual({ 'a.yml': 'a.yml cannot be read' })
    write('a.yml', 'one')
    expect(textsOf(await files.read([file('a.yml')]))).toEqual({ 'a.yml': 'one' })
  })
})

describe('a file of constants', () => {
  const read = (path: string) => createVarsFiles(folder, { now: () => Date.now() }).read(path)

  test('is a mapping of plain values', async () => {
    write('a.yml', 'a: 1\nb: {c: [2]}')
    write('B.YAML', 'a: &x {y: 1}\nb: *x')
    expect(await read('a.yml')).toEqual({ value: { a: 1, b: { c: [2] } } })
    const alias = await read('B.YAML')
    const value = 'value' in alias ? alias.value : {}
    expect(value).toEqual({ a: { y: 1 }, b: { y: 1 } })
    expect(value['a']).not.toBe(value['b'])
  })

  test.each([
    ['a.txt', 'the file must end in .yml or .yaml'],
    ['lost.yml', 'there is no such file'],
    ['list.yml', 'the file must hold a mapping'],
    ['file.yml/x.yml', /ENOTDIR/],
    ['../outside.yml', 'the file must lie below the folder of the vars files'],
    ['bad.yml', /line 2/],
  ])('that is %s is a problem: %s', async (path, problem) => {
    write('a.txt')
    write('list.yml', '[1]')
    write('file.yml', 'a: 1')
    write('bad.yml', 'a: 1\nb: [')
    const inner = join(folder, 'inner')
    mkdirSync(inner)
    if (path.startsWith('..')) write('outside.yml', 'a: 1')
    const from = path.startsWith('..') ? inner : folder
    const found = await createVarsFiles(from, { now: () => Date.now() }).read(path)
    expect('problem' in found && found.problem).toEqual(
      typeof problem === 'string' ? problem : expect.stringMatching(problem),
    )
  })

  test('has 2 MiB at most', async () => {
    const filled = (bytes: number) => `a: 1\n#${'x'.repeat(bytes - 6)}`
    write('fits.yml', filled(2 * MIB))
    write('large.yml', filled(2 * MIB + 1))
    expect(await read('fits.yml')).toEqual({ value: { a: 1 } })
    expect(await read('large.yml')).toEqual({ problem: 'the file is larger than 2 MiB' })
  })

  test('is read with others in their order, and one that cannot be used has nothing', async () => {
    write('a.yml', 'a: 1')
    const files = createVarsFiles(folder, { now: () => Date.now() })
    expect(await files.readAll(['lost.yml', 'a.yml'])).toEqual([{}, { a: 1 }])
  })

  test.each([
    [{ a: { b: 1, c: 2 } }, { a: { c: 3, d: 4 } }, { a: { b: 1, c: 3, d: 4 } }],
    [{ a: { b: 1 } }, { a: 2 }, { a: 2 }],
    [{ a: 1 }, { a: { b: 2 } }, { a: { b: 2 } }],
    [{ a: [1] }, { a: [2] }, { a: [2] }],
    [{}, { toString: { a: 1 } }, { toString: { a: 1 } }],
  ])('%j and then %j are %j together', (one, other, both) => {
    expect(mergeDeep(one, other)).toEqual(both)
  })
})

describe('the functions of an installation', () => {
  function made(answer: (text: string) => object = () => ({ names: ['fnA'] })) {
    const asked: string[] = []
    const checks = {
      check: ({ functions }: { functions?: string }) => {
        asked.push(functions ?? '')
        const { error, ...extravars } = answer(functions ?? '') as { error?: string }
        const validationErrors = error === undefined ? {} : { names: [{ description: error }] }
        return Promise.resolve({ extravars, details: { validationErrors } })
      },
    }
    const read = createOwnFunctions(join(folder, 'f.js'), { now: () => Date.now() }, checks as never)
    return { asked, read }
  }

  test('are none without a file', async () => {
    const { asked, read } = made()
    expect(await read()).toEqual({ text: null, names: [], problem: null })
    expect(asked).toEqual([])
  })

  test('have 64 KiB at most', async () => {
    const { asked, read } = made()
    const text = 'x'.repeat(64 * 1024)
    write('f.js', text)
    expect(await read()).toEqual({ text, names: ['fnA'], problem: null })
    write('f.js', `${text}x`)
    expect(await read()).toEqual({
      text: null,
      names: [],
      problem: { file: 'f.js', line: null, form: null, reason: 'it has more than 64 KiB' },
    })
    expect(asked).toEqual([text])
  })

  test('are loaded once for one text, also when many ask, and again for each other one', async () => {
    const { asked, read } = made()
    const texts = Array.from({ length: 50 }, (_, at) => `text ${at + 100}`)
    for (const text of texts) {
      write('f.js', text)
      expect((await Promise.all([read(), read()])).map((found) => found.text)).toEqual([text, text])
      expect((await read()).text).toBe(text)
    }
    expect(asked).toEqual(texts)
  })

  test('that do not load are a problem with its line, and the text stays for those who call them', async () => {
    const { read } = made(() => ({ error: 'its expression failed: in f.js, line 3: x is not defined' }))
    write('f.js', 'wrong')
    expect(await read()).toEqual({
      text: 'wrong',
      names: [],
      problem: { file: 'f.js', line: 3, form: null, reason: 'in f.js, line 3: x is not defined' },
    })
  })

  test('whose file cannot be read, or whose check breaks down, are tried again', async () => {
    mkdirSync(join(folder, 'f.js'))
    let isBroken = true
    const { asked, read } = made(() => {
      if (isBroken) throw new Error('no sandbox')
      return { names: ['fnB'] }
    })
    expect((await read()).problem).toMatchObject({ line: null, reason: expect.stringMatching('EISDIR') as string })
    rmSync(join(folder, 'f.js'), { recursive: true })
    write('f.js', 'a text')
    expect((await read()).problem).toMatchObject({ reason: 'no sandbox' })
    isBroken = false
    expect(await read()).toMatchObject({ names: ['fnB'], problem: null })
    expect(asked).toHaveLength(2)
  })
})

test('form files are checked in files and folders, and what a load passes over is told', async () => {
  const form = (name: string) => `{name: ${name}, type: ansible, playbook: p.yml}`
  write('below/a.yml', form('a'))
  symlinkSync(join(folder, 'nowhere'), join(folder, 'below/lost.yml'))
  write('b.YAML', form('b'))
  write('c.txt', form('c'))
  const at = (name: string) => join(folder, name)
  const { forms, errors } = await checkFormFiles([at('b.YAML'), at('below'), at('c.txt'), at('none.yml')])
  expect(forms.map((placed) => [placed.form.name, placed.file])).toEqual([
    ['b', at('b.YAML')],
    ['a', at('below/a.yml')],
  ])
  expect(errors.map(({ file, reason }) => [file, reason])).toEqual([
    [at('below/lost.yml'), expect.stringMatching('ENOENT')],
    [at('c.txt'), 'a load passes over c.txt: its name ends in neither .yml nor .yaml'],
    [at('none.yml'), expect.stringMatching('ENOENT')],
  ])
})
