// holdfast-runner: the agent with its Node.js, its unit and its settings.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildDeb, packagedUnit, packageTree } from './debian.js'
import { licencesOf } from './parts.js'

const HOME = 'usr/lib/holdfast-runner'

export async function buildRunner(given) {
  const { runtime } = given
  const tree = packageTree(join(given.folder, 'holdfast-runner'))
  // Compiled code is for the Node.js that made it, which is not the one of the package.
  const isWanted = (path) => !/(__pycache__|\.map|\.code)$/.test(path)
  tree.copy(runtime.program, `${HOME}/node`)
  tree.copy('runner-agent/bundle', `${HOME}/bundle`, isWanted)
  tree.copy('runner-agent/ansible', `${HOME}/ansible`, isWanted)
  tree.copy('runner-agent/bin/with-service-manager.py', `${HOME}/bin/with-service-manager.py`)
  tree.copy('runner-agent/package.json', `${HOME}/package.json`)
  tree.write('usr/bin/holdfast-runner', launcher(), 0o755)
  tree.write(`${HOME}/bundle/launch.js`, "import { main } from './cli.js'\n\nawait main()\n")
  tree.write('usr/lib/systemd/system/holdfast-runner.service', packagedUnit('holdfast-runner.service'))
  for (const file of ['holdfast-runner-strict.conf', 'holdfast-runner-isolation.conf', 'holdfast-jobs.sysusers.conf']) {
    tree.copy(join('docs/systemd', file), `usr/share/holdfast-runner/${file}`)
  }
  tree.copy('scripts/lib/package/runner.env', 'etc/holdfast/runner.env')
  tree.copy(runtime.licence, 'usr/share/doc/holdfast-runner/node-LICENSE')
  tree.write('usr/share/doc/holdfast-runner/copyright', licencesOf('runner-agent'))
  buildDeb({
    tree,
    name: 'holdfast-runner',
    architecture: runtime.architecture,
    conffiles: ['/etc/holdfast/runner.env'],
    scripts: 'runner',
    given,
    fields: {
      Depends: 'python3 (>= 3.8), adduser, libstdc++6',
      Recommends: 'ansible-core | ansible',
      Description:
        'runs playbooks on this host for a Holdfast control plane\n' +
        ' The agent dials the control plane, asks to join and runs the playbooks of jobs.\n' +
        ' An upgrade leaves running playbooks alone and takes them up again.',
    },
  })
}

/** The switches of the program's own first line, with the Node.js of the package, on the state folder of its unit. */
function launcher() {
  const [first = ''] = readFileSync('runner-agent/bin/holdfast-runner.js', 'utf8').split('\n')
  const switches = first.replace(/^#!.*\bnode /, '')
  const state = 'export RTE_STATE_PATH="${RTE_STATE_PATH:-/var/lib/holdfast-runner}"'
  return `#!/bin/sh\n${state}\nexec /${HOME}/node ${switches} /${HOME}/bundle/launch.js "$@"\n`
}
