import { writeFile } from 'node:fs/promises'
import { generatedFiles } from './files.js'

for (const [path, text] of Object.entries(await generatedFiles())) {
  await writeFile(path, text)
  process.stdout.write(`${path}\n`)
}
