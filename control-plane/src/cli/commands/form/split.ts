import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UsageError } from '../../errors.js'
import { EXIT } from '../../exit-codes.js'
import { writeAnswer } from '../../show/answer.js'
import { printable } from '../../show/printable.js'
import { command, type Run } from '../common.js'

interface Written {
  readonly path: string
  readonly holds: string
}

/** `holdfast form split`: makes files of the one file of an older AnsibleForms, without a server. */
export const splitCommand = (run: Run) =>
  command({
    command: 'split <file>',
    describe:
      'Make files of a forms.yaml of an older AnsibleForms: one for each form, and config.yaml; none is replaced',
    builder: (yargs) =>
      yargs
        .positional('file', { type: 'string', demandOption: true, describe: 'File with categories, roles and forms' })
        .option('into', {
          type: 'string',
          default: '.',
          requiresArg: true,
          describe: 'Folder in which forms/ and config.yaml are made',
        })
        .option('json', { type: 'boolean', default: false, describe: 'Answer as JSON, for programs' })
        .example('$0 form split forms.yaml --into /var/lib/holdfast', 'then check them: holdfast form check'),
    handler: async ({ file, into, json }) => {
      const written: Written[] = []
      const kept: Written[] = []
      for (const { path, text, holds } of await partsOf(file)) {
        const target = join(into, path)
        const isNew = await writeNew(target, text)
        ;(isNew ? written : kept).push({ path: target, holds })
      }
      await writeAnswer(run.terminal.stdout, json, { written, kept }, () =>
        [
          ...written.map(({ path, holds }) => `Wrote ${path}: ${holds}`),
          ...kept.map(({ path, holds }) => `Not written, because it is there already: ${path}: ${holds}`),
        ]
          .map(printable)
          .concat('')
          .join('\n'),
      )
      if (kept.length > 0) run.exitCode = EXIT.unexpected
    },
  })

async function partsOf(file: string) {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file}: cannot be read: ${(error as Error).message}`)
  }
  // Loaded only here: the client commands need nothing of the control plane.
  const { splitSingleFile } = await import('../../../forms/parse/single-file.js')
  const { YamlProblem } = await import('../../../texts/yaml-text.js')
  try {
    return splitSingleFile(text)
  } catch (error) {
    if (error instanceof YamlProblem) throw new UsageError(`${file}, line ${error.line}: ${error.reason}`)
    throw error
  }
}

/** @returns false when there already is such a file, which stays as it is */
async function writeNew(path: string, text: string): Promise<boolean> {
  await mkdir(dirname(path), { recursive: true })
  try {
    await writeFile(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}
