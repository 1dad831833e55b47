import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Client } from '@holdfast/client'
import { isErrno } from '@holdfast/host/system-errors'
import { UsageError } from './errors.js'

/** The files of a launch or a relaunch: the path of each by the key of its file field. */
export type FilePaths = ReadonlyMap<string, string>

/**
 * Reads texts such as `field=path`. Checks that every file exists before anything is sent.
 * @throws UsageError
 */
export async function filePaths(given: readonly string[]): Promise<FilePaths> {
  const paths = new Map<string, string>()
  for (const text of given) {
    const equals = text.indexOf('=')
    const [field, path] = [text.slice(0, equals).trim(), text.slice(equals + 1)]
    if (equals < 1 || field === '' || path === '') {
      throw new UsageError(`--file ${JSON.stringify(text)}: give field=path.`)
    }
    if (paths.has(field)) throw new UsageError(`--file ${field}: the field is given twice.`)
    await requireFile(field, path)
    paths.set(field, path)
  }
  return paths
}

/** Uploads the files one after the other, as streams. @returns their descriptions by field; null when there are no files */
export async function uploadFiles(client: Client, paths: FilePaths): Promise<Record<string, unknown> | null> {
  const descriptions: [string, unknown][] = []
  for (const [field, path] of paths) {
    const body = new FormData()
    body.append('file', await openAsBlob(path), basename(path))
    descriptions.push([field, await client.uploadFile({ body })])
  }
  return descriptions.length === 0 ? null : Object.fromEntries(descriptions)
}

async function requireFile(field: string, path: string): Promise<void> {
  const problem = await whyNoFile(path)
  if (problem !== null) throw new UsageError(`--file ${field}=${path}: ${problem}.`)
}

/** Why there is no file at a path, in words that stand behind the path and a colon; null: there is one. */
export async function whyNoFile(path: string): Promise<string | null> {
  try {
    return (await stat(path)).isFile() ? null : 'is not a file'
  } catch (error) {
    return isErrno(error, 'ENOENT') ? 'there is no such file' : `cannot be read: ${(error as Error).message}`
  }
}
