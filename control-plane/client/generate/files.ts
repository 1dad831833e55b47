import { join, resolve } from 'node:path'
import { format } from 'prettier'
import { interfaceDocument } from './document.js'

const CLIENT = resolve(import.meta.dirname, '..')

/** The generated files of the client by their paths, as this control plane makes them now. */
export async function generatedFiles(): Promise<Readonly<Record<string, string>>> {
  const document = await interfaceDocument()
  return {
    [join(CLIENT, 'openapi.json')]: await format(JSON.stringify(document), { parser: 'json', printWidth: 120 }),
  }
}
