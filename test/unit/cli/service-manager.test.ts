import { expect, onTestFinished, test } from 'vitest'
import { connectServiceManager } from '../../../control-plane/src/cli/service-manager.js'

test('notices that cannot be sent are told of once', async () => {
  // The sender inherits the environment of this process. It finds nobody there.
  const before = process.env['NOTIFY_SOCKET']
  process.env['NOTIFY_SOCKET'] = '/nowhere/notify'
  onTestFinished(() => {
    if (before === undefined) delete process.env['NOTIFY_SOCKET']
    else process.env['NOTIFY_SOCKET'] = before
  })
  const told: string[] = []
  const manager = connectServiceManager({ NOTIFY_SOCKET: '/nowhere/notify' }, (line) => void told.push(line))
  manager.ready('serves')
  manager.reloading()
  manager.stopping()
  await manager.close()
  expect(told).toEqual([expect.stringMatching(/^the service manager cannot be told how this service is: ./)])
})

test('without a service manager nothing is sent, and nobody is told', async () => {
  const told: string[] = []
  const manager = connectServiceManager({}, (line) => void told.push(line))
  manager.ready('serves')
  manager.reloading()
  manager.stopping()
  await manager.close()
  expect(told).toEqual([])
})
