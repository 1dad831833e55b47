import { expect, test } from 'vitest'
import { askPython } from './python-lines.js'

/** Ansible's counting, and what is told of it host by host. */
const ask = askPython(`
from holdfast_job.recap_words import RecapWords

def answer(question):
    class Stats:
        """Counts for the recap."""
        counted = []
        def increment(self, what, host, by=1):
            self.counted.append([what, host, by])
            return "returned"
    class Unknown:
        pass
    words, told = RecapWords(), []
    kind = {"known": Stats, "unknown": Unknown, "unwatched": Stats}[question]
    if question != "unwatched": words.watch(kind)
    told.append(words.take("a"))
    if question == "unknown": return [told, hasattr(kind, "increment")]
    stats = kind()
    returned = [stats.increment("ok", "a"), stats.increment("changed", "a", by=2), stats.increment(what="dark", host="b")]
    told += [words.take("a"), words.take("a"), words.take("b"), words.take("nobody")]
    return [told, returned, stats.counted, kind.increment.__name__]
`)

const counted = [
  ['ok', 'a', 1],
  ['changed', 'a', 2],
  ['dark', 'b', 1],
]
const returned = ['returned', 'returned', 'returned']

test('what ansible counts for a host is told once, and ansible counts as ever', async () => {
  expect(await ask('known')).toEqual([[[], ['ok', 'changed'], [], ['dark'], []], returned, counted, 'increment'])
})

test('nothing is known before somebody listens, nor where ansible counts in another way', async () => {
  expect(await ask('unwatched')).toEqual([[null, null, null, null, null], returned, counted, 'increment'])
  expect(await ask('unknown')).toEqual([[null], false])
})
