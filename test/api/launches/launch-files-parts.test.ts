import { existsSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findJobFiles } from '../../../control-plane/src/store/uploads/uploads.js'
import { waitFor } from '../../support/wait.js'
import { type TestServer, startServer } from '../server.js'
import { filePart, formOf, send, upload } from '../upload-client.js'

/** File fields that are not fields of the form itself: in steps of a wizard, and in rows of lists. */
const FORM = `- {name: plain, type: ansible, roles: [default], playbook: site.yml, fields: [{name: doc, type: file, model: a.doc}, {name: settings, type: yaml, subform: Part}]}
- name: install
  type: ansible
  roles: [default]
  playbook: site.yml
  fields: [{name: cloud, type: checkbox}]
  wizard:
    - {name: system, subform: System, defaultModel: vm}
    - {name: first, subform: Pair}
    - {name: second, subform: Pair, when: "$(__parent__.cloud) === true", defaultModel: second}
    - {name: extra, subform: Extra, optional: true}
- name: System
  type: subform
  fields:
    - {name: image, type: file, required: true, minSize: 3, regex: {expression: "[.]iso$", description: an iso}, model: disk.image}
    - {name: with_key, type: checkbox}
    - {name: key, type: file, dependencies: [{name: with_key, values: [true]}]}
    - {name: nics, type: list, subform: Nic}
- name: Nic
  type: subform
  fields: [{name: driver, type: file}]
- name: Pair
  type: subform
  fields: [{name: cert, type: file}]
- name: Extra
  type: subform
  fields: [{name: notes, type: file}, {name: title, required: true}]
- name: disks
  type: ansible
  roles: [default]
  playbook: site.yml
  fields:
    - {name: disks, type: list, subform: Disk, model: vm.disks}
    - {name: own, type: list, subform: Disk, default: [{name: sda}], insertMarker: isNew}
- name: Disk
  type: subform
  fields:
    - {name: name, required: true}
    - {name: image, type: file, label: Image, maxSize: 10, model: source.image}
    - {name: needed}
    - {name: proof, type: file, label: Proof, required: true, dependencies: [{name: needed, values: ['yes']}]}
    - {name: parts, type: list, subform: Part}
- name: Part
  type: subform
  fields: [{name: content, type: file}]
`
/** Its rows have rows of the same kind. */
const NESTED = `- {name: nested, type: ansible, roles: [default], playbook: site.yml, fields: [{name: parts, type: list, subform: Nested}]}
- {name: Nested, type: subform, fields: [{name: content, type: file}, {name: parts, type: list, subform: Nested}]}
`
type Values = Record<string, unknown>

let server: TestServer
let ann: string
let eve: string
let iso: Values
let small: Values
beforeAll(async () => {
  server = await startServer({ forms: { 'forms.yml': FORM, 'nested.yml': NESTED } })
  ann = (await server.addUser('ann')).token
  eve = (await server.addUser('eve')).token
  iso = await upload(server, 'a.iso', 'content', ann)
  small = await upload(server, 'small.txt', 'x', ann)
})
afterAll(() => server.close())

const launch = (formName: string, rawFormData: Values, files: Values = {}, token = ann) =>
  server.call('POST', '/job', { token, json: { formName, rawFormData, files } })
const again = (id: unknown, json?: object) =>
  server.call('POST', `/job/${String(id)}/relaunch`, { token: server.admin, ...(json ? { json } : {}) })
const jobOf = async (id: unknown) => (await server.call('GET', `/job/${String(id)}`, { token: server.admin })).body
async function variablesOf(answer: { readonly status: number; readonly body: Values }): Promise<Values> {
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return (await jobOf(answer.body.id)).extravars as Values
}
const keysOf = async (id: unknown) => (await findJobFiles(server.store.read, [Number(id)])).map(({ field }) => field)
const named = (name: string, size: number) => expect.objectContaining({ originalname: name, size }) as unknown

