import type { Credential } from '@holdfast/client'
import { writeAnswer } from '../../show/answer.js'
import { printable } from '../../show/printable.js'
import { tableOr, type Column } from '../../show/table.js'
import { writeLine } from '../../terminal.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'

const COLUMNS: readonly Column<Credential>[] = [
  { title: 'id', value: (credential) => credential.id, align: 'right' },
  { title: 'name', value: (credential) => credential.name },
  { title: 'type', value: (credential) => credential.type },
  { title: 'user', value: (credential) => credential.user },
  { title: 'host', value: (credential) => hostOf(credential) },
  { title: 'from', value: (credential) => (credential.overridden ? 'database, overridden' : credential.source) },
  { title: 'description', value: (credential) => credential.description },
]

/** `holdfast credential list` */
export const listCommand = (run: Run) =>
  command({
    command: 'list',
    describe: 'List the credentials (never their secrets)',
    builder: (yargs) => clientOptions(yargs),
    handler: async (args) => {
      const { stdout, stderr } = run.terminal
      const client = await clientOf(run, args)
      const list = await client.listCredentials()
      await writeAnswer(stdout, args.json, list, () => tableOr('No credentials.', stdout, COLUMNS, list.records))
      if (args.json) return
      for (const { file, line, reason } of list.errors) {
        await writeLine(stderr, printable(`left out: ${file}${line === null ? '' : `, line ${line}`}: ${reason}`))
      }
    },
  })

function hostOf({ host, port }: Credential): string | null {
  return port === null ? host : `${host ?? ''}:${port}`
}
