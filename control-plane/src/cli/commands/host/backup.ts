import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Argv } from 'yargs'
import { version } from '../../../version.js'
import { UsageError } from '../../errors.js'
import { writeAnswer } from '../../show/answer.js'
import { printable } from '../../show/printable.js'
import { type Output, writeLine } from '../../terminal.js'
import { command, type Run } from '../common.js'
import { type HostArgs, type HostSettings, hostOptions, hostSettings, translated } from './settings.js'

const PARTS = ['forms', 'workflows', 'playbooks', 'config', 'uploads', 'secrets'] as const
type Part = (typeof PARTS)[number]
/** The parts without --with. Secrets are not among them: with them the file could decrypt what the database keeps encrypted. */
const USUAL: readonly Part[] = ['forms', 'workflows', 'playbooks', 'config', 'uploads']

/** The files with secrets that the service makes once and keeps in its data folder. */
const SECRETS = ['encryption-secret', 'access-token-secret'].flatMap((name) => [name, `${name}.previous`])

/** How often progress is shown, in milliseconds. */
const SHOW_EVERY_MS = 500

/** `holdfast backup`: a copy of an installation, while it runs. */
export const backupCommand = (run: Run) =>
  command({
    builder: (yargs) =>
      fileOptions(hostOptions(yargs), USUAL)
        .positional('file', { type: 'string', demandOption: true, describe: 'The file that is written' })
        .epilogue(
          'Run it on the host of the control plane, as its user. The control plane may run meanwhile. The file holds one ' +
            'state of the database and the parts. It is read back and compared before it gets its name.\nWithout the secrets ' +
            'of this installation, the stored credentials of the backup cannot be used. Keep a copy of the secrets elsewhere, ' +
            'or give --with secrets and --passphrase-file.',
        ),
    handler: async (args) => {
      const { terminal } = run
      const settings = await hostSettings(args, terminal.environment)
      const parts = args.databaseOnly ? [] : [...new Set(args.with ?? USUAL)]
      const order = { ...commonOrder(settings, args), parts, version, now: Date.now() }
      if (order.parts.includes('secrets') && order.passphrase === null) {
        await writeLine(
          terminal.stderr,
          'Warning: the backup holds the secrets and is not encrypted: give --passphrase-file.',
        )
      }
      const { makeBackup } = await import('../../../backup/make-backup.js')
      const checked = await translated(() => makeBackup(args.file, order, progressOn(terminal.stderr)))
      const answer = {
        file: args.file,
        rows: sum(checked.rows),
        files: sum(checked.files),
        jobs: checked.rows.get('job') ?? 0,
      }
      await writeAnswer(
        terminal.stdout,
        args.json,
        answer,
        () =>
          `${args.file}: ${answer.jobs} jobs, ${answer.rows} rows in ${checked.rows.size} tables, ${answer.files} files; read back and compared.\n`,
      )
    },
  })

/** `holdfast restore`: makes an installation of a backup, on SQLite or PostgreSQL. */
export const restoreCommand = (run: Run) =>
  command({
    builder: (yargs) =>
      fileOptions(hostOptions(yargs), undefined)
        .positional('file', { type: 'string', demandOption: true, describe: 'The backup' })
        .option('replace', {
          type: 'boolean',
          default: false,
          describe:
            'Replace the database and files that are there. A database file of SQLite is kept under another name',
        })
        .epilogue(
          'Stop the control plane first, all nodes of it. The settings say which database is filled, SQLite or PostgreSQL. ' +
            'The backup may come from the other kind. The whole backup is read before anything is changed, and the stored ' +
            'rows are compared with it.\nJobs that runners still know go on. Jobs that the backup does not have get new ' +
            'numbers.\nWithout --with and --database-only it restores all parts that the backup has. At the end it says what ' +
            'was left out, and what the secret of this installation does not decrypt.',
        ),
    handler: async (args) => {
      const { terminal } = run
      const settings = await hostSettings(args, terminal.environment)
      const kept = settings.database.kind === 'sqlite' ? `${settings.database.path}.before-restore-${stamp()}` : ''
      const parts = args.databaseOnly ? [] : args.with ? [...new Set(args.with)] : null
      const order = { ...commonOrder(settings, args), parts, replacing: args.replace ? kept : null }
      const { restoreBackup } = await import('../../../backup/restore-backup.js')
      const { holdDatabase } = await import('../../../store/open-store.js')
      const checked = await translated(async () => {
        const giveBack = await holdDatabase(settings.database, Date.now())
        try {
          return await restoreBackup(args.file, order, progressOn(terminal.stderr))
        } finally {
          await giveBack()
        }
      })
      const isRestored = (part: string) => parts === null || (parts as readonly string[]).includes(part)
      const answer = {
        jobs: checked.rows.get('job') ?? 0,
        rows: sum(checked.rows),
        files: sum(new Map([...checked.files].filter(([part]) => isRestored(part)))),
        left_out: [...checked.files.keys()].filter((part) => !isRestored(part)),
        warnings: await encryptionWarnings(settings),
      }
      if (answer.left_out.length > 0) {
        await writeLine(terminal.stderr, `left out, although the backup has it: ${answer.left_out.join(', ')}`)
      }
      for (const warning of answer.warnings) await writeLine(terminal.stderr, printable(`Warning: ${warning}`))
      await writeAnswer(
        terminal.stdout,
        args.json,
        answer,
        () => `Restored ${answer.jobs} jobs, ${answer.rows} rows and ${answer.files} files. Start the control plane.\n`,
      )
    },
  })

