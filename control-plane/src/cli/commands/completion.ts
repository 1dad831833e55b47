import { command, type Run } from './common.js'

/** Asks yargs how a command line may go on. SHELL is set because yargs adds descriptions when it is zsh. */
const ASK = 'SHELL=/bin/sh ZSH_NAME= holdfast --get-yargs-completions'

const SCRIPTS = {
  bash: `# holdfast completion for bash: put it into ~/.bashrc, or run
#   holdfast completion bash > /etc/bash_completion.d/holdfast
_holdfast() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(${ASK} "\${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _holdfast holdfast
`,
  zsh: `#compdef holdfast
# holdfast completion for zsh: put it into ~/.zshrc after compinit, or into a folder of $fpath as _holdfast.
_holdfast() {
  local -a words_of_holdfast
  words_of_holdfast=("\${(@f)$(${ASK} "\${(@)words[1,CURRENT]}" 2>/dev/null)}")
  if [[ -n "\${words_of_holdfast[1]}" ]]; then compadd -- "\${words_of_holdfast[@]}"; else _files; fi
}
compdef _holdfast holdfast
`,
  fish: `# holdfast completion for fish: put it into ~/.config/fish/completions/holdfast.fish
complete -c holdfast -a '(env ${ASK} (commandline -opc) (commandline -ct) 2>/dev/null)'
`,
} as const

/** `holdfast completion`: a script that completes commands and options on the shell. */
export const completionCommand = (run: Run) =>
  command({
    builder: (yargs) =>
      yargs
        .positional('shell', {
          choices: ['bash', 'zsh', 'fish'] as const,
          demandOption: true,
          describe: 'The shell that uses the script',
        })
        .example('source <(holdfast completion bash)', 'for this shell'),
    handler: (args) => run.terminal.stdout.write(SCRIPTS[args.shell]),
  })
