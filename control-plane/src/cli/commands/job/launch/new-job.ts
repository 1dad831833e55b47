import type { Client } from '@holdfast/client'
import type { Argv } from 'yargs'
import { CliError, UnreachableError } from '../../../errors.js'
import { EXIT } from '../../../exit-codes.js'
import { runFollow } from '../../../follow/run-follow.js'
import { writeAnswer } from '../../../show/answer.js'
import { writeLine } from '../../../terminal.js'
import type { Run } from '../../common.js'
import { SEVERAL } from '../../options.js'

/** The options that say what happens after a job was made. */
export interface NewJobArgs {
  follow: boolean
  wait: boolean
  color: boolean | undefined
}

/** Adds the options of commands that make a job and may follow it. */
export function newJobOptions<T>(yargs: Argv<T>): Argv<T & NewJobArgs & { readonly file: string[] }> {
  return yargs
    .option('file', {
      ...SEVERAL,
      describe:
        'A file for a file field of the form, which is uploaded first: field=path, in a wizard step step.field=path, in a ' +
        'row of a list list[0].field=path; may be given several times',
    })
    .option('follow', { alias: 'f', type: 'boolean', default: false, describe: 'Show the output live until the end' })
    .option('wait', {
      type: 'boolean',
      default: false,
      describe: 'With --follow: go on when the job is given up (abandoned), until its real outcome comes',
    })
    .option('color', { type: 'boolean', describe: 'Keep (or with --no-color drop) the colours of the output' })
}

/** Sends a request that makes a job. When its answer is lost, the error says that there may be a job. @throws CliError */
export async function askForJob<Answer>(request: () => Promise<Answer>): Promise<Answer> {
  try {
    return await request()
  } catch (error) {
    if (error instanceof UnreachableError && !wasNeverSent(error)) {
      throw new CliError(
        EXIT.unreachable,
        `${error.message} The launch may have arrived nevertheless: look with holdfast job list before trying again.`,
        { cause: error },
      )
    }
    throw error
  }
}

/** Whether no connection was made. Then the server cannot have seen the launch. */
function wasNeverSent(error: UnreachableError): boolean {
  const cause = error.cause instanceof Error && error.cause.cause instanceof Error ? error.cause.cause : error.cause
  const code = (cause as NodeJS.ErrnoException | undefined)?.code ?? ''
  return ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'].includes(code)
}

/** Prints that there is a new job. Follows it when `follow` is set. */
export async function showNewJob(
  run: Run,
  client: Client,
  job: { readonly id: number },
  sentence: string,
  args: NewJobArgs & { readonly json: boolean },
): Promise<void> {
  const { terminal } = run
  if (!args.follow) {
    await writeAnswer(terminal.stdout, args.json, job, () => `${sentence}\n`)
    return
  }
  if (args.json) await writeLine(terminal.stdout, JSON.stringify({ type: 'launched', ...job }))
  else await writeLine(terminal.stderr, sentence)
  run.exitCode = await runFollow(client, terminal, job.id, args)
}
