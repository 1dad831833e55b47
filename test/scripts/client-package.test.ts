import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../support/product.js'

/** The package of the client leaves the service out by the names of its modules. One that was moved would come along. */
test('what the package of the client leaves out is where it looks for it', () => {
  const text = readFileSync(join(ROOT, 'scripts/lib/package/client.js'), 'utf8')
  const [, list = ''] = /^const SERVICE_ONLY = \{\n(.*?)^\}/ms.exec(text) ?? []
  const modules = [...list.matchAll(/^ {2}'([^']+)\.js': \[(.*)\],$/gm)]
  expect(modules.length).toBe(list.trim().split('\n').length)
  for (const [, module = '', names = ''] of modules) {
    const source = join(ROOT, 'control-plane/src', `${module}.ts`)
    expect([source, existsSync(source)]).toEqual([source, true])
    for (const [name] of names.matchAll(/\w+/g)) {
      expect(readFileSync(source, 'utf8')).toMatch(new RegExp(`^export (async )?function ${name}\\(`, 'm'))
    }
  }
})
