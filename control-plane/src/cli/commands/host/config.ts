import { readFile } from 'node:fs/promises'
import { UsageError } from '../../errors.js'
import { EXIT } from '../../exit-codes.js'
import { writeAnswer } from '../../show/answer.js'
import { printable } from '../../show/printable.js'
import { command, type Run } from '../common.js'

/** `holdfast config check`: finds what is wrong in a config.yaml, without a server. */
const checkCommand = (run: Run) =>
  command({
    command: 'check <file>',
    describe: 'Check a config.yaml without a server; exit code 1 when something is wrong',
    builder: (yargs) =>
      yargs
        .positional('file', { type: 'string', demandOption: true, describe: 'Such as /var/lib/holdfast/config.yaml' })
        .option('json', { type: 'boolean', default: false, describe: 'Answer as JSON, for programs' }),
    handler: async (args) => {
      const found = await problemIn(args.file)
      await writeAnswer(run.terminal.stdout, args.json, { ok: found === null, problem: found }, () => {
        if (found === null) return `${printable(args.file)} is good.\n`
        return `${printable(`${args.file}, line ${found.line}: ${found.reason}`)}\n`
      })
      if (found !== null) run.exitCode = EXIT.unexpected
    },
  })

async function problemIn(path: string): Promise<{ readonly line: number; readonly reason: string } | null> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new UsageError(`${path}: cannot be read: ${(error as Error).message}`)
  }
  // Loaded only here: the client commands need nothing of the control plane.
  const { parseRoleConfig } = await import('../../../auth/roles/role-config.js')
  const { YamlProblem } = await import('../../../texts/yaml-text.js')
  try {
    parseRoleConfig(text)
    return null
  } catch (error) {
    if (error instanceof YamlProblem) return { line: error.line, reason: error.reason }
    throw error
  }
}

/** `holdfast config …` */
export const configCommands = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs.command(checkCommand(run)).demandCommand(1, 'Say what to do with the configuration: check.'),
    handler: () => undefined,
  })
