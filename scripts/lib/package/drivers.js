// The drivers of databases and of ssh that the bundle of the control plane leaves out, because few services load them. In the
// package each is one file in the place of its package and everything below it.
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { build } from 'esbuild'

const DRIVERS = ['tedious', 'oracledb', 'mongodb', 'ssh2']

/** Names that a module in the form of CommonJS can give as its own. */
const NAME = /^[A-Za-z_$][\w$]*$/

const require = createRequire(resolve('control-plane/package.json'))

/**
 * Writes the drivers into the tree of a package.
 * @param {ReturnType<import('./debian.js').packageTree>} tree
 * @param {string} home where the program lies in it
 */
export async function writeDrivers(tree, home) {
  for (const driver of DRIVERS) {
    const { outputFiles } = await build({
      entryPoints: [require.resolve(driver)],
      bundle: true,
      write: false,
      format: 'cjs',
      platform: 'node',
      target: 'node20',
      minifySyntax: true,
      logLevel: 'warning',
      plugins: [{ name: 'optional packages', setup: leaveMissingOut }],
    })
    const names = Object.keys(require(driver)).filter((name) => NAME.test(name) && name !== 'default')
    const folder = join(home, 'node_modules', driver)
    tree.write(join(folder, 'driver.cjs'), outputFiles[0].text)
    const given = `import driver from './driver.cjs'\n\nexport default driver\nexport const { ${names.join(', ')} } = driver\n`
    tree.write(join(folder, 'index.js'), given)
    const { version } = require(`${driver}/package.json`)
    const manifest = { name: driver, version, type: 'module', main: 'index.js' }
    tree.write(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
  }
}

/** Packages that a driver uses where they are, such as those for Kerberos: they are not installed, and stay left out. */
function leaveMissingOut(builder) {
  builder.onResolve({ filter: /^[^./]/ }, async ({ path, resolveDir, kind, pluginData }) => {
    if (pluginData === 'asked' || kind === 'entry-point') return null
    const found = await builder.resolve(path, { resolveDir, kind, pluginData: 'asked' })
    return found.errors.length > 0 ? { path, external: true } : null
  })
  // A driver that can be made faster by a module for one machine works without it, too.
  builder.onResolve({ filter: /\.node$/ }, ({ path }) => ({ path, external: true }))
}
