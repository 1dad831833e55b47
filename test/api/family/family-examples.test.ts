import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.js'
import { type TestServer, startServer } from '../server.js'

/**
 * The examples of expressions that the documentation of the product family gives, with what it says of their results.
 * fnSsh and fnParseHtmlWithRegex have theirs in ssh-sources.test.ts, fnDnsResolve in test/unit/sources/dns.test.ts.
 */
const PEOPLE = [
  { name: 'zoe', age: 41, email: 'z@example.com', relations: { spouse: 'ann' } },
  { name: 'bob', age: 41, email: 'b@example.com', relations: { spouse: 'eve' } },
  { name: 'Ada', age: 30, email: 'a@example.com', relations: { spouse: 'joe' } },
]
const HEROES = [
  { name: 'Spiderman', has_ability: true, ability: 'Can do whatever a spider can' },
  { name: 'Superman', has_ability: true, ability: 'Superstrong,Flying,Laserbeams' },
  { name: 'FamilyGuy', has_ability: false },
  { name: 'Wolverine', has_ability: true, ability: 'Enhanced healing' },
]
const TOMS = [
  { name: 'Bob', age: 5 },
  { name: 'Tom', age: 10 },
  { name: 'Paul', age: 30 },
  { name: 'Tom', age: 40 },
]
const SERVERS = ['server001', 'server002', 'server005']
/** The values of other fields that the examples name. */
const OTHERS: Readonly<Record<string, unknown>> = {
  field1: 'data-base',
  field2: 3,
  size_bytes: 5_905_580_032,
  my_array_field: [{ a: 1, b: '<x>' }, { a: null }],
  mylist: TOMS,
  heroes: HEROES,
  fieldlist: SERVERS,
  settings: { mapping: { b: 1, a: 2 } },
  pattern: '^cr',
}

let source: AnsweringServer
let server: TestServer

beforeAll(async () => {
  source = await startAnsweringServer({
    '/api/': { records: PEOPLE },
    '/sizes': { records: [{ storage_capacity: { available: 1_234_567_890 } }] },
    '/int64': (_asked, response) => response.end('{"id": 9007199254740993}'),
  })
  server = await startServer({
    settings: { REST_ALLOWED_HOSTS: '127.0.0.1' },
    prepare(folder) {
      mkdirSync(join(folder, 'files/old'), { recursive: true })
      writeFileSync(join(folder, 'files/file.yaml'), '- { name: zoe }\n- { name: bob }\n')
      writeFileSync(join(folder, 'files/file.json'), JSON.stringify(PEOPLE))
      for (const path of ['a.log', 'b.txt', 'old/c.log']) writeFileSync(join(folder, 'files', path), 'x')
    },
  })
  await server.writeCredentials('- { name: creds, user: sam, password: hush-4711 }\n')
})
afterAll(async () => {
  await server.close()
  await source.close()
})

/** What a field of this expression has, beside fields that have the values of {@link OTHERS}. */
async function valueOf(expression: string, more: object = {}): Promise<unknown> {
  const others = Object.entries(OTHERS).map(([name, value]) => ({ name, type: 'expression', value }))
  const fields = [...others, { name: 'f', type: 'expression', expression, ...more }]
  const form = { name: 'example', type: 'ansible', playbook: 'x.yml', roles: ['public'], fields }
  await server.writeForm('example.yaml', JSON.stringify(form))
  const { status, body, text } = await server.call('POST', '/forms/example/evaluate', {
    token: server.admin,
    json: { rawFormData: {}, wait: 60 },
  })
  expect(status, text).toBe(200)
  const { f } = body.fields as { f: { value?: unknown; waiting?: string } }
  return f.waiting === undefined ? f.value : { waiting: f.waiting }
}

const TABLE =
  '<thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>&lt;x&gt;</td></tr><tr><td></td><td></td></tr></tbody>'

