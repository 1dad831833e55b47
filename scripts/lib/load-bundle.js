// Lies in every bundle as load.js and runs its modules. The engine gets the code that it has compiled before, where that is
// there: finding out what 3 MB of text mean was a third of the work of a start. That code is a hint. The engine itself refuses
// what another version of Node.js or other switches have made, and then compiles the module from its text.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import vm from 'node:vm'

const FOLDER = import.meta.dirname
const requireHere = createRequire(import.meta.url)
const importHere = (name) => import(name)
const resolveUrl = (name) => pathToFileURL(requireHere.resolve(name)).href
/** Of SHA-256. */
const DIGEST_BYTES = 32

/** The modules that were loaded, by their names. */
const loaded = new Map()

/**
 * What a module of this bundle exports.
 * @param {string} name such as './main-ABCDEFGH.js'
 */
export function load(name) {
  const known = loaded.get(name)
  if (known) return known.module.exports
  const path = join(FOLDER, name)
  const text = readFileSync(path)
  const script = new vm.Script(text.latin1Slice(), {
    // The compiled code brings its own. So it is the same wherever the bundle lies.
    filename: join('bundle', name),
    cachedData: compiledBefore(path, text),
  })
  const module = { exports: {} }
  loaded.set(name, { module, script, path })
  try {
    script.runInThisContext()(module.exports, requireFor, module, importHere, pathToFileURL(path).href, resolveUrl)
    return module.exports
  } catch (error) {
    // The next one who asks is told the same, and gets no half of a module.
    loaded.delete(name)
    throw error
  }
}

/** Keeps what the engine has compiled of all modules that were loaded, for the next starts. */
export function keepCompiled() {
  for (const { script, path } of loaded.values()) {
    const code = script.createCachedData()
    writeFileSync(`${path}.code`, Buffer.concat([digestOf(readFileSync(path), code), code]))
  }
}

const requireFor = Object.assign((name) => (name.startsWith('./') ? load(name) : requireHere(name)), requireHere)

/** Nothing, unless it is whole, and of this text: the engine compares no more than lengths. */
function compiledBefore(path, text) {
  try {
    const kept = readFileSync(`${path}.code`)
    const code = kept.subarray(DIGEST_BYTES)
    return digestOf(text, code).equals(kept.subarray(0, DIGEST_BYTES)) ? code : undefined
  } catch {
    return undefined
  }
}

function digestOf(text, code) {
  return createHash('sha256').update(text).update(code).digest()
}