describe('a file field of a wizard step', () => {
  test('is a field of the form: the file is put where step and field say, and goes with the job', async () => {
    const answer = await launch('install', {}, { 'system.image': iso, 'first.cert': small })
    expect(await variablesOf(answer)).toMatchObject({ vm: { disk: { image: iso } }, cert: small })
    expect(await keysOf(answer.body.id)).toEqual(['first.cert', 'system.image'])
  })

  test('may be named without its step when no other step has it, also beside the drafts of a wizard', async () => {
    const drafts = { __wizard__: true, drafts: { system: { with_key: true } } }
    const answer = await launch('install', drafts, { image: iso, key: small })
    expect(await variablesOf(answer)).toMatchObject({ vm: { disk: { image: iso }, with_key: true, key: small } })
    expect(await keysOf(answer.body.id)).toEqual(['system.image', 'system.key'])
  })

  test('that several steps have, or that is named twice, has to be said clearly', async () => {
    const answer = await launch('install', {}, { image: iso, 'system.image': iso, cert: small })
    expect(answer).toMatchObject({ status: 422, body: { code: 'values_refused' } })
    expect(answer.body.details).toMatchObject({
      uploads: ['cert', 'system.image'],
      validationErrors: {
        'system.image': [{ type: 'required' }, { type: 'twice' }],
        cert: [{ type: 'ambiguous', description: expect.stringMatching(/: first\.cert, second\.cert$/) as unknown }],
      },
    })
  })

  test('has the rules of its field: required, size and name of the stored file', async () => {
    const problems = async (files: Values) => (await launch('install', {}, files)).body.details
    expect(await problems({})).toMatchObject({ missing: ['system.image'] })
    expect(await problems({ image: small })).toMatchObject({
      invalid: ['system.image'],
      validationErrors: { 'system.image': [{ type: 'minSize' }, { type: 'regex' }] },
    })
    expect(await problems({ image: { path: '/etc/passwd' } })).toMatchObject({
      missing: ['system.image'],
      uploads: ['system.image'],
      validationErrors: { 'system.image': [{ type: 'required' }, { type: 'outside' }] },
    })
    expect(await problems({ 'nowhere.image': iso, 'system.cert': iso })).toMatchObject({
      uploads: ['nowhere.image', 'system.cert'],
      validationErrors: { 'nowhere.image': [{ type: 'no_file_field' }], 'system.cert': [{ type: 'no_file_field' }] },
    })
  })

  test('that is hidden, or in a step that is, stays here; what is written for it in its values is dropped', async () => {
    const files = { image: iso, key: small, 'second.cert': small }
    const written = { system: { key: { path: '/etc/shadow' }, image: '/etc/passwd' } }
    const answer = await launch('install', written, files)
    const variables = await variablesOf(answer)
    expect(variables).toMatchObject({ vm: { disk: { image: iso } } })
    expect(JSON.stringify(variables)).not.toMatch(/etc|small/)
    expect(variables).not.toHaveProperty('second')
    expect(await keysOf(answer.body.id)).toEqual(['system.image'])
    expect(await variablesOf(await launch('install', { cloud: true }, files))).toMatchObject({
      second: { cert: small },
    })
  })

  test('fills in an optional step by itself', async () => {
    expect((await launch('install', {}, { image: iso, notes: small })).body.details).toMatchObject({
      missing: ['extra.title'],
    })
    const answer = await launch('install', { extra: { title: 'x' } }, { image: iso, notes: small })
    expect(await variablesOf(answer)).toMatchObject({ title: 'x', notes: small })
  })

  test('keeps its file when the job is run again, unless it gets another one or none', async () => {
    const { id } = (await launch('install', {}, { image: iso, 'first.cert': small })).body
    const other = await upload(server, 'b.iso', 'other', server.admin)
    const same = await again(id, { values: { system: { with_key: true } } })
    expect(await variablesOf(same)).toMatchObject({ vm: { disk: { image: iso } }, cert: small })
    const changed = await again(id, { files: { image: other, 'first.cert': null } })
    const variables = await variablesOf(changed)
    expect(variables).toMatchObject({ vm: { disk: { image: other } } })
    expect(variables).not.toHaveProperty('cert')
    expect(await keysOf(changed.body.id)).toEqual(['system.image'])
    // Uploads of fields are no values.
    const values = await server.call('GET', `/job/${String(same.body.id)}/rawformdata`, { token: server.admin })
    expect(JSON.stringify(values.body)).not.toContain('a.iso')
  })
})

