import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createForms } from '../../../control-plane/src/forms/files/loader.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-fresh-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const log = { info: () => undefined, warn: () => undefined }
const clock = { now: () => Date.now() }

test('a written or edited form is seen by every later request, also if the size is equal', async () => {
  const forms = createForms({ folder, varsFolder: folder, constants: () => Promise.resolve({}), clock, log })
  for (let round = 100; round < 200; round += 1) {
    writeFileSync(join(folder, 'a.yml'), `{name: a, type: ansible, playbook: p${round}.yml, varsFiles: [vars.yaml]}`)
    writeFileSync(join(folder, 'vars.yaml'), `round: ${round}`)
    // Somebody else asks at the same time, so that a look may be under way.
    const others = round % 3 === 0 ? [forms.all(), forms.find('a')] : []
    const form = await forms.find('a')
    expect(form).toMatchObject({ playbook: `p${round}.yml` })
    expect((await forms.contextOf(form)).constants).toEqual({ round })
    await Promise.all(others)
  }
  writeFileSync(join(folder, 'b.yml'), '{name: b, type: ansible, playbook: new.yml}')
  expect(await forms.find('b')).toMatchObject({ name: 'b' })
  rmSync(join(folder, 'b.yml'))
  await expect(forms.find('b')).rejects.toThrow('There is no form named "b"')
})

test('an edit of any file counts at once, also after a long time without changes', async () => {
  const clock = { at: Date.now() + 60_000, now: () => clock.at }
  const forms = createForms({ folder, varsFolder: folder, constants: () => Promise.resolve({}), clock, log })
  let changes = 0
  const write = (name: string, text: string) => {
    const path = join(folder, name)
    const isThere = existsSync(path)
    writeFileSync(path, text)
    // As if it were long ago; each change at another time, whatever the clock of the file system is like.
    changes += 1
    utimesSync(isThere ? path : dirname(path), 1_700_000_000, 1_700_000_000 + changes)
  }
  const ofList = (subform: string) => `fields: [{name: rows, type: list, subform: ${subform}}]`
  mkdirSync(join(folder, 'deep'))
  write('a.yml', `{name: a, type: ansible, playbook: one.yml, ${ofList('part')}}`)
  write('deep/part.yml', '{name: part, type: subform, fields: [{name: first}]}')
  const fieldsOf = async () => (await forms.contextOf(await forms.find('a'))).subforms['part']?.map(({ name }) => name)
  expect(await fieldsOf()).toEqual(['first'])
  write('deep/part.yml', '{name: part, type: subform, fields: [{name: first}, {name: second}]}')
  expect(await fieldsOf()).toEqual(['first', 'second'])
  // Also what is edited between a look at the form and one at what belongs to it.
  const form = await forms.find('a')
  write('deep/part.yml', '{name: part, type: subform, fields: [{name: third}]}')
  expect((await forms.contextOf(form)).subforms['part']?.map(({ name }) => name)).toEqual(['third'])
  rmSync(join(folder, 'a.yml'))
  await expect(forms.find('a')).rejects.toThrow('There is no form named "a"')
})
