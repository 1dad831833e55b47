import { existsSync, mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { serviceOfFile } from './answering.js'

const { service, person } = await serviceOfFile()

const run = (...args: readonly string[]) => person.run(['job', ...args])

describe('job download into a file', () => {
  it('saves every byte, says so, and leaves nothing else in the folder', async () => {
    service.addJob({ output: Buffer.from('ä line\n\u001b[31m') })
    const path = join(person.home, 'out.txt')
    expect(await run('download', '1', '--output', path)).toEqual({
      code: 0,
      stdout: '',
      stderr: `Saved ${path} (13 bytes).\n`,
    })
    expect(readFileSync(path, 'utf8')).toBe('ä line\n\u001b[31m')
    expect(readdirSync(person.home)).toEqual(['out.txt'])
  })

  it('leaves no file when the connection breaks in the middle', async () => {
    service.addJob({ output: Buffer.from('the first half\n') })
    service.breaksDownloads = true
    const path = join(person.home, 'out.txt')
    const { code, stderr } = await run('download', '1', '-o', path)
    expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining(`Cannot reach ${service.address}`) })
    expect(readdirSync(person.home)).toEqual([])
  })

  it('says why a file cannot be written', async () => {
    service.addJob({ output: Buffer.from('text\n') })
    const path = join(person.home, 'no/such/out.txt')
    expect(await run('download', '1', '-o', path)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^holdfast: Cannot write .*out\.txt: ENOENT/),
    })
  })

  it('says why a file cannot get its name, and leaves nothing of it', async () => {
    service.addJob({ output: Buffer.from('text\n') })
    const path = join(person.home, 'folder')
    mkdirSync(path)
    expect(await run('download', '1', '-o', path)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^holdfast: Cannot write .*folder: EISDIR/),
    })
    expect(existsSync(`${path}.partial`)).toBe(false)
  })
})

describe('the end of a job', () => {
  it('job delete removes it and prints the sentence of the server', async () => {
    service.override = () => ({ status: 200, body: { message: 'Job 1 was deleted' } })
    expect(await run('delete', '1')).toEqual({ code: 0, stdout: 'Job 1 was deleted\n', stderr: '' })
    expect(service.seen).toMatchObject([{ method: 'DELETE', path: '/job/1' }])
    expect(JSON.parse((await run('delete', '1', '--json')).stdout)).toEqual({ message: 'Job 1 was deleted' })
  })
})
