import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { FIRST_JOB_USER } from '../support/job-users.js'
import { askPython } from './python-lines.js'

/** Who may be a user of jobs, by the list of users of a host; and which folders a job can have for itself. */
const UID = FIRST_JOB_USER + 25

const ask = askPython(`
import os, pwd
from holdfast_job import isolation_check

def answer(question):
    listed = question.get("listed", {})
    groups = question.get("groups", {})
    def found(key, value):
        for name, (uid, gid, home, shell) in listed.items():
            if value == (name if key == "name" else uid):
                return pwd.struct_passwd((name, "x", uid, gid, "", home, shell))
        raise KeyError(value)
    isolation_check.pwd = type("Listed", (), {
        "getpwnam": staticmethod(lambda name: found("name", name)),
        "getpwuid": staticmethod(lambda uid: found("uid", uid)),
    })
    os.getgrouplist = lambda name, gid: [gid, *groups.get(name, [])]
    try:
        if question["what"] == "entry":
            return isolation_check._entry_of(question["word"])
        if question["what"] == "private":
            kept = isolation_check.leave_common_folders
            def leave(folders):
                if not question["may_mount"]:
                    raise OSError(1, "no")
            isolation_check.leave_common_folders = leave
            try:
                entry = {"uid": ${UID}, "gid": ${UID}, "name": "a", "groups": []}
                return isolation_check._private_folders(entry, {"folder": "/srv/users", "read": [], "run": [], **question["asked"]})
            finally:
                isolation_check.leave_common_folders = kept
    except isolation_check.Unfit as unfit:
        return str(unfit)
`)

const NO_LOGIN = '/usr/sbin/nologin'

describe('a user of jobs', () => {
  const entryOf = (word: string, account: readonly [number, number, string, string], groups: number[] = []) =>
    ask({ what: 'entry', word, listed: { job: account }, groups: { job: groups } })

  test('is found by its name and by its number, with its groups', async () => {
    const expected = { uid: 700, gid: 800, name: 'job', groups: [900, 901], known: true, home: '/h' }
    for (const word of ['job', '700']) {
      expect(await entryOf(word, [700, 800, '/h', NO_LOGIN], [900, 901])).toEqual(expected)
    }
    expect(await entryOf('701', [700, 800, '/h', NO_LOGIN])).toEqual({
      uid: 701,
      gid: 701,
      name: '701',
      groups: [],
      known: false,
    })
  })

  test.each<[string, [number, number], number[]]>([
    ['root', [0, 800], []],
    ['the user of the agent', [process.getuid?.() ?? 0, 800], []],
    ['nobody', [65534, 800], []],
    ['one of the group of root', [700, 0], []],
    ['one who is also in the group of root', [700, 800], [900, 0]],
  ])('is not %s', async (_, [uid, gid], groups) => {
    expect(await entryOf('job', [uid, gid, '/h', NO_LOGIN], groups)).toBe(
      'RTE_ISOLATION_USERS: job is root, nobody, or the user of the agent, or is in the group of root',
    )
  })
})

describe('folders that a job has for itself', () => {
  const privateOf = (asked: object, may_mount = true) => ask({ what: 'private', asked, may_mount })

  test('are the common ones, but none that the agent is in, and none without the right to mount', async () => {
    const all = ['/tmp', '/var/tmp', '/dev/shm']
    expect(await privateOf({ state: '/srv/state' })).toEqual(all)
    expect(await privateOf({ state: '/srv/state' }, false)).toEqual([])
    expect(await privateOf({ state: '/tmpfs', read: ['/var/tmp2'], run: ['/srv/tmp'] })).toEqual(all)
    expect(await privateOf({ state: '/tmp/state' })).toEqual(['/var/tmp', '/dev/shm'])
    expect(await privateOf({ state: '/tmp' })).toEqual(['/var/tmp', '/dev/shm'])
    expect(await privateOf({ state: '/srv/state', read: ['/srv', '/var/tmp/plays'] })).toEqual(['/tmp', '/dev/shm'])
    expect(await privateOf({ state: '/srv/state', run: ['/var/tmp/ansible'], read: ['/tmp/x'] })).toEqual(['/dev/shm'])
  })

  test('are not those to which a link of the agent leads', async () => {
    const folder = mkdtempSync('/var/tmp/holdfast-link-')
    onTestFinished(() => {
      rmSync(folder, { recursive: true })
    })
    symlinkSync('/tmp', join(folder, 'link'))
    expect(await privateOf({ state: join(folder, 'link') })).toEqual(['/var/tmp', '/dev/shm'])
  })
})
