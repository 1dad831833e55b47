import { many } from './count.js'

const manyLines = (lines: number) => many(lines, 'line', 'lines')

/** Texts of the output view. */
export const logWords = {
  label: 'Output',
  tools: 'Tools of the output',
  fold: (name: string) => (name === '' ? 'Fold' : `Fold ${name}`),
  hiddenLines: (lines: number) => `${manyLines(lines)} folded`,
  outcome: (counts: Readonly<Record<'ok' | 'changed' | 'failed' | 'unreachable', number>>, seconds: number | null) =>
    [
      ...Object.entries(counts)
        .filter(([name, count]) => count > 0 || name === 'ok')
        .map(([name, count]) => `${count.toLocaleString('en')} ${name}`),
      ...(seconds === null ? [] : [`${seconds.toFixed(1)} s`]),
    ].join(' · '),
  showWhole: (bytes: number | null) =>
    bytes === null ? 'Show the whole line' : `Show the whole line (${(bytes / 1000).toFixed(0)} kB)`,
  newLines: (lines: number) => `▼ ${many(lines, 'new line', 'new lines')}`,
  follow: 'Follow',
  toEnd: 'To the end',
  wrap: 'Wrap lines',
  foldAll: 'Fold tasks',
  unfoldAll: 'Unfold all',
  approximate: 'Plays and tasks are approximate: they were read from the text.',
  find: 'Find',
  isPattern: 'Regular expression',
  only: 'Only lines with it',
  wrongPattern: (reason: string) => `This is no regular expression: ${reason}`,
  longPattern: (most: number) => `it has more than ${most} characters`,
  slowPattern: 'This pattern takes too long. What was found stays. Make it simpler.',
  findLabel: 'Find in the output',
  matchCase: 'Match case',
  next: 'Next hit',
  previous: 'Previous hit',
  close: 'Close',
  hits: (current: number, hits: number, isComplete: boolean, isOnly: boolean) => {
    if (hits === 0) return isComplete ? 'Nothing found' : 'Looking …'
    if (isOnly) return `${many(hits, 'line', 'lines')}${isComplete ? '' : ' so far'}`
    const all = `${hits.toLocaleString('en')}${isComplete ? '' : ' so far'}`
    return current < 0 ? `${all} ${hits === 1 ? 'line' : 'lines'}` : `${current + 1} of ${all}`
  },
  lines: manyLines,
  empty: 'This job has printed nothing yet.',
  emptyEnded: 'This job printed nothing.',
  reading: 'More may come',
  ended: 'All of the output is here',
  cut: (time: string) => `Not connected since ${time}. What you see is from then; it goes on by itself.`,
  times: ['Times', 'Times: clock', 'Times: since the start'],
  outcomes: { failed: 'Failed', changed: 'Changed', unreachable: 'Unreachable', warnings: 'Warnings' },
  outcomeTitle: (label: string) => `Show only what tells of it: ${label}`,
  keys: 'Keys',
} as const
