import type { LogModel } from './log-model.js'

/** The actions of keys that are not part of the model. */
export interface KeyActions {
  readonly find: () => void
  /** Does what is not loaded with the page: opens the menu of the line with the cursor, or the list of the keys. */
  readonly more: (action: MoreAction) => void
  readonly toggleTimes: () => void
  /** False: keys of one character do nothing. This is for people who control their computer by speech. */
  readonly hasLetters: () => boolean
  readonly rowHeight: () => number
  readonly pageHeight: () => number
}

/** What a view of an output loads when somebody asks for it. */
export type MoreAction = 'menu' | 'keys'

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
  t: (_model, actions) => actions.toggleTimes(),
  m: (_model, actions) => actions.more('menu'),
  '?': (_model, actions) => actions.more('keys'),
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
  ContextMenu: (_model, actions) => actions.more('menu'),
}

/** Does the action of a key. @returns false when the key has no action here, so that the browser handles it */
export function pressKey(event: KeyboardEvent, model: LogModel, actions: KeyActions): boolean {
  if (event.altKey || event.metaKey) return false
  if (event.ctrlKey) {
    // The first press is our search. While the search field has the focus, the key opens the search of the browser.
    if (event.key !== 'f') return false
    actions.find()
    return true
  }
  const action =
    OTHERS[event.shiftKey && event.key === 'F10' ? 'ContextMenu' : event.key] ??
    (actions.hasLetters() ? LETTERS[event.key] : undefined)
  action?.(model, actions)
  return action !== undefined
}
