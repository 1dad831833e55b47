import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/product.js'
import type { Machine } from './machine.js'

/** One instruction of a Containerfile. */
interface Step {
  readonly word: string
  readonly rest: string
}

/** What a recipe says about the programs of its image. */
interface Recipe {
  readonly steps: readonly Step[]
  readonly user: string
  readonly environment: string
  readonly command: readonly string[]
  readonly health: readonly string[]
}

/** An image whose steps were played in a root folder of a machine. */
export interface Image {
  /** Starts what a container of it runs, in the background. Its output goes to this file of the machine. */
  start(settings: Readonly<Record<string, string>>, log: string): Promise<void>
  /** Runs words in it as its user. */
  run(words: readonly string[]): ReturnType<Machine['run']>
  /** Runs its health check once. @returns the exit code */
  health(): Promise<number>
  /** Sends SIGTERM to the program of the container and waits for its end. */
  stop(): Promise<void>
}

const LIST = /^\[.*\]$/

function readRecipe(name: string): Recipe {
  const lines = readFileSync(join(ROOT, 'docs/containers', name), 'utf8').split('\n')
  const steps = lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line): Step => ({ word: line.slice(0, line.indexOf(' ')), rest: line.slice(line.indexOf(' ') + 1) }))
  const last = (word: string): string => {
    const found = steps.findLast((step) => step.word === word)
    if (!found) throw new Error(`${name} has no ${word}`)
    return found.rest
  }
  const listOf = (text: string): string[] => {
    if (!LIST.test(text)) throw new Error(`${name}: ${text} is not a list`)
    return JSON.parse(text) as string[]
  }
  return {
    steps,
    user: last('USER'),
    environment: last('ENV'),
    command: [...listOf(last('ENTRYPOINT')), ...listOf(last('CMD'))],
    health: listOf(last('HEALTHCHECK').replace(/^.* CMD (?=\[)/, '')),
  }
}

/** For the shell of the machine. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}

/**
 * Plays the steps of a recipe in a layer above the root folder of a machine that has no network. apt is left without
 * sources there: what a recipe installs beside the package is installed in the machine already.
 * @param packages the folder with the packages, as the machine sees it
 */
export async function buildImage(machine: Machine, name: string, packages: string): Promise<Image> {
  const recipe = readRecipe(name)
  const folder = `/var/tmp/image-${name}`
  const root = `${folder}/root`
  await machine.get(`mkdir -p ${folder} && mount -t tmpfs layer ${folder} && mkdir ${folder}/changes ${folder}/work ${root}
    mount -t overlay -o lowerdir=/,upperdir=${folder}/changes,workdir=${folder}/work overlay ${root}
    mount --bind /proc ${root}/proc
    mount --rbind /dev ${root}/dev
    mount -t tmpfs run ${root}/run
    mount -t tmpfs -o mode=1777 tmp ${root}/tmp
    rm -rf ${root}/etc/apt/sources.list ${root}/etc/apt/sources.list.d/*`)
  const inside = (script: string) => `chroot ${root} /bin/sh -ec ${quoted(script)}`
  for (const { word, rest } of recipe.steps) {
    if (word === 'COPY') {
      const [from = '', to = ''] = rest.split(' ')
      await machine.get(`mkdir -p ${root}${to} && cp ${packages}/${from} ${root}${to}`)
    } else if (word === 'RUN') await machine.get(inside(rest))
    else if (!['ARG', 'FROM', 'ENV', 'USER', 'VOLUME', 'EXPOSE', 'HEALTHCHECK', 'ENTRYPOINT', 'CMD'].includes(word)) {
      throw new Error(`${name}: nobody plays ${word} here`)
    }
  }
  const { user, environment, command, health } = recipe
  const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
  let given = ''
  const asUser = (words: readonly string[]): string =>
    `setpriv --reuid=${user} --regid=${user} --init-groups env -i ${PATH} ${environment} ${given} ${words.map(quoted).join(' ')}`
  const run = (words: readonly string[]) => machine.run(inside(`cd /; exec ${asUser(words)}`))
  const pidFile = `${folder}/pid`
  return {
    run,
    async start(settings, log) {
      given = Object.entries(settings)
        .map(([setting, value]) => `${setting}=${quoted(value)}`)
        .join(' ')
      const program = `cd /; exec ${asUser(command)}`
      // The pid is that of the program: every part of this line replaces itself by the next.
      await machine.get(
        `setsid sh -c ${quoted(`echo $$ >${pidFile}; exec chroot ${root} /bin/sh -ec ${quoted(program)}`)} >${log} 2>&1 </dev/null &`,
      )
    },
    health: async () => (await run(health)).status,
    async stop() {
      await machine.get(`kill -TERM "$(cat ${pidFile})"; tail --pid="$(cat ${pidFile})" -f /dev/null`)
    },
  }
}
