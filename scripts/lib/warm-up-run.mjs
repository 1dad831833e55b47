// One run of a program of a bundle (warm-up.mjs). What it has compiled is kept when it ends.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [bundle, entry, ...words] = process.argv.slice(2)
const { keepCompiled } = await import(pathToFileURL(join(bundle, 'load.js')).href)
process.on('exit', keepCompiled)
process.argv = [process.argv[0], join(bundle, entry), ...words]
const { main } = await import(pathToFileURL(join(bundle, entry)).href)
await main()
