import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { JobOrder, JobUpload } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { createFaults, PROGRAMS } from '../chaos/kit/preload/faults.js'
import { spooledJob } from './agent-process.js'
import { sha256Of, type StoredJob } from './fake-control-plane.js'
import { orderOf, play, publish, waitFor } from './playbooks.js'
import { extravarsYaml } from '../../runner-agent/src/playbook/extravars-text.js'
import { createSetting, exactEnd, type Setting } from './setting.js'
import { waitUntil } from './waiting.js'

const MIB = 1024 * 1024
const STORED = '/app/uploads/0123456789abcdef0123456789abcdef'

/** A file of the control plane, as an order names it and as the extra variables describe it. */
function uploadOf({ controlPlane }: Setting, content: Buffer, name = 'site.pem', path = STORED) {
  const upload: JobUpload = {
    name,
    placeholder: path,
    sha256: controlPlane.addBlob(content),
    size: content.length,
  }
  const description = { originalname: name, destination: '/app/uploads', filename: path.slice(-32), path, size: 1 }
  return { upload, description }
}

/** A job that prints where its files are, what they are, and waits until it may end. */
function offerJob(setting: Setting, change: Partial<JobOrder>): StoredJob {
  const { controlPlane, folder } = setting
  const look = {
    name: 'look',
    shell:
      'sha256sum {{ cert.path }}; stat -c "mode %a" {{ cert.path }} $(dirname {{ cert.path }}); ls -a $(dirname {{ cert.path }})',
  }
  const tell = { debug: { msg: 'cert={{ cert | to_json }} same={{ same | default("") }}' } }
  const manifest = publish(controlPlane, { 'site.yml': play(look, tell, waitFor(join(folder, 'go'))) })
  return controlPlane.offer(orderOf(manifest, { verbose: true, ...change }))
}

const letGo = ({ folder }: Setting) => writeFileSync(join(folder, 'go'), '')
const uploadCache = ({ statePath }: Setting) => join(statePath, 'cache', 'uploads')

describe('uploaded files of a job', () => {
  test('lie in a folder of the job, for nobody else to read, and the variable says where', async () => {
    const setting = await createSetting()
    const content = randomBytes(3 * MIB + 17)
    const { upload, description } = uploadOf(setting, content)
    await setting.join()
    const extravars = { inline: { cert: description, same: [description.path] } }
    const job = offerJob(setting, { uploads: [upload], extravars })
    const folder = await waitUntil('the job is in the spool', () => spooledJob(setting.statePath))
    const path = join(folder, 'uploads', '1', 'site.pem')
    expect(readFileSync(path).equals(content)).toBe(true)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(statSync(join(folder, 'uploads', '1')).mode & 0o777).toBe(0o700)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(readFileSync(join(folder, 'extravars.yml'), 'utf8')).toBe(
      extravarsYaml(
        {
          cert: { ...description, destination: join(folder, 'uploads', '1'), filename: 'site.pem', path },
          same: [path],
        },
        false,
      ),
    )
    letGo(setting)
    const end = await exactEnd(setting.controlPlane, job)
    expect(end.exit_code).toBe(0)
    expect(end.text).toContain(sha256Of(content))
    expect(setting.controlPlane.uploadsWanted).toEqual([{ sha256: upload.sha256, offset: 0 }])
    await waitUntil('the folder is gone', () => !existsSync(folder))
    expect(readdirSync(uploadCache(setting))).toEqual([])
    expect(readdirSync(join(setting.statePath, 'cache', 'blobs')).length).toBeLessThan(4)
  })

  test('come with local playbooks, too; an empty one and the same one twice are files like others', async () => {
    const setting = await createSetting()
    const own = join(setting.folder, 'own')
    mkdirSync(own)
    writeFileSync(join(own, 'site.yml'), play({ name: 'look', shell: 'cat {{ a.path }} {{ b.path }} {{ c.path }}' }))
    const a = uploadOf(setting, Buffer.from('the words'), 'a', `${STORED}a`)
    const b = uploadOf(setting, Buffer.from('the words'), 'a', `${STORED}b`)
    const c = uploadOf(setting, Buffer.alloc(0), 'empty', `${STORED}c`)
    await setting.join({ RTE_FILES: 'local', ANSIBLE_PATH: own })
    const job = setting.controlPlane.offer(
      orderOf('0'.repeat(64), {
        verbose: true,
        uploads: [a.upload, b.upload, c.upload],
        extravars: { inline: { a: a.description, b: b.description, c: c.description } },
      }),
    )
    const end = await exactEnd(setting.controlPlane, job)
    expect(end).toMatchObject({ exit_code: 0 })
    expect(end.text).toContain('the wordsthe words')
    expect(setting.controlPlane.uploadsWanted).toHaveLength(1)
  })

  test('of two jobs at once with the same file both get it', async () => {
    const setting = await createSetting()
    const content = randomBytes(MIB)
    const { upload, description } = uploadOf(setting, content)
    await setting.join()
    const order = { uploads: [upload], extravars: { inline: { cert: description } } }
    const jobs = [offerJob(setting, order), offerJob(setting, order)]
    letGo(setting)
    for (const job of jobs) expect((await exactEnd(setting.controlPlane, job)).text).toContain(sha256Of(content))
    expect(readdirSync(uploadCache(setting))).toEqual([])
  })

  test('are no part of the cache: a huge one drives nothing out of it', async () => {
    const setting = await createSetting()
    await setting.join({ RTE_CACHE_MB: '1' })
    const before = offerJob(setting, { extravars: { inline: { cert: { path: '/dev/null' } } } })
    await waitUntil('it is claimed', () => before.claims === 1)
    const { upload, description } = uploadOf(setting, randomBytes(3 * MIB))
    const asked = setting.controlPlane.wanted.length
    const job = offerJob(setting, { uploads: [upload], extravars: { inline: { cert: description } } })
    await waitUntil('it is claimed', () => job.claims === 1)
    expect(setting.controlPlane.wanted).toHaveLength(asked)
    letGo(setting)
    await exactEnd(setting.controlPlane, job)
    await exactEnd(setting.controlPlane, before)
  })
})

