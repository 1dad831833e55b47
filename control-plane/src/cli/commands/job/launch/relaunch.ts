import { exitCodesText } from '../../../exit-codes.js'
import { printable } from '../../../show/printable.js'
import { filePaths, uploadFiles } from '../../../uploads.js'
import { readExtraVars, readVariablesFile } from '../../../extra-vars.js'
import { clientOf, clientOptions, command, jobIdOf, type Run } from '../../common.js'
import { SEVERAL, VERBOSE, jobIdPosition } from '../../options.js'
import { askForJob, newJobOptions, showNewJob } from './new-job.js'
import { withOptionsSaid } from './refused-values.js'

/** `holdfast job relaunch`: runs an ended job once more, as it ran or with changed field values. */
export const relaunchCommand = (run: Run) =>
  command({
    command: 'relaunch <id>',
    describe: 'Run an ended job again, as it ran or with changes',
    builder: (yargs) =>
      jobIdPosition(newJobOptions(clientOptions(yargs)))
        .option('extra-vars', {
          alias: 'e',
          ...SEVERAL,
          describe:
            'Field values to change, by name: key=value, @file.json, @file.yml or an object in JSON or YAML; may be given several times',
        })
        .option('values', {
          type: 'string',
          requiresArg: true,
          describe: 'File (JSON or YAML) with field values to change; a value of -e replaces one of the file',
        })
        .option('verbose', VERBOSE)
        .example('$0 job relaunch 12 -f', 'as it ran, and watch')
        .example('$0 job relaunch 12 -e greeted=Ada', 'with another value; the others stay')
        .example('$0 job relaunch 12 --file package=./app.tar.gz', 'with another file; the others are used again')
        .example(`$0 job relaunch 12 -e '{"pin": null}'`, 'without the value that it had')
        .epilogue(exitCodesText()),
    handler: async (args) => {
      const jobId = jobIdOf(args.id)
      const ofFile = args.values === undefined ? {} : await readVariablesFile(args.values, `--values ${args.values}`)
      const values = { ...ofFile, ...(await readExtraVars(args.extraVars)) }
      const paths = await filePaths(args.file)
      const client = await clientOf(run, args)
      const query = args.verbose ? { verbose: true } : {}
      const files = await uploadFiles(client, paths)
      const changes = { ...(Object.keys(values).length > 0 ? { values } : {}), ...(files ? { files } : {}) }
      const body = Object.keys(changes).length > 0 ? { body: changes } : {}
      const relaunched = await withOptionsSaid(
        client,
        async () => (await client.getJob({ id: jobId, output: false })).form,
        () => askForJob(() => client.relaunchJob({ id: jobId, ...query, ...body })),
      )
      await showNewJob(run, client, relaunched, `${printable(relaunched.message)}.`, args)
    },
  })