describe('a file field of a row', () => {
  test('takes the upload that the row has as its value, or that files name by its place', async () => {
    const rows = [
      { name: 'a', image: { path: iso.path } },
      { name: 'b', parts: [{}, {}] },
    ]
    const answer = await launch('disks', { disks: rows }, { 'disks[1].parts[1].content': small })
    const disks = [
      { name: 'a', source: { image: iso } },
      { name: 'b', parts: [{}, { content: small }] },
    ]
    expect(await variablesOf(answer)).toMatchObject({ vm: { disks } })
    expect(await keysOf(answer.body.id)).toEqual(['disks[0].image', 'disks[1].parts[1].content'])
  })

  test('is a field of the list in a wizard step, too', async () => {
    const system = { nics: [{}, { driver: small }] }
    const answer = await launch('install', { system }, { image: iso, 'system.nics[0].driver': iso })
    expect(await variablesOf(answer)).toMatchObject({ vm: { nics: [{ driver: iso }, { driver: small }] } })
  })

  test('files come before what the row names, and null takes it away', async () => {
    const rows = [
      { name: 'a', image: iso },
      { name: 'b', image: iso },
    ]
    const answer = await launch('disks', { disks: rows }, { 'disks[0].image': small, 'disks[1].image': null })
    expect(await variablesOf(answer)).toMatchObject({ vm: { disks: [{ source: { image: small } }, { name: 'b' }] } })
    expect(await keysOf(answer.body.id)).toEqual(['disks[0].image'])
  })

  test('of a row that came with the list makes it an edited one', async () => {
    const answer = await launch('disks', {}, { 'own[0].image': small })
    expect(await variablesOf(answer)).toMatchObject({ own: [{ name: 'sda', source: { image: small } }] })
    expect(await variablesOf(await launch('disks', {}))).toMatchObject({ own: [{ name: 'sda' }] })
  })

  test('has the rules of its field, and what is wrong is said at the row', async () => {
    const large = await upload(server, 'large.iso', 'more than ten', ann)
    const rows = [
      { name: 'a', image: large },
      { name: 'b', needed: 'yes' },
      { name: 'c', needed: 'yes', proof: small },
    ]
    expect((await launch('disks', { disks: rows })).body.details).toMatchObject({
      invalid: ['disks'],
      rowErrors: {
        disks: [
          { index: 0, invalid: ['image'], validationErrors: { image: [{ type: 'maxSize' }] } },
          { index: 1, missing: ['proof'], validationErrors: { proof: [{ type: 'required' }] } },
        ],
      },
    })
  })

  test('takes only uploads of the caller; what is no description is dropped', async () => {
    const refused = await launch('disks', { disks: [{ name: 'a', image: iso }] }, {}, eve)
    expect(refused).toMatchObject({ status: 422, body: { code: 'values_refused' } })
    expect(refused.body.details).toMatchObject({
      rowErrors: { disks: [{ index: 0, invalid: ['image'], validationErrors: { image: [{ type: 'foreign' }] } }] },
    })
    for (const [claim, type] of [
      [{ path: '/etc/passwd' }, 'outside'],
      [{ filename: iso.filename }, 'invalid'],
      [{ ...iso, filename: small.filename }, 'invalid'],
    ] as const) {
      expect((await launch('disks', { disks: [{ name: 'a', image: claim }] })).body.details).toMatchObject({
        rowErrors: { disks: [{ validationErrors: { image: [{ type }] } }] },
      })
    }
    const rows = ['/etc/passwd', { size: 1 }, ['/etc/shadow'], null].map((image) => ({ name: 'a', image }))
    const variables = await variablesOf(await launch('disks', { disks: rows }))
    expect(variables.vm).toEqual({ disks: rows.map(() => ({ name: 'a' })) })
  })

  test.each([
    ['disks[3].image', { invalid: ['disks'], validationErrors: { disks: [{ type: 'no_row' }] } }],
    ['disks.image', { uploads: ['disks.image'], validationErrors: { 'disks.image': [{ type: 'no_file_field' }] } }],
    ['disks[0]', { uploads: ['disks[0]'] }],
    ['disks[00].image', { uploads: ['disks[00].image'] }],
    ['disks[0].name', { uploads: ['disks[0].name'] }],
    ['disks[0].toString', { uploads: ['disks[0].toString'] }],
  ])('a place that there is not is refused: %s', async (key, details) => {
    const answer = await launch('disks', { disks: [{ name: 'a' }] }, { [key]: iso })
    expect(answer).toMatchObject({ status: 422, body: { details } })
  })

  test('is a field of the object of a yaml field, too', async () => {
    const answer = await launch('plain', { settings: 'content: {path: /etc/passwd}' }, { 'settings.content': small })
    expect((await variablesOf(answer)).settings).toEqual({ content: small })
    expect(await keysOf(answer.body.id)).toEqual(['settings.content'])
    expect((await variablesOf(await again(answer.body.id))).settings).toEqual({ content: small })
  })

  test('makes the object by itself when nothing else of it is sent', async () => {
    const answer = await launch('plain', {}, { 'settings.content': small })
    expect((await variablesOf(answer)).settings).toEqual({ content: small })
    expect(await keysOf(answer.body.id)).toEqual(['settings.content'])
    expect(await variablesOf(await launch('plain', {}, { 'settings.content': null }))).not.toHaveProperty('settings')
  })

  test('a key that is too long is refused as any other that names no field', async () => {
    const key = `${'parts[0].'.repeat(100_000)}content`
    const answer = await launch('nested', {}, { [key]: iso })
    expect([answer.status, answer.body.code]).toEqual([422, 'uploads_refused'])
  })

  test('stays with its row when the job is run again with rows in another order', async () => {
    const rows = [{ name: 'a', image: iso }, { name: 'b' }, { name: 'c', image: small }]
    const { id } = (await launch('disks', { disks: rows }, { 'own[0].proof': small })).body
    const disksOf = (variables: Values) => (variables.vm as { disks: unknown }).disks
    expect(disksOf(await variablesOf(await again(id)))).toMatchObject([
      { source: { image: iso } },
      { name: 'b' },
      { source: { image: small } },
    ])

    const { body: kept } = await server.call('GET', `/job/${String(id)}/rawformdata`, { token: server.admin })
    const [first, second, third] = kept.disks as Values[]
    expect([first, third]).toEqual([
      { name: 'a', image: iso },
      { name: 'c', image: small },
    ])
    const moved = await variablesOf(
      await again(id, { values: { disks: [third, { ...second, image: iso }, { name: 'd' }] } }),
    )
    expect(disksOf(moved)).toEqual([
      { name: 'c', source: { image: small } },
      { name: 'b', source: { image: iso } },
      { name: 'd' },
    ])
    // Rows that are sent without their files have none, whatever was at their number.
    expect(disksOf(await variablesOf(await again(id, { values: { disks: [{ name: 'e' }] } })))).toEqual([{ name: 'e' }])
    const other = await upload(server, 'z', 'zz', server.admin)
    expect(disksOf(await variablesOf(await again(id, { files: { 'disks[2].image': other } })))).toMatchObject([
      { source: { image: iso } },
      { name: 'b' },
      { source: { image: named('z', 2) } },
    ])
  })

  test('goes with the last job that has it', async () => {
    const file = await upload(server, 'short', 'short', ann)
    const { id } = (await launch('disks', { disks: [{ name: 'a', image: file }] })).body
    await server.parts.uploads.sweeper.sweep()
    expect(existsSync(String(file.path))).toBe(true)
    expect((await server.call('DELETE', `/job/${String(id)}`, { token: ann })).status).toBe(200)
    await waitFor('the file to go', () => !existsSync(String(file.path)))
  })
})