describe('a transfer that is cut', () => {
  const half = (setting: Setting, sha256: string) =>
    waitUntil('half of it is there', () => {
      const path = join(uploadCache(setting), sha256)
      return existsSync(path) && statSync(path).size === 2 * MIB
    })

  test('goes on where it was, after a lost connection and in a new agent', async () => {
    const setting = await createSetting()
    const { controlPlane } = setting
    const content = randomBytes(5 * MIB)
    const { upload, description } = uploadOf(setting, content)
    controlPlane.uploadPieces = 8
    const agent = await setting.join()
    const job = offerJob(setting, { uploads: [upload], extravars: { inline: { cert: description } } })
    await half(setting, upload.sha256)
    controlPlane.cut()
    await waitUntil('it asks again', () => controlPlane.uploadsWanted.length === 2)
    expect(controlPlane.uploadsWanted[1]).toEqual({ sha256: upload.sha256, offset: 2 * MIB })
    await waitUntil('more of it is there', () => statSync(join(uploadCache(setting), upload.sha256)).size === 4 * MIB)
    await agent.kill()
    controlPlane.uploadPieces = Infinity
    await setting.join()
    letGo(setting)
    expect((await exactEnd(controlPlane, job)).text).toContain(sha256Of(content))
    expect(controlPlane.uploadsWanted[2]).toEqual({ sha256: upload.sha256, offset: 4 * MIB })
    expect(job).toMatchObject({ claims: 1, refusals: [] })
  })

  test('and whose first part was damaged meanwhile comes again from its first byte', async () => {
    const setting = await createSetting()
    const { controlPlane } = setting
    const content = randomBytes(3 * MIB)
    const { upload, description } = uploadOf(setting, content)
    controlPlane.uploadPieces = 8
    await setting.join()
    const job = offerJob(setting, { uploads: [upload], extravars: { inline: { cert: description } } })
    await half(setting, upload.sha256)
    controlPlane.uploadPieces = Infinity
    writeFileSync(join(uploadCache(setting), upload.sha256), randomBytes(MIB))
    controlPlane.cut()
    letGo(setting)
    expect((await exactEnd(controlPlane, job)).text).toContain(sha256Of(content))
    expect(controlPlane.uploadsWanted.map(({ offset }) => offset)).toEqual([0, MIB, 0])
  })

  test('goes at a start of the agent when no job has asked for it for days', async () => {
    const setting = await createSetting()
    const folder = uploadCache(setting)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    for (const [name, hours] of Object.entries({ fresh: 1, old: 72 })) {
      writeFileSync(join(folder, name), 'a part')
      const seconds = Date.now() / 1000 - hours * 3600
      utimesSync(join(folder, name), seconds, seconds)
    }
    await setting.join()
    expect(readdirSync(folder)).toEqual(['fresh'])
  })

  test('by an abort leaves nothing', async () => {
    const setting = await createSetting()
    const { controlPlane } = setting
    const { upload, description } = uploadOf(setting, randomBytes(3 * MIB))
    controlPlane.uploadPieces = 8
    await setting.join()
    const job = offerJob(setting, { uploads: [upload], extravars: { inline: { cert: description } } })
    await half(setting, upload.sha256)
    const { job_id, run_id } = job.order
    controlPlane.send({ type: 'abort', job_id, run_id })
    await waitUntil('the agent knows no such job', () => job.unknown === 1)
    await waitUntil('nothing is left', () => readdirSync(uploadCache(setting)).length === 0)
  })
})

