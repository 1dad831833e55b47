import type { FormFeature, FormNeed } from '../../../forms/form-needs.js'
import { EXIT } from '../../exit-codes.js'
import { writeAnswer } from '../../show/answer.js'
import { printable } from '../../show/printable.js'
import { command, type Run } from '../common.js'

const NEEDS: Readonly<Record<FormFeature, string>> = {
  database: 'databases',
  rest: 'REST services',
  files: 'files below FORM_FILES_PATH',
  jq: 'jq',
  dns: 'DNS',
  ssh: 'ssh',
  credentials: 'stored credentials',
  'own functions': 'your own functions',
  'vars files': 'files of constants below VARS_FILES_PATH',
  'other system': 'another system to run its jobs',
  missing: 'functions that do not exist',
}

function needText({ feature, fields, names }: FormNeed): string {
  const which = names.length > 0 ? ` (${names.join(', ')})` : ''
  return NEEDS[feature] + which + (fields.length > 0 ? `: ${fields.join(', ')}` : '')
}

const folderOption = (what: string, beside: string) =>
  ({
    type: 'string',
    requiresArg: true,
    describe: `Folder with the ${what}, if it is not ${beside} beside the forms`,
  }) as const

/** `holdfast form check`: finds what is wrong in form files, without a server. */
export const checkCommand = (run: Run) =>
  command({
    command: 'check <files..>',
    describe: 'Check form files without a server; exit code 1 when something is wrong',
    builder: (yargs) =>
      yargs
        .positional('files', {
          type: 'string',
          array: true,
          demandOption: true,
          describe: 'Files, or folders with all form files below them',
        })
        .option('vars-files-path', folderOption('files that forms name in varsFiles', 'vars'))
        .option('workflows-path', folderOption('workflow files', 'workflows'))
        .option('playbooks-path', folderOption('playbooks', 'playbooks'))
        .option('functions-path', {
          type: 'string',
          requiresArg: true,
          describe: 'File with your own functions, if it is not functions.js beside the forms',
        })
        .option('json', { type: 'boolean', default: false, describe: 'Answer as JSON, for programs' })
        .example('$0 form check /var/lib/holdfast/forms', 'all forms, so that their subforms are found'),
    handler: async (args) => {
      // Loaded only here: the client commands need nothing of the control plane.
      const { checkFormFiles } = await import('../../../forms/files/check-form-files.js')
      const { needsOf } = await import('../../../forms/form-needs.js')
      const { foldersBeside, problemsOfNamedFiles } = await import('../../../sequences/workflows/check-named-files.js')
      const beside = await foldersBeside(args.files)
      const { forms, errors: ofForms, notes } = await checkFormFiles(args.files)
      const named = await problemsOfNamedFiles(forms, {
        varsFiles: args.varsFilesPath ?? beside.varsFiles,
        workflows: args.workflowsPath ?? beside.workflows,
        playbooks: args.playbooksPath ?? beside.playbooks,
      })
      const own = await readOwnFunctions(args.functionsPath ?? beside.functions)
      const errors = [...ofForms, ...named, ...(own.problem ? [own.problem] : [])]
      const good = forms.map(({ form, file, line }) => {
        const { name, type } = form
        return { name, type, file, line, needs: needsOf(form, own.names) }
      })
      await writeAnswer(run.terminal.stdout, args.json, { forms: good, errors, notes }, () => {
        const told = ({ file, line, form, reason }: (typeof errors)[number]) => {
          const where = [file, line === null ? null : `line ${line}`, form === null ? null : `form ${form}`]
          return `${where.filter((part) => part !== null).join(', ')}: ${reason}`
        }
        const wrong = errors.map(told)
        const counted = `${good.length === 1 ? '1 form is' : `${good.length} forms are`} good`
        const summary = wrong.length === 0 ? `${counted}.` : `${counted}; wrong: ${wrong.length}.`
        const needs = good.flatMap((form) => form.needs.map((need) => `${form.name} needs ${needText(need)}`))
        return [...wrong, ...notes.map(told), ...needs].map(printable).concat(summary, '').join('\n')
      })
      if (errors.length > 0) run.exitCode = EXIT.unexpected
    },
  })

async function readOwnFunctions(path: string) {
  const { createOwnFunctions } = await import('../../../forms/files/own-functions.js')
  const { createLaunchChecks } = await import('../../../forms/sandbox/launch-checks.js')
  const { systemClock } = await import('../../../time/clock.js')
  const { systemTimers } = await import('../../../time/timers.js')
  const checks = createLaunchChecks({ log: { warn: () => undefined }, timers: systemTimers })
  try {
    return await createOwnFunctions(path, systemClock, checks)()
  } finally {
    await checks.close()
  }
}
