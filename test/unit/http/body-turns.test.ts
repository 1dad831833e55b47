import { expect, test } from 'vitest'
import { createBodyTurns } from '../../../control-plane/src/http/server/body-turns.js'

/** Asks for turns in this order. @returns who has begun, in order, and how to end a turn */
function scene(most: number, senders: readonly string[]) {
  const turns = createBodyTurns(most)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  for (const [at, sender] of senders.entries()) {
    const name = `${sender}${at}`
    void turns.take(sender).then((end) => {
      begun.push(name)
      ends.set(name, end)
    })
  }
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return {
    async begun() {
      await settle()
      return [...begun]
    },
    end: (name: string) => ends.get(name)?.(),
  }
}

test('at most as many long bodies are handled at once as there are turns', async () => {
  const { begun, end } = scene(2, ['ann', 'ben', 'cy'])
  expect(await begun()).toEqual(['ann0', 'ben1'])
  end('ben1')
  expect(await begun()).toEqual(['ann0', 'ben1', 'cy2'])
})

test('a sender of many bodies has one turn at a time, and others do not wait for it', async () => {
  const { begun, end } = scene(2, ['ann', 'ann', 'ann', 'ben', 'ben'])
  expect(await begun()).toEqual(['ann0', 'ben3'])
  end('ben3')
  expect(await begun()).toEqual(['ann0', 'ben3', 'ben4'])
  end('ann0')
  expect(await begun()).toEqual(['ann0', 'ben3', 'ben4', 'ann1'])
})

test('senders follow one another in turn', async () => {
  const { begun, end } = scene(1, ['ann', 'ann', 'ben', 'cy'])
  for (const name of ['ann0', 'ben2', 'cy3']) {
    await begun()
    end(name)
  }
  expect(await begun()).toEqual(['ann0', 'ben2', 'cy3', 'ann1'])
})

test('a turn that is ended twice frees one place', async () => {
  const { begun, end } = scene(1, ['ann', 'ben', 'cy'])
  await begun()
  end('ann0')
  end('ann0')
  expect(await begun()).toEqual(['ann0', 'ben1'])
})
