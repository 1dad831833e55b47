import { readFile } from 'node:fs/promises'
import { ask, readPipedSecret } from './ask.js'
import { UsageError } from './errors.js'
import type { Terminal } from './terminal.js'

/** Where a command takes a secret from. It is never an argument, because everybody on the machine could read it there. */
export interface SecretSource {
  readonly passwordStdin: boolean
  readonly passwordFile: string | undefined
}

/** Reads the secret from standard input or a file. Undefined when neither was asked for. @throws UsageError */
export async function givenSecret(terminal: Terminal, source: SecretSource): Promise<string | undefined> {
  if (source.passwordStdin && source.passwordFile !== undefined) {
    throw new UsageError('Either --password-stdin or --password-file, not both.')
  }
  if (source.passwordStdin) return notEmpty(await readPipedSecret(terminal))
  if (source.passwordFile === undefined) return undefined
  try {
    return notEmpty((await readFile(source.passwordFile, 'utf8')).replace(/\r?\n$/, ''))
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`--password-file ${source.passwordFile}: cannot be read: ${(error as Error).message}`)
  }
}

/** Asks for a secret. The person types it twice. @throws UsageError */
export async function askedSecret(terminal: Terminal, name: string): Promise<string> {
  if (!terminal.stdin.isTTY) {
    throw new UsageError('No terminal to ask for the secret: use --password-stdin or --password-file.')
  }
  const secret = notEmpty(await ask(terminal, `Secret of ${name}: `, true))
  if ((await ask(terminal, 'Once more: ', true)) !== secret) {
    throw new UsageError('The two secrets are different; nothing was changed.')
  }
  return secret
}

function notEmpty(secret: string): string {
  if (secret === '') throw new UsageError('The secret is empty; nothing was changed.')
  return secret
}
