import { parseJson } from '@holdfast/protocol'
import { readFileSync, statSync } from 'node:fs'
import type * as v from 'valibot'
import { isErrno } from '@holdfast/host/system-errors'

/**
 * What one look at a file or folder has found:
 *
 *   present  it is there, with this content
 *   torn     it is there and was read, and it is not what it must be: half written, or a folder in its place
 *   absent   there is no such name
 *   unknown  it could not be looked at; `code` is the system's. That says nothing, and nothing follows from it
 */
export type Fact<Content> =
  | { readonly kind: 'present'; readonly content: Content }
  | { readonly kind: 'torn' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unknown'; readonly code: string }

/** There is no such name. */
export const ABSENT: Fact<never> = { kind: 'absent' }
/** It was read, and it is not what it must be. */
export const TORN: Fact<never> = { kind: 'torn' }

/** It is there, with this content. */
export function present<Content>(content: Content): Fact<Content> {
  return { kind: 'present', content }
}

/** It could not be read. @param code the system's code of the error */
export function unknown(code: string): Fact<never> {
  return { kind: 'unknown', code }
}

/** Reads a small JSON file. It is looked at several times a second, so it is read at once and not in the thread pool. */
export function readFact<Schema extends v.GenericSchema>(path: string, schema: Schema): Fact<v.InferOutput<Schema>> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    return factOfError(error)
  }
  try {
    return present(parseJson(schema, text))
  } catch {
    return TORN
  }
}

/** Whether a name is there. The content is the number of its inode, which stays when it is moved on its file system. */
export function lookAt(path: string): Fact<string> {
  try {
    return present(String(statSync(path, { bigint: true }).ino))
  } catch (error) {
    return factOfError(error)
  }
}

/** What a failed look means. It gives knowledge only when there is no such name, or when the name is no file. */
function factOfError(error: unknown): Fact<never> {
  if (isErrno(error, 'ENOENT')) return ABSENT
  if (isErrno(error, 'EISDIR', 'ELOOP')) return TORN
  return unknown(codeOf(error))
}

/** The system's code of an error; its message when it has none. */
export function codeOf(error: unknown): string {
  if (error instanceof Error && 'code' in error && typeof error.code === 'string') return error.code
  return error instanceof Error ? error.message : String(error)
}
