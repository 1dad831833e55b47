import { UsageError } from '../../errors.js'
import { EXIT } from '../../exit-codes.js'
import { writeAnswer } from '../../show/answer.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'

/** `holdfast audit verify` */
export const verifyCommand = (run: Run) =>
  command({
    command: 'verify',
    describe: 'Check whether the audit trail is as it was written (admins); exit code 1 when it is not',
    builder: (yargs) =>
      clientOptions(yargs).option('head', {
        type: 'string',
        requiresArg: true,
        describe: 'A head that an earlier call printed and you kept elsewhere: <position>:<hash>',
      }),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const found = await client.verifyAudit(args.head === undefined ? {} : headOf(args.head))
      const { first, head, unchained, problem } = found
      await writeAnswer(run.terminal.stdout, args.json, found, () => {
        const outcome = found.ok
          ? `The audit trail is whole from position ${first} to ${head.position}.`
          : `THE AUDIT TRAIL IS NOT WHOLE: ${problem ?? 'the server gave no reason'}.`
        const later = unchained === 0 ? '' : `Not chained yet: ${unchained}.\n`
        return `${outcome}\n${later}Head: ${head.position}:${head.hash}\n`
      })
      if (!found.ok) run.exitCode = EXIT.unexpected
    },
  })

function headOf(text: string): { position: number; hash: string } {
  const [, position, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (position !== undefined && hash !== undefined) return { position: Number(position), hash }
  throw new UsageError('--head: must be <position>:<hash>, as holdfast audit verify printed it')
}
