import { type SettingDefinition, flagOf } from '@holdfast/protocol'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { CONTROL_PLANE_SETTINGS } from '../../../control-plane/src/settings-table.js'
import { newQuickPerson } from '../../cli/run-cli.js'

describe('a wrong setting of serve', () => {
  const refused = async (args: readonly string[], environment: Readonly<Record<string, string>> = {}) => {
    const { code, stderr } = await newQuickPerson({ PERSISTENT_PATH: '/nowhere', ...environment }).run([
      'serve',
      ...args,
    ])
    expect(code).toBe(2)
    return stderr
  }

  test('is found in the environment and in an option, which wins', async () => {
    const ofEnvironment = await refused([], { PORT: 'first' })
    expect(ofEnvironment).toContain('first')
    const ofOption = await refused(['--port', 'second'], { PORT: 'first' })
    expect(ofOption).toContain('second')
    expect(ofOption).not.toContain('first')
  })

  test('is that of the last option when it is given twice', async () => {
    const stderr = await refused(['--port', 'second', '--port', 'third'])
    expect(stderr).toContain('third')
    expect(stderr).not.toContain('second')
  })
})

test('the help of serve has each setting with its meaning, its choices and its default', async () => {
  const shown: string[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((text: string) => void shown.push(text))
  onTestFinished(() => log.mockRestore())
  expect((await newQuickPerson().run(['serve', '--help'])).code).toBe(0)
  const words = shown.join('\n').replace(/\s+/g, ' ')
  for (const [name, definition] of Object.entries<SettingDefinition>(CONTROL_PLANE_SETTINGS)) {
    const { meaning, choices, default: usual } = definition
    const at = words.indexOf(` --${flagOf(name)} `)
    expect([name, at > 0]).toEqual([name, true])
    const said = words.slice(at).split(' --')[1] ?? ''
    expect(said).toContain(choices ? `${meaning} (${choices.join(', ')})` : meaning)
    const value = typeof usual === 'function' ? usual({ PERSISTENT_PATH: '<persistent-path>' }) : usual
    if (value === null) expect(said).not.toContain('[default:')
    else expect(said).toContain(`[default: ${value}]`)
  }
})
