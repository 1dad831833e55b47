import { readFile } from 'node:fs/promises'
import type { Credential } from '@holdfast/client'
import { UsageError } from '../../errors.js'
import { flag, setting, text } from '../options.js'

type DatabaseType = 'postgres' | 'mysql'

/** The options for everything that a credential has beside its name, and for where its secret comes from. */
export const fieldOptions = {
  type: {
    choices: ['userpass', 'ssh', 'vault', 'database', 'token', 'certificate'],
    describe: 'Kind of the credential',
  },
  user: text('Name of the user'),
  host: text('Host that it is for'),
  port: text('Port on that host'),
  'db-type': { choices: ['postgres', 'mysql'], describe: 'Kind of the database (type database)' },
  'db-name': text('Name of the database (type database)'),
  secure: setting('Connect with TLS (type database)'),
  'ca-file': text('Certificates (PEM) to trust'),
  'certificate-file': text('Client certificate (type certificate)'),
  description: text('What it is for'),
  'password-stdin': flag('Read the secret from standard input'),
  'password-file': text('Read the secret from a file, such as a private key'),
} as const

/** The fields of a request body, as the options give them. @throws UsageError */
export async function fieldsOf(args: {
  readonly type: Credential['type'] | undefined
  readonly user: string | undefined
  readonly host: string | undefined
  readonly port: string | undefined
  readonly description: string | undefined
  readonly dbType: DatabaseType | undefined
  readonly dbName: string | undefined
  readonly secure: boolean | undefined
  readonly caFile: string | undefined
  readonly certificateFile: string | undefined
}) {
  const { type, user, host, description } = args
  const options = {
    db_type: args.dbType,
    db_name: args.dbName,
    secure: args.secure,
    ca: await fileOf(args.caFile),
    certificate: await fileOf(args.certificateFile),
  }
  const isGiven = Object.values(options).some((value) => value !== undefined)
  return { type, user, host, port: portOf(args.port), description, options: isGiven ? options : undefined }
}

async function fileOf(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new UsageError(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  })
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new UsageError('--port must be a number from 1 to 65535.')
  return Number(text)
}
