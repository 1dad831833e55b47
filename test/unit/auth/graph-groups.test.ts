import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { graphGroups } from '../../../control-plane/src/auth/openid/graph-groups.js'
import { lastGoodOf } from '../../../control-plane/src/auth/roles/last-good-file.js'
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.js'

/** Most pages that are read. */
const MAX_PAGES = 20
const FIRST = '/v1.0/me/memberOf'

describe('the groups of a user of Entra ID', () => {
  let server: AnsweringServer
  let first: object
  beforeAll(async () => {
    server = await startAnsweringServer({
      [FIRST]: (_: object, response: { end(text: string): void }) => response.end(JSON.stringify(first)),
      // A chain of so many further pages.
      '/page': ({ path }, response) => {
        const left = Number(path.split('?')[1])
        const next = left > 1 ? { '@odata.nextLink': `${server.url}/page?${left - 1}` } : {}
        response.end(JSON.stringify({ value: [{ id: `${left}` }], ...next }))
      },
      '/moved': (_, response) => response.writeHead(302, { location: FIRST }).end(),
      '/made': (_, response) => response.writeHead(201).end('{"value":[]}'),
    })
  })
  afterAll(() => server.close())

  const groupsOf = (answer: object) => {
    first = answer
    return graphGroups(server.url, 'the token')
  }
  const withPages = (count: number) =>
    groupsOf({ value: [], ...(count > 1 ? { '@odata.nextLink': `${server.url}/page?${count - 1}` } : {}) })

  test('are those of its list that are groups, with their names if they have one', async () => {
    const value = [
      { '@odata.type': '#microsoft.graph.group', id: '1', displayName: 'ops' },
      { '@odata.type': '#microsoft.graph.directoryRole', id: '2', displayName: 'no' },
      { id: '3', displayName: null },
      { id: '4' },
    ]
    expect(await groupsOf({ value })).toEqual([
      { id: '1', name: 'ops' },
      { id: '3', name: null },
      { id: '4', name: null },
    ])
    expect(server.asked.at(-1)).toMatchObject({
      path: `${FIRST}?$select=id,displayName&$top=999`,
      headers: { authorization: 'Bearer the token', accept: 'application/json' },
    })
  })

  test('come on 20 pages at most, and more are a problem', async () => {
    expect((await withPages(MAX_PAGES)).map(({ id }) => id)).toHaveLength(MAX_PAGES - 1)
    await expect(withPages(MAX_PAGES + 1)).rejects.toThrow('more than 20 pages of groups')
  })

  test('are asked of this server only, and answers of another form are a problem', async () => {
    const next = (link: string) => groupsOf({ value: [], '@odata.nextLink': link })
    const before = server.asked.length
    await expect(next('http://127.0.0.1:1/page')).rejects.toThrow('asked for elsewhere: http://127.0.0.1:1')
    expect(server.asked.length).toBe(before + 1)
    await expect(next(`${server.url}/none`)).rejects.toThrow('Microsoft Graph answered 404')
    await expect(next(`${server.url}/made`)).rejects.toThrow('Microsoft Graph answered 201')
    await expect(next(`${server.url}/moved`)).rejects.toThrow()
    await expect(groupsOf({ value: [{ id: 5 }] })).rejects.toThrow('no list of memberships')
  })
})

test('the last good copy of a file is whole, only for its owner, and written when the text is another one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-good-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const good = lastGoodOf(join(folder, 'config.yaml'))
  expect(await good.read()).toBeNull()
  await good.keep('one')
  expect([await good.read(), await readFile(good.path, 'utf8')]).toEqual(['one', 'one'])
  const first = await stat(good.path)
  expect(first.mode & 0o777).toBe(0o600)
  await good.keep('one')
  expect((await stat(good.path)).ino).toBe(first.ino)
  await good.keep('other')
  expect(await good.read()).toBe('other')
  expect(await readdir(folder)).toEqual(['config.yaml.last-good'])
  const lost = lastGoodOf(join(folder, 'none/config.yaml'))
  await expect(lost.keep('x')).rejects.toThrow('ENOENT')
  await expect(lastGoodOf(join(folder, 'config.yaml.last-good/x')).read()).rejects.toThrow('ENOTDIR')
})
