import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from 'esbuild'
import { ROOT } from '../../support/product.js'

const SOURCE = join(ROOT, 'runner-agent')
/** Packages in the form of CommonJS ask for modules of Node.js by `require`. */
const BANNER =
  "import { createRequire as createRequireHere } from 'node:module'; const require = createRequireHere(import.meta.url);"

/** Packs the whole runner agent, with the packages that it needs, so that it runs wherever it is unpacked. */
export async function packAgent(target: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-freeze-'))
  try {
    for (const part of ['bin', 'ansible', 'package.json']) {
      const filter = (path: string) => !path.includes('__pycache__')
      cpSync(join(SOURCE, part), join(folder, part), { recursive: true, filter })
    }
    mkdirSync(join(folder, 'dist'))
    const { outputFiles } = await build({
      entryPoints: [join(SOURCE, 'dist/cli.js')],
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      platform: 'node',
      target: 'node20',
      banner: { js: BANNER },
      legalComments: 'inline',
    })
    writeFileSync(join(folder, 'dist/cli.js'), outputFiles[0]?.contents ?? '')
    const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner']
    execFileSync('tar', [...same, '-I', 'gzip -9n', '-cf', target, '-C', folder, '.'])
  } finally {
    rmSync(folder, { recursive: true })
  }
}
