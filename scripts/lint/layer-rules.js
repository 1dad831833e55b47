import { posix } from 'node:path'

/**
 * The rules of layers.json: the rooms of a folder stand on floors, and a module imports only from lower floors and from its
 * own room. Rooms of one floor do not know each other. A folder that has a table of its own is looked at with that, too.
 */
export function createLayerRules({ tables: written, only, packages, pure }) {
  const tables = written.map((table) => ({ ...table, floors: rowsOf(table.floors) }))
  return { problemOfPlace, problemOfImport, problemOfPackage }

  /** Why a file has no place in the tables, or null. */
  function problemOfPlace(file) {
    for (const table of tables) {
      if (!isIn(table.folder, file) || roomOf(table, file) !== null) continue
      const rooms = table.floors.flat().filter((room) => !/\.tsx?$/.test(room))
      return `no room of ${table.folder} is the place of this file: put it into ${rooms.join(', ')}, or add its room to layers.json`
    }
    return null
  }

  /** Why one module must not import another, or null. Both are paths from the root. */
  function problemOfImport(file, target) {
    const table = tables.findLast((one) => isIn(one.folder, file) && isIn(one.folder, target))
    if (!table) {
      return tables.some((one) => isIn(one.folder, file)) ? 'one program never imports the files of another' : null
    }
    const [from, to] = [roomOf(table, file), roomOf(table, target)]
    if (from !== null && to !== null && from.room !== to.room) {
      if (from.floor === to.floor) return `${from.room} and ${to.room} stand on one floor of ${table.folder}`
      if (from.floor > to.floor) return `${from.room} stands below ${to.room} in ${table.folder}`
    }
    const narrow = only.find(
      (one) => isIn(one.from, file) && isIn(one.into, target) && !isAmong(one.except ?? [], file),
    )
    if (
      !narrow ||
      isAmong(
        narrow.imports.map((path) => posix.join(narrow.into, path)),
        target,
      )
    )
      return null
    return `of ${narrow.into}, ${narrow.from} imports only ${narrow.imports.join(', ')}: ${narrow.why}`
  }

  /** Why a module must not import a package, or null. */
  function problemOfPackage(file, name, isType) {
    const folder = pure.find((one) => isIn(one.folder, file))
    if (folder && !folder.packages.some((pattern) => matches(pattern, name))) return folder.why
    // Tests and scripts may know everything.
    if (!tables.some((one) => isIn(one.folder, file))) return null
    const rule = packages.find((one) => one.packages.some((pattern) => matches(pattern, name)))
    if (!rule || (isType && rule.types)) return null
    return isAmong(rule.in, file) && !isAmong(rule.except ?? [], file) ? null : rule.why
  }
}

/** The rows of a table, from the top down. Floors with names have several rows each. */
function rowsOf(floors) {
  return Array.isArray(floors) ? floors : Object.values(floors).flat()
}

/** @returns the room of a file in a table and its row, 0 at the top; null: it has none */
function roomOf({ floors, folder }, file) {
  const rest = file.slice(folder.length + 1)
  const isDirect = !rest.includes('/')
  // Whatever puts a room together belongs to what puts the program together.
  const names = [posix.basename(file) === 'compose.ts' ? 'compose.ts' : null, rest.split('/')[0], isDirect ? '.' : null]
  for (const name of names) {
    const floor = floors.findIndex((rooms) => rooms.includes(name))
    if (floor !== -1) return { floor, room: name }
  }
  return null
}

function isIn(folder, file) {
  return file.startsWith(`${folder}/`)
}

function isAmong(paths, file) {
  return paths.some((path) => path === file || isIn(path, file))
}

function matches(pattern, name) {
  return pattern.endsWith('/**') ? name.startsWith(pattern.slice(0, -2)) : name === pattern
}