describe('local expressions', () => {
  test.each<[string, string, unknown]>([
    ['naming convention', "'$(field1) $(field2)'.replace('-','_').toUpperCase()", 'DATA_BASE 3'],
    ['calculation', 'Math.round($(field2)*$(field2)*Math.PI)', 28],
    ['conversion', '($(size_bytes)/1024/1024/1024).toFixed(2)', '5.50'],
    [
      'a table of objects',
      "fnToTable($(my_array_field),{ tableClass: '', escapeHtml: true, emptyCell: '', includeHeader: true })",
      `<table>${TABLE}</table>`,
    ],
    [
      'a table with a class',
      "fnToTable($(my_array_field),{ tableClass: 'table table-striped' })",
      `<table class="table table-striped">${TABLE}</table>`,
    ],
    ['the next name', `fnGetNumberedName(${JSON.stringify(SERVERS)},'server###','server001',false)`, 'server006'],
    ['the next gap', `fnGetNumberedName(${JSON.stringify(SERVERS)},'server###','server001',true)`, 'server003'],
    ['the next gap of a field', "fnGetNumberedName($(fieldlist),'server###','server001',true)", 'server003'],
    [
      'fnArray',
      `fnArray.from($(heroes)).regexBy({name:'.*man$'}).filterBy({has_ability:true})
        .selectAttr({name:'name',ability:'ability'}).sortBy('-name')`,
      [
        { name: 'Superman', ability: 'Superstrong,Flying,Laserbeams' },
        { name: 'Spiderman', ability: 'Can do whatever a spider can' },
      ],
    ],
    ['filter', '$(mylist).filter((x) => x.age<=20)', TOMS.slice(0, 2)],
    [
      'filter and addition',
      '$(mylist)\n  .filter((x) => x.age<=20)\n  .map((x) => { return {...x,diff:20-x.age} })',
      [
        { name: 'Bob', age: 5, diff: 15 },
        { name: 'Tom', age: 10, diff: 10 },
      ],
    ],
    ['find', "$(mylist).find((x) => x.name=='Tom').age", 10],
    ['reduce', '$(mylist).reduce((sum,x) => sum+x.age,0)', 85],
    [
      'a function for a moment',
      '((arr,min)=>{ return arr.filter(x => x.age>=min).map(x => { var preview=`${x.name} (${x.age})`; return {...x,preview:preview} }) })($(mylist),20)',
      [
        { name: 'Paul', age: 30, preview: 'Paul (30)' },
        { name: 'Tom', age: 40, preview: 'Tom (40)' },
      ],
    ],
    ['a column of the first row', "'$(mylist[0].name)'", 'Bob'],
    ['the last row', '$(mylist).slice(-1)[0].name', 'Tom'],
    ['the user', "'$(__user__.username)'", 'admin'],
    [
      'roles of the user',
      "$(__user__.roles).includes('admin') ? ['dev','production'] : ['dev']",
      ['dev', 'production'],
    ],
  ])('%s', async (_what, expression, expected) => {
    covers('field.expression')
    expect(await valueOf(expression, { runLocal: true })).toEqual(expected)
  })
})

