// Checks the Python of the runner agent: ruff for faults of single files, pyright for types and for cycles of imports.
// Both come as npm packages (WebAssembly and JavaScript), so a fresh clone needs no package of Python for it.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, relative } from 'node:path'
import { PositionEncoding, Workspace } from '@astral-sh/ruff-wasm-nodejs'

const ROOT = join(import.meta.dirname, '../..')
/** Where the Python is that this repository ships. */
const FOLDERS = ['runner-agent/ansible', 'runner-agent/bin']

/** The oldest Python of a runner host is the one that ruff and pyright take for granted. */
const RUFF_SETTINGS = {
  'target-version': 'py38',
  'line-length': 140,
  lint: {
    // Pyflakes, errors of pycodestyle, likely faults, import order, and code that cannot be reached or is of no use.
    select: ['F', 'E4', 'E7', 'E9', 'W', 'B', 'I', 'PLE', 'PLW', 'RET5'],
    ignore: [
      'B904', // an error for the user replaces the one of the system; both would be shown
      'PLW2901', // a loop variable may be made ready for use
      'PLW1509', // the one `preexec_fn` is in a program with a single thread
      'PLW0603', // one module counts for its process
      'E402', // the programs beside the package set the path before they import it
    ],
    isort: { 'known-first-party': ['holdfast_job'], 'known-third-party': ['ansible'] },
  },
}

/** What ruff finds in one text, each as `row:column code message`. */
function lintPython(text, workspace) {
  return workspace
    .check(text)
    .map(({ start_location: at, code, message }) => `${at.row}:${at.column} ${code ?? 'syntax'} ${message}`)
}

function pythonFiles() {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true })
      .filter((name) => name.endsWith('.py'))
      .map((name) => join(ROOT, folder, name)),
  )
}

function checkTypes() {
  const pyright = createRequire(import.meta.url).resolve('pyright/index.js')
  const { status } = spawnSync(process.execPath, [pyright, '--project', join(ROOT, 'pyrightconfig.json')], {
    stdio: 'inherit',
  })
  return status === 0
}

function main() {
  const workspace = new Workspace(RUFF_SETTINGS, PositionEncoding.Utf16)
  const files = pythonFiles()
  const found = files.flatMap((path) =>
    lintPython(readFileSync(path, 'utf8'), workspace).map((line) => `${relative(ROOT, path)}:${line}`),
  )
  for (const line of found) console.error(line)
  const areTypesRight = checkTypes()
  console.log(`python: ${files.length} files, ${found.length} findings of ruff`)
  if (found.length > 0 || !areTypesRight) process.exitCode = 1
}

if (process.argv[1] === import.meta.filename) main()
