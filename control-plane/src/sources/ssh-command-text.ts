import type { SourcedText } from './origins.js'

/** What a value in a command may be: letters, digits and a few signs, and no dash first, which would make it an option. */
const PLAIN_WORD = /^[\w./:@%+=,][\w./:@%+=,-]*$/

/**
 * Programs, and words of a shell, behind which the name of another program follows. The number says how many arguments of
 * their own come before it.
 */
const STARTERS: ReadonlyMap<string, number> = new Map([
  ...namesOf(`! { if then else elif do while until time exec eval command builtin . source trap sudo doas su runuser pkexec
    env nice ionice nohup setsid stdbuf xargs parallel watch strace ltrace unshare nsenter systemd-run setpriv busybox sh
    bash dash ash ksh zsh fish csh tcsh python python3 perl ruby node php awk gawk lua at batch gdb`).map(
    (name) => [name, 0] as const,
  ),
  ...namesOf('timeout chroot flock taskset chrt numactl ssh script').map((name) => [name, 1] as const),
])

/** Programs that start another one only with some words: `docker exec web ls`, but not `docker restart web`. */
const CONTAINERS: ReadonlySet<string> = new Set(namesOf('docker podman nerdctl kubectl oc lxc crictl ip'))
const STARTING_WORD = /^(exec|run|debug)$/
const WORD_BEFORE_IT = /^(compose|container|netns|vrf)$/

/** Options behind which a whole command follows. */
const COMMAND_OPTION = /^-(exec|execdir|ok|okdir)$/
/** Options whose argument is a program. */
const PROGRAM_OPTION =
  /^--(exec|to-command|use-compress-program|compress-program|rsh|rsync-path|checkpoint-action|pager|eval|command|init-command)(=|$)/
const PROGRAM_OPTION_OF: ReadonlyMap<string, RegExp> = new Map([
  ['rsync', /^-\w*e$/],
  ['tar', /^-\w*[IF]$/],
  ['ssh', /^-[oF]/],
  ['scp', /^-[oSF]/],
  ['sftp', /^-[oSF]/],
  ['git', /^-c/],
  ['vi', /^-c/],
  ['vim', /^-c/],
])
/** Variables that say which programs or which code is run. */
const PROGRAM_VARIABLE =
  /^(PATH|IFS|ENV|BASH_ENV|SHELL|EDITOR|VISUAL|PAGER|LD_\w+|GIT_\w+|PYTHON\w+|PERL5\w+|RUBY\w+|NODE_\w+)=/

/**
 * Whether nobody but the author of the form decides which programs a command runs. A value in it must be one plain word, and
 * must come behind the name of a program that the author wrote.
 *
 * The text is read with less care than a shell reads it: quotes do not hold anything together here. So a command may be
 * refused that would do no harm, but never the other way round.
 */
export function isCommandOfAuthor(command: SourcedText): boolean {
  const isTyped = typedCharacters(command)
  if (!typedWords(command.text, isTyped).every((word) => PLAIN_WORD.test(word))) return false
  // A shell begins another command behind these characters.
  return [...command.text.matchAll(/[^;&|(){}`\n\r]+/g)].every(({ index, 0: text }) =>
    isProgramWritten(text, index, isTyped),
  )
}

/** For each character whether somebody else than the author may have made it. */
function typedCharacters({ text, parts }: SourcedText): (at: number) => boolean {
  const typed = new Uint8Array(text.length).fill(1)
  for (const [from, to, origin] of parts) if (origin === 'author') typed.fill(0, from, to)
  return (at) => typed[at] === 1
}

function typedWords(text: string, isTyped: (at: number) => boolean): string[] {
  const words: string[] = []
  let word = ''
  for (let at = 0; at <= text.length; at += 1) {
    if (at < text.length && isTyped(at)) word += text[at]
    else if (word !== '') {
      words.push(word)
      word = ''
    }
  }
  return words
}

/** The same for one command without parts. */
function isProgramWritten(text: string, offset: number, isTyped: (at: number) => boolean): boolean {
  let program = ''
  /** How many words of the author, other than options, must still come before a value may. The last one is the program. */
  let needed = 1
  let isArgumentAProgram = false
  for (const { index, 0: word } of text.matchAll(/\S+/g)) {
    const typedAt = word.split('').findIndex((_, at) => isTyped(offset + index + at))
    const bare = (typedAt < 0 ? word : word.slice(0, typedAt)).replace(/["'\\]/g, '')
    const namesProgram = PROGRAM_OPTION.test(bare) || (PROGRAM_OPTION_OF.get(program)?.test(bare) ?? false)
    if (typedAt >= 0 && (needed > 0 || isArgumentAProgram || namesProgram || PROGRAM_VARIABLE.test(bare))) return false
    isArgumentAProgram = namesProgram
    if (typedAt >= 0) continue
    if (COMMAND_OPTION.test(bare)) needed = 1
    if (needed === 0 || COMMAND_OPTION.test(bare)) continue
    // The word behind an option or `>` may be its argument.
    if (/^-|[<>]/.test(bare)) needed += 1
    else if (!/^[A-Za-z_]\w*=/.test(bare)) {
      needed = neededAfter(bare, program, needed)
      program = bare.replace(/^.*\//, '')
    }
  }
  return true
}

/** How many words must still come after this one. */
function neededAfter(word: string, before: string, needed: number): number {
  const name = word.replace(/^.*\//, '')
  if (CONTAINERS.has(name)) return 1
  if (CONTAINERS.has(before) || WORD_BEFORE_IT.test(before)) {
    if (WORD_BEFORE_IT.test(name)) return 1
    if (STARTING_WORD.test(name)) return 2
    return 0
  }
  const own = STARTERS.get(name)
  return own === undefined ? needed - 1 : own + 1
}

function namesOf(text: string): string[] {
  return text.split(/\s+/)
}
