import { type Client, type FormModel, readForm } from '@holdfast/client'
import { UnknownNameError, UsageError } from '../../../errors.js'
import type { ExtraVars } from '../../../extra-vars.js'
import { writeLine } from '../../../terminal.js'
import type { FilePaths } from '../../../uploads.js'
import type { Run } from '../../common.js'

/** The values of a launch, and the paths of its files. */
interface LaunchAnswers {
  readonly values: ExtraVars
  readonly files: FilePaths
}

/**
 * Collects the values and files of a launch. With --ask a person answers the questions that the options leave open.
 * @returns null when nothing is to be launched: the values were printed, or the person said no
 * @throws UsageError without a terminal to ask at
 */
export async function answersOf(
  run: Run,
  client: Client,
  args: { readonly form: string; readonly ask: boolean; readonly print: boolean },
  given: ExtraVars,
  paths: FilePaths,
): Promise<LaunchAnswers | null> {
  if (!args.ask && !args.print) return { values: given, files: paths }
  const form = readForm(args.form, await client.getForm({ name: args.form }))
  if (!form) throw new UnknownNameError(`There is no form ${JSON.stringify(args.form)} that you may launch.`)
  const answers = args.ask ? await ask(run, client, form, given, paths, args.print) : { values: given, files: paths }
  if (answers === null || !args.print) return answers
  const { withoutPasswords } = await import('../../../ask/summary.js')
  const { values, left } = withoutPasswords(form, answers.values)
  await writeLine(run.terminal.stdout, JSON.stringify(values, null, 2))
  if (left.length > 0) await writeLine(run.terminal.stderr, `Left out, because they are passwords: ${left.join(', ')}.`)
  return null
}

async function ask(
  run: Run,
  client: Client,
  form: FormModel,
  given: ExtraVars,
  paths: FilePaths,
  isPrinted: boolean,
): Promise<LaunchAnswers | null> {
  const { stdin, stderr } = run.terminal
  if (!stdin.isTTY || !stderr.isTerminal) {
    throw new UsageError('--ask needs a terminal. Give the values with -e or --from-file.')
  }
  // Loaded only here, because other commands ask no such questions.
  const [{ Prompts }, { askForm }, { answersSummary }] = await Promise.all([
    import('../../../ask/prompts.js'),
    import('../../../ask/ask-form.js'),
    import('../../../ask/summary.js'),
  ])
  // Questions go to stderr, because --print writes the values to stdout.
  const prompts = new Prompts({ input: stdin, output: process.stderr })
  prompts.title(form.name)
  if (form.description !== null) prompts.say(form.description)
  const answers = await askForm(client, form, given, paths, prompts)
  if (isPrinted) return answers
  prompts.note(answersSummary(form, answers), form.name)
  if (await prompts.confirm('Launch?', true)) return answers
  await writeLine(stderr, 'Nothing was launched.')
  return null
}
