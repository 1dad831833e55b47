import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Machine } from './machine.js'

/** A network that joins machines, and nobody else. */
export interface Network {
  /** Gives a machine its host name and its address, and an interface that reaches the others. A reboot takes them away. */
  connect(machine: Machine, host: string): Promise<void>
  /** Ends the network. */
  close(): Promise<void>
}

/** The switch of the network, in a namespace of its own. */
const SWITCH = 'ip link add name switch type bridge && ip link set switch up'

/** Why no network of machines can be made here; null: it can. */
export function whyNoNetwork(): string | null {
  const probe = `${SWITCH} && ip link add name port1 type veth peer name eth0 && ip link set port1 master switch`
  const { status, stderr } = spawnSync('unshare', ['--net', 'sh', '-c', probe], { encoding: 'utf8' })
  return status === 0 ? null : `a network of machines cannot be made here: ${stderr.trim()}`
}

/** Makes a network for machines of these names, which all of them know. */
export async function makeNetwork(hosts: readonly string[]): Promise<Network> {
  const addressOf = (host: string): string => `10.77.0.${hosts.indexOf(host) + 1}`
  const names = hosts.map((host) => `${addressOf(host)} ${host}\n`).join('')
  // The namespace with all that is in it ends with this process, however that ends.
  const words = ['--pdeathsig', 'KILL', 'unshare', '--net', 'sh', '-c', `${SWITCH} && echo up && exec sleep infinity`]
  const holder = spawn('setpriv', words, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(holder, 'exit')
  await Promise.race([
    once(holder.stdout, 'data'),
    ended.then(() => {
      throw new Error('the network could not be made')
    }),
  ])
  return {
    async connect(machine, host) {
      const port = `port${hosts.indexOf(host) + 1}`
      const script = `ip link add name ${port} type veth peer name eth0 netns ${machine.firstProcess()}
        ip link set ${port} master switch up`
      execFileSync('nsenter', ['--target', String(holder.pid), '--net', 'sh', '-ec', script], { stdio: 'pipe' })
      await machine.get(`ip address add ${addressOf(host)}/24 dev eth0 && ip link set eth0 up
        echo ${host} >/etc/hostname && hostname ${host}
        printf '127.0.0.1 localhost\\n${names.replaceAll('\n', String.raw`\n`)}' >/etc/hosts`)
    },
    async close() {
      holder.kill('SIGKILL')
      await ended
    },
  }
}
