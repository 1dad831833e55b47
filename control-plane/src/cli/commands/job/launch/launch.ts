import { UsageError } from '../../../errors.js'
import { exitCodesText } from '../../../exit-codes.js'
import { filePaths, uploadFiles } from '../../../uploads.js'
import { readExtraVars, readVariablesFile, type ExtraVars } from '../../../extra-vars.js'
import { clientOf, clientOptions, command, type Run } from '../../common.js'
import { SEVERAL, VERBOSE } from '../../options.js'
import { answersOf } from './answers.js'
import { askForJob, newJobOptions, showNewJob } from './new-job.js'
import { withOptionsSaid } from './refused-values.js'

/** `holdfast job launch`: runs a form as a new job. */
export const launchCommand = (run: Run) =>
  command({
    command: 'launch <form>',
    describe: 'Run a form as a new job',
    builder: (yargs) =>
      newJobOptions(clientOptions(yargs))
        .positional('form', { type: 'string', demandOption: true, describe: 'Name of the form' })
        .option('extra-vars', {
          alias: 'e',
          ...SEVERAL,
          describe:
            'Values of the fields by name: key=value, @file.json, @file.yml or an object in JSON or YAML; may be given several times',
        })
        .option('credential', {
          ...SEVERAL,
          describe:
            'Name of a credential for a credential field of the form, or for a variable of its credentials: key=name; may ' +
            'be given several times',
        })
        .option('from-file', {
          type: 'string',
          requiresArg: true,
          describe: 'Values of the fields from a file in JSON or YAML; a value of -e replaces one of the file',
        })
        .option('ask', {
          type: 'boolean',
          default: false,
          describe: 'Ask for the values at the terminal, field by field, and show all of them before the launch',
        })
        .option('print', {
          type: 'boolean',
          default: false,
          describe: 'Print the values as JSON for --from-file, without passwords, and launch nothing',
        })
        .option('verbose', VERBOSE)
        .example('$0 job launch "Hello world" -e greeted=Ada -f', 'launch and watch')
        .example(`$0 job launch Order -e '{"hosts": [{"name": "a"}]}'`, 'a list field: its rows')
        .example('$0 job launch Order --ask', 'be asked for each field')
        .example('$0 job launch Order --ask --print > order.json', 'keep the answers for a script')
        .example('$0 job launch Deploy --file package=./app.tar.gz', 'a file field: the file is uploaded')
        .example(`$0 job launch Order -e '{"hosts": [{"name": "a"}]}' --file 'hosts[0].key=./a.pem'`, 'a file of a row')
        .example(`$0 job launch Wizard -e '{"network": {"vlan": 7}}'`, 'a wizard: values by step')
        .epilogue(exitCodesText()),
    handler: async (args) => {
      const given = {
        ...(args.fromFile === undefined ? {} : await readVariablesFile(args.fromFile, `--from-file ${args.fromFile}`)),
        ...(await readExtraVars(args.extraVars)),
      }
      const credentials = credentialNames(args.credential)
      const client = await clientOf(run, args)
      const answers = await answersOf(run, client, args, given, await filePaths(args.file))
      if (answers === null) return
      const { values, files: paths } = answers
      const body = bodyOf(args.form, values, credentials, args.verbose)
      const files = await uploadFiles(client, paths)
      const launched = await withOptionsSaid(
        client,
        () => Promise.resolve(args.form),
        () => askForJob(() => client.launchJob({ body: files ? { ...body, files } : body })),
      )
      const unknown = launched.unknown_fields ?? []
      if (unknown.length > 0) {
        await run.terminal.stderr.write(
          `Warning: the form has no field called ${unknown.join(', ')}; these values are not used.\n`,
        )
      }
      await showNewJob(run, client, launched, `Launched job ${launched.id} of ${args.form}.`, args)
    },
  })

interface Launch {
  readonly formName: string
  readonly extravars: ExtraVars
  readonly rawFormData: ExtraVars
  readonly credentials: Readonly<Record<string, string>> | undefined
  readonly files?: Record<string, unknown>
}

/**
 * The body of a launch request. It has the values twice. A service that checks launches makes the variables from the field
 * values (`rawFormData`). A service with LAUNCH_VALIDATION=off uses the variables (`extravars`). The names of credentials are
 * there twice, too: as values of the fields that ask for one, and by themselves.
 */
function bodyOf(formName: string, values: ExtraVars, credentials: Launch['credentials'], verbose: boolean): Launch {
  const { __verbose__, ...fields } = verbose ? { ...values, __verbose__: true } : values
  const extravars = __verbose__ === undefined ? fields : { ...fields, __verbose__ }
  return { formName, extravars, rawFormData: { ...credentials, ...fields }, credentials }
}

/** The names of credentials by field or variable, as `--credential` gives them. Undefined: none. @throws UsageError */
export function credentialNames(given: readonly string[]): Launch['credentials'] {
  if (given.length === 0) return undefined
  return Object.fromEntries(
    given.map((text) => {
      const equals = text.indexOf('=')
      if (equals < 1) throw new UsageError(`--credential ${JSON.stringify(text)}: give key=name.`)
      return [text.slice(0, equals).trim(), text.slice(equals + 1)]
    }),
  )
}