test('who may use a form with such a field may upload, and nobody else', async () => {
  const forms = FORM.replaceAll('roles: [default]', 'roles: [nobody]')
  const [opened, closed] = ['name: disks', 'name: none'].map((name) =>
    forms.replace(`${name}\n  type: ansible\n  roles: [nobody]`, `${name}\n  type: ansible\n  roles: [default]`),
  )
  for (const [form, status] of [
    [opened, 200],
    [closed, 403],
  ] as const) {
    const own = await startServer({ forms: { 'forms.yml': form ?? '' } })
    const { token } = await own.addUser('ann')
    expect((await send(own, formOf(filePart('a', 'x')), token)).status).toBe(status)
    await own.close()
  }
})

test('an evaluation says of files what the launch says', async () => {
  const evaluate = async (name: string, rawFormData: Values, files: Values) => {
    const answer = await server.call('POST', `/forms/${name}/evaluate`, { token: ann, json: { rawFormData, files } })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body
  }
  expect(await evaluate('install', {}, { image: small })).toMatchObject({
    steps: { system: { fields: { image: { value: small, errors: [{ type: 'minSize' }, { type: 'regex' }] } } } },
  })
  expect(await evaluate('install', {}, { 'system.image': { path: '/x' } })).toMatchObject({
    steps: { system: { fields: { image: { errors: [{ type: 'required' }, { type: 'outside' }] } } } },
  })
  expect(await evaluate('install', {}, { image: iso })).toMatchObject({
    steps: { system: { fields: { image: { errors: [] } } } },
    runs: { extravars: { vm: { disk: { image: iso } } } },
  })
  const rows = [
    { name: 'a', image: iso },
    { name: 'b', image: { path: '/x' } },
  ]
  expect(await evaluate('disks', { disks: rows }, { 'disks[0].proof': small })).toMatchObject({
    rows: { disks: [{ index: 1, invalid: ['image'], validationErrors: { image: [{ type: 'outside' }] } }] },
    runs: { extravars: { vm: { disks: [{ source: { image: iso } }, {}] } } },
  })
})