/** What the secret of this installation does not decrypt, in the words of `holdfast check`. */
async function encryptionWarnings(settings: HostSettings): Promise<string[]> {
  const { checkEncryption } = await import('../../../check/encryption.js')
  const { openStore } = await import('../../../store/open-store.js')
  const store = await openStore(settings.database, undefined, 'taken as they are')
  try {
    const findings = await checkEncryption(store.read, settings)
    return findings
      .filter(({ state }) => state !== 'ok')
      .map(({ subject, words, advice }) => `${subject}: ${words}; ${advice}`)
  } finally {
    await store.close()
  }
}

function fileOptions<T>(yargs: Argv<T>, usual: readonly Part[] | undefined) {
  return yargs
    .option('with', {
      type: 'string',
      array: true,
      choices: PARTS,
      ...(usual ? { default: [...usual] } : {}),
      describe: 'Parts beside the database. Give each with its own --with',
      nargs: 1,
    })
    .option('database-only', { type: 'boolean', default: false, describe: 'The database and no other part' })
    .option('passphrase-file', {
      type: 'string',
      requiresArg: true,
      describe: 'File whose first line is the passphrase that the backup is encrypted with',
    })
    .option('json', { type: 'boolean', default: false, describe: 'Answer as JSON, for programs' })
}

interface FileArgs extends HostArgs {
  readonly with?: readonly Part[] | undefined
  readonly databaseOnly: boolean
  readonly passphraseFile: string | undefined
}

function commonOrder(settings: HostSettings, args: FileArgs) {
  return {
    database: settings.database,
    passphrase: args.passphraseFile === undefined ? null : passphraseIn(args.passphraseFile),
    places: {
      forms: settings.formsPath,
      workflows: settings.workflowsPath,
      playbooks: settings.playbooksPath,
      uploads: settings.uploadPath,
      config: [settings.configPath, settings.credentialsPath, settings.formFunctionsPath],
      secrets: SECRETS.map((name) => join(settings.persistentPath, name)),
    },
  }
}

function passphraseIn(path: string): string {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`--passphrase-file: ${(error as Error).message}`)
  }
  const [line = ''] = text.split(/\r?\n/)
  if (line.length < 8) throw new UsageError('--passphrase-file: the first line must have at least 8 characters.')
  return line
}

/** Prints on stderr how far the work is: a line for each step. A terminal also shows the rows of a table, in one line. */
function progressOn(stderr: Output) {
  let shownAt = 0
  let isOpen = false
  return {
    table(name: string, rows: number) {
      const now = Date.now()
      if (!stderr.isTerminal || now - shownAt < SHOW_EVERY_MS) return
      shownAt = now
      isOpen = true
      void stderr.write(`\r\u001b[K${name}: ${rows} rows`)
    },
    step(done: string) {
      void stderr.write(`${isOpen ? '\r\u001b[K' : ''}${done}\n`)
      isOpen = false
    },
  }
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((all, count) => all + count, 0)
}

function stamp(): string {
  return new Date().toISOString().replaceAll(/[-:]/g, '').slice(0, 15)
}
