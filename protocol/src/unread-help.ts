/** The part of yargs that keeps a text of the help. Its types do not show it. */
interface HelpKeeper {
  readonly getInternalMethods: () => {
    readonly getUsageInstance: () => { cacheHelpMessage: () => void }
  }
}

/**
 * Has yargs make the text of the help only for those who ask for it. Without this it also makes that text when a command
 * begins, and keeps it in case the command wants to show it. No command does, and with many options the text costs a tenth
 * of a second.
 */
export function leaveUnreadHelpOut<Program extends object>(program: Program): Program {
  const { getInternalMethods } = program as Program & HelpKeeper
  getInternalMethods.call(program).getUsageInstance().cacheHelpMessage = () => undefined
  return program
}
