import { readFile } from 'node:fs/promises'
import type { Argv } from 'yargs'
import type { Client, Credential } from '@holdfast/client'
import { UnknownNameError, UsageError } from '../../errors.js'
import { clientOptions } from '../common.js'

type DatabaseType = 'postgres' | 'mysql'

/** Adds the options for everything that a credential has beside its name, and for where its secret comes from. */
export function credentialOptions<T>(yargs: Argv<T>) {
  return clientOptions(yargs)
    .option('type', {
      choices: ['userpass', 'ssh', 'vault', 'database', 'token', 'certificate'] as const,
      describe: 'Kind of the credential',
    })
    .option('user', { type: 'string', requiresArg: true, describe: 'Name of the user' })
    .option('host', { type: 'string', requiresArg: true, describe: 'Host that it is for' })
    .option('port', { type: 'string', requiresArg: true, describe: 'Port on that host' })
    .option('db-type', {
      choices: ['postgres', 'mysql'] as const,
      describe: 'Kind of the database (type database)',
    })
    .option('db-name', { type: 'string', requiresArg: true, describe: 'Name of the database (type database)' })
    .option('secure', { type: 'boolean', describe: 'Connect with TLS (type database)' })
    .option('ca-file', { type: 'string', requiresArg: true, describe: 'Certificates (PEM) to trust' })
    .option('certificate-file', {
      type: 'string',
      requiresArg: true,
      describe: 'Client certificate (type certificate)',
    })
    .option('description', { type: 'string', requiresArg: true, describe: 'What it is for' })
    .option('password-stdin', { type: 'boolean', default: false, describe: 'Read the secret from standard input' })
    .option('password-file', {
      type: 'string',
      requiresArg: true,
      describe: 'Read the secret from a file, such as a private key',
    })
}

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

/** Finds a credential by id or name. It must be one that can be changed over REST. @throws NotFoundError */
export async function credentialNamed(client: Client, idOrName: string): Promise<Credential & { id: number }> {
  const { records } = await client.listCredentials()
  const named = records.filter((credential) => credential.name === idOrName)
  const found = [...named, ...records.filter((credential) => String(credential.id) === idOrName)]
  const stored = found.find((credential) => credential.id !== null)
  if (stored?.id !== null && stored?.id !== undefined) return { ...stored, id: stored.id }
  throw new UnknownNameError(
    found.length > 0
      ? `The credential ${idOrName} is in credentials.yaml of the control plane; change it there.`
      : `There is no credential with the id or name ${idOrName}; holdfast credential list shows them.`,
  )
}
