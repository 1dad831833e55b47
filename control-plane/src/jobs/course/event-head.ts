/** The fields of an event before its result that lists, outline and matrix need. */
export interface EventHead {
  readonly playId: string | null
  readonly taskId: string | null
  readonly action: string | null
  readonly role: string | null
  readonly path: string | null
  readonly changed: boolean
  readonly ignored: boolean
  readonly rescued: boolean
  /** It is the final event of a task that ansible leaves out of its recap. */
  readonly uncounted: boolean
  /** The item of a loop; undefined: the event has no item. */
  readonly item: unknown
}

const NOTHING: EventHead = {
  playId: null,
  taskId: null,
  action: null,
  role: null,
  path: null,
  changed: false,
  ignored: false,
  rescued: false,
  uncounted: false,
  item: undefined,
}

/**
 * The text at which the result begins. It cannot be a part of a text value, because there its quotes would be escaped.
 */
const RESULT = Buffer.from(',"result":')

/** Most characters that are kept of a field. */
const MAX_CHARACTERS = 1000

/**
 * Reads the fields before the result, which comes last and may be long. A line that cannot be read gives no fields.
 * Never throws.
 */
export function headOf(line: Buffer): EventHead {
  const event = parsedHead(line)
  if (event === null) return NOTHING
  return {
    playId: textIn(event.play_uuid),
    taskId: textIn(event.task_uuid),
    action: textIn(event.action),
    role: textIn(event.role),
    path: textIn(event.path),
    changed: event.changed === true,
    ignored: event.ignored === true,
    rescued: event.rescued === true,
    uncounted: event.uncounted === true,
    item: event.item,
  }
}

function parsedHead(line: Buffer): Record<string, unknown> | null {
  const cut = line.indexOf(RESULT)
  // An item of a loop may have a member with the name of the result. Then the part before it is not JSON, and the whole
  // line is read.
  return (cut === -1 ? null : parsed(`${line.toString('utf8', 0, cut)}}`)) ?? parsed(line.toString('utf8'))
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    // The line was cut, or a playbook wrote it.
    return null
  }
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value.slice(0, MAX_CHARACTERS) : null
}
