import { randomBytes } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '@holdfast/host/durable'
import { unlessMissing } from '@holdfast/host/system-errors'
import type { Clock } from '../time/clock.js'
import { ConflictError } from '../errors.js'
import { keptSecret } from './secrets.js'

/** A secret with its earlier values that are still accepted. New things are made with the current one. */
export interface SecretRing {
  /** The current secret first. */
  all(): readonly string[]
  /** Whether the service made the secret and stores it, so that it can make another one. */
  readonly isKept: boolean
  /** Whether earlier secrets are still accepted. */
  hasPrevious(): boolean
  /**
   * Makes a new secret and keeps the current one beside it.
   * @param until when the earlier secret stops being accepted, in milliseconds since the epoch; null: when {@link
   *   forgetPrevious} is called
   * @throws ConflictError when the secret is a setting
   */
  rotate(until: number | null): Promise<void>
  /** Earlier secrets are not accepted any more. */
  forgetPrevious(): Promise<void>
}

/** A single secret, or a ring whose secrets are read at each use. */
export type Secrets = string | Pick<SecretRing, 'all'>

/** The current secret first. */
export function secretsOf(secrets: Secrets): readonly string[] {
  return typeof secrets === 'string' ? [secrets] : secrets.all()
}

/** Where a secret is read, and nothing is made. */
export type SecretPlace = Pick<SecretRingOptions, 'given' | 'previous' | 'folder' | 'name'>

/** How a secret is opened. */
export interface SecretRingOptions {
  /** Name of the setting, for people. */
  readonly setting: string
  /** The secret in the settings; null: the service makes one and stores it. */
  readonly given: string | null
  /** The earlier secret in the settings. */
  readonly previous: string | null
  readonly folder: string
  /** Name of the file in the folder that stores it. */
  readonly name: string
  readonly clock: Clock
}

interface Previous {
  readonly secret: string
  readonly until: number | null
}

/**
 * Opens a secret with its earlier values. A secret that the service made is in a file (0600). Its earlier values are in
 * a second file beside it (`<name>.previous`), one in each line, after the time until which it is accepted. The second
 * file is written first, so that no secret is lost in a crash.
 */
export async function openSecretRing(options: SecretRingOptions): Promise<SecretRing> {
  const { given, folder, name, clock } = options
  if (given !== null) return givenRing(given, options)
  const path = join(folder, name)
  const previousPath = `${path}.previous`
  let today = await keptSecret(folder, name)
  let previous = await readPrevious(previousPath)

  const counting = () =>
    previous.filter(({ secret, until }) => secret !== today && (until === null || until > clock.now()))
  return {
    all: () => [today, ...counting().map(({ secret }) => secret)],
    isKept: true,
    hasPrevious: () => counting().length > 0,
    async rotate(until) {
      const next = randomBytes(48).toString('base64url')
      const kept = [{ secret: today, until }, ...counting()]
      await replaceFile(previousPath, kept.map((one) => `${one.until ?? '-'} ${one.secret}\n`).join(''))
      await replaceFile(path, `${next}\n`)
      previous = kept
      today = next
    },
    async forgetPrevious() {
      await rm(previousPath, { force: true })
      previous = []
    },
  }
}

/**
 * Reads a secret with its earlier values, as {@link openSecretRing} does, for a command beside the control plane. It makes
 * no secret.
 * @returns the current secret first; empty when there is none yet
 */
export async function readSecrets({ given, previous, folder, name }: SecretPlace): Promise<readonly string[]> {
  if (given !== null) return previous === null ? [given] : [given, previous]
  const path = join(folder, name)
  const text = (await unlessMissing(readFile(path, 'utf8'), '')).trim()
  const earlier = (await readPrevious(`${path}.previous`)).map(({ secret }) => secret)
  return text === '' ? earlier : [text, ...earlier]
}

function givenRing(today: string, { setting, previous }: SecretRingOptions): SecretRing {
  const all = previous === null ? [today] : [today, previous]
  const isASetting = () =>
    Promise.reject(
      new ConflictError(
        'secret_is_a_setting',
        `${setting} is a setting: give the new secret as ${setting} and the old one as ${setting}_PREVIOUS, and restart every control plane`,
      ),
    )
  return {
    all: () => all,
    isKept: false,
    hasPrevious: () => previous !== null,
    rotate: isASetting,
    forgetPrevious: () => Promise.resolve(),
  }
}

async function readPrevious(path: string): Promise<Previous[]> {
  const text = await unlessMissing(readFile(path, 'utf8'), '')
  return text.split('\n').flatMap((line) => {
    const [, until, secret] = /^(-|\d+) (\S+)$/.exec(line) ?? []
    return secret === undefined ? [] : [{ secret, until: until === '-' ? null : Number(until) }]
  })
}

/** Replaces a file. A crash leaves at most one other file with secrets, and the next rotation removes it. */
const replaceFile = (path: string, content: string) => writeDurably(path, content, `${path}.new`)