describe('remote expressions', () => {
  test('fnTime counts days', async () => {
    const days = Math.floor((server.clock.now() - Date.parse('2019-10-01T00:00:00Z')) / 86_400_000)
    const counted = (await valueOf("fn.fnTime().diff(fn.fnTime('2019-10-01'),'day')")) as number
    // The zone of the machine may move the first day by a part of one.
    expect(Math.abs(counted - days)).toBeLessThanOrEqual(1)
  })

  test('fnCidr', async () => {
    expect(await valueOf("fn.fnCidr('172.16.0.1','255.255.0.0')")).toEqual({
      networkAddress: '172.16.0.0',
      firstAddress: '172.16.0.1',
      lastAddress: '172.16.255.254',
      broadcastAddress: '172.16.255.255',
      subnetMask: '255.255.0.0',
      subnetMaskLength: 16,
      numHosts: 65534,
      length: 65536,
    })
    const inside = (ip: string) => valueOf(`fn.fnCidr('172.16.0.1','255.255.0.0').contains('${ip}')`)
    expect([await inside('172.16.7.9'), await inside('172.17.0.1')]).toEqual([true, false])
  })

  test('fnLs', async () => {
    const folder = join(server.folder, 'files')
    const entry = { type: 'file', size: 1, isDirectory: false, isFile: true, isSymbolicLink: false }
    const listed = `fn.fnLs('${folder}',{ recursive: true, regex: '.*\\\\.log$', metadata: true })`
    expect(await valueOf(listed)).toMatchObject([
      { name: 'a.log', path: 'a.log', ...entry },
      { name: 'c.log', path: 'old/c.log', ...entry, mtime: expect.any(String), modified: expect.any(String) },
    ])
    expect(await valueOf(`fn.fnLs('${folder}',{ recursive: true, regex: '^old/', metadata: true }).length`)).toBe(1)
    expect(await valueOf(`fn.fnLs('${folder}')`)).toEqual(['a.log', 'b.txt', 'file.json', 'file.yaml'])
  })

  test('fnReadJsonFile, fnReadYamlFile', async () => {
    const path = (name: string) => join(server.folder, 'files', name)
    expect(await valueOf(`fn.fnReadJsonFile('${path('file.json')}','.[].name')`)).toEqual(['zoe', 'bob', 'Ada'])
    expect(await valueOf(`fn.fnReadYamlFile('${path('file.yaml')}','.[].name')`)).toEqual(['zoe', 'bob'])
    const sorted = `fn.fnReadYamlFile('file.yaml','.','name')`
    expect(await valueOf(sorted)).toEqual([{ name: 'bob' }, { name: 'zoe' }])
  })

  test('fnGetNumberedName', async () => {
    const numbered = (list: string, fills: boolean) =>
      valueOf(`fn.fnGetNumberedName(${list},'server###','server001',${fills})`)
    expect(await numbered(JSON.stringify(SERVERS), false)).toBe('server006')
    expect(await numbered(JSON.stringify(SERVERS), true)).toBe('server003')
    expect(await numbered('$(fieldlist)', true)).toBe('server003')
    expect(await valueOf(`fn.fnGetNumberedName(['n1','n2','n3','n6'],'n#','n1',true)`)).toBe('n4')
  })

  test('fnCredentials, by name and with another name if it does not exist', async () => {
    for (const names of ["'creds','other'", "'other','creds'"]) {
      expect(await valueOf(`fn.fnCredentials(${names})`)).toMatchObject({ name: 'creds', user: 'sam' })
    }
  })

  test('fnCredentials, by a regular expression of the form', async () => {
    for (const given of ["'^cr.*s$'", "'^none','^(cr|x)eds'", "'c\\\\w+s'", "'none.*','creds'"]) {
      expect([given, await valueOf(`fn.fnCredentials(${given})`)]).toMatchObject([
        given,
        { name: 'creds', user: 'sam' },
      ])
    }
    const asked = `fn.fnCredentials('^cr').then(c => fn.fnRestJwt('get','${source.url}/api/','',c.password,'.records | length'))`
    expect(await valueOf(asked)).toBe(3)
    expect(source.asked.at(-1)?.headers.authorization).toBe('Bearer hush-4711')
    const none = (name: string) => ({ waiting: expect.stringContaining(`there is no credential '${name}'`) as string })
    expect(await valueOf(`fn.fnCredentials('^eds')`)).toEqual(none('^eds'))
    expect(await valueOf(`fn.fnCredentials('(')`)).toEqual(none('('))
    // All of it stands in the form.
    for (const given of ["'^c' + 'r'", "'$(pattern)'"]) {
      expect(await valueOf(`fn.fnCredentials(${given})`)).toMatchObject({ name: 'creds' })
    }
    expect(await valueOf(`fn.fnRestBasic('get','${source.url}/api/','','^cr')`)).toEqual(none('^cr'))
  })
})

