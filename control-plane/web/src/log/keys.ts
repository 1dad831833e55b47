import type { LogModel } from './log-model.js'

/** What keys do that the model does not. */
export interface KeyActions {
  readonly find: () => void
  readonly help: () => void
  readonly toggleTimes?: () => void
  /** False: keys of one character do nothing, for those who speak to their computer. */
  readonly hasLetters: () => boolean
  readonly rowHeight: () => number
  readonly pageHeight: () => number
}

type Action = (model: LogModel, actions: KeyActions) => void

const LETTERS: Readonly<Record<string, Action>> = {
  j: (model) => model.moveCursor(1),
  k: (model) => model.moveCursor(-1),
  '[': (model) => model.moveSection(-1),
  ']': (model) => model.moveSection(1),
  e: (model) => model.moveFailure(1),
  E: (model) => model.moveFailure(-1),
  f: (model) => model.toggleFollowing(),
  w: (model) => model.toggleWrap(),
  n: (model) => model.moveHit(1),
  N: (model) => model.moveHit(-1),
  '/': (_model, actions) => actions.find(),
  '?': (_model, actions) => actions.help(),
}

const OTHERS: Readonly<Record<string, Action>> = {
  ArrowDown: (model, actions) => model.moveBy(actions.rowHeight()),
  ArrowUp: (model, actions) => model.moveBy(-actions.rowHeight()),
  PageDown: (model, actions) => model.moveBy(actions.pageHeight()),
  PageUp: (model, actions) => model.moveBy(-actions.pageHeight()),
  ' ': (model, actions) => model.moveBy(actions.pageHeight()),
  Home: (model) => model.toStart(),
  End: (model) => model.toEnd(),
  Enter: (model) => model.toggleFold(model.cursor),
}

/** Does what a key says. @returns false when it says nothing here, so that the browser has it */
export function pressKey(event: KeyboardEvent, model: LogModel, actions: KeyActions): boolean {
  if (event.altKey || event.metaKey) return false
  if (event.ctrlKey) {
    // Once it is ours; while the field has the focus, it is the search of the browser.
    if (event.key !== 'f') return false
    actions.find()
    return true
  }
  const action = OTHERS[event.key] ?? (actions.hasLetters() ? LETTERS[event.key] : undefined)
  action?.(model, actions)
  return action !== undefined
}