describe('what cannot be brought', () => {
  test('a file that is gone, has another size or other content fails the job with the reason, and leaves nothing', async () => {
    const setting = await createSetting()
    const { controlPlane } = setting
    await setting.join()
    const gone = uploadOf(setting, Buffer.from('gone'))
    controlPlane.gone.add(gone.upload.sha256)
    const size = uploadOf(setting, Buffer.from('larger'))
    const other = uploadOf(setting, Buffer.from('what it says'))
    controlPlane.blobs.set(other.upload.sha256, Buffer.from('what it dont'))
    const cases: [JobUpload, RegExp][] = [
      [gone.upload, /not there any more/],
      [{ ...size.upload, size: 3 }, /another size/],
      [other.upload, /other content/],
    ]
    for (const [upload, reason] of cases) {
      const job = offerJob(setting, { uploads: [upload], extravars: { inline: {} } })
      const refusal = await waitUntil('it is refused', () => job.refusals[0])
      expect(refusal).toMatchObject({ code: 'files_failed', message: expect.stringMatching(reason) as string })
      expect(readdirSync(uploadCache(setting))).toEqual([])
      expect(readdirSync(join(setting.statePath, 'spool', 'staging'))).toEqual([])
    }
  })

  test.each([
    ['a full disk', 'ENOSPC'],
    ['a quota that is used up', 'EDQUOT'],
  ] as const)(
    '%s while a file comes: refused as spool_full, nothing is left, and it comes when there is room',
    async (_what, action) => {
      const setting = await createSetting()
      const faults = await createFaults(setting.folder)
      const { upload, description } = uploadOf(setting, randomBytes(2 * MIB))
      await setting.join(faults.environments.agent)
      const full = faults.arm({
        operation: 'write',
        program: PROGRAMS.agent,
        path: '*/cache/uploads/*',
        action,
        once: false,
      })
      const order = { uploads: [upload], extravars: { inline: { cert: description } } }
      const job = offerJob(setting, order)
      expect(await waitUntil('it is refused', () => job.refusals[0])).toMatchObject({ code: 'spool_full' })
      expect(readdirSync(uploadCache(setting))).toEqual([])
      full.disarm()
      setting.controlPlane.offer(job.order)
      letGo(setting)
      expect((await exactEnd(setting.controlPlane, job)).exit_code).toBe(0)
    },
  )

  test('a file for which there is no room is not asked for', async () => {
    const setting = await createSetting()
    const { upload } = uploadOf(setting, Buffer.from('x'))
    await setting.join()
    const job = offerJob(setting, { uploads: [{ ...upload, size: 2 ** 52 }] })
    const refusal = await waitUntil('it is refused', () => job.refusals[0])
    expect(refusal).toMatchObject({ code: 'spool_full', message: expect.stringMatching(/no room/) as string })
    expect(setting.controlPlane.uploadsWanted).toEqual([])
  })

  test('an order with a file name that could lead out of its folder is none', async () => {
    const setting = await createSetting()
    const { upload } = uploadOf(setting, Buffer.from('x'))
    const agent = await setting.join()
    offerJob(setting, { uploads: [{ ...upload, name: '../../escape' }] })
    await agent.logged('uploads.0.name')
    expect(spooledJob(setting.statePath)).toBeNull()
  })
})