describe('REST services', () => {
  const api = () => `${source.url}/api/`
  const lastToken = () => source.asked.at(-1)?.headers.authorization

  test('fnRestBasic', async () => {
    const jq = "'[.records[] | {name:.name, email:.email, spouse:.relations.spouse}]'"
    expect(
      await valueOf(`fn.fnRestBasic(\n  'get',\n  '${api()}',\n  '',\n  'creds',\n  ${jq},\n  'name',\n  false\n)`),
    ).toEqual([
      { name: 'Ada', email: 'a@example.com', spouse: 'joe' },
      { name: 'bob', email: 'b@example.com', spouse: 'eve' },
      { name: 'zoe', email: 'z@example.com', spouse: 'ann' },
    ])
    expect(lastToken()).toBe(`Basic ${Buffer.from('sam:hush-4711').toString('base64')}`)
  })

  test.each([
    ['fnRestJwt', 'your_jwt_token_in_text', 'Bearer your_jwt_token_in_text'],
    ['fnRestJwtSecure', 'creds', 'Bearer hush-4711'],
  ])('%s', async (name, token, sent) => {
    const asked = `fn.${name}('get','${api()}','','${token}','[.records[] | {name:.name, age:.age}]',['age','name'],false)`
    expect(await valueOf(asked)).toEqual([
      { name: 'Ada', age: 30 },
      { name: 'bob', age: 41 },
      { name: 'zoe', age: 41 },
    ])
    expect(lastToken()).toBe(sent)
  })

  test('fnRestAdvanced, and the placeholders of its headers', async () => {
    const headers = "{'a_custom_http_header':'your_value','Authorization':'basic base64(creds)'}"
    const order = "{name:{ignoreCase:true,direction:'desc'}}"
    const asked = (jq: string, more: string) =>
      valueOf(`fn.fnRestAdvanced('get','${api()}','',${headers},'${jq}',${order},false,${more})`)
    expect(await asked('.records[].name', 'false')).toHaveLength(3)
    expect(await asked('[.records[] | {name}]', 'false')).toEqual([{ name: 'zoe' }, { name: 'bob' }, { name: 'Ada' }])
    expect(source.asked.at(-1)?.headers).toMatchObject({
      a_custom_http_header: 'your_value',
      authorization: `basic ${Buffer.from('sam:hush-4711').toString('base64')}`,
    })
    expect(await asked('', 'true')).toMatchObject({ data: { records: PEOPLE }, response_headers: {} })
    await valueOf(`fn.fnRestAdvanced('get','${api()}','',{'x-own':'Username(creds) PASSWORD(creds)'})`)
    expect(source.asked.at(-1)?.headers['x-own']).toBe('sam hush-4711')
  })

  test('hasBigInt makes texts of large numbers', async () => {
    expect(await valueOf(`fn.fnRestBasic('get','${source.url}/int64','','','','',true)`)).toEqual({
      id: '9007199254740993',
    })
  })
})

describe('sorting and jq', () => {
  test('fnSort', async () => {
    expect(await valueOf("fn.fnSort(['a','b','z','q','c'],{'':{direction:'asc'}})")).toEqual(['a', 'b', 'c', 'q', 'z'])
  })

  test.each<[string, string[]]>([
    ["'name'", ['Ada', 'bob', 'zoe']],
    ["['age','email']", ['Ada', 'bob', 'zoe']],
    ["{name:{direction:'desc'}}", ['zoe', 'bob', 'Ada']],
    ['{name:{ignoreCase:true}}', ['Ada', 'bob', 'zoe']],
    ["['age',{email:{ignoreCase:true,direction:'desc'}}]", ['Ada', 'zoe', 'bob']],
  ])('the order %s', async (order, expected) => {
    expect(await valueOf(`fn.fnSort(${JSON.stringify(PEOPLE)},${order}).map(x => x.name)`)).toEqual(expected)
  })

  test('the order of a flat list', async () => {
    expect(await valueOf("fn.fnSort(['b','c','a'],{'':{}})")).toEqual(['a', 'b', 'c'])
    expect(await valueOf("fn.fnSort(['b','c','a'],{'':{direction:'desc'}})")).toEqual(['c', 'b', 'a'])
  })

  test('fnJq', async () => {
    expect(await valueOf("fn.fnJq($(settings),'.mapping | keys')")).toEqual(['a', 'b'])
    const order = "{name:{ignoreCase:true,direction:'desc'}}"
    expect(await valueOf(`fn.fnJq(${JSON.stringify(PEOPLE)},'map({name})',${order})`)).toEqual([
      { name: 'zoe' },
      { name: 'bob' },
      { name: 'Ada' },
    ])
  })

  test('the functions of the family inside of jq', async () => {
    const asked = `fn.fnRestBasic('get','${source.url}/sizes','','creds','[.records[] | {"Available Capacity":.storage_capacity.available | fn2GB | fnRound }]')`
    expect(await valueOf(asked)).toEqual([{ 'Available Capacity': 1.15 }])
    const all = '[(1572864 | fn2KB, fn2MB), (1.25 | fnRound0, fnRound1), (1.006 | fnRound2, fnRound)]'
    expect(await valueOf(`fn.fnJq(null,'${all}')`)).toEqual([1536, 1.5, 1, 1.3, 1.01, 1.01])
    expect(await valueOf('[1572864]', { jq: 'map(fn2MB)' })).toEqual([1.5])
  })
})
