import { describe, expect, test } from 'vitest'
import { callPython } from './python-calls.js'

const call = callPython(`
from holdfast_job import process_tree

def ladder_of(looks, steps, must_end=None):
    """Looks at [time, pids that live then] one after the other. Says for each: is it done, the next look, the signals so far."""
    clock = process_tree.time = Clock(0.0)
    class Tree:
        pids, sent = [], []
        def find(self): return [types.SimpleNamespace(pid=pid) for pid in self.pids]
        def signal(self, number):
            self.sent.append(number)
            return self.find()
    tree = Tree()
    tree.sent = []
    ladder = process_tree.Ladder(tree, steps, must_end)
    said = []
    for clock.now, tree.pids in looks:
        done = ladder.is_done()
        said.append([done, round(ladder.next_look - clock.now, 3), list(tree.sent)])
    return {"said": said, "left": [process.pid for process in ladder.left], "first": sorted(ladder.first_signalled)}
`)

const STEPS = [
  [2, 10],
  [15, 0.05],
]

describe('the ladder that ends a job', () => {
  test('is done at once when no process is left, and looks again in a moment', async () => {
    expect(await call('ladder_of', [[100, []]], STEPS)).toEqual({ said: [[true, 0.1, []]], left: [], first: [] })
  })

  test('takes each step when its time has come, not before, and kills again and again at its end', async () => {
    const looks = [100, 109.99, 110, 110.04, 110.05, 110.09, 110.1, 110.2].map((time) => [time, [7, 8]])
    expect(await call('ladder_of', looks, STEPS)).toEqual({
      said: [
        [false, 0.1, [2]],
        [false, 0.01, [2]],
        [false, 0.05, [2, 15]],
        [false, 0.01, [2, 15]],
        [false, 0.05, [2, 15, 9]],
        [false, 0.01, [2, 15, 9]],
        [false, 0.05, [2, 15, 9, 9]],
        [false, 0.05, [2, 15, 9, 9, 9]],
      ],
      left: [7, 8],
      first: [7, 8],
    })
  })

  test('remembers whom the first signal reached, not who was there later', async () => {
    const looks = [
      [100, [7, 8]],
      [110, [8, 9]],
      [111, []],
    ]
    expect(await call('ladder_of', looks, STEPS)).toMatchObject({ left: [], first: [7, 8] })
  })

  test('gives up those that cannot be ended 30 seconds after the first kill, not before', async () => {
    const looks = [100, 129.9, 129.99, 130].map((time) => [time, [7]])
    expect(await call('ladder_of', looks, [])).toEqual({
      said: [
        [false, 0.05, [9]],
        [false, 0.05, [9, 9]],
        [false, 0.05, [9, 9, 9]],
        // A second after the last signal nothing has changed.
        [false, 0.04, [9, 9, 9]],
      ],
      left: [7],
      first: [7],
    })
    const last = [100, 129.9, 130].map((time) => [time, [7]])
    expect(await call('ladder_of', last, [])).toMatchObject({
      said: [{}, {}, [true, expect.anything(), [9, 9]]],
      left: [7],
    })
    const early = [100, 129.9, 129.999].map((time) => [time, [7]])
    expect(await call('ladder_of', early, [])).toMatchObject({ said: [{}, {}, [false, 0.05, [9, 9, 9]]] })
  })

  test('never gives up the program itself, but tries more rarely', async () => {
    const looks = [100, 130, 130.5, 131].map((time) => [time, [7, 8]])
    expect(await call('ladder_of', looks, [], 8)).toEqual({
      said: [
        [false, 0.05, [9]],
        [false, 0.1, [9, 9]],
        [false, 0.1, [9, 9]],
        [false, 0.1, [9, 9, 9]],
      ],
      left: [7, 8],
      first: [7, 8],
    })
    // The program has ended: the other one is given up.
    const ended = await call('ladder_of', [...looks, [132, [7]]], [], 8)
    expect(ended).toMatchObject({ left: [7], said: [{}, {}, {}, {}, [true, expect.anything(), [9, 9, 9]]] })
  })
})
