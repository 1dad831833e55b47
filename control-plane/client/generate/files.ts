import { join, resolve } from 'node:path'
import { format } from 'prettier'
import { interfaceDocument } from './document.js'
import { type Document, interfaceText } from './interface-text.js'

const CLIENT = resolve(import.meta.dirname, '..')
const STYLE = { semi: false, singleQuote: true, printWidth: 120, trailingComma: 'all' } as const

/** The generated files of the client by their paths, as this control plane makes them now. */
export async function generatedFiles(): Promise<Readonly<Record<string, string>>> {
  const document = await interfaceDocument()
  const source = interfaceText(document as unknown as Document)
  return {
    [join(CLIENT, 'openapi.json')]: await format(JSON.stringify(document), { ...STYLE, parser: 'json' }),
    [join(CLIENT, 'src/interface.gen.ts')]: await format(source, { ...STYLE, parser: 'typescript' }),
  }
}
