import { expect, test } from 'vitest'
import { opened } from './opened-socket.js'

test('the answer to its own ping shows that the other side is alive', async () => {
  const { fake, socket } = opened()
  const answer = socket.answers(60_000)
  fake.emit('pong', Buffer.alloc(8))
  fake.emit('pong', fake.lastPing)
  expect(await answer).toBe(true)
  expect([fake.listenerCount('pong'), fake.listenerCount('close')]).toEqual([0, 1])
})

test('another answer, a late one, or the end of the connection shows nothing', async () => {
  const { fake, socket } = opened()
  const late = socket.answers(20)
  fake.emit('pong', Buffer.alloc(8))
  expect(await late).toBe(false)

  const left = socket.answers(60_000)
  fake.emit('close')
  expect(await left).toBe(false)
  expect(await socket.answers(60_000)).toBe(false)
})

test('a runner that is not approved and sends too fast is disconnected, and its messages are ignored', async () => {
  const { fake, heard, send } = opened()
  send('x', 150)
  expect([heard.length, fake.done]).toEqual([150, []])
  send('x', 50)
  expect(heard.slice(150)).toEqual(['ended'])
  expect(fake.done).toEqual(['pause', 'close 4020'])
  await expect.poll(() => fake.done.at(-1)).toBe('terminate')
})

test('a runner that sends too fast is read again after a moment, and loses nothing', async () => {
  const { fake, heard, socket, send } = opened()
  socket.approved()
  send('x', 5001)
  expect([heard.length, fake.done]).toEqual([5001, ['pause']])
  await expect.poll(() => fake.done).toEqual(['pause', 'resume'])
  expect(socket.ended).toBe(false)
})

test('reading goes on when nobody pauses it any more', () => {
  const { fake, socket } = opened()
  socket.pause('session')
  socket.pause('deciding')
  socket.resume('session')
  socket.resume('session')
  expect(fake.done).toEqual(['pause'])
  socket.resume('deciding')
  expect(fake.done).toEqual(['pause', 'resume'])
})

test('silence is counted in consecutive checks, and never while reading pauses', () => {
  const { network, socket } = opened()
  network.bytesRead = 5
  expect([socket.checkSilence(), socket.checkSilence(), socket.checkSilence()]).toEqual([0, 1, 2])
  network.bytesRead = 6
  expect(socket.checkSilence()).toBe(0)
  socket.checkSilence()
  socket.pause('session')
  expect(socket.checkSilence()).toBe(0)
})

test('too many bytes before the hello end the connection, and after it they do not', () => {
  const greedy = opened()
  greedy.network.emit('data', Buffer.alloc(16 * 1024))
  expect(greedy.socket.ended).toBe(false)
  greedy.network.emit('data', Buffer.alloc(1))
  expect(greedy.socket.endedBecause).toBe('too_large')

  const known = opened()
  known.socket.greeted()
  known.network.emit('data', Buffer.alloc(100 * 1024))
  expect(known.socket.ended).toBe(false)
})

test('nothing is done with a connection that is gone, whatever was still to come', async () => {
  const fast = opened()
  fast.socket.approved()
  fast.send('x', 5001)
  const closing = opened()
  closing.socket.close('too_large', 'for the test')
  expect([fast.fake.done, closing.fake.done]).toEqual([['pause'], ['close 4002']])
  fast.fake.emit('close')
  closing.fake.emit('close')
  // A timer that begins later and takes longer ends after theirs.
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect([fast.fake.done, closing.fake.done]).toEqual([['pause'], ['close 4002']])
  expect([fast.heard.slice(-2), closing.heard]).toEqual([
    ['ended', 'gone'],
    ['ended', 'gone'],
  ])
})
