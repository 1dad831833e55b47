import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startAnsweringServer } from '../../support/answering-server.js'
import { type ServerOptions, startServer } from '../server.js'

const formOf = (expression: string) =>
  `name: ask\ntype: ansible\nplaybook: x.yml\nroles: [public]\nfields: [{ name: f, type: expression, expression: ${JSON.stringify(expression)} }]\n`

/** What the field of a form says with these settings. */
async function said(expression: string, settings: ServerOptions['settings'] = {}): Promise<object> {
  const server = await startServer({
    settings: { ...settings },
    forms: { 'ask.yaml': formOf(expression) },
    prepare(folder) {
      mkdirSync(join(folder, 'elsewhere'))
      writeFileSync(join(folder, 'elsewhere/town.yaml'), 'town: Ghent\n')
    },
  })
  try {
    const { body } = await server.call('POST', '/forms/ask/evaluate', { token: server.admin, json: { wait: 60 } })
    return (body.fields as { f: object }).f
  } finally {
    await server.close()
  }
}

test('FORM_FILES_PATH is the folder with the files that forms read', async () => {
  const expression = "fn.fnReadYamlFile('town.yaml', '.town')"
  expect(await said(expression, { FORM_FILES_PATH: 'elsewhere' })).toMatchObject({ value: 'Ghent' })
  expect(await said(expression)).toMatchObject({ waiting: expect.stringContaining('FORM_FILES_PATH') as string })
})

test('REST_ALLOWED_HOSTS lets forms ask private addresses; REST_DENIED_HOSTS and SOURCE_TIMEOUT_SECONDS refuse', async () => {
  const source = await startAnsweringServer({ '/a': { a: 1 }, '/never': () => undefined })
  const asking = (path: string) => `fn.fnRestBasic('get','${source.url}${path}')`
  try {
    expect(await said(asking('/a'))).toMatchObject({ waiting: expect.stringContaining('is private') as string })
    expect(await said(asking('/a'), { REST_ALLOWED_HOSTS: '127.0.0.0/8' })).toMatchObject({ value: { a: 1 } })
    const denied = { REST_ALLOWED_HOSTS: '127.0.0.1', REST_DENIED_HOSTS: '127.0.0.1' }
    expect(await said(asking('/a'), denied)).toMatchObject({
      waiting: expect.stringContaining('REST_DENIED') as string,
    })
    const short = { REST_ALLOWED_HOSTS: '127.0.0.1', SOURCE_TIMEOUT_SECONDS: '1' }
    expect(await said(asking('/never'), short)).toMatchObject({
      waiting: expect.stringContaining('did not answer') as string,
    })
  } finally {
    await source.close()
  }
})