describe.each(['off', 'log'])('with LAUNCH_VALIDATION=%s', (mode) => {
  let open: TestServer
  let file: Values
  beforeAll(async () => {
    open = await startServer({ forms: { 'forms.yml': FORM }, settings: { LAUNCH_VALIDATION: mode } })
    file = await upload(open, 'a.iso', 'content', open.admin)
  })
  afterAll(() => open.close())

  test('files of steps and rows are put where the form puts them, and no other path is', async () => {
    const call = async (path: string, json: Values) => {
      const answer = await open.call('POST', path, { token: open.admin, json })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      return (await open.call('GET', `/job/${String(answer.body.id)}`, { token: open.admin })).body
    }
    const forged = { path: '/etc/passwd' }
    const ofStep = await call('/job', {
      formName: 'install',
      extravars: { vm: { size: 1, disk: { image: forged }, key: forged, nics: [{ driver: forged }] }, cert: forged },
      files: { image: file, 'second.cert': file },
    })
    expect(ofStep.extravars).toMatchObject({
      vm: { size: 1, disk: { image: file }, nics: [{}] },
      second: { cert: file },
    })
    expect(JSON.stringify(ofStep.extravars)).not.toContain('/etc/passwd')

    const plain = { formName: 'plain', extravars: { doc: forged, a: { b: 1, doc: forged } }, files: { doc: file } }
    const { extravars: ofForm } = await call('/job', plain)
    const alone = { formName: 'plain', extravars: {}, files: { 'settings.content': file } }
    expect((await call('/job', alone)).extravars).toMatchObject({ settings: { content: file } })
    expect(ofForm).toMatchObject({ a: { b: 1, doc: file } })
    expect(ofForm).not.toHaveProperty('doc')

    const values = { disks: [{ name: 'a', image: file }, { name: 'b' }] }
    const variables = {
      vm: {
        disks: [
          { name: 'a', source: { image: forged } },
          { name: 'b', source: { image: forged } },
        ],
      },
    }
    const ofRow = await call('/job', { formName: 'disks', rawFormData: values, extravars: variables })
    const disks = [
      { name: 'a', source: { image: file } },
      { name: 'b', source: {} },
    ]
    expect(ofRow.extravars).toMatchObject({ vm: { disks } })
    expect(JSON.stringify(ofRow.extravars)).not.toContain('/etc/passwd')
    for (const body of [{}, { values: { own: [] } }]) {
      const { extravars } = await call(`/job/${String(ofRow.id)}/relaunch`, body)
      expect(extravars).toMatchObject({ vm: { disks: [disks[0], { name: 'b' }] } })
    }
    expect((await call(`/job/${String(ofStep.id)}/relaunch`, {})).extravars).toMatchObject({
      vm: { disk: { image: file } },
      second: { cert: file },
    })
  })

  test('what cannot be used is refused there, too', async () => {
    const json = { formName: 'disks', rawFormData: { disks: [{ image: { path: '/etc/passwd' } }] }, files: { x: file } }
    expect(await open.call('POST', '/job', { token: open.admin, json })).toMatchObject({
      status: 422,
      body: {
        code: 'uploads_refused',
        details: { uploads: ['x', 'disks[0].image'], validationErrors: { 'disks[0].image': [{ type: 'outside' }] } },
      },
    })
  })
})
