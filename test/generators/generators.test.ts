import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { complaintsOf, programsOfOthers } from './others.js'

/** The OpenAPI document as programs of others read it: they find no fault in it, and the clients that they make compile. */
const DOCUMENT = resolve(import.meta.dirname, '../../control-plane/client/openapi.json')

let programs: string
/** In the folder of the programs, so that what is made there finds its packages. */
let made: string

beforeAll(() => {
  programs = programsOfOthers()
  made = mkdtempSync(join(programs, 'made-'))
})
afterAll(() => {
  if (made) rmSync(made, { recursive: true })
})

/** Each prints what it has against the document, and ends with an exit code other than 0 then. */
const VALIDATORS = {
  'swagger-parser': `
    import parser from '@apidevtools/swagger-parser'
    await parser.validate(process.argv[1])`,
  redocly: `
    import { createConfig, lint } from '@redocly/openapi-core'
    const config = await createConfig({ extends: ['recommended'] })
    const problems = await lint({ ref: process.argv[1], config })
    const errors = problems.filter(({ severity }) => severity === 'error')
    for (const { ruleId, message, location } of errors) console.log(ruleId, message, location[0]?.pointer)
    process.exitCode = errors.length > 0 ? 1 : 0`,
}

// The third one is a part of test/unit/http/openapi.test.ts.
test.each(Object.entries(VALIDATORS))('%s finds no error in the document', (_name, program) => {
  expect(complaintsOf(programs, ['--input-type=module', '--eval', program, DOCUMENT])).toBe('')
})

const GENERATORS = {
  'openapi-typescript': ['openapi-typescript/bin/cli.js', DOCUMENT, '--output', 'client/schema.ts'],
  '@hey-api/openapi-ts': ['@hey-api/openapi-ts/bin/run.js', '--input', DOCUMENT, '--output', 'client', '--no-log-file'],
  orval: ['orval/dist/bin/orval.js', '--input', DOCUMENT, '--output', 'client/api.ts', '--client', 'fetch'],
}

const STRICT = {
  noEmit: true,
  strict: true,
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2023', 'dom', 'dom.iterable'],
  types: [],
}

describe.each(Object.entries(GENERATORS))('%s', (name, [program = '', ...args]) => {
  test('makes a client that compiles under strict', () => {
    const folder = mkdtempSync(join(made, name.replaceAll(/\W/g, '-')))
    expect(complaintsOf(folder, [join(programs, 'node_modules', program), ...args])).toBe('')
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: STRICT, include: ['client'] }))
    expect(complaintsOf(folder, [join(programs, 'node_modules/typescript/bin/tsc'), '-p', '.'])).toBe('')
  })
})
