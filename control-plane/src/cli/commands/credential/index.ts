import type { Credential, Client } from '@holdfast/client'
import { askedSecret, givenSecret } from '../../secret-input.js'
import { printable } from '../../show/printable.js'
import type { Column } from '../../show/table.js'
import { act, named } from '../act.js'
import { flag, text } from '../options.js'
import { list, resource, sayWhatToChange, tell } from '../resource.js'
import { fieldOptions, fieldsOf } from './fields.js'
import { UnknownNameError } from '../../errors.js'

const COLUMNS: readonly Column<Credential>[] = [
  { title: 'id', value: (credential) => credential.id, align: 'right' },
  { title: 'name', value: (credential) => credential.name },
  { title: 'type', value: (credential) => credential.type },
  { title: 'user', value: (credential) => credential.user },
  { title: 'host', value: ({ host, port }) => (port === null ? host : `${host ?? ''}:${port}`) },
  { title: 'from', value: (credential) => (credential.overridden ? 'database, overridden' : credential.source) },
  { title: 'description', value: (credential) => credential.description },
]

const SECRET_HELP =
  'The secret is asked for on the terminal, or read from standard input or a file. It is never an argument.'

const CREDENTIAL = named('credential', 'Id or name', credentialNamed)

/** `holdfast credential …` */
export const credentialCommands = resource('credentials', {
  list: list({
    describe: 'List the credentials (never their secrets)',
    columns: COLUMNS,
    none: 'No credentials.',
    read: (client) => client.listCredentials(),
    aside: ({ errors }) =>
      errors.map(({ file, line, reason }) =>
        printable(`left out: ${file}${line === null ? '' : `, line ${line}`}: ${reason}`),
      ),
  }),
  create: act({
    describe: 'Add a credential',
    positions: { name: 'What forms call it' },
    options: fieldOptions,
    epilogue: SECRET_HELP,
    given: fieldsOf,
    ask: async ({ client, args, given, terminal }) => {
      const password = (await givenSecret(terminal, args)) ?? (await askedSecret(terminal, args.name))
      return client.createCredential({ body: { name: args.name, ...given, password } })
    },
    text: ({ name }) => `Added the credential ${name}.\n`,
  }),
  update: act({
    describe: 'Change what is given of a credential; the secret stays unless a new one is given',
    on: CREDENTIAL,
    options: { ...fieldOptions, name: text('Its new name'), 'ask-password': flag('Ask for a new secret') },
    epilogue: SECRET_HELP,
    given: fieldsOf,
    ask: async ({ client, args, on: { id, name }, given, terminal }) => {
      const asked = args.askPassword ? await askedSecret(terminal, name) : undefined
      const body = { name: args.name, ...given, password: asked ?? (await givenSecret(terminal, args)) }
      if (Object.values(body).every((value) => value === undefined)) throw sayWhatToChange('credential update')
      return client.changeCredential({ id, body })
    },
    text: ({ name }) => `Changed the credential ${name}.\n`,
  }),
  delete: tell({
    describe: 'Delete a credential; waiting jobs that need it will fail',
    on: CREDENTIAL,
    ask: (client, { id }) => client.deleteCredential({ id }),
    which: ({ name }) => name,
  }),
})

/** Finds a credential by id or name. It must be one that can be changed over REST. @throws NotFoundError */
async function credentialNamed(client: Client, idOrName: string): Promise<Credential & { id: number }> {
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
